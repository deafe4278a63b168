"""What a metadata table lists, by partition: the same as all of it at once, wherever its parts are decoded."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.errors import Conflict, Unreadable
from hudictl.formats import hfile
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.hfile_writer import encode_hfile
from hudictl.formats.metadata_records import ALL_PARTITIONS, Listed
from hudictl.formats.ranges import ReadAt
from hudictl.table.files.choose import difference
from hudictl.table.files.decoded import names_of
from hudictl.table.files.listed import ListedFiles, ListedNames, merged, packed
from hudictl.table.files.slices import Committed, StoredFile
from hudictl.table.files.sweep import Partition
from hudictl.table.metadata import listing as metadata_listing
from hudictl.table.metadata.listing import gather_listing, listing_table, merged_slices, read_listing
from hudictl.table.open import open_table
from hudictl.table.table import Table
from hudictl.workers import Listing, pack
from tests import support
from tests.engine.elsewhere import Elsewhere
from tests.metadata_edits import append_deletes, say, write
from tests.table.conftest import Real, base_of

SAMPLES = pytest.mark.parametrize(
    ("version", "name"),
    [("v6", "cow_cleaned"), ("v6", "mor_part"), ("v8", "cow_cluster"), ("v9", "mor_savepoints"), ("v9", "cow_part")],
)
Sizes = Mapping[str, Mapping[str, int]]


def metadata_of(base: Path) -> Table:
    metadata = listing_table(open_table(str(base)))
    assert metadata is not None
    return metadata


def sizes(found: ListedFiles) -> Sizes:
    listed: dict[str, dict[str, int]] = {path: {} for path in found.partitions}
    for path, value in found.files.engine.pairs(found.files):
        listed.setdefault(path, {}).update(value.files)
    return {path: files for path, files in listed.items() if path in found.partitions or files}


def whole(metadata: Table) -> Sizes:
    return {path: {n: e.size for n, e in files.items()} for path, files in read_listing(metadata, []).items()}


@SAMPLES
def test_it_lists_what_the_whole_lists(real: Real, version: str, name: str) -> None:
    metadata = metadata_of(base_of(real(version, name)))
    found = gather_listing(metadata, LocalEngine())
    assert sizes(found) == whole(metadata)
    assert found.filled == {path for path, files in whole(metadata).items() if files}
    some = sorted(found.partitions)[:1]
    assert found.names_in([*some, "unknown"]) == {path: frozenset(whole(metadata)[path]) for path in some}


@SAMPLES
def test_much_is_decoded_by_the_engine_part_by_part(
    real: Real, monkeypatch: pytest.MonkeyPatch, version: str, name: str
) -> None:
    """Little is not: a job costs more."""
    metadata, elsewhere = metadata_of(base_of(real(version, name))), Elsewhere()
    gather_listing(metadata, elsewhere)
    assert elsewhere.items == []
    monkeypatch.setattr(metadata_listing, "_ENOUGH_BYTES", -1)
    monkeypatch.setattr(metadata_listing, "_PART_BYTES", 1)
    assert sizes(gather_listing(metadata, elsewhere)) == whole(metadata)
    assert elsewhere.items


def many_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A table whose listing has a base file of several data blocks, and that file."""
    monkeypatch.setattr(metadata_listing, "_PART_BYTES", 1)
    base = support.unpack("v9", "cow_cleaned", folder)
    for files in merged_slices(metadata_of(base), "files"):
        for file in files:
            if file.data.is_base:
                return base, base / ".hoodie/metadata" / file.path
    raise AssertionError("no base file")


def rewrite(file: Path, skip: int = 0, **options: int) -> None:
    """Writes a base file of the listing again, without its first entries."""
    read_at, size = reader(file)
    info = hfile.file_info(read_at, size)
    entries = [*hfile.read_entries(read_at, size)][skip:]
    write(file, encode_hfile(entries, info={b"schema": info[b"schema"]}, **options))


def reader(file: Path) -> tuple[ReadAt, int]:
    body = file.read_bytes()
    return (lambda at, length: body[at : at + length]), len(body)


