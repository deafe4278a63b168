"""Guards on what else the timeline holds, where two restores, or a plan and its execution, meet."""

import pytest

from hudictl.errors import Conflict
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.restore import StoredRestorePlan, encode_plan
from hudictl.formats.rollback import InstantInfo
from hudictl.table.timeline.active import load_timeline
from tests.fixtures import Unpack
from tests.helpers import At, Copy, Last, die, drop, pending_restore, plan, restore, roll_back, rollback_plan, savepoint
from tests.ops.rollback.execute_support import newest

FIRST, SECOND = "20261121040000000", "20261121040000001"


def restore_of(copy: Copy, time: str, target: str, *instants: InstantInfo, begun: bool) -> None:
    copy.write(f"{time}.restore.requested", encode_plan(StoredRestorePlan(instants, target)))
    if begun:
        copy.write(f"{time}.restore.inflight")


def test_a_restore_that_was_only_requested_has_taken_nothing_back(unpack: Unpack) -> None:
    """It names an instant that somebody else has rolled back since."""
    copy = unpack("v9", "cow_savepoints")
    older, target = copy.savepoints
    restore_of(copy, FIRST, older, InstantInfo(time_plus_ms(older, 1), "commit"), begun=False)
    pending_restore(copy, SECOND, target, begun=True)
    assert plan(copy, target).restores_superseded == (FIRST,)


def test_what_was_scheduled_when_another_restore_was_planned_says_nothing_of_it(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_pending_compaction")
    target = savepoint(copy, copy.commits[-2])
    (pending,) = [entry for entry in load_timeline(copy.table).writes() if entry.pending]
    assert pending.time < target
    restore_of(copy, FIRST, copy.commits[0], InstantInfo(pending.time, pending.action), begun=True)
    pending_restore(copy, SECOND, target, begun=True)
    assert plan(copy, target).restores_superseded == (FIRST,)


@pytest.mark.parametrize("begun", [False, True], ids=["new", "the rest of one"])
def test_what_has_come_since_planning_counts_as_moved(unpack: Unpack, begun: bool) -> None:
    """The rest of a restore does not wait for others to show themselves: this look is the only one."""
    copy = unpack("v9", "cow_savepoints")
    target, data = copy.savepoints[-1], copy.data()
    if begun:
        die(copy, target, "delete files")
    late = f"{SECOND}.rollback.requested"
    monitor = Last("check again", lambda: copy.write(late, rollback_plan(copy.commits[0])))
    with pytest.raises(Conflict, match=f"changed since planning: {late}"):
        restore(copy, target, monitor)
    assert (copy.data(), monitor.last) == (data, "check again")


def test_what_has_gone_since_planning_counts_as_moved(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    older = copy.savepoints[0]

    def go() -> None:
        drop(copy.file(older, "savepoint"))
        drop(copy.file(older, "savepoint.inflight"))

    with pytest.raises(Conflict, match=f"changed since planning: {older}"):
        roll_back(copy, newest(copy), At("check again", go))
    assert copy.having("rollback") == []
