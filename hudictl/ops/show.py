"""What the read commands tell: a table's state, its timeline, its savepoints. Nothing here writes, or lists data."""

import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timezone

from hudictl.errors import HudictlError, Unreadable
from hudictl.formats import instants as fmt
from hudictl.formats import savepoint
from hudictl.formats.instants import Instant, State
from hudictl.formats.layouts import METADATA_TABLE, PROPERTIES_BACKUP
from hudictl.ops.facts import Signs, pending_cleans, read_signs
from hudictl.ops.guards.table import known_timeline, writable_table
from hudictl.table.commits import read_commit
from hudictl.table.heartbeats import list_heartbeats
from hudictl.table.locks import LockSign, find_locks
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, load_timeline, pending_rollbacks, read_instant


@dataclass(frozen=True)
class TimelineRow:
    """One instant. UTC columns are None where the table's zone is not known; ``problem`` says what is damaged."""

    time: str
    action: str
    state: str
    completion_time: str | None
    requested_utc: str | None = None
    completed_utc: str | None = None
    duration_ms: int | None = None
    operation: str | None = None
    partitions: int | None = None
    files: int | None = None
    records: int | None = None
    bytes: int | None = None
    problem: str | None = None


@dataclass(frozen=True)
class TimelineFilter:
    """Times are prefixes of instant times; both ends are included."""

    actions: Collection[str] = ()
    states: Collection[str] = ()
    since: str = ""
    until: str = "~"
    limit: int | None = None
    descending: bool = False


@dataclass(frozen=True)
class ActionCount:
    """How many instants of an action there are, by state."""

    action: str
    requested: int
    inflight: int
    completed: int


@dataclass(frozen=True)
class TableDescription:
    """A table's state. ``verdict`` is one line; ``advice`` is what to do, "" where there is nothing to do."""

    name: str
    uri: str
    type: str
    table_version: int
    timeline_layout: int
    timezone: str
    base_file_format: str
    record_key_fields: tuple[str, ...]
    partition_fields: tuple[str, ...]
    metadata_table: bool
    metadata_partitions: tuple[str, ...]
    metadata_partitions_inflight: tuple[str, ...]
    locks: tuple[LockSign, ...]
    instants: tuple[ActionCount, ...]
    savepoints: tuple[str, ...]
    pending_writes: tuple[str, ...]
    pending_restores: tuple[str, ...]
    pending_rollbacks: tuple[str, ...]
    pending_cleans: tuple[str, ...]
    unknown_files: tuple[str, ...]
    verdict: str
    advice: str


@dataclass(frozen=True)
class SavepointRow:
    """A savepoint; ``state`` is INFLIGHT where its creation was interrupted."""

    instant: str
    state: str
    created_utc: str | None
    user: str | None
    comment: str | None
    partitions: int | None
    files: int | None
    problem: str | None


@dataclass(frozen=True)
class SavepointFile:
    """A file that a savepoint protects; ``bytes`` is None where it is missing on storage."""

    partition: str
    name: str
    bytes: int | None


def timeline_rows(table: Table, wanted: TimelineFilter) -> list[TimelineRow]:
    """The active timeline, oldest first; only what is shown is read."""
    timeline = load_timeline(table)
    rows = [instant for instant in timeline.instants if _shown(instant, wanted)]
    unknown = [
        _unknown_row(file)
        for file in timeline.unknown
        if not wanted.actions and not wanted.states and wanted.since <= file.time <= wanted.until + "~"
    ]
    described: list[Instant | TimelineRow] = sorted(
        [*rows, *unknown], key=lambda entry: (entry.time, entry.action), reverse=wanted.descending
    )
    return [
        entry if isinstance(entry, TimelineRow) else _row(table, entry)
        for entry in described[: wanted.limit if wanted.limit is not None else len(described)]
    ]


