"""Writing HFiles of version 3, so that HBase's reader (Hudi 0.15.0) and Hudi's own (1.0.2, 1.2.0) read them."""

import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise

from hudictl.errors import Unsupported
from hudictl.formats import hfile as fmt

_Part = tuple[bytes, bytes]
"""A key, and the encoded entry that it is the key of."""

_COMPARATOR = b"org.apache.hudi.io.storage.HoodieHBaseKVComparator"
# One checksum a block: Hudi 1.0.2 and 1.2.0 take four bytes for each from where the entries of a block end.
_CHECKSUM_CHUNK = 2**30
_CHECKSUM_BYTES = 4
_MAX_ROW_BYTES = 2**15 - 1
# HBase's minor version at the time of Hudi 0.15.0.
_MINOR_VERSION = 3


def encode_hfile(
    entries: Iterable[tuple[bytes, bytes]],
    *,
    info: Mapping[bytes, bytes] | None = None,
    compression: str = "GZ",
    block_bytes: int = 1024 * 1024,
    index_bytes: int = 128 * 1024,
) -> bytes:
    """An HFile of row keys and values.

    Args:
        entries: in ascending order of the keys, none twice.
        info: what Hudi keeps in the file info: ``schema``; in base files ``minRecordKey`` and ``maxRecordKey``, too.
        compression: GZ or NONE.
        block_bytes: a data block has no more bytes, unpacked, unless it is of one entry.
        index_bytes: an index of more bytes gets another level.

    Raises:
        ValueError: keys that do not ascend, or have more than 32,767 bytes.
        Unsupported: another compression.
    """
    if compression not in ("GZ", "NONE"):
        raise Unsupported(f"HFiles are written with GZ or NONE, not with {compression}")
    rows = list(entries)
    _check([row for row, _ in rows])
    body = bytearray()

    def add(magic: bytes, content: bytes, key: bytes = b"") -> fmt.Pointer:
        block = _block(magic, content, compression)
        body.extend(block)
        return fmt.Pointer(key, len(body) - len(block), len(block))

    data = [
        add(fmt.DATA, b"".join(entry for _, entry in chunk), chunk[0][0])
        for chunk in _chunks([(_key(row), _entry(row, value)) for row, value in rows], block_bytes)
    ]
    root, levels = data, 1
    while sum(len(_pointer_bytes(pointer)) for pointer in root) > index_bytes and len(root) > 2:
        magic = fmt.LEAF_INDEX if levels == 1 else fmt.INTERMEDIATE_INDEX
        entries_of = [(pointer.key, _pointer_bytes(pointer)) for pointer in root]
        root = [add(magic, _lower_index(chunk), chunk[0][0]) for chunk in _chunks(entries_of, index_bytes, least=2)]
        levels += 1
    index = add(fmt.ROOT_INDEX, _root_index(root))
    # Named blocks, as the bloom filter of a base file: there are none.
    add(fmt.ROOT_INDEX, b"")
    facts = add(fmt.FILE_INFO, _file_info(_facts(rows) | dict(info or {})))
    first, last = (data[0].offset, data[-1].offset) if data else (0, 0)
    numbers = {
        1: facts.offset, 2: index.offset, 5: len(root), 6: 0, 7: len(rows), 8: levels, 9: first, 10: last,
        12: fmt.CODECS.index(compression),
    }  # fmt: skip
    return bytes(body) + _trailer(numbers)


def _check(rows: Sequence[bytes]) -> None:
    for row, following in pairwise(rows):
        if row >= following:
            raise ValueError(f"the keys of an HFile ascend: {following!r} comes behind {row!r}")
    longest = max(map(len, rows), default=0)
    if longest > _MAX_ROW_BYTES:
        raise ValueError(f"a key of {longest} bytes; an HFile's have at most {_MAX_ROW_BYTES}")


def _key(row: bytes) -> bytes:
    return struct.pack(">H", len(row)) + row + fmt.KEY_TAIL


