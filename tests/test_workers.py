"""Functions that run on executors: listing, deleting, rollback blocks, scanning."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudictl import workers
from hudictl.errors import StorageFailed
from hudictl.formats import log_blocks
from hudictl.formats.file_names import log_file_name, parse_data_file
from hudictl.formats.layouts import SCRATCH
from hudictl.formats.log_blocks import encode_block, encode_rollback_block, read_blocks
from hudictl.state.files.late_blocks import slice_blocks
from hudictl.storage.local import LocalStorage
from hudictl.workers import (
    BlockFile,
    BlockTask,
    Folder,
    ListTask,
    LogTask,
    PieceTask,
    check_log,
    cut_log,
    damaged_ends,
    damaged_metafiles,
)

FID = "6e1d5cc4-0000-4000-8000-123456789abc-0"
BASE = "20261121000000000"
T1, T2, T3 = (f"2026112100000{number}000" for number in (1, 2, 3))


@pytest.fixture
def store(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path), SCRATCH)


def put(tmp_path: Path, path: str, body: bytes = b"") -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_bytes(body)


def data(instant: str, kind: str = log_blocks.AVRO_DATA) -> bytes:
    return encode_block(kind, {log_blocks.INSTANT_TIME: instant, log_blocks.SCHEMA: "{}"}, b"rows")


def log(tmp_path: Path, version: int, *blocks: bytes, token: str = "0-1-2") -> tuple[str, int]:
    """Writes a log of the slice into partition p; (name, size)."""
    name = log_file_name(FID, BASE, version, token)
    put(tmp_path, f"p/{name}", b"".join(blocks))
    return name, len(b"".join(blocks))


def logs(tmp_path: Path) -> tuple[tuple[str, int], ...]:
    return tuple((entry.name, entry.stat().st_size) for entry in os.scandir(tmp_path / "p") if ".log." in entry.name)


def block_task(store: LocalStorage, tmp_path: Path, *targets: str) -> BlockTask:
    return BlockTask(store, "p", FID, BASE, logs(tmp_path), targets)


@pytest.mark.parametrize("sync", [False, True])
def test_list_tree(store: LocalStorage, tmp_path: Path, sync: bool) -> None:
    """Not into .hoodie, not below another table; what is below a partition is hidden from Hudi's listing, and marked.
    Sidecars are not listed."""
    for path in (
        ".hoodie/hoodie.properties",
        "2026/11/.hoodie_partition_metadata",
        "2026/11/a.parquet",
        "2026/11/.a.parquet.crc",
        "2026/11/below/.hoodie_partition_metadata",
        "2026/12/.hoodie_partition_metadata.parquet",
        "2026/loose/b.parquet",
        "2026/errors/.hoodie/hoodie.properties",
        "2026/errors/part-0/.hoodie_partition_metadata",
    ):
        put(tmp_path, path, b"x")
    found = {listing.path: listing for listing in workers.list_tree(ListTask(store, Folder(""), sync))}
    assert set(found) == {"", "2026", "2026/11", "2026/11/below", "2026/12", "2026/errors", "2026/loose"}
    partitions = {path for path, listing in found.items() if listing.is_partition}
    assert partitions == {"2026/11", "2026/11/below", "2026/12"}
    assert [path for path, listing in found.items() if listing.hidden] == ["2026/11/below"]
    assert [path for path, listing in found.items() if listing.is_table] == ["2026/errors"]
    assert [(name, size) for name, size, _ in found["2026/11"].files] == [
        (".hoodie_partition_metadata", 1),
        ("a.parquet", 1),
    ]


def test_what_is_below_a_hidden_folder_is_hidden() -> None:
    """However deep it lies, and where the folder between has no metafile: copies there are not the partition's."""
    between = workers.Listing("p/copies", (), ("old",), hidden=True)
    assert workers.below(between) == [Folder("p/copies/old", hidden=True)]


def test_a_table_without_partitions_is_its_own_partition(store: LocalStorage, tmp_path: Path) -> None:
    put(tmp_path, ".hoodie_partition_metadata")
    put(tmp_path, "sub/.hoodie_partition_metadata")
    listing, below = workers.list_tree(ListTask(store, Folder(""), False))
    assert (listing.path, listing.is_partition, listing.folders) == ("", True, ("sub",))
    assert (below.path, below.hidden) == ("sub", True)


