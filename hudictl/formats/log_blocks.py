"""The blocks of a Hudi log file (log format version 1): found over byte ranges without their contents, and encoded."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats.ranges import ReadAt

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
COMMAND, DELETE, CORRUPT, AVRO_DATA, HFILE_DATA, PARQUET_DATA, CDC_DATA = BLOCK_TYPES
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
INSTANT_TIME, TARGET_INSTANT_TIME, SCHEMA, COMMAND_BLOCK_TYPE, COMPACTED_BLOCK_TIMES, RECORD_POSITIONS = HEADER_KEYS[:6]
IS_PARTIAL = HEADER_KEYS[7]
ROLLBACK_BLOCK = "0"

_OBSOLETE_MAGIC = b"HUDI"
_UNKNOWN_KEY = "UNKNOWN_"
_HEAD = len(MAGIC) + 8
_FRAME = _HEAD + 8
_TRAILER = 8
_TAIL = 4 + _TRAILER
_SMALLEST = 32
# Hudi counts in 32 bits.
_LARGEST = 2**31 - 1
# Hudi has nine keys; a map of more than this is no map.
_MOST_KEYS = 1000
_MOST_HEADER_BYTES = 16 * 1024 * 1024
"""Largest are the positions of records: less than a sixth of a byte for each row of a base file."""
_FEW_BYTES = 64 * 1024
_FIRST_READ = 16 * 1024
_CONTENT_HEAD = 32
_SEARCH_WINDOW = 1024 * 1024
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class Block:
    """A block without its content. Offsets and lengths are bytes in the file.

    A corrupt one has a ``damage`` that says what is wrong, and no header; its content is the damaged range.
    ``content_head`` is the beginning of the content, as it came with the header. ``lengths`` are the block's and the
    content's as written, of which Hudi reads the lower four bytes; ``bad_text``: a header value is not UTF-8.
    """

    block_type: str
    offset: int
    end: int
    content_offset: int
    content_length: int
    header: Mapping[str, str] = field(default_factory=dict)
    footer: Mapping[str, str] = field(default_factory=dict)
    format_version: int | None = FORMAT_VERSION
    damage: str | None = None
    content_head: bytes = b""
    lengths: tuple[int, int] | None = None
    bad_text: bool = False

    @property
    def instant(self) -> str | None:
        return self.header.get(INSTANT_TIME)

    @property
    def rollback_target(self) -> str | None:
        """The instant that a rollback block rolls back; None for every other block."""
        if self.block_type != COMMAND or self.header.get(COMMAND_BLOCK_TYPE) != ROLLBACK_BLOCK:
            return None
        return self.header.get(TARGET_INSTANT_TIME)


class _Damaged(Exception):
    """A range that is no block; the text says why."""


def read_blocks(
    read_at: ReadAt,
    size: int,
    *,
    strict: bool = False,
    start: int = 0,
    end: int | None = None,
    any_format: bool = False,
) -> Iterator[Block]:
    """Reads the headers of a log file's blocks, in file order, each once; contents are skipped by their length.

    A damaged range comes back as one corrupt block, from behind its magic to the next magic, as Hudi's reader
    does it (0.15.0 to 1.2.0). Like Hudi, it ignores fewer than six bytes at the end, and the upper four bytes of a
    length. If Hudi gives up, this function continues: a file that does not begin with a magic begins with a corrupt
    block, and a block with matching lengths but an unreadable header is corrupt as a whole.

    Args:
        read_at: gives the file's bytes. A large block costs one request of some kilobytes.
        size: of the file, in bytes.
        strict: raise at the first damage instead, even if Hudi does not detect it.
        start: where to begin: a block's offset, which an earlier reading gave. ``end``: where to stop, another one.
        any_format: return blocks of other log format versions as corrupt ones, and continue after them.

    Raises:
        Unsupported: a block of another log format version than 1; those before it have come.
        Unreadable: damage, with ``strict``.
    """
    end = size if end is None else end
    window = _Window(read_at, size, strict=strict, any_format=any_format)
    window.limit = min(size, end + len(MAGIC))
    offset = start
    while offset < end and size - offset >= len(MAGIC):
        block = _block_at(window, offset)
        if strict and block.damage:
            raise Unreadable(f"byte {offset}: {block.damage}", offset=offset)
        yield block
        offset = block.end
    if strict and offset < size:
        raise Unreadable(f"byte {offset}: {size - offset} bytes that belong to no block", offset=offset)


def read_offsets(read_at: ReadAt, size: int) -> Iterator[tuple[int, int]]:
    """Offset and end of each block that ``read_blocks`` would return: their headers are not read, only their lengths.

    Raises Unsupported: see ``read_blocks``.
    """
    window = _Window(read_at, size)
    window.ahead = _FRAME - len(MAGIC)
    offset = 0
    while size - offset >= len(MAGIC):
        lead, end, damage = _range_at(window, offset)
        if damage is None:
            frame = _Beginning(window, lead, offset, offset + _FRAME)
            _known_version(window, frame.get(offset + _HEAD, 8), offset)
        yield offset, end
        offset = end


def read_blocks_reverse(read_at: ReadAt, size: int) -> Iterator[Block]:
    """Reads the headers of a log file's blocks, the last one first, each found by the length at its end.

    Damage cannot be skipped in this direction: then the caller must read forward.

    Raises:
        Unreadable: the bytes before a position are no block's end; intact blocks behind it have come.
        Unsupported: see ``read_blocks``.
    """
    end = size
    while end > 0:
        trailer = read_at(end - _TRAILER, _TRAILER) if end >= _TRAILER else b""
        start = end - _TRAILER - struct.unpack(">q", trailer)[0] if len(trailer) == _TRAILER else -1
        block = _block_at(_Window(read_at, size), start) if 0 <= start <= end - _SMALLEST else None
        if block is None or block.damage or block.end != end:
            raise Unreadable(f"byte {end}: no block ends there", offset=end)
        yield block
        end = start


def read_torn(rest: bytes) -> tuple[Mapping[str, str], int]:
    """The available part of an incomplete block: its header, and the position of its content length; no header if the
    cut is inside it.

    Args:
        rest: the bytes from the block's beginning to the end of its file.

    Raises:
        Unreadable: they are something else.
    """
    if rest[: len(MAGIC)] != MAGIC[: len(rest)] or MAGIC in rest[len(MAGIC) :]:
        raise Unreadable("not the beginning of a single block")
    if len(rest) < _HEAD + 8:
        return {}, 0
    length, version, ordinal = struct.unpack_from(">qii", rest, len(MAGIC))
    if version != FORMAT_VERSION or not 0 <= ordinal < len(BLOCK_TYPES):
        raise Unreadable(f"a block of type {ordinal} in log format version {version}")
    if not _SMALLEST <= length <= _LARGEST or _HEAD + length <= len(rest):
        raise Unreadable(f"a block has a length of {length}, but there are {len(rest)} bytes of it")
    try:
        header, end = _read_map(lambda at, size: rest[at : at + size], _HEAD + 8, _HEAD + length - _TRAILER)
    except struct.error:
        return {}, 0
    except _Damaged as damage:
        raise Unreadable(str(damage)) from damage
    return (header, end) if end <= len(rest) else ({}, 0)


def read_head(body: bytes) -> tuple[Mapping[str, str], int]:
    """The header of a block whose frame may be damaged, and where its content begins; no header if there is none."""
    try:
        header, end = _read_map(lambda at, size: body[at : at + size], _FRAME, len(body))
    except (struct.error, _Damaged):
        return {}, 0
    return header, end + 8


def encode_block(block_type: str, header: Mapping[str, str], content: bytes) -> bytes:
    """One block of log format version 1. Raises ValueError: a header key or type that is none, or a block of 2 GiB."""
    out = struct.pack(">ii", FORMAT_VERSION, BLOCK_TYPES.index(block_type)) + _encode_map(header)
    out += struct.pack(">q", len(content)) + content + _encode_map({})
    length = len(out) + _TRAILER
    if length > _LARGEST:
        raise ValueError(f"a block of {length} bytes: Hudi reads no block of 2 GiB or more")
    return MAGIC + struct.pack(">q", length) + out + struct.pack(">q", length + len(MAGIC))


def encode_rollback_block(instant: str, target: str) -> bytes:
    """A command block that rolls back the target's blocks in the logs before it.

    Args:
        instant: the block's own time. Readers of 0.15.0 stop at a block newer than the last commit, so hudictl
            writes the target's: every later commit is greater.
        target: the instant that is rolled back.
    """
    header = {INSTANT_TIME: instant, COMMAND_BLOCK_TYPE: ROLLBACK_BLOCK, TARGET_INSTANT_TIME: target}
    return encode_block(COMMAND, header, b"")


class _Window:
    """A read-ahead buffer: the end of a block is read together with the head of the next one."""

    def __init__(self, read_at: ReadAt, size: int, *, strict: bool = False, any_format: bool = False) -> None:
        self.read_at = read_at
        self.size = size
        self.limit = size
        self.strict = strict
        self.foreign: type[Exception] = _Damaged if any_format else Unsupported
        self.ahead = _FEW_BYTES if size <= _FEW_BYTES else _FIRST_READ
        self._start = 0
        self._held = b""

    def hold(self, offset: int, held: bytes) -> None:
        self._start, self._held = offset, held

    def get(self, offset: int, length: int, ahead: int = 0) -> bytes:
        """The bytes at an offset, fewer at the end of the file. Newly read bytes are not kept, and may be more."""
        length = min(length, self.size - offset)
        begin = offset - self._start
        if begin >= 0 and begin + length <= len(self._held):
            return self._held[begin : begin + length]
        return self.read_at(offset, max(length, min(length + ahead, self.limit - offset)))

    def lead(self, offset: int) -> bytes:
        """A block's beginning: from the buffer, else read in one request of a useful size."""
        begin = offset - self._start
        if not 0 <= begin <= len(self._held) - min(_HEAD, self.size - offset):
            wanted = max(_HEAD, min(len(MAGIC) + self.ahead, self.limit - offset))
            self.hold(offset, self.read_at(offset, min(wanted, self.size - offset)))
            begin = 0
        return self._held[begin : begin + _FEW_BYTES]

    def following(self, offset: int, length: int) -> bytes:
        """The bytes at an offset: as many as the buffer has there, else at most ``length`` newly read ones."""
        begin = offset - self._start
        return self._held[begin : begin + length] if 0 <= begin < len(self._held) else self.read_at(offset, length)

    def length(self, field: bytes) -> int:
        """A length of eight bytes, of which Hudi reads the lower four."""
        return int(struct.unpack(">q" if self.strict else ">4xi", field)[0])

    def find_magic(self, position: int) -> int:
        """Where the next magic begins; the end of the file without one."""
        while self.size - position >= len(MAGIC):
            begin = position - self._start
            if not 0 <= begin <= len(self._held) - len(MAGIC):
                wanted = max(len(MAGIC), min(_SEARCH_WINDOW, self.limit - position))
                self.hold(position, self.read_at(position, wanted))
                begin = 0
            found = self._held.find(MAGIC, begin)
            if found >= 0:
                return self._start + found
            position = self._start + len(self._held) - len(MAGIC) + 1
        return self.size