def _entry(row: bytes, value: bytes) -> bytes:
    """Behind the value stands HBase's version of it, 0 as in all of Hudi's."""
    key = _key(row)
    return struct.pack(">ii", len(key), len(value)) + key + value + b"\0"


def _chunks(parts: Iterable[_Part], limit: int, least: int = 1) -> Iterator[list[_Part]]:
    """Parts in chunks of so many bytes at most, or of the least number of parts."""
    chunk: list[_Part] = []
    size = 0
    for part in parts:
        if len(chunk) >= least and size + len(part[1]) > limit:
            yield chunk
            chunk, size = [], 0
        chunk.append(part)
        size += len(part[1])
    if chunk:
        yield chunk


def _block(magic: bytes, content: bytes, compression: str) -> bytes:
    """A block with its header and its checksum; like Hudi 1.2.0 it does not say where the one before is."""
    packed = content
    if compression == "GZ":
        stream = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
        packed = stream.compress(content) + stream.flush()
    end = fmt.HEADER.size + len(packed)
    sizes = (len(packed) + _CHECKSUM_BYTES, len(content), -1)
    block = fmt.HEADER.pack(magic, *sizes, fmt.CHECKSUM_CRC32, _CHECKSUM_CHUNK, end) + packed
    return block + struct.pack(">I", zlib.crc32(block))


def _pointer_bytes(pointer: fmt.Pointer) -> bytes:
    return fmt.INDEX_ENTRY.pack(pointer.offset, pointer.length) + pointer.key


def _lower_index(chunk: Sequence[_Part]) -> bytes:
    """How many entries, where each begins and the last one ends, the entries."""
    ends = list(accumulate((len(entry) for _, entry in chunk), initial=0))
    return struct.pack(f">{len(ends) + 1}i", len(chunk), *ends) + b"".join(entry for _, entry in chunk)


def _root_index(pointers: Iterable[fmt.Pointer]) -> bytes:
    return b"".join(
        fmt.INDEX_ENTRY.pack(pointer.offset, pointer.length) + _hadoop_varint(len(pointer.key)) + pointer.key
        for pointer in pointers
    )


def _facts(rows: Sequence[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """What HBase's reader asks of the file info: averages in bytes, and that all versions are 0."""
    count = max(1, len(rows))
    keys = sum(2 + len(row) + len(fmt.KEY_TAIL) for row, _ in rows)
    last = {b"hfile.LASTKEY": _key(rows[-1][0])} if rows else {}
    return last | {
        b"hfile.AVG_KEY_LEN": struct.pack(">i", keys // count),
        b"hfile.AVG_VALUE_LEN": struct.pack(">i", sum(len(value) for _, value in rows) // count),
        b"KEY_VALUE_VERSION": struct.pack(">i", 1),
        b"MAX_MEMSTORE_TS_KEY": struct.pack(">q", 0),
    }


def _file_info(facts: Mapping[bytes, bytes]) -> bytes:
    pairs = [_byte_string(1, name) + _byte_string(2, value) for name, value in sorted(facts.items())]
    message = b"".join(_byte_string(1, pair) for pair in pairs)
    return fmt.INFO_MAGIC + _varint(len(message)) + message


def _trailer(numbers: Mapping[int, int]) -> bytes:
    message = b"".join(_varint(field << 3) + _varint(value) for field, value in numbers.items())
    message += _byte_string(11, _COMPARATOR)
    version = struct.pack(">I", _MINOR_VERSION << 24 | fmt.VERSION)
    body = fmt.TRAILER_MAGIC + _varint(len(message)) + message
    return body.ljust(fmt.TRAILER_BYTES - len(version), b"\0") + version


def _byte_string(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """Protobuf's."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _hadoop_varint(value: int) -> bytes:
    """Hadoop's: a byte up to 127, else how many bytes follow, and they."""
    if value <= 127:
        return bytes([value])
    length = (value.bit_length() + 7) // 8
    return bytes([256 - 112 - length]) + value.to_bytes(length, "big")
