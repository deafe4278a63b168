"""All indexes of all sample tables, as Hudi left them; and what cannot be compared."""

import pytest

from hudictl.table.metadata.listing import listing_table
from tests import support
from tests.fixtures import Unpack
from tests.helpers import drop, put
from tests.reports.indexes.compared import compare

COMPARED = ["bloom_filters", "column_stats", "record_index"]


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_no_table_as_hudi_left_it_has_a_difference(unpack: Unpack, version: str) -> None:
    """Failed writes, interrupted rollbacks and restores, pending compactions, cleaned and archived tables."""
    seen = set()
    for name in support.every_name(version):
        copy = unpack(version, name)
        if copy.table.indexes and listing_table(copy.table) is not None:
            found = compare(copy)
            assert found.rows == [], name
            seen |= set(found.compared)
    assert seen == ({"record_index"} if version == "v6" else {"column_stats", "record_index"})


@pytest.mark.parametrize("version", support.VERSIONS)
def test_each_index_that_is_not_compared_is_named(unpack: Unpack, indexed: Unpack, version: str) -> None:
    notes: list[str] = []
    assert compare(indexed(version, "cow"), notes=notes).compared == COMPARED
    if version == "v6":
        assert notes == []
        return
    assert notes == ["partition_stats is not compared: hudictl cannot compare this kind of index"]
    notes.clear()
    assert compare(unpack(version, "later"), notes=notes).compared == ["record_index"]
    assert [note.split()[0] for note in notes] == ["expr_index_idx_day", "secondary_index_idx_val"]


def test_an_index_that_is_being_built_is_named(indexed: Unpack) -> None:
    copy = indexed("v9", "cow")
    properties = copy.meta / "hoodie.properties"
    text = properties.read_text().replace("bloom_filters,", "")
    put(properties, text.replace("partitions.inflight=", "partitions.inflight=bloom_filters"))
    notes: list[str] = []
    assert "bloom_filters" not in compare(copy, notes=notes).compared
    assert "bloom_filters is not compared: it is being built" in notes


@pytest.mark.parametrize("version", support.VERSIONS)
def test_statistics_of_logs_are_named(indexed: Unpack, version: str) -> None:
    notes: list[str] = []
    compare(indexed(version, "mor"), notes=notes)
    assert any("log files are not compared" in note for note in notes)


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", ["cow", "mor"])
def test_a_write_that_is_pending_counts_on_neither_side(indexed: Unpack, version: str, name: str) -> None:
    """Its records are in the indexes, its files in storage: readers see neither. Statistics of it name files that are
    there."""
    copy = indexed(version, name)
    last = copy.commits[-1]
    drop(copy.file(last, "commit" if name == "cow" else "deltacommit"))
    assert copy.commits[-1] < last
    assert compare(copy).rows == []
