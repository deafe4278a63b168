"""Why a partition of a metadata table, or all of it, cannot go back; each reason by itself, and its twin."""

import json
from pathlib import Path

import pytest

from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import time_plus_ms
from hudictl.state.metadata.undo import MetadataPlan, Mode
from hudictl.table.metadata.listing import listing_table
from hudictl.table.properties import update_properties
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import NEVER, Copy, drop, metadata_timeline, put, rollback_plan
from tests.metadata_edits import newest_log
from tests.ops.rollback.metadata_aside_support import with_a_shared_log
from tests.state.metadata.undo_support import LISTED, first_logs, planned, reasons

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
LATE = "20261130000000000"


def to_undo(plan: MetadataPlan, partition: str) -> set[str]:
    """The names of the files of a partition that is kept, or lost."""
    return {file.data.name for entry in plan.partitions if entry.partition == partition for file in entry.files}


# Pending work of its own.


@VERSIONS
@pytest.mark.parametrize("action", ["compaction", "logcompaction"])
def test_a_service_that_was_requested_before_is_in_the_way(unpack: Unpack, version: str, action: str) -> None:
    copy = unpack(version, "cow_savepoints")
    time = time_plus_ms(copy.commits[0], 1)
    put(metadata_timeline(copy) / f"{time}.{action}.requested")
    plan = planned(copy, copy.commits[-1:])
    assert (plan.mode, plan.reason) == (Mode.DELETE, f"its {action} {time} is pending")


@VERSIONS
def test_a_pending_rollback_is_in_the_way_unless_its_instant_is_undone(unpack: Unpack, version: str) -> None:
    """Hudi's next write would take back a delta commit that is kept."""
    copy = unpack(version, "cow_savepoints")
    rollback = metadata_timeline(copy) / f"{LATE}.rollback.requested"
    put(rollback, rollback_plan(copy.commits[-1], "deltacommit"))
    assert planned(copy, copy.commits[-1:]).mode is Mode.UNDO
    for body in (rollback_plan(copy.commits[0], "deltacommit"), b"damaged"):
        put(rollback, body)
        plan = planned(copy, copy.commits[-1:])
        assert (plan.mode, plan.reason) == (Mode.DELETE, f"its rollback {LATE} is pending")


# What is undone.


