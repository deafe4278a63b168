"""HFiles of version 3, as Hudi writes them: base files of the metadata table and HFile blocks of logs.

Read over byte ranges that count from the HFile's own start, a block at a time. Checked on the files of Hudi 0.15.0 and
1.0.2, which write with HBase's library, and of 1.2.0, which writes with its own.
"""

import struct
import zlib
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats.ranges import ReadAt

VERSION = 3
DATA, FILE_INFO = b"DATABLK*", b"FILEINF2"
ROOT_INDEX, INTERMEDIATE_INDEX, LEAF_INDEX = b"IDXROOT2", b"IDXINTE2", b"IDXLEAF2"
INFO_MAGIC = b"PBUF"
TRAILER_MAGIC = b'TRABLK"$'
TRAILER_BYTES = 4096
CODECS = ("LZO", "GZ", "NONE", "SNAPPY", "LZ4", "BZIP2", "ZSTD")
HEADER = struct.Struct(">8siiqBii")
"""Magic, bytes on disk behind the header, the same unpacked, the previous block of the kind, checksum's type, bytes a
checksum is of, bytes on disk with the header and without the checksums."""
ENTRY = struct.Struct(">iiH")
"""Bytes of the key, bytes of the value, bytes of the row within the key."""
INDEX_ENTRY = struct.Struct(">qi")
"""Offset and bytes on disk of a block; its first key follows."""
KEY_TAIL = b"\x00\x7f\xff\xff\xff\xff\xff\xff\xff\x04"
"""What HBase has behind the row in each of Hudi's keys: no family, the latest timestamp, and "put"."""
CHECKSUM_NONE, CHECKSUM_CRC32, CHECKSUM_CRC32C = range(3)

# Blocks of Hudi's unpack to a MiB, or to one record; gzip can make a thousand times its size.
_MAX_BLOCK_BYTES = 256 * 1024 * 1024
# Three are a table of petabytes already, but for an index that is cut small on purpose.
_MAX_INDEX_LEVELS = 16
_FIRST_READ = 16 * 1024


class Trailer(NamedTuple):
    """What an HFile ends with. Offsets are bytes from the HFile's start; ``codec`` is a name out of CODECS."""

    codec: str
    info_offset: int
    index_offset: int
    data_index_count: int
    entry_count: int
    index_levels: int


class _File(NamedTuple):
    read_at: ReadAt
    end: int
    """Where the trailer begins."""
    trailer: Trailer


class Pointer(NamedTuple):
    """An index entry: a block, and a key that is no greater than the first one in it."""

    key: bytes
    offset: int
    length: int


Part = tuple[Pointer, ...]
"""Data blocks that follow one another."""
Only = Part | frozenset[bytes]
"""What is read of an HFile: a part, or the records of some keys."""


