"""The record index against the keys of the data: tables as Hudi left them, and each kind of fault."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hudictl import index_workers
from hudictl.errors import Conflict
from hudictl.formats.index_records import RECORD_INDEX, Location, decode_location, group_number
from hudictl.reports.indexes import record_index
from hudictl.reports.indexes.view import chosen
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, drop, put
from tests.metadata_edits import append_deletes, append_records, newest_log
from tests.reports.indexes.compared import compare, rows
from tests.reports.indexes.record_index_support import entries, some

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
KINDS = pytest.mark.parametrize(
    ("version", "name"), [(version, name) for version in support.VERSIONS for name in support.indexed_names(version)]
)
INDEXES = "record_index"


def told(copy: Copy) -> list[tuple[str, str | None]]:
    return sorted((row.difference, row.key) for row in rows(copy, RECORD_INDEX))


def changed(record: Mapping[str, Any], **fields: object) -> dict[str, Any]:
    return dict(record) | {"recordIndexMetadata": record["recordIndexMetadata"] | fields}


@pytest.mark.slow
@KINDS
def test_no_table_of_hudi_has_a_difference(indexed: Unpack, version: str, name: str) -> None:
    """Updates, deletes, and keys beyond Latin-1; the metadata table was compacted."""
    copy = indexed(version, name)
    found = compare(copy)
    assert RECORD_INDEX in found.compared
    assert told(copy) == []
    keys = entries(copy)
    # 63 were written, four are deleted.
    assert len(keys) == 59
    assert "\U0001d11eschlüssel-14" in keys
    assert "key-12" not in keys


@VERSIONS
def test_nor_have_the_other_sample_tables(unpack: Unpack, version: str) -> None:
    for name in ("cow_record_index", *(["later"] if version != "v6" else [])):
        assert compare(unpack(version, name)).rows == [], name


@pytest.mark.slow
@KINDS
def test_keys_that_the_index_has_not(indexed: Unpack, version: str, name: str) -> None:
    """A record is deleted from the index alone."""
    copy = indexed(version, name)
    key, group, record = some(copy)
    append_deletes(copy.path, INDEXES, group, [key])
    (row,) = rows(copy, RECORD_INDEX)
    place = decode_location(record)
    assert (row.index, row.difference, row.key, row.in_index) == (RECORD_INDEX, "missing in the index", key, None)
    assert (row.partition, row.file, row.in_data) == (place.partition, place.file_id, str(place))


@pytest.mark.slow
@KINDS
def test_a_lost_log_of_the_index(indexed: Unpack, version: str, name: str) -> None:
    copy = indexed(version, name)
    before = entries(copy)
    log = newest_log(copy.path, INDEXES)
    drop(log)
    after = entries(copy)
    differing = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    assert differing
    assert {key for _, key in told(copy)} == differing


@KINDS
def test_keys_at_another_place(indexed: Unpack, version: str, name: str) -> None:
    """One row, not a second one for the file group that has not the key."""
    copy = indexed(version, name)
    key, group, record = some(copy)
    place = decode_location(record)
    # A record index for each partition has no keys of another partition.
    others = (found["recordIndexMetadata"] for _, found in entries(copy).values() if decode_location(found) != place)
    other = next(others) if name != "parted" else {"fileIndex": 7}
    append_records(copy.path, INDEXES, group, [(key, changed(record, **other))])
    (row,) = rows(copy, RECORD_INDEX)
    assert (row.difference, row.key, row.in_data) == ("wrong location", key, str(place))
    assert row.in_index == str(decode_location(changed(record, **other)))


@KINDS
def test_keys_that_the_data_has_not(indexed: Unpack, version: str, name: str) -> None:
    """In a file group that exists, and in one that does not."""
    copy = indexed(version, name)
    _, group, record = some(copy)
    number, groups = int(group.split("-")[-2]), 2
    keys = [key for key in (f"new-{number}" for number in range(40)) if group_number(key, groups) == number][:2]
    append_records(copy.path, INDEXES, group, [(keys[0], record), (keys[1], changed(record, fileIndex=9))])
    assert told(copy) == [("not in the data", key) for key in sorted(keys)]


@KINDS
def test_a_key_in_the_wrong_file_group_of_the_index(indexed: Unpack, version: str, name: str) -> None:
    """Readers do not find it there; where they look is another record, which is right."""
    copy = indexed(version, name)
    key, group, record = some(copy)
    number = group.split("-")[-2]
    other = group.replace(f"-{number}-", f"-{1 - int(number):04d}-")
    append_records(copy.path, INDEXES, other, [(key, record)])
    assert told(copy) == [("wrong file group of the index", key)]


@VERSIONS
def test_a_swapped_data_file(indexed: Unpack, version: str) -> None:
    copy = indexed(version, "cow")
    one, other = (max(path.glob("*.parquet"), key=lambda file: file.name.split("_")[-1]) for path in partitions(copy))
    put(one, other.read_bytes())
    found = rows(copy, RECORD_INDEX)
    # The keys of the other file are at two places now, the index has one of them; its own keys are gone.
    assert {row.difference for row in found} == {"wrong location", "not in the data"}
    assert {row.file for row in found} == {one.name.split("_")[0]}
    assert len(found) == 59


def partitions(copy: Copy) -> list[Path]:
    return [copy.path / "a", copy.path / "b"]


@VERSIONS
def test_a_lost_file_group_of_the_data(indexed: Unpack, version: str) -> None:
    copy = indexed(version, "mor")
    shutil.rmtree(copy.path / "a")
    found = rows(copy, RECORD_INDEX)
    assert {(row.difference, row.partition, row.in_data) for row in found} == {("not in the data", "a", None)}
    assert len(found) == sum(decode_location(record).partition == "a" for _, record in entries(copy).values())


@VERSIONS
def test_no_more_rows_than_can_be_read(indexed: Unpack, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many differing file groups some are compared by key; of many keys of one, the first are named."""
    copy = indexed(version, "cow")
    shutil.rmtree(copy.path / "a")
    shutil.rmtree(copy.path / "b")
    monkeypatch.setattr(index_workers, "MOST_KEYS", 3)
    monkeypatch.setattr(record_index, "MOST_GROUPS", 1)
    first, *_ = found = rows(copy, RECORD_INDEX)
    assert [(row.difference, row.partition) for row in found] == [
        *[("not in the data", "a")] * 3,
        *[("keys differ", "a"), ("keys differ", "b")],
    ]
    assert found[3].in_data is not None
    left = int(found[3].in_data.split()[0])
    assert left + 3 + int(str(found[4].in_index).split()[0]) == 59
    assert found[4].in_data == "0 keys"
    assert first.key == min(
        key for key, (_, record) in entries(copy).items() if decode_location(record).partition == "a"
    )


