"""``commit``: what commits did, from their metadata, as Hudi's procedures count it (checked on 0.15.0 to 1.2.0)."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from hudictl.errors import Refused, Unreadable
from hudictl.formats.commit_metadata import checkpoint_of
from hudictl.formats.instants import WRITE_ACTIONS, State
from hudictl.reports.records import (
    NUMBERS,
    Fields,
    Recorded,
    by_partition,
    number,
    records_of,
    schema_of,
    sums_of,
    the_one,
)
from hudictl.reports.timeline import ARCHIVED, Entry, TimelineFilter, instants_readable, instants_shown, tell_damaged
from hudictl.table.files.view import partition_named
from hudictl.table.table import Table
from hudictl.table.timeline.archive import archived_in_order, at_one_time


@dataclass(frozen=True)
class CommitRow:
    """A completed write. ``files_added`` begin a file group, ``files_updated`` go on with one. ``write_amplification``
    is records written for each that was updated. ``schema_changed``: since the write before, None if none was read.
    ``problem``: the file of the write is empty or damaged, and the counts are not known."""

    time: str
    action: str
    operation: str | None
    timeline: str
    requested_utc: str | None
    completed_utc: str | None
    duration_ms: int | None
    files_added: int
    files_updated: int
    partitions: int
    records: int
    inserted: int
    updated: int
    deleted: int
    errors: int
    bytes: int
    write_amplification: float | None
    checkpoint: str | None
    schema_changed: bool | None
    problem: str | None


@dataclass(frozen=True)
class AmplificationRow:
    """A completed write. ``write_amplification`` is records written for each that was updated. ``total``: the last row,
    which is that of all others, also of those not shown."""

    time: str
    records: int
    updated: int
    write_amplification: float | None
    problem: str | None
    total: bool = False


@dataclass(frozen=True)
class CommitPartition:
    """What a commit did to a partition."""

    partition: str
    files_added: int
    files_updated: int
    records: int
    inserted: int
    updated: int
    deleted: int
    errors: int
    bytes: int
    replaced_file_groups: int


@dataclass(frozen=True)
class CommitFile:
    """What a commit wrote to a file. ``previous`` is the commit of the file slice before. The log columns say what a
    compaction read."""

    partition: str
    file_id: str
    file: str | None
    previous: str | None
    records: int
    inserted: int
    updated: int
    deleted: int
    errors: int
    bytes: int
    file_bytes: int
    log_files: int
    log_blocks: int
    corrupt_log_blocks: int
    rollback_blocks: int
    log_records: int


@dataclass(frozen=True)
class CommitDifference:
    """A completed write that one of two tables has, and the other has not."""

    time: str
    action: str
    here: bool
    there: bool


@dataclass(frozen=True)
class CheckpointRow:
    """How far Hudi Streamer had read its source when it wrote a commit: after a restore to this commit, the next run
    goes on from there."""

    time: str
    action: str
    timeline: str
    completed_utc: str | None
    key: str | None
    checkpoint: str | None
    problem: str | None


def commit_rows(
    table: Table,
    wanted: TimelineFilter,
    listed: Sequence[tuple[Entry, str]] | None = None,
    *,
    partition: str | None = None,
) -> Iterator[CommitRow]:
    """The completed writes; ``listed``, if they are listed already; of a partition, those that wrote or replaced files
    in it, and those of which that is not known. Raises Unreadable: see ``tell_damaged``."""
    asked, elsewhere = _completed(wanted), set[tuple[str, str]]()
    path = None if partition is None else partition_named(partition)

    def told(entry: Recorded) -> tuple[CommitRow, str | None]:
        row = _row(entry)
        if path is not None and row.problem is None and path not in _changed(entry.done or {}):
            elsewhere.add((row.time, row.action))
        return row, schema_of(entry)

    shown, damaged = instants_readable(table, asked) if listed is None else (listed, [])
    rows = records_of(table, asked, told, listed=shown)
    compared = _against_older(rows) if wanted.descending else _against_older_first(rows)
    yield from (row for row in compared if (row.time, row.action) not in elsewhere)
    tell_damaged(damaged)


def amplification_rows(table: Table, wanted: TimelineFilter) -> Iterator[AmplificationRow]:
    """The completed writes and their total; nothing if there are none. Raises Unreadable: see ``tell_damaged``."""
    total: tuple[int, int] | None = None
    for row in commit_rows(table, wanted):
        records, updated = total or (0, 0)
        total = records + row.records, updated + row.updated
        yield AmplificationRow(row.time, row.records, row.updated, row.write_amplification, row.problem)
    if total is not None:
        yield AmplificationRow("total", *total, _amplification(*total), None, total=True)


def checkpoint_rows(table: Table, wanted: TimelineFilter) -> Iterator[CheckpointRow]:
    """The completed writes that have a checkpoint. Raises Unreadable: see ``tell_damaged``."""
    shown, damaged = instants_readable(table, _completed(wanted))
    for row in records_of(table, wanted, _checkpoint, listed=shown):
        if row.key is not None or row.problem is not None:
            yield row
    tell_damaged(damaged)


def _checkpoint(entry: Recorded) -> CheckpointRow:
    key, value = checkpoint_of(entry.done or {})
    return CheckpointRow(entry.time, entry.action, entry.timeline, entry.completed_utc, key, value, entry.problem)


def commit_partitions(table: Table, time: str) -> list[CommitPartition]:
    """The partitions that a commit wrote or replaced. Raises Refused, Unreadable: see ``_metadata``."""
    fields = _metadata(table, time)
    written, replaced = (by_partition(fields, key) for key in _BY_PARTITION)
    rows = []
    for partition in sorted({*written, *replaced}):
        sums = sums_of(written.get(partition) or ())
        more = {name: sums[name] for name in CommitPartition.__dataclass_fields__ if name in sums}
        rows.append(CommitPartition(partition, **more, replaced_file_groups=len(replaced.get(partition) or ())))
    return rows


def commit_files(table: Table, time: str) -> list[CommitFile]:
    """The files that a commit wrote. Raises Refused, Unreadable: see ``_metadata``."""
    written = by_partition(_metadata(table, time), "partitionToWriteStats")
    return [
        CommitFile(
            partition,
            str(stat.get("fileId") or ""),
            str(stat["path"]).rpartition("/")[2] if stat.get("path") else None,
            stat["prevCommit"] if stat.get("prevCommit") not in (None, "null") else None,
            *(number(stat, name) for name in _OF_FILE),
        )
        for partition, stats in sorted(written.items())
        for stat in stats
    ]


def commit_differences(table: Table, other: Table, wanted: TimelineFilter) -> list[CommitDifference]:
    """The completed writes that only one of the tables has; one that the other has archived is in both.

    Raises Unreadable.
    """

    def writes(one: Table) -> set[tuple[str, str]]:
        found = at_one_time(lambda: instants_shown(one, _completed(wanted)))
        return {(entry.time, entry.action) for entry, _ in found}

    here, there = writes(table), writes(other)
    here, there = here | _archived_of(table, there - here), there | _archived_of(other, here - there)
    only = sorted(here ^ there, reverse=wanted.descending)
    return [CommitDifference(*write, here=write in here, there=write in there) for write in only]


def _archived_of(table: Table, writes: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of some completed writes that are archived. Raises Unreadable."""
    times = sorted(time for time, _ in writes)
    found = at_one_time(lambda: list(archived_in_order(table, times[0], times[-1]))) if times else []
    return {(entry.time, entry.action) for entry in found if entry.state is State.COMPLETED}.intersection(writes)


