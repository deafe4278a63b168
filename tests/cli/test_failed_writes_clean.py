"""`failed-writes clean`: for cron, so its exit codes are what counts."""

import shutil
from typing import Any

import pytest

from tests import support
from tests.cli.conftest import Said, Tell, Unpack
from tests.helpers import Copy, FailDeletion, alone, pending_restore, put, tree
from tests.ops.rollback.execute_support import newest, own_files
from tests.ops.rollback.failed_support import request
from tests.ops.rollback.together_support import many
from tests.ops.undo.untouched_support import arm

LATER = "20261121040000000"
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def clean(tell: Tell, copy: Copy, *more: str) -> Said:
    return tell("failed-writes", "clean", "-t", copy.path, "--engine", "local", *more)


@VERSIONS
@pytest.mark.parametrize("policy", ["lazy", "eager"])
def test_0_nothing_to_do(unpack: Unpack, tell: Tell, version: str, policy: str) -> None:
    """It does not even ask."""
    copy = unpack(version, "cow_part")
    before = tree(copy.path, ".hoodie/.hudictl")
    said = clean(tell, copy, "--policy", policy, "--strict")
    assert (said.code, said.out, said.err) == (0, "no failed writes\n", "")
    as_json = clean(tell, copy, "--policy", policy, "-o", "json").json
    assert (as_json["command"], as_json["rows"], as_json["notes"]) == ("failed-writes clean", [], [])
    assert tree(copy.path, ".hoodie/.hudictl") == before


@VERSIONS
def test_0_what_failed_is_rolled_back(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "mor_failed_lazy")
    failed = newest(copy)
    said = clean(tell, copy, "--yes", "-o", "json")
    (row,) = said.json["rows"]
    assert (said.code, row["instant"], row["outcome"]) == (0, failed, "rolled back")
    assert (row["exit_code"], row["message"]) == (0, "")
    assert own_files(copy, failed) == set()
    assert clean(tell, copy).code == 0


def test_rollback_blocks_are_counted_and_the_undo_is_named(unpack: Unpack, tell: Tell) -> None:
    """No file is deleted, and yet something is done; each command can be copied."""
    copy = unpack("v6", "mor_failed_lazy")
    plan, before = clean(tell, copy, "--plan", "--keep-files"), tree(copy.path, ".hoodie/.hudictl")
    assert "rollback blocks" in plan.out.splitlines()[0]
    assert f"take space until `hudictl undo drop --table={copy.path} --engine=local`" in plan.out
    said = clean(tell, copy, "--yes", "--keep-files", "-o", "json")
    (row,) = said.json["rows"]
    assert (row["files_deleted"], row["rollback_blocks"]) == (0, 2)
    undo = f"hudictl undo --table={copy.path} --engine=local {row['undo']}"
    assert said.json["notes"] == [f"until the table is changed again, `{undo}` brings all back"]
    undone = tell("undo", row["undo"], "-t", copy.path, "--engine", "local", "--idle", "0s", "--yes")
    assert f"{row['instant']} is pending again, and 0 files (0 B) are back; rollback blocks removed: 2\n" in undone.out
    assert tree(copy.path, ".hoodie/.hudictl") == before


