"""Kept files beside a writer that cleans eagerly: it executes pending rollbacks before it notices a restore."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from hudictl.errors import Conflict, Findings, Incomplete, Refused, StorageFailed
from hudictl.formats.instants import ROLLBACK
from hudictl.formats.log_blocks import encode_rollback_block
from hudictl.ops.put_back import execute
from hudictl.ops.put_back.drop import execute_drop, plan_drop
from hudictl.ops.put_back.planning import plan_undo
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.reports.undo_list import undo_rows
from hudictl.state.facts import read_signs
from hudictl.state.timeline.unfinished import find_unfinished
from hudictl.storage import Storage
from hudictl.table.kept import LOST, begun_undo, read_room, room_times
from hudictl.table.timeline.active import instant_now, load_timeline, pending_rollbacks
from tests import support
from tests.fixtures import Unpack
from tests.helpers import At, Copy, die, put, restore, roll_back, session
from tests.ops.put_back.undo_support import executes, state, undo

KEEPING = RestoreOptions(to_instant=True, keep_files=True, settle_s=0.0, delete_later_savepoints=True, grace_s=0.001)
BOTH = pytest.mark.parametrize(("version", "name"), [("v6", "cow_savepoints"), ("v9", "mor_savepoints")])
WAIT, DELETE, REMOVE = "wait 0.001 s for running queries", "delete files", "remove instants"


def hides(copy: Copy) -> None:
    """It dies once it has written a rollback block."""
    plans = [plan for _, plan in pending_rollbacks(copy.table, load_timeline(copy.table)) if plan is not None]
    plan, request = next((plan, request) for plan in plans for request in plan.requests if request.logs)
    (log,) = request.logs
    name = log.rpartition("/")[2].partition(".log.")[0] + ".log.99_9-9-9"
    put(copy.path / request.partition / name, encode_rollback_block(plan.target.time, plan.target.time))


def ways(copy: Copy) -> list[str]:
    found = find_unfinished(copy.table, read_signs(copy.table), 0)
    return [way.command for entry in found for way in entry.remedy]


def assert_lost(copy: Copy, time: str) -> None:
    """No undo is promised, offered or begun."""
    before = state(copy)
    (row,) = undo_rows(copy.table)
    assert (row.undo, row.possible) == (time, False)
    with pytest.raises(Refused) as caught:
        undo(copy, time)
    assert "another process has deleted files" in caught.value.message or "have come" in caught.value.message
    assert (state(copy), begun_undo(copy.table)) == (before, None)


def resumed(copy: Copy) -> None:
    """The restore can be finished, and says that it cannot be undone."""
    with pytest.raises(Findings, match=r"^done, but it cannot be undone") as caught:
        restore(copy, copy.commits[0], options=replace(KEEPING, grace_s=0.0))
    assert caught.value.report is not None
    assert caught.value.report.undo is None  # type: ignore[attr-defined]
    (time,) = room_times(copy.table)
    room = read_room(copy.table, time)
    assert room is not None
    assert room.end == LOST
    assert_lost(copy, time)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("step", [WAIT, DELETE, REMOVE])
def test_a_restore_stops_and_promises_no_undo(unpack: Unpack, version: str, name: str, step: str) -> None:
    copy = unpack(version, name)
    with pytest.raises(Conflict, match="appeared, so that it cannot be undone any more"):
        restore(copy, copy.commits[0], At(step, partial(executes, copy)), KEEPING)
    (time,) = room_times(copy.table)
    assert ways(copy) == ["hudictl resume"]
    assert_lost(copy, time)
    resumed(copy)


@pytest.mark.slow
@BOTH
def test_and_a_writer_that_died_in_the_middle_is_seen_at_its_end(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    with pytest.raises(Findings, match=r"^done, but it cannot be undone"):
        restore(copy, copy.commits[0], At(DELETE, partial(executes, copy, dies=True)), KEEPING)
    assert_lost(copy, next(room_times(copy.table)))


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("step", [WAIT, DELETE, "verify"])
def test_after_a_death_of_the_restore(unpack: Unpack, version: str, name: str, step: str, dies: bool) -> None:
    copy = unpack(version, name)
    first = copy.commits[0]
    die(copy, first, step, KEEPING)
    (time,) = room_times(copy.table)
    assert ways(copy) == ["hudictl resume", f"hudictl undo {time}"]
    executes(copy, dies=dies)
    if step == "verify" and dies:
        # All files were in the room already.
        assert restore(copy, first, options=KEEPING).undo == time
        return
    assert ways(copy) == ["hudictl resume"]
    assert_lost(copy, time)
    resumed(copy)


@pytest.mark.slow
@pytest.mark.parametrize("step", [WAIT, DELETE])
def test_nor_with_a_rollback_block_of_another(unpack: Unpack, step: str) -> None:
    copy = unpack("v6", "mor_savepoints")
    first, before = copy.commits[0], state(copy)
    die(copy, first, step, KEEPING)
    hides(copy)
    (time,) = room_times(copy.table)
    with pytest.raises(Refused, match="by a rollback block"):
        undo(copy, time)
    resumed(copy)
    assert state(copy) != before


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_rollback(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    options = RollbackOptions(keep_files=True, settle_s=0.0)
    with pytest.raises(Findings, match=r"^done, but it cannot be undone"):
        roll_back(copy, copy.commits[-1], At(DELETE, partial(executes, copy, dies=True)), options)
    assert_lost(copy, next(room_times(copy.table)))


def begun(copy: Copy, operation: str, step: str) -> str:
    """A restore or rollback with kept files that has died."""
    if operation == "restore":
        die(copy, copy.commits[0], step, KEEPING)
    else:

        def dies() -> None:
            raise StorageFailed("it dies here")

        with pytest.raises(StorageFailed, match="dies here"):
            roll_back(copy, copy.commits[-1], At(step, dies), RollbackOptions(keep_files=True, settle_s=0.0))
    (time,) = room_times(copy.table)
    return time


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", ["cow_savepoints", "mor_savepoints", "cow_cluster"])
@pytest.mark.parametrize("operation", ["restore", "rollback", "ended"])
@pytest.mark.parametrize("step", [DELETE, "verify"])
def test_nothing_is_armed_while_an_undo_brings_files_back(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, name: str, operation: str, step: str
) -> None:
    """From the first data file on: what readers saw is completed or not there, and none of its rollbacks is pending."""
    copy = unpack(version, name)
    before, seen = state(copy), {*copy.commits}
    time = (
        begun(copy, operation, step) if operation != "ended" else restore(copy, copy.commits[0], options=KEEPING).undo
    )
    assert time is not None
    real: Callable[..., object] = execute.put_back
    looked = []

    def looks(storage: Storage, folder: str, files: list[str]) -> object:
        done = real(storage, folder, files)
        timeline = load_timeline(copy.table)
        assert not [entry for entry in timeline.writes() if entry.pending and entry.time in seen]
        assert not [entry for entry in timeline.having(ROLLBACK) if entry.pending]
        looked.extend(files)
        return done

    monkeypatch.setattr(execute, "put_back", looks)
    undo(copy, time)
    assert looked
    assert state(copy) == before


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("operation", ["restore", "rollback"])
def test_files_that_were_never_moved_must_be_there_too(unpack: Unpack, version: str, name: str, operation: str) -> None:
    """They go while the undo runs: no instant is published without them, also by the one that goes on."""
    copy = unpack(version, name)
    before, commits = state(copy), copy.commits
    time = begun(copy, operation, DELETE)
    plan = plan_undo(session(copy.table), time, 0)
    gone = next(copy.path / path for path in sorted(copy.data()) if f"_{commits[-1]}." in path)
    aside = copy.path.parent / gone.name

    with pytest.raises(Incomplete, match="1 file not as before"):
        execute.execute_undo(session(copy.table, At("put files back", lambda: gone.rename(aside))), plan, 0)
    published = copy.commits
    assert commits[-1] not in published
    with pytest.raises(Incomplete, match="1 file not as before"):
        undo(copy, time)
    assert (copy.commits, begun_undo(copy.table)) == (published, time)
    aside.rename(gone)
    undo(copy, time)
    assert state(copy) == before


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("operation", ["restore", "rollback"])
@pytest.mark.parametrize("published", [0, 1, 4])
def test_given_up_no_rollback_of_a_commit_that_is_back_is_pending(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, name: str, operation: str, published: int
) -> None:
    """A writer would execute it. Those of the others are pending again: only they say which rows to hide."""
    copy = unpack(version, name)
    time = begun(copy, operation, DELETE)
    targets = [plan.target.time for _, plan in pending_rollbacks(copy.table, load_timeline(copy.table)) if plan]
    again = execute.timeline_again

    def dies(*given: Any) -> Iterator[str]:
        yield from again(*given)[:published]
        raise StorageFailed("it dies here")

    monkeypatch.setattr(execute, "timeline_again", dies)
    with pytest.raises(StorageFailed, match="dies here"):
        undo(copy, time)
    back = [target for target in targets if target in copy.commits]
    assert bool(back) == bool(published)
    execute_drop(session(copy.table), plan_drop(session(copy.table), [time], None))
    pending = [plan.target.time for _, plan in pending_rollbacks(copy.table, load_timeline(copy.table)) if plan]
    assert pending == [target for target in targets if target not in back]


@pytest.mark.slow
def test_an_undo_that_cannot_go_on_says_what_its_end_loses(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    time = begun(copy, "restore", DELETE)

    def dies() -> None:
        raise Conflict("it dies here")

    with pytest.raises(Conflict, match="dies here"):
        undo(copy, time, At("publish instants again", dies))
    assert ways(copy) == [f"hudictl undo {time}"]
    copy.write(f"{instant_now(copy.table)}.commit.requested")
    assert ways(copy) == [f"hudictl undo {time}", f"hudictl undo drop {time}"]
