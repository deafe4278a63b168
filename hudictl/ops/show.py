"""What the read commands tell: a table's state, its timeline, its savepoints. Nothing here writes, or lists data."""

import time
from dataclasses import dataclass
from datetime import datetime, timezone

from hudictl.errors import HudictlError, Unreadable
from hudictl.formats import instants as fmt
from hudictl.formats import savepoint
from hudictl.formats.instants import Instant, State
from hudictl.formats.layouts import METADATA_TABLE, PROPERTIES_BACKUP
from hudictl.ops.facts import Signs, pending_cleans, read_signs
from hudictl.ops.guards.table import known_timeline, writable_table
from hudictl.table.heartbeats import list_heartbeats
from hudictl.table.lock_config import FileLock, LockConfig, lock_config
from hudictl.table.locks import LockSign, find_locks
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, load_timeline, pending_rollbacks, read_instant


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


@dataclass(frozen=True)
class LockDescription:
    """The lock that a command which writes would take, with the settings given, and the lock files that there are."""

    configured: LockConfig
    files: tuple[LockSign, ...]


def describe_locks(table: Table) -> LockDescription:
    """Raises UsageError: a setting is missing, or has a value that cannot be taken."""
    config = lock_config(table)
    own = config.lock if isinstance(config.lock, FileLock) else None
    return LockDescription(config, tuple(find_locks(table, int(time.time() * 1000), own)))


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
        fmt.utc_text(created),
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
    for unplanned in signs.unplanned:
        said = f"no writer can start: the restore {unplanned.time} is pending, whose request is empty"
        return said, "remove it: `hudictl resume`"
    savepoints = {entry.time for entry in signs.timeline.savepoints()}
    for rollback, plan in signs.rollbacks:
        if plan is not None and plan.target.time in savepoints:
            said = f"no writer can start: the rollback {rollback.time} of the savepointed {plan.target.time} is pending"
            return said, "discard it, if nothing of it was done: `hudictl resume --discard`"
    for rollback, _ in signs.rollbacks:
        said = f"a writer can open it, and will first finish the pending rollback {rollback.time}"
        return said, "finish it: `hudictl resume`"
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
        advice = "`hudictl failed-writes list` tells whether they failed; the next eager writer rolls them back"
        return f"a writer can open it; unfinished: {', '.join(map(str, pending))}", advice
    return "healthy: a writer can open it, nothing is unfinished", ""