@VERSIONS
def test_delta_commits_of_later_instants_that_stay_are_kept(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    *_, removed, last = copy.commits
    plan = planned(copy, [removed])
    assert plan.instants_undone == (removed,)
    assert last in {entry.time for entry in load_timeline(copy.table).completed_writes()}


def test_version_6_a_slice_that_goes_has_records_of_a_later_instant(unpack: Unpack) -> None:
    """A compaction that has merged the removed instant; the next delta commit has been written into its slice."""
    copy = unpack("v6", "mor_part")
    metadata = listing_table(copy.table)
    assert metadata is not None
    compaction = max(entry.time for entry in load_timeline(metadata).having("commit"))
    removed = max(time for time in copy.commits if time < compaction)
    assert removed < copy.commits[-1]
    plan = planned(copy, [removed])
    assert plan.mode is Mode.FORWARD
    assert "whose slice must be undone" in str(plan.reason)


# What goes forward.


def without_listing_slice(copy: Copy) -> None:
    for file in [*(copy.meta / "metadata/files").glob("[!.]*.hfile"), *first_logs(copy, "files")]:
        drop(file)


@VERSIONS
def test_only_complete_partitions_with_a_folder_go_forward(unpack: Unpack, version: str) -> None:
    """An index that is listed without one, or before it is built, makes queries fail or miss rows."""
    copy = unpack(version, "cow_record_index")
    without_listing_slice(copy)
    (copy.meta / "metadata/column_stats").mkdir(exist_ok=True)
    update_properties(copy.table.storage, {LISTED: "files,record_index,bloom_filters", f"{LISTED}.inflight": ""})
    plan = planned(copy, copy.commits[-1:])
    assert plan.mode is Mode.FORWARD
    assert plan.kept == {"files"}
    (copy.meta / "metadata/bloom_filters").mkdir()
    assert planned(copy, copy.commits[-1:]).kept == {"files", "bloom_filters"}
    update_properties(copy.table.storage, {LISTED: "files", f"{LISTED}.inflight": "bloom_filters"})
    assert planned(copy, copy.commits[-1:]).kept == {"files"}


# A partition.


@VERSIONS
def test_a_partition_without_files_is_not_kept(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    update_properties(copy.table.storage, {LISTED: ",".join((*copy.table.metadata_partitions, "bloom_filters"))})
    assert reasons(planned(copy, copy.commits[-1:])) == {"bloom_filters": "none of its files would be left"}


@VERSIONS
def test_a_file_group_of_which_nothing_is_left(unpack: Unpack, version: str) -> None:
    """The keys in it are in no other group."""
    copy = unpack(version, "cow_record_index")
    put(copy.meta / f"metadata/record_index/record-index-9999-0_0-0-0_{copy.commits[-1]}.hfile", b"x")
    plan = planned(copy, copy.commits[-1:])
    assert reasons(plan)["record_index"] == "no file of the group record-index-9999-0 would be left"
    assert "files" in plan.kept


@VERSIONS
def test_a_file_group_without_a_committed_slice(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_record_index")
    put(copy.meta / f"metadata/record_index/record-index-9999-0_0-0-0_{LATE}.hfile", b"x")
    plan = planned(copy, copy.commits[-1:])
    assert reasons(plan)["record_index"] == "no slice of the group record-index-9999-0 would be left"


def test_from_version_8_on_a_log_of_another_instant_with_records_to_undo(unpack: Unpack) -> None:
    """As before the upgrade: such a log can neither be deleted nor be marked."""
    copy = unpack("v9", "cow_record_index")
    target = copy.commits[-1]
    (done,) = metadata_timeline(copy).glob(f"{target}_*.deltacommit")
    log = min((copy.meta / "metadata/record_index").glob(f".record-index-0000-*{copy.commits[0]}*.log.*[!c]"))
    stat = {"fileId": "record-index-0000-0", "path": f"record_index/{log.name}"}
    put(done, json.dumps({"partitionToWriteStats": {"record_index": [stat]}, "operationType": "UPSERT_PREPPED"}))
    plan = planned(copy, [target])
    assert reasons(plan)["record_index"] == f"the instant to undo {target} has written into {log.name}"
    assert log.name not in {file.data.name for file in plan.partitions[0].files}


def test_version_6_a_log_with_records_to_undo_and_to_keep(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_part")
    target = copy.commits[-1]
    with_a_shared_log(copy, target)
    plan = planned(copy, [target])
    assert plan.mode is Mode.FORWARD
    assert f"also has a block of {target}, which must be undone" in str(plan.reason)


def unnamed(copy: Copy, instant: str) -> Path:
    """A log of the listing that no delta commit names, with the block of an instant."""
    own = newest_log(copy.path)
    data = parse_data_file(own.name)
    assert data is not None
    log = own.with_name(own.name.replace(f".log.{data.version}_", f".log.{data.version + 1}_"))
    # Both have the same length.
    return put(log, own.read_bytes().replace(copy.commits[-1].encode(), instant.encode()))


def written_by(copy: Copy, release: str) -> Copy:
    """The metadata table as a release names its logs in table version 6: 1.0.2 gives all of them the token of the first
    one, which begins the file group (seen with downgraded tables)."""
    for log in (copy.meta / "metadata").glob("*/.[!.]*.log.*") if release == "1.0.2" else ():
        log.with_name(f".{log.name}.crc").unlink(missing_ok=True)
        renamed = log.rename(log.with_name(f"{log.name.rpartition('_')[0]}_0-0-0"))
        for commit in metadata_timeline(copy).glob("*.deltacommit"):
            put(commit, commit.read_bytes().replace(log.name.encode(), renamed.name.encode()))
    return copy


RELEASES = pytest.mark.parametrize("release", ["0.15.0", "1.0.2"])


@RELEASES
def test_version_6_a_log_goes_with_its_writer_whatever_its_token(unpack: Unpack, release: str) -> None:
    copy = written_by(unpack("v6", "cow_record_index"), release)
    target = copy.commits[-1]
    plan = planned(copy, [target])
    assert reasons(plan) == {}
    bodies = {path.name: path.read_bytes() for path in (copy.meta / "metadata").glob("*/.[!.]*.log.*")}
    own = {name for name, body in bodies.items() if target.encode() in body}
    assert own
    assert {file.data.name for entry in plan.partitions for file in entry.files} == own


@RELEASES
def test_version_6_a_log_that_no_commit_names_is_judged_by_its_blocks(unpack: Unpack, release: str) -> None:
    """Of a failed attempt of the instant: it would count when the instant is written again."""
    copy = written_by(unpack("v6", "cow_part"), release)
    log = unnamed(copy, copy.commits[-1])
    plan = planned(copy, copy.commits[-1:])
    assert (plan.mode, log.name in to_undo(plan, "files")) == (Mode.UNDO, True)
    drop(log)
    log = unnamed(copy, copy.commits[0])
    plan = planned(copy, copy.commits[-1:])
    assert (plan.mode, log.name in to_undo(plan, "files")) == (Mode.UNDO, False)
    drop(log)
    log = unnamed(copy, NEVER)
    plan = planned(copy, copy.commits[-1:])
    assert plan.mode is Mode.FORWARD
    assert f"{log.name} has a block of {NEVER}, which is archived" in str(plan.reason)


@RELEASES
def test_version_6_a_block_counts_only_with_its_instant_in_the_data_table(unpack: Unpack, release: str) -> None:
    """Although the metadata table still has the instant itself."""
    copy = written_by(unpack("v6", "cow_part"), release)
    first = copy.commits[0]
    for path in copy.timeline.glob(f"{first}*"):
        drop(path)
    plan = planned(copy, copy.commits[-1:])
    assert plan.mode is Mode.FORWARD
    assert f"has a block of {first}, which is archived" in str(plan.reason)


@pytest.mark.parametrize("begun_by_it", [True, False])
def test_file_groups_that_a_removed_write_has_begun_go_with_it(tmp_path: Path, begun_by_it: bool) -> None:
    """In a partitioned record index a write into a new partition of the table adds file groups (1.2.0)."""
    copy = Copy("v9", "parted", support.unpack_indexed("v9", "parted", tmp_path))
    index, last = copy.meta / "metadata/record_index", copy.commits[-1]
    log = index / f".record-index-2026%2D01%2D03-0000-0_{last}.log.1_0-1-1"
    added = [log, *([log.with_name(log.name.replace("0-1-1", "0-0-0"))] if begun_by_it else [])]
    for path in added:
        put(path)
    plan = planned(copy, [last])
    assert ("record_index" in plan.kept) is begun_by_it
    assert {path.name for path in added} <= to_undo(plan, "record_index")


def test_logs_that_the_first_log_of_a_failed_write_hides_are_in_the_way(tmp_path: Path) -> None:
    """Hudi's own rollback leaves it in a partitioned record index, and its writers fail then (1.2.0)."""
    copy = Copy("v9", "parted", support.unpack_indexed("v9", "parted", tmp_path))
    index, (*_, kept, last) = copy.meta / "metadata/record_index", copy.commits
    first = index / f".record-index-2026%2D01%2D03-0000-0_{kept}.log.1_0-0-0"
    put(first)
    assert "record_index" in planned(copy, [last]).kept
    put(index / first.name.replace(kept, time_plus_ms(kept, -1)))
    told = "the files of a failed write would hide later logs of the group record-index-2026%2D01%2D03-0000-0"
    assert reasons(planned(copy, [last])) == {"record_index": told}
