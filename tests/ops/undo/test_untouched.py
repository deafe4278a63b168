"""Rollbacks that were requested and not begun: they are discarded only where nothing of them was done."""

import pytest

from hudictl.errors import HudictlError, Refused
from hudictl.formats import rollback
from hudictl.formats.rollback import InstantInfo, RollbackRequest, StoredRollbackPlan
from hudictl.ops.restore.plan import RestoreOptions
from tests import records
from tests.fixtures import Unpack
from tests.helpers import At, Copy, die, drop, plan, put, required, restore, savepoint, tree
from tests.ops.undo.untouched_support import ARMED, arm

DISCARD = RestoreOptions(discard_rollbacks=True, idle_ms=0)
VERSIONS = pytest.mark.parametrize("version", ["v6", "v8", "v9"])


def refused(copy: Copy, target: str, named: str, options: RestoreOptions = DISCARD) -> HudictlError:
    before = tree(copy.path)
    with pytest.raises(Refused) as caught:
        plan(copy, target, options)
    assert named in caught.value.message
    assert tree(copy.path) == before
    return caught.value


@VERSIONS
@pytest.mark.parametrize("inflight", [False, True], ids=["requested", "inflight"])
@pytest.mark.parametrize("name", ["cow_savepoints", "mor_savepoints"])
def test_an_armed_rollback_of_what_stays_is_discarded_when_asked(
    unpack: Unpack, version: str, name: str, inflight: bool
) -> None:
    """On the target itself, as a refused `rollback` of Hudi's leaves it."""
    copy = unpack(version, name)
    target = copy.savepoints[-1]
    files = arm(copy, target, inflight=inflight)
    assert "--discard-rollbacks" in refused(copy, target, ARMED, RestoreOptions()).hint
    made = plan(copy, target, DISCARD)
    assert (made.rollbacks_discarded, made.rollbacks_removed) == ((ARMED,), ())
    restore(copy, target, options=DISCARD)
    assert copy.having("rollback") == []
    assert copy.commits[-1] == target
    assert set(required(copy.table, made.undo.case)) | set(files) <= copy.data()
    assert plan(copy, target).nothing_to_do


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cow_savepoints", "mor_savepoints"])
@VERSIONS
def test_also_where_no_instant_is_to_be_taken_back(unpack: Unpack, version: str, name: str) -> None:
    """The savepoint is on the newest commit: the armed rollback is all that there is to do."""
    copy = unpack(version, name)
    target = savepoint(copy, copy.commits[-1])
    assert plan(copy, target, DISCARD).nothing_to_do
    arm(copy, target)
    commits, data = copy.commits, copy.data()
    assert not plan(copy, target, DISCARD).nothing_to_do
    restore(copy, target, options=DISCARD)
    assert copy.having("rollback") == []
    assert (copy.commits, copy.data()) == (commits, data)
    assert plan(copy, target).nothing_to_do


@pytest.mark.parametrize("which", [0, 2])
def test_also_of_a_commit_before_the_target(unpack: Unpack, which: int) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    older = copy.commits[which]
    arm(copy, older)
    arm(copy, target, time=f"{ARMED[:-1]}1")
    assert plan(copy, target, DISCARD).rollbacks_discarded == (f"{ARMED[:-1]}1", ARMED)
    restore(copy, target, options=DISCARD)
    assert {older, target} <= set(copy.commits)
    assert copy.having("rollback") == []