class _Beginning:
    """A block from its offset on, read as far as it is wanted: no byte twice, and none behind a limit."""

    def __init__(self, window: _Window, held: bytes, offset: int, limit: int) -> None:
        self._window = window
        self._held = held
        self._offset = offset
        self._limit = limit

    def get(self, position: int, length: int) -> bytes:
        begin = position - self._offset
        while len(self._held) < begin + length:
            known = self._offset + len(self._held)
            wanted = max(position + length - known, _FIRST_READ)
            more = self._window.following(known, min(wanted, self._limit - known))
            if not more:
                break
            self._held += more
        return self.held(position, length)

    def held(self, position: int, length: int) -> bytes:
        """At most so many bytes, without reading any."""
        begin = position - self._offset
        return self._held[begin : begin + length]


def _block_at(window: _Window, offset: int) -> Block:
    """The block at an offset, or the corrupt one that Hudi would make of the bytes there."""
    lead, end, damage = _range_at(window, offset)
    if damage is None:
        try:
            return _parse(window, lead, offset, end)
        except _Damaged as found:
            damage = found
    else:
        # With one magic in the wrong place there may be many: read no bytes in advance.
        window.ahead = 0
    start = _after_magic(lead, offset)
    return Block(CORRUPT, offset, end, start, end - start, format_version=None, damage=str(damage))


