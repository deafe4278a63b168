"""``partition list`` and ``stats``, against the procedures of each Hudi on its own tables, and what queries read."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.formats.file_names import parse_data_file
from hudictl.reports.logs.slices import files_of_partition
from hudictl.reports.partitions import partition_rows
from hudictl.reports.stats import SizeRow, size_rows
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.interop.judge import RELEASES, Judge
from tests.interop.product import ENGINE

pytestmark = pytest.mark.hudi

NAMES = ("cow_part", "cow_cluster", "mor_savepoints", "mor_pending_compaction")


def of_files(row: SizeRow) -> list[object]:
    """As ``stats_file_sizes`` has it: min, 10th, 50th, avg, 95th, max, num_files, std_dev."""
    name = "ALL" if row.of == "total" else row.of
    sizes = (row.min_bytes, row.p10_bytes, row.p50_bytes, row.mean_bytes, row.p95_bytes, row.max_bytes)
    return [name, *sizes, row.count, row.std_dev_bytes]


@pytest.mark.short("v6-cow_cluster", "v6-mor_savepoints", "v8-mor_pending_compaction", "v9-cow_cluster")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", RELEASES)
def test_sizes_are_those_of_hudi(judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str) -> None:
    base = support.unpack(version, name, tmp_path)
    table, hudi = open_table(str(base)), judge(version)

    # It takes all files, by the instant in their names, also those of older slices and failed writes. Of a partitioned
    # table it wants a pattern: without one it measures the folders. Ours are whole bytes.
    theirs = hudi.sql(base, ["call stats_file_sizes(table => 'judged', partition_path => '*', limit => 1000)"])
    rounded = [[row[0], *(round(value) for value in row[1:])] for row in theirs]
    ours = size_rows(table, ENGINE, "commit", "files", 1)
    assert sorted(rounded) == sorted(map(of_files, ours))

    newest = size_rows(table, ENGINE, "partition", "slices", 1)
    for row in newest[:-1]:
        # Columns 4 and 6: bytes of the base file and of its logs.
        slices = hudi.sql(base, [f"call show_fsview_latest(table => 'judged', partition_path => '{row.of}')"])
        theirs_bytes = sum(entry[4] + entry[6] for entry in slices)
        assert row.count == len(slices)
        if name != "mor_pending_compaction":
            assert row.bytes == theirs_bytes
        else:
            # It leaves out the logs since the compaction was requested; queries do read them.
            last = load_timeline(table).completed_writes()[-1].time
            assert hudi.sql(base, ["select max(_hoodie_commit_time) from judged"]) == [[last]]
            assert row.bytes == sum(file.size or 0 for file in files_of_partition(table, row.of)) > theirs_bytes
    counted = {str(path): count for path, count in hudi.sql(base, [_COUNTED])}
    told = {row.of: row.records for row in newest[:-1]}
    # Only a query knows how many records are in base files together with logs.
    assert told == (counted if table.is_cow else dict.fromkeys(counted))


_COUNTED = "select _hoodie_partition_path, count(*) from judged group by 1"


@pytest.mark.short("v6-cow_part", "v8-cow_cluster", "v9-mor_savepoints")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", RELEASES)
def test_partitions_are_those_of_hudi(judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str) -> None:
    base = support.unpack(version, name, tmp_path)
    hudi = judge(version)
    found = partition_rows(open_table(str(base)), ENGINE)
    (*theirs,) = hudi.sql(base, ["call show_metadata_table_partitions(table => 'judged')"])
    assert sorted([row.partition] for row in found if row.listed) == sorted(theirs)
    # No table here has a failed write: the metadata table lists all files.
    files: dict[str, list[tuple[bool, int]]] = defaultdict(list)
    for path, names in hudi.listing(base).items():
        files[path] += [(data.is_base, size) for file, size in names.items() if (data := parse_data_file(file))]
    for row in found:
        bases = [size for is_base, size in files[row.partition] if is_base]
        logs = [size for is_base, size in files[row.partition] if not is_base]
        assert (row.base_files, row.base_bytes) == (len(bases), sum(bases))
        assert (row.logs, row.log_bytes) == (len(logs), sum(logs))
        assert row.state == "used"


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", RELEASES)
def test_a_dropped_partition(judge: Callable[[str], Judge], tmp_path: Path, version: str) -> None:
    """Hudi keeps its files until a clean, and the metadata table lists it so long."""
    base = support.unpack(version, "cow_part", tmp_path)
    hudi = judge(version)
    time = hudi.delete_partitions(base, ["part-1"])
    found = {row.partition: row for row in partition_rows(open_table(str(base)), ENGINE)}
    assert {path: row.state for path, row in found.items()} == {
        path: "dropped" if path == "part-1" else "used" for path in found
    }
    row = found["part-1"]
    assert (row.file_groups, row.last_write, row.metafile, row.listed) == (row.replaced_file_groups, time, True, True)
    assert [row.of for row in size_rows(open_table(str(base)), ENGINE, "partition", "slices", 1)] == [
        *(path for path in found if path != "part-1"),
        "total",
    ]
