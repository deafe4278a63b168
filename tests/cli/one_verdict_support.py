"""What the tests of one verdict share with others."""

from pathlib import Path

from tests.cli.conftest import Said, Tell
from tests.helpers import alone

LOCAL = ("--engine", "local")


OPERATIONS = {"pending-restore", "restore-without-plan", "armed-rollback", "pending-rollback", "rollback-remnant"}


SERVICES = {"clean-without-plan", "pending-indexing"}


PENDING = {*OPERATIONS, *SERVICES, "failed-write"}


Remedies = dict[tuple[str, str], list[str]]
"""What is pending, by the name of the finding and its instant, with the commands that end it."""


def commands(remedy: list[dict[str, str]]) -> list[str]:
    assert all(way["leaves"] for way in remedy)
    return [alone(way["command"]) for way in remedy]


def by_show(tell: Tell, path: Path) -> Remedies:
    shown = tell("table", "show", "-t", path, "-o", "json").json["result"]
    return {
        (entry["name"], entry["instant"]): commands(entry["remedy"])
        for entry in shown["pending"]
        if not entry["at_work"]
    }


def by_check(tell: Tell, path: Path) -> Remedies:
    said = tell("check", "-t", path, *LOCAL, "-o", "json")
    assert said.code == (3 if any(row["severity"] != "info" for row in said.json["rows"]) else 0)
    return {
        (row["finding"], row["subject"]): commands(row["remedy"])
        for row in said.json["rows"]
        if row["finding"] in PENDING
    }


def by_list(tell: Tell, path: Path) -> Remedies:
    """Those that no pending restore or rollback takes back."""
    rows = tell("failed-writes", "list", "-t", path, "-o", "json").json["rows"]
    return {
        ("failed-write", f"{row['instant']} {row['action']} {row['state']}"): commands(row["remedy"])
        for row in rows
        if row["remedy"] and row["rollback"] is None and row["restore"] is None
    }


def assert_agreed(tell: Tell, path: Path) -> Remedies:
    """What is pending by all that look, which say the same; and what `resume` and `clean` do, as far as plans go."""
    shown = by_show(tell, path)
    assert by_check(tell, path) == shown
    assert by_list(tell, path) == {key: ways for key, ways in shown.items() if key[0] == "failed-write"}

    described = tell("table", "show", "-t", path, "-o", "json").json["result"]
    assert ("nothing is pending" in described["verdict"]) is not described["pending"]
    if shown:
        assert commands(described["remedy"]) == next(iter(shown.values()))
    operations = {key: ways for key, ways in shown.items() if key[0] in OPERATIONS}
    resumed = tell("resume", "-t", path, *LOCAL, "--plan")
    if not operations:
        # What an ended one has left may go.
        said = resumed.out.rpartition("nothing is pending")[2]
        assert resumed.code == 0
        assert said == "\n" or said.startswith("; would remove ")
    elif all("hudictl resume" not in ways for ways in operations.values()):
        assert resumed.code == 13
        (name, _), ways = next(iter(operations.items()))
        if name == "pending-restore":
            # What else goes with it is asked for anew, before it has begun.
            assert ways[0].removeprefix("hudictl resume ") in alone(resumed.line)
        else:
            assert all(f"`{command}`" in alone(resumed.line) for command in ways)
    return shown


def end(tell: Tell, path: Path, command: str) -> Said:
    # What died a moment ago is not discarded before it was silent for long: a writer may have taken it up.
    command += " --idle 0s" if "--discard" in command or "--withdraw" in command else ""
    return tell(*command.split()[1:], "-t", path, *LOCAL, "--yes")
