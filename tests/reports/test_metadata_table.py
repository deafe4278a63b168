"""The metadata table's listing against storage: each kind of difference, and what is none."""

from pathlib import Path

import pytest

from hudictl.errors import Conflict, NotFound
from hudictl.formats.file_names import log_file_name, parse_data_file
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.log_blocks import AVRO_DATA, INSTANT_TIME, encode_block, encode_rollback_block
from hudictl.formats.metadata_records import Listed
from hudictl.reports import metadata_table as metadata_files
from hudictl.reports.health.check import check_table
from hudictl.reports.metadata_files import listed_files, listed_partitions
from hudictl.reports.metadata_table import Difference, verify_listing
from hudictl.table.metadata.listing import listing_table, read_known, read_listing
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, drop, only_listed, put
from tests.metadata_edits import say
from tests.reports.metadata_table_support import some

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
LATER = "20261121040000000"


def differences(copy: Copy) -> list[Difference]:
    return verify_listing(copy.table, ENGINE, [])


def kinds(copy: Copy) -> list[tuple[str, str, str | None]]:
    return [(entry.difference, entry.partition, entry.name) for entry in differences(copy)]


def first_log(copy: Copy) -> Path:
    """A log of part-1."""
    return min(path for path in (copy.path / "part-1").glob(".*.log.*") if path.suffix != ".crc")


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_no_table_as_hudi_left_it_has_a_difference(unpack: Unpack, version: str) -> None:
    """Failed writes, interrupted rollbacks and restores, pending compactions: what is not listed is not to be read."""
    for name in support.every_name(version):
        nested = [("partition missing", "a/b", None)] if name == "nested_partitions" else []
        assert kinds(unpack(version, name)) == nested, name


