"""HFiles: those of the real metadata tables, what is written read back, and every kind of damage."""

import io
import json
import re
import struct
import zlib
from collections.abc import Iterator

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats import hfile
from hudictl.formats.hfile import entry_count, file_info, lookup, read_entries
from hudictl.formats.hfile_writer import encode_hfile
from hudictl.formats.log_blocks import ReadAt, read_blocks
from tests.formats import real_files

Entries = list[tuple[bytes, bytes]]
KEYS = st.binary(max_size=40)
ROWS = st.dictionaries(KEYS, st.binary(max_size=200), max_size=40).map(lambda rows: sorted(rows.items()))
CODECS = ("GZ", "NONE")


def reader(body: bytes) -> ReadAt:
    return lambda offset, length: body[offset : offset + length]


def entries(body: bytes) -> Entries:
    return list(read_entries(reader(body), len(body)))


def real_hfiles() -> Iterator[tuple[str, bytes, str | None]]:
    """(label, bytes, the schema of its block's header) of each base file and log block of the metadata tables."""
    for label, body in real_files.matching(lambda path: path.endswith(".hfile") or ".log." in path):
        if label.endswith(".hfile"):
            yield label, body, None
            continue
        for block in read_blocks(reader(body), len(body)):
            if block.block_type == "HFILE_DATA_BLOCK":
                content = body[block.content_offset : block.content_offset + block.content_length]
                yield label, content, block.header["SCHEMA"]


@pytest.mark.slow
def test_every_hfile_of_the_real_tables() -> None:
    """Each value is one whole record of the schema, its key blank; the trailer's count is right."""
    schemas = {}
    seen = 0
    for label, body, header_schema in real_hfiles():
        read_at = reader(body)
        info = file_info(read_at, len(body))
        text = info[b"schema"].decode()
        assert header_schema is None or json.loads(header_schema) == json.loads(text), label
        schema = schemas.setdefault(text, fastavro.parse_schema(json.loads(text)))
        found = entries(body)
        for _, value in found:
            stream = io.BytesIO(value)
            assert fastavro.schemaless_reader(stream, schema)["key"] == "", label
            assert stream.tell() == len(value), label
        assert entry_count(read_at, len(body)) == len(found) > 0, label
        assert lookup(read_at, len(body), [key for key, _ in found[::2]]) == dict(found[::2]), label
        if header_schema is None:
            assert (info[b"minRecordKey"], info[b"maxRecordKey"]) == (found[0][0], found[-1][0]), label
        seen += 1
    assert seen > 800


@pytest.mark.slow
def test_a_real_hfile_written_again_says_the_same() -> None:
    """Entries and file info, in one block as in the original."""
    for label, body, _ in real_hfiles():
        if "cow_cleaned" not in label:
            continue
        info = file_info(reader(body), len(body))
        again = encode_hfile(entries(body), info=info)
        assert entries(again) == entries(body)
        assert file_info(reader(again), len(again)) == info


@pytest.mark.slow
@given(ROWS, st.sampled_from(CODECS), st.integers(1, 2000), st.integers(1, 400))
def test_round_trip(rows: Entries, codec: str, block_bytes: int, index_bytes: int) -> None:
    """Whatever the borders of blocks and index: all entries, and each by its key."""
    body = encode_hfile(rows, compression=codec, block_bytes=block_bytes, index_bytes=index_bytes)
    assert entries(body) == rows
    assert entry_count(reader(body), len(body)) == len(rows)
    wanted = [key for key, _ in rows[::3]]
    assert lookup(reader(body), len(body), [*wanted, b"\xff" * 41]) == dict(rows[::3])


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("delta", [-1, 0, 1])
def test_a_block_is_closed_at_its_size(codec: str, delta: int) -> None:
    """Two entries of 100 bytes are one block of 200, and two of 199."""
    rows = [(key, b"v" * (100 - 8 - 2 - 1 - 10 - 1)) for key in (b"a", b"b")]
    body = encode_hfile(rows, compression=codec, block_bytes=200 + delta)
    assert body.count(hfile.DATA) == (2 if delta < 0 else 1)
    assert entries(body) == rows


