"""The bloom filters against footers: each kind of fault. test_verify.py has the tables as Hudi left them."""

from typing import Any

import pytest

from hudictl import index_workers
from hudictl.formats.index_keys import bloom_filter_key
from hudictl.reports.indexes.bloom_filters import BLOOM_FILTERS
from hudictl.table.logs.scan import scan_rule
from hudictl.table.logs.slice_files import slice_files
from hudictl.table.metadata.listing import listing_table, merged_slices
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, drop, put
from tests.metadata_edits import append_deletes, append_records
from tests.reports.indexes.compared import compare, rows
from tests.reports.indexes.test_column_stats import newest

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def entry(copy: Copy) -> tuple[str, str, dict[str, Any]]:
    """File group, key and record of the newest file of partition a."""
    metadata = listing_table(copy.table)
    assert metadata is not None
    wanted = bloom_filter_key("a", newest(copy).name)
    (found,) = [
        (files[0].data.file_id, key, record)
        for files in merged_slices(metadata, BLOOM_FILTERS)
        for key, record in index_workers.index_records(slice_files(metadata, files, scan_rule(metadata), []), dict)
        if key == wanted
    ]
    return found


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
