"""`resume` where rollbacks are pending: hudictl's go on, and Hudi's; those that Hudi refused only where guards let
them, or they are discarded."""

import shutil

import pytest

from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.table.kept import room_times
from tests import support
from tests.cli.conftest import Said, Tell, Unpack
from tests.crash import reader
from tests.helpers import OWN, Copy, alone, drop, put, rollback_plan, savepoint, tree
from tests.ops.rollback.beside_support import complete
from tests.ops.rollback.execute_support import died, newest, own_files
from tests.ops.undo.untouched_support import arm

LATER = "20261121040000000"
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def resume(tell: Tell, copy: Copy, *more: str) -> Said:
    return tell("resume", "-t", copy.path, "--engine", "local", *more)


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("step", ["prepare", "delete files", "publish the rollback"])
@pytest.mark.parametrize("name", ["cow_part", "mor_failed_direct"])
def test_its_own_goes_on(unpack: Unpack, tell: Tell, version: str, name: str, step: str) -> None:
    copy = unpack(version, name)
    target = newest(copy)
    died(copy, target, step)
    before = tree(copy.path)
    planned = resume(tell, copy, "--plan", "-o", "json")
    (row,) = planned.json["rows"]
    assert (planned.code, row["instant"], row["outcome"]) == (0, target, "would be rolled back")
    assert resume(tell, copy).code == 4
    assert tree(copy.path) == before
    done = resume(tell, copy, "--yes", "-o", "json")
    assert [row["outcome"] for row in done.json["rows"]] == ["rolled back"]
    assert (own_files(copy, target), target in copy.commits) == (set(), False)
    assert resume(tell, copy).out == "nothing is pending\n"


@VERSIONS
def test_hudis_own_goes_on(unpack: Unpack, tell: Tell, version: str) -> None:
    """Of a target that is pending: nothing has been refused."""
    copy = unpack(version, "mor_failed_direct")
    target, rows = newest(copy), reader.snapshot(copy.path).rows
    copy.write(f"{LATER}.rollback.requested", rollback_plan(target, "deltacommit"))
    copy.write(f"{LATER}.rollback.inflight")
    assert resume(tell, copy, "--yes").code == 0
    assert own_files(copy, target) == set()
    assert reader.snapshot(copy.path).rows == rows
    assert resume(tell, copy).out == "nothing is pending\n"


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("way", ["hudictl rollback", "hudictl resume --discard-rollbacks"])
def test_13_an_armed_one_of_the_newest_commit(unpack: Unpack, tell: Tell, version: str, way: str) -> None:
    """Hudi refused it, or died before it began: whether the commit is to go only the operator knows. Each of the two
    ways that are named ends it."""
    copy = unpack(version, "cow_rollback_interrupted")
    target = newest(copy)
    before = tree(copy.path)
    for more in (("--plan",), ("--yes",)):
        said = resume(tell, copy, *more, "-o", "json")
        assert (said.code, said.out) == (13, "")
        remedy = [alone(command) for command in said.error["fields"]["remedy"]]
        assert remedy == ["hudictl resume --discard-rollbacks", f"hudictl rollback {target}"]
    assert tree(copy.path) == before
    (command,) = [command for command in remedy if command.startswith(way)]
    assert tell(*command.split()[1:], "-t", copy.path, "--engine", "local", "--yes").code == 0
    assert (newest(copy) == target) is ("discard" in way)
    assert resume(tell, copy).out == "nothing is pending\n"


@VERSIONS
@pytest.mark.parametrize("why", ["savepoint", "later commits"])
def test_13_an_armed_one_that_the_guards_refuse(unpack: Unpack, tell: Tell, version: str, why: str) -> None:
    copy = unpack(version, "cow_part")
    target = savepoint(copy, newest(copy)) if why == "savepoint" else copy.commits[-2]
    arm(copy, target, inflight=True)
    before = tree(copy.path)
    for more in (("--yes",), ("--plan",)):
        said = resume(tell, copy, *more)
        assert (said.code, said.out) == (13, "")
        who = (
            "no writer can start" if why == "savepoint" else "no writer with eager cleaning of failed writes can start"
        )
        assert (LATER in said.line, who in said.line) == (True, True)
        assert ("--discard-rollbacks" in said.line, "hudictl rollback" in said.line) == (True, False)
    assert resume(tell, copy, "--yes", "-o", "json").error["fields"]["rollback"] == LATER
    assert tree(copy.path) == before