def test_a_link_is_followed_to_look_and_never_to_delete(store: LocalStorage, tmp_path: Path) -> None:
    """What is behind it may be another table's; one that leads back does not go on for ever."""
    outside = tmp_path.parent / "outside"
    put(outside, "a.parquet")
    (tmp_path / "p").symlink_to(outside)
    put(tmp_path, "q/.hoodie_partition_metadata")
    (tmp_path / "q" / "back").symlink_to(tmp_path / "q")
    found = {listing.path: listing for listing in workers.list_tree(ListTask(store, Folder(""), False))}
    assert {path for path, listing in found.items() if listing.linked} == {"p", "q/back"}
    assert [name for name, _, _ in found["p"].files] == ["a.parquet"]
    for path in ("o/a.parquet", "q/a.parquet"):
        put(tmp_path, path)
    names = tuple((partition, ("a.parquet",)) for partition in ("o", "p", "q"))
    ((path, reason),) = workers.delete_files(store, names)
    assert (path, reason) == ("p/a.parquet", "its folder is behind a symbolic link")
    assert (outside / "a.parquet").exists()
    assert not any((tmp_path / partition / "a.parquet").exists() for partition in ("o", "q"))


@pytest.mark.parametrize("sync", [False, True])
def test_a_folder_that_is_not_there_is_an_error(store: LocalStorage, sync: bool) -> None:
    """The driver has just seen it: an executor that does not see it looks at other files than the driver."""
    with pytest.raises(FileNotFoundError, match="gone"):
        workers.list_tree(ListTask(store, Folder("gone"), sync))


@pytest.mark.parametrize("partition", ["", "p"])
def test_delete_files(store: LocalStorage, tmp_path: Path, partition: str) -> None:
    """What is gone already counts as done, what cannot be deleted is told with the reason; twice is as once."""
    for path in ("a", "kept", "folder/x"):
        put(tmp_path / partition, path)
    names = [(partition, ("a", "absent", "folder"))]
    for _ in range(2):
        ((path, reason),) = workers.delete_files(store, names)
        assert path.endswith("folder")
        assert reason
    assert sorted(os.listdir(tmp_path / partition)) == ["folder", "kept"]


def test_rollback_blocks_are_written_once(store: LocalStorage, tmp_path: Path) -> None:
    """One new log with the next version and a block for each target; a second run writes nothing."""
    log(tmp_path, 1, data(T1))
    log(tmp_path, 3, data(T2), data(T3))
    written = workers.write_rollback_blocks(block_task(store, tmp_path, T3, T2))
    name = f".{FID}_{BASE}.log.4_1-0-1"
    assert written == [BlockFile(target, name, 210) for target in (T3, T2)]
    body = (tmp_path / "p" / name).read_bytes()
    assert body == encode_rollback_block(T3, T3) + encode_rollback_block(T2, T2)
    assert workers.write_rollback_blocks(block_task(store, tmp_path, T3, T2)) == written
    assert len(logs(tmp_path)) == 3


def test_only_missing_blocks_are_written(store: LocalStorage, tmp_path: Path) -> None:
    """After an attempt that got half way, and with a block that Hudi itself had written."""
    log(tmp_path, 1, data(T1), data(T2))
    name, size = log(tmp_path, 2, encode_rollback_block(T3, T1), token="1-0-1")
    first, second = workers.write_rollback_blocks(block_task(store, tmp_path, T1, T2))
    assert first == BlockFile(T1, name, size)
    assert (second.target, second.size) == (T2, 105)
    assert parse_data_file(second.name).version == 3  # type: ignore[union-attr]


def test_a_block_before_the_data_does_not_count(store: LocalStorage, tmp_path: Path) -> None:
    """The target wrote again behind it: a block acts only on what was read before."""
    log(tmp_path, 1, data(T1), encode_rollback_block(T2, T1), data(T1, log_blocks.DELETE))
    (written,) = workers.write_rollback_blocks(block_task(store, tmp_path, T1))
    assert written.name.endswith(".log.2_1-0-1")


def test_a_block_of_another_format_is_passed_over(store: LocalStorage, tmp_path: Path) -> None:
    """A restore that ended at it would end in its middle."""
    other = data(T1)[:14] + b"\0\0\0\2" + data(T1)[18:]
    logs = [log(tmp_path, 1, b"HUDI" + bytes(60)), log(tmp_path, 2, other, data(T2))]
    assert workers.scan_logs({T1, T2}, LogTask(store, "p", tuple(logs))) == [(T2, logs[1][0])]
    (written,) = workers.write_rollback_blocks(BlockTask(store, "p", FID, BASE, tuple(logs), (T2,)))
    assert written.target == T2


def test_logs_are_read_in_version_order(store: LocalStorage, tmp_path: Path) -> None:
    """Version 10 comes after 9, whatever the listing's order: the block there is the last word."""
    log(tmp_path, 9, data(T1))
    name, size = log(tmp_path, 10, encode_rollback_block(T1, T1))
    assert workers.write_rollback_blocks(block_task(store, tmp_path, T1)) == [BlockFile(T1, name, size)]


