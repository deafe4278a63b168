"""A profile that keeps files: its default, and the age after which `undo drop` takes them."""

import json
from datetime import datetime, timedelta

import pytest

from hudictl.table.kept import room_times
from tests.cli.conftest import Tell
from tests.cli.profiles_support import Write, copy, profile, write
from tests.helpers import Copy

__all__ = ["copy", "write"]


@pytest.mark.slow
def test_a_profile_keeps_files(write: Write, copy: Copy, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the table is named; the command line can say no."""
    write(profile(copy, "keep_files = true"))
    target = copy.commits[0]

    def kept(*options: object) -> bool:
        said = tell("restore", "--to-instant", target, *options, "--plan", "-o", "json", "--delete-later-savepoints")
        return bool(said.json["result"]["options"]["keep_files"])

    assert kept("-t", "trips")
    assert kept("--profile", "trips")
    assert not kept("-t", "trips", "--delete-files")
    assert not kept("-t", copy.path)
    assert kept("-t", copy.path, "--keep-files")
    monkeypatch.setenv("HUDICTL_TABLE", "trips")
    assert kept()
    orphans = tell("orphans", "delete", "--plan", "-o", "json")
    assert orphans.code == 0


def test_undo_drop_takes_the_age_of_the_profile(write: Write, copy: Copy, tell: Tell) -> None:
    """Only without arguments; nothing else drops anything."""
    file = write(profile(copy, 'keep_files = "7d"'))
    restored = ("--to-instant", copy.commits[0], "--delete-later-savepoints", "--yes")
    assert tell("restore", *restored, "-t", "trips").code == 0
    (time,) = room_times(copy.table)
    by = f"older than 7d, as keep_files of the profile trips says ({file})"
    said = tell("undo", "drop", "-t", "trips", "--yes")
    assert (said.code, said.out) == (0, f"nothing is {by}: nothing to do\n")
    record = copy.meta / f".hudictl/undo/{time}.json"
    begun = json.loads(record.read_text())["begun_at"]
    record.write_text(record.read_text().replace(begun, str(datetime.fromisoformat(begun) - timedelta(days=8))))
    said = tell("undo", "drop", "-t", "trips", "--older-than", "9d", "--yes")
    assert said.out.startswith("nothing is older than 9d:")
    said = tell("undo", "drop", "-t", "trips", "--plan")
    assert f"would drop what was kept of restore {time}, {by}: " in said.out
    said = tell("undo", "drop", "-t", "trips", "--plan", "-o", "json")
    assert said.json["result"]["older_than_ms"] == 7 * 86_400_000
    # Without its profile, and with one that has no age, it must be said.
    for age in ("7d", None):
        table = "trips"
        if age is None:
            write(profile(copy, "keep_files = true"))
        else:
            table = str(copy.path)
        said = tell("undo", "drop", "-t", table, "--yes")
        assert (said.code, "give either INSTANT" in said.line) == (2, True)
    assert [*room_times(copy.table)] == [time]
    write(profile(copy, 'keep_files = "7d"'))
    assert tell("undo", "drop", "-t", "trips", "--yes").code == 0
    assert not [*room_times(copy.table)]
