"""HFiles between hudictl and the real Hudi: each reads what the other wrote, and metadata tables live on."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hudictl.formats.hfile import entry_count, file_info, lookup, read_entries
from hudictl.formats.hfile_writer import encode_hfile
from hudictl.formats.log_blocks import ReadAt, encode_block, read_blocks
from tests import support
from tests.interop import product
from tests.interop.judge import Judge

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
Entries = list[tuple[bytes, bytes]]

LIBRARIES = [("v6", "hbase"), ("v8", "hbase"), ("v8", "hudi"), ("v9", "hudi")]
ONE, MANY = [(b"key", b"value")], [(b"key-%06d" % number, b"v%d" % number * (number % 40)) for number in range(200)]
WIDE = [(b"%d" % number + b"k" * 300, b"") for number in range(10, 40)]
TAILED = [(b"a", random.Random(6).randbytes(300_000)), (b"b", b"")]
# Levels of the index; at last a block of many checksums, if it has any, with a last entry that is shorter than they.
SHAPES = {
    "one": (ONE, 1 << 20, 1 << 17),
    "blocks": (MANY, 2000, 1 << 17),
    "levels": (MANY, 300, 200),
    "long keys": (WIDE, 1000, 2000),
    "tail": (TAILED, 1 << 20, 1 << 17),
}


def reader(body: bytes) -> ReadAt:
    return lambda offset, length: body[offset : offset + length]


def texts(entries: Entries) -> list[list[str]]:
    return [[key.hex(), value.hex()] for key, value in entries]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("codec", ["GZ", "NONE"])
@pytest.mark.parametrize(("version", "library"), LIBRARIES)
def test_hudi_reads_what_hudictl_writes(
    judge: Judges, tmp_path: Path, version: str, library: str, codec: str, shape: str
) -> None:
    """All entries in order, and by seeks; keys that are not there are not found."""
    entries, block_bytes, index_bytes = SHAPES[shape]
    file = tmp_path / "written.hfile"
    file.write_bytes(encode_hfile(entries, compression=codec, block_bytes=block_bytes, index_bytes=index_bytes))
    wanted = entries[:: max(1, len(entries) // 50)]
    keys = sorted({key for key, _ in wanted} | {key + b"0" for key, _ in wanted})
    found = judge(version).read_hfile(file, library, [key.hex() for key in keys])
    assert found == {"entries": texts(entries), "found": texts(wanted)}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("codec", ["GZ", "NONE"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_hudictl_reads_what_hudi_writes(judge: Judges, tmp_path: Path, version: str, codec: str, shape: str) -> None:
    entries, block_bytes, index_bytes = SHAPES[shape]
    file = tmp_path / "written.hfile"
    judge(version).write_hfile(file, texts(entries), codec, block_bytes, index_bytes)
    body = file.read_bytes()
    read_at = reader(body)
    assert list(read_entries(read_at, len(body))) == entries
    assert entry_count(read_at, len(body)) == len(entries)
    assert lookup(read_at, len(body), [key for key, _ in entries[::7]]) == dict(entries[::7])
    assert file_info(read_at, len(body))[b"info"] == b"fact"


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_hudi_loses_the_end_of_a_block_with_many_checksums(judge: Judges, tmp_path: Path, version: str) -> None:
    """Why hudictl writes one checksum a block: Hudi's own reader misses a last entry that is shorter than they are."""
    entries, block_bytes, index_bytes = SHAPES["tail"]
    file = tmp_path / "written.hfile"
    judge(version).write_hfile(file, texts(entries), "GZ", block_bytes, index_bytes)
    assert judge(version).read_hfile(file, "hudi", [])["entries"] == texts(entries[:1])


@pytest.mark.full
@pytest.mark.short("v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_metadata_table_of_hudictls_hfiles(judge: Judges, tmp_path: Path, version: str) -> None:
    """Every base file and every HFile block of a metadata table with logs, compactions and a record index is written
    again, in small blocks: Hudi reads the same rows and files through it, and writes on."""
    hudi = judge(version)
    base = support.unpack(version, "cow_record_index", tmp_path)
    rows, files = hudi.both_rows(base), hudi.files(base, metadata=True)
    rewritten = [path for path in metadata_files(base) if rewrite(path)]
    assert any(path.suffix == ".hfile" for path in rewritten)
    assert any(".log." in path.name for path in rewritten)
    assert (hudi.both_rows(base), hudi.files(base, metadata=True)) == (rows, files)
    product.upsert(hudi, base)


def metadata_files(base: Path) -> Iterator[Path]:
    """The files of the metadata table; without their checksums, which would not fit any more."""
    for path in (base / ".hoodie" / "metadata").glob("[!.]*/*"):
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        if path.is_file() and not path.name.endswith(".crc"):
            yield path


def rewrite(path: Path) -> bool:
    """Whether there was an HFile in it."""
    body = path.read_bytes()
    if path.suffix == ".hfile":
        path.write_bytes(again(body))
        return True
    blocks = list(read_blocks(reader(body), len(body)))
    contents = [body[block.content_offset : block.content_offset + block.content_length] for block in blocks]
    kinds = [block.block_type for block in blocks]
    path.write_bytes(
        b"".join(
            encode_block(block.block_type, block.header, again(content) if kind == "HFILE_DATA_BLOCK" else content)
            for block, kind, content in zip(blocks, kinds, contents, strict=True)
        )
    )
    return "HFILE_DATA_BLOCK" in kinds


def again(body: bytes) -> bytes:
    info = file_info(reader(body), len(body))
    return encode_hfile(read_entries(reader(body), len(body)), info=info, block_bytes=400, index_bytes=200)
