"""Indexes that an operator requires: where one cannot be kept the command is refused, and nothing is changed."""

from collections.abc import Callable

import pytest

from hudictl.errors import Findings, HudictlError, Refused
from hudictl.ops.clean_up.orphans import OrphanOptions, plan_orphan_deletion
from hudictl.ops.guards.metadata import required_indexes_kept
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.state.metadata.undo import MetadataPlan, Mode, PartitionFate
from hudictl.table.properties import update_properties
from tests.fixtures import Unpack
from tests.helpers import (
    Copy,
    assert_ended,
    attempt,
    die,
    drop,
    metadata_instants,
    pending_restore,
    plan,
    restore,
    roll_back,
    rollback_of,
    rollback_plan,
    session,
    tree,
)
from tests.ops.guards.record_index_rebuilt_support import compacting
from tests.ops.rollback.execute_support import died, newest
from tests.state.metadata.undo_support import first_logs
from tests.state.orphans.find_support import between_commits, delete, listed_orphan

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
FATES = (PartitionFate("files", None), PartitionFate("record_index", "lost"), PartitionFate("column_stats", None))
UNDO = MetadataPlan(Mode.UNDO, None, (), FATES)
DELETED = MetadataPlan(Mode.DELETE, "all of it", (), (PartitionFate("files", "all of it"),))


def refusal(found: MetadataPlan, *required: str) -> HudictlError | None:
    return attempt(lambda: required_indexes_kept(found, required))


@pytest.mark.parametrize("required", [(), ("column_stats",), ("files", "column_stats")])
def test_what_is_kept_is_no_reason(required: tuple[str, ...]) -> None:
    assert refusal(UNDO, *required) is None


@pytest.mark.parametrize("required", [("record_index",), ("column_stats", "record_index"), ("all",)])
def test_one_that_is_lost_is_named_with_the_reason(required: tuple[str, ...]) -> None:
    error = refusal(UNDO, *required)
    assert isinstance(error, Refused)
    assert (error.exit_code, error.message) == (13, "record_index cannot be kept: lost")
    assert error.fields["partitions"] == ["record_index"]
    assert "--require-index" in str(error.hint)


def test_one_that_is_not_there_is_named() -> None:
    error = refusal(UNDO, "bloom_filters")
    assert isinstance(error, Refused)
    assert (error.exit_code, error.fields["partition"]) == (13, "bloom_filters")
    assert "column_stats, files, record_index" in str(error.hint)
    error = refusal(MetadataPlan(Mode.NONE, None, (), ()), "record_index")
    assert isinstance(error, Refused)
    assert "has no metadata table" in str(error.hint)


@pytest.mark.parametrize("reason", ["it is not listed in hoodie.properties", "all of it"])
def test_a_folder_that_no_reader_uses_is_no_index(reason: str) -> None:
    """A build that died has left it. By its name it can be required."""
    unused = PartitionFate("column_stats", reason, in_use=False)
    found = MetadataPlan(Mode.UNDO, None, (), (PartitionFate("files", None), unused))
    assert refusal(found, "all") is None
    assert found.lost == ("column_stats",)
    assert found.lost_in_use == ()
    assert isinstance(refusal(found, "column_stats"), Refused)


def test_all_indexes_of_a_table_without_any_are_kept() -> None:
    assert refusal(MetadataPlan(Mode.NONE, None, (), ()), "all") is None


def test_the_whole_metadata_table_is_lost_with_its_listing() -> None:
    error = refusal(DELETED, "all")
    assert isinstance(error, Refused)
    assert "all of it" in error.message


# By each command, before it changes anything.


def cleaned(copy: Copy) -> None:
    """The record index begins with its last slice, which the newest commit has been written into."""
    for log in first_logs(copy, "record_index"):
        log.unlink()


def restored(copy: Copy, required: tuple[str, ...]) -> object:
    return restore(copy, copy.commits[-2], options=RestoreOptions(to_instant=True, require_index=required))


def rolled_back(copy: Copy, required: tuple[str, ...]) -> object:
    return roll_back(copy, newest(copy), options=RollbackOptions(require_index=required))


