"""The functions of ``hudictl record`` that may run on a Spark executor; see ``workers``."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from hudictl.errors import HudictlError, Unreadable, Unsupported
from hudictl.formats.file_names import base_format
from hudictl.formats.log_blocks import AVRO_DATA, DELETE, HFILE_DATA, PARQUET_DATA, read_blocks
from hudictl.formats.ranges import ReadAt
from hudictl.index_workers import File, MergedSlice, Record, Tried, data_keys, data_records, naming, reader_of
from hudictl.storage import Storage

if TYPE_CHECKING:
    from hudictl.formats.record_merge import MergeRule

COMMIT_TIME = "_hoodie_commit_time"
_OF_THE_ATTEMPT = ("_hoodie_commit_seqno", "_hoodie_file_name")


@dataclass(frozen=True, slots=True)
class KeyTask:
    """The files in which a record is looked for: base files, and logs without change data. ``column`` has the keys."""

    storage: Storage
    files: tuple[File, ...]
    key: str
    column: str


class Version(NamedTuple):
    """A row with the key, or the key in a delete block. The number and instant of the block are None in base files."""

    file: str
    block: int | None
    instant: str | None
    deleted: bool
    row: Record

    @property
    def made_by(self) -> str | None:
        """The instant that made the version; None in base files without Hudi's own columns."""
        return self.row.get(COMMIT_TIME) or self.instant


def versions_of(task: KeyTask) -> list[Version]:
    """The versions of a record in some files, whether readers count them or not.

    Raises:
        Unreadable: damaged.
        Unsupported: base files that hudictl does not read; keys that are neither text nor whole numbers.
        FileNotFoundError, StorageFailed.
    """
    found: list[Version] = []
    for file in task.files:
        with naming(file):
            read_at = reader_of(task.storage, file)
            found += (_of_base if base_format(file.path) else _of_log)(task, file, read_at)
    return found


def _of_base(task: KeyTask, file: File, read_at: ReadAt) -> Iterator[Version]:
    from hudictl.formats.base_rows import PARQUET, read_rows
    from hudictl.formats.bloom_filters import may_have_key
    from hudictl.formats.parquet_footers import own_entries, read_footer

    if base_format(file.path) == PARQUET and not may_have_key(own_entries(read_footer(read_at, file.size)), task.key):
        return
    for row in read_rows(file.path, read_at, file.size, [task.column, COMMIT_TIME]):
        if _is_of(task, row):
            yield Version(file.path, None, None, False, row)


def _of_log(task: KeyTask, file: File, read_at: ReadAt) -> Iterator[Version]:
    from hudictl.formats.log_contents import read_deletes, read_records

    for number, block in enumerate(read_blocks(read_at, file.size)):
        if block.block_type == DELETE:
            keys = (deleted.record_key for deleted in read_deletes(block, read_at))
            yield from (Version(file.path, number, block.instant, True, {}) for key in keys if key == task.key)
        elif block.block_type in (AVRO_DATA, HFILE_DATA, PARQUET_DATA):
            for row in read_records(block, read_at):
                if _is_of(task, row):
                    deleted = row.get("_hoodie_is_deleted") is True or row.get("_hoodie_operation") == "D"
                    yield Version(file.path, number, block.instant, deleted, row)


def _is_of(task: KeyTask, row: Record) -> bool:
    key = row.get(task.column)
    if type(key) not in (str, int):
        raise Unsupported(f"the column {task.column} has neither text nor whole numbers: hudictl finds no keys in it")
    return str(key) == task.key


_DIGEST_BYTES = 8
_DIGESTS = "Q"
"""Digests of keys, in an array: two keys with the same one are told apart when they are read again."""

Numbered = tuple[int, bytes | HudictlError]
"""The number of a slice; with digests of its keys, or with the reason why it cannot be read."""


@dataclass(frozen=True, slots=True)
class SliceKeys:
    """The newest slice of a file group. Its keys are compared within ``scope``, in so many ``parts``. ``rule`` and
    ``millis`` as in ``DataSlice``."""

    number: int
    scope: str
    parts: int
    files: MergedSlice
    rule: "MergeRule | None"
    millis: frozenset[str]


@dataclass(frozen=True, slots=True)
class CopiesTask:
    """A slice, and the digests of the keys that are looked for in it."""

    slice: SliceKeys
    digests: bytes


class KeyCopy(NamedTuple):
    """A record: the file, and its row or the offset of its block; ``instant`` as in ``Version.made_by``."""

    key: str
    file: str
    position: int
    instant: str | None


def digests_of(task: SliceKeys) -> list[tuple[str, Numbered]]:
    """The digests of a slice's keys, each part of a scope by itself: 8 bytes a key. An error is in the part ""."""
    found = Tried(_digests)(task)
    return [("", (task.number, found))] if isinstance(found, HudictlError) else found


def _digests(task: SliceKeys) -> list[tuple[str, Numbered]]:
    parts: dict[int, array[int]] = defaultdict(lambda: array(_DIGESTS))
    for key in data_keys(task.files, task.rule, task.millis):
        digest = _digest(key)
        parts[digest % task.parts].append(digest)
    return [(f"{part} {task.scope}", (task.number, digests.tobytes())) for part, digests in parts.items()]


def doubled(part: str, found: Sequence[Numbered]) -> list[Numbered] | None:
    """The digests that a part of a scope has more than once, by slice; None if there are none."""
    if not part:
        return [*found]
    seen: set[int] = set()
    twice: set[int] = set()
    slices = [(number, array(_DIGESTS, digests)) for number, digests in found if isinstance(digests, bytes)]
    for _, digests in slices:
        for digest in digests:
            (twice if digest in seen else seen).add(digest)
    kept = ((number, array(_DIGESTS, (one for one in digests if one in twice))) for number, digests in slices)
    return [(number, digests.tobytes()) for number, digests in kept if digests] or None


def copies_of(task: CopiesTask) -> list[KeyCopy]:
    """The records of a slice whose keys have some digests. Raises as ``data_keys``."""
    wanted = frozenset(array(_DIGESTS, task.digests))
    one = task.slice
    return [
        KeyCopy(found.key, found.source.file, found.source.at, (found.row or {}).get(COMMIT_TIME, found.source.instant))
        for found in data_records(one.files, one.rule, one.millis, (COMMIT_TIME,))
        if _digest(found.key) in wanted
    ]


def _digest(key: str) -> int:
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest(), "big")


@dataclass(frozen=True, slots=True)
class TwinTask:
    """Two base files of one slice; ``right`` is the one that the commit names."""

    storage: Storage
    right: File
    other: File


def compare_twins(task: TwinTask) -> tuple[int, int]:
    """How many rows the other file has, and how many of them the right one does not have; -1 if the other one is
    damaged. Raises Unreadable: the right one; Unsupported, FileNotFoundError, StorageFailed."""
    right = _rows_of(task.storage, task.right)
    try:
        other = _rows_of(task.storage, task.other)
    except Unreadable:
        return -1, 0
    return other.total(), (other - right).total()


def _rows_of(storage: Storage, file: File) -> Counter[bytes]:
    """The digests of the rows, without what differs between two attempts of one task."""
    from hudictl.formats.base_rows import read_rows

    found: Counter[bytes] = Counter()
    with naming(file):
        for row in read_rows(file.path, reader_of(storage, file), file.size):
            kept = {name: value for name, value in row.items() if name not in _OF_THE_ATTEMPT}
            found[blake2b(repr(kept).encode("utf-8", "surrogatepass"), digest_size=16).digest()] += 1
    return found
