"""Logs by their paths: patterns, folders, the table above, and how many bytes a look costs."""

import os
import uuid
from pathlib import Path

import pytest

from hudictl.errors import Conflict, NotFound, Unreadable, Unsupported, UsageError
from hudictl.formats.log_blocks import AVRO_DATA, encode_block, encode_rollback_block, read_blocks
from hudictl.table.logs.paths import find_logs
from hudictl.table.logs.reader import LogFile, in_slices, keeping, naming_log
from hudictl.table.logs.scan import judged_blocks
from tests.s3 import S3, Application, Environment, Start
from tests.table.conftest import Real, Small, base_of, put

INSTANT = "20261121030000000"


def name(file_id: str, version: int = 1, instant: str = INSTANT, suffix: str = "") -> str:
    return f".{file_id}_{instant}.log.{version}_0-1-0{suffix}"


@pytest.fixture
def base(small: Small) -> Path:
    """A table of version 6 with logs in two partitions, a sidecar, and files that are none."""
    table = small(6)
    for path in ("p=1", "p=2/q=[x]"):
        put(table, f"{path}/{name('f')}", encode_rollback_block(INSTANT, INSTANT))
        put(table, f"{path}/f_0-1-0_{INSTANT}.parquet", b"PAR1")
    put(table, f"p=1/.{name('f')}.crc", b"crc\0")
    put(table, f"p=1/{name('f', 2)}", b"")
    return base_of(table)


def found(*paths: object) -> list[str]:
    logs, notes = find_logs(map(str, paths))
    assert notes == []
    assert all(log.table is not None for log in logs)
    return [log.path for log in logs]


