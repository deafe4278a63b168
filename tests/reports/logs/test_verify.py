"""Logs verified on real tables: none is wrong as Hudi left it, and each damage is found and told apart."""

import json
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl import workers
from hudictl.errors import StorageFailed
from hudictl.formats import log_contents
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.log_blocks import AVRO_DATA, MAGIC, encode_block, encode_rollback_block, read_blocks
from hudictl.reports.logs.against_timeline import DefectRow
from hudictl.reports.logs.verify import Verified, logs_of_table, verify_logs
from hudictl.storage.local import LocalStorage
from hudictl.table.logs.paths import find_logs
from hudictl.table.timeline.archive import archived_in_order
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, drop, put
from tests.state.orphans.find_support import lose

LATER = "20991121000000000"
EARLIER = "20000101000000000"
SCHEMA = json.dumps({"type": "record", "name": "r", "fields": [{"name": "n", "type": "int"}]})


def verified(copy: Copy, notes: list[str] | None = None) -> Verified:
    said = [] if notes is None else notes
    return verify_logs(logs_of_table(copy.table, ENGINE, said), ENGINE, said)


def named(path: Path) -> Verified:
    logs, notes = find_logs([str(path)])
    return verify_logs(logs, ENGINE, notes)


def told(found: Verified) -> list[tuple[str, str, str]]:
    return [(row.file.rpartition("/")[2], row.defect, row.severity) for row in found.rows]


def some_log(copy: Copy) -> Path:
    """The last log of the data table's."""
    return max((copy.path / path for path in copy.data() if ".log." in path), key=lambda path: path.name)


def log_of(copy: Copy, instant: str) -> Path:
    """A new log beside the table's, in the slice of its last log, or (version 8 on) of an instant."""
    last = some_log(copy)
    file_id, _, rest = last.name.partition("_")
    named_instant = rest.partition(".")[0] if copy.version == "v6" else instant
    return last.with_name(f"{file_id}_{named_instant}.log.77_0-0-0")


def block(instant: str) -> bytes:
    return encode_block(
        AVRO_DATA, {"INSTANT_TIME": instant, "SCHEMA": SCHEMA}, log_contents.encode_avro([{"n": 1}], SCHEMA)
    )


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_logs_as_hudi_left_them_are_sound(unpack: Unpack, version: str) -> None:
    """Of the metadata tables and the archived timelines, too: crashed, rolled back and compacted tables. There are as
    many records as Hudi read."""
    counts = support.log_counts(version)
    for name in support.names(version):
        notes: list[str] = []
        found = verified(unpack(version, name), notes)
        assert (found.rows, notes) == ((), []), name
        read = [count for blocks in counts[name].values() for _, _, count in blocks]
        assert (found.logs, found.blocks) == (len(counts[name]), len(read)), name
        assert found.records == sum(filter(None, read)), name


@pytest.mark.short("v6-resized", "v8-upgraded_mor", "v9-resizing")
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_logs_of_every_table_are_sound(unpack: Unpack, version: str, name: str) -> None:
    """After an upgrade to version 8 some are named by their slice, not by the write whose blocks they have."""
    notes: list[str] = []
    found = verified(unpack(version, name), notes)
    assert (found.rows, notes) == ((), [])


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_each_kind_of_block_is_sound(tmp_path: Path, version: str) -> None:
    """Positions, changes, partial updates, deletes of all ordering values, appended logs: as Hudi left them."""
    facts = support.log_facts(version)
    for name in support.log_names(version):
        found = verified(Copy(version, name, support.unpack_logs(version, name, tmp_path)))
        assert found.rows == (), name
        read = [block for blocks in facts[name]["logs"].values() for block in blocks]
        assert found.blocks >= len(read) > 0, name


