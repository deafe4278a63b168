"""``log inspect``: one row for each block of some logs, from the blocks' headers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from hudictl import workers
from hudictl.engine.base import Engine, values
from hudictl.engine.local import LocalEngine
from hudictl.errors import NotFound, Unreadable, Unsupported
from hudictl.formats.instants import COMMIT_ACTIONS
from hudictl.formats.log_blocks import CORRUPT
from hudictl.formats.log_contents import record_count
from hudictl.reports.logs.slices import files_of_table
from hudictl.table.files.choose import is_log
from hudictl.table.files.slices import StoredFile
from hudictl.table.files.view import list_partition, partition_named
from hudictl.table.logs.reader import LogFile, in_slices, logs_alone
from hudictl.table.logs.scan import VALID, BlockRef, Judged, ScanRule, judged_blocks, scan_rule
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline
from hudictl.table.timeline.commits import read_commit


@dataclass(frozen=True)
class BlockRow:
    """A block. ``file`` is below ``table``, or the complete path if no table is known; offsets and bytes are in the
    file.

    ``record_count`` is None if only decoding can determine it, or nothing can. ``fate_by`` is the block that decided
    the fate. ``damage`` describes a corrupt block, which has no header, or the damaged content of another block.
    """

    table: str | None
    file: str
    index: int
    offset: int
    block_type: str
    format_version: int | None
    instant: str | None
    target_instant: str | None
    record_count: int | None
    content_offset: int
    content_bytes: int
    block_bytes: int
    fate: str
    fate_by: BlockRef | None
    header: Mapping[str, str]
    footer: Mapping[str, str]
    damage: str | None


@dataclass
class Totals:
    """The totals of a stream of rows; ``corrupt`` are the damaged ranges as (file, offset, bytes)."""

    blocks: int = 0
    records: int = 0
    valid_records: int = 0
    uncounted: int = 0
    fates: dict[str, int] = field(default_factory=dict)
    corrupt: list[tuple[str, int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class LogSelection:
    """The logs of one table that match all conditions. ``instant`` selects the logs with a block of that instant, or a
    rollback block for it."""

    partition: str | None = None
    file_id: str | None = None
    instant: str | None = None


def inspect_logs(logs: Sequence[LogFile], notes: list[str]) -> Iterator[BlockRow]:
    """The rows of ``judged_logs``. Raises the same; UsageError: a base file among the logs; Unsupported: behind the
    last row, a log of another format version."""
    logs_alone(logs)
    foreign: list[Unsupported] = []
    yield from (_row(found) for found in judged_logs(logs, notes, foreign.append))
    if foreign:
        raise foreign[0]


def judged_logs(
    logs: Sequence[LogFile], notes: list[str], foreign: Callable[[Unsupported], object]
) -> Iterator[Judged]:
    """The blocks of some logs, slice by slice, in the order in which Hudi reads them.

    Args:
        notes: gets additional messages.
        foreign: gets the error of each log of another format version; its blocks before that are returned.

    Raises:
        Conflict: a log disappeared meanwhile.
        StorageFailed.
    """
    rules: dict[str, ScanRule | None] = {}
    unread: set[str] = set()

    def passed(error: Unsupported) -> None:
        unread.add(error.fields["file"])
        foreign(error)

    notes += [f"{log.uri} is empty: its writer probably died before the first block" for log in logs if not log.size]
    for members, asked in in_slices(logs):
        table = members[0].table
        if table is not None and table.uri not in rules:
            rules[table.uri] = _rule(table, notes)
        ends = dict.fromkeys(asked, 0)
        for found in judged_blocks(members, asked, rules[table.uri] if table else None, passed):
            ends[found.log.name] = found.block.end
            yield found
        for log in members:
            end = ends.get(log.name, log.size)
            if end < log.size and log.path not in unread:
                notes.append(f"{log.uri}: {log.size - end:,} bytes at {end:,} belong to no block")


def _rule(table: Table, notes: list[str]) -> ScanRule | None:
    if not table.rules.known:
        notes.append(f"table version {table.version} of {table.uri} is not known: the fates of blocks are not shown")
        return None
    try:
        rule = scan_rule(table)
    except Unreadable as error:
        notes.append(f"the fates of blocks of {table.uri} are not known: {error.message}")
        return None
    notes.append(f"fates of blocks are shown as Hudi {rule.release} reads {table.uri}")
    return rule


def _row(found: Judged) -> BlockRow:
    log, block = found.log, found.block
    records, damage = _records(found)
    return BlockRow(
        table=log.table.uri if log.table else None,
        file=log.shown,
        index=found.index,
        offset=block.offset,
        block_type=block.block_type,
        format_version=block.format_version,
        instant=block.instant,
        target_instant=block.rollback_target,
        record_count=records,
        content_offset=block.content_offset,
        content_bytes=block.content_length,
        block_bytes=block.end - block.offset,
        fate=found.fate.name,
        fate_by=found.fate.by,
        header=block.header,
        footer=block.footer,
        damage=damage,
    )


def _records(found: Judged) -> tuple[int | None, str | None]:
    """How many records a block has, or why this is not known."""
    if found.block.damage is not None:
        return None, found.block.damage
    try:
        return record_count(found.block, found.read_at), None
    except (Unreadable, Unsupported) as error:
        return None, error.message


def counted(rows: Iterable[BlockRow], totals: Totals) -> Iterator[BlockRow]:
    """The same rows, counted."""
    for row in rows:
        totals.blocks += 1
        totals.records += row.record_count or 0
        totals.valid_records += (row.record_count or 0) if row.fate == VALID else 0
        totals.fates[row.fate] = totals.fates.get(row.fate, 0) + 1
        if row.block_type == CORRUPT:
            totals.corrupt.append((row.file, row.offset, row.block_bytes))
        elif row.record_count is None:
            totals.uncounted += 1
        yield row


def select_logs(table: Table, wanted: LogSelection, engine: Engine) -> list[LogFile]:
    """The selected logs of a table, by path.

    Args:
        engine: lists all partitions. It is not used if a partition is specified, or a completed instant of the active
            timeline: its metadata names the partitions.

    Raises:
        NotFound: no log matches.
        Unreadable, StorageFailed, EngineFailed.
    """
    timeline = load_timeline(table)
    partitions = _partitions(table, timeline, wanted)
    chosen = partial(is_log, wanted.file_id)
    if partitions is None:
        logs = files_of_table(table, timeline, engine, chosen)
    else:
        engine = LocalEngine()
        logs = [file for partition in partitions for file in list_partition(table, partition) or () if chosen(file)]
    if wanted.instant is not None:
        logs = _of_instant(table, engine, logs, wanted.instant)
    if not logs:
        said = {"partition": wanted.partition, "file id": wanted.file_id, "instant": wanted.instant}
        what = ", ".join(f"{name} {value!r}" for name, value in said.items() if value is not None)
        raise NotFound(f"{table.uri} has no logs of {what}", hint="`hudictl file slices` lists them")

    logs.sort(key=lambda file: (file.partition, file.data.file_id, file.data.log_order))
    return [LogFile(table.storage, table, file.partition, file.data.name, file.size or 0) for file in logs]


def _partitions(table: Table, timeline: Timeline, wanted: LogSelection) -> list[str] | None:
    """The partitions that may contain selected logs; None for all."""
    if wanted.partition is not None:
        return [partition_named(wanted.partition)]
    instant = timeline.find(wanted.instant, *COMMIT_ACTIONS) if wanted.instant is not None else None
    if instant is None or instant.pending:
        return None
    return sorted(read_commit(table, instant).stats) or None


def _of_instant(table: Table, engine: Engine, logs: list[StoredFile], instant: str) -> list[StoredFile]:
    """The logs with blocks of an instant: by their names from table version 8 on, by their headers before."""
    if table.rules.logs_named_by_writer:
        return [file for file in logs if file.data.instant == instant]
    folders: dict[str, list[tuple[str, int]]] = {}
    for file in logs:
        folders.setdefault(file.partition, []).append((file.data.name, file.size or 0))
    look = partial(workers.logs_naming, frozenset({instant}))
    tasks = [workers.LogTask(table.storage, folder, tuple(names)) for folder, names in folders.items()]
    paths = values(engine.map("read logs", look, tasks), "read logs")
    found = {path for some in paths for path in some}
    return [file for file in logs if file.path in found]
