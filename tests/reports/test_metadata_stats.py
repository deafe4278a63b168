"""The partitions of the metadata table: their state, sizes, and compactions."""

import shutil

import pytest

from hudictl.reports.metadata_stats import PartitionStats, partition_stats
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata.place import PARTITION_KEYS
from hudictl.table.properties import update_properties
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, put

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
LISTED, BEING_BUILT = PARTITION_KEYS


def by_name(copy: Copy) -> dict[str, PartitionStats]:
    return {row.partition: row for row in partition_stats(copy.table) or ()}


@VERSIONS
def test_files_are_counted_as_they_lie_on_storage(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    for name, row in by_name(copy).items():
        there = [path for path in (copy.meta / "metadata" / name).iterdir() if path.suffix != ".crc"]
        bases = [path.stat().st_size for path in there if path.suffix == ".hfile"]
        logs = [path.stat().st_size for path in there if ".log." in path.name]
        assert (row.state, row.file_groups) == ("listed", 2 if name == "column_stats" else 1)
        assert (row.base_files, row.base_bytes) == (len(bases), sum(bases))
        assert (row.logs, row.log_bytes) == (len(logs), sum(logs))


@VERSIONS
def test_the_last_compaction_is_the_one_that_wrote_a_base_file_of_the_partition(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    since = 1 if version == "v6" else 2
    row = by_name(copy)["files"]
    assert row.oldest_slice == row.newest_slice
    assert row.oldest_slice is not None
    assert (row.last_compaction or "") > row.oldest_slice[:17]
    assert row.delta_commits_since == since
    for path in (copy.meta / "metadata/files").glob(f"*_{row.newest_slice}.hfile"):
        path.unlink()
    row = by_name(copy)["files"]
    assert row.last_compaction is None
    assert row.delta_commits_since > since


def test_the_slices_of_a_partition_may_begin_at_different_times(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_part")
    folder = copy.meta / "metadata/column_stats"
    compacted = by_name(copy)["column_stats"].newest_slice
    (base,) = folder.glob(f"col-stats-0001-0_*_{compacted}.hfile")
    base.unlink()
    row = by_name(copy)["column_stats"]
    assert (row.newest_slice, (row.oldest_slice or "")[:3]) == (compacted, "000")


@VERSIONS
def test_the_state_of_a_partition(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    put(copy.meta / "metadata/record_index/.hoodie_partition_metadata")
    put(copy.meta / "metadata/bloom_filters/.hoodie_partition_metadata")
    listed = ",".join((*copy.table.metadata_partitions, "expr_index_a"))
    update_properties(copy.table.storage, {LISTED: listed, BEING_BUILT: "record_index,secondary_index_b"})
    states = {name: row.state for name, row in by_name(copy).items()}
    assert states["files"] == "listed"
    assert (states["record_index"], states["secondary_index_b"]) == ("being built", "being built")
    assert (states["bloom_filters"], states["expr_index_a"]) == ("not listed", "missing")
    assert (by_name(copy)["expr_index_a"].file_groups, by_name(copy)["expr_index_a"].oldest_slice) == (0, None)


def test_without_a_metadata_table(unpack: Unpack) -> None:
    assert partition_stats(unpack("v9", "cow_flat_nomdt").table) is None
    copy = unpack("v9", "cow_part")
    shutil.rmtree(copy.meta / "metadata")
    assert partition_stats(copy.table) is None


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_each_folder_is_listed_once_and_no_file_of_it_read_but_headers(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, "mor_part")
    table = copy.table
    listings: list[str] = []
    reads: list[str] = []
    real_list, real_read = LocalStorage.list, LocalStorage.read
    monkeypatch.setattr(
        LocalStorage,
        "list",
        lambda self, path, *rest: listings.append(self.absolute(path)) or real_list(self, path, *rest),
    )
    monkeypatch.setattr(
        LocalStorage, "read", lambda self, path, *rest: reads.append(path) or real_read(self, path, *rest)
    )
    found = partition_stats(table) or []
    # Besides its partitions: its root, its timeline, that of the data table, and once its archive, if there may be one.
    assert len(listings) == len(set(listings)) == len(found) + 4
    # Its properties, and each of its active commits once. Below version 8 no name says who has written into a log.
    commits = [path for path in reads if path.rpartition("/")[2][0].isdigit()]
    headers = [path for path in reads if path.endswith(".log.1_0-0-0")] if version == "v6" else []
    assert sorted([*set(commits), *headers, ".hoodie/hoodie.properties"]) == sorted(reads)
    assert {path.rpartition(".")[2] for path in commits} <= {"deltacommit", "commit", "inflight"}


@VERSIONS
def test_how_far_back_a_partition_can_go(unpack: Unpack, version: str) -> None:
    """Over all commits of a table of which nothing was cleaned; not over one whose slice is gone."""
    copy = unpack(version, "mor_part")
    commits = copy.commits
    whole = by_name(copy)
    assert {(row.commits_back, row.back_to, row.back_limit) for row in whole.values()} == {
        (len(commits) - 1, commits[0], None)
    }


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_a_partition_does_not_go_back_behind_its_last_slice(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    for log in (copy.meta / "metadata/partition_stats").glob(".[!.]*.log.1_0-0-0"):
        log.unlink()
    rows = by_name(copy)
    row = rows["partition_stats"]
    later = sum(time > str(row.newest_slice) for time in copy.commits)
    assert (row.commits_back, row.back_to) == (later, copy.commits[-1 - later])
    assert "was cleaned" in str(row.back_limit)
    assert rows["files"].back_limit is None


def test_a_metadata_table_that_is_not_used_goes_nowhere(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    update_properties(copy.table.storage, {LISTED: ""})
    assert {(row.commits_back, row.back_limit) for row in by_name(copy).values()} == {
        (0, "readers do not use the metadata table")
    }


def test_a_damaged_commit_of_its_own_is_the_limit(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    commit = next((copy.meta / "metadata/.hoodie/timeline").glob(f"{copy.commits[-1]}_*.deltacommit"))
    put(commit, b"damaged")
    assert {(row.commits_back, commit.name in str(row.back_limit)) for row in by_name(copy).values()} == {(0, True)}