@VERSIONS
@pytest.mark.parametrize("act", [restored, rolled_back])
@pytest.mark.parametrize("required", [("record_index",), ("all",)])
def test_nothing_is_changed(
    unpack: Unpack, version: str, act: Callable[[Copy, tuple[str, ...]], object], required: tuple[str, ...]
) -> None:
    copy = unpack(version, "cow_record_index")
    for file in (copy.meta / "metadata/record_index").glob("[!.]*.hfile"):
        file.unlink()
    cleaned(copy)
    if version == "v9" and act is rolled_back:
        # Its own delta commit is rolled back in its place: no index is touched.
        assert act(copy, required)
        return
    before = tree(copy.path)
    error = attempt(lambda: act(copy, required))
    assert isinstance(error, Refused)
    assert (error.exit_code, error.fields["partitions"]) == (13, ["record_index"])
    assert tree(copy.path) == before
    # The others can be kept.
    assert act(copy, ("files",))


@VERSIONS
@pytest.mark.parametrize("act", [restored, rolled_back])
def test_a_folder_that_is_not_listed_is_deleted(
    unpack: Unpack, version: str, act: Callable[[Copy, tuple[str, ...]], object]
) -> None:
    """And stands in nobody's way, although a record index could not be built beside a compaction (0.15.0)."""
    copy = unpack(version, "cow_record_index")
    update_properties(copy.table.storage, {"hoodie.table.metadata.partitions": "files"})
    compacting(unpack, copy)
    assert act(copy, ("all",))
    assert copy.table.metadata_partitions == ("files",)


@VERSIONS
def test_with_all_indexes_kept_it_goes_on(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    first, indexes = metadata_instants(copy)[0], copy.table.indexes
    assert restored(copy, ("all", "record_index"))
    assert (metadata_instants(copy)[0], copy.table.indexes) == (first, indexes)


@VERSIONS
def test_orphans_that_are_listed_cost_the_indexes_of_keys(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    listed_orphan(copy, between_commits(copy))
    before = tree(copy.path)
    options = OrphanOptions(0, require_index=("record_index",))
    error = attempt(lambda: plan_orphan_deletion(session(copy.table), options))
    assert isinstance(error, Refused)
    assert error.message == "record_index cannot be kept: it may hold keys of the files to delete"
    assert tree(copy.path) == before
    # Without orphans nothing is lost.
    delete(copy)
    assert plan_orphan_deletion(session(copy.table), options).orphans == ()


@VERSIONS
def test_the_deletion_that_is_asked_for_is_refused_where_an_index_is_required(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    options = RestoreOptions(to_instant=True, metadata="delete", require_index=("record_index",))
    error = attempt(lambda: plan(copy, copy.commits[0], options))
    assert isinstance(error, Refused)
    assert "--metadata delete" in error.message


@VERSIONS
def test_what_hudi_has_begun_is_refused(unpack: Unpack, version: str) -> None:
    """hudictl would end it, and has changed nothing yet."""
    copy = unpack(version, "cow_record_index")
    target = newest(copy)
    cleaned(copy)
    for file in (copy.meta / "metadata/record_index").glob("[!.]*.hfile"):
        file.unlink()
    if version == "v6":
        copy.write("20991130000000000.rollback.requested", rollback_plan(target))
        copy.write("20991130000000000.rollback.inflight")
        error = attempt(lambda: rollback_of(copy, target, RollbackOptions(require_index=("all",))))
        assert isinstance(error, Refused)
        assert error.fields["partitions"] == ["record_index"]
        for name in copy.having("rollback"):
            drop(copy.timeline / name)
    pending_restore(copy, "20991130000000000", copy.commits[-2], begun=True)
    options = RestoreOptions(to_instant=True, require_index=("all",))
    error = attempt(lambda: plan(copy, copy.commits[-2], options))
    assert isinstance(error, Refused)
    assert error.fields["partitions"] == ["record_index"]
    assert plan(copy, copy.commits[-2], RestoreOptions(to_instant=True)).resumes


@VERSIONS
def test_what_has_begun_goes_on(unpack: Unpack, version: str) -> None:
    """A rerun could not refuse any more: the way back is to finish it. What is not kept is told at the end."""
    copy = unpack(version, "cow_record_index")
    target = copy.commits[-2]
    die(copy, target, "delete files", RestoreOptions(to_instant=True))
    required = RestoreOptions(to_instant=True, require_index=("bloom_filters",))
    assert plan(copy, target, required).resumes
    with pytest.raises(Findings, match="bloom_filters could not be kept: it is no partition"):
        restore(copy, target, options=required)
    assert_ended(copy, target)


@VERSIONS
def test_a_rollback_that_has_begun_goes_on(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    target = newest(copy)
    died(copy, target, "delete files")
    required = RollbackOptions(require_index=("bloom_filters",))
    assert rollback_of(copy, target, required).resumes
    with pytest.raises(Findings, match="bloom_filters could not be kept: it is no partition"):
        roll_back(copy, target, options=required)