@VERSIONS
def test_0_what_nobody_can_tell_is_left_alone_and_named(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_failed_direct")
    failed = newest(copy)
    before = tree(copy.path, ".hoodie/.hudictl")
    said = clean(tell, copy)
    assert said.code == 0
    assert f"not rolled back: {failed}: no heartbeat" in said.out
    strict = clean(tell, copy, "--strict")
    assert strict.code == 3
    assert (failed in strict.line, "--policy eager" in strict.line) == (True, True)
    as_json = clean(tell, copy, "--strict", "-o", "json")
    assert (as_json.code, as_json.json["rows"], as_json.error["fields"]["left"]) == (3, [], [failed])
    assert tree(copy.path, ".hoodie/.hudictl") == before


@VERSIONS
def test_0_eager(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_failed_tls")
    failed = newest(copy)
    said = clean(tell, copy, "--policy", "eager", "--yes", "--strict")
    assert (said.code, failed in said.out) == (0, True)
    assert failed not in [path.name[:17] for path in copy.timeline.iterdir()]


def test_eager_waits_for_silence(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_failed_direct")
    copy.file(newest(copy), "inflight").touch()
    assert clean(tell, copy, "--policy", "eager", "--strict").code == 3
    assert clean(tell, copy, "--policy", "eager", "--idle", "0s", "--plan").code == 0


@VERSIONS
def test_12_eager_beside_a_live_heartbeat(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_failed_direct")
    request(copy, LATER, beat="live")
    before = tree(copy.path, ".hoodie/.hudictl")
    said = clean(tell, copy, "--policy", "eager", "--yes", "--idle", "0s")
    assert (said.code, LATER in said.line) == (12, True)
    assert tree(copy.path, ".hoodie/.hudictl") == before


@pytest.mark.slow
@VERSIONS
def test_3_one_fails_and_the_others_are_done(
    unpack: Unpack, tell: Tell, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, "cow_failed_direct")
    failed = newest(copy)
    request(copy, LATER, beat="none")
    stuck = sorted(own_files(copy, failed))[0]
    # Newest first: the one that fails comes last.
    with monkeypatch.context() as patch:
        FailDeletion(stuck).install(patch)
        said = clean(tell, copy, "--policy", "eager", "--yes", "-o", "json")
    outcomes = {row["instant"]: (row["outcome"], row["exit_code"]) for row in said.json["rows"]}
    assert outcomes == {LATER: ("rolled back", 0), failed: ("incomplete", 3)}
    assert (said.code, said.error["fields"]["failed"]) == (3, [failed])
    assert said.error["message"].startswith(f"1 of 2 could not be rolled back; the first is {failed}: ")
    # Now a newer one is refused, and the older is done all the same.
    request(copy, LATER, beat="none")
    copy.write(f"{LATER}.savepoint.inflight")
    again = clean(tell, copy, "--policy", "eager", "--yes", "-o", "json")
    assert {row["instant"]: row["exit_code"] for row in again.json["rows"]} == {LATER: 13, failed: 0}
    assert again.code == 3
    hints = {row["instant"]: row["hint"] for row in again.json["rows"]}
    assert (f"savepoint delete --table={copy.path} " in hints[LATER], hints[failed]) == (True, "")
    told = clean(tell, copy, "--policy", "eager", "--yes")
    assert (told.code, f"{LATER}: {hints[LATER]}" in told.out) == (3, True)
    assert own_files(copy, failed) == set()


@VERSIONS
@pytest.mark.parametrize("policy", ["lazy", "eager"])
def test_the_plan_changes_nothing(unpack: Unpack, tell: Tell, version: str, policy: str) -> None:
    copy = unpack(version, "mor_failed_lazy")
    failed = newest(copy)
    before = tree(copy.path, ".hoodie/.hudictl")
    said = clean(tell, copy, "--policy", policy, "--plan", "-o", "json")
    (row,) = said.json["rows"]
    assert (said.code, row["instant"], row["outcome"]) == (0, failed, "would be rolled back")
    assert row["files_deleted"] == len(own_files(copy, failed))
    assert said.json["notes"] == ["planned only: nothing was changed"]
    assert "would be rolled back" in clean(tell, copy, "--policy", policy, "--plan").out
    assert "Kept files " in clean(tell, copy, "--policy", policy, "--plan", "--keep-files").out
    assert tree(copy.path, ".hoodie/.hudictl") == before


@VERSIONS
@pytest.mark.parametrize("others", [0, 2], ids=["alone", "together"])
def test_files_that_are_kept_are_named(unpack: Unpack, tell: Tell, version: str, others: int) -> None:
    """Its markers are gone, and it alone has written into a partition: no record proves the file there. As for a
    rollback of it alone, this is no failure."""
    copy = unpack(version, "cow_part" if others else "cow_failed_tls")
    failed = many(copy, others)[-1] if others else newest(copy)
    own = min(own_files(copy, failed))
    shutil.rmtree(copy.meta / ".temp" / failed)
    kept = f"new/{own.rpartition('/')[2]}"
    put(copy.path / kept, (copy.path / own).read_bytes())
    put(copy.path / "new/.hoodie_partition_metadata", (copy.path / "part-0/.hoodie_partition_metadata").read_bytes())
    line = ("--policy", "eager", "--idle", "0s")
    for more in ("--plan", "--yes"):
        other = Copy(version, "other", shutil.copytree(copy.path, copy.path.parent / more, symlinks=True))
        said = clean(tell, other, *line, more)
        assert said.code == 0
        assert all(part in alone(said.out) for part in ("files kept", kept, "; `hudictl orphans list` shows them"))
    alone_said = tell("rollback", failed, "-t", copy.path, "--engine", "local", "--idle", "0s", "--plan")
    assert (alone_said.code, kept in alone_said.out) == (0, True)
    said = clean(tell, copy, *line, "--yes", "-o", "json")
    rows = {row["instant"]: row for row in said.json["rows"]}
    assert (said.code, rows[failed]["files_kept"], rows[failed]["exit_code"]) == (0, 1, 0)
    assert kept in rows[failed]["message"]
    assert [row["message"] for time, row in rows.items() if time != failed] == [""] * max(0, others - 1)
    assert any("orphans list" in note for note in said.json["notes"])
    assert (copy.path / kept).exists()


def test_4_no_terminal(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    before = tree(copy.path, ".hoodie/.hudictl")
    said = clean(tell, copy)
    assert (said.code, "--yes" in said.line) == (4, True)
    assert tree(copy.path, ".hoodie/.hudictl") == before


@pytest.mark.parametrize("name", ["mor_failed_lazy", "cow_part"])
def test_3_a_pending_restore(unpack: Unpack, tell: Tell, name: str) -> None:
    """Also where no write is pending: no writer can start."""
    copy = unpack("v9", name)
    pending_restore(copy, LATER, copy.commits[0], begun=True)
    before = tree(copy.path, ".hoodie/.hudictl")
    said = clean(tell, copy, "--yes")
    assert (said.code, LATER in said.line, "hudictl resume" in said.line) == (3, True, True)
    assert tree(copy.path, ".hoodie/.hudictl") == before
    assert clean(tell, copy, "--plan").code == 0


@VERSIONS
def test_3_a_pending_rollback_of_a_completed_commit_beside_one_that_is_done(
    unpack: Unpack, tell: Tell, version: str
) -> None:
    copy = unpack(version, "mor_failed_lazy")
    failed, target = newest(copy), copy.commits[-1]
    arm(copy, target)
    said = clean(tell, copy, "--yes", "-o", "json")
    assert [row["instant"] for row in said.json["rows"]] == [failed]
    assert (said.code, said.error["fields"]["pending"], target in copy.commits) == (3, [LATER], True)


@VERSIONS
def test_what_it_names_for_a_write_that_it_leaves_alone_ends_it(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_failed_direct")
    failed = newest(copy)
    (row,) = tell("failed-writes", "list", "-t", copy.path, "-o", "json").json["rows"]
    (way,) = row["remedy"]
    assert f"`{alone(way['command'])}`" in alone(clean(tell, copy).out)
    assert tell(*way["command"].split()[1:], "--engine", "local", "--yes").code == 0
    assert own_files(copy, failed) == set()


def test_3_strict_beside_one_that_is_done(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    failed = newest(copy)
    request(copy, LATER, beat="none")
    said = clean(tell, copy, "--yes", "--strict", "-o", "json")
    assert [row["instant"] for row in said.json["rows"]] == [failed]
    assert (said.code, said.error["fields"]["left"]) == (3, [LATER])


@pytest.mark.parametrize("more", [("--policy", "never"), ("--idle", "soon"), ("--settle", "0"), ("--interval", "1ms")])
def test_2_a_value_that_cannot_be_taken(unpack: Unpack, tell: Tell, more: tuple[str, ...]) -> None:
    assert clean(tell, unpack("v9", "cow_part"), *more).code == 2


@pytest.mark.parametrize("name", ["cow_part", "mor_failed_lazy"])
def test_11_a_table_that_is_not_written(unpack: Unpack, tell: Tell, name: str) -> None:
    """Also where nothing failed: cron must not take it for clean."""
    copy = unpack("v9", name)
    properties = copy.meta / "hoodie.properties"
    put(properties, properties.read_text().replace("hoodie.table.version=9", "hoodie.table.version=10"))
    for more in (("--yes",), ("--plan",)):
        said = clean(tell, copy, *more)
        assert (said.code, said.out, "table version 10" in said.line) == (11, "", True)


@pytest.mark.parametrize("more", [("--yes",), ("--plan",)])
def test_11_a_lock_that_hudictl_does_not_take(unpack: Unpack, tell: Tell, more: tuple[str, ...]) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    before = tree(copy.path, ".hoodie/.hudictl")
    said = clean(tell, copy, "--hoodie-conf", "hoodie.write.lock.provider=org.example.Lock", *more)
    assert (said.code, "org.example.Lock" in said.line) == (11, True)
    assert tree(copy.path, ".hoodie/.hudictl") == before


@VERSIONS
def test_3_a_pending_rollback_of_a_completed_commit(unpack: Unpack, tell: Tell, version: str) -> None:
    """The next writer rolls the commit back: the error has both commands, as `check` does; the result not again."""
    copy = unpack(version, "cow_part")
    arm(copy, copy.commits[-1])
    finding = next(row for row in check(tell, copy) if row["finding"] == "armed-rollback")
    commands = [way["command"] for way in finding["remedy"]]
    assert len(commands) == 2
    said = clean(tell, copy, "--yes")
    assert said.code == 3
    assert all(command in said.line and command not in said.out for command in commands)
    planned = clean(tell, copy, "--plan")
    assert (planned.code, all(command in planned.out for command in commands)) == (0, True)
    error = clean(tell, copy, "--yes", "-o", "json").error
    assert [way["command"] for way in error["fields"]["remedy"]] == commands


def check(tell: Tell, copy: Copy) -> list[dict[str, Any]]:
    return list(tell("check", "-t", copy.path, "--engine", "local", "--idle", "0s", "-o", "json").json["rows"])


def test_a_write_whose_writer_is_alive_is_named(tell: Tell, unpack: Unpack) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    (beat,) = (copy.meta / ".heartbeat").glob("[0-9]*")
    beat.touch()
    said = tell("failed-writes", "clean", "-t", copy.path, "--yes")
    head, line = said.out.splitlines()
    assert (said.code, head) == (0, "nothing was rolled back")
    assert line == f"not rolled back: {beat.name}: its heartbeat is live"
