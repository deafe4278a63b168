"""``record duplicates``: keys that queries read more than once, in a partition or in the table.

Keys do not come to this process. First each file group has the digests of its keys, which are compared on the engine;
only file groups with a digest that is there twice are read again, for the keys that have it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, groupby
from posixpath import basename

from hudictl.engine.base import Engine, look_at, values
from hudictl.errors import HudictlError, Unsupported
from hudictl.formats.base_rows import RECORD_KEY
from hudictl.formats.file_names import base_format
from hudictl.index_workers import BlockAt, File, MergedSlice, Tried
from hudictl.phrases import count_of
from hudictl.record_workers import CopiesTask, KeyCopy, SliceKeys, copies_of, digests_of, doubled
from hudictl.reports.as_of import tell_what_is_gone
from hudictl.reports.logs.merged import ReadSlice, merged_blocks, require_mergeable, scan_as_of, slices_to_read
from hudictl.reports.logs.slices import files_of_partition, files_of_table
from hudictl.reports.schemas import newest_millis
from hudictl.table.files.slices import Group
from hudictl.table.logs.merge import merge_rule
from hudictl.table.logs.scan import ScanRule, scan_rule
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline

_READERS = 16
_BYTES_OF_PART = 64 * 1024 * 1024
_MOST_PARTS = 256
"""The digests of a part of a scope are in memory together."""
_AT_ONCE = 64
"""So many file groups with duplicates are read again at a time, and always whole partitions: the rows come sorted."""

Copies = list[tuple[Group, KeyCopy]]


@dataclass(frozen=True)
class DuplicateRecord:
    """A record whose key queries read several times, within its partition or the table.

    ``position``: the number of its row in a base file, from 0; or the offset of its block in a log, in bytes.
    ``kept``: Hudi's repair_deduplicate keeps it; null as of an instant, and on merge on read: that procedure reads no
    logs. ``repair_sql``: its call, as a dry run; null as of an instant. ``problem``: what was not read; there may be
    duplicates, too.
    """

    key: str | None
    partition: str
    file_id: str
    copies: int | None = None
    file: str | None = None
    kind: str | None = None
    position: int | None = None
    instant: str | None = None
    kept: bool | None = None
    repair_sql: str | None = None
    problem: str | None = None


def duplicate_rows(
    table: Table, partition: str | None, as_of: str | None, everywhere: bool, engine: Engine, notes: list[str]
) -> Iterator[DuplicateRecord]:
    """The records with a key that is there twice, by partition and key: now, or as of an instant.

    Args:
        partition: look here only.
        everywhere: compare the keys of all partitions with each other; then by key and partition.
        notes: gets, behind the last row, what was looked at and found.

    Raises:
        Unsupported: a table whose records hudictl does not merge, or whose keys it does not know.
        NotFound: no such partition.
        Unreadable, Conflict, StorageFailed, EngineFailed.
    """
    require_mergeable(table)
    if table.properties.get("hoodie.populate.meta.fields") == "false":
        raise Unsupported(f"the table has no column {RECORD_KEY}: hudictl does not look for duplicates in it")
    timeline = load_timeline(table)
    stored = files_of_table(table, timeline, engine) if partition is None else files_of_partition(table, partition)
    groups: list[Group] = []
    reads: list[ReadSlice] = []
    for group, read in slices_to_read(table, stored, timeline, as_of):
        if isinstance(read, Unsupported):
            yield DuplicateRecord(None, *group, problem=read.message)
        else:
            reads.append(read)
            groups.append(group)

    tasks = _tasks(table, groups, reads, as_of, everywhere)
    digests: dict[int, bytes] = defaultdict(bytes)
    gathered = engine.gather("read keys", digests_of, tasks)
    for number, found in chain.from_iterable(look_at(gathered, "compare keys", doubled)):
        if isinstance(found, HudictlError):
            yield DuplicateRecord(None, *groups[number], problem=found.message)
        else:
            digests[number] += found
    keys = records = 0
    first = ""
    for copies in _copies(engine, groups, tasks, digests):
        if isinstance(copies, DuplicateRecord):
            yield copies
            continue
        keys, records, first = keys + 1, records + len(copies), first or copies[0][0][0]
        yield from _rows(table, copies, now=as_of is None)
    tell_what_is_gone(table, timeline, as_of, notes)
    notes.append(f"Looked at {count_of(len(groups), 'file group')}.")
    if keys:
        notes.append(f"Queries read {count_of(keys, 'key')} more than once: {count_of(records, 'record')}.")
    if keys and as_of is None:
        notes.append(
            f"Hudi's own repair of a partition, in Spark SQL: {_sql(table, first)}. It compares base files only, keeps "
            "the records of the newest commit, and fails if these are several, or in one file with older ones."
        )


def _copies(
    engine: Engine, groups: Sequence[Group], tasks: Sequence[SliceKeys], digests: Mapping[int, bytes]
) -> "Iterator[Copies | DuplicateRecord]":
    """The records of each key that is there twice, by scope and key; or a row for a slice that cannot be read."""
    for batch in _batches(sorted(digests), tasks):
        again = [CopiesTask(tasks[number], digests[number]) for number in batch]
        read = values(engine.map("look for duplicates", Tried(copies_of), again), "read")
        by_key: dict[tuple[str, str], Copies] = defaultdict(list)
        for number, some in zip(batch, read, strict=True):
            if isinstance(some, HudictlError):
                yield DuplicateRecord(None, *groups[number], problem=some.message)
                continue
            for copy in some:
                by_key[tasks[number].scope, copy.key].append((groups[number], copy))
        yield from (copies for _, copies in sorted(by_key.items()) if len(copies) > 1)


def _tasks(
    table: Table, groups: Sequence[Group], reads: Sequence[ReadSlice], as_of: str | None, everywhere: bool
) -> list[SliceKeys]:
    """Reads the headers of the logs here, several at a time."""
    scan = scan_as_of(scan_rule(table), as_of)
    with ThreadPoolExecutor(_READERS, thread_name_prefix="headers") as pool:
        slices = list(pool.map(lambda read: _merged(read, scan), reads))
    rule = merge_rule(table, table.rules.reads_as) if any(entry.blocks for entry in slices) else None
    millis = newest_millis(table, as_of or "~") if rule else frozenset()
    scopes = ["" if everywhere else partition for partition, _ in groups]
    sizes: dict[str, int] = defaultdict(int)
    for scope, read in zip(scopes, reads, strict=True):
        sizes[scope] += sum(file.size for file in read.files)
    parts = min(_MOST_PARTS, 1 + max(sizes.values(), default=0) // _BYTES_OF_PART)
    return [
        SliceKeys(number, scope, parts, files, rule, millis)
        for number, (scope, files) in enumerate(zip(scopes, slices, strict=True))
    ]


def _merged(read: ReadSlice, scan: ScanRule) -> MergedSlice:
    base = File(read.base.path, read.base.size) if read.base else None
    blocks = merged_blocks(read, scan) if read.logs else ()
    found = (BlockAt(File(one.log.path, one.log.size), one.block.offset) for one in blocks)
    return MergedSlice(read.table.storage, base, tuple(found))


def _batches(numbers: Sequence[int], tasks: Sequence[SliceKeys]) -> Iterator[list[int]]:
    """The slices to read again, whole scopes at a time."""
    batch: list[int] = []
    for _, members in groupby(numbers, key=lambda number: tasks[number].scope):
        batch += members
        if len(batch) >= _AT_ONCE:
            yield batch
            batch = []
    yield batch


def _rows(table: Table, copies: Copies, *, now: bool) -> Iterator[DuplicateRecord]:
    by_partition: dict[str, list[KeyCopy]] = defaultdict(list)
    for (partition, _), copy in copies:
        by_partition[partition].append(copy)
    kept = {path: _kept(some) for path, some in by_partition.items()} if now and table.is_cow else {}
    for (partition, file_id), copy in sorted(copies):
        yield DuplicateRecord(
            copy.key,
            partition,
            file_id,
            len(copies),
            basename(copy.file),
            "base" if base_format(copy.file) else "log",
            copy.position,
            copy.instant,
            kept.get(partition, {}).get((copy.file, copy.position)),
            _sql(table, partition) if now else None,
        )


def _kept(copies: Sequence[KeyCopy]) -> Mapping[tuple[str, int], bool]:
    """Whether Hudi keeps each of the records with one key in one partition: those of the newest commit; but it takes
    the key out of each file that has an older one. Seen on 0.15.0, 1.0.2 and 1.2.0."""
    times = {copy: int(copy.instant) for copy in copies if copy.instant and copy.instant.isdigit()}
    if len(times) < len(copies):
        return {}
    newest = max(times.values())
    older = {copy.file for copy, time in times.items() if time != newest}
    return {(copy.file, copy.position): time == newest and copy.file not in older for copy, time in times.items()}


def _sql(table: Table, partition: str) -> str:
    name, path = (text.replace("\\", "\\\\").replace("'", "\\'") for text in (table.name, partition))
    return (
        f"CALL repair_deduplicate(table => '{name}', duplicated_partition_path => '{path}', "
        "repaired_output_path => '/tmp/deduplicated', dry_run => true, dedupe_type => 'insert_type')"
    )
