"""The bloom filters against footers: each kind of fault. test_verify.py has the tables as Hudi left them."""

from typing import Any

import pytest

from hudictl.reports.indexes.bloom_filters import BLOOM_FILTERS
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, drop, put
from tests.metadata_edits import append_deletes, append_records
from tests.reports.indexes.bloom_filters_support import entry
from tests.reports.indexes.column_stats_support import newest
from tests.reports.indexes.compared import compare, rows

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def told(copy: Copy) -> list[str]:
    found = rows(copy, BLOOM_FILTERS)
    assert {(row.partition, row.file) for row in found} <= {("a", newest(copy).name)}
    return [row.difference for row in found]


@VERSIONS
def test_a_filter_that_is_missing(indexed: Unpack, version: str) -> None:
    copy = indexed(version, "cow")
    group, key, _ = entry(copy)
    append_deletes(copy.path, BLOOM_FILTERS, group, [key])
    assert told(copy) == ["missing in the index"]


@VERSIONS
@pytest.mark.parametrize("fields", [{"bloomFilter": b"/////wAAAB4B"}, {"type": "SIMPLE"}], ids=["bytes", "type"])
def test_another_filter(indexed: Unpack, version: str, fields: dict[str, Any]) -> None:
    copy = indexed(version, "cow")
    group, key, record = entry(copy)
    changed = record | {"BloomFilterMetadata": record["BloomFilterMetadata"] | fields}
    append_records(copy.path, BLOOM_FILTERS, group, [(key, changed)])
    assert told(copy) == ["another filter"]


@VERSIONS
def test_a_deleted_filter_is_missing(indexed: Unpack, version: str) -> None:
    copy = indexed(version, "cow")
    group, key, record = entry(copy)
    changed = record | {"BloomFilterMetadata": record["BloomFilterMetadata"] | {"isDeleted": True}}
    append_records(copy.path, BLOOM_FILTERS, group, [(key, changed)])
    assert told(copy) == ["missing in the index"]


@VERSIONS
def test_a_filter_where_readers_do_not_look(indexed: Unpack, version: str) -> None:
    copy = indexed(version, "cow")
    group, key, record = entry(copy)
    append_deletes(copy.path, BLOOM_FILTERS, group, [key])
    other = group.replace("-0000-", "-0009-").replace("-0001-", "-0000-").replace("-0009-", "-0001-")
    append_records(copy.path, BLOOM_FILTERS, other, [(key, record)])
    assert told(copy) == ["missing in the index"]


@VERSIONS
def test_a_swapped_data_file(indexed: Unpack, version: str) -> None:
    copy = indexed(version, "cow")
    put(newest(copy), newest(copy, "b").read_bytes())
    assert told(copy) == ["another filter"]


@VERSIONS
def test_filters_of_files_that_are_gone_are_only_noted(indexed: Unpack, version: str) -> None:
    copy, notes = indexed(version, "cow"), list[str]()
    for partition in ("a", "b"):
        drop(min((copy.path / partition).glob("*.parquet"), key=lambda file: file.name.split("_")[-1]))
    assert [row for row in compare(copy, notes=notes).rows if row.index == BLOOM_FILTERS] == []
    assert "bloom_filters: entries of 2 files not in storage; no query uses them" in notes