def test_a_sample_is_the_same_each_time() -> None:
    assert chosen(range(10), 3) == [0, 3, 6]
    assert chosen(range(10), 10) == chosen(range(10), None) == chosen(range(10), 99) == list(range(10))
    assert chosen([], 3) == []


@KINDS
def test_a_sample_finds_no_fault_in_sound_tables(indexed: Unpack, version: str, name: str) -> None:
    copy = indexed(version, name)
    assert rows(copy, RECORD_INDEX, sample=1) == []


@pytest.mark.slow
@VERSIONS
def test_a_sample_of_the_index_alone(indexed: Unpack, version: str) -> None:
    copy = indexed(version, "cow")
    keys = entries(copy)
    in_a = sorted((key, group) for key, (group, record) in keys.items() if decode_location(record).partition == "a")
    gone = [next(key for key, group in in_a if group == f"record-index-000{number}-0") for number in (0, 1)]
    for number, key in enumerate(gone):
        append_deletes(copy.path, INDEXES, f"record-index-000{number}-0", [key])
    assert told(copy) == [("missing in the index", key) for key in sorted(gone)]
    assert [row.key for row in rows(copy, RECORD_INDEX, sample=1)] == gone[:1]


@pytest.mark.slow
@VERSIONS
def test_a_timeline_that_moved(indexed: Unpack, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With differences it is a conflict: they may be the writer's."""
    copy = indexed(version, "cow")

    def moves(*_: object) -> list[object]:
        put(copy.timeline / ("20991121000000000.commit.requested"), b"")
        return real(*_)

    real = record_index.read_slices
    monkeypatch.setattr(record_index, "read_slices", moves)
    assert compare(copy).rows == []
    key, group, _ = some(copy)
    append_deletes(copy.path, INDEXES, group, [key])
    drop(copy.timeline / "20991121000000000.commit.requested")
    with pytest.raises(Conflict, match="the timeline changed"):
        compare(copy)


def test_a_table_without_hudis_columns_is_a_note(indexed: Unpack) -> None:
    copy = indexed("v9", "cow")
    properties = copy.meta / "hoodie.properties"
    put(properties, properties.read_text().replace("populate.meta.fields=true", "populate.meta.fields=false"))
    notes: list[str] = []
    found = compare(copy, notes=notes)
    assert RECORD_INDEX not in found.compared
    assert any(note.startswith("record_index is not compared: the table has no column") for note in notes)


def test_a_location_reads_as_a_path() -> None:
    assert (str(Location("a/b", "x-0")), str(Location("", "x-0"))) == ("a/b/x-0", "x-0")