@pytest.mark.parametrize("theirs", ["same task", "another writer"])
def test_a_name_that_is_taken_meanwhile(
    store: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theirs: str
) -> None:
    """Spark ran the task twice at once, or a log came since the listing: never overwritten, never without a block."""
    log(tmp_path, 1, data(T1))
    task = block_task(store, tmp_path, T1)
    body = encode_rollback_block(T1, T1) if theirs == "same task" else data(T1)
    log(tmp_path, 2, body, token="1-0-1")
    (written,) = workers.write_rollback_blocks(task)
    version = 2 if theirs == "same task" else 3
    assert written.name == f".{FID}_{BASE}.log.{version}_1-0-1"
    assert (tmp_path / f"p/.{FID}_{BASE}.log.2_1-0-1").read_bytes() == body
    blocks = [block for name, _ in sorted(logs(tmp_path)) for block in read(tmp_path / "p" / name)]
    assert blocks[-1].rollback_target == T1


def read(path: Path) -> list[log_blocks.Block]:
    body = path.read_bytes()
    return list(read_blocks(lambda offset, length: body[offset : offset + length], len(body)))


def test_a_slice_without_logs(store: LocalStorage, tmp_path: Path) -> None:
    """Its first log has version 1."""
    (tmp_path / "p").mkdir()
    (written,) = workers.write_rollback_blocks(block_task(store, tmp_path, T1))
    assert written.name == f".{FID}_{BASE}.log.1_1-0-1"


def test_scan_logs(store: LocalStorage, tmp_path: Path) -> None:
    """Which logs hold data or deletes of the instants; rollback blocks and other instants are not data."""
    first, _ = log(tmp_path, 1, data(T1), data(T2), data(T2))
    second, _ = log(tmp_path, 2, encode_rollback_block(T1, T1), data(T2, log_blocks.DELETE))
    log(tmp_path, 3, data(T3))
    found = workers.scan_logs({T1, T2}, LogTask(store, "p", logs(tmp_path)))
    assert found == sorted([(T1, first), (T2, first), (T2, second)])


def test_a_log_that_a_clean_has_taken_since_the_listing(store: LocalStorage, tmp_path: Path) -> None:
    """Who only looks goes on; who writes a rollback block must know what is there."""
    name, size = log(tmp_path, 1, data(T1))
    gone = log_file_name(FID, BASE, 2, "0-1-2")
    listed = ((gone, 100), (name, size))
    assert workers.scan_logs({T1}, LogTask(store, "p", listed)) == [(T1, name)]
    task = workers.LogTask(store, "p", listed)
    assert dict(workers.log_writers(task)) == {f"p/{gone}": frozenset(), f"p/{name}": frozenset({T1})}
    assert slice_blocks(task) == ([], [(f"p/{name}", T1)])
    with pytest.raises(FileNotFoundError):
        workers.find_rollback_blocks(BlockTask(store, "p", FID, BASE, listed, (T1,)))