@VERSIONS
def test_a_file_that_is_missing(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    name = some(copy)
    size = (copy.path / "part-1" / name).stat().st_size
    drop(copy.path / "part-1" / name)
    (found,) = differences(copy)
    assert (found.difference, found.partition, found.name) == ("missing", "part-1", name)
    assert (found.listed_bytes, found.stored_bytes) == (size, None)
    assert found.listed_by is not None


@VERSIONS
def test_a_file_of_another_size(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    path = copy.path / "part-1" / some(copy)
    put(path, path.read_bytes() + b"x")
    (found,) = differences(copy)
    assert (found.difference, found.name) == ("size", path.name)
    assert found.stored_bytes == (found.listed_bytes or 0) + 1


@VERSIONS
def test_a_file_that_is_listed_with_no_bytes(unpack: Unpack, version: str) -> None:
    """Readers and writers of Hudi fail at it, in the listing itself. 1.0.2 leaves it so, where it rolls back a writer
    of 0.15.0 that died at a log."""
    copy = unpack(version, "mor_part")
    data = parse_data_file(first_log(copy).name)
    assert data is not None
    name = log_file_name(data.file_id, data.instant, 90, "1-0-1")
    put(copy.path / "part-1" / name, b"")
    say(copy.path, {"part-1": {name: 0}})
    (found,) = differences(copy)
    assert (found.difference, found.name, found.listed_bytes, found.stored_bytes) == ("empty", name, 0, 0)
    known = read_known(copy.table, ENGINE)
    assert (known.listing, known.unread) == (None, f"it lists part-1/{name} with a size of 0 bytes, which Hudi refuses")
    assert "metadata-table-unreadable" in [one.finding for one in check_table(copy.table, ENGINE, 0).findings]


@VERSIONS
def test_a_base_file_that_is_not_listed(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    name = some(copy)
    say(copy.path, {"part-1": {name: None}})
    (found,) = differences(copy)
    assert (found.difference, found.name, found.listed_bytes, found.listed_by) == ("not listed", name, None, None)
    assert found.stored_bytes == (copy.path / "part-1" / name).stat().st_size


@VERSIONS
def test_logs_that_are_not_listed(unpack: Unpack, version: str) -> None:
    """Those of completed writes alone; on version 6 the blocks tell whose they are, on 8 and 9 the names."""
    copy = unpack(version, "mor_part")
    log = first_log(copy)
    say(copy.path, {"part-1": {log.name: None}})
    data = parse_data_file(log.name)
    assert data is not None
    never = time_plus_ms(copy.commits[0], 1)
    header = {INSTANT_TIME: never}
    failed = data.instant if version == "v6" else never
    other = log_file_name(data.file_id, failed, 90, "1-0-1")
    put(log.with_name(other), encode_block(AVRO_DATA, header, b""))
    put(log.with_name(log_file_name(data.file_id, data.instant, 91, "1-0-1")), b"")
    put(log.with_name(log_file_name(data.file_id, failed, 92, "1-0-1")), b"#HUDI#, and then it died")
    assert kinds(copy) == [("not listed", "part-1", log.name)]


@pytest.mark.parametrize("committed", [True, False])
def test_a_rollback_block_that_is_not_listed(unpack: Unpack, committed: bool) -> None:
    """Version 6: it matters where readers would take the rows that it hides."""
    copy = unpack("v6", "mor_part")
    log = first_log(copy)
    data = parse_data_file(log.name)
    assert data is not None
    target = copy.commits[-1] if committed else time_plus_ms(copy.commits[0], 1)
    name = log_file_name(data.file_id, data.instant, 90, "1-0-1")
    put(log.with_name(name), encode_rollback_block(target, target))
    assert kinds(copy) == ([("not listed", "part-1", name)] if committed else [])


@pytest.mark.parametrize("rolled_back", [True, False])
def test_a_log_that_is_listed_with_one_byte(unpack: Unpack, rolled_back: bool) -> None:
    """As Hudi 0.15.0 lists those of a failed write that it has rolled back: nobody takes anything of them."""
    copy = unpack("v6", "mor_part")
    log = first_log(copy)
    data = parse_data_file(log.name)
    assert data is not None
    failed, hiding = (log_file_name(data.file_id, data.instant, version, "1-0-1") for version in (90, 91))
    target = copy.commits[-1]
    put(log.with_name(failed), encode_block(AVRO_DATA, {INSTANT_TIME: target}, b""))
    block = encode_rollback_block(target, target)
    if rolled_back:
        put(log.with_name(hiding), block)
    say(copy.path, {"part-1": {failed: 1, **({hiding: len(block)} if rolled_back else {})}})
    assert kinds(copy) == ([] if rolled_back else [("size", "part-1", failed)])


@VERSIONS
def test_partitions(unpack: Unpack, version: str) -> None:
    """One that storage does not know as one, and one that the metadata table does not list; empty ones are nobody's
    loss."""
    copy = unpack(version, "cow_part")
    drop(copy.path / "part-0/.hoodie_partition_metadata")
    say(copy.path, {"__all_partitions__": {"part-2": None, "gone": 0}})
    put(copy.path / "empty/.hoodie_partition_metadata")
    found = kinds(copy)
    assert [entry for entry in found if entry[2] is None] == [
        ("partition missing", "part-0", None),
        ("partition not listed", "part-2", None),
    ]
    assert {entry[:2] for entry in found if entry[2]} == {("not listed", "part-2")}


@VERSIONS
def test_a_partition_below_another_one(unpack: Unpack, version: str) -> None:
    """Its files are there: whoever lists folders does not see it all the same."""
    copy = unpack(version, "cow_part")
    only_listed(copy, "part-1/below")
    put(copy.path / "part-1/below/.hoodie_partition_metadata")
    assert kinds(copy) == [("partition missing", "part-1/below", None)]


@VERSIONS
def test_what_a_pending_clean_takes_may_be_gone(unpack: Unpack, version: str) -> None:
    """Hudi tells the metadata table when all is deleted."""
    copy = unpack(version, "cow_part")
    name = some(copy)
    drop(copy.path / "part-1" / name)
    assert kinds(copy) == [("missing", "part-1", name)]
    copy.write(f"{LATER}.clean.requested", records.clean_plan([f"part-1/{name}"]))
    copy.write(f"{LATER}.clean.inflight")
    assert differences(copy) == []


@VERSIONS
def test_a_file_of_another_program(unpack: Unpack, version: str) -> None:
    """Registered under a name that Hudi gives it; it lies there under its own."""
    copy = unpack(version, "cow_part")
    say(copy.path, {"part-1": {"f.parquet_20261121030000000_hudiext": 5}})
    assert differences(copy) == []


def test_a_table_that_moves_meanwhile(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """With differences, which may be none by now; without any it does not matter."""
    copy = unpack("v9", "cow_part")
    real = metadata_files.sweep
    count = iter(range(10))

    def sweep(*args):  # type: ignore[no-untyped-def]
        copy.write(f"2026112103111111{next(count)}.commit.requested")
        return real(*args)

    monkeypatch.setattr(metadata_files, "sweep", sweep)
    assert differences(copy) == []
    drop(copy.path / "part-1" / some(copy))
    with pytest.raises(Conflict, match="the timeline changed"):
        differences(copy)


def test_no_metadata_table(unpack: Unpack) -> None:
    assert differences(unpack("v9", "cow_flat_nomdt")) == []


def test_what_is_listed(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_part")
    metadata = listing_table(copy.table)
    assert metadata is not None
    listing = read_listing(metadata, [])
    partitions = listed_partitions(listing)
    assert [entry.partition for entry in partitions] == ["part-0", "part-1", "part-2"]
    files = listed_files(listing, "part-1")
    assert (partitions[1].files, partitions[1].bytes) == (len(files), sum(entry.size_bytes for entry in files))
    assert {f"part-1/{entry.name}" for entry in files} == {path for path in copy.data() if "part-1" in path}
    assert all(entry.instant and entry.instant in entry.name for entry in files)
    with pytest.raises(NotFound, match="'part-7'"):
        listed_files(listing, "part-7")


def test_the_partition_of_a_table_without_partitions() -> None:
    listing = {"": {"f": Listed(3, False, "1")}}
    assert listed_files(listing, ".") == listed_files(listing, "")
