"""All that look at a table say the same of one state, and each command that they name ends it."""

import shutil
from pathlib import Path

import pytest

from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.state.writers.activity import DEFAULT_IDLE_MS
from hudictl.table.kept import room_times
from hudictl.table.locks.claim import claim
from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.cli.one_verdict_support import LOCAL, PENDING, assert_agreed, by_check, by_show, end
from tests.helpers import Copy, die, drop, in_the_middle, pending_restore, put, tree
from tests.ops.clean_up.service_support import DAMAGES, broken_clean, indexing
from tests.ops.restore.leftovers_support import remnant
from tests.ops.rollback.beside_support import complete
from tests.ops.rollback.execute_support import died, newest
from tests.ops.undo.untouched_support import arm

pytestmark = pytest.mark.slow

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
LATER = "20261121040000000"


def assert_each_way_ends_it(tell: Tell, copy: Copy, folder: Path) -> None:
    """Each way that is named for something ends it, with 0; what else is pending is pending still."""
    for key, ways in assert_agreed(tell, copy.path).items():
        for number, command in enumerate(ways):
            other = shutil.copytree(copy.path, folder / f"{key[0]}-{number}" / "table", symlinks=True)
            said = end(tell, other, command)
            assert (key, command, said.code, said.err) == (key, command, 0, "")
            assert key not in assert_agreed(tell, other)


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_every_table(unpack: Unpack, tell: Tell, version: str, name: str, tmp_path: Path) -> None:
    copy = unpack(version, name)
    before = tree(copy.path, ".hoodie/.hudictl")
    assert_agreed(tell, copy.path)
    assert tree(copy.path, ".hoodie/.hudictl") == before
    assert_each_way_ends_it(tell, copy, tmp_path)


@VERSIONS
def test_a_restore_that_was_only_requested(unpack: Unpack, tell: Tell, version: str, tmp_path: Path) -> None:
    """A kill left the request alone, and later savepoints: that they go is asked for anew."""
    copy = unpack(version, "cow_savepoints")
    die(copy, copy.savepoints[0], "prepare", RestoreOptions(delete_later_savepoints=True))
    (begun,) = copy.timeline.glob("*.restore.inflight")
    drop(begun)
    (ways,) = assert_agreed(tell, copy.path).values()
    assert ways == ["hudictl resume --delete-later-savepoints", "hudictl resume --withdraw"]
    assert_each_way_ends_it(tell, copy, tmp_path)


@VERSIONS
@pytest.mark.parametrize("step", ["prepare", "write rollback plans", "un-publish instants", "delete files", "verify"])
def test_a_restore_that_died(unpack: Unpack, tell: Tell, version: str, step: str, tmp_path: Path) -> None:
    copy = unpack(version, "cow_savepoints")
    die(copy, copy.savepoints[-1], step)
    ((kind, _),) = assert_agreed(tell, copy.path)
    assert kind == "pending-restore"
    ways = next(iter(by_show(tell, copy.path).values()))
    assert ways == ["hudictl resume", "hudictl resume --withdraw"]
    # Withdrawing is for a restore that has deleted nothing.
    for number, command in enumerate(ways[: 1 if step in ("delete files", "verify") else 2]):
        other = shutil.copytree(copy.path, tmp_path / f"way-{number}" / "table", symlinks=True)
        assert end(tell, other, command).code == 0
        assert assert_agreed(tell, other) == {}


@VERSIONS
@pytest.mark.parametrize("step", ["prepare", "delete files", "publish the rollback"])
@pytest.mark.parametrize("name", ["cow_part", "mor_failed_direct"])
@pytest.mark.parametrize("keep", [False, True], ids=["delete", "keep"])
def test_a_rollback_that_died(
    unpack: Unpack, tell: Tell, version: str, keep: bool, name: str, step: str, tmp_path: Path
) -> None:
    copy = unpack(version, name)
    died(copy, newest(copy), step, RollbackOptions(keep_files=keep))
    rooms = [f"hudictl undo {time}" for time in room_times(copy.table)]
    (ways,) = by_show(tell, copy.path).values()
    assert (len(rooms), [way for way in ways if " undo " in way]) == (keep, rooms)
    # Version 9's has beaten a moment ago.
    shutil.rmtree(copy.meta / ".heartbeat", ignore_errors=True)
    assert_each_way_ends_it(tell, copy, tmp_path)


@VERSIONS
@pytest.mark.parametrize("state", ["newest", "later commits", "savepointed", "completed since", "of nothing", "left"])
def test_pending_rollbacks(unpack: Unpack, tell: Tell, version: str, state: str, tmp_path: Path) -> None:
    copy = unpack(version, "cow_failed_direct" if state == "completed since" else "cow_savepoints")
    if state == "completed since":
        target = newest(copy)
        died(copy, target, "begin the rollback")
        complete(copy, target)
        shutil.rmtree(copy.meta / ".heartbeat", ignore_errors=True)
    elif state == "of nothing":
        copy.write(f"{LATER}.rollback.requested", b"garbage")
    elif state == "left":
        remnant(copy, ("requested", "inflight"))
    else:
        without = [time for time in copy.commits[:-1] if time not in copy.savepoints]
        targets = {"newest": copy.commits[-1], "later commits": without[-1], "savepointed": copy.savepoints[-1]}
        arm(copy, targets[state])
    shown = tell("table", "show", "-t", copy.path, "-o", "json").json["result"]
    assert shown["writers_can_start"] is (state not in ("later commits", "savepointed"))
    if state == "completed since":
        # The commit is a made one: nothing can be deleted by its statistics.
        (ways,) = assert_agreed(tell, copy.path).values()
        assert ways == ["hudictl resume --discard-rollbacks", f"hudictl rollback {target}"]
        assert end(tell, copy.path, "hudictl resume --discard-rollbacks").code == 0
        assert assert_agreed(tell, copy.path) == {}
    else:
        assert_each_way_ends_it(tell, copy, tmp_path)


