"""What the metadata table's own rollback deletes, what it lists afterwards, and how it comes back into use."""

import json
from dataclasses import replace

import pytest

from hudictl.errors import HudictlError, StorageFailed, Unreadable, Unsupported
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.metadata import keep as module
from hudictl.ops.metadata.keep import (
    MetadataOutcome,
    begin_keeping,
    forget_kept,
    put_back_unchanged,
    roll_back_aside,
    take_out_of_use,
    use_again,
)
from hudictl.state.files.needed import needed_files
from hudictl.state.metadata.record import KeptMetadata, left_aside
from hudictl.state.metadata.treatment import metadata_fate
from hudictl.state.metadata.undo import PartitionFate
from hudictl.storage.local import LocalStorage
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.files.sweep import sweep
from hudictl.table.metadata.aside import delete_dropped, table_aside
from hudictl.table.metadata.listing import Listing, read_listing
from hudictl.table.metadata.place import PARTITION_KEYS
from hudictl.table.properties import update_properties
from hudictl.table.timeline.active import load_timeline
from tests.fixtures import Unpack
from tests.helpers import (
    ENGINE,
    OWN,
    Copy,
    disk_log,
    drop,
    metadata_timeline,
    put,
    replace_function,
    rollback_plan,
    session,
)
from tests.ops.held_support import holding
from tests.ops.metadata.keep_support import R, kept_of, own, without_newest
from tests.ops.restore.new_metadata_table_support import make_anew
from tests.state.metadata.treatment_support import facts_of

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
LISTED, BEING_BUILT = PARTITION_KEYS


def listing_of(copy: Copy, kept: KeptMetadata) -> Listing:
    return read_listing(table_aside(copy.table, kept.aside), [], copy.table)


def like(copy: Copy, instant: str) -> str:
    """The path of a base file that the first commit might have written, but for its instant."""
    first = copy.commits[0]
    path = min(path for path in copy.data() if first in path)
    return path.replace(path.rpartition("/")[2][:8], "deadbeef").replace(first, instant)


# Its own delta commit.


@VERSIONS
def test_its_delta_commit_is_later_than_all_that_the_operation_uses(unpack: Unpack, version: str) -> None:
    """Readers do not count one that has the time of a pending instant."""
    copy = unpack(version, "cow_part")
    facts, removed, last = facts_of(copy), copy.commits[-1:], time_plus_ms(R, 9)
    plan = metadata_fate(facts, removed, needed_files(facts, removed, NOTHING_SAVED), NOTHING_SAVED)
    kept = begin_keeping(copy.table, R, last, plan)
    assert kept is not None
    assert kept.aside.sync.removesuffix("003" if version == "v6" else "") == time_plus_ms(last, 1)


# What goes.


@VERSIONS
def test_its_files_are_gone_from_the_disk_before_their_instants(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power failure a file without an instant might count when that instant is written again."""
    copy = unpack(version, "mor_part")
    kept = kept_of(copy)
    take_out_of_use(copy.table, R, kept)
    newest, found = without_newest(copy)
    log = disk_log(monkeypatch)
    assert roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found).kept
    aside = copy.path / OWN / f"metadata-{R}"
    folders = {file.partition for fate in kept.plan.partitions for file in fate.files}
    instants = [number for number, line in enumerate(log) if line.startswith(f"unlink {aside}/.hoodie/")]
    assert folders >= {"files"}
    for folder in folders:
        files = [number for number, line in enumerate(log) if line.startswith(f"unlink {aside}/{folder}/")]
        synced = [number for number, line in enumerate(log) if line == f"sync {aside}/{folder}"]
        assert [number for number in synced if files[-1] < number < instants[0]]


@VERSIONS
def test_a_pending_rollback_of_an_undone_instant_and_pending_cleans_go(unpack: Unpack, version: str) -> None:
    """Hudi's next write would finish them: for an instant that is gone, and with files that are needed again."""
    copy = unpack(version, "cow_part")
    rollback, clean = "20261123000000000", "20261123000000001"
    put(metadata_timeline(copy) / f"{rollback}.rollback.requested", rollback_plan(copy.commits[-1], "deltacommit"))
    put(metadata_timeline(copy) / f"{clean}.clean.requested", b"x")
    kept = kept_of(copy)
    take_out_of_use(copy.table, R, kept)
    newest, found = without_newest(copy)
    assert roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found).kept
    times = {entry.time for entry in load_timeline(table_aside(copy.table, kept.aside)).instants}
    assert times.isdisjoint({rollback, clean, newest})


# What it lists.


@VERSIONS
def test_a_partition_without_metafile_stays_listed(unpack: Unpack, version: str) -> None:
    """A listing of folders does not find it; its files are looked up."""
    copy = unpack(version, "cow_part")
    kept = kept_of(copy)
    take_out_of_use(copy.table, R, kept)
    without_newest(copy)
    files = {path.name for path in (copy.path / "part-1").glob("*.parquet")}
    drop(copy.path / "part-1/.hoodie_partition_metadata")
    found = sweep(copy.table, ENGINE, set())
    assert "part-1" not in found.partitions
    newest = kept.plan.instants_undone[0]
    assert roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found).kept
    assert set(listing_of(copy, kept)["part-1"]) == files