def test_a_file(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named absolutely, relatively or as URI, twice or once: it is one log of the table above."""
    wanted = [f"p=1/{name('f')}"]
    path = base / wanted[0]
    assert found(path) == found(f"file://{path}") == found(path, path, f"file:{path}") == wanted
    monkeypatch.chdir(base / "p=1")
    assert found(name("f")) == found(f"../{wanted[0]}") == wanted
    (log,), _ = find_logs([str(path)])
    assert (log.uri, log.size, log.data and log.data.file_id) == (str(path), path.stat().st_size, "f")
    assert log.read_at(0, 6) == b"#HUDI#"


@pytest.mark.parametrize("left", [0, 5, 700])
def test_a_log_that_becomes_shorter_after_it_was_listed(base: Path, left: int) -> None:
    """The blocks are not looked for in bytes that are not there any more."""
    path = base / f"p=1/{name('f')}"
    path.write_bytes(encode_block(AVRO_DATA, {"INSTANT_TIME": INSTANT}, bytes(2000)))
    (log,), _ = find_logs([str(path)])
    os.truncate(path, left)
    with pytest.raises(Conflict, match="became shorter"):
        list(read_blocks(log.read_at, log.size))
    # What is behind the size of the listing is no matter.
    assert log.read_at(log.size, 9) == b""


def test_a_folder_and_patterns(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern finds dot files, and logs only; a name that looks like one is taken by the letter first."""
    first, second, other = f"p=1/{name('f')}", f"p=1/{name('f', 2)}", f"p=2/q=[x]/{name('f')}"
    assert found(base / "p=1") == found(base / "p=1" / "*") == found(f"file://{base}/p=1/") == [first, second]
    assert found(base / "*" / "*.log.1_*") == [first]
    assert found(base / "*/*/*") == found(base / "p=2/*") == found(base / "p=2/q=[x]") == [other]
    assert found(base / other) == [other]
    monkeypatch.chdir(base)
    assert found("*/.f_*.log.[2-9]*", first) == [second, first]
    assert found("p=?/.*") == [first, second]
    for nothing in (base / "x", base / "x*", base / "p=1/x/*", base / "p=1/.f*/*", base, base / "p=1/*.parquet"):
        with pytest.raises(NotFound) as error:
            find_logs([str(nothing)])
        assert str(nothing) in error.value.message
    with pytest.raises(UsageError):
        find_logs([""])


def test_a_name_of_no_log(base: Path) -> None:
    """What is named itself is looked at; but a sidecar, which the shell's pattern finds, is not."""
    path = base / "p=1" / f"f_0-1-0_{INSTANT}.parquet"
    logs, notes = find_logs([str(path)])
    assert [log.name for log in logs] == [path.name]
    assert notes == [f"{path} does not have the name of a log: Hudi's readers ignore it"]
    sidecar = base / "p=1" / f".{name('f')}.crc"
    assert find_logs([str(sidecar)]) == ([], [f"{sidecar} is skipped: it is the checksum file of a log"])


def test_the_nearest_table(real: Real) -> None:
    """A metadata table is one; the archive's logs are the table's."""
    table = real("v6", "cow_cleaned")
    base = base_of(table)
    logs, notes = find_logs([str(base / ".hoodie/metadata/files"), str(base / ".hoodie/archived")])
    assert notes == []
    places = {(log.table.uri if log.table else "", log.folder, log.archive) for log in logs}
    assert places == {(f"{table.uri}/.hoodie/metadata", "files", False), (table.uri, ".hoodie/archived", True)}
    assert all(len(members) == 1 for members, _ in in_slices(log for log in logs if log.archive))


def test_without_a_table(tmp_path: Path) -> None:
    """It can be read all the same, and one that cannot be read is not passed over for another one above."""
    path = tmp_path / "lost" / name("f")
    path.parent.mkdir()
    path.write_bytes(b"")
    (log,), (note,) = find_logs([str(path)])
    assert (log.table, log.path, log.uri) == (None, name("f"), str(path))
    assert note == f"there is no table above file://{path.parent}: the fates of blocks are not known"
    (path.parent / ".hoodie").mkdir()
    (path.parent / ".hoodie/hoodie.properties").write_text("hoodie.table.version=six\nhoodie.table.name=t\n")
    (log,), (note,) = find_logs([str(path)])
    assert log.table is None
    assert "cannot be read" in note
    assert "six" in note


@pytest.mark.parametrize("version", [6, 9])
def test_the_logs_that_are_read_with_one(small: Small, version: int) -> None:
    """Those of the slice; from version 8 on names tell another instant each, and the file group stands for it."""
    table = small(version)
    later = "20261121040000000"
    names = [name("f", 10), name("f", 9), name("f", 1, later), name("g"), name("f", 1, INSTANT, ".cdc")]
    for one in names:
        put(table, one)
    logs, _ = find_logs([str(base_of(table) / one) for one in (name("f", 10), name("f", 1, INSTANT, ".cdc"))])
    (first, asked), (change_log, _) = in_slices(logs)
    assert [log.name for log in first] == [name("f", 9), name("f", 10)] + ([name("f", 1, later)] if version > 6 else [])
    assert asked == {name("f", 10)}
    assert [log.name for log in change_log] == [name("f", 1, INSTANT, ".cdc")]


def test_a_log_that_vanished(base: Path) -> None:
    logs, _ = find_logs([str(base / "p=1" / name("f"))])
    (base / "p=1" / name("f")).unlink()
    for members, asked in in_slices(logs):
        assert [log.name for log in members if log.name in asked] == [name("f")]
        with pytest.raises(Conflict, match="vanished"):
            list(judged_blocks(members, asked, None))


def test_reading_twice_asks_once(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file is one request; of a large one each range is."""
    put_large = base / "p=1" / name("g")
    put_large.write_bytes(bytes(300_000))
    logs, _ = find_logs([str(base / "p=1" / name("f")), str(put_large)])
    asked: list[tuple[str, int, int]] = []
    real = LogFile.read_at
    monkeypatch.setattr(LogFile, "read_at", lambda log, *of: asked.append((log.name, *of)) or real(log, *of))
    small, large = keeping(logs).values()
    assert small(0, 6) == small(0, 6) == b"#HUDI#"
    assert small(6, 8) == real(logs[0], 6, 8)
    assert large(5, 3) == large(5, 3) == bytes(3)
    assert large(6, 3) == bytes(3)
    assert large(299_999, 3) == bytes(1)
    assert asked == [
        (name("f"), 0, logs[0].size),
        (name("g"), 5, 3),
        (name("g"), 6, 3),
        (name("g"), 299_999, 3),
    ]


def large_log(path: Path, blocks: int, content_bytes: int) -> int:
    """A log with contents of zeros that take no place on disk; its size."""
    header = {"INSTANT_TIME": INSTANT, "SCHEMA": '{"type":"record"}' + " " * 900}
    whole = encode_block(AVRO_DATA, header, bytes(content_bytes))
    head, tail = whole[: -content_bytes - 12], whole[-12:]
    with path.open("wb") as file:
        for number in range(blocks):
            file.seek(number * len(whole))
            file.write(head)
            file.seek(content_bytes, os.SEEK_CUR)
            file.write(tail)
    return path.stat().st_size


def test_headers_of_a_large_log_are_less_than_a_percent_of_it(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """64 MiB in blocks of 1 MiB, and looked at twice, for what a later block takes back."""
    table = small(6)
    path = base_of(table) / name("f")
    size = large_log(path, 64, 1024 * 1024)
    read: list[int] = []
    storage = type(table.storage)
    real = storage.read
    monkeypatch.setattr(
        storage,
        "read",
        lambda *of: (body := real(*of), read.append(len(body)))[0],  # type: ignore[func-returns-value]
    )
    logs, _ = find_logs([str(path)])
    read.clear()
    for members, asked in in_slices(logs):
        assert len(list(judged_blocks(members, asked, None))) == 64
    assert size > 64 * 1024 * 1024
    assert 0 < sum(read) < size / 100
    assert len(read) < 64 * 3


@pytest.mark.slow
def test_on_an_object_store(s3: S3, real: Real) -> None:
    """The same paths, patterns, and tables above."""
    base = base_of(real("v6", "mor_failed_lazy"))
    uri = s3.upload(base, f"logs/{uuid.uuid4()}")
    patterns = ("*/.*", ".hoodie/metadata/files")
    local, _ = find_logs([f"{base}/{pattern}" for pattern in patterns])
    logs, notes = find_logs([f"{uri}/{pattern}" for pattern in patterns], s3.options)
    assert notes == []
    assert [(log.path, log.size) for log in logs] == [(log.path, log.size) for log in local]
    assert {log.table and log.table.uri for log in logs} == {uri, f"{uri}/.hoodie/metadata"}
    assert logs[0].uri == f"{uri}/{logs[0].path}"
    assert find_logs([logs[0].uri], s3.options)[0][0].path == logs[0].path
    with pytest.raises(NotFound):
        find_logs([f"{uri}/nowhere/*"], s3.options)


@pytest.mark.slow
def test_ranges_of_a_large_log_on_an_object_store(s3: S3, tmp_path: Path) -> None:
    path = tmp_path / name("f")
    size = large_log(path, 4, 1024 * 1024)
    key = f"logs/{uuid.uuid4()}/{name('f')}"
    s3.put({key: path.read_bytes()})
    ranges: list[str] = []

    def watch(environment: Environment, start: Start, application: Application) -> None:
        if environment["REQUEST_METHOD"] == "GET" and environment["PATH_INFO"].endswith(name("f")):
            ranges.append(environment.get("HTTP_RANGE", "whole"))

    with s3.interfering(watch):
        logs, _ = find_logs([f"s3://lake/{key}"], s3.options)
        for members, asked in in_slices(logs):
            assert len(list(judged_blocks(members, asked, None))) == 4
    lengths = [int(last) - int(first) + 1 for first, last in (one.removeprefix("bytes=").split("-") for one in ranges)]
    assert 0 < sum(lengths) < size / 100


def test_an_error_in_the_bytes_gets_the_name_of_its_log(base: Path) -> None:
    """Once, with its own hint; errors of other kinds name their files themselves."""
    (log,), _ = find_logs([str(base / f"p=1/{name('f')}")])
    with pytest.raises(Unreadable) as caught, naming_log(log, Unreadable):
        raise Unreadable("block 3 is cut", hint="restore it")
    assert (caught.value.message, caught.value.hint) == (f"{log.uri}: block 3 is cut", "restore it")
    assert caught.value.fields == {"file": log.path}
    with pytest.raises(Unsupported, match=r"^unknown$"), naming_log(log, Unreadable):
        raise Unsupported("unknown")