@VERSIONS
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_clean_without_plan(unpack: Unpack, tell: Tell, version: str, damage: str, tmp_path: Path) -> None:
    copy = unpack(version, "cow_cleaned")
    broken_clean(copy, damage, begun=True)
    assert {name for name, _ in assert_agreed(tell, copy.path)} == {"clean-without-plan"}
    assert "(not a write): a clean without plan" in tell("failed-writes", "list", "-t", copy.path).out
    assert_each_way_ends_it(tell, copy, tmp_path)


@VERSIONS
def test_an_overwrite_with_a_torn_request(unpack: Unpack, tell: Tell, version: str, tmp_path: Path) -> None:
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.replacecommit.requested", b"Obj\x01half")
    assert {name for name, _ in assert_agreed(tell, copy.path)} == {"failed-write"}
    assert_each_way_ends_it(tell, copy, tmp_path)


@VERSIONS
def test_a_pending_indexing(unpack: Unpack, tell: Tell, version: str, tmp_path: Path) -> None:
    copy = unpack(version, "cow_part")
    indexing(copy, begun=True)
    ((name, instant),) = assert_agreed(tell, copy.path)
    assert name == "pending-indexing"
    assert (
        f"{instant} (not a write): an indexing of bloom_filters" in tell("failed-writes", "list", "-t", copy.path).out
    )
    assert_each_way_ends_it(tell, copy, tmp_path)
    line = ("rollback", instant[:17], "-t", copy.path, *LOCAL, "--yes")
    assert (tell(*line).code, tell(*line).code) == (0, 0)
    assert "already removed" in tell(*line).out


@VERSIONS
def test_a_restore_that_was_never_planned(unpack: Unpack, tell: Tell, version: str, tmp_path: Path) -> None:
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.restore.requested")
    assert_each_way_ends_it(tell, copy, tmp_path)


@VERSIONS
def test_what_hudictl_works_on_is_at_work(unpack: Unpack, tell: Tell, version: str) -> None:
    """Another process, to the commands that look: its claim says so, and no finding is graver than an info."""
    copy = unpack(version, "cow_savepoints")
    die(copy, copy.savepoints[-1], "delete files")
    with claim(copy.table.storage, "hudictl restore S"):
        said = tell("check", "-t", copy.path, *LOCAL, "-o", "json")
        (row,) = [row for row in said.json["rows"] if row["finding"] in (*PENDING, "at-work")]
        assert (said.code, row["finding"], row["severity"]) == (0, "at-work", "info")
        assert "`hudictl restore S`" in row["meaning"]
        assert tell("check", "-t", copy.path, *LOCAL, "--fail-on", "info").code == 3
        shown = tell("table", "show", "-t", copy.path, "-o", "json").json["result"]
        assert (shown["writers_can_start"], shown["remedy"]) == (False, [])
        assert "`hudictl restore S`" in shown["verdict"]
    assert by_check(tell, copy.path) == by_show(tell, copy.path) != {}


@VERSIONS
def test_a_restore_of_hudis_that_may_be_running_is_at_work(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    pending_restore(copy, LATER, copy.savepoints[0], begun=True)
    requested = copy.file(LATER, "restore.inflight")
    put(requested, requested.read_bytes(), old=False)
    shown = tell("table", "show", "-t", copy.path, "-o", "json").json["result"]
    assert "may be running" in shown["verdict"]
    assert (by_show(tell, copy.path), by_check(tell, copy.path), shown["writers_can_start"]) == ({}, {}, False)
    assert DEFAULT_IDLE_MS >= 60_000


@VERSIONS
def test_a_change_says_its_outcome(unpack: Unpack, tell: Tell, version: str) -> None:
    """A savepoint that was there already, and one that was made, are told apart without reading notes."""
    copy = unpack(version, "cow_savepoints")
    first, last = copy.commits[0], copy.commits[-1]
    changes = [("savepoint", "create", first), ("rollback", last), ("savepoint", "delete", first)]
    lines = [(*change, *(() if "delete" in change else LOCAL)) for change in changes]
    for line in lines:
        more = ("-t", copy.path, "-o", "json")
        for outcomes in (["planned", "done"], ["nothing to do", "nothing to do"]):
            planned, done = tell(*line, *more, "--plan"), tell(*line, *more, "--yes")
            assert [planned.json["outcome"], done.json["outcome"]] == outcomes
    for line in (("restore", copy.savepoints[-1]), ("resume",), ("failed-writes", "clean")):
        assert tell(*line, "-t", copy.path, *LOCAL, "-o", "json").json["outcome"] == "nothing to do"


@VERSIONS
@pytest.mark.parametrize("died_before", [False, True], ids=["found", "not looked"])
def test_what_the_last_look_of_a_restore_found_is_found_again(
    unpack: Unpack, tell: Tell, version: str, died_before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command must not say less; nor where the process died before it had looked."""
    copy = unpack(version, "cow_savepoints")
    line = ("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL, "--yes")
    backup = copy.meta / "hoodie.properties.backup"

    def come() -> None:
        put(backup, (copy.meta / "hoodie.properties").read_bytes())
        if died_before:
            raise KeyboardInterrupt

    place = "verify_timeline" if died_before else "complete_restore"
    with monkeypatch.context() as patch:
        in_the_middle(patch, f"hudictl.ops.restore.execute.{place}", come)
        assert tell(*line).code == (130 if died_before else 3)
    again = tell(*line)
    assert (again.code, "already at" in again.line, backup.name in again.line) == (3, True, True)
    drop(backup)
    assert ": nothing to do" in tell(*line).out