@pytest.mark.parametrize("length", [0, 1, 111, 112, 127, 128, 255, 256, 32_767])
def test_keys_of_all_lengths(length: int) -> None:
    """The index has their lengths as Hadoop writes numbers: up to 127 in one byte."""
    rows = [(b"k" * length, b"value")]
    assert entries(encode_hfile(rows)) == rows


@pytest.mark.parametrize(
    "rows",
    [[(b"b", b""), (b"a", b"")], [(b"a", b""), (b"a", b"")], [(b"k" * 32_768, b"")]],
    ids=["order", "twice", "long"],
)
def test_keys_that_no_hfile_has(rows: Entries) -> None:
    with pytest.raises(ValueError, match="key"):
        encode_hfile(rows)


def test_a_key_that_stands_twice_is_damage() -> None:
    """One of the two values would be shown."""
    body = bytearray(encode_hfile([(b"key-1", b"old"), (b"key-2", b"new")], compression="NONE"))
    body[24] = hfile.CHECKSUM_NONE
    assert len(entries(bytes(body))) == 2
    with pytest.raises(Unreadable, match="not in ascending order"):
        entries(bytes(body).replace(b"key-2", b"key-1"))


def test_a_key_of_another_kind_than_a_put_is_not_read_as_one() -> None:
    """HBase's library could mark a key as deleted; Hudi never does."""
    body = bytearray(encode_hfile([(b"key-1", b"value")], compression="NONE"))
    body[24] = hfile.CHECKSUM_NONE
    tail = body.index(hfile.KEY_TAIL) + len(hfile.KEY_TAIL) - 1
    body[tail] = 8
    with pytest.raises(Unreadable, match="not in Hudi's format"):
        entries(bytes(body))


def test_info_by_name() -> None:
    body = encode_hfile([(b"k", b"v")], info={b"schema": b'"string"'})
    assert file_info(reader(body), len(body))[b"schema"] == b'"string"'


def test_what_is_not_asked_for_is_not_read() -> None:
    """The count is one read of the trailer; a lookup reads one data block of many; all of it, each block once."""
    rows = [(b"%06d" % number, bytes(1000)) for number in range(1000)]
    body = encode_hfile(rows, compression="NONE", block_bytes=10_000, index_bytes=1000)
    reads: list[tuple[int, int]] = []

    def read_at(offset: int, length: int) -> bytes:
        reads.append((offset, length))
        return body[offset : offset + length]

    assert entry_count(read_at, len(body)) == 1000
    assert reads == [(len(body) - 4096, 4096)]
    reads.clear()
    assert lookup(read_at, len(body), [b"000500", b"0005001"]) == {b"000500": bytes(1000)}
    assert sum(length for _, length in reads) < 60_000
    reads.clear()
    read = read_entries(read_at, len(body))
    assert [next(read) for _ in range(9)] == rows[:9]
    assert sum(length for _, length in reads) < 60_000, "bounded memory"
    assert list(read) == rows[9:]
    assert sum(length for _, length in reads) < len(body) * 1.1


# Damage


def outcome(body: bytes) -> Entries | None:
    """What is read; None where it is refused. Any other exception fails the test."""
    try:
        file_info(reader(body), len(body))
        return entries(body)
    except (Unreadable, Unsupported):
        return None


def small(codec: str) -> tuple[bytes, Entries]:
    """A file of three blocks, two levels of index and a meta block."""
    rows = [(b"key-%d" % number, b"value" * number) for number in range(6)]
    return encode_hfile(rows, compression=codec, block_bytes=80, index_bytes=90), rows


@pytest.mark.parametrize("codec", CODECS)
def test_cut_at_every_byte(codec: str) -> None:
    body, _ = small(codec)
    assert all(outcome(body[:cut]) is None for cut in range(len(body)))
    assert all(outcome(body[cut:]) is None for cut in range(1, len(body)))


