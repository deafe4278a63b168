"""Functions of ``metadata verify --indexes`` that may run on a Spark executor; see ``workers``."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from hudictl.errors import Conflict, StorageFailed, Unreadable, Unsupported
from hudictl.formats.index_records import Location, decode_location, group_number
from hudictl.formats.log_blocks import DELETE, IS_PARTIAL, Block, read_blocks
from hudictl.formats.ranges import ReadAt
from hudictl.storage import Storage

if TYPE_CHECKING:
    from hudictl.formats.column_stats import ColumnEntry, Statistics
    from hudictl.formats.record_merge import Buffered, MergeRule

RECORD_KEY = "_hoodie_record_key"
MOST_KEYS = 1000
"""At most so many differing keys of one file group are named; the rest is counted."""

_DIGEST_BYTES = 16
_DIGESTS = 1 << 8 * _DIGEST_BYTES
_DELETED, _OPERATION = "_hoodie_is_deleted", "_hoodie_operation"

Record = dict[str, Any]
Value = TypeVar("Value")


class File(NamedTuple):
    """A file by its path below the table, with its size in bytes."""

    path: str
    size: int


class Place(NamedTuple):
    """Where a record was read: the number of its row in a base file, or the offset of its block in a log, in bytes. The
    instant is that of the block; None in base files."""

    file: str
    at: int
    instant: str | None = None


class BlockAt(NamedTuple):
    """A block of a log: the log, and the block's offset in bytes."""

    log: File
    offset: int


@dataclass(frozen=True, slots=True)
class MergedSlice:
    """What readers merge of a file group: its base file, and the blocks of its logs that count, in merge order. Of the
    metadata table, only the records of ``keys`` are read; None: all."""

    storage: Storage
    base: File | None
    blocks: tuple[BlockAt, ...]
    keys: frozenset[bytes] | None = None


class KeySet(NamedTuple):
    """A set of keys in a few bytes, whatever its size: how many, and the sum of their digests of 128 bits. Two sets
    with the same numbers are equal, unless somebody has chosen the keys to deceive."""

    size: int = 0
    digest: int = 0

    def with_key(self, key: str) -> "KeySet":
        digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()
        return KeySet(self.size + 1, (self.digest + int.from_bytes(digest, "big")) % _DIGESTS)

    def plus(self, other: "KeySet") -> "KeySet":
        return KeySet(self.size + other.size, (self.digest + other.digest) % _DIGESTS)


@dataclass(frozen=True, slots=True)
class DataSlice:
    """The newest slice of a file group of the data.

    ``rule`` is how its logs are merged; None without logs. ``millis`` are the columns of the base file whose timestamps
    are in milliseconds. The keys are hashed over ``groups`` file groups of the index; ``only`` these count.
    """

    location: Location
    files: MergedSlice
    rule: "MergeRule | None"
    millis: frozenset[str]
    groups: int
    only: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class IndexGroup:
    """A file group of the record index: the one with this number of so many, with the keys of all partitions or of one.
    Only keys in ``only`` these file groups of the data count; None: all."""

    files: MergedSlice
    number: int
    groups: int
    partition: str | None
    only: frozenset[Location] | None = None


@dataclass(frozen=True, slots=True)
class Cells:
    """The keys of a file group of the index, by the file group of the data where it says that they are. ``misplaced``
    are keys that readers look up in another file group of the index, at most ``MOST_KEYS`` of ``misplaced_count``."""

    keys: dict[Location, KeySet]
    misplaced: tuple[tuple[str, Location], ...]
    misplaced_count: int


@dataclass(frozen=True, slots=True)
class CompareTask:
    """A file group of the data, None in ``data`` if it does not exist, with the file groups of the index that differ
    from it."""

    location: Location
    data: DataSlice | None
    index: tuple[IndexGroup, ...]


class KeyDifference(NamedTuple):
    """A key with the file group that the index has for it, and whether the file group of the data has it."""

    key: str
    in_index: Location | None
    in_data: bool