_BY_PARTITION = ("partitionToWriteStats", "partitionToReplaceFileIds")
_OF_FILE = (
    *NUMBERS.values(),
    *("fileSizeInBytes", "totalLogFilesCompacted", "totalLogBlocks", "totalCorruptLogBlock", "totalRollbackBlocks"),
    "totalLogRecords",
)


def _completed(wanted: TimelineFilter) -> TimelineFilter:
    return replace(wanted, actions=WRITE_ACTIONS, states=("completed",))


def _metadata(table: Table, time: str) -> Fields:
    """Raises Refused: there is no such completed write; Unreadable: its metadata is damaged."""
    entry = the_one(table, time, _completed(TimelineFilter()))
    if entry is None:
        hint = "`hudictl commit list --archived` lists them"
        raise Refused(f"there is no completed write {time}", hint=hint, instant=time)
    if entry.problem is not None:
        raise Unreadable(entry.problem, hint="`hudictl timeline inspect` shows the instant's other files")
    if not entry.done:
        hint = "" if entry.timeline == ARCHIVED else "`hudictl check` says how to make it again"
        raise Unreadable(_empty(entry), hint=hint)
    return entry.done


def _row(entry: Recorded) -> CommitRow:
    fields, problem = entry.done or {}, entry.problem or (None if entry.done else _empty(entry))
    try:
        _changed(fields)
        written = by_partition(fields, "partitionToWriteStats")
        sums = sums_of([stat for stats in written.values() for stat in stats])
    except Unreadable as error:
        written, sums, problem = {}, sums_of(()), error.message
    operation = fields.get("operationType")
    return CommitRow(
        entry.time,
        entry.action,
        str(operation) if operation not in (None, "UNKNOWN") else None,
        entry.timeline,
        entry.requested_utc,
        entry.completed_utc,
        entry.duration_ms,
        partitions=len(written),
        **sums,
        write_amplification=_amplification(sums["records"], sums["updated"]),
        checkpoint=checkpoint_of(fields)[1],
        schema_changed=None,
        problem=problem,
    )


def _changed(fields: Fields) -> set[str]:
    """The partitions that a commit wrote or replaced files in. Raises Unreadable."""
    return {name for key in _BY_PARTITION for name in by_partition(fields, key)}


def _empty(entry: Recorded) -> str:
    return f"the file of {entry.time} {entry.action} is empty: it does not name its data files"


def _amplification(records: int, updated: int) -> float | None:
    return round(records / updated, 2) if updated else None


def _against_older(rows: Iterator[tuple[CommitRow, str | None]]) -> Iterator[CommitRow]:
    """Newest first: a row waits for the next that has a schema."""
    waiting: list[CommitRow] = []
    newer: str | None = None
    for row, schema in rows:
        if schema is None:
            waiting.append(row)
            continue
        if waiting and newer is not None:
            waiting[0] = replace(waiting[0], schema_changed=newer != schema)
        yield from waiting
        waiting, newer = [row], schema
    yield from waiting


def _against_older_first(rows: Iterator[tuple[CommitRow, str | None]]) -> Iterator[CommitRow]:
    older: str | None = None
    for row, schema in rows:
        yield row if schema is None or older is None else replace(row, schema_changed=older != schema)
        older = schema or older
