"""Orphans that the metadata table lists: it forgets them before they are deleted, and its indexes of keys go."""

import shutil
from collections.abc import Callable

import pytest

from hudictl.errors import Conflict, Refused, StorageFailed, Unreadable
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.log_blocks import HFILE_DATA, encode_block
from hudictl.ops.clean_up.orphans import OrphanOptions, OrphanPlan, plan_orphan_deletion
from hudictl.ops.metadata import unlist as module
from hudictl.ops.metadata.unlist import plan_unlisting, unlist
from hudictl.reports.health.check import check_table
from hudictl.state.metadata.treatment import NO_METADATA_TABLE
from hudictl.state.metadata.undo import MetadataPlan, Mode
from hudictl.table.files.listed import ListedFiles, ListedNames
from hudictl.table.files.slices import StoredFile
from hudictl.table.metadata.listing import listing_table, read_listing
from hudictl.table.properties import update_properties
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import (
    ENGINE,
    NEVER,
    At,
    Copy,
    FailDeletion,
    assert_kept,
    assert_listed,
    attempt,
    files_of,
    metadata_instants,
    metadata_timeline,
    put,
    replace_function,
    session,
    tree,
    unlisted,
)
from tests.metadata_edits import hfile_block, newest_log
from tests.metadata_edits import write as write_log
from tests.ops.metadata.unlist_support import STORES, on_object_store
from tests.state.metadata.treatment_support import facts_of
from tests.state.orphans.find_support import between_commits, delete, listed, listed_orphan, orphan, rolled_back

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
SHORT = pytest.mark.parametrize("version", ["v6", "v9"])
# What belongs to one file each.
OF_FILES = ("files", "column_stats", "bloom_filters")


def named(copy: Copy) -> set[str]:
    """The paths that the metadata table lists."""
    metadata = listing_table(copy.table)
    assert metadata is not None
    return {f"{partition}/{name}" for partition, names in read_listing(metadata, []).items() for name in names}


def planned(copy: Copy) -> OrphanPlan:
    return plan_orphan_deletion(session(copy.table), OrphanOptions(0))


def planned_for(copy: Copy, path: str, asked: str | None = None) -> MetadataPlan:
    facts = facts_of(copy)
    files = [file for file in files_of(facts.sweep) if file.path == path]
    assert files
    return plan_unlisting(facts, files, asked)


# The plan.