@VERSIONS
def test_files_that_came_since_planning_are_listed_only_for_completed_instants(unpack: Unpack, version: str) -> None:
    """And only with content. A running writer's files are not in the plan, so that they are not hidden by it."""
    copy = unpack(version, "cow_part")
    kept = kept_of(copy)
    take_out_of_use(copy.table, R, kept)
    newest, _ = without_newest(copy)
    late, missing, empty = like(copy, R), like(copy, copy.commits[0]), like(copy, copy.commits[1])
    copy.write(f"{R}.commit.requested")
    for path, body in ((late, b"rows"), (missing, b"rows"), (empty, b"")):
        put(copy.path / path, body)
    found = sweep(copy.table, ENGINE, set())
    assert roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found).kept
    listed = {f"{partition}/{name}" for partition, names in listing_of(copy, kept).items() for name in names}
    assert {late, missing, empty} & listed == {missing}


@VERSIONS
@pytest.mark.parametrize("error", [Unreadable, Unsupported])
def test_one_that_cannot_be_read_never_stops_the_operation(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch, error: type[HudictlError]
) -> None:
    copy = unpack(version, "cow_part")
    kept = kept_of(copy)
    take_out_of_use(copy.table, R, kept)
    newest, found = without_newest(copy)

    def fails(*_: object) -> None:
        raise error("a log is of a later release")

    monkeypatch.setattr(module, "gather_listing", fails)
    assert (
        roll_back_aside(session(copy.table), holding(copy.table), kept, {newest}, found).given_up
        == "a log is of a later release"
    )


# Into use again.


def with_definitions(copy: Copy, body: str) -> KeptMetadata:
    """A metadata table that is right again, but for a secondary index, which is lost."""
    put(copy.meta / ".index_defs/index.json", body)
    update_properties(copy.table.storage, {"hoodie.table.index.defs.path": ".hoodie/.index_defs/index.json"})
    kept = kept_of(copy)
    partitions = (*kept.plan.partitions, PartitionFate("secondary_index_a", "lost"))
    kept = replace(kept, plan=replace(kept.plan, partitions=partitions))
    take_out_of_use(copy.table, R, kept)
    return kept


@VERSIONS
def test_the_definition_of_a_lost_index_goes_before_it_is_in_use_again(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    definitions = {"secondary_index_a": {"version": "V1"}, "secondary_index_b": {"version": "V1"}}
    kept = with_definitions(copy, json.dumps({"indexDefinitions": definitions}))
    outcome = MetadataOutcome(kept.plan.kept)
    assert use_again(copy.table, kept, outcome) == outcome
    left = json.loads((copy.meta / ".index_defs/index.json").read_bytes())
    assert set(left["indexDefinitions"]) == {"secondary_index_b"}


@VERSIONS
def test_with_damaged_definitions_it_is_given_up(unpack: Unpack, version: str) -> None:
    """The operation ends all the same."""
    copy = unpack(version, "cow_part")
    kept = with_definitions(copy, "{")
    outcome = use_again(copy.table, kept, MetadataOutcome(kept.plan.kept))
    assert "has no valid index definitions" in str(outcome.given_up)
    assert (outcome.kept, copy.table.metadata_partitions) == (frozenset(), ())
    assert not (copy.meta / "metadata").exists()


@VERSIONS
def test_one_that_was_only_set_aside_comes_back_with_what_was_to_be_lost(unpack: Unpack, version: str) -> None:
    """Also with the index that was being built."""
    copy = unpack(version, "cow_part")
    used = ("record_index", *copy.table.metadata_partitions)
    update_properties(copy.table.storage, {LISTED: ",".join(used), BEING_BUILT: "bloom_filters"})
    kept = kept_of(copy)
    assert set(kept.plan.lost) == {"record_index", "bloom_filters"}
    take_out_of_use(copy.table, R, kept)
    assert (copy.table.metadata_partitions, copy.table.metadata_partitions_inflight) == ((), ())
    assert put_back_unchanged(copy.table, kept)
    table = copy.table
    assert (set(table.metadata_partitions), table.metadata_partitions_inflight) == (set(used), ("bloom_filters",))


@VERSIONS
def test_one_that_was_lost_and_deleted_does_not_come_back(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a store that cannot move folders: its properties alone would be a metadata table without files."""
    monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    copy = unpack(version, "cow_part")
    kept = kept_of(copy)
    take_out_of_use(copy.table, R, kept)
    make_anew(copy)
    take_out_of_use(copy.table, R, kept)
    assert delete_dropped(copy.table, R)
    assert not put_back_unchanged(copy.table, kept)
    assert (copy.table.metadata_partitions, (copy.meta / "metadata").exists()) == ((), False)


@VERSIONS
@pytest.mark.parametrize("moves", [True, False], ids=["moves folders", "object store"])
def test_a_death_while_it_is_forgotten_leaves_its_record(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch, moves: bool
) -> None:
    """On an object store the next command finds only by the record what is set aside."""
    if not moves:
        monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    copy = unpack(version, "cow_part")
    take_out_of_use(copy.table, R, kept_of(copy))

    def dies(*_: object) -> None:
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        replace_function(patch, f"{module.__name__}.delete_aside", dies)
        with pytest.raises(StorageFailed):
            forget_kept(copy.table, R)
    assert left_aside(copy.table, load_timeline(copy.table)) == (R,)
    forget_kept(copy.table, R)
    assert own(copy) == []
    assert not (copy.meta / "metadata").exists()