def test_it_goes_once_the_restore_has_begun(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    arm(copy, target)
    die(copy, target, "prepare", DISCARD)
    assert copy.having("rollback") == [f"{ARMED}.rollback.requested"]
    # Whoever finishes it need not agree again.
    die(copy, target, "write rollback plans", RestoreOptions(idle_ms=0))
    assert copy.having("rollback") == []
    restore(copy, target)
    assert plan(copy, target).nothing_to_do


@VERSIONS
def test_not_where_a_file_of_its_plan_is_missing(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target, newer = copy.savepoints[-1], copy.commits[-1]
    arm(copy, target)
    # One that nobody needs: the next commit has written that group anew.
    stored = rollback.decode_plan((copy.timeline / f"{ARMED}.rollback.requested").read_bytes(), ARMED)
    first = stored.requests[0]
    lost = first.files[0].replace(target, f"{target[:-3]}000")
    more = RollbackRequest(first.partition, (*first.files, lost))
    put(copy.timeline / f"{ARMED}.rollback.requested", rollback.encode_plan(StoredRollbackPlan(stored.target, (more,))))
    refused(copy, target, "is no longer on storage")
    assert newer in copy.commits


@VERSIONS
def test_not_where_its_target_is_not_completed_any_more(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    older, target = copy.savepoints
    arm(copy, older)
    drop(copy.file(older, "savepoint"))
    drop(copy.timeline / f"{older}.savepoint.inflight")
    drop(copy.file(older, "commit"))
    by_request = RestoreOptions(discard_rollbacks=True, idle_ms=0, rule="requested")
    refused(copy, target, f"its target {older} is no longer completed", by_request)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_not_where_its_target_is_gone(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    gone = "20261121010000000"
    body = rollback.encode_plan(StoredRollbackPlan(InstantInfo(gone, "commit"), ()))
    copy.write(f"{ARMED}.rollback.requested", body)
    refused(copy, target, f"its target {gone} is no longer completed")


def test_not_where_a_rollback_block_is_there(unpack: Unpack) -> None:
    """Version 6: the files of the instant stay, and a block takes their rows back."""
    copy = unpack("v6", "mor_savepoints")
    target, newest = copy.savepoints[-1], copy.commits[-1]
    die(copy, target, "verify", RestoreOptions(idle_ms=0))
    stored = {
        found.target.time: found
        for name in copy.having("rollback.requested")
        if (found := rollback.decode_plan((copy.timeline / name).read_bytes(), name))
    }
    marked = next(found for time, found in stored.items() if any(entry.file_id for entry in found.requests))
    assert newest in stored

    fresh = Copy("v6", "mor_savepoints", copy.path.parent.with_name("fresh") / "table")
    copy.path.parent.rename(fresh.path.parent)
    other = unpack("v6", "mor_savepoints")
    # Only the blocks are taken over: the instant stays completed, with all its files.
    plan_of_it = StoredRollbackPlan(marked.target, tuple(entry for entry in marked.requests if entry.file_id))
    last = other.commits[-1]
    savepoint(other, last)
    other.write(f"{ARMED}.rollback.requested", rollback.encode_plan(plan_of_it))
    assert plan(other, last, DISCARD).rollbacks_discarded == (ARMED,)
    for path in sorted(fresh.data() - other.data()):
        put(other.path / path, (fresh.path / path).read_bytes())
    refused(other, last, "rollback block")


@pytest.mark.slow
@pytest.mark.parametrize("body", [b"", b"garbage", records.stranger()])
def test_an_unreadable_one_that_is_only_requested_has_done_nothing(unpack: Unpack, body: bytes) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    copy.write(f"{ARMED}.rollback.requested", body)
    assert plan(copy, target, DISCARD).rollbacks_discarded == (ARMED,)
    copy.write(f"{ARMED}.rollback.inflight")
    refused(copy, target, "its plan cannot be read")
    drop(copy.timeline / f"{ARMED}.rollback.requested")
    refused(copy, target, "its plan cannot be read")
    drop(copy.timeline / f"{ARMED}.rollback.inflight")
    copy.write(f"{ARMED}.rollback.requested", body)
    restore(copy, target, options=DISCARD)
    assert copy.having("rollback") == []


def test_one_of_what_goes_is_not_discarded_but_done(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target, newest = copy.savepoints[-1], copy.commits[-1]
    files = arm(copy, newest)
    made = plan(copy, target, DISCARD)
    assert (made.rollbacks_discarded, made.rollbacks_removed) == ((), (ARMED,))
    restore(copy, target, options=DISCARD)
    assert copy.having("rollback") == []
    assert not set(files) & copy.data()


def test_one_that_comes_in_under_the_claim_stops_it(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    arm(copy, target)
    with pytest.raises(HudictlError) as caught:
        restore(copy, target, At("check again", lambda: arm(copy, copy.commits[0], time=f"{ARMED[:-1]}1")), DISCARD)
    assert caught.value.exit_code == 12
    assert copy.having("restore") == []