@VERSIONS
def test_one_that_lists_none_of_them_is_not_changed(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    found = planned_for(copy, orphan(copy, between_commits(copy)))
    assert (found.mode, found.lost) == (Mode.KEEP, ())
    assert found.kept == set(copy.table.metadata_partitions)


@VERSIONS
def test_one_that_lists_some_goes_forward_without_its_indexes_of_keys(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    found = planned_for(copy, listed_orphan(copy, between_commits(copy)))
    used = set(copy.table.metadata_partitions)
    assert (found.mode, found.reason) == (Mode.FORWARD, "it lists 1 file to delete")
    assert found.kept == used & set(OF_FILES)
    assert set(found.lost) == used - set(OF_FILES)
    assert "record_index" in found.lost
    (index,) = [entry for entry in found.partitions if entry.partition == "record_index"]
    assert "may hold keys" in str(index.reason)
    assert index.files_to_delete
    assert found.timeline == {path.name for path in metadata_timeline(copy).iterdir() if path.name[0].isdigit()}


@VERSIONS
def test_a_table_without_one(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    assert planned_for(copy, orphan(copy, between_commits(copy))) == NO_METADATA_TABLE


def damaged(copy: Copy) -> str:
    log = newest_log(copy.path)
    write_log(log, log.read_bytes() + encode_block(HFILE_DATA, hfile_block(log).header, b"garbage"))
    return ""


def not_used(copy: Copy) -> str:
    update_properties(copy.table.storage, {"hoodie.table.metadata.partitions": ""})
    return "readers do not use it"


def with_a_pending_restore(copy: Copy) -> str:
    put(metadata_timeline(copy) / f"{time_plus_ms(copy.commits[0], 1)}.restore.requested")
    return "is pending"


@SHORT
@pytest.mark.parametrize("act", [damaged, not_used, with_a_pending_restore])
def test_one_that_cannot_be_changed_is_deleted(unpack: Unpack, version: str, act: Callable[[Copy], str]) -> None:
    copy = unpack(version, "cow_savepoints")
    path = listed_orphan(copy, between_commits(copy))
    reason = act(copy)
    found = planned_for(copy, path)
    assert found.mode is Mode.DELETE
    assert reason in str(found.reason)
    assert delete(copy).metadata_table == "deleted"
    assert not (copy.meta / "metadata").exists()


@SHORT
def test_it_is_deleted_where_this_is_asked_for(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    found = planned_for(copy, orphan(copy, between_commits(copy)), "it was asked for")
    assert (found.mode, found.reason) == (Mode.DELETE, "it was asked for")


@SHORT
def test_without_a_delta_commit_to_follow_it_is_deleted(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, "cow_part")
    path = listed_orphan(copy, between_commits(copy))
    monkeypatch.setattr(module, "find_template", lambda metadata, timeline: None)
    assert "no delta commit of the listing" in str(planned_for(copy, path).reason)


# Its execution.


@VERSIONS
@STORES
@pytest.mark.parametrize("name", ["cow_part", "mor_part", "cow_record_index"])
def test_they_are_taken_out_of_the_listing_before_they_are_deleted(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, name: str, moves: bool
) -> None:
    """So no reader looks for a file that is gone."""
    on_object_store(monkeypatch, moves)
    copy = unpack(version, name)
    path = listed_orphan(copy, between_commits(copy))
    other = orphan(copy, time_plus_ms(copy.commits[0], 2))
    first, before, rest = metadata_instants(copy)[0], metadata_instants(copy), named(copy) - {path}
    seen: list[tuple[bool, bool, bool]] = []

    def look() -> None:
        seen.append((path in named(copy), path in copy.data(), other in copy.data()))

    done = delete(copy, At("delete files", look))
    assert seen == [(False, True, True)]
    assert (done.metadata_table, done.files_deleted, done.files_left) == ("brought forward", 2, ())
    assert {path, other}.isdisjoint(copy.data())
    assert_kept(copy, first, [])
    assert named(copy) == rest
    (added,) = set(metadata_instants(copy)) - set(before)
    assert added > max(before)
    # What may hold their keys is gone, folder and all.
    kept = {entry.name for entry in (copy.meta / "metadata").iterdir()} - {".hoodie"}
    assert kept == set(copy.table.metadata_partitions) <= set(OF_FILES)
    assert list((copy.meta / ".hudictl").glob("dropped-*")) == []


@SHORT
def test_one_that_is_not_listed_needs_no_delta_commit(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    orphan(copy, between_commits(copy))
    before, used = metadata_instants(copy), copy.table.metadata_partitions
    delete(copy)
    assert (metadata_instants(copy), copy.table.metadata_partitions) == (before, used)


@SHORT
def test_an_orphan_that_is_owned_by_then_stays_listed(unpack: Unpack, version: str) -> None:
    """The last look comes before the delta commit."""
    copy = unpack(version, "cow_part")
    path, other = listed_orphan(copy, between_commits(copy)), listed_orphan(copy, time_plus_ms(copy.commits[0], 2))
    own = At(
        "take the files out of the metadata table", lambda: copy.write(f"{between_commits(copy)}.commit.requested")
    )
    done = delete(copy, own)
    assert (done.files_left, done.files_deleted) == ((path,), 1)
    assert path in named(copy)
    assert path in copy.data()
    assert other not in named(copy) | copy.data()


@SHORT
def test_twice_is_as_once(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    path = listed_orphan(copy, between_commits(copy))
    made = planned(copy)
    files = [entry.file for entry in made.orphans]
    time = "20261124050000000"
    unlist(copy.table, ENGINE, made.metadata_table, files, time)
    after = tree(copy.path)
    unlist(copy.table, ENGINE, made.metadata_table, files, time)
    assert tree(copy.path) == after
    assert path not in named(copy)


@SHORT
@STORES
@pytest.mark.parametrize("work", ["drop_indexes", "write_logs", "completion_now", "write_listing"])
def test_a_death_in_the_middle_is_made_good_by_the_next_run(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, work: str, moves: bool
) -> None:
    """What it has begun of its delta commit is removed: a pending one would be in the way of Hudi's next write."""
    on_object_store(monkeypatch, moves)
    copy = unpack(version, "cow_record_index")
    path = listed_orphan(copy, between_commits(copy))
    first = metadata_instants(copy)[0]
    where = module.__name__ if hasattr(module, work) else "hudictl.table.metadata.writer"

    def dies(real: Callable[..., object], *given: object, **named_: object) -> None:
        real(*given, **named_)
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        replace_function(patch, f"{where}.{work}", dies)
        with pytest.raises(StorageFailed, match="dies here"):
            delete(copy)
    assert path in copy.data()
    metadata = listing_table(copy.table)
    assert metadata is not None
    again = delete(copy)
    assert again.files_deleted == 1
    assert path not in copy.data()
    metadata = listing_table(copy.table)
    assert metadata is not None
    assert [str(entry) for entry in load_timeline(metadata).writes() if entry.pending] == []
    # The folders of dropped indexes are left, as after a dead `metadata drop`: nobody reads them; `check` names them.
    left = {f".hoodie/.hudictl/{entry.name}" for entry in (copy.meta / ".hudictl").glob("dropped-*")}
    found = check_table(copy.table, ENGINE, 0).findings
    assert {row.subject for row in found if row.finding == "metadata-table-leftover"} == left
    assert bool(left) <= moves
    for name in left:
        shutil.rmtree(copy.path / name)
    assert_kept(copy, first, [])


@SHORT
def test_a_file_that_stays_is_not_listed_and_the_next_run_deletes_it(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    copy = unpack(version, "cow_part")
    path = listed_orphan(copy, between_commits(copy))
    with monkeypatch.context() as patch:
        FailDeletion(path).install(patch)
        error = attempt(lambda: delete(copy))
    assert error is not None
    assert (error.exit_code, error.fields["files"]) == (3, [path])
    assert path not in named(copy)
    again = delete(copy)
    assert (again.files_deleted, again.metadata_table) == (1, "kept")
    assert_listed(copy.path)


@SHORT
def test_a_metadata_table_that_has_changed_since_planning_stops_it(unpack: Unpack, version: str) -> None:
    """Before anything is changed."""
    copy = unpack(version, "cow_part")
    path = listed_orphan(copy, between_commits(copy))

    def change() -> None:
        put(metadata_timeline(copy) / "20261124050000000.deltacommit.requested")

    with pytest.raises(Conflict, match="its timeline has changed"):
        delete(copy, At("check again", change))
    assert path in copy.data() & named(copy)


@SHORT
def test_a_clock_behind_the_metadata_table_stops_it(unpack: Unpack, version: str) -> None:
    """Before anything is changed: readers would prefer what is newer than its delta commit."""
    copy = unpack(version, "cow_record_index")
    listed_orphan(copy, between_commits(copy))
    put(metadata_timeline(copy) / "20991231000000000.deltacommit.requested")
    before = tree(copy.path)
    with pytest.raises(Refused, match="the last instant of the metadata table's timeline, 20991231000000000, is not"):
        delete(copy)
    assert tree(copy.path) == before


@pytest.mark.slow
@SHORT
@pytest.mark.parametrize("of_data", [True, False])
def test_a_clock_that_is_set_back_after_planning_stops_it(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, of_data: bool
) -> None:
    copy = unpack(version, "cow_record_index")
    path = listed_orphan(copy, between_commits(copy))
    last = load_timeline(copy.table).last_time() if of_data else max(metadata_instants(copy))[:17]
    used = copy.table.metadata_partitions
    at = At("check again", lambda: monkeypatch.setattr("hudictl.table.timeline.active.instant_now", lambda table: last))
    with pytest.raises(Refused, match="is not earlier than this host's time"):
        delete(copy, at)
    assert copy.table.metadata_partitions == used
    assert path in copy.data() & named(copy)


@SHORT
def test_a_delta_commit_that_does_nothing_is_told(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    copy = unpack(version, "cow_part")
    path = listed_orphan(copy, between_commits(copy))
    monkeypatch.setattr(module, "write_listing", lambda *given: None)
    with pytest.raises(
        Unreadable, match=f"still lists {path} after a delta commit that takes it out; no data file was"
    ):
        delete(copy)
    assert path in copy.data()


@SHORT
def test_a_pending_delta_commit_of_another_is_not_touched(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    listed_orphan(copy, between_commits(copy))
    theirs = put(metadata_timeline(copy) / f"{time_plus_ms(copy.commits[-1], 1)}.deltacommit.requested")
    delete(copy)
    assert theirs.exists()


@SHORT
def test_files_that_it_hides_from_readers_are_deleted_with_the_others(unpack: Unpack, version: str) -> None:
    """It stays in use, and so they stay hidden until then."""
    copy = unpack(version, "cow_part")
    path = listed_orphan(copy, between_commits(copy))
    rolled_back(copy, NEVER, partitions=("part-1",))
    hidden = unlisted(copy)
    done = delete(copy)
    assert done.files_deleted == 2
    assert {path, hidden}.isdisjoint(copy.data())
    assert_listed(copy.path)


@SHORT
def test_check_finds_nothing_afterwards(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    before = {(row.finding, row.subject) for row in check_table(copy.table, ENGINE, 0).findings}
    listed(copy, orphan(copy, between_commits(copy)))
    delete(copy)
    after = {(row.finding, row.subject) for row in check_table(copy.table, ENGINE, 0).findings}
    assert {row for row in after - before if "metadata" in row[0] or "index" in row[0]} == set()


def test_listed_files_are_told_by_their_partition_too() -> None:
    data = parse_data_file("0a1b2c3d-0000-1111-2222-333344445555-0_0-1-2_1.parquet")
    assert data is not None
    file = StoredFile("a", data, 1)
    for path, expected in (("a", {file.path}), ("b", set())):
        kept = ENGINE.keep([(path, ListedNames(data.name))])
        assert module.listed(ListedFiles(kept, frozenset({path})), [file]) == expected
