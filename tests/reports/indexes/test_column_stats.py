"""The column statistics against footers: each kind of fault. test_verify.py has the tables as Hudi left them."""

from typing import Any

import pytest

from hudictl.formats.column_stats import COLUMN_STATS
from hudictl.reports.indexes import column_stats
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, drop, put
from tests.metadata_edits import append_deletes, append_records
from tests.reports.indexes.column_stats_support import change, entries, newest
from tests.reports.indexes.compared import compare, rows

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def told(copy: Copy) -> list[tuple[str, str | None]]:
    found = rows(copy, COLUMN_STATS)
    assert {(row.partition, row.file) for row in found} <= {("a", newest(copy).name)}
    return [(row.difference, row.key) for row in found]


@VERSIONS
@pytest.mark.parametrize(
    ("column", "fields"),
    [
        ("ts", {"minValue": ("org.apache.hudi.avro.model.LongWrapper", {"value": -1})}),
        ("word", {"maxValue": ("org.apache.hudi.avro.model.StringWrapper", {"value": "wörtz"})}),
        ("day", {"minValue": ("org.apache.hudi.avro.model.DateWrapper", {"value": -9})}),
        ("share", {"maxValue": None}),
        ("n", {"nullCount": 0}),
        ("id", {"valueCount": 3}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_statistics(indexed: Unpack, version: str, column: str, fields: dict[str, Any]) -> None:
    copy = indexed(version, "cow")
    change(copy, column, **fields)
    assert told(copy) == [("other statistics", column)]


@pytest.mark.slow
def test_both_sides_are_told(indexed: Unpack) -> None:
    copy = indexed("v9", "cow")
    change(copy, "n", nullCount=0, minValue=("org.apache.hudi.avro.model.IntWrapper", {"value": -70}))
    (row,) = rows(copy, COLUMN_STATS)
    assert row.in_index is not None
    assert row.in_data is not None
    least, _, rest = row.in_data.partition(" to ")
    assert row.in_index.startswith("-70 to ")
    assert int(least) > -70
    assert rest.split(", ")[0] == row.in_index.partition(" to ")[2].split(", ")[0]
    assert ", 0 nulls of " in row.in_index


@VERSIONS
def test_a_column_that_is_missing(indexed: Unpack, version: str) -> None:
    copy = indexed(version, "cow")
    group, key, _ = entries(copy, newest(copy).name)["price"]
    append_deletes(copy.path, COLUMN_STATS, group, [key])
    assert told(copy) == [("missing in the index", "price")]


@pytest.mark.slow
@VERSIONS
def test_a_file_without_entries_is_one_row(indexed: Unpack, version: str) -> None:
    copy = indexed(version, "cow")
    for group, key, _ in entries(copy, newest(copy).name).values():
        append_deletes(copy.path, COLUMN_STATS, group, [key])
    assert told(copy) == [("missing in the index", None)]


@VERSIONS
def test_a_deleted_entry_is_missing(indexed: Unpack, version: str) -> None:
    """A tombstone, as Hudi's cleans write."""
    copy = indexed(version, "cow")
    change(copy, "n", isDeleted=True)
    assert told(copy) == [("missing in the index", "n")]


@VERSIONS
def test_a_second_entry_adds_to_the_first(indexed: Unpack, version: str) -> None:
    """As Hudi merges them: the values are counted twice then."""
    copy = indexed(version, "cow")
    group, key, record = entries(copy, newest(copy).name)["ts"]
    append_records(copy.path, COLUMN_STATS, group, [(key, record)])
    (row,) = rows(copy, COLUMN_STATS)
    values = record["ColumnStatsMetadata"]["valueCount"]
    assert row.in_index is not None
    assert row.in_data is not None
    assert row.in_index.endswith(f"of {2 * values}")
    assert row.in_data.endswith(f"of {values}")


@VERSIONS
def test_a_swapped_data_file(indexed: Unpack, version: str) -> None:
    copy = indexed(version, "cow")
    put(newest(copy), newest(copy, "b").read_bytes())
    found = told(copy)
    assert {what for what, _ in found} == {"other statistics"}
    assert {"id", "p", "_hoodie_partition_path"} <= {column for _, column in found}


@VERSIONS
def test_entries_of_a_file_that_is_gone_are_only_noted(indexed: Unpack, version: str) -> None:
    """No query looks for them: a metadata table that was brought forward has some."""
    copy, notes = indexed(version, "cow"), list[str]()
    drop(min((copy.path / "a").glob("*.parquet"), key=lambda file: file.name.split("_")[-1]))
    assert [row for row in compare(copy, notes=notes).rows if row.index == COLUMN_STATS] == []
    assert "column_stats: entries of 1 file not in storage; no query uses them" in notes


@pytest.mark.slow
@VERSIONS
def test_files_in_parts_and_samples(indexed: Unpack, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = indexed(version, "cow")
    change(copy, "n", nullCount=0)
    monkeypatch.setattr(column_stats, "_FILES", 1)
    assert told(copy) == [("other statistics", "n")]
    assert {row.partition for row in rows(copy, COLUMN_STATS, sample=1)} <= {"a"}
