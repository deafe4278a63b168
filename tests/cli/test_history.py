"""`history`: who changed the table, when, and how it ended."""

import json
import os
import shutil
import threading
from itertools import count
from pathlib import Path

import pytest

from hudictl import __version__
from hudictl.ops.restore import execute
from hudictl.ops.undo import execute as undo_steps
from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.crash.inject import Crash, dying
from tests.helpers import Copy, FailDeletion, plan, put, savepoint, tree

LOCAL = ("--engine", "local")
LATER = "20261121235959999"
ROW_KEYS = [
    *("instant", "operation", "target", "user", "host", "started_at", "ended_at"),
    *("attempts", "exit_code", "outcome", "command", "message", "problem"),
]


def history(tell: Tell, copy: Copy, code: int = 0) -> list[dict[str, object]]:
    """The rows, oldest first."""
    said = tell("history", "--asc", "-t", copy.path, "-o", "json")
    assert (said.code, bool(said.err)) == (code, bool(code))
    assert list(said.json) == ["schema_version", "command", "table", "rows", "notes"]
    assert said.json["command"] == "history"
    return list(said.json["rows"])


def records_of(copy: Copy) -> list[Path]:
    return sorted((copy.meta / ".hudictl" / "operations").glob("*.json"))


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_table_that_hudictl_never_touched(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    before = tree(copy.path)
    assert history(tell, copy) == []
    said = tell("history", "-t", copy.path)
    assert (said.code, said.err) == (0, "")
    assert "hudictl has changed nothing here" in said.out
    assert tree(copy.path) == before


@pytest.mark.parametrize("version", support.VERSIONS)
def test_every_change_is_a_row(unpack: Unpack, tell: Tell, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[1]
    monkeypatch.setattr("sys.argv", ["/usr/bin/hudictl", "restore", target, "--comment", "two words"])
    assert tell("savepoint", "create", target, "-t", copy.path, *LOCAL, "--yes").code == 0
    assert tell("restore", target, "-t", copy.path, *LOCAL, "--yes").code == 0
    assert tell("savepoint", "delete", target, "-t", copy.path, "--yes").code == 0
    rows = history(tell, copy)
    assert [list(row) for row in rows] == [ROW_KEYS] * 3
    assert [row["operation"] for row in rows] == ["savepoint create", "restore", "savepoint delete"]
    assert {row["target"] for row in rows} == {target}
    told = {(row["exit_code"], row["attempts"], row["message"], row["outcome"]) for row in rows}
    assert told == {(0, 1, "", "completed")}
    assert all(row["ended_at"] >= row["started_at"] for row in rows)  # type: ignore[operator]
    assert {row["command"] for row in rows} == {f"hudictl restore {target} --comment 'two words'"}
    (requested,) = copy.having("restore.requested")
    assert rows[1]["instant"] == requested.partition(".")[0]
    shown = tell("history", "-t", copy.path).out
    assert [line.split()[0] for line in shown.splitlines()[1:]] == [row["instant"] for row in rows][::-1]


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_show_tells_the_plan_and_every_attempt(
    unpack: Unpack, tell: Tell, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[0]
    made = plan(copy, copy.savepoints[-1])
    kept = made.undo.removals[0].files[0]
    with monkeypatch.context() as patch:
        FailDeletion(kept.data.name).install(patch)
        options = ("--delete-later-savepoints", "--keep-backup", "--yes")
        assert tell("restore", target, "-t", copy.path, *LOCAL, *options).code == 3
    assert tell("resume", "-t", copy.path, *LOCAL, "--yes").code == 0
    (row,) = history(tell, copy)
    assert (row["attempts"], row["exit_code"]) == (2, 0)
    said = tell("history", "show", row["instant"], "-t", copy.path, "-o", "json")
    assert (said.code, said.json["command"]) == (0, "history show")
    result = said.json["result"]
    assert list(result) == ["instant", "operation", "target", "plan", "attempts"]
    assert result["plan"]["options"]["delete_later_savepoints"] is True
    assert result["plan"]["savepoints_deleted"] == [time for time in [made.target] if time != target]
    assert made.undo.removals[0].time in [entry["time"] for entry in result["plan"]["instants"]]
    failed, done = result["attempts"]
    assert (failed["exit_code"], failed["report"], failed["version"]) == (3, None, __version__)
    assert kept.path in failed["message"]
    assert failed["ended_at"] <= done["started_at"]
    assert (done["exit_code"], done["message"]) == (0, "")
    assert done["report"]["restore"] == row["instant"]
    assert done["report"]["instants"][0] == made.undo.removals[0].time
    shown = tell("history", "show", row["instant"], "-t", copy.path)
    assert shown.code == 0
    assert all(str(word) in shown.out for word in (kept.path, made.undo.removals[0].time, "attempt", done["pid"]))


def test_a_writer_that_came_in_is_in_the_record(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]

    def come_in(_seconds: float) -> None:
        # Threads that look at beats sleep, too, and earlier.
        if threading.current_thread() is threading.main_thread():
            copy.write(f"{LATER}.commit.requested")

    monkeypatch.setattr("time.sleep", come_in)
    assert tell("restore", target, "-t", copy.path, *LOCAL, "--yes").code == 12
    (row,) = history(tell, copy)
    assert (row["operation"], row["exit_code"]) == ("restore", 12)
    assert LATER in str(row["message"])
    assert "request was removed" in str(row["message"])


def test_an_interruption_is_in_the_record(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    real = undo_steps.delete_files

    def signalled(*arguments: object) -> None:
        os.kill(os.getpid(), 2)
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("hudictl.ops.undo.execute.delete_files", signalled)
    assert tell("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL, "--yes").code == 130
    (row,) = history(tell, copy)
    assert (row["exit_code"], row["message"]) == (130, "interrupted before: verify")


@pytest.mark.slow
def test_a_process_that_died_has_no_end(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    with dying(40), pytest.raises(Crash):
        tell("restore", target, "-t", copy.path, *LOCAL, "--yes")
    (row,) = history(tell, copy)
    assert (row["ended_at"], row["exit_code"], row["attempts"], row["outcome"]) == (None, None, 1, "pending")
    assert tell("resume", "-t", copy.path, *LOCAL, "--yes").code == 0
    (row,) = history(tell, copy)
    assert (row["exit_code"], row["attempts"], row["outcome"]) == (0, 2, "completed")


@pytest.mark.slow
def test_what_became_of_one_that_died(unpack: Unpack, tell: Tell) -> None:
    """Another command may have ended it, or taken it back."""
    copy = unpack("v9", "cow_savepoints")
    target, later = copy.savepoints
    deaths = count(5)
    while not history(tell, copy):
        with dying(next(deaths)), pytest.raises(Crash):
            tell("savepoint", "delete", later, "-t", copy.path, "--yes")
    (died,) = history(tell, copy)
    assert died["outcome"] == "no end: it died, or is running"
    assert tell("savepoint", "delete", later, "-t", copy.path, "--yes").code == 0
    died, done = history(tell, copy)
    assert (died["outcome"], done["outcome"]) == (f"completed by {done['instant']}", "completed")

    deaths = count(9)
    while history(tell, copy)[-1]["outcome"] != "pending":
        with dying(next(deaths)), pytest.raises(Crash):
            tell("restore", target, "-t", copy.path, *LOCAL, "--yes")
    assert tell("resume", "--withdraw", "-t", copy.path, *LOCAL, "--yes").code == 0
    *_, restore, withdrawal = history(tell, copy)
    assert (restore["exit_code"], restore["outcome"]) == (None, f"withdrawn by {withdrawal['instant']}")


@pytest.mark.parametrize(
    "command",
    [
        ("restore", "20260101000000000", *LOCAL, "--yes"),
        ("restore", "S", *LOCAL, "--plan"),
        ("restore", "S", *LOCAL),
        ("savepoint", "create", "20260101000000000", *LOCAL, "--yes"),
        ("savepoint", "create", "S", *LOCAL, "--yes"),
        ("savepoint", "delete", "C", "--yes"),
        ("resume", *LOCAL, "--yes"),
    ],
)
def test_what_changes_nothing_is_not_recorded(unpack: Unpack, tell: Tell, command: tuple[str, ...]) -> None:
    """Refused, planned only, not confirmed, or done already."""
    copy = unpack("v9", "cow_savepoints")
    words = {"S": copy.savepoints[-1], "C": copy.commits[0]}
    tell(*(words.get(word, word) for word in command), "-t", copy.path)
    assert history(tell, copy) == []


def test_a_refusal_under_the_claim_is_not_recorded(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    real = execute.read_signs

    def locked(table: object) -> object:
        put(copy.meta / "lock", "{}")
        return real(table)  # type: ignore[arg-type]

    monkeypatch.setattr(execute, "read_signs", locked)
    assert tell("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL, "--yes").code == 12
    assert history(tell, copy) == []


@pytest.mark.parametrize("damage", ["torn", "folder", "no attempts"])
def test_a_damaged_record_is_a_row_with_the_reason(unpack: Unpack, tell: Tell, damage: str) -> None:
    copy = unpack("v9", "cow_part")
    savepoint(copy, copy.commits[0])
    savepoint(copy, copy.commits[1])
    first, _ = records_of(copy)
    if damage == "torn":
        put(first, first.read_bytes()[:50])
    elif damage == "no attempts":
        put(first, json.dumps({**json.loads(first.read_bytes()), "attempts": []}))
    else:
        first.unlink()
        first.mkdir()
    broken, whole = history(tell, copy, 14)
    assert (broken["instant"], broken["attempts"], broken["exit_code"]) == (first.stem, 0, None)
    assert first.name in str(broken["problem"])
    assert whole["operation"] == "savepoint create"
    said = tell("history", "show", first.stem, "-t", copy.path, "-o", "json")
    assert said.code == (15 if damage == "folder" else 14)
    assert first.name in said.error["message"]
    assert tell("history", "-t", copy.path).code == 14


def test_a_damaged_record_of_the_pending_restore_says_what_to_do(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    with dying(40), pytest.raises(Crash):
        tell("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL, "--yes")
    (record,) = records_of(copy)
    put(record, "{")
    before = tree(copy.path)
    said = tell("resume", "-t", copy.path, *LOCAL, "--yes")
    assert said.code == 14
    assert record.name in said.line
    assert "move this file out of the table" in said.line
    assert tree(copy.path) == before
    record.unlink()
    assert tell("resume", "-t", copy.path, *LOCAL, "--yes", "--idle", "0s").code == 0


def test_an_operation_that_is_not_recorded(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    for instant in (LATER, "../../hoodie", "x"):
        said = tell("history", "show", instant, "-t", copy.path)
        assert said.code == 13
        assert instant in said.line


@pytest.mark.parametrize("command", [("history",), ("history", "show", LATER)])
def test_2_without_a_table(tell: Tell, command: tuple[str, ...]) -> None:
    said = tell(*command)
    assert said.code == 2
    assert "--table" in said.line


def test_the_environment_names_the_table(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    instant = savepoint(copy, copy.commits[0])
    monkeypatch.setenv("HUDICTL_TABLE", str(copy.path))
    said = tell("history", "-o", "json")
    (row,) = said.json["rows"]
    assert row["target"] == instant
    assert tell("history", "show", row["instant"]).code == 0


def test_10_no_table(tell: Tell, tmp_path: Path) -> None:
    assert tell("history", "-t", tmp_path / "nowhere").code == 10


def test_a_copy_of_the_table_has_its_history(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    copy = unpack("v6", "cow_part")
    savepoint(copy, copy.commits[0])
    shutil.copytree(copy.path, tmp_path / "copied", copy_function=shutil.copy2)
    assert history(tell, Copy("v6", "cow_part", tmp_path / "copied")) == history(tell, copy)
