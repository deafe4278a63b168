"""New log files: their names, exclusive creation, roll-over, and what is refused."""

import errno
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hudictl.errors import HudictlError, NotFound, StorageFailed, Unsupported
from hudictl.formats import log_blocks
from hudictl.formats.log_blocks import encode_block, encode_rollback_block, read_blocks
from hudictl.storage.local import LocalStorage
from hudictl.storage.open import open_storage
from hudictl.storage.remote import RemoteStorage
from hudictl.table.files.slices import StoredFile
from hudictl.table.logs.writer import LogTarget, write_logs
from hudictl.table.open import open_table
from hudictl.table.table import Table
from tests.s3 import S3
from tests.storage.name_node import NameNode, serving
from tests.table.conftest import Small, base_of, put

FID = "6e1d5cc4-0000-4000-8000-123456789abc-0"
BASE, NOW, OTHER = "20261121000000000", "20261121000001000", "20261121000002000"
TARGET = LogTarget("p", FID, BASE, NOW)


@pytest.fixture
def table(small: Small) -> Table:
    made = small(6)
    put(made, "p/.hoodie_partition_metadata")
    return made


def block(kind: str = log_blocks.AVRO_DATA, instant: str = NOW, content: bytes = b"rows") -> bytes:
    return encode_block(kind, {log_blocks.INSTANT_TIME: instant}, content)


def logs(table: Table) -> dict[str, bytes]:
    """The logs in the partition, in the order of their names."""
    files = sorted((base_of(table) / "p").glob("*.log.*"))
    return {file.name.removeprefix(f".{FID}_"): file.read_bytes() for file in files}


def names(written: list[StoredFile]) -> list[str]:
    return [file.data.name.removeprefix(f".{FID}_") for file in written]


@pytest.mark.parametrize(
    ("version", "base", "cdc", "name"),
    [
        (6, BASE, False, f"{BASE}.log.1_1-0-1"),
        (6, None, False, f"{NOW}.log.1_1-0-1"),
        (6, BASE, True, f"{NOW}.log.1_1-0-1.cdc"),
        (8, BASE, False, f"{NOW}.log.1_1-0-1"),
        (9, None, False, f"{NOW}.log.1_1-0-1"),
        (9, BASE, True, f"{NOW}.log.1_1-0-1.cdc"),
    ],
)
def test_the_first_log_by_the_rules_of_the_tables_version(
    small: Small, version: int, base: str | None, cdc: bool, name: str
) -> None:
    """Below 8 the base instant of the slice is in it, which a slice without files takes from its first writer."""
    table = small(version)
    put(table, "p/.hoodie_partition_metadata")
    body = block(log_blocks.CDC_DATA if cdc else log_blocks.AVRO_DATA)
    written = write_logs(table, LogTarget("p", FID, base, NOW, cdc), [body])
    assert names(written) == [name]
    assert logs(table) == {name: body}
    assert (written[0].path, written[0].size) == (f"p/.{FID}_{name}", len(body))


def test_the_next_log_is_one_above_the_highest_whoever_wrote_that(table: Table) -> None:
    """Other slices, other groups and change logs have versions of their own; no file that is there is touched."""
    others = [f"{BASE}.log.3_7-1-2", f"{BASE}.log.12_0-0-0", f"{BASE}.log.40_1-0-1.cdc", f"{OTHER}.log.50_1-0-1"]
    for name in others:
        put(table, f"p/.{FID}_{name}", b"old")
    put(table, f"p/.other-0_{BASE}.log.60_1-0-1", b"old")
    first = write_logs(table, TARGET, [block()], write_token="4-5-6")
    assert names(first + write_logs(table, TARGET, [block()])) == [f"{BASE}.log.13_4-5-6", f"{BASE}.log.14_1-0-1"]
    assert all(logs(table)[name] == b"old" for name in others)