def test_a_scan_reads_headers_not_contents(
    store: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log of gigabytes costs a few reads."""
    big = encode_block(log_blocks.AVRO_DATA, {log_blocks.INSTANT_TIME: T1}, b"x" * 3_000_000)
    log(tmp_path, 1, big, data(T2))
    lengths: list[int] = []
    real: Callable[..., bytes] = LocalStorage.read

    def counted(self: LocalStorage, path: str, start: int = 0, length: int | None = None) -> Any:
        body = real(self, path, start, length)
        lengths.append(len(body))
        return body

    monkeypatch.setattr(LocalStorage, "read", counted)
    assert len(workers.scan_logs({T1, T2}, LogTask(store, "p", logs(tmp_path)))) == 2
    assert sum(lengths) < 100_000


def test_large_logs_are_cut_between_blocks(
    store: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Together the pieces tell what the log as a whole does."""
    blocks = [data(T1), encode_rollback_block(T2, T1), data(T2), data(T3), data(T1) + b"torn"]
    body = b"".join(blocks)
    put(tmp_path, "f", body)
    monkeypatch.setattr(workers, "PIECE_BYTES", 300)
    whole = PieceTask(store, "f", len(body), False, 0, len(body))
    pieces = cut_log(whole)
    assert [(piece.start, piece.first) for piece in pieces] == [(0, 0), (len(body) - 2 * len(data(T1)) - 4, 3)]
    assert [piece.end for piece in pieces] == [pieces[1].start, len(body)]
    found, (expected,) = [check_log(piece) for piece in pieces], [check_log(whole)]
    assert expected is not None
    assert sum(entry.blocks for entry in found if entry) == expected.blocks == 5
    assert tuple(defect for entry in found if entry for defect in entry.defects) == expected.defects


def test_a_block_that_is_larger_than_a_piece_is_one(
    store: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "f", 3 * data(T1))
    size = len(data(T1))
    monkeypatch.setattr(workers, "PIECE_BYTES", 10)
    pieces = cut_log(PieceTask(store, "f", 3 * size, False, 0, 3 * size))
    assert [(piece.start, piece.end, piece.first) for piece in pieces] == [
        (number * size, (number + 1) * size, number) for number in range(3)
    ]


def test_a_log_that_cannot_be_cut_is_one_piece(store: LocalStorage, tmp_path: Path) -> None:
    """It has gone, or is no log: whoever looks at it says so."""
    put(tmp_path, "f", b"HUDI" + bytes(100))
    for path in ("f", "gone"):
        task = PieceTask(store, path, 104, False, 0, 104)
        assert cut_log(task) == [task]
    assert check_log(PieceTask(store, "gone", 104, False, 0, 104)) is None


@pytest.mark.parametrize("limit", [0, 10_000])
def test_a_log_that_has_become_shorter_is_not_called_damaged(
    store: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    put(tmp_path, "f", data(T1)[:-1])
    monkeypatch.setattr(workers, "_WHOLE_BYTES", limit)
    with pytest.raises(StorageFailed, match="shorter"):
        check_log(PieceTask(store, "f", len(data(T1)), False, 0, len(data(T1))))
    name, size = log(tmp_path, 1, data(T1))
    with pytest.raises(StorageFailed, match="shorter"):
        workers.find_rollback_blocks(BlockTask(store, "p", FID, BASE, ((name, size + 100),), (T1,)))


def test_what_is_attested_as_gone_is_synced_in_each_folder_before_it_is_listed(
    store: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "a/b/c/x.parquet")
    calls: list[tuple[str, str]] = []
    list_, sync = LocalStorage.list, LocalStorage.sync
    monkeypatch.setattr(
        LocalStorage, "list", lambda self, folder: calls.append(("list", folder)) or list_(self, folder)
    )
    monkeypatch.setattr(LocalStorage, "sync", lambda self, folder: calls.append(("sync", folder)) or sync(self, folder))
    workers.list_tree(ListTask(store, Folder("a"), True))
    assert calls == [(call, folder) for folder in ("a", "a/b", "a/b/c") for call in ("sync", "list")]


def test_who_took_an_instant_back_is_no_writer_of_the_log(store: LocalStorage, tmp_path: Path) -> None:
    name, size = log(tmp_path, 1, data(T1), encode_rollback_block(T2, T1))
    assert workers.log_writers(workers.LogTask(store, "p", ((name, size),))) == [(f"p/{name}", frozenset({T1}))]


def test_rows_that_were_taken_back_are_no_subject_of_their_log_and_the_block_is(
    store: LocalStorage, tmp_path: Path
) -> None:
    first, _ = log(tmp_path, 1, data(T1), data(T2))
    second, _ = log(tmp_path, 2, encode_rollback_block(T3, T1))
    task = workers.LogTask(store, "p", logs(tmp_path))
    assert workers.log_subjects(task) == sorted([(first, T2), (second, T1)])


def test_damaged_metafiles(store: LocalStorage, tmp_path: Path) -> None:
    """Of one in the base file format the end is read. A text file goes before it, as Hudi reads them."""
    put(tmp_path, "a/b/.hoodie_partition_metadata", b"commitTime=1\npartitionDepth=2\n")
    put(tmp_path, "cut/.hoodie_partition_metadata", b"commitTime=1\n")
    put(tmp_path, "other/.hoodie_partition_metadata.parquet", b"PAR1" + bytes(8) + (4).to_bytes(4, "little") + b"PAR1")
    put(tmp_path, "torn/.hoodie_partition_metadata.orc", b"ORC")
    put(tmp_path, "a/b/.hoodie_partition_metadata.orc", b"ORC")
    found = damaged_metafiles(store, ("a/b", "cut", "none", "other", "torn"))
    assert found == [
        ("cut", "", "it has no partitionDepth"),
        ("torn", ".orc", "not an ORC file (its end is missing)"),
    ]


def test_damaged_ends(store: LocalStorage, tmp_path: Path) -> None:
    """A file that is gone by now is a clean's; one that is too short is not read at all."""
    whole = b"PAR1" + bytes(8) + (8).to_bytes(4, "little") + b"PAR1"
    files = {"p/whole.parquet": whole, "p/cut.parquet": whole[:-1], "p/empty.parquet": b""}
    for path, body in files.items():
        put(tmp_path, path, body)
    sizes = tuple((path, len(body)) for path, body in files.items())
    found = damaged_ends(store, (*sizes, ("p/gone.parquet", 20)))
    assert [path for path, _ in found] == ["p/cut.parquet", "p/empty.parquet"]
