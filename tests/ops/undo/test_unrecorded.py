"""A metadata table that is set aside, and whose record is damaged: the operator moves the record away, as told."""

import shutil

import pytest

from hudictl.errors import Findings, Unreadable
from hudictl.ops.restore.leftovers import plan_leftovers, remove_leftovers
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.reports.health.check import check_table
from hudictl.state.metadata.record import record_path
from tests import support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, OWN, Copy, assert_ended, attempt, die, drop, plan, restore, roll_back, session
from tests.ops.metadata.unlist_support import STORES, on_object_store
from tests.ops.undo.changed_since_support import dead_rollback

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
TO_INSTANT = RestoreOptions(to_instant=True)
NAME = "cow_record_index"


def left(copy: Copy) -> list[str]:
    return sorted(path.name for path in (copy.path / OWN).glob("*metadata-*"))


def leftovers(copy: Copy) -> list[str]:
    return [row.subject for row in check_table(copy.table, ENGINE, 0).findings if row.finding.startswith("metadata")]


def dead_restore(copy: Copy) -> tuple[str, str]:
    """One that has set the metadata table aside; its target, and its time."""
    target = copy.commits[-2]
    die(copy, target, "delete files", TO_INSTANT)
    (pending,) = copy.having("restore.inflight")
    return target, pending.partition(".")[0]


@pytest.mark.slow
@VERSIONS
@STORES
def test_a_restore_goes_on_without_it(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, moves: bool
) -> None:
    on_object_store(monkeypatch, moves)
    copy = unpack(version, NAME)
    target, time = dead_restore(copy)
    record = copy.path / record_path(time)
    record.write_text("{")
    error = attempt(lambda: restore(copy, target, options=TO_INSTANT))
    assert isinstance(error, Unreadable)
    assert error.hint is not None
    assert error.hint.startswith("move this file out of the table")
    drop(record)
    if moves:
        planned = plan(copy, target, TO_INSTANT).undo.metadata_table
        assert (planned.fate, planned.reason) == ("deleted", f"its record {record_path(time)} is gone")
        assert "record_index" in planned.lost
    done = restore(copy, target, options=TO_INSTANT)
    assert done.metadata_table == "deleted"
    assert_ended(copy, target)
    assert left(copy) == []
    assert not (copy.meta / "metadata").exists()
    assert plan_leftovers(session(copy.table), 0).nothing
    assert leftovers(copy) == []


@VERSIONS
@pytest.mark.parametrize("required", ["record_index", "all"])
def test_who_requires_an_index_is_told_that_it_is_lost(unpack: Unpack, version: str, required: str) -> None:
    copy = unpack(version, NAME)
    target, time = dead_restore(copy)
    drop(copy.path / record_path(time))
    error = attempt(lambda: restore(copy, target, options=RestoreOptions(to_instant=True, require_index=(required,))))
    assert isinstance(error, Findings)
    assert "its record" in error.message
    assert_ended(copy, target)


def without_record(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> str:
    """A dead rollback, whose record is gone; its target."""
    target = dead_rollback(copy, monkeypatch, "undo.execute.delete_files")
    (pending,) = copy.having("rollback.inflight")
    drop(copy.path / record_path(pending.partition(".")[0]))
    return target


def test_version_6_a_rollback_goes_on_without_it(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v6", NAME)
    target = without_record(copy, monkeypatch)
    assert roll_back(copy, target, options=RollbackOptions(idle_ms=0)).metadata_table == "deleted"
    assert left(copy) == []


def test_version_6_a_rollback_tells_who_requires_an_index(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v6", NAME)
    target = without_record(copy, monkeypatch)
    error = attempt(lambda: roll_back(copy, target, options=RollbackOptions(idle_ms=0, require_index=("all",))))
    assert isinstance(error, Findings)
    assert "its record" in error.message
    assert left(copy) == []
    assert leftovers(copy) == []


@VERSIONS
@STORES
def test_what_is_left_of_it_after_the_end_is_removed(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, moves: bool
) -> None:
    """Hudi has finished the operation, and the record has been moved away."""
    on_object_store(monkeypatch, moves)
    copy = unpack(version, NAME)
    _, time = dead_restore(copy)
    drop(copy.path / record_path(time))
    for name in copy.having("restore"):
        drop(copy.timeline / name)
    if not moves:
        shutil.rmtree(copy.meta / "metadata")
    assert left(copy) != []
    found = plan_leftovers(session(copy.table), 0)
    assert found.metadata_tables == (time,)
    remove_leftovers(session(copy.table), found, 0)
    assert left(copy) == []
    assert plan_leftovers(session(copy.table), 0).nothing


@VERSIONS
def test_that_of_a_pending_restore_is_not_left(unpack: Unpack, version: str) -> None:
    copy = unpack(version, NAME)
    _, time = dead_restore(copy)
    drop(copy.path / record_path(time))
    assert plan_leftovers(session(copy.table), 0).metadata_tables == ()
    assert left(copy) == [f"metadata-{time}"]
