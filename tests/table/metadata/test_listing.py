"""What metadata tables list: against storage, and where blocks do not count."""

from pathlib import Path

import pytest

from hudictl.errors import Conflict, Unreadable
from hudictl.formats import log_contents
from hudictl.formats.delete_records import DeleteRecord
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.log_blocks import DELETE, encode_block, encode_rollback_block
from hudictl.table.metadata.listing import Listing, listing_table, read_listing
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.metadata_edits import block_saying, hfile_block, newest_log, write
from tests.table.conftest import Real, base_of

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
SIZES = dict[str, dict[str, int]]


def read(base: Path) -> Listing:
    metadata = listing_table(open_table(str(base)))
    assert metadata is not None
    return read_listing(metadata, [])


def sizes(listing: Listing) -> SIZES:
    return {path: {name: entry.size for name, entry in files.items()} for path, files in listing.items()}


def stored(base: Path, without: str = "none") -> SIZES:
    """The data files on storage, but for those with an instant in their names."""
    found: SIZES = {}
    for path in base.glob("part-*/*"):
        if parse_data_file(path.name) and without not in path.name:
            found.setdefault(path.parent.name, {})[path.name] = path.stat().st_size
    return found


@VERSIONS
@pytest.mark.parametrize(
    "name", ["cow_cdc", "cow_cleaned", "cow_cluster", "cow_record_index", "mor_part", "mor_savepoints"]
)
def test_tables_without_failed_writes(real: Real, version: str, name: str) -> None:
    """All their files are listed, with their sizes: through compactions of the metadata table, and cleans."""
    base = base_of(real(version, name))
    assert sizes(read(base)) == stored(base)


@pytest.mark.parametrize(
    ("version", "name"), [("v6", "cow_failed_direct"), ("v8", "mor_failed_lazy"), ("v9", "mor_failed_direct")]
)
def test_a_failed_write_is_not_listed(real: Real, version: str, name: str) -> None:
    table = real(version, name)
    (failed,) = (entry.time for entry in load_timeline(table).writes() if entry.pending)
    base = base_of(table)
    assert sizes(read(base)) == stored(base, without=failed) != stored(base)


def test_no_metadata_table(real: Real, tmp_path: Path) -> None:
    """None in use, or none there: readers list folders."""
    assert listing_table(real("v9", "cow_flat_nomdt")) is None
    base = support.unpack("v9", "cow_part", tmp_path)
    (base / ".hoodie/metadata").rename(tmp_path / "away")
    assert listing_table(open_table(str(base))) is None


@VERSIONS
def test_a_deltacommit_whose_commit_is_not_completed_does_not_count(tmp_path: Path, version: str) -> None:
    """As a writer leaves it that dies between the two."""
    base = support.unpack(version, "cow_part", tmp_path)
    last = max(entry.time for entry in load_timeline(open_table(str(base))).completed_writes())
    for path in base.glob(f".hoodie/**/{last}*.commit"):
        path.unlink()
    assert sizes(read(base)) == stored(base, without=last)


@VERSIONS
def test_what_says_a_file_last(tmp_path: Path, version: str) -> None:
    """Its block's instant; after a compaction of the metadata table, that one's."""
    base = support.unpack(version, "mor_part", tmp_path)
    listing = read(base)
    block = hfile_block(newest_log(base))
    (compaction,) = (
        path.name.split("_")[2][:-6] for path in base.glob(".hoodie/metadata/files/*.hfile") if "_0000" not in path.name
    )
    by = {entry.by for files in listing.values() for entry in files.values()}
    assert max(by) == block.instant
    assert compaction in by


@VERSIONS
def test_later_blocks_change_what_earlier_ones_say(tmp_path: Path, version: str) -> None:
    """Files and partitions come and go; a log's size grows."""
    base = support.unpack(version, "cow_part", tmp_path)
    before = sizes(read(base))
    log = newest_log(base)
    header = hfile_block(log).header
    gone, grown = sorted(before["part-0"])[:2]
    says = {
        "__all_partitions__": {"part-2": None, "part-9": 0},
        "part-0": {gone: None, grown: before["part-0"][grown] + 5, "new.parquet": 3},
        "part-9": {"f.parquet": 4},
    }
    write(log, log.read_bytes() + block_saying(header, says))
    expected = {name: size for name, size in before["part-0"].items() if name != gone}
    expected |= {grown: before["part-0"][grown] + 5, "new.parquet": 3}
    kept = {path: before[path] for path in ("part-1", "part-3")}
    assert sizes(read(base)) == {"part-0": expected, "part-9": {"f.parquet": 4}} | kept


def test_a_rollback_block_takes_a_deltacommit_back(tmp_path: Path) -> None:
    """Table version 6, where the metadata table's logs hold those of many instants."""
    base = support.unpack("v6", "cow_part", tmp_path)
    log = newest_log(base)
    time = hfile_block(log).instant or ""
    write(log, log.read_bytes() + encode_rollback_block(time, time))
    assert sizes(read(base)) == stored(base, without=time)


def test_what_is_behind_a_rollback_that_is_the_newest_is_listed(tmp_path: Path) -> None:
    """Table version 6: a writer that rolled another's deltacommit back after it had taken its own, older instant."""
    base = support.unpack("v6", "cow_part", tmp_path)
    log = newest_log(base)
    header = hfile_block(log).header
    rollback = f"{int(header['INSTANT_TIME']) + 1}006"
    taken_back = encode_rollback_block(rollback, "20200101000000000")
    write(log, log.read_bytes() + taken_back + block_saying(header, {"part-0": {"f.parquet": 4}}))
    assert "f.parquet" not in read(base)["part-0"], "while it is pending, readers go no further"
    write(base / f".hoodie/metadata/.hoodie/{rollback}.rollback", b"")
    assert read(base)["part-0"]["f.parquet"].size == 4


@VERSIONS
def test_a_deleted_record_is_gone_from_the_base_file_too(tmp_path: Path, version: str) -> None:
    base = support.unpack(version, "cow_cleaned", tmp_path)
    log = newest_log(base)
    header = hfile_block(log).header
    deleted = log_contents.encode_deletes([DeleteRecord("part-1", "files", None)])
    write(log, log.read_bytes() + encode_block(DELETE, header, deleted) + block_saying(header, {"part-1": {"f": 1}}))
    assert sizes(read(base)) == stored(base) | {"part-1": {"f": 1}}


def test_damage_is_named_with_its_file(tmp_path: Path) -> None:
    base = support.unpack("v9", "cow_cleaned", tmp_path)
    log = newest_log(base)
    block = hfile_block(log)
    body = bytearray(log.read_bytes())
    body[block.content_offset + 60] ^= 1
    write(log, bytes(body))
    with pytest.raises(Unreadable, match=log.name.replace(".", r"\.")):
        read(base)
    newest = max(base.glob(".hoodie/metadata/files/*.hfile"), key=lambda path: path.name.split("_")[2])
    write(newest, b"no HFile")
    with pytest.raises(Unreadable, match=newest.name):
        read(base)


def test_a_file_that_vanishes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clean of the metadata table, say."""
    base = support.unpack("v9", "cow_part", tmp_path)
    metadata = listing_table(open_table(str(base)))
    assert metadata is not None
    real = load_timeline

    def load(table):  # type: ignore[no-untyped-def]
        newest_log(base).unlink(missing_ok=True)
        return real(table)

    monkeypatch.setattr("hudictl.table.logs.scan.load_timeline", load)
    with pytest.raises(Conflict, match="disappeared"):
        read_listing(metadata, [])