def describe_table(table: Table) -> TableDescription:
    """The table's state, with a verdict. Damaged instant files do not stop it."""
    timeline = load_timeline(table)
    rollbacks = tuple(str(entry) for entry, _ in pending_rollbacks(table, timeline))
    now_ms = int(time.time() * 1000)
    locks = tuple(find_locks(table, now_ms))
    verdict, advice = _verdict(table, timeline, locks, now_ms)
    return TableDescription(
        name=table.name,
        uri=table.uri,
        type=table.type,
        table_version=table.version,
        timeline_layout=table.layout.version,
        timezone=table.properties.get("hoodie.table.timeline.timezone", "LOCAL"),
        base_file_format=table.properties.get("hoodie.table.base.file.format", "PARQUET"),
        record_key_fields=tuple(filter(None, table.properties.get("hoodie.table.recordkey.fields", "").split(","))),
        partition_fields=table.partition_fields,
        metadata_table=table.storage.stat(METADATA_TABLE) is not None,
        metadata_partitions=table.metadata_partitions,
        metadata_partitions_inflight=table.metadata_partitions_inflight,
        locks=locks,
        instants=_counts(timeline),
        savepoints=tuple(entry.time for entry in timeline.savepoints()),
        pending_writes=tuple(str(entry) for entry in timeline.writes() if entry.pending),
        pending_restores=tuple(str(entry) for entry in timeline.having(fmt.RESTORE) if entry.pending),
        pending_rollbacks=rollbacks,
        pending_cleans=tuple(str(entry) for entry in pending_cleans(timeline)),
        unknown_files=tuple(file.name for file in timeline.unknown),
        verdict=verdict,
        advice=advice,
    )


def savepoint_rows(table: Table) -> list[SavepointRow]:
    """All savepoints, oldest first, also those whose creation was interrupted."""
    return [_savepoint_row(table, entry) for entry in load_timeline(table).having(fmt.SAVEPOINT)]


def savepoint_files(table: Table, files: dict[str, tuple[str, ...]]) -> list[SavepointFile]:
    """The files of a savepoint with their sizes; each of its partitions is listed once."""
    rows = []
    for partition, names in files.items():
        try:
            sizes = {entry.name: entry.size for entry in table.storage.list(partition)} if names else {}
        except FileNotFoundError:
            sizes = {}
        rows += [SavepointFile(partition, name, sizes.get(name)) for name in names]
    return rows


def _shown(instant: Instant, wanted: TimelineFilter) -> bool:
    return (
        (not wanted.actions or instant.action in wanted.actions)
        and (not wanted.states or instant.state.name.lower() in wanted.states)
        and wanted.since <= instant.time <= wanted.until + "~"
    )


def _row(table: Table, instant: Instant) -> TimelineRow:
    requested, completed = (
        fmt.parse_time(text, table.zone) if text else None for text in (instant.time, instant.completion_time)
    )
    # A savepoint has its commit's time; it lasts no time itself.
    timed = requested and completed and instant.action != fmt.SAVEPOINT
    duration = int((completed - requested).total_seconds() * 1000) if timed and completed and requested else -1
    metadata, problem = None, None
    if instant.is_write:
        try:
            metadata = read_commit(table, instant)
        except HudictlError as error:
            problem = error.message
    counted = metadata if metadata is not None and instant.completed else None
    return TimelineRow(
        instant.time,
        instant.action,
        instant.state.name,
        instant.completion_time,
        _utc(requested) if table.zone_known else None,
        _utc(completed) if table.zone_known else None,
        # Layout 1 has the modification time: whole seconds on some file systems, and any zone.
        duration if duration >= 0 else None,
        metadata.operation if metadata and metadata.operation != "UNKNOWN" else None,
        len(counted.stats) if counted else None,
        counted.file_count if counted else None,
        counted.records if counted else None,
        counted.written_bytes if counted else None,
        problem,
    )