def read_entries(read_at: ReadAt, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Row keys and values in key order; holds one data block, and one block of each level of the index.

    Raises:
        Unreadable: damaged, or not as Hudi writes it; what was yielded before is right.
        Unsupported: another version of HFiles, another codec than GZ and NONE, or encrypted.
    """
    file = _open(read_at, size)
    count = 0
    for entry in _entries(file, None):
        count += 1
        yield entry
    if count != file.trailer.entry_count:
        raise _damaged(file.end, f"the trailer counts {file.trailer.entry_count} entries, but the file has {count}")
    _check_opened(file)


def cut(read_at: ReadAt, size: int, most_bytes: int) -> tuple[list[Part], int]:
    """All data blocks, in parts of at most so many bytes on disk, or of one block; and the number of entries, by the
    trailer. Raises as ``read_entries``."""
    file = _open(read_at, size)
    found: list[list[Pointer]] = []
    room = 0
    for pointer in _blocks(file, None):
        if not found or pointer.length > room:
            found.append([])
            room = most_bytes
        found[-1].append(pointer)
        room -= pointer.length
    return [tuple(pointers) for pointers in found], file.trailer.entry_count


def read_part(read_at: ReadAt, size: int, blocks: Part) -> Iterator[tuple[bytes, bytes]]:
    """The row keys and values of a part; that all parts together are whole, only the count shows. Raises as
    ``read_entries``."""
    yield from _entries_in(_open(read_at, size), blocks)


def lookup(read_at: ReadAt, size: int, keys: Collection[bytes]) -> dict[bytes, bytes]:
    """The values of those keys that are there; reads only the blocks that can hold them. Raises as ``read_entries``."""
    wanted = set(keys)
    return {key: value for key, value in _entries(_open(read_at, size), sorted(wanted)) if key in wanted}


def entry_count(read_at: ReadAt, size: int) -> int:
    """How many entries there are, by the trailer alone: one read. Raises as ``read_entries``."""
    return _open(read_at, size).trailer.entry_count


def file_info(read_at: ReadAt, size: int) -> dict[bytes, bytes]:
    """The file's own facts: ``schema``, ``minRecordKey`` and more. Raises as ``read_entries``."""
    file = _open(read_at, size)
    offset = file.trailer.info_offset
    content = _block(file, offset, FILE_INFO)
    if not content.startswith(INFO_MAGIC):
        raise _damaged(offset, "the file info does not begin with PBUF")
    length, start = _varint(content, len(INFO_MAGIC), offset)
    pairs = [dict(_fields(pair, offset)) for pair in _messages(content[start : start + length], offset)]
    return {_bytes(pair, 1, offset): _bytes(pair, 2, offset) for pair in pairs}


def _open(read_at: ReadAt, size: int) -> _File:
    start = size - TRAILER_BYTES
    body = read_at(start, TRAILER_BYTES) if start >= 0 else b""
    if len(body) != TRAILER_BYTES or not body.startswith(TRAILER_MAGIC):
        raise _damaged(max(0, start), "there is no HFile trailer")
    version = int.from_bytes(body[-3:], "big")
    if version != VERSION:
        raise Unsupported(f"HFile version {version} is not known: Hudi writes version {VERSION}")
    length, position = _varint(body, len(TRAILER_MAGIC), start)
    fields = dict(_fields(body[position : position + length], start))
    if fields.get(13):
        raise Unsupported("the HFile is encrypted")
    number = _number(fields, 12, start)
    codec = CODECS[number] if number < len(CODECS) else f"number {number}"
    if codec not in ("GZ", "NONE"):
        raise Unsupported(f"the HFile is compressed with {codec}; hudictl reads GZ and NONE")
    numbers = [_number(fields, field, start) for field in (1, 2, 5, 7, 8)]
    trailer = Trailer(codec, *numbers)
    if not 1 <= trailer.index_levels <= _MAX_INDEX_LEVELS:
        raise _damaged(start, f"it cannot have {trailer.index_levels} index levels")
    return _File(read_at, start, trailer)


def _check_opened(file: _File) -> None:
    """The blocks from the root index to the trailer, with the file info: Hudi reads all of them to open the file."""
    offset = file.trailer.index_offset
    while offset < file.end:
        _, length = _read_head(file, offset, b"")
        _block(file, offset, b"", length)
        offset += length


def _entries(file: _File, wanted: Sequence[bytes] | None) -> Iterator[tuple[bytes, bytes]]:
    """The entries of all blocks, or of those that can hold the wanted keys (sorted)."""
    yield from _entries_in(file, _blocks(file, wanted))


def _blocks(file: _File, wanted: Sequence[bytes] | None) -> Iterator[Pointer]:
    """All data blocks, or those that can hold the wanted keys (sorted)."""
    trailer = file.trailer
    named = _root_index(file, trailer.index_offset, trailer.data_index_count)
    root = [pointer._replace(key=_row(pointer.key, trailer.index_offset)) for pointer in named]
    last_offset = -1
    for pointer in _data_blocks(file, root, 1, wanted):
        if pointer.offset <= last_offset:  # so a block is read once, whatever the index says
            raise _damaged(pointer.offset, "the index is not in ascending order")
        last_offset = pointer.offset
        yield pointer


def _entries_in(file: _File, blocks: Iterable[Pointer]) -> Iterator[tuple[bytes, bytes]]:
    last_key: bytes | None = None
    for pointer in blocks:
        for key, value in _block_entries(_block(file, pointer.offset, DATA, pointer.length), pointer.offset):
            if last_key is not None and key <= last_key:
                raise _damaged(pointer.offset, "the keys are not in ascending order")
            last_key = key
            yield key, value


def _data_blocks(
    file: _File, index: Sequence[Pointer], level: int, wanted: Sequence[bytes] | None
) -> Iterator[Pointer]:
    for number, pointer in enumerate(index):
        within = wanted
        if wanted is not None:
            end = bisect_left(wanted, index[number + 1].key) if number + 1 < len(index) else len(wanted)
            within = wanted[bisect_left(wanted, pointer.key) : end]
            if not within:
                continue
        if level == file.trailer.index_levels:
            yield pointer
        else:
            yield from _data_blocks(file, _index_below(file, pointer, level + 1), level + 1, within)


def _root_index(file: _File, offset: int, count: int) -> list[Pointer]:
    content = _block(file, offset, ROOT_INDEX)
    if count > file.end // HEADER.size:
        raise _damaged(offset, f"an index of {count} blocks does not fit in the file")
    pointers = []
    position = 0
    for _ in range(count):
        block, length = _unpack(INDEX_ENTRY, content, position, offset)
        position += INDEX_ENTRY.size
        key_length, position = _hadoop_varint(content, position, offset)
        pointers.append(Pointer(content[position : position + key_length], block, length))
        position += key_length
        if position > len(content):
            raise _damaged(offset, "the index is cut off within an entry")
    return pointers


def _index_below(file: _File, parent: Pointer, level: int) -> list[Pointer]:
    """A leaf or intermediate block: how many entries, where each begins and the last one ends, the entries."""
    offset = parent.offset
    magic = LEAF_INDEX if level == file.trailer.index_levels else INTERMEDIATE_INDEX
    content = _block(file, offset, magic, parent.length)
    count = int.from_bytes(content[:4], "big")
    start = 4 * (count + 2)
    # One without entries could be read for ever at no cost.
    if not 1 <= count <= file.end // HEADER.size or start > len(content):
        raise _damaged(offset, f"an index block cannot have {count} entries")
    bounds = struct.unpack_from(f">{count + 1}i", content, 4)
    pointers = []
    for begin, end in pairwise(bounds):
        if begin < 0:
            raise _damaged(offset, "an index entry begins before its block")
        block, length = _unpack(INDEX_ENTRY, content, start + begin, offset)
        key = content[start + begin + INDEX_ENTRY.size : start + end]
        pointers.append(Pointer(_row(key, offset), block, length))
    return pointers


def _row(key: bytes, offset: int) -> bytes:
    """The row of an index key; HBase's library has the keys' tail there, too, Hudi's own writer has not."""
    length = int.from_bytes(key[:2], "big")
    if len(key) < 2 + length:
        raise _damaged(offset, "an index key is shorter than its row")
    return key[2 : 2 + length]


def _block_entries(content: bytes, offset: int) -> Iterator[tuple[bytes, bytes]]:
    position, size, head, tail = 0, len(content), ENTRY.size, len(KEY_TAIL)
    while position < size:
        key_length, value_length, row_length = _unpack(ENTRY, content, position, offset)
        row = position + head
        value = row + row_length + tail
        position = value + value_length + 1
        if value_length < 0 or key_length != 2 + row_length + tail or position > size:
            raise _damaged(offset, "an entry does not fit in its block")
        # Behind the value stands HBase's version of it, which Hudi has always 0.
        if content[value - tail : value] != KEY_TAIL or content[position - 1]:
            raise _damaged(offset, "an entry is not in Hudi's format")
        yield content[row : value - tail], content[value : position - 1]


def _block(file: _File, offset: int, magic: bytes, expected: int = _FIRST_READ) -> bytes:
    """The unpacked content of a block, verified; one read, if it has no more bytes than expected."""
    body, length = _read_head(file, offset, magic, expected)
    body = body[:length] + file.read_at(offset + len(body), max(0, length - len(body)))
    if len(body) != length:
        raise _damaged(offset, "a block is cut off")
    _, _, unpacked, _, checksum, chunk, data_end = HEADER.unpack_from(body)
    if not HEADER.size <= data_end <= length:
        raise _damaged(offset, f"a block of {length} bytes cannot have {data_end} bytes of data")
    # gzip has a checksum of its own, and CRC-32C takes Python longer than all the rest.
    covered = checksum == CHECKSUM_NONE or (checksum == CHECKSUM_CRC32C and file.trailer.codec == "GZ")
    if not covered and checksums(checksum, chunk, body[:data_end], offset) != body[data_end:]:
        raise _damaged(offset, "a checksum does not match")
    if not 0 <= unpacked <= _MAX_BLOCK_BYTES:
        raise _damaged(offset, f"a block has {unpacked} bytes unpacked; hudictl reads at most {_MAX_BLOCK_BYTES}")
    content = body[HEADER.size : data_end]
    if file.trailer.codec == "GZ":
        content = _gunzip(content, unpacked, offset)
    if len(content) != unpacked:
        raise _damaged(offset, f"a block has {len(content)} bytes unpacked, but its header says {unpacked}")
    return content


def _read_head(file: _File, offset: int, magic: bytes, length: int = 0) -> tuple[bytes, int]:
    """Reads a block's header and on to ``length``: (what was read, how many bytes the block takes on disk)."""
    room = file.end - offset
    body = file.read_at(offset, min(room, max(length, HEADER.size))) if 0 <= offset < file.end else b""
    if not body.startswith(magic) or len(body) < HEADER.size:
        raise _damaged(offset, f"there is no block {magic.decode()}")
    taken = HEADER.size + int(HEADER.unpack_from(body)[1])
    if not HEADER.size <= taken <= room:
        raise _damaged(offset, f"a block of {taken} bytes does not fit in the file")
    return body, taken


def _gunzip(content: bytes, unpacked: int, offset: int) -> bytes:
    """Never more than the header says: zlib stops there."""
    stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        out = stream.decompress(content, unpacked + 1)
    except zlib.error as error:
        raise _damaged(offset, f"a block is not in gzip format: {error}") from error
    if not stream.eof:
        raise _damaged(offset, f"a gzip stream is cut off, or longer than the {unpacked} bytes in its header")
    return out


def checksums(kind: int, chunk: int, body: bytes, offset: int) -> bytes:
    """The checksums of a block's header and data, one for each ``chunk`` bytes. Raises Unreadable: an unknown kind."""
    if kind not in (CHECKSUM_CRC32, CHECKSUM_CRC32C) or chunk <= 0:
        raise _damaged(offset, f"the checksums are of an unknown kind: type {kind} over {chunk} bytes")
    crc = zlib.crc32 if kind == CHECKSUM_CRC32 else _crc32c
    sums = [crc(body[start : start + chunk]) for start in range(0, len(body), chunk)]
    return struct.pack(f">{len(sums)}I", *sums)


def _crc32c(data: bytes) -> int:
    """CRC-32C, for the few HFiles that are not compressed: the standard library has none."""
    table = _crc32c_table()
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


@cache
def _crc32c_table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return tuple(table)


def _fields(message: bytes, offset: int) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protobuf message: numbers of kind 0, byte strings of kind 2; HFiles have no others."""
    position = 0
    while position < len(message):
        tag, position = _varint(message, position, offset)
        value, position = _varint(message, position, offset)
        if tag & 7 == 0:
            yield tag >> 3, value
        elif tag & 7 == 2 and position + value <= len(message):
            yield tag >> 3, message[position : position + value]
            position += value
        else:
            raise _damaged(offset, "this is not the protobuf message of an HFile")


def _messages(message: bytes, offset: int) -> Iterable[bytes]:
    return [value for _, value in _fields(message, offset) if isinstance(value, bytes)]


def _number(fields: dict[int, int | bytes], field: int, offset: int) -> int:
    value = fields.get(field, 0)
    if not isinstance(value, int):
        raise _damaged(offset, f"field {field} is not a number")
    return value


def _bytes(fields: dict[int, int | bytes], field: int, offset: int) -> bytes:
    value = fields.get(field, b"")
    if not isinstance(value, bytes):
        raise _damaged(offset, f"field {field} is not a byte string")
    return value


def _varint(body: bytes, position: int, offset: int) -> tuple[int, int]:
    """Protobuf's: (value, where it ends)."""
    value = 0
    for number, byte in enumerate(body[position : position + 10]):
        value |= (byte & 0x7F) << 7 * number
        if byte < 0x80:
            return value, position + number + 1
    raise _damaged(offset, "a number is too long, or cut off")


def _hadoop_varint(body: bytes, position: int, offset: int) -> tuple[int, int]:
    """Hadoop's, for what is not negative: (value, where it ends)."""
    first = int.from_bytes(body[position : position + 1], "big", signed=True)
    position += 1
    if first >= 0:
        return first, position
    if not -116 <= first <= -113:
        raise _damaged(offset, "an index key has no valid length")
    end = position - 112 - first
    return int.from_bytes(body[position:end], "big"), end


def _unpack(form: struct.Struct, body: bytes, position: int, offset: int) -> tuple[int, ...]:
    if position + form.size > len(body):
        raise _damaged(offset, "a block is cut off within an entry")
    return form.unpack_from(body, position)


def _damaged(offset: int, what: str) -> Unreadable:
    return Unreadable(f"HFile damaged at byte {offset}: {what}", offset=offset)
