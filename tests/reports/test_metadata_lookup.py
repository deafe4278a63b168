"""What indexes say of one file and of single keys: the same as all that is in them, and only what is asked is read."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from hudictl.errors import Conflict, Unreadable
from hudictl.formats.column_stats import ColumnEntry, combine_entries, decode_column_entry
from hudictl.formats.index_records import decode_entry, decode_location
from hudictl.index_workers import index_records
from hudictl.reports.metadata_lookup import column_rows, lookup_rows
from hudictl.storage.local import LocalStorage
from hudictl.table.logs.scan import scan_rule
from hudictl.table.logs.slice_files import slice_files
from hudictl.table.metadata.listing import listing_table, merged_slices, read_listing
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, put
from tests.metadata_edits import newest_log

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
KINDS = pytest.mark.parametrize("name", ["cow", "mor"])


def entries(copy: Copy, index: str, *how: Any) -> Iterator[tuple[str, Any]]:
    """All that is in an index."""
    metadata = listing_table(copy.table)
    assert metadata is not None
    for files in merged_slices(metadata, index):
        yield from index_records(slice_files(metadata, files, scan_rule(metadata), []), *how)


@VERSIONS
@KINDS
def test_each_key_is_where_the_index_has_it(indexed: Unpack, version: str, name: str) -> None:
    copy = indexed(version, name)
    wanted = dict(entries(copy, "record_index", decode_location))
    assert len(wanted) > 30
    notes: list[str] = []
    rows = lookup_rows(copy.table, [*wanted, "key", "key-1111", "", "\udcff"], notes)
    assert notes == []
    assert {row.key: (row.partition, row.file_id) for row in rows if row.found} == wanted
    assert [row.key for row in rows if not row.found] == ["key", "key-1111", "", "\udcff"]
    assert all(row.instant in {*copy.commits, *archived(copy)} for row in rows if row.found)


def archived(copy: Copy) -> list[str]:
    """The instants in the names of all base files."""
    return [path.stem.rpartition("_")[2] for path in copy.path.glob("*/*.parquet")]


def test_a_key_in_two_partitions_with_indexes_of_their_own(indexed: Unpack) -> None:
    """A row for each: here one partition has a copy of the other's index."""
    copy = indexed("v9", "parted")
    folder = copy.meta / "metadata/record_index"
    names = {path.name.lstrip(".").partition("-000")[0] for path in folder.glob("*record-index-*")}
    first, second = sorted(names)[:2]
    for path in list(folder.iterdir()):
        if second in path.name:
            path.unlink()
    for path in list(folder.iterdir()):
        if first in path.name:
            put(path.with_name(path.name.replace(first, second)), path.read_bytes())
    wanted = sorted(entries(copy, "record_index", decode_location))
    assert len(wanted) == 2 * len({key for key, _ in wanted}) > 0
    rows = lookup_rows(copy.table, list(dict.fromkeys(key for key, _ in wanted)), [])
    assert [(row.key, (row.partition, row.file_id)) for row in rows] == wanted


@pytest.mark.slow
@VERSIONS
@KINDS
def test_the_statistics_of_each_file(indexed: Unpack, version: str, name: str) -> None:
    copy = indexed(version, name)
    metadata = listing_table(copy.table)
    assert metadata is not None
    wanted: dict[str, dict[str, ColumnEntry]] = defaultdict(dict)
    for _, entry in entries(copy, "column_stats", decode_column_entry, combine_entries):
        if not entry.deleted:
            wanted[entry.file][entry.column] = entry
    seen = 0
    for partition, names in read_listing(metadata, []).items():
        for file in names:
            rows = column_rows(copy.table, f"{partition}/{file}", [])
            assert {row.column for row in rows} == wanted[file].keys()
            for row in rows:
                entry = wanted[file][row.column]
                assert (row.nulls, row.values, row.exact) == (*entry.statistics[2:], entry.exact)
                assert (row.min is None, row.max is None) == tuple(one is None for one in entry.statistics[:2])
            seen += 1
    assert seen > 5


@VERSIONS
def test_one_key_reads_one_file_group(indexed: Unpack, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And of its base file what leads to the key, not all blocks."""
    copy = indexed(version, "cow")
    read: list[str] = []
    real = LocalStorage.read

    def note(self: LocalStorage, path: str, start: int = 0, length: int | None = None) -> bytes:
        read.append(path)
        return real(self, path, start, length)

    table = copy.table
    monkeypatch.setattr(LocalStorage, "read", note)
    lookup_rows(table, ["key-11"], [])
    files = {path.rpartition("/")[2].lstrip(".")[:19] for path in read if "record_index/" in path}
    assert len(files) == 1
    assert not any("column_stats/" in path for path in read)


@VERSIONS
def test_a_key_of_which_only_a_log_tells(indexed: Unpack, version: str) -> None:
    copy = indexed(version, "mor")
    keys = [key for key, _ in entries(copy, "record_index", decode_location)]
    log = newest_log(copy.path, "record_index")
    log.unlink()
    left = {key for key, _ in entries(copy, "record_index", decode_location)}
    found = {row.key for row in lookup_rows(copy.table, keys, []) if row.found}
    assert found == left != set(keys)


def test_damage_that_readers_skip_is_a_note(indexed: Unpack) -> None:
    copy = indexed("v9", "mor")
    log = newest_log(copy.path, "record_index")
    log.write_bytes(log.read_bytes()[:-30])
    notes: list[str] = []
    lookup_rows(copy.table, [f"key-{number}" for number in range(40)], notes)
    assert any(log.name in note for note in notes)


def test_a_file_that_disappears_meanwhile(indexed: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = indexed("v9", "cow")
    table = copy.table
    real = LocalStorage.read

    def gone(self: LocalStorage, path: str, start: int = 0, length: int | None = None) -> bytes:
        if "record_index/" in path and path.endswith(".hfile"):
            raise FileNotFoundError(path)
        return real(self, path, start, length)

    monkeypatch.setattr(LocalStorage, "read", gone)
    with pytest.raises(Conflict, match="disappeared"):
        lookup_rows(table, ["key-11"], [])


@pytest.mark.parametrize("time", [None, -1, 10**18, "2026"])
def test_a_time_that_is_none(time: Any) -> None:
    place = {"partitionName": "p", "fileIdEncoding": 1, "fileId": "f", "instantTime": time}
    with pytest.raises(Unreadable, match="not a time"):
        decode_entry({"type": 5, "recordIndexMetadata": place})


@VERSIONS
def test_no_key_is_looked_for_in_the_wrong_group(indexed: Unpack, version: str) -> None:
    """Which group a key is in depends on their number: one without a slice would make keys absent."""
    copy = indexed(version, "cow")
    (key, *_) = dict(entries(copy, "record_index", decode_location))
    put(copy.meta / "metadata/record_index/record-index-0009-0_0-0-0_20991231000000000.hfile")
    with pytest.raises(Unreadable, match="record-index-0009-0"):
        list(lookup_rows(copy.table, [key], []))
