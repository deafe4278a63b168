"""A metadata table that a restore keeps: when it is looked at again, when its record is written, and who decides."""

from collections.abc import Callable

import pytest

from hudictl.errors import Conflict, StorageFailed
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.withdraw import plan_withdrawal, withdraw_restore
from hudictl.state.metadata.record import read_kept
from hudictl.table.metadata.place import metadata_table_in_use
from tests.fixtures import Unpack
from tests.helpers import (
    At,
    Copy,
    assert_ended,
    assert_kept,
    attempt,
    die,
    drop,
    metadata_instants,
    metadata_timeline,
    plan,
    put,
    replace_function,
    restore,
    session,
)

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
TO_INSTANT = RestoreOptions(to_instant=True)


def pending_restore(copy: Copy) -> str:
    (request,) = copy.having("restore.requested")
    return request.partition(".")[0]


@VERSIONS
def test_one_that_has_changed_since_planning_stops_it_before_it_is_requested(unpack: Unpack, version: str) -> None:
    """A request would block all writers."""
    copy = unpack(version, "cow_part")
    before, instants = copy.data(), copy.instants()

    def change() -> None:
        put(metadata_timeline(copy) / "20261124050000000.deltacommit.requested")

    error = attempt(lambda: restore(copy, copy.commits[0], At("check again", change), TO_INSTANT))
    assert isinstance(error, Conflict)
    assert "its timeline has changed" in error.message
    assert (copy.data(), copy.instants()) == (before, instants)


@VERSIONS
def test_its_record_is_written_before_a_savepoint_is_half_created(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The metadata table hides files of a commit with such a savepoint: a rerun could not plan to keep it."""
    copy = unpack(version, "cow_part")
    target, first = copy.commits[0], metadata_instants(copy)[0]

    def dies(*_: object) -> None:
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        # The savepoint is pending then.
        replace_function(patch, "hudictl.ops.restore.protection.completion_now", dies)
        with pytest.raises(StorageFailed, match="dies here"):
            restore(copy, target, options=TO_INSTANT)
    assert copy.having("savepoint.inflight")
    assert read_kept(copy.table, pending_restore(copy)) is not None
    done = restore(copy, target, options=TO_INSTANT)
    assert done.metadata_table == "rolled back"
    assert_kept(copy, first, done.instants)
    assert_ended(copy, target)


@VERSIONS
def test_its_own_delta_commit_is_later_than_the_rollbacks(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    die(copy, copy.commits[0], "delete files", TO_INSTANT)
    kept = read_kept(copy.table, pending_restore(copy))
    assert kept is not None
    rollbacks = {name.partition(".")[0] for name in copy.having("rollback.requested")}
    assert len(rollbacks) > 1
    assert kept.aside.sync > max(rollbacks)
    assert kept.aside.sync[:17] not in rollbacks


@VERSIONS
@pytest.mark.parametrize("step", ["prepare", "take the metadata table out of use"])
def test_whoever_resumes_does_with_it_what_was_asked_for_at_first(unpack: Unpack, version: str, step: str) -> None:
    """It is still in its place."""
    copy = unpack(version, "cow_part")
    target = copy.commits[0]
    die(copy, target, step, RestoreOptions(to_instant=True, metadata="delete"))
    assert metadata_table_in_use(copy.table)
    assert restore(copy, target, options=TO_INSTANT).metadata_table == "deleted"
    assert not metadata_table_in_use(copy.table)


@VERSIONS
@pytest.mark.parametrize("step", ["prepare", "take the metadata table out of use"])
def test_what_began_with_its_deletion_does_not_keep_it(unpack: Unpack, version: str, step: str) -> None:
    """Although by now it could: an update of its properties was interrupted, and is recovered meanwhile."""
    copy = unpack(version, "cow_part")
    target = copy.commits[0]
    backup = put(copy.meta / "metadata/.hoodie/hoodie.properties.backup", "hoodie.table.name=t_metadata\n")
    die(copy, target, step, TO_INSTANT)
    drop(backup)
    (reason,) = {entry.reason for entry in plan(copy, target, TO_INSTANT).undo.metadata_table.partitions}
    assert reason == "the restore began without it"
    assert restore(copy, target, options=TO_INSTANT).metadata_table == "deleted"
    assert not metadata_table_in_use(copy.table)


@VERSIONS
def test_it_is_in_use_again_before_writers_may_start(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a restore is withdrawn: as soon as it is no longer pending a writer would build another one."""
    copy = unpack(version, "cow_part")
    used = copy.table.metadata_partitions
    die(copy, copy.commits[0], "delete files", TO_INSTANT)
    seen: list[tuple[bool, bool]] = []

    def look(real: Callable[..., bool], *given: object) -> bool:
        before = bool(copy.having("restore.inflight"))
        done = real(*given)
        seen.append((before, copy.table.metadata_partitions == used))
        return done

    replace_function(monkeypatch, "hudictl.ops.restore.withdraw.put_back_unchanged", look)
    done = withdraw_restore(session(copy.table), plan_withdrawal(session(copy.table), 0), 0)
    assert done.metadata_table == "put back"
    assert seen == [(True, True)]
    assert copy.having("restore") == []
