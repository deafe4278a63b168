"""``log records --merged``: the records that a reader gets from a file slice."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from hudictl.errors import NotFound, Unreadable, Unsupported, UsageError
from hudictl.formats import internal_schemas
from hudictl.formats.avro_schemas import Schema, parse_schema
from hudictl.formats.base_rows import META_COLUMNS, read_rows, require_rows
from hudictl.formats.instants import SKELETONS
from hudictl.formats.layouts import SCHEMAS, SCHEMAS_END
from hudictl.formats.limits import RECORD_BYTES
from hudictl.formats.log_blocks import CDC_DATA, DELETE, IS_PARTIAL, Block
from hudictl.formats.log_contents import DATA_BLOCKS, Row, read_deletes, read_records
from hudictl.formats.record_merge import (
    COMMIT_TIME,
    EVENT_TIME,
    Buffered,
    MergeRule,
    data_record,
    delete_record,
    in_merge_order,
    merge_base,
    merge_logs,
)
from hudictl.formats.schema_evolution import columns_in_millis, defaults, reader
from hudictl.reports.logs.records import RecordRow, Wanted, block_schema, check_columns, record_key
from hudictl.reports.logs.slices import SliceRow, files_of_partition, slice_rows
from hudictl.reports.schemas import newest_schema
from hudictl.storage.base import entries_of, read_whole
from hudictl.table.files.slices import Group, StoredFile
from hudictl.table.logs.merge import merge_rule
from hudictl.table.logs.reader import LogFile, naming_log
from hudictl.table.logs.scan import REPLACED, VALID, Judged, ScanRule, judged_blocks, scan_rule
from hudictl.table.table import Table, data_table_of
from hudictl.table.timeline.active import Timeline, load_timeline

DELETED = "deleted"


@dataclass(frozen=True)
class ReadSlice:
    """The files that a query reads of a file group: one slice, or the slice of a pending compaction and the one before.

    ``base`` is None if there are only logs; ``logs`` are in reading order, without change logs.
    """

    table: Table
    base: LogFile | None
    logs: tuple[LogFile, ...]
    as_of: str | None

    @property
    def files(self) -> tuple[LogFile, ...]:
        return ((self.base,) if self.base else ()) + self.logs


@dataclass(frozen=True, slots=True)
class _RecordSource:
    """The origin of a record: a block, or a base file."""

    file: str
    index: int | None
    block_type: str | None
    instant: str | None


@dataclass(frozen=True)
class _Reading:
    """How the records of a slice are read."""

    table: Table
    rule: MergeRule
    schema: Schema | None
    wanted: Wanted

    @property
    def columns(self) -> tuple[str, ...]:
        """Hudi's own columns, which are not in the table's schema."""
        properties = self.table.properties
        operation = properties.get("hoodie.allow.operation.metadata.field") == "true"
        own = META_COLUMNS + (("_hoodie_operation",) if operation else ())
        return () if properties.get("hoodie.populate.meta.fields") == "false" else own


_Views = dict[tuple[str, str], list[SliceRow]]
"""By table and partition: what readers see there."""
_Found = tuple[str, tuple[str, str, str], ReadSlice | None]
"""A path, the key of its file group, and the files that a query reads of it; None if it reads none."""


def slices_of(
    logs: Iterable[LogFile], folders: Iterable[LogFile], as_of: str | None, notes: list[str]
) -> list[ReadSlice]:
    """The slices of some logs and base files, and all of some partitions, each once, as a query reads them now or as of
    an instant: the newest of each file group.

    Args:
        folders: the partitions, each as a file without name.
        notes: gets the files that readers do not see, if they see others.

    Raises:
        UsageError: a file or folder outside of tables, or a file that is not a log or base file.
        NotFound: readers see none of the files, or nothing in the partitions.
        Unsupported: a slice that hudictl cannot merge.
        Unreadable, StorageFailed.
    """
    views: _Views = {}
    opened = [*_of_folders(folders, as_of, views), *_of_files(logs, as_of, views)]
    unseen = [uri for uri, _, found in opened if found is None]
    found = {key: read for _, key, read in opened if read is not None}

    said = [f"{uri} is in no file slice that queries read" + (f" as of {as_of}" if as_of else "") for uri in unseen]
    if said and not found:
        raise NotFound(
            said[0],
            hint="queries skip uncommitted, replaced, older and later files, and change logs: see `file slices`",
            path=unseen[0],
        )

    notes += said
    return list(found.values())


def _of_folders(folders: Iterable[LogFile], as_of: str | None, views: _Views) -> Iterator[_Found]:
    """The slices that a query reads of each partition; None for one without slices. Raises UsageError."""
    for place in folders:
        if place.table is None:
            raise UsageError(f"{place.uri} is not in a table", hint="without --merged no table is needed")
        rows = _seen(place, place.table, as_of, views)
        reads = [newest_of(list(group)) for _, group in groupby(rows, key=lambda row: row.file_id)]
        for read in reads:
            yield place.uri, (place.table.uri, place.folder, read[0].file_id), slice_to_read(place, read, as_of)
        if not reads:
            yield place.uri, (place.table.uri, place.folder, ""), None


def _of_files(logs: Iterable[LogFile], as_of: str | None, views: _Views) -> Iterator[_Found]:
    """The slice of each log or base file; None where queries do not read it. Raises UsageError."""
    for log in logs:
        table, data = log.table, log.data
        if table is None or data is None:
            raise UsageError(
                f"{log.uri} is not a log or base file of a table", hint="without --merged no table is needed"
            )
        rows = _seen(log, table, as_of, views)
        read = newest_of([row for row in rows if row.file_id == data.file_id])
        names = {name for row in read for name in (row.base_file, *(view.name for view in row.logs))}
        opened = slice_to_read(log, read, as_of) if log.name in names and not data.cdc else None
        yield log.uri, (table.uri, log.folder, data.file_id), opened


def _seen(log: LogFile, table: Table, as_of: str | None, views: _Views) -> list[SliceRow]:
    if (table.uri, log.folder) not in views:
        views[table.uri, log.folder] = _view(table, log.folder, as_of)
    return views[table.uri, log.folder]


def _view(table: Table, partition: str, as_of: str | None) -> list[SliceRow]:
    require_mergeable(table)
    return slice_rows(table, files_of_partition(table, partition), load_timeline(table), as_of)


def require_mergeable(table: Table) -> None:
    """Raises Unsupported: a table whose slices hudictl does not merge."""
    if not table.rules.known:
        raise Unsupported(f"{table.uri} has table version {table.version}: hudictl does not know how to merge it")
    if data_table_of(table) is not None:
        raise Unsupported(
            f"{table.uri} is a metadata table: hudictl does not merge its records",
            hint="`metadata files` shows what it lists; `log records` without --merged shows the records one by one",
        )


def merged_rows(found: ReadSlice, wanted: Wanted, notes: list[str], with_deleted: bool = False) -> Iterator[RecordRow]:
    """The records of a slice: those of its base file, in its order, then those that are only in logs.

    The logs' records are kept in memory; the base file is streamed.

    Args:
        notes: gets a description of the merge, and the files.
        with_deleted: also the records that a query does not read because they are deleted, with the fate "deleted".

    Raises:
        Unsupported: the table merges in a way that hudictl does not know.
        UsageError: a column that the table does not have.
        Unreadable, Conflict, StorageFailed.
    """
    table = found.table
    scan = scan_as_of(scan_rule(table), found.as_of)
    blocks = merged_blocks(found, scan)
    times = {found.base.data.instant} if found.base and found.base.data else set()
    _require_names(table, scan, times | {judged.block.instant or "0" for judged in blocks})

    _, text = newest_schema(table, found.as_of or "~") or (None, "")
    schema = parse_schema(text) if text else _newest_schema(blocks)
    partial = any(_is_partial(judged.block) for judged in blocks)
    rule = replace(merge_rule(table, scan.release), defaults=defaults(text) if text else {})
    reading = _Reading(table, rule, schema, wanted)

    notes.append(_described(found, reading.rule))
    if schema is not None:
        check_columns(wanted.columns, (*reading.columns, *schema.fields))

    logs = merge_logs(reading.rule, _log_records(reading, blocks))
    read_up = _reader(reading)
    final = replace(reading.rule, partial=partial)
    for record in merge_base(final, _base_records(reading, found.base), logs, with_deleted):
        source = record.source
        row = wanted.cut(read_up(record.row or {}))
        fate = DELETED if record.deleted else VALID
        yield RecordRow(source.file, source.index, source.block_type, source.instant, fate, record.key, row)


def _require_names(table: Table, scan: ScanRule, times: Collection[str]) -> None:
    """Raises Unsupported: by the ids of schema on read, a column had another name at one of these times."""
    names = (entry.name for entry in entries_of(table.storage, SCHEMAS))
    kept = {name: re.split(r"\D", name)[0] for name in names if name.endswith(SCHEMAS_END)}
    valid = [name for name, time in kept.items() if time and scan.takes(time)]
    if not valid:
        return
    last = f"{SCHEMAS}/{max(valid)}"
    try:
        history = internal_schemas.read_history(read_whole(table.storage, last, RECORD_BYTES))
        now = internal_schemas.in_force(history, scan.last)
        found = [(internal_schemas.other_name(internal_schemas.in_force(history, time), now), time) for time in times]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(f"{last} is no history of schemas: {error!r}", file=last) from error
    for name, time in sorted(found):
        if name:
            raise Unsupported(
                f"the column {name} was another one, or had another name, at {time}: hudictl merges columns by name",
                hint="without --merged the records of the blocks are shown one by one, with the columns of their time",
            )


def _described(found: ReadSlice, rule: MergeRule) -> str:
    by = f"{rule.mode} of {', '.join(rule.ordering)}" if rule.mode == EVENT_TIME and rule.ordering else rule.mode
    if rule.mode == COMMIT_TIME and rule.ordered_logs and rule.ordering:
        by += f" (records of logs with each other: by {', '.join(rule.ordering)})"
    names = ", ".join(file.name for file in found.files)
    return f"merged as Hudi {rule.release} reads {found.table.uri}, by {by}: {names}"


def newest_of(rows: Sequence[SliceRow]) -> Sequence[SliceRow]:
    """Of the slices of a file group, newest first, those that a query reads together."""
    return rows[:2] if rows and rows[0].opened_by_compaction else rows[:1]


def slice_to_read(log: LogFile, rows: Sequence[SliceRow], as_of: str | None) -> ReadSlice:
    """Raises Unsupported."""
    table = log.table
    assert table is not None
    base = next((row for row in rows if row.base_file), None)
    if base is not None and base.base_instant == SKELETONS:
        raise Unsupported(f"{base.base_file} is of a bootstrap of metadata only: its rows are outside the table")

    def member(name: str, size: int | None) -> LogFile:
        return replace(log, name=name, size=size or 0)

    logs = [member(view.name, view.bytes) for row in reversed(rows) for view in row.logs]
    base_file = member(base.base_file, base.base_bytes) if base and base.base_file else None
    if base_file is not None:
        require_rows(base_file.path)
    return ReadSlice(
        table,
        base_file,
        tuple(entry for entry in logs if entry.data and not entry.data.cdc),
        as_of,
    )


def slices_to_read(
    table: Table, files: Sequence[StoredFile], timeline: Timeline, as_of: str | None
) -> Iterator[tuple[Group, ReadSlice | Unsupported]]:
    """What is read of each file group of some files, or why it cannot be merged."""
    groups = groupby(slice_rows(table, files, timeline, as_of), key=lambda row: (row.partition, row.file_id))
    for group, slices in groups:
        try:
            place = LogFile(table.storage, table, group[0], "", 0)
            yield group, slice_to_read(place, newest_of(list(slices)), as_of)
        except Unsupported as error:
            yield group, error


def scan_as_of(scan: ScanRule, as_of: str | None) -> ScanRule:
    """The rule as of an instant: later instants do not count."""
    if as_of is None:
        return scan
    completed = frozenset(time for time in scan.completed if time <= as_of)
    # For archived instants, too.
    return replace(scan, completed=completed, first=min(scan.first, f"{as_of}0"), last=as_of)


def merged_blocks(found: ReadSlice, scan: ScanRule) -> list[Judged]:
    """The blocks that a merge uses, in its order."""
    blocks = [
        judged
        for judged in judged_blocks(found.logs, {log.name for log in found.logs}, scan)
        if judged.fate.name in (VALID, REPLACED)
        and (judged.block.block_type == DELETE or judged.block.block_type in DATA_BLOCKS)
    ]
    change = next((judged for judged in blocks if judged.block.block_type == CDC_DATA), None)
    if change is not None:
        raise Unsupported(f"{change.log.uri} has change data in a normal log: no Hudi release reads that")
    return [blocks[number] for number in in_merge_order([judged.block for judged in blocks], scan.release)]


def _is_partial(block: Block) -> bool:
    return block.header.get(IS_PARTIAL) == "true"


def _newest_schema(blocks: Sequence[Judged]) -> Schema | None:
    data = [found.block for found in blocks if found.block.block_type != DELETE]
    whole = [block for block in data if not _is_partial(block)]
    return block_schema(whole[-1]) if whole else None


def _reader(reading: _Reading) -> Callable[[Mapping[str, Any]], Row]:
    return reader(reading.schema, reading.columns) if reading.schema else dict


def _log_records(reading: _Reading, blocks: Iterable[Judged]) -> Iterator[Buffered[_RecordSource]]:
    for found in blocks:
        block = found.block
        source = _RecordSource(found.log.path, found.index, block.block_type, block.instant)
        with naming_log(found.log, Unreadable):
            if block.block_type == DELETE:
                yield from _deletes(reading, found, source)
            else:
                rows = read_records(block, found.read_at)
                yield from _buffered(reading, block_schema(block), rows, source, _is_partial(block))


def _deletes(reading: _Reading, found: Judged, source: _RecordSource) -> Iterator[Buffered[_RecordSource]]:
    for deleted in read_deletes(found.block, found.read_at):
        if reading.wanted.has(deleted.record_key):
            yield delete_record(deleted, source)


def _base_records(reading: _Reading, base: LogFile | None) -> Iterator[Buffered[_RecordSource]]:
    if base is None or base.data is None:
        return
    source = _RecordSource(base.path, None, None, base.data.instant)
    with naming_log(base, Unreadable, Unsupported):
        yield from _buffered(reading, reading.schema, read_rows(base.name, base.read_at, base.size), source, False)


def _buffered(
    reading: _Reading, schema: Schema | None, rows: Iterable[Row], source: _RecordSource, partial: bool
) -> Iterator[Buffered[_RecordSource]]:
    """Raises Unreadable: a record without a key."""
    millis = columns_in_millis(schema) if schema else frozenset()
    key_of = record_key(schema, None, reading.table, reading.columns)
    for row in rows:
        key = key_of(row)
        if key is None:
            raise Unreadable("a record has no key")
        if reading.wanted.has(key):
            yield data_record(reading.rule, key, row, millis, source, partial=partial)