@dataclass(frozen=True, slots=True)
class Compared:
    """The first differing keys of a file group of the data, by key, and how many there are."""

    location: Location
    keys: tuple[KeyDifference, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Tried:
    """Applies a function to a task, and returns its error if that says more than its text: what is damaged, or that a
    file disappeared."""

    function: Callable[[Any], Any]

    def __call__(self, task: Any) -> Any:
        try:
            return self.function(task)
        except (Unreadable, Unsupported, Conflict) as error:
            return error
        except FileNotFoundError as error:
            return Conflict(
                f"a file disappeared while it was read: {error}",
                hint="a clean or another operator is active; run the command again",
            )


def keys_of_data(task: DataSlice) -> KeySet:
    """The keys of a file group of the data."""
    found = KeySet()
    for key in _counted_keys(task):
        found = found.with_key(key)
    return found


def keys_by_group(task: DataSlice) -> dict[int, KeySet]:
    """The keys of a file group of the data, by the number of the index's file group that must have them."""
    found: dict[int, KeySet] = defaultdict(KeySet)
    for key in _counted_keys(task):
        number = group_number(key, task.groups)
        found[number] = found[number].with_key(key)
    return dict(found)


def keys_of_index(task: IndexGroup) -> Cells:
    """The keys of a file group of the record index."""
    found: dict[Location, KeySet] = defaultdict(KeySet)
    misplaced: list[tuple[str, Location]] = []
    count = 0
    for key, location in index_locations(task):
        if not _is_in_place(task, key, location):
            count += 1
            misplaced += [(key, location)] if len(misplaced) < MOST_KEYS else []
        else:
            found[location] = found[location].with_key(key)
    return Cells(dict(found), tuple(misplaced), count)


def compare_keys(task: CompareTask) -> Compared:
    """The keys in which a file group of the data and the record index differ. Holds the file group's keys in memory."""
    numbers = frozenset(group.number for group in task.index)
    keys = set()
    if task.data is not None:
        # Without file groups of the index for this partition, no key of it can be in the index.
        groups = task.data.groups
        keys = {key for key in _counted_keys(task.data) if not numbers or group_number(key, groups) in numbers}
    elsewhere: dict[str, Location] = {}
    stale: list[KeyDifference] = []
    for group in task.index:
        for key, location in index_locations(group):
            if not _is_in_place(group, key, location):
                continue
            if location != task.location:
                if key in keys:
                    elsewhere[key] = location
            elif key in keys:
                keys.remove(key)
            else:
                stale.append(KeyDifference(key, location, False))
    differing = [KeyDifference(key, elsewhere.get(key), True) for key in keys] + stale
    return Compared(task.location, tuple(nsmallest(MOST_KEYS, differing, key=lambda found: found.key)), len(differing))


def _is_in_place(task: IndexGroup, key: str, location: Location) -> bool:
    """Whether readers look the key up in this file group of the index."""
    return task.partition in (None, location.partition) and group_number(key, task.groups) == task.number


def index_locations(task: IndexGroup) -> Iterator[tuple[str, Location]]:
    """The keys of a file group of the record index, with the file group of the data that it has for each."""
    for key, location in index_records(task.files, decode_location):
        if task.only is None or location in task.only:
            yield key, location


def index_records(
    files: MergedSlice, decode: Callable[[Record], Value], combine: Callable[[Value, Value], Value] | None = None
) -> Iterator[tuple[str, Value]]:
    """The records of a file group of the metadata table, by key, as readers merge them: logs first, then with the base
    file. Those of logs are held in memory.

    Args:
        decode: makes a value of a record.
        combine: makes one value of an older and a newer one; without it the newer one counts.

    Raises:
        Unreadable, Unsupported, FileNotFoundError, StorageFailed.
    """
    from hudictl.formats.log_contents import base_block, read_deletes

    later: dict[str, Value] = {}
    gone: set[str] = set()
    for at, block, read_at in _blocks(files):
        with naming(at.log):
            if block.block_type == DELETE:
                deleted = {record.record_key or "" for record in read_deletes(block, read_at)}
                gone |= deleted
                later = {key: value for key, value in later.items() if key not in deleted} if deleted else later
            else:
                for key, value in _decoded(files, block, read_at, decode):
                    later[key] = combine(later[key], value) if combine and key in later else value
    if files.base is not None:
        with naming(files.base):
            read_at = reader_of(files.storage, files.base)
            for key, value in _decoded(files, base_block(read_at, files.base.size), read_at, decode):
                if key in later:
                    newer = later.pop(key)
                    yield key, combine(value, newer) if combine and key not in gone else newer
                elif key not in gone:
                    yield key, value
    yield from later.items()


def _decoded(
    files: MergedSlice, block: Block, read_at: ReadAt, decode: Callable[[Record], Value]
) -> Iterator[tuple[str, Value]]:
    from hudictl.formats.log_contents import HFILE_KEY, read_records

    for record in read_records(block, read_at, raw=True, named=True, only=files.keys):
        yield str(record.get(HFILE_KEY)), decode(record)


@dataclass(frozen=True, slots=True)
class StatisticsTask:
    """A file group of the column statistics; ``names`` are the files of the data that are looked at."""

    files: MergedSlice
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class GroupFiles:
    """The files that a file group of an index has entries for, and the columns of those that are looked at."""

    files: frozenset[str]
    columns: frozenset[str]


@dataclass(frozen=True, slots=True)
class FooterTask:
    """Base files whose footers are read; ``columns`` are those of interest."""

    storage: Storage
    files: tuple[File, ...]
    columns: frozenset[str]


def named_in_statistics(task: StatisticsTask) -> GroupFiles:
    """The names in a file group of the column statistics."""
    files, columns = set(), set()
    for entry in _column_entries(task.files):
        files.add(entry.file)
        if entry.file in task.names:
            columns.add(entry.column)
    return GroupFiles(frozenset(files), frozenset(columns))


def statistics_of_index(task: StatisticsTask) -> "list[ColumnEntry]":
    """What a file group of the column statistics says of the files that are looked at."""
    return [entry for entry in _column_entries(task.files) if entry.file in task.names]


def statistics_of_footers(task: FooterTask) -> "list[dict[str, Statistics]]":
    """The statistics in the footers of base files, by column."""
    from hudictl.formats.parquet_footers import column_statistics, read_footer

    found = []
    for file in task.files:
        with naming(file):
            found.append(column_statistics(read_footer(reader_of(task.storage, file), file.size), task.columns))
    return found


@dataclass(frozen=True, slots=True)
class Filters:
    """The digests of the filters in a file group of the bloom filters, by key."""

    by_key: dict[str, bytes]


def filters_of_index(task: MergedSlice) -> Filters:
    """The bloom filters in a file group of the index."""
    from hudictl.formats.index_records import decode_bloom_filter

    found = index_records(task, decode_bloom_filter)
    return Filters({key: _filter_digest(*kept) for key, kept in found if kept is not None})


def filters_of_footers(task: FooterTask) -> list[bytes | None]:
    """The digests of the bloom filters in the footers of base files; None if there is none."""
    from hudictl.formats.bloom_filters import FILTER, FILTER_TYPE, SIMPLE
    from hudictl.formats.parquet_footers import own_entries, read_footer

    found = []
    for file in task.files:
        with naming(file):
            entries = own_entries(read_footer(reader_of(task.storage, file), file.size))
            text = entries.get(FILTER)
            found.append(None if text is None else _filter_digest(entries.get(FILTER_TYPE, SIMPLE), text.encode()))
    return found


def _filter_digest(kind: str, body: bytes) -> bytes:
    return blake2b(kind.encode() + b"\0" + body, digest_size=_DIGEST_BYTES).digest()


def _column_entries(files: MergedSlice) -> "Iterator[ColumnEntry]":
    from hudictl.formats.column_stats import combine_entries, decode_column_entry

    for _, entry in index_records(files, decode_column_entry, combine_entries):
        if not entry.deleted:
            yield entry


def _counted_keys(task: DataSlice) -> set[str]:
    """The different keys of a file group of the data: the index has each once."""
    keys = data_keys(task.files, task.rule, task.millis)
    if task.only is None:
        return set(keys)
    return {key for key in keys if group_number(key, task.groups) in task.only}


def data_keys(files: MergedSlice, rule: "MergeRule | None", millis: frozenset[str]) -> Iterator[str]:
    """The keys of the records that a query reads of a slice. Raises Unreadable: damaged, or a record without a key;
    Unsupported, FileNotFoundError, StorageFailed."""
    if rule is None or not files.blocks:
        for row in _base_rows(files, [RECORD_KEY]):
            yield _key(row)
        return
    for record in data_records(files, rule, millis):
        yield record.key


def data_records(
    files: MergedSlice, rule: "MergeRule | None", millis: frozenset[str], more: Sequence[str] = ()
) -> "Iterator[Buffered[Place]]":
    """The records that a query reads of a slice: in their rows are the columns of the merge, and ``more`` ones.

    Raises as ``data_keys``.
    """
    from dataclasses import replace

    from hudictl.formats.record_merge import Buffered, data_record, merge_base, merge_logs

    if rule is None or not files.blocks:
        for place, row in _numbered_rows(files, [RECORD_KEY, *more]):
            yield Buffered(_key(row), row, None, False, False, place)
        return
    marker = (rule.marker[0],) if rule.marker else ()
    columns = [RECORD_KEY, _DELETED, _OPERATION, *(name.split(".")[0] for name in rule.ordering), *marker, *more]
    some: list[bool] = []
    logs = merge_logs(rule, _log_records(files, rule, columns, some))
    base = (data_record(rule, _key(row), row, millis, place) for place, row in _numbered_rows(files, columns))
    yield from merge_base(replace(rule, partial=bool(some)), base, logs)


def _log_records(
    files: MergedSlice, rule: "MergeRule", columns: Sequence[str], partial: list[bool]
) -> "Iterator[Buffered[Place]]":
    """The records of the blocks, with these columns only. ``partial`` is not empty after a block of partial rows."""
    from hudictl.formats.avro_schemas import parse_schema
    from hudictl.formats.log_blocks import SCHEMA
    from hudictl.formats.log_contents import read_deletes, read_records
    from hudictl.formats.record_merge import data_record, delete_record
    from hudictl.formats.schema_evolution import columns_in_millis

    for at, block, read_at in _blocks(files):
        place = Place(at.log.path, at.offset, block.instant)
        with naming(at.log):
            if block.block_type == DELETE:
                yield from (delete_record(deleted, place) for deleted in read_deletes(block, read_at))
                continue
            some = block.header.get(IS_PARTIAL) == "true"
            partial += [True] if some else []
            millis = columns_in_millis(parse_schema(block.header.get(SCHEMA, "")))
            for row in read_records(block, read_at):
                kept = {name: row[name] for name in columns if name in row}
                yield data_record(rule, _key(row), kept, millis, place, partial=some)


def _numbered_rows(files: MergedSlice, columns: Sequence[str]) -> Iterator[tuple[Place, dict[str, Any]]]:
    if files.base is not None:
        for number, row in enumerate(_base_rows(files, columns)):
            yield Place(files.base.path, number), row


def _base_rows(files: MergedSlice, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    from hudictl.formats.base_rows import read_rows

    if files.base is not None:
        path, size = files.base
        with naming(files.base):
            yield from read_rows(path, reader_of(files.storage, files.base), size, list(dict.fromkeys(columns)))


def _key(row: dict[str, Any]) -> str:
    key = row.get(RECORD_KEY)
    if key is None:
        raise Unreadable("a record has no key")
    return str(key)


def _blocks(files: MergedSlice) -> Iterator[tuple[BlockAt, Block, ReadAt]]:
    """The blocks of a slice, with the reader of each one's log."""
    for at in files.blocks:
        read_at = reader_of(files.storage, at.log)
        with naming(at.log):
            yield at, next(read_blocks(read_at, at.log.size, start=at.offset, strict=True)), read_at


def reader_of(storage: Storage, file: File) -> ReadAt:
    def read(offset: int, length: int) -> bytes:
        body = storage.read(file.path, offset, length)
        if len(body) < min(length, file.size - offset):
            raise StorageFailed(f"{file.path} became shorter than the {file.size} bytes in its listing")
        return body

    return read


@contextmanager
def naming(file: File) -> Iterator[None]:
    """Adds the file's path to errors of code that reads only bytes."""
    try:
        yield
    except (Unreadable, Unsupported) as error:
        if "file" in error.fields:
            raise
        raise type(error)(f"{file.path}: {error.message}", hint=error.hint, file=file.path) from error