def _range_at(window: _Window, offset: int) -> tuple[bytes, int, _Damaged | None]:
    """The beginning of the block at an offset, its end, and the reason if its lengths are not those of a block."""
    lead = window.lead(offset)
    try:
        return lead, _end_of(window, lead, offset), None
    except _Damaged as damage:
        return lead, window.find_magic(_after_magic(lead, offset)), damage


def _after_magic(lead: bytes, offset: int) -> int:
    return offset + len(MAGIC) if lead.startswith(MAGIC) else offset


def _end_of(window: _Window, lead: bytes, offset: int) -> int:
    """The end of a block, by Hudi's test: its length is repeated at its end, and the next block begins there."""
    if not lead.startswith(MAGIC):
        if offset == 0 and lead.startswith(_OBSOLETE_MAGIC):
            raise window.foreign("a log older than log format version 1 (before 2018): no current release reads it")
        raise _Damaged("no block begins here")
    if len(lead) < _HEAD:
        raise _Damaged(f"cut off: {len(lead)} bytes of a block")
    length = window.length(lead[len(MAGIC) : _HEAD])
    end = offset + _HEAD + length
    if not _SMALLEST <= length <= _LARGEST:
        raise _Damaged(f"a block cannot have a length of {length}")
    if end > window.size:
        raise _Damaged(f"cut off: {window.size - offset} bytes of a block of {end - offset}")
    # An empty footer, the length, and the next block's header behind it: one request for all.
    tail = window.get(end - _TAIL, _TAIL + len(MAGIC), window.ahead)
    if (trailing := struct.unpack_from(">q", tail, _TAIL - _TRAILER)[0]) != length + len(MAGIC):
        raise _Damaged(f"the length at its end is {trailing}, not {length + len(MAGIC)}")
    behind = tail[_TAIL : _TAIL + len(MAGIC)]
    if len(behind) == len(MAGIC) and behind != MAGIC:
        raise _Damaged("the data after it is not a block")
    if len(tail) > _TAIL + len(MAGIC):
        window.hold(end - _TAIL, tail)
    return end


