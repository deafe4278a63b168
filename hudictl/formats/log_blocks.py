"""The blocks of a Hudi log file: headers read over byte ranges, command blocks written (log format version 1)."""

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

MAGIC = b"#HUDI#"
FORMAT_VERSION = 1
BLOCK_TYPES = (
    "COMMAND_BLOCK",
    "DELETE_BLOCK",
    "CORRUPT_BLOCK",
    "AVRO_DATA_BLOCK",
    "HFILE_DATA_BLOCK",
    "PARQUET_DATA_BLOCK",
    "CDC_DATA_BLOCK",
)
COMMAND, DELETE, CORRUPT, AVRO_DATA = BLOCK_TYPES[:4]
HEADER_KEYS = (
    "INSTANT_TIME",
    "TARGET_INSTANT_TIME",
    "SCHEMA",
    "COMMAND_BLOCK_TYPE",
    "COMPACTED_BLOCK_TIMES",
    "RECORD_POSITIONS",
    "BLOCK_IDENTIFIER",
    "IS_PARTIAL",
    "BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS",
)
INSTANT_TIME, TARGET_INSTANT_TIME, SCHEMA, COMMAND_BLOCK_TYPE = HEADER_KEYS[:4]
ROLLBACK_BLOCK = "0"

_HEAD = len(MAGIC) + 8
_FIRST_READ = 16 * 1024
_SEARCH_WINDOW = 1024 * 1024

ReadAt = Callable[[int, int], bytes]
"""(offset, length) -> the bytes there, fewer only at the end of the file."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block without its content. Offsets and lengths are bytes in the file; a corrupt one has no header."""

    block_type: str
    offset: int
    end: int
    content_offset: int
    content_length: int
    header: Mapping[str, str] = field(default_factory=dict)

    @property
    def instant(self) -> str | None:
        return self.header.get(INSTANT_TIME)

    @property
    def rollback_target(self) -> str | None:
        """The instant that a rollback block takes back; None for every other block."""
        if self.block_type != COMMAND or self.header.get(COMMAND_BLOCK_TYPE) != ROLLBACK_BLOCK:
            return None
        return self.header.get(TARGET_INSTANT_TIME)


def read_blocks(read_at: ReadAt, size: int) -> Iterator[Block]:
    """Reads the headers of a log file's blocks, in file order; contents are skipped by their length.

    A damaged range comes back as one corrupt block, from behind its magic to the next magic, as Hudi's reader
    does it (0.15.0 to 1.2.0). Fewer than six bytes at the end are ignored, like there. A file that does not begin
    with a magic is one corrupt block.
    """
    offset = 0
    while size - offset >= len(MAGIC):
        block = _read_block(read_at, offset, size)
        if block is None:
            start = offset + len(MAGIC) if read_at(offset, len(MAGIC)) == MAGIC else offset
            end = _next_magic(read_at, start, size)
            block = Block(CORRUPT, offset, end, start, end - start)
        yield block
        offset = block.end


def encode_block(block_type: str, header: Mapping[str, str], content: bytes) -> bytes:
    """One block of log format version 1."""
    out = struct.pack(">ii", FORMAT_VERSION, BLOCK_TYPES.index(block_type)) + _encode_map(header)
    out += struct.pack(">q", len(content)) + content + _encode_map({})
    length = len(out) + 8
    return MAGIC + struct.pack(">q", length) + out + struct.pack(">q", length + len(MAGIC))


def encode_rollback_block(instant: str, target: str) -> bytes:
    """A command block that takes back the target's blocks in the logs before it.

    Args:
        instant: the block's own time. Readers of 0.15.0 stop at a block newer than the last commit, so hudictl
            writes the target's: every later commit is greater.
        target: the instant that is rolled back.
    """
    header = {INSTANT_TIME: instant, COMMAND_BLOCK_TYPE: ROLLBACK_BLOCK, TARGET_INSTANT_TIME: target}
    return encode_block(COMMAND, header, b"")


def _read_block(read_at: ReadAt, offset: int, size: int) -> Block | None:
    """The block at the offset; None where it is damaged."""
    window = read_at(offset, min(_FIRST_READ, size - offset))
    if len(window) < _HEAD or not window.startswith(MAGIC):
        return None
    (length,) = struct.unpack_from(">q", window, len(MAGIC))
    end = offset + _HEAD + length
    if length < 32 or end > size:
        return None
    tail = read_at(end - 8, min(8 + len(MAGIC), size - end + 8))
    if struct.unpack_from(">q", tail)[0] != length + len(MAGIC):
        return None
    if len(tail) == 8 + len(MAGIC) and not tail.endswith(MAGIC):
        return None
    if len(window) < _HEAD + length:
        window = _widen(read_at, offset, window, _HEAD + length)
    return _parse(window, offset, end)


def _widen(read_at: ReadAt, offset: int, window: bytes, total: int) -> bytes:
    """Reads on where the header map (with a schema in it) is longer than the first read."""
    while len(window) < total and _header_end(window) is None:
        window = read_at(offset, min(total, len(window) * 4))
    return window


def _header_end(window: bytes) -> int | None:
    """Where the header map ends; None where the window is too short to tell."""
    position = _HEAD + 8
    if len(window) < position + 4:
        return None
    (count,) = struct.unpack_from(">i", window, position)
    position += 4
    for _ in range(count):
        if len(window) < position + 8:
            return None
        (length,) = struct.unpack_from(">i", window, position + 4)
        if length < 0:
            return None
        position += 8 + length
    return position if len(window) >= position + 8 else None


def _parse(window: bytes, offset: int, end: int) -> Block | None:
    version, ordinal = struct.unpack_from(">ii", window, _HEAD)
    position = _header_end(window)
    if version != FORMAT_VERSION or position is None or not 0 <= ordinal < len(BLOCK_TYPES):
        return None
    header = {}
    cursor = _HEAD + 12
    while cursor < position:
        key, length = struct.unpack_from(">ii", window, cursor)
        cursor += 8 + length
        name = HEADER_KEYS[key] if 0 <= key < len(HEADER_KEYS) else f"UNKNOWN_{key}"
        header[name] = window[cursor - length : cursor].decode("utf-8", "replace")
    (content_length,) = struct.unpack_from(">q", window, position)
    content_offset = offset + position + 8
    if content_length < 0 or content_offset + content_length > end - 12:
        return None
    return Block(BLOCK_TYPES[ordinal], offset, end, content_offset, content_length, header)


def _next_magic(read_at: ReadAt, start: int, size: int) -> int:
    position = start
    while position < size:
        window = read_at(position, min(_SEARCH_WINDOW, size - position))
        found = window.find(MAGIC)
        if found >= 0:
            return position + found
        if position + len(window) >= size:
            break
        position += len(window) - len(MAGIC) + 1
    return size


def _encode_map(entries: Mapping[str, str]) -> bytes:
    out = struct.pack(">i", len(entries))
    for key, value in entries.items():
        body = value.encode()
        out += struct.pack(">ii", HEADER_KEYS.index(key), len(body)) + body
    return out
