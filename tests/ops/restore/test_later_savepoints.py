"""Savepoints on instants that go, and several restores that are pending at once."""

from collections.abc import Callable

import pytest

from hudictl.errors import Refused
from hudictl.ops.restore.leftovers import plan_leftovers
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.session import Silent
from tests.fixtures import Unpack
from tests.helpers import Copy, assert_ended, die, drop, pending_restore, plan, put, restore, savepoint, session, tree

DELETE = RestoreOptions(delete_later_savepoints=True)
TO_INSTANT = RestoreOptions(to_instant=True)
VERSIONS = pytest.mark.parametrize("version", ["v6", "v8", "v9"])


# Pitfalls 16: later savepoints.


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("name", ["cow_savepoints", "mor_savepoints"])
def test_later_savepoints_are_in_the_way_unless_they_may_go(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    later = [*copy.savepoints, savepoint(copy, copy.commits[-1])]
    target = savepoint(copy, copy.commits[0])
    before = tree(copy.path)
    with pytest.raises(Refused) as caught:
        plan(copy, target)
    assert all(time in caught.value.message for time in later)
    assert "--delete-later-savepoints" in caught.value.hint
    assert tree(copy.path) == before
    assert plan(copy, target, DELETE).savepoints_deleted == tuple(reversed(later))
    restore(copy, target, options=DELETE)
    assert copy.having("savepoint") == [f"{target}.savepoint", f"{target}.savepoint.inflight"]
    assert_ended(copy, target)


@VERSIONS
def test_they_go_once_the_restore_has_begun_and_before_the_first_rollback_plan(unpack: Unpack, version: str) -> None:
    """Earlier nothing would be restored and the protection gone; later Hudi's own resume would stop at them."""
    copy = unpack(version, "cow_savepoints")
    target, later = copy.savepoints
    seen: dict[str, list[str]] = {}

    class Look(Silent):
        def step(self, name: str) -> None:
            seen[name] = copy.savepoints

    restore(copy, target, Look(), DELETE)
    assert seen["begin the restore"] == seen["prepare"] == [target, later]
    assert seen["take the metadata table out of use"] == seen["write rollback plans"] == [target]


def test_a_savepoint_on_an_instant_that_stays_does_not_go(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    older, target = copy.savepoints
    assert plan(copy, target, DELETE).savepoints_deleted == ()
    restore(copy, target, options=DELETE)
    assert copy.savepoints == [older, target]


@VERSIONS
@pytest.mark.parametrize("step", ["take the metadata table out of use", "prepare", "delete files"])
def test_whoever_finishes_it_need_not_agree_again(unpack: Unpack, version: str, step: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target, later = copy.savepoints
    inflight = (copy.timeline / f"{later}.savepoint.inflight").read_bytes()
    die(copy, target, step, DELETE)
    # It may also have died between the two files of the savepoint.
    put(copy.timeline / f"{later}.savepoint.inflight", inflight)
    assert plan(copy, target).savepoints_deleted == (later,)
    restore(copy, target)
    assert copy.savepoints == [target]
    assert f"{later}.savepoint.inflight" not in copy.instants()
    assert_ended(copy, target)


def test_without_a_record_nobody_has_agreed(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target, later = copy.savepoints
    die(copy, target, "prepare", DELETE)
    for record in (copy.meta / ".hudictl" / "operations").iterdir():
        record.unlink()
    # Not its own any more: it may be running.
    with pytest.raises(Refused, match=later):
        plan(copy, target, RestoreOptions(idle_ms=0))
    restore(copy, target, options=RestoreOptions(idle_ms=0, delete_later_savepoints=True))
    assert_ended(copy, target)


@VERSIONS
def test_what_was_left_of_a_later_savepoint_goes_with_its_instant(unpack: Unpack, version: str) -> None:
    """It protects nothing: nobody needs to agree. The plan says so, and so it is."""
    copy = unpack(version, "cow_savepoints")
    target, later = copy.savepoints
    drop(copy.file(later, "savepoint"))
    assert plan(copy, target).savepoints_deleted == (later,)
    restore(copy, target)
    assert copy.having("savepoint") == [f"{target}.savepoint", f"{target}.savepoint.inflight"]


# Pitfalls 18: several pending restores.


FIRST, SECOND = "20261121040000000", "20261121050000000"


@VERSIONS
@pytest.mark.parametrize("begun", [(False, False), (True, False), (False, True), (True, True)])
def test_two_restores_to_one_target_end_together(unpack: Unpack, version: str, begun: tuple[bool, bool]) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    for time, state in zip((FIRST, SECOND), begun, strict=True):
        pending_restore(copy, time, target, begun=state)
    made = plan(copy, target)
    # The one that has begun goes on, and the newest of several.
    chosen = FIRST if begun == (True, False) else SECOND
    assert (made.resumes or made.withdrawn) == chosen
    assert set(made.restores_superseded) == {FIRST, SECOND} - {chosen}
    assert [view.restore for view in made.pending_restores] == [FIRST, SECOND]
    restore(copy, target)
    assert_ended(copy, target)
    assert len(copy.having("restore.requested")) == 1


@VERSIONS
def test_the_newer_target_is_finished_where_the_older_ones_restore_is_untouched(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    older, newer = copy.savepoints
    pending_restore(copy, FIRST, older, begun=True)
    pending_restore(copy, SECOND, newer, begun=True)
    # Of the newer one's instants one is taken back already.
    drop(copy.file(copy.commits[-1], "commit"))
    made = plan(copy, newer, RestoreOptions(idle_ms=0))
    assert (made.resumes, made.restores_superseded) == (SECOND, (FIRST,))
    first, second = made.pending_restores
    assert (first.target, first.own, first.state, first.gone, first.taken_back) == (older, False, "INFLIGHT", 0, 1)
    assert (second.target, second.taken_back, second.completed) == (newer, 1, 0)
    kept = [time for time in copy.commits if time <= newer]
    restore(copy, newer, options=RestoreOptions(idle_ms=0))
    assert copy.commits == kept
    assert_ended(copy, newer)


def taken_back(copy: Copy, time: str) -> None:
    drop(copy.file(time, "commit"))


def gone(copy: Copy, time: str) -> None:
    for name in [entry for entry in copy.instants() if entry.startswith(time) and "commit" in entry]:
        drop(copy.file(time, name.partition(".")[2]))
    drop(copy.timeline / f"{time}.inflight")


@VERSIONS
@pytest.mark.parametrize("act", [taken_back, gone])
def test_a_restore_that_took_back_what_the_newer_one_leaves_must_be_finished(
    unpack: Unpack, version: str, act: Callable[[Copy, str], None]
) -> None:
    copy = unpack(version, "cow_savepoints")
    older, newer = copy.savepoints
    between = next(time for time in copy.commits if older < time < newer)
    pending_restore(copy, FIRST, older, begun=True)
    pending_restore(copy, SECOND, newer, begun=True)
    act(copy, between)
    before = tree(copy.path)
    with pytest.raises(Refused, match=between) as caught:
        plan(copy, newer, RestoreOptions(idle_ms=0))
    assert f"restore {older}" in caught.value.hint
    assert tree(copy.path) == before
    restore(copy, older, options=RestoreOptions(idle_ms=0, delete_later_savepoints=True))
    assert_ended(copy, older)


def test_a_restore_to_a_third_target_is_refused(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    older, newer = copy.savepoints
    pending_restore(copy, FIRST, newer, begun=True)
    with pytest.raises(Refused, match=f"{FIRST}.*{newer}") as caught:
        plan(copy, older, DELETE)
    assert "resume" in caught.value.hint


def test_what_protected_the_target_of_a_superseded_restore_is_a_leftover(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    older, newer = copy.commits[1], copy.commits[3]
    die(copy, older, "write rollback plans", TO_INSTANT)
    pending_restore(copy, SECOND, newer, begun=True)
    restore(copy, newer, options=RestoreOptions(idle_ms=0))
    assert plan_leftovers(session(copy.table), 0).savepoints == (older,)
    assert_ended(copy, newer)


def test_hudictls_own_savepoint_on_an_instant_that_goes_is_not_in_the_way(unpack: Unpack) -> None:
    copy = unpack("v8", "cow_part")
    older, newer = copy.commits[1], copy.commits[3]
    die(copy, newer, "write rollback plans", TO_INSTANT)
    for name in copy.having("restore"):
        drop(copy.timeline / name)
    assert copy.savepoints == [newer]
    restore(copy, older, options=TO_INSTANT)
    assert copy.savepoints == []
    assert_ended(copy, older)