@pytest.mark.parametrize(("name", "archived"), [("mor_part", False), ("cow_cleaned", True)])
def test_all_logs_of_a_table_are_found(unpack: Unpack, name: str, archived: bool) -> None:
    """Data, metadata table, archives."""
    copy = unpack("v6", name)
    found = {(log.uri, log.archive) for log in logs_of_table(copy.table, ENGINE, [])}
    files = [path for path in copy.path.rglob(".*") if not path.name.endswith(".crc") and path.is_file()]
    assert found == {
        (str(path), ".archive." in path.name) for path in files if ".log." in path.name or ".archive." in path.name
    }
    assert {archive for _, archive in found} >= {archived}
    assert any("/.hoodie/metadata/" in uri for uri, _ in found)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_damaged_log_does_not_hide_another(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    expected = verified(copy)
    first, second, *_ = sorted(copy.path / path for path in copy.data() if ".log." in path)
    put(first, b"HUDI" + bytes(100))
    put(second, second.read_bytes()[:-1] + b"\xff")
    found = verified(copy)
    assert found.logs == expected.logs
    defects = {(row.file, row.defect) for row in found.rows if row.defect != "other-size"}
    assert defects == {
        (first.relative_to(copy.path).as_posix(), "unknown-format"),
        (second.relative_to(copy.path).as_posix(), "bad-trailing-length"),
    }
    assert found.errors >= 2


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_log_that_lost_a_block_is_found_by_its_size(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    log = some_log(copy)
    put(log)
    (row,) = verified(copy).rows
    assert (row.defect, row.severity, row.index, row.offset) == ("other-size", "error", None, None)
    assert row.what.startswith("it has 0 bytes")


def test_a_log_that_grew_is_found_where_nobody_appends(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_part")
    log = some_log(copy)
    time = log.name.partition("_")[2].partition(".")[0]
    put(log, log.read_bytes() + block(time))
    assert told(verified(copy)) == [(log.name, "other-size", "error")]


def test_a_log_that_a_rollback_may_append_to_may_grow(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_part")
    log = some_log(copy)
    put(log, log.read_bytes() + block(copy.commits[-1]))
    assert told(verified(copy)) == []


@pytest.mark.parametrize("version", ["v6", "v9"])
@pytest.mark.parametrize("end", [b"#HU", b"#HUDI#\x00"])
def test_the_torn_end_of_a_write_in_flight_is_a_warning(unpack: Unpack, version: str, end: bytes) -> None:
    """And an error where no write is in flight."""
    copy = unpack(version, "mor_part")
    log = log_of(copy, LATER)
    put(log, block(LATER) + end)
    defect = "stray-bytes" if len(end) < 6 else "truncated-tail"
    rows = {(row.defect, row.severity) for row in named(log).rows}
    assert rows == {(defect, "error"), ("unknown-instant", "error")}
    copy.write(f"{LATER}.deltacommit.requested", old=False)
    copy.write(f"{LATER}.deltacommit.inflight", old=False)
    assert told(named(log)) == [(log.name, defect, "warning")]
    assert "still running" in named(log).rows[0].what


def test_a_torn_end_belongs_to_the_instant_in_its_header(unpack: Unpack) -> None:
    """Version 6: another write is in flight, and is not to blame."""
    copy = unpack("v6", "mor_part")
    copy.write(f"{LATER}.deltacommit.requested", old=False)
    log = log_of(copy, "")
    put(log, block(copy.commits[-1])[:-1])
    assert told(named(log)) == [(log.name, "truncated-tail", "error")]


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_block_of_an_instant_that_nobody_knows_is_an_error(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    log = log_of(copy, LATER)
    put(log, block(LATER))
    (row,) = verified(copy).rows
    assert (row.defect, row.severity, row.instant, row.index, row.offset) == ("unknown-instant", "error", LATER, 0, 0)


def test_a_block_of_before_the_timeline_is_none(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_part")
    log = log_of(copy, EARLIER)
    put(log, block(EARLIER))
    assert told(verified(copy)) == []


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_block_of_an_archived_instant_is_none(unpack: Unpack, version: str) -> None:
    """Also where an older one is still active: the archive says so."""
    copy = unpack(version, "cow_cleaned")
    archived = max(entry.time for entry in archived_in_order(copy.table) if entry.action == "commit")
    copy.write(f"{EARLIER}.commit" if version == "v6" else f"{EARLIER}_{EARLIER}.commit")
    for instant, expected in ((archived, []), (f"{archived[:-1]}x", ["unknown-instant"])):
        time = instant.replace("x", "9" if archived[-1] != "9" else "8")
        log = copy.path / f".f-0_{time}.log.1_0-0-0"
        put(log, block(time))
        assert [row.defect for row in named(log).rows] == expected


def test_a_block_that_a_rollback_block_takes_back_may_be_unknown(unpack: Unpack) -> None:
    """In front of it, not behind."""
    copy = unpack("v6", "mor_part")
    log = log_of(copy, "")
    put(log, block(LATER) + encode_rollback_block(copy.commits[-1], LATER))
    assert told(verified(copy)) == []
    put(log, encode_rollback_block(copy.commits[-1], LATER) + block(LATER))
    assert told(verified(copy)) == [(log.name, "unknown-instant", "error")]


def test_a_rollback_block_ahead_of_the_timeline_is_told_as_check_does(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_part")
    log = log_of(copy, "")
    put(log, encode_rollback_block(LATER, EARLIER))
    assert told(verified(copy)) == [(log.name, "rollback-block-ahead", "warning")]
    put(log, encode_rollback_block(LATER, EARLIER) + block(copy.commits[-1]))
    assert told(named(log)) == [(log.name, "rollback-block-ahead", "error")]


def test_the_instant_in_a_name_is_that_of_the_blocks(unpack: Unpack) -> None:
    """From version 8 on; in a log of before the timeline it may be the slice's, from before an upgrade."""
    copy = unpack("v9", "mor_part")
    for instant, severity in ((copy.commits[-2], "error"), (EARLIER, "warning")):
        log = log_of(copy, instant)
        put(log, block(copy.commits[-1]))
        assert told(named(log)) == [(log.name, "other-instant", severity)]


@pytest.mark.parametrize("build", [False, True])
def test_a_log_of_before_an_upgrade_whose_commit_is_archived(unpack: Unpack, build: bool) -> None:
    """Its name has the slice's instant, which is older; the metadata table's timeline may begin with builds, of zeros.
    The block of an older instant is still a defect."""
    copy = unpack("v9", "mor_part")
    archived = copy.commits[0]
    records.archive(copy, archived, "deltacommit")
    lose(copy, archived)
    if build:
        copy.write(f"{'0' * 17}_{archived}.deltacommit", b"{}")
    log = log_of(copy, time_plus_ms(archived, -1))
    put(log, block(archived))
    assert told(named(log)) == []
    drop(log)
    log = log_of(copy, copy.commits[-1])
    put(log, block(archived))
    assert told(named(log)) == [(log.name, "other-instant", "error")]


def gone(copy: Copy, act: Callable[[], object] = lambda: None) -> tuple[list[tuple[str, str, str]], list[str]]:
    """What is told of a log that goes after the listing, and an act that goes with it."""
    notes: list[str] = []
    logs = logs_of_table(copy.table, ENGINE, notes)
    drop(some_log(copy))
    act()
    return told(verify_logs(logs, ENGINE, notes)), notes


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_log_that_vanished_is_found_unless_a_clean_takes_files(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    name = some_log(copy).name
    copy.write(f"{LATER}.clean.requested")
    rows, notes = gone(copy)
    assert rows == []
    assert len(notes) == 1
    assert name in notes[0]
    copy.timeline.joinpath(f"{LATER}.clean.requested").unlink()
    name = some_log(copy).name
    assert gone(copy) == ([(name, "vanished", "error")], [])


def test_a_log_that_cannot_be_read_is_a_row(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """And an error of the storage where none can."""
    copy = unpack("v9", "mor_part")
    bad = some_log(copy).name
    real = LocalStorage.read

    def read(storage: LocalStorage, path: str, start: int = 0, length: int | None = None) -> bytes:
        if path.endswith(bad):
            raise StorageFailed("Input/output error")
        return real(storage, path, start, length)

    monkeypatch.setattr(LocalStorage, "read", read)
    assert told(verified(copy)) == [(bad, "unreadable-file", "error")]
    with pytest.raises(StorageFailed, match="Input/output error"):
        named(some_log(copy))


def test_a_damaged_commit_is_a_note(unpack: Unpack) -> None:
    """And the archive, where it is asked."""
    copy = unpack("v6", "mor_part")
    put(copy.file(copy.commits[-1], "deltacommit"), b"{")
    notes: list[str] = []
    assert told(verified(copy, notes)) == []
    assert [copy.commits[-1] in note for note in notes] == [True]


def test_a_log_without_a_table_is_read(tmp_path: Path) -> None:
    log = tmp_path / ".f-0_20261121000000000.log.1_0-0-0"
    put(log, block(LATER) + b"#HUDI#")
    (row,) = named(log).rows
    assert (row.table, row.file, row.defect, row.severity) == (None, str(log), "truncated-tail", "error")


def test_large_logs_are_verified_in_pieces(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same outcome, and again."""
    copy = unpack("v6", "mor_part")
    log = log_of(copy, "")
    put(log, 20 * block(copy.commits[-1]) + 20 * block(LATER) + b"#HUDI#")
    whole = named(log)
    monkeypatch.setattr(workers, "PIECE_BYTES", 1000)
    assert named(log) == whole
    assert whole.blocks == 41
    assert [(row.index, row.defect) for row in whole.rows] == [(20, "unknown-instant"), (40, "truncated-tail")]


@pytest.fixture
def header_reads(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], list[float]]:
    """How often the bytes of each block header of a log were read since the start of the test, in file order."""
    ranges: dict[str, list[tuple[int, int]]] = defaultdict(list)
    real = LocalStorage.read

    def read(storage: LocalStorage, path: str, start: int = 0, length: int | None = None) -> bytes:
        body = real(storage, path, start, length)
        ranges[storage.absolute(path)].append((start, start + len(body)))
        return body

    monkeypatch.setattr(LocalStorage, "read", read)

    def counted(log: Path) -> list[float]:
        body = log.read_bytes()
        blocks = read_blocks(lambda offset, length: body[offset : offset + length], len(body))
        # A block's lengths are no part of its header: they say where the next block is.
        headers = [(block.offset + len(MAGIC) + 16, block.content_offset) for block in blocks]
        return [
            sum(max(0, min(end, last) - max(start, first)) for start, end in ranges[str(log)]) / (last - first)
            for first, last in headers
        ]

    return counted


@pytest.mark.parametrize("whole", [True, False], ids=["in one request", "by ranges"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_each_header_of_a_table_is_read_once(
    unpack: Unpack,
    monkeypatch: pytest.MonkeyPatch,
    header_reads: Callable[[Path], list[float]],
    version: str,
    whole: bool,
) -> None:
    """Also those of a slice with unknown instants and rollback blocks, about which its other logs are asked."""
    copy = unpack(version, "mor_part")
    log = log_of(copy, LATER)
    put(log, block(LATER) + encode_rollback_block(LATER, EARLIER) + block(copy.commits[-1]))
    if not whole:
        monkeypatch.setattr(workers, "_WHOLE_BYTES", 0)
    assert verified(copy).rows != ()
    reads = {path: header_reads(path) for path in copy.path.rglob(".*.log.*") if not path.name.endswith(".crc")}
    assert {count for counts in reads.values() for count in counts} == {1}
    assert len(reads[log]) == 3


def test_each_header_of_the_other_logs_of_a_slice_is_read_once(
    unpack: Unpack, header_reads: Callable[[Path], list[float]]
) -> None:
    copy = unpack("v6", "mor_part")
    log, other = log_of(copy, ""), some_log(copy)
    put(log, block(LATER) + encode_rollback_block(LATER, EARLIER))
    assert len(named(log).rows) == 2
    assert (header_reads(log), header_reads(other)) == ([1, 1], [1])


@pytest.mark.slow
def test_each_header_of_a_large_log_is_read_once(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, header_reads: Callable[[Path], list[float]]
) -> None:
    """The log is first cut into pieces, by the lengths of its blocks. Headers of all sizes."""
    copy = unpack("v6", "mor_part")
    log = log_of(copy, "")
    rows = log_contents.encode_avro([{"n": n} for n in range(5000)], SCHEMA)
    wide = [SCHEMA + " " * spaces for spaces in (0, 20, 70_000, 100, 15_000, 0)]
    headers = [{"INSTANT_TIME": copy.commits[-1], "SCHEMA": schema} for schema in wide]
    put(log, 3 * b"".join(encode_block(AVRO_DATA, header, rows) + block(LATER) for header in headers))
    monkeypatch.setattr(workers, "_WHOLE_BYTES", 0)
    monkeypatch.setattr(workers, "PIECE_BYTES", 100_000)
    assert named(log).blocks == 36
    assert header_reads(log) == 36 * [1]


def test_rows_are_in_the_order_of_files(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_part")
    for path in copy.data():
        if ".log." in path:
            put(copy.path / path, b"#HUDI#" + os.urandom(50))
    rows: tuple[DefectRow, ...] = verified(copy).rows
    assert [(row.file, row.offset or 0) for row in rows] == sorted((row.file, row.offset or 0) for row in rows)
