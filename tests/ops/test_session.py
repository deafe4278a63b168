"""Who was taken for dead stops before each step that cannot be undone, also where that comes in the middle of one; and
what ends before its time says how to go on."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.errors import Conflict, EngineFailed, HudictlError, Interrupted, StorageFailed
from hudictl.ops.clean_up import litter
from hudictl.ops.clean_up.orphans import OrphanOptions, delete_orphans, plan_orphan_deletion
from hudictl.ops.copy.execute import execute_copy
from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.leftovers import plan_leftovers, remove_leftovers
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.withdraw import plan_withdrawal, withdraw_restore
from hudictl.ops.rollback.execute import execute_rollbacks
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.savepoint.deletion import delete_savepoint, plan_deletion
from hudictl.ops.session import Silent
from hudictl.reports.table import describe_table
from hudictl.table.metadata.place import metadata_table_in_use
from tests.copy_support import planned, store
from tests.fixtures import Unpack
from tests.helpers import (
    OWN,
    At,
    Last,
    die,
    in_the_middle,
    plan,
    put,
    restore,
    roll_back,
    rollback_of,
    savepoint,
    session,
    take_over,
    tree,
)
from tests.ops.restore.leftovers_support import remnant
from tests.ops.rollback.discard_support import discard
from tests.ops.rollback.execute_support import newest
from tests.ops.undo.untouched_support import arm
from tests.state.orphans.find_support import between_commits, listed_orphan, orphan

EXECUTE = "hudictl.ops.{}.execute.{}"
ALL = RestoreOptions(to_instant=True, delete_later_savepoints=True)


def stops(act: Callable[[], object]) -> None:
    with pytest.raises(Conflict, match="taken over"):
        act()


class Cold(LocalEngine):
    """As Spark, whose workers turn out not to start once it has been ready."""

    def ready(self) -> None:
        raise EngineFailed("no Python starts")


@pytest.mark.parametrize("kind", ["restore", "rollback", "orphans delete", "copy"])
def test_an_engine_that_cannot_work_is_found_before_the_first_change(unpack: Unpack, kind: str, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_savepoints")
    target, other = newest(copy), tmp_path / "other"
    if kind == "orphans delete":
        orphan(copy, between_commits(copy))
    now, cold = session(copy.table), session(copy.table, engine=Cold())
    act = {
        "restore": lambda: partial(execute_restore, cold, plan(copy, copy.savepoints[0], ALL)),
        "rollback": lambda: partial(execute_rollbacks, cold, [rollback_of(copy, target)]),
        "orphans delete": lambda: partial(delete_orphans, cold, plan_orphan_deletion(now, OrphanOptions(0))),
        "copy": lambda: partial(execute_copy, cold, planned(copy.table, target, other), store(other)),
    }[kind]()
    before = tree(copy.path, OWN)
    with pytest.raises(EngineFailed, match="no Python starts"):
        act()
    assert tree(copy.path, OWN) == before
    assert not other.exists()


@pytest.mark.parametrize("keep", [False, True], ids=["delete", "keep"])
@pytest.mark.parametrize("kind", ["restore", "rollback"])
def test_what_ends_before_its_time_names_the_ways_that_are_possible(unpack: Unpack, kind: str, keep: bool) -> None:
    """As `table show` names them."""
    copy = unpack("v9", "cow_savepoints")

    def die() -> None:
        raise StorageFailed("the process dies here")

    at, restores, rolls_back = (
        At("delete files", die),
        RestoreOptions(keep_files=keep),
        RollbackOptions(keep_files=keep),
    )
    begin: dict[str, Callable[[], object]] = {
        "restore": lambda: restore(copy, copy.savepoints[-1], at, restores),
        "rollback": lambda: roll_back(copy, newest(copy), at, rolls_back),
    }
    with pytest.raises(StorageFailed, match="dies here") as caught:
        begin[kind]()
    ways = [way.command for way in describe_table(copy.table).remedy]
    assert re.findall("`(hudictl [^`]*)`", caught.value.hint) == ways
    assert any(" undo " in way for way in ways) == keep
    assert ("there is no way back" in caught.value.hint) == (kind == "rollback" and not keep)


# Rollback.


def test_a_rollback_does_not_begin(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    stops(lambda: roll_back(copy, newest(copy), At("begin the rollback", lambda: take_over(copy))))
    assert [name for name in copy.having("rollback") if name.endswith(".inflight")] == []


def test_no_phase_of_a_rollback_begins(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    target = newest(copy)
    stops(lambda: roll_back(copy, target, At("publish the rollback", lambda: take_over(copy))))
    assert [name for name in copy.instants() if name.startswith(target)]


@pytest.mark.parametrize(
    ("work", "left"),
    [
        ("rollback.execute.back_up_instants", "commit"),
        ("undo.execute.write_blocks", "files"),
        ("rollback.execute.remove_traces", "rollback"),
    ],
)
def test_in_the_middle_of_a_rollback(unpack: Unpack, monkeypatch: pytest.MonkeyPatch, work: str, left: str) -> None:
    """Version 9 has files to delete: its rollback marks nothing."""
    copy = unpack("v9", "mor_part")
    target, data = newest(copy), copy.data()
    in_the_middle(monkeypatch, f"hudictl.ops.{work}", lambda: take_over(copy))
    stops(lambda: roll_back(copy, target))
    assert left != "commit" or target in copy.commits
    assert left == "rollback" or copy.data() == data
    assert [name for name in copy.having("rollback") if name.endswith(".rollback")] == []


def test_no_rollback_is_discarded(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    arm(copy, copy.commits[-2])
    before = copy.having("rollback")
    stops(lambda: discard(copy, At("discard rollbacks", lambda: take_over(copy))))
    assert copy.having("rollback") == before


# Restore.


def test_a_restore_is_not_requested(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    monitor = Last("request the restore", lambda: take_over(copy))
    stops(lambda: restore(copy, copy.savepoints[-1], monitor))
    assert monitor.last == "request the restore"


def test_a_restore_does_not_begin(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    stops(lambda: restore(copy, copy.savepoints[-1], At("begin the restore", lambda: take_over(copy))))
    assert copy.having("restore") == []


def test_no_phase_of_a_restore_begins(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    later = {name for name in copy.instants() if name > target and name.endswith("requested")}
    stops(lambda: restore(copy, target, At("remove instants", lambda: take_over(copy))))
    assert later <= copy.instants()


def test_the_next_instant_of_a_restore_is_not_un_published(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    before = copy.commits
    in_the_middle(monkeypatch, "hudictl.ops.undo.instants.unpublish", lambda: take_over(copy))
    stops(lambda: restore(copy, before[0], options=ALL))
    assert copy.commits == before[:-1]


def test_a_restore_deletes_no_files(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    data = copy.data()
    in_the_middle(monkeypatch, EXECUTE.format("undo", "write_blocks"), lambda: take_over(copy))
    stops(lambda: restore(copy, copy.savepoints[-1]))
    assert copy.data() == data


def test_a_restore_is_not_published(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    in_the_middle(monkeypatch, EXECUTE.format("restore", "drop_backup"), lambda: take_over(copy))
    stops(lambda: restore(copy, copy.savepoints[-1]))
    assert [name for name in copy.having("restore") if name.endswith(".restore")] == []


def test_the_next_instant_of_a_withdrawal_is_not_published(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    before = copy.commits
    die(copy, before[0], "delete files", ALL)
    plan = plan_withdrawal(session(copy.table), 0)
    in_the_middle(monkeypatch, "hudictl.ops.restore.withdraw.publish_again", lambda: take_over(copy))
    stops(lambda: withdraw_restore(session(copy.table), plan, 0))
    assert copy.commits == before[:2]


def test_a_restore_is_not_withdrawn(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    die(copy, copy.savepoints[-1], "delete files")
    before = copy.having("rollback") + copy.having("restore")
    plan = plan_withdrawal(session(copy.table), 0)
    monitor = At("withdraw the restore", lambda: take_over(copy))
    stops(lambda: withdraw_restore(session(copy.table, monitor), plan, 0))
    assert copy.having("rollback") + copy.having("restore") == before


def test_no_leftovers_are_removed(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    remnant(copy, ("requested",))
    before, plan = copy.having("rollback"), plan_leftovers(session(copy.table), 0)
    monitor = At("remove leftovers of restores", lambda: take_over(copy))
    stops(lambda: remove_leftovers(session(copy.table, monitor), plan, 0))
    assert copy.having("rollback") == before


# All others.


def test_no_savepoint_is_made(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    in_the_middle(monkeypatch, "hudictl.formats.savepoint.encode", lambda: take_over(copy))
    stops(lambda: savepoint(copy, copy.commits[-1]))
    assert copy.having("savepoint") == []


def test_no_savepoint_is_deleted(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    plan = plan_deletion(session(copy.table), copy.savepoints[-1])
    monitor = At("delete the savepoint", lambda: take_over(copy))
    stops(lambda: delete_savepoint(session(copy.table, monitor), plan))
    assert plan.target in copy.savepoints


@pytest.mark.parametrize(
    ("metadata", "step"),
    [("delete", "take the metadata table out of use"), ("keep", "take the files out of the metadata table")],
)
def test_no_metadata_table_goes_with_orphans(unpack: Unpack, metadata: str, step: str) -> None:
    copy = unpack("v9", "cow_part")
    listed_orphan(copy, between_commits(copy))
    plan = plan_orphan_deletion(session(copy.table), OrphanOptions(0, metadata))
    monitor = At(step, lambda: take_over(copy))
    stops(lambda: delete_orphans(session(copy.table, monitor), plan))
    assert metadata_table_in_use(copy.table)


def test_no_orphan_is_deleted(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    path = orphan(copy, between_commits(copy))
    plan = plan_orphan_deletion(session(copy.table), OrphanOptions(0))
    in_the_middle(monkeypatch, "hudictl.ops.clean_up.orphans._with_slices", lambda: take_over(copy))
    stops(lambda: delete_orphans(session(copy.table), plan))
    assert path in copy.data()


def test_no_heartbeat_is_deleted(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    beat = put(copy.meta / ".heartbeat" / "20201121000000000")
    plan = litter.plan_heartbeat_deletion(session(copy.table), beat.name)
    in_the_middle(monkeypatch, "hudictl.ops.clean_up.litter.plan_heartbeat_deletion", lambda: take_over(copy))
    stops(lambda: litter.delete_heartbeat(session(copy.table), plan))
    assert beat.exists()


def test_no_marker_is_deleted(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    target = copy.commits[-1]
    marker = put(copy.meta / ".temp" / target / "part-0" / f"a-0_0-1-1_{target}.parquet.marker.CREATE")
    plan = litter.plan_marker_deletion(session(copy.table), target)
    in_the_middle(monkeypatch, "hudictl.ops.clean_up.litter.plan_marker_deletion", lambda: take_over(copy))
    stops(lambda: litter.delete_markers(session(copy.table, Silent()), plan))
    assert marker.exists()


@pytest.mark.parametrize("error", [Interrupted, StorageFailed])
def test_who_interrupts_a_restore_is_shown_the_way_back(unpack: Unpack, error: type[HudictlError]) -> None:
    """The same command goes on to delete files: only a failure is to be tried again."""
    copy = unpack("v9", "cow_savepoints")

    def stops() -> None:
        raise error("it stops here")

    with pytest.raises(error) as caught:
        restore(copy, copy.savepoints[-1], At("delete files", stops))
    assert ("run the same command again" in caught.value.hint) == (error is StorageFailed)
    assert "`hudictl resume`: " in caught.value.hint
    assert "`hudictl resume --withdraw`: " in caught.value.hint