@pytest.mark.parametrize("codec", CODECS)
def test_a_flipped_bit_anywhere(codec: str) -> None:
    """Refused, or without effect (behind the trailer's message, say): never other entries than were written."""
    body, rows = small(codec)
    used = body.index(hfile.TRAILER_MAGIC) + 150
    for position in (*range(used), *range(len(body) - 8, len(body))):
        damaged = bytearray(body)
        damaged[position] ^= 1 << position % 8
        assert outcome(bytes(damaged)) in (None, rows), position


@pytest.mark.parametrize("block", [1, 2])
def test_what_hudi_reads_to_open_a_file_is_read_too(block: int) -> None:
    """The index of meta blocks and the file info, behind the root index: nothing of the records depends on them."""
    body, _ = small("GZ")
    starts = [found.start() for found in re.finditer(rb"IDXROOT2|FILEINF2", body)]
    damaged = bytearray(body)
    damaged[starts[block] + hfile.HEADER.size + 12] ^= 0x55
    with pytest.raises(Unreadable, match=f"damaged at byte {starts[block]}: a checksum does not match"):
        entries(bytes(damaged))


def test_crc32c() -> None:
    """Its published check value, and a block that has such sums and no gzip, as HBase's library writes it."""
    assert hfile.checksums(hfile.CHECKSUM_CRC32C, 16, b"123456789", 0) == bytes.fromhex("e3069283")
    body = bytearray(encode_hfile([(b"key", b"value")], compression="NONE"))
    body[24] = hfile.CHECKSUM_CRC32C
    end = struct.unpack_from(">i", body, 29)[0]
    body[end : end + 4] = hfile.checksums(hfile.CHECKSUM_CRC32C, 2**30, bytes(body[:end]), 0)
    assert entries(bytes(body)) == [(b"key", b"value")]
    with pytest.raises(Unreadable, match="checksum"):
        entries(bytes(body).replace(b"value", b"valuf"))


@pytest.mark.slow
def test_a_flipped_bit_in_the_files_of_each_release() -> None:
    """Checksums of type CRC-32C (HBase's) and none at all (Hudi 1.2.0's)."""
    for version in ("v6", "v9"):
        body = min((body for label, body, _ in real_hfiles() if label.startswith(version)), key=len)
        expected = entries(body)
        for position in range(len(body) - 4096 + 100):
            damaged = bytearray(body)
            damaged[position] ^= 1
            assert outcome(bytes(damaged)) in (None, expected), position


@pytest.mark.slow
@given(ROWS, st.data())
def test_other_bytes_anywhere(rows: Entries, data: st.DataObject) -> None:
    body = encode_hfile(rows, compression=data.draw(st.sampled_from(CODECS)))
    at = data.draw(st.integers(0, len(body)))
    outcome(body[:at] + data.draw(st.binary(max_size=30)) + body[at + data.draw(st.integers(0, 30)) :])


def rebuilt(body: bytes, position: int, form: str, value: int) -> bytes:
    """With another number in the first data block's header, and a checksum of it."""
    damaged = bytearray(body)
    struct.pack_into(form, damaged, position, value)
    end = struct.unpack_from(">i", body, 29)[0]
    struct.pack_into(">I", damaged, end, zlib.crc32(damaged[:end]))
    return bytes(damaged)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("value", [-(2**31), -1, 0, 2**20, 2**31 - 1])
@pytest.mark.parametrize("position", [8, 12, 25, 29], ids=["on disk", "unpacked", "checksum", "data"])
def test_absurd_sizes_in_a_header(codec: str, position: int, value: int) -> None:
    """Also where the checksum fits them."""
    body, rows = small(codec)
    assert outcome(rebuilt(body, position, ">i", value)) in (None, rows if position == 25 and value > 0 else None)


def test_a_gzip_bomb_is_not_unpacked() -> None:
    """A block whose header says little unpacks no further than that; one that says too much, not at all."""
    body = encode_hfile([(b"k", bytes(20_000_000))])
    assert len(body) < 40_000
    for claimed in (1000, 2**31 - 1):
        with pytest.raises(Unreadable, match=r"gzip stream|unpacked"):
            entries(rebuilt(body, 12, ">i", claimed))


