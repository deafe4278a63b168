"""A record index stays beside a pending compaction: Hudi 0.15.0 could not build it again, and each write would fail."""

from collections.abc import Callable

import pytest

from hudictl.errors import Refused
from hudictl.ops.clean_up.orphans import OrphanOptions, delete_orphans, plan_orphan_deletion
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.table.metadata.place import metadata_table_in_use
from tests.fixtures import Unpack
from tests.helpers import At, Copy, attempt, die, plan, restore, roll_back, session, tree
from tests.ops.guards.record_index_rebuilt_support import compacting
from tests.ops.rollback.execute_support import newest
from tests.state.orphans.find_support import between_commits, listed_orphan, orphan

Act = Callable[[Copy, str], object]


def restored(copy: Copy, metadata: str) -> object:
    return restore(copy, copy.commits[-2], options=RestoreOptions(to_instant=True, metadata=metadata))


def rolled_back(copy: Copy, metadata: str) -> object:
    return roll_back(copy, newest(copy), options=RollbackOptions(metadata=metadata))


def cleared(copy: Copy, metadata: str) -> object:
    options = OrphanOptions(0, metadata)
    return delete_orphans(session(copy.table), plan_orphan_deletion(session(copy.table), options))


@pytest.mark.parametrize("act", [restored, rolled_back, cleared])
def test_it_is_not_deleted(unpack: Unpack, act: Act) -> None:
    copy = unpack("v6", "cow_record_index")
    orphan(copy, between_commits(copy))
    time, before = compacting(unpack, copy), tree(copy.path)
    error = attempt(lambda: act(copy, "delete"))
    assert isinstance(error, Refused)
    assert (error.fields["instant"], f"`hudictl rollback {time}`" in str(error.hint)) == (time, True)
    assert tree(copy.path) == before
    assert act(copy, "keep")
    assert "record_index" in copy.table.metadata_partitions


@pytest.mark.parametrize("act", [restored, rolled_back, cleared])
@pytest.mark.parametrize(("version", "name"), [("v6", "cow_part"), ("v9", "cow_record_index")])
def test_without_one_and_from_version_8_on_all_of_it_may_go(unpack: Unpack, version: str, name: str, act: Act) -> None:
    copy = unpack(version, name)
    orphan(copy, between_commits(copy))
    compacting(unpack, copy)
    act(copy, "delete")
    assert not metadata_table_in_use(copy.table)


def test_a_compaction_that_goes_with_the_restore_is_not_in_the_way(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_record_index")
    compacting(unpack, copy)
    restore(copy, copy.commits[0], options=RestoreOptions(to_instant=True, metadata="delete"))
    assert copy.having("compaction") == []


@pytest.mark.parametrize("keep_plan", [False, True])
def test_nor_is_the_one_that_is_rolled_back(unpack: Unpack, keep_plan: bool) -> None:
    """But with its plan kept it stays pending."""
    copy = unpack("v6", "cow_record_index")
    time = compacting(unpack, copy)
    copy.write(f"{time}.compaction.inflight")
    options = RollbackOptions(metadata="delete", keep_plan=keep_plan)
    assert isinstance(attempt(lambda: roll_back(copy, time, options=options)), Refused) is keep_plan
    assert metadata_table_in_use(copy.table) is keep_plan


def test_orphans_that_are_listed_would_cost_it(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_record_index")
    listed_orphan(copy, between_commits(copy))
    compacting(unpack, copy)
    assert isinstance(attempt(lambda: cleared(copy, "keep")), Refused)
    assert "record_index" in copy.table.metadata_partitions


def test_orphans_stay_where_the_compaction_came_since_planning(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_record_index")
    path = listed_orphan(copy, between_commits(copy))
    made = plan_orphan_deletion(session(copy.table), OrphanOptions(0))
    monitor = At("check again", lambda: compacting(unpack, copy))
    assert isinstance(attempt(lambda: delete_orphans(session(copy.table, monitor), made)), Refused)
    assert ("record_index" in copy.table.metadata_partitions, (copy.path / path).exists()) == (True, True)


def test_what_has_begun_goes_on(unpack: Unpack) -> None:
    """A rerun could not refuse any more: the way back is to finish it."""
    copy = unpack("v6", "cow_record_index")
    target, options = copy.commits[-2], RestoreOptions(to_instant=True, metadata="delete")
    die(copy, target, "take the metadata table out of use", options)
    compacting(unpack, copy)
    assert plan(copy, target, options).undo.metadata_table.lost
    restore(copy, target, options=options)
    assert not metadata_table_in_use(copy.table)
