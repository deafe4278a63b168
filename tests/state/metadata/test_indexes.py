"""When the partitions of the metadata table were built."""

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from hudictl.state.metadata.indexes import later_indexes
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline

OLD, TARGET, BY, NEW = (f"202611210{hour}0000000" for hour in range(1, 5))
FIRST, LAST = "00000000000000000", "00000000000000004"
COMPLETED = {FIRST: OLD, LAST: NEW, OLD: OLD, NEW: NEW}
Times = Mapping[str, Collection[str]]


def later(base: Path, partitions: Times, builds: Times | None = None) -> set[str]:
    """Those of a metadata table with files of these instants, and the beginnings of file groups."""
    timeline = base / ".hoodie/timeline"
    timeline.mkdir(parents=True)
    (base / ".hoodie/hoodie.properties").write_text(
        "hoodie.table.name=t\nhoodie.table.version=9\nhoodie.timeline.layout.version=2\n"
    )
    for time, completed in COMPLETED.items():
        (timeline / f"{time}_{completed}.deltacommit").write_bytes(b"{}")
    for token, found in (("1-2-3", partitions), ("0-0-0", builds or {})):
        for name, times in found.items():
            (base / name).mkdir(exist_ok=True)
            for time in times:
                (base / name / f".group-0000-0_{time}.log.1_{token}").write_bytes(b"")
    table = open_table(str(base), zone="UTC")
    return set(later_indexes(table, load_timeline(table), partitions.keys(), TARGET, BY))


@pytest.mark.parametrize(
    ("times", "is_later"),
    [
        ({FIRST}, False),
        ({LAST}, True),
        ({LAST, OLD}, False),
        ({LAST, TARGET}, False),
        ({"20261121000000000"}, True),
        (set(), True),
    ],
)
def test_a_partition_was_there_where_a_file_of_it_was_completed(
    tmp_path: Path, times: set[str], is_later: bool
) -> None:
    """Names tell nothing: what is built from a listing carries zeros."""
    assert later(tmp_path, {"column_stats": times}) == ({"column_stats"} if is_later else set())


@pytest.mark.parametrize("builds", [set(), {LAST}])
def test_a_partition_that_was_built_beside_the_instant_has_its_files_too(tmp_path: Path, builds: set[str]) -> None:
    """A writer adds its writes to a partition while the indexer builds it."""
    found = later(tmp_path, {"record_index": {OLD, TARGET}}, {"record_index": builds})
    assert found == ({"record_index"} if builds else set())


def test_a_secondary_index_goes_with_the_record_index_and_partition_stats_with_those_of_columns(
    tmp_path: Path,
) -> None:
    earlier = dict.fromkeys(("files", "secondary_index_one", "partition_stats", "expr_index_one"), (OLD,))
    late = dict.fromkeys(("record_index", "column_stats"), (NEW,))
    assert later(tmp_path, earlier | late) == {
        *("record_index", "secondary_index_one", "column_stats", "partition_stats")
    }
