"""What ``table show`` tells: a table's state, and whether a writer can open it."""

import time
from dataclasses import dataclass

from hudictl.errors import HudictlError
from hudictl.formats import instants as fmt
from hudictl.formats.instants import State
from hudictl.formats.layouts import METADATA_TABLE, PROPERTIES_BACKUP
from hudictl.formats.restore import target_text
from hudictl.state.cleans import pending_cleans
from hudictl.state.facts import Signs, read_signs
from hudictl.state.pending import Condition, is_own
from hudictl.state.writable import known_timeline, writable_table
from hudictl.table.heartbeats import list_heartbeats
from hudictl.table.locks.config import NOTHING_SAID
from hudictl.table.locks.lock_files import LockSign, find_locks
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, load_timeline, pending_rollbacks


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
        record_key_fields=table.record_key_fields,
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


def _counts(timeline: Timeline) -> tuple[ActionCount, ...]:
    actions = sorted({instant.action for instant in timeline.instants})
    counts = []
    for action in actions:
        states = [instant.state for instant in timeline.having(action)]
        counts.append(ActionCount(action, *(states.count(state) for state in State)))
    return tuple(counts)


def _verdict(table: Table, timeline: Timeline, locks: tuple[LockSign, ...], now_ms: int) -> tuple[str, str]:
    """One line on the table's health, and the way out; the gravest thing first."""
    try:
        writable_table(table, NOTHING_SAID)
        known_timeline(timeline)
        blocked = _blocked(table, read_signs(table))
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


def _blocked(table: Table, signs: Signs) -> tuple[str, str] | None:
    """A pending restore or rollback, which comes before every write."""
    for restore in signs.planned_restores:
        target = target_text(restore.plan.target)
        said = f"no writer can start: the restore {restore.instant.time} to {target} is pending"
        back = "; or, while nothing was deleted, `hudictl resume --withdraw`" if is_own(table, restore) else ""
        return said, f"finish it: `hudictl resume`{back}"
    for unplanned in signs.unplanned_restores:
        said = f"no writer can start: the restore {unplanned.instant.time} is pending, whose request is empty"
        return said, "remove it: `hudictl resume`"

    savepoints = {entry.time for entry in signs.timeline.savepoints()}
    for rollback in signs.live_rollbacks:
        if rollback.target in savepoints:
            time, target = rollback.instant.time, rollback.target
            said = f"no writer can start: the rollback {time} of the savepointed {target} is pending"
            return said, "discard it, if nothing of it was done: `hudictl resume --discard-rollbacks`"
    for rollback in signs.live_rollbacks:
        said = f"a writer can open it, and will first finish the pending rollback {rollback.instant.time}"
        visible = rollback.condition is Condition.TARGET_COMPLETED
        back = "; or, where nothing of it was done, `hudictl resume --discard-rollbacks`" if visible else ""
        return said, f"finish it: `hudictl resume`{back}"
    for left in signs.left_rollbacks:
        said = f"a writer can open it; the rollback {left.instant.time} is left of a restore that has ended"
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