def _unknown_row(file: fmt.InstantFile) -> TimelineRow:
    problem = f"unknown action {file.action!r}: written by a newer Hudi?"
    return TimelineRow(file.time, file.action, file.state.name, file.completion_time, problem=problem)


def _utc(moment: datetime | None) -> str | None:
    return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds") if moment else None


def _counts(timeline: Timeline) -> tuple[ActionCount, ...]:
    actions = sorted({instant.action for instant in timeline.instants})
    counts = []
    for action in actions:
        states = [instant.state for instant in timeline.having(action)]
        counts.append(ActionCount(action, *(states.count(state) for state in State)))
    return tuple(counts)


def _savepoint_row(table: Table, instant: Instant) -> SavepointRow:
    file = instant.file(State.COMPLETED)
    if file is None:
        problem = "its creation was interrupted: it protects nothing"
        return SavepointRow(instant.time, instant.state.name, None, None, None, None, None, problem)
    try:
        metadata = savepoint.decode(read_instant(table, file), file.name)
    except Unreadable as error:
        return SavepointRow(instant.time, instant.state.name, None, None, None, None, None, error.message)
    created = datetime.fromtimestamp(metadata.saved_at_ms / 1000, timezone.utc)
    return SavepointRow(
        instant.time,
        instant.state.name,
        _utc(created),
        metadata.saved_by,
        metadata.comment,
        sum(1 for names in metadata.files.values() if names),
        sum(len(names) for names in metadata.files.values()),
        None,
    )


def _verdict(table: Table, timeline: Timeline, locks: tuple[LockSign, ...], now_ms: int) -> tuple[str, str]:
    """One line on the table's health, and the way out; the gravest thing first."""
    try:
        writable_table(table)
        known_timeline(timeline)
        blocked = _blocked(read_signs(table))
    except HudictlError as error:
        return error.message, error.hint
    if blocked is not None:
        return blocked
    held = [lock.path for lock in locks if lock.held]
    if held:
        return f"writers wait: {held[0]} is held", "a writer runs, or died with the lock"
    if table.storage.stat(PROPERTIES_BACKUP) is not None:
        return "a writer can open it; an update of hoodie.properties was interrupted", "the next update mends it"
    return _unfinished(table, timeline, now_ms)


def _blocked(signs: Signs) -> tuple[str, str] | None:
    """A pending restore or rollback, which comes before every write."""
    for restore in signs.restores:
        said = f"no writer can start: the restore {restore.instant.time} to {restore.plan.target} is pending"
        return said, "finish it: `hudictl resume`"
    savepoints = {entry.time for entry in signs.timeline.savepoints()}
    for rollback, plan in signs.rollbacks:
        if plan is not None and plan.target.time in savepoints:
            said = f"no writer can start: the rollback {rollback.time} of the savepointed {plan.target.time} is pending"
            return said, "it fires when the savepoint goes: remove its files if nothing of it was done"
    for rollback, _ in signs.rollbacks:
        said = f"a writer can open it, and will first finish the pending rollback {rollback.time}"
        return said, "let a writer run, or restore to a savepoint before the rollback's target"
    for remnant in sorted(signs.remnants):
        said = f"a writer can open it; the rollback {remnant} is left of a restore that has ended"
        return said, "remove it: `hudictl resume`"
    return None


def _unfinished(table: Table, timeline: Timeline, now_ms: int) -> tuple[str, str]:
    pending = [entry for entry in timeline.writes() if entry.pending and entry.state is not State.REQUESTED]
    alive = {beat.time for beat in list_heartbeats(table, now_ms) if beat.live}
    running = [entry.time for entry in pending if entry.time in alive]
    if running:
        return f"a writer is at work: {', '.join(running)}", ""
    if pending:
        advice = "if nothing runs, these writes failed: the next writer rolls them back"
        return f"a writer can open it; unfinished: {', '.join(map(str, pending))}", advice
    return "healthy: a writer can open it, nothing is unfinished", ""