def test_a_file_takes_appends_until_it_is_larger_than_the_limit(table: Table) -> None:
    """An append is never split, and one that fills a file exactly is not its last: Hudi asks for more than that."""
    small, large = block(), block(content=bytes(1000)) + block(log_blocks.DELETE)
    appends = [small, small, small, large, large, small]
    written = write_logs(table, TARGET, appends, max_bytes=2 * len(small))
    assert names(written) == [f"{BASE}.log.{version}_1-0-1" for version in (1, 2, 3, 4)]
    assert list(logs(table).values()) == [small * 3, large, large, small]
    assert write_logs(table, TARGET, []) == []


@pytest.mark.slow
@pytest.mark.parametrize("store", ["local", "s3"])
def test_one_writer_at_a_time_gets_a_name(table: Table, s3: S3, store: str) -> None:
    """Eight at once, all with the same listing to begin with: each block is there once, in a file of its own."""
    where = table if store == "local" else open_table(s3.upload(base_of(table), "logs"), s3.options)
    bodies = [block(content=f"writer {number}".encode()) for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        written = [file for files in pool.map(lambda body: write_logs(where, TARGET, [body]), bodies) for file in files]
    assert {file.data.version for file in written} == set(range(1, 9))
    assert sorted(where.storage.read(file.path) for file in written) == sorted(bodies)


def test_a_log_that_has_come_since_the_listing_is_never_overwritten(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = table.storage.list("p")
    put(table, f"p/.{FID}_{BASE}.log.1_1-0-1", b"theirs")
    monkeypatch.setattr(LocalStorage, "list", lambda *_: listed)
    assert names(write_logs(table, TARGET, [block()])) == [f"{BASE}.log.2_1-0-1"]
    assert logs(table)[f"{BASE}.log.1_1-0-1"] == b"theirs"


@pytest.mark.parametrize("call", ["write", "fsync", "link"])
def test_a_disk_that_fails_leaves_no_half_log(table: Table, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def fails(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, fails)
    with pytest.raises(StorageFailed, match="No space left"):
        write_logs(table, TARGET, [block()])
    assert logs(table) == {}


def test_whole_files_stay_of_a_writer_that_dies(table: Table) -> None:
    """Appends are taken one file at a time: what comes first is there before the next is asked for."""

    def appends() -> Iterator[bytes]:
        yield block()
        assert len(logs(table)) == 1
        yield block(log_blocks.DELETE)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_logs(table, TARGET, appends(), max_bytes=0)
    assert list(logs(table).values()) == [block(), block(log_blocks.DELETE)]


@pytest.mark.parametrize("kept", [-1, 0, 5, 40])
def test_a_store_that_keeps_something_else_is_told(table: Table, monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    """Fewer bytes, none, no file at all, or others in the header."""
    real = LocalStorage.create

    def create(storage: LocalStorage, path: str, body: bytes) -> None:
        if kept >= 0:
            real(storage, path, body[:kept] + b"?" + body[kept + 1 :] if kept == 40 else body[:kept])

    monkeypatch.setattr(LocalStorage, "create", create)
    with pytest.raises(StorageFailed, match="differs from what was written"):
        write_logs(table, TARGET, [block()])


@pytest.mark.parametrize(
    ("append", "cdc", "reason"),
    [
        (b"", False, None),
        (b"some rows", False, "no block begins here"),
        (block()[:-1], False, "cut off"),
        (block() + b"rest", False, "belong to no block"),
        (block(instant=OTHER), False, f"of {OTHER} in a log that {NOW} writes"),
        (block() + block(log_blocks.CDC_DATA), False, "CDC_DATA_BLOCK in a log of data"),
        (block(), True, "AVRO_DATA_BLOCK in a change log"),
    ],
)
def test_what_is_no_log_of_the_instant_is_not_written(
    table: Table, append: bytes, cdc: bool, reason: str | None
) -> None:
    if reason is None:
        assert write_logs(table, TARGET, [append]) == []
    else:
        with pytest.raises(ValueError, match=reason):
            write_logs(table, replace(TARGET, cdc=cdc), [append])
    assert logs(table) == {}


def test_a_rollback_block_has_the_time_of_its_target(table: Table) -> None:
    (file,) = write_logs(table, TARGET, [encode_rollback_block(OTHER, OTHER)])
    (found,) = read_blocks(partial(table.storage.read, file.path), file.size or 0)
    assert found.rollback_target == OTHER


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"partition": "gone"}, NotFound),
        ({"file_id": "a_b-0"}, Unsupported),
        ({"file_id": "part.parquet"}, Unsupported),
    ],
)
def test_a_place_for_no_log_is_named(table: Table, change: dict[str, Any], error: type[HudictlError]) -> None:
    with pytest.raises(error, match=next(iter(change.values()))):
        write_logs(table, replace(TARGET, **change), [block()])
    assert not (base_of(table) / "gone").exists()


