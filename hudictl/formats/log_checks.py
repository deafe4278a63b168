"""The defects of a log file by its bytes: lengths, headers, and decoded contents."""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats import log_contents
from hudictl.formats.avro_schemas import parse_schema
from hudictl.formats.log_blocks import (
    AVRO_DATA,
    CDC_DATA,
    COMMAND,
    COMMAND_BLOCK_TYPE,
    CORRUPT,
    DELETE,
    HEADER_KEYS,
    INSTANT_TIME,
    MAGIC,
    RECORD_POSITIONS,
    ROLLBACK_BLOCK,
    SCHEMA,
    TARGET_INSTANT_TIME,
    Block,
    read_blocks,
)
from hudictl.formats.positions import count_positions
from hudictl.formats.ranges import ReadAt

TRUNCATED_TAIL = "truncated-tail"
STRAY_BYTES = "stray-bytes"
CORRUPT_BLOCK = "corrupt-block"
BAD_TRAILING_LENGTH = "bad-trailing-length"
BAD_LENGTH = "bad-length"
UNKNOWN_FORMAT = "unknown-format"
BAD_HEADER = "bad-header"
NO_TARGET = "rollback-block-without-target"
UNDECODABLE = "undecodable"
NOT_DECODED = "not-decoded"
BAD_POSITIONS = "bad-positions"
CONTENT_VERSION = "content-version"
HARMLESS = frozenset({NOT_DECODED, CONTENT_VERSION})
"""Harmless for readers: an encoding that Hudi may know but hudictl does not, or a number that is never used."""

_INSTANT = re.compile(r"\d{14,}")
_CONTENT_VERSIONS = (1, 2, 3)
# As in a header: key 0, its length, the time. This also finds it in an incomplete header.
_INSTANT_ENTRY = re.compile(rb"\x00{4}\x00{3}[\x0e-\x14](\d{14,20})")
_TORN_HEAD = 64 * 1024
_SKIPPED = ("cut off", "a block cannot have a length", "the length at its end", "the data after it is not a block")
"""How the damage begins that readers skip, in the words of ``log_blocks``."""


@dataclass(frozen=True, slots=True)
class Defect:
    """A defect of the block at an offset (in bytes; ``index`` counts from 0), with its instant if that is known.
    ``defect`` is one of the words above."""

    index: int
    offset: int
    defect: str
    what: str
    instant: str | None


def fails_readers(defect: Defect) -> bool:
    """Whether readers fail at the block, or lose its rows, whoever wrote it: no death of a writer leaves such a one
    (seen with 0.15.0 and 1.2.0)."""
    if defect.defect == CORRUPT_BLOCK:
        return not defect.what.startswith(_SKIPPED)
    return defect.defect in (BAD_HEADER, UNKNOWN_FORMAT)


@dataclass(frozen=True, slots=True)
class BlockCheck:
    """A block, its number of records (0 if they cannot be decoded), and its defects.

    ``block`` is None outside of blocks: bytes at the end, a file of another format.
    """

    index: int
    block: Block | None
    records: int
    defects: tuple[Defect, ...]


def check_blocks(
    read_at: ReadAt, size: int, *, archive: bool = False, start: int = 0, end: int | None = None, first: int = 0
) -> Iterator[BlockCheck]:
    """Looks at each block of a log, in file order.

    Args:
        read_at: gives the file's bytes.
        size: of the file, in bytes.
        archive: whether it is a log of the archived timeline, whose blocks have no instant.
        start: the offset of the first block to look at, and ``first`` its index.
        end: where to stop: at the block that begins there.

    Raises:
        ImportError: what a content takes to decode is not installed.
        StorageFailed, FileNotFoundError.
    """
    end = size if end is None else end
    index, offset = first, start
    try:
        for block in read_blocks(read_at, size, start=start, end=end):
            yield _check(index, block, read_at, size, archive)
            index, offset = index + 1, block.end
    except Unsupported as error:
        yield _no_block(index, offset, UNKNOWN_FORMAT, f"{error.message}; nothing after it is checked")
        return
    if end == size and offset < size:
        what = (
            f"{size - offset} bytes that belong to no block: after an append, readers would treat the block before "
            "these bytes as corrupt"
        )
        yield _no_block(index, offset, STRAY_BYTES, what)


def _no_block(index: int, offset: int, defect: str, what: str) -> BlockCheck:
    return BlockCheck(index, None, 0, (Defect(index, offset, defect, what, None),))


def _check(index: int, block: Block, read_at: ReadAt, size: int, archive: bool) -> BlockCheck:
    if block.block_type == CORRUPT:
        found = _damage(block, read_at, size)
        return BlockCheck(index, block, 0, (Defect(index, block.offset, *found),))
    wrong = [*_written_defects(block), *_header_defects(block, archive), *_version_defects(block)]
    records = 0
    try:
        records = _count(block, read_at)
        wrong += _position_defects(block, records)
    except Unsupported as error:
        wrong.append((NOT_DECODED, error.message))
    except Unreadable as error:
        wrong.append((UNDECODABLE, error.message))
    return BlockCheck(
        index, block, records, tuple(Defect(index, block.offset, *entry, block.instant) for entry in wrong)
    )