def test_each_part_gets_the_records_of_logs_for_its_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A base file with a block for each key; keys before, between and behind them."""
    base, file = many_parts(tmp_path, monkeypatch)
    rewrite(file, block_bytes=1)
    metadata = metadata_of(base)
    assert len(hfile.cut(*reader(file), 1)[0]) > 2
    assert sizes(gather_listing(metadata, LocalEngine())) == whole(metadata)
    first, *_, last = sorted(whole(metadata))
    new = {"0": 0, f"{first}0": 0, "zz": 0}
    say(base, {ALL_PARTITIONS: {**new, last: None}, **{path: {"x_0_1.parquet": 7} for path in new}})
    # Of two deletions the first ends what logs say, the second what the base file says.
    say(base, {ALL_PARTITIONS: {last: None}})
    append_deletes(base, "files", "", [first])
    found = whole(metadata)
    assert (found[first], last in found) == ({}, False)
    assert [found[path] for path in new] == [{"x_0_1.parquet": 7}] * 3
    listed = gather_listing(metadata, LocalEngine())
    assert sizes(listed) == found
    assert {*new} <= listed.filled
    assert first not in listed.filled
    assert last not in listed.partitions


def test_a_base_file_that_lacks_records_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number in its end is the only proof that all of it was read."""
    base, file = many_parts(tmp_path, monkeypatch)
    rewrite(file, block_bytes=1)
    metadata = metadata_of(base)
    cut = hfile.cut
    monkeypatch.setattr(hfile, "cut", lambda *given: (cut(*given)[0][:-1], cut(*given)[1]))
    with pytest.raises(Unreadable, match="its trailer counts"):
        gather_listing(metadata, LocalEngine())


def test_damage_is_told_by_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, file = many_parts(tmp_path, monkeypatch)
    rewrite(file, block_bytes=1)
    body = bytearray(file.read_bytes())
    last = hfile.cut(*reader(file), 1)[0][-1][0]
    body[last.offset + hfile.HEADER.size] ^= 0xFF
    write(file, bytes(body))
    with pytest.raises(Unreadable, match=f"{file.name}: .*cannot be decoded"):
        gather_listing(metadata_of(base), LocalEngine())


def test_a_base_file_that_vanishes_before_its_parts_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, file = many_parts(tmp_path, monkeypatch)
    rewrite(file, block_bytes=1)
    monkeypatch.setattr(metadata_listing, "_ENOUGH_BYTES", -1)
    with pytest.raises(Conflict, match="disappeared while it was read"):
        gather_listing(metadata_of(base), Elsewhere(file.unlink))


def test_a_key_that_is_no_listed_partition_lists_nothing() -> None:
    entries = {"a": Listed(1, False, "1"), "b": Listed(2, True, "1")}
    assert [*packed(entries).files] == [("a", 1)]
    assert names_of([packed(entries), ListedNames(), packed({"c": Listed(3, False, "1")})]) == {"a", "c"}
    assert names_of([]) == names_of([ListedNames()]) == frozenset()


def test_logs_are_merged_before_the_base_file() -> None:
    base = {"p": {"a": Listed(1, False, "1"), "b": Listed(1, False, "1")}, "q": {"c": Listed(1, False, "1")}}
    later = {"p": {"a": Listed(0, True, "2"), "b": Listed(5, False, "2")}, "r": {"d": Listed(2, False, "2")}}
    found = dict(merged(base, later, {"q"}))
    assert found == {"p": {"b": Listed(5, False, "2")}, "r": {"d": Listed(2, False, "2")}}
    assert dict(merged(base, later, {"p", "q"}))["p"] == {"a": Listed(0, True, "2"), "b": Listed(5, False, "2")}


def test_what_must_be_said_so_that_a_listing_equals_storage() -> None:
    done, late = "20261121000000100", "20261121000000200"
    names = [f"{letter}-0_0-1-1_{done}.parquet" for letter in "abcdef"]
    lost, same, grown, unseen, hidden, empty = names
    pending = f"g-0_0-1-1_{late}.parquet"
    files = [(same, 7, 0), (grown, 9, 0), (unseen, 5, 0), (hidden, 5, 0), (empty, 0, 0), (pending, 3, 0)]
    listing = pack(Listing("p", ((".hoodie_partition_metadata", 1, 0), *files), ()))
    listed = packed({name: Listed(7, False, "1") for name in (lost, same, grown, "of another program")})
    view = Committed({done: done}, done)
    assert difference(view, {f"p/{hidden}"}, Partition("p", listing, listed=[listed])) == (
        "p",
        {lost: None, grown: 9, unseen: 5},
    )
    alone = [packed({same: Listed(7, False, "1")})]
    assert difference(view, (), Partition("p", None, listed=alone)) == ("p", {same: None})
    beyond = [StoredFile("p", data, 7) for data in [parse_data_file(same)] if data is not None]
    assert difference(view, (), Partition("p", None, listed=alone, given=beyond)) is None
    assert difference(view, (), Partition("p", None, given=beyond)) == ("p", {same: 7})