def _parse(window: _Window, lead: bytes, offset: int, end: int) -> Block:
    """The block in a range whose ends are proved."""
    limit = end - _TRAILER
    beginning = _Beginning(window, lead, offset, limit)
    get = beginning.get
    version, ordinal = _known_version(window, get(offset + _HEAD, 8), offset)
    if not 0 <= ordinal < len(BLOCK_TYPES) or BLOCK_TYPES[ordinal] == CORRUPT:
        raise _Damaged(f"block type {ordinal} is not known")
    header, position = _read_map(get, offset + _FRAME, limit)
    if limit - position < _TAIL:
        raise _Damaged("its header leaves no room for the content")
    length = get(position, 8)
    content_length = window.length(length)
    content = position + 8
    if not 0 <= content_length <= limit - 4 - content:
        raise _Damaged(f"a content of {content_length} bytes does not fit")
    footer, position = _read_map(window.get, content + content_length, limit)
    if position != limit:
        raise _Damaged(f"{limit - position} extra bytes after its footer")

    raw = beginning.held(offset, content - offset)
    head = beginning.held(content, min(_CONTENT_HEAD, content_length))
    # Small blocks are close together; for large ones the next header is enough.
    small = end - offset < _FIRST_READ
    window.ahead = _FEW_BYTES if small else min(content - offset + _CONTENT_HEAD, _FIRST_READ)
    lengths = (*struct.unpack_from(">q", raw, len(MAGIC)), *struct.unpack(">q", length))
    replaced = any(_REPLACEMENT in value for value in header.values())
    bad_text = replaced and _REPLACEMENT.encode() not in raw
    kind = BLOCK_TYPES[ordinal]
    return Block(kind, offset, end, content, content_length, header, footer, version, None, head, lengths, bad_text)


def _known_version(window: _Window, field: bytes, offset: int) -> tuple[int, int]:
    """The log format version and the type of a block, from the bytes behind its length."""
    version, ordinal = struct.unpack(">ii", field)
    if version != FORMAT_VERSION:
        # Hudi reads such a block (0.15.0 to 1.2.0) by rules that no release has ever written.
        raise window.foreign(f"byte {offset}: log format version {version}: hudictl knows version {FORMAT_VERSION}")
    return version, ordinal


def _read_map(get: ReadAt, position: int, limit: int) -> tuple[dict[str, str], int]:
    """A header or footer, and where it ends."""
    if limit - position < 4:
        raise _Damaged("its header or footer is cut off")
    (count,) = struct.unpack(">i", get(position, 4))
    if not 0 <= count <= _MOST_KEYS:
        raise _Damaged(f"a header or footer cannot have {count} keys")
    position += 4
    limit = min(limit, position + _MOST_HEADER_BYTES)
    entries = {}
    for _ in range(count):
        if limit - position < 8:
            raise _Damaged("its header or footer is cut off")
        key, length = struct.unpack(">ii", get(position, 8))
        position += 8
        if not 0 <= length <= limit - position:
            raise _Damaged(f"a header value of {length} bytes does not fit")
        name = HEADER_KEYS[key] if 0 <= key < len(HEADER_KEYS) else f"{_UNKNOWN_KEY}{key}"
        entries[name] = get(position, length).decode("utf-8", "replace")
        position += length
    return entries, position


def _encode_map(entries: Mapping[str, str]) -> bytes:
    out = struct.pack(">i", len(entries))
    for key, value in entries.items():
        body = value.encode()
        ordinal = int(key.removeprefix(_UNKNOWN_KEY)) if key.startswith(_UNKNOWN_KEY) else HEADER_KEYS.index(key)
        out += struct.pack(">ii", ordinal, len(body)) + body
    return out