@VERSIONS
def test_discard(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_part")
    arm(copy, copy.commits[-2], inflight=True)
    before = tree(copy.path)
    planned = resume(tell, copy, "--discard-rollbacks", "--plan", "-o", "json")
    assert (planned.code, planned.json["result"]) == (0, {"rollbacks": [LATER], "undo": None})
    assert planned.json["notes"][-1] == "planned only: nothing was changed"
    assert resume(tell, copy, "--discard-rollbacks").code == 4
    assert tree(copy.path) == before
    done = resume(tell, copy, "--discard-rollbacks", "--yes")
    assert (done.code, f"discarded {LATER}" in done.out) == (0, True)
    assert copy.having("rollback") == []
    assert "nothing is pending" in tell("table", "show", "-t", copy.path).out
    assert resume(tell, copy, "--discard-rollbacks").out == "nothing is pending\n"
    (number,) = room_times(copy.table)
    assert f"`hudictl undo --table={copy.path} --engine=local {number}`" in done.out
    assert tell("undo", number, "-t", copy.path, "--yes", "--idle", "0s").code == 0
    assert tree(copy.path, OWN) == {path: file for path, file in before.items() if not path.startswith(OWN)}


@VERSIONS
@pytest.mark.parametrize("keep", [False, True], ids=["delete", "keep"])
def test_13_discard_where_the_commit_is_taken_from_readers(
    unpack: Unpack, tell: Tell, version: str, keep: bool
) -> None:
    """The rollback could only be finished, which is the reverse of what was asked for."""
    copy = unpack(version, "cow_part")
    target = newest(copy)
    died(copy, target, "delete files", RollbackOptions(keep_files=keep))
    before, data = tree(copy.path), copy.data()
    for more in (("--plan",), ("--yes",)):
        said = resume(tell, copy, "--discard-rollbacks", *more)
        assert (said.code, said.out) == (13, "")
        assert f"readers do not see the commit {target} any more (`hudictl resume" in said.line
        assert ("`hudictl undo " in said.line) == keep
    assert tree(copy.path) == before
    assert resume(tell, copy, "--yes").code == 0
    assert copy.data() < data


@VERSIONS
def test_discard_finishes_the_rollback_of_a_failed_write(unpack: Unpack, tell: Tell, version: str) -> None:
    """No reader has seen it: nothing is there that could be kept."""
    copy = unpack(version, "cow_failed_direct")
    target = newest(copy)
    died(copy, target, "delete files")
    assert resume(tell, copy, "--discard-rollbacks", "--yes").code == 0
    assert own_files(copy, target) == set()


@VERSIONS
def test_13_discard_where_something_was_done(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_part")
    files = arm(copy, copy.commits[-2])
    drop(copy.path / files[0])
    before = tree(copy.path)
    said = resume(tell, copy, "--discard-rollbacks", "--yes")
    assert (said.code, files[0] in said.line) == (13, True)
    assert tree(copy.path) == before


def test_12_one_that_may_be_running(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    arm(copy, newest(copy))
    requested = copy.file(LATER, "rollback.requested")
    put(requested, requested.read_bytes(), old=False)
    assert resume(tell, copy, "--discard-rollbacks", "--yes").code == 12
    assert resume(tell, copy, "--discard-rollbacks", "--yes", "--idle", "0s").code == 0


@VERSIONS
def test_discard_and_finish(unpack: Unpack, tell: Tell, version: str) -> None:
    """One of its own that died, and one of Hudi's of a commit that stays: the armed one is in the way at first."""
    copy = unpack(version, "cow_failed_direct")
    failed, target = newest(copy), copy.commits[-1]
    died(copy, failed, "delete files")
    arm(copy, target)
    said = resume(tell, copy, "--discard-rollbacks", "--yes")
    assert said.code == 0
    assert (failed in said.out, f"discarded {LATER}" in said.out) == (True, True)
    assert (copy.commits[-1], own_files(copy, failed)) == (target, set())


def test_discard_and_finish_are_one_document(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_failed_direct")
    failed, target = newest(copy), copy.commits[-1]
    died(copy, failed, "delete files")
    arm(copy, target)
    planned = resume(tell, copy, "--discard-rollbacks", "--plan", "-o", "json")
    assert (planned.code, planned.json["notes"][1]) == (0, f"would discard {LATER}")
    done = resume(tell, copy, "--discard-rollbacks", "--yes", "-o", "json")
    assert (done.code, [row["instant"] for row in done.json["rows"]]) == (0, [failed])
    assert f"discarded {LATER}" in done.json["notes"][1]


def test_3_an_armed_one_waits_for_a_command_of_its_own(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_failed_direct")
    failed, target = newest(copy), copy.commits[-1]
    died(copy, failed, "delete files")
    arm(copy, target)
    said = resume(tell, copy, "--yes", "-o", "json")
    assert (said.code, [row["instant"] for row in said.json["rows"]]) == (3, [failed])
    assert (said.error["fields"]["rollback"], copy.commits[-1]) == (LATER, target)
    done = tell("rollback", target, "-t", copy.path, "--engine", "local", "--yes")
    assert (done.code, target in copy.commits) == (0, False)


@pytest.mark.slow
@VERSIONS
def test_a_restore_without_plan_is_in_no_rollbacks_way(unpack: Unpack, tell: Tell, version: str) -> None:
    """Every rollback is refused while it is there, with the advice to resume."""
    copy = unpack(version, "cow_part")
    target = newest(copy)
    died(copy, target, "delete files")
    copy.write(f"{LATER}.restore.requested")
    silent = ("--idle", "0s", "-o", "json")
    assert resume(tell, copy, "--plan", *silent).json["result"]["restores"] == [LATER]
    said = resume(tell, copy, "--yes", *silent)
    assert (said.code, said.json["result"]["restores"], copy.having("restore")) == (3, [LATER], [])
    assert resume(tell, copy, "--yes").code == 0
    assert own_files(copy, target) == set()
    assert resume(tell, copy).out == "nothing is pending\n"


@VERSIONS
def test_3_one_that_cannot_be_finished(
    unpack: Unpack, tell: Tell, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, "cow_failed_direct")
    failed = newest(copy)
    died(copy, failed, "delete files")
    put(copy.meta / ".heartbeat" / failed, old=False)
    said = resume(tell, copy, "--yes", "-o", "json")
    (row,) = said.json["rows"]
    assert (said.code, row["exit_code"], said.error["fields"]["failed"]) == (3, 12, [failed])


def test_11_a_lock_that_hudictl_does_not_take(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_failed_direct")
    died(copy, newest(copy), "delete files")
    said = resume(tell, copy, "--plan", "--hoodie-conf", "hoodie.write.lock.provider=org.example.Lock")
    assert (said.code, "org.example.Lock" in said.line) == (11, True)


@VERSIONS
def test_discard_disarms_its_own_too(unpack: Unpack, tell: Tell, version: str) -> None:
    """As `check` says: nothing of it was done."""
    copy = unpack(version, "cow_part")
    target = newest(copy)
    died(copy, target, "un-publish the instant")
    # On version 9 it has beaten, a moment ago.
    shutil.rmtree(copy.meta / ".heartbeat", ignore_errors=True)
    assert resume(tell, copy, "--discard-rollbacks", "--yes", "--idle", "0s").code == 0
    assert (copy.commits[-1], copy.having("rollback")) == (target, [])


@VERSIONS
def test_a_write_that_was_completed_since_its_rollback_was_asked_for(unpack: Unpack, tell: Tell, version: str) -> None:
    """Nobody has agreed to lose a commit that readers see: it is armed, as one of Hudi's."""
    copy = unpack(version, "cow_failed_direct")
    target = newest(copy)
    died(copy, target, "begin the rollback")
    complete(copy, target)
    said = resume(tell, copy, "--yes")
    assert (said.code, target in copy.commits) == (13, True)
    assert "--discard-rollbacks" in said.line
    assert resume(tell, copy, "--discard-rollbacks", "--yes", "--idle", "0s").code == 0
    assert (copy.commits[-1], copy.having("rollback")) == (target, [])