def test_an_index_of_more_blocks_than_the_file_can_have() -> None:
    """Nothing is kept of it: gzip would make millions of entries small."""
    body = encode_hfile([(b"k", b"v")], compression="NONE")
    assert (len(body) - 4096) // hfile.HEADER.size < 127
    with pytest.raises(Unreadable, match="an index of 127 blocks"):
        entries(trailer_with(body, 5, 1, 127))


def trailer_with(body: bytes, field: int, old: int, new: int) -> bytes:
    """With another number below 128 in a field of the trailer."""
    start = len(body) - 4096
    at = body.index(bytes([field << 3, old]), start + 9)
    return body[: at + 1] + bytes([new]) + body[at + 2 :]


@pytest.mark.parametrize(("codec", "name"), [(0, "LZO"), (3, "SNAPPY"), (6, "ZSTD"), (9, "number 9")])
def test_other_codecs_are_refused_by_name(codec: int, name: str) -> None:
    body = encode_hfile([(b"k", b"v")])
    with pytest.raises(Unsupported, match=name):
        entries(trailer_with(body, 12, 1, codec))


def test_other_versions_are_refused() -> None:
    body = encode_hfile([(b"k", b"v")])
    with pytest.raises(Unsupported, match="version 2"):
        entry_count(reader(body[:-1] + b"\x02"), len(body))


def test_an_encrypted_file_is_refused_as_such() -> None:
    """It is no damage: the key is somewhere."""
    body = encode_hfile([(b"k", b"v")])
    start = len(body) - 4096 + len(hfile.TRAILER_MAGIC)
    end = start + 1 + body[start]
    key = bytes([13 << 3 | 2, 1, 7])
    with pytest.raises(Unsupported, match="encrypted"):
        entries(body[:start] + bytes([body[start] + len(key)]) + body[start + 1 : end] + key + body[end + len(key) :])


@pytest.mark.parametrize("field", [5, 7, 8], ids=["root entries", "entries", "levels"])
def test_a_trailer_that_counts_wrongly(field: int) -> None:
    body = encode_hfile([(b"k", b"v")])
    for number in (0, 2, 100):
        with pytest.raises(Unreadable):
            entries(trailer_with(body, field, 1, number))


def test_an_index_that_leads_in_a_circle_ends() -> None:
    """The root points to itself, on all levels."""
    rows = [(b"%d" % number, b"") for number in range(4)]
    body = bytearray(encode_hfile(rows, compression="NONE", block_bytes=1, index_bytes=1))
    leaf = body.index(hfile.LEAF_INDEX)
    pointers = body.index(b"0" + hfile.KEY_TAIL, leaf) - 2 - 12
    struct.pack_into(">q", body, pointers, leaf)
    end = leaf + struct.unpack_from(">i", body, leaf + 29)[0]
    struct.pack_into(">I", body, end, zlib.crc32(body[leaf:end]))
    with pytest.raises(Unreadable, match="no block DATABLK"):
        entries(bytes(body))


def test_a_block_that_the_index_names_twice_is_damage() -> None:
    """One without entries says nothing else of it, and levels of index could name it billions of times."""
    body = bytearray(encode_hfile([(b"a", b""), (b"b", b"")], compression="NONE", block_bytes=1))
    head, index = hfile.HEADER, body.index(hfile.ROOT_INDEX)
    head.pack_into(body, 0, hfile.DATA, 0, 0, -1, hfile.CHECKSUM_NONE, 0, head.size)
    first, _ = hfile.INDEX_ENTRY.unpack_from(body, index + head.size)
    second = body.index(b"b" + hfile.KEY_TAIL, index) - 2 - 1 - hfile.INDEX_ENTRY.size
    struct.pack_into(">q", body, second, first)
    end = index + struct.unpack_from(">i", body, index + 29)[0]
    struct.pack_into(">I", body, end, zlib.crc32(body[index:end]))
    with pytest.raises(Unreadable, match="the index is not in ascending order"):
        entries(trailer_with(bytes(body), 7, 2, 0))
