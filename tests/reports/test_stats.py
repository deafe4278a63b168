"""How large slices and files are: against the files themselves, and where there is nothing to divide by."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hudictl
from hudictl.errors import Unreadable
from hudictl.formats.file_names import parse_data_file
from hudictl.reports.stats import SizeRow, percentile, size_rows, skew_rows
from tests import support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
LIMIT = 4200


def rows(copy: Copy, by: str = "partition", of: str = "slices") -> list[SizeRow]:
    return size_rows(copy.table, ENGINE, by, of, LIMIT)


def bases(copy: Copy, partition: str) -> list[Path]:
    return sorted((copy.path / partition).glob("*.parquet"), key=lambda path: path.name.split("_")[2])


@pytest.mark.slow
@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=30), st.floats(0, 1))
def test_a_percentile_is_between_its_neighbours(values: list[int], share: float) -> None:
    ordered = sorted(values)
    found = percentile(ordered, share)
    below = sum(value < found for value in ordered)
    assert ordered[0] <= found <= ordered[-1]
    assert below <= share * (len(ordered) + 1) + 1


def test_percentiles_of_few_values() -> None:
    """As the Metrics library counts them: of 4 values the 50th is between the second and the third."""
    assert [percentile([7], share) for share in (0.1, 0.5, 0.99)] == [7, 7, 7]
    assert [percentile([10, 20, 30, 40], share) for share in (0.1, 0.2, 0.5, 0.75, 0.9)] == [10, 10, 25, 38, 40]
    assert percentile(list(range(1, 100)), 0.95) == 95


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_all_files_are_counted_once(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    sizes = [(copy.path / path).stat().st_size for path in copy.data() if parse_data_file(Path(path).name)]
    for by in ("partition", "commit"):
        *parts, total = rows(copy, by, "files")
        assert (total.of, total.count, total.bytes) == ("total", len(sizes), sum(sizes))
        assert (total.min_bytes, total.max_bytes, total.bytes_percent) == (min(sizes), max(sizes), 100.0)
        assert total.small_percent == round(100 * sum(size < LIMIT for size in sizes) / len(sizes), 2)
        assert sum(row.count for row in parts) == total.count
        assert sum(row.bytes for row in parts) == total.bytes
        for row in parts:
            assert row.min_bytes <= row.p10_bytes <= row.p50_bytes <= row.p90_bytes <= row.p99_bytes <= row.max_bytes
            assert row.skew == round(row.max_bytes / total.p50_bytes, 2)


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_the_newest_slices_are_the_same_by_partition_and_by_commit(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    *parts, total = rows(copy) or [None]
    *commits, again = rows(copy, "commit") or [None]
    assert again == total
    assert [row.of for row in parts] == sorted(row.of for row in parts)
    assert [row.of for row in commits] == sorted((row.of for row in commits), reverse=True)
    if total is not None:
        assert total.count <= rows(copy, of="files")[-1].count
        assert sum(row.bytes for row in parts) == sum(row.bytes for row in commits) == total.bytes
        # None where a partition has logs, or where its commit is archived.
        known = [row.records for row in parts]
        assert total.records == (None if None in known else sum(filter(None, known)))


@VERSIONS
def test_a_slice_that_a_pending_compaction_has_opened_counts_with_the_one_before(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    every, found = rows(copy, of="files")[-1], rows(copy)[-1]
    assert (found.count, found.bytes) == (3, every.bytes)
    assert found.records is None


@VERSIONS
def test_change_logs_are_not_read_by_queries(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cdc")
    assert any(path.endswith(".cdc") for path in copy.data())
    for row in rows(copy)[:-1]:
        assert row.bytes == bases(copy, row.of)[-1].stat().st_size
        assert row.records is not None


def test_records_are_those_of_the_newest_base_files(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_cdc")
    path = copy.file(copy.commits[-1], "commit")
    fields = json.loads(path.read_bytes())
    assert len(fields["partitionToWriteStats"]) == 3
    for number, (stat,) in enumerate(dict(sorted(fields["partitionToWriteStats"].items())).values()):
        stat["numWrites"] = 10 * (number + 1)
    path.write_text(json.dumps(fields))
    wanted = [(10, 16.67), (20, 33.33), (30, 50.0), (60, 100.0)]
    assert [(row.records, row.records_percent) for row in rows(copy)] == wanted
    del fields["partitionToWriteStats"]["part-1"]
    path.write_text(json.dumps(fields))
    unknown: list[tuple[int | None, float | None]] = [(10, None), (None, None), (30, None), (None, None)]
    assert [(row.records, row.records_percent) for row in rows(copy)] == unknown


@VERSIONS
def test_a_commit_that_cannot_be_read_hides_no_file(unpack: Unpack, version: str) -> None:
    """Its files are found, but not their records: all is shown, then what is damaged. A partition may be missing that
    has no metafile, and that no other commit names."""
    copy = unpack(version, "cow_part")
    before = rows(copy), skew_rows(copy.table, ENGINE, LIMIT)
    path = copy.file(copy.commits[-1], "commit")
    path.write_bytes(b"damaged")
    with pytest.raises(Unreadable, match=path.name):
        rows(copy)
    damaged: list[Unreadable] = []
    found = size_rows(copy.table, ENGINE, "partition", "slices", LIMIT, damaged)
    assert [replace(row, records=None, records_percent=None) for row in before[0]] == [
        replace(row, records=None, records_percent=None) for row in found
    ]
    assert found[-1].records is None
    assert [path.name in error.message for error in damaged] == [True]
    with hudictl.open(str(copy.path)) as table:
        for read in (table.files.sizes(), table.files.skew(), table.slices()):
            shown: list[object] = []
            with pytest.raises(Unreadable, match=f"may be missing: .*{path.name}"):
                shown.extend(read)
            assert len(shown) >= len(before[1])


@VERSIONS
def test_the_partition_with_the_largest_slice_is_the_worst(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cdc")
    for number, size in enumerate((1000, 8000, 2000)):
        bases(copy, f"part-{number}")[-1].write_bytes(b"x" * size)
    found = [(row.of, row.skew, row.max_bytes, row.bytes_percent) for row in skew_rows(copy.table, ENGINE, LIMIT)]
    assert found == [("part-1", 4.0, 8000, 72.73), ("part-2", 1.0, 2000, 18.18), ("part-0", 0.5, 1000, 9.09)]


@VERSIONS
def test_nothing_is_divided_by_nothing(unpack: Unpack, version: str) -> None:
    """Files without content, and tables without files."""
    copy = unpack(version, "cow_flat_nomdt")
    for path in bases(copy, ""):
        path.write_bytes(b"")
    for found in (rows(copy), rows(copy, "commit", "files")):
        assert {(row.skew, row.bytes_percent, row.small_percent, row.std_dev_bytes) for row in found} == {
            (None, None, 100.0, 0)
        }
    for path in bases(copy, ""):
        path.unlink()
    assert rows(copy) == rows(copy, "commit", "files") == skew_rows(copy.table, ENGINE, LIMIT) == []


@VERSIONS
def test_slices_that_have_only_logs(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    for path in bases(copy, "part-0"):
        path.unlink()
    (row,) = (row for row in rows(copy) if row.of == "part-0")
    logs = [path for path in copy.data() if path.startswith("part-0/")]
    assert 0 < row.bytes <= sum((copy.path / path).stat().st_size for path in logs)
    assert row.records is None