def _damage(block: Block, read_at: ReadAt, size: int) -> tuple[str, str, str | None]:
    """The name of the damage, its description, and the instant of the damaged block."""
    damage = block.damage or ""
    what = f"{damage}: {block.end - block.offset:,} bytes that readers skip"
    entry = _INSTANT_ENTRY.search(read_at(block.offset, min(_TORN_HEAD, block.end - block.offset)))
    instant = entry[1].decode() if entry else None
    if block.end == size and damage.startswith("cut off"):
        return TRUNCATED_TAIL, what, instant
    trailing = damage.startswith("the length at its end")
    return BAD_TRAILING_LENGTH if trailing else CORRUPT_BLOCK, what, instant


def _written_defects(block: Block) -> Iterator[tuple[str, str]]:
    """Defects of the written bytes that readers do not see."""
    length, content_length = written = block.lengths or (0, 0)
    if written != (block.end - block.offset - len(MAGIC) - 8, block.content_length):
        yield BAD_LENGTH, f"lengths of {length} and {content_length} bytes: Hudi uses only the lower four bytes of each"
    if block.bad_text:
        yield BAD_HEADER, "a value in its header is not UTF-8"


def _header_defects(block: Block, archive: bool) -> Iterator[tuple[str, str]]:
    """Missing or invalid values in the header that readers of this type of block use."""
    header = block.header
    if missing := _wanted_keys(block, archive) - header.keys():
        yield BAD_HEADER, f"a {block.block_type} without {', '.join(sorted(missing))} in its header"
    if unknown := header.keys() - set(HEADER_KEYS):
        yield BAD_HEADER, f"{', '.join(sorted(unknown))} in its header: Hudi up to 1.2.0 fails on unknown keys"
    if block.footer:
        yield BAD_HEADER, f"its footer has {len(block.footer)} entries: no release writes any"
    for key in (INSTANT_TIME, TARGET_INSTANT_TIME):
        if key in header and not _INSTANT.fullmatch(header[key]):
            yield BAD_HEADER, f"{key} {header[key]!r} is not an instant"
    if block.block_type == COMMAND:
        yield from _command_defects(block)
    elif SCHEMA in header:
        try:
            parse_schema(header[SCHEMA])
        except Unreadable as error:
            yield BAD_HEADER, error.message


def _wanted_keys(block: Block, archive: bool) -> set[str]:
    of_type = {COMMAND: {COMMAND_BLOCK_TYPE}, DELETE: set()}.get(block.block_type, {SCHEMA})
    return of_type if archive else {INSTANT_TIME, *of_type}


def _command_defects(block: Block) -> Iterator[tuple[str, str]]:
    kind = block.header.get(COMMAND_BLOCK_TYPE, ROLLBACK_BLOCK)
    if kind != ROLLBACK_BLOCK:
        yield BAD_HEADER, f"COMMAND_BLOCK_TYPE {kind!r}: Hudi knows only {ROLLBACK_BLOCK}, a rollback block"
    elif TARGET_INSTANT_TIME not in block.header:
        yield NO_TARGET, "a rollback block without a target: readers do not know what it rolls back"
    if block.content_length:
        yield UNDECODABLE, f"a COMMAND_BLOCK with {block.content_length} bytes of content: it should have none"


def _count(block: Block, read_at: ReadAt) -> int:
    """The number of decoded records; 0 without a schema. Raises Unreadable, Unsupported."""
    if block.block_type not in (COMMAND, DELETE) and SCHEMA not in block.header:
        return 0
    return log_contents.count_records(block, read_at)


def _version_defects(block: Block) -> Iterator[tuple[str, str]]:
    """Readers ignore the version of Avro contents: all versions are the same (0.15.0, 1.0.2, 1.2.0)."""
    if block.block_type in (AVRO_DATA, CDC_DATA) and len(block.content_head) >= 4:
        (version,) = struct.unpack_from(">i", block.content_head)
        if version not in _CONTENT_VERSIONS:
            yield (
                CONTENT_VERSION,
                f"unknown content version {version}: no release writes it, and readers ignore this number",
            )


def _position_defects(block: Block, records: int) -> Iterator[tuple[str, str]]:
    text = block.header.get(RECORD_POSITIONS)
    if text is None:
        return
    try:
        count = count_positions(text)
    except ValueError as error:
        yield BAD_POSITIONS, f"its RECORD_POSITIONS cannot be decoded: {error}"
        return
    if count != records:
        yield BAD_POSITIONS, f"RECORD_POSITIONS has {count} positions for {records} records"