def test_a_store_that_shows_files_before_they_are_whole_is_refused(table: Table) -> None:
    """As those that fsspec reaches by SFTP."""
    remote = replace(table, storage=RemoteStorage("sftp://host/t", None, "/t", True))
    with pytest.raises(Unsupported, match="sftp"):
        write_logs(remote, TARGET, [block()])


@pytest.fixture
def on_hdfs(table: Table, tmp_path: Path) -> Iterator[Table]:
    """The same table, by WebHDFS."""
    with serving(NameNode(base_of(table).parent)) as node:
        uri = f"webhdfs:{node.address.removeprefix('http:')}/{base_of(table).name}"
        yield replace(table, storage=open_storage(uri, ".tmp"))


def test_it_appends_where_the_store_does(table: Table, on_hdfs: Table) -> None:
    """As 0.15 on HDFS: to the last log, of whatever token; a new one when it is full."""
    write_logs(on_hdfs, TARGET, [block(content=b"1")], write_token="7-0-1")
    written = write_logs(on_hdfs, TARGET, [block(content=b"2"), block(content=b"3")], append=True)
    assert names(written) == [f"{BASE}.log.1_7-0-1"]
    assert [file.size for file in written] == [len(body) for body in logs(table).values()]
    (body,) = logs(table).values()
    assert body == b"".join(block(content=content) for content in (b"1", b"2", b"3"))
    assert names(write_logs(on_hdfs, TARGET, [block()], append=True, max_bytes=10)) == [f"{BASE}.log.2_1-0-1"]
    assert names(write_logs(on_hdfs, TARGET, [block()], append=True)) == [f"{BASE}.log.2_1-0-1"]


def test_it_appends_only_behind_a_whole_block(table: Table, on_hdfs: Table) -> None:
    """Fewer than 6 bytes of rubbish are harmless at the end alone: behind them the block before would be corrupt."""
    (first,) = write_logs(on_hdfs, TARGET, [block()])
    path = base_of(table) / first.path
    path.write_bytes(path.read_bytes() + b"torn")
    assert names(write_logs(on_hdfs, TARGET, [block()], append=True)) == [f"{BASE}.log.2_1-0-1"]


def test_it_appends_only_to_logs_of_the_slice(on_hdfs: Table) -> None:
    """Not to those of other groups, slices or kinds, and not where each writer has logs of its own."""
    others = [replace(TARGET, base_instant=OTHER), replace(TARGET, file_id="x-0"), replace(TARGET, cdc=True)]
    for other in others:
        write_logs(on_hdfs, other, [block(log_blocks.CDC_DATA if other.cdc else log_blocks.AVRO_DATA)])
    assert names(write_logs(on_hdfs, TARGET, [block()], append=True)) == [f"{BASE}.log.1_1-0-1"]
    cdc = replace(TARGET, cdc=True)
    (written,) = write_logs(on_hdfs, cdc, [block(log_blocks.CDC_DATA)], append=True)
    assert written.data.version == 2


@pytest.mark.parametrize("version", [6, 8])
def test_it_appends_nowhere_else(small: Small, version: int) -> None:
    """Not on stores that do not append, and from version 8 on not at all."""
    table = small(version)
    put(table, "p/.hoodie_partition_metadata")
    for number in (1, 2):
        (written,) = write_logs(table, TARGET, [block()], append=True)
        assert written.data.version == number
