"""Deleting leftovers of writers beside the timeline: heartbeats and marker folders."""

from contextlib import suppress
from dataclasses import dataclass

from hudictl.errors import Conflict, Refused
from hudictl.formats.layouts import HEARTBEATS
from hudictl.ops.guards.clock import writers_zone
from hudictl.ops.session import Begun, Kind, NothingLeft, Session, changing
from hudictl.phrases import command_of, seconds
from hudictl.state.facts import read_signs
from hudictl.state.timeline.unfinished import RESUME, way_out_of_rollback
from hudictl.state.writable import known_timeline, writable_table
from hudictl.state.writers.heartbeats import LIVE, UNKNOWN, HeartbeatRow, heartbeat_row
from hudictl.state.writers.markers import MarkerFolderRow, marker_folder_row
from hudictl.storage import delete_all
from hudictl.table.beat_rule import HOW_TO_SAY
from hudictl.table.clock import measure_clock, storage_now_ms
from hudictl.table.locks.config import LockConfig
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline, pending_rollbacks
from hudictl.table.writers.heartbeats import heartbeat_path, list_heartbeats
from hudictl.table.writers.markers import look_at_markers, marker_folder, marker_folders


@dataclass(frozen=True)
class HeartbeatDeletion:
    """A heartbeat to delete; ``heartbeat`` is None where there is none."""

    target: str
    heartbeat: HeartbeatRow | None
    lock: LockConfig


@dataclass(frozen=True)
class MarkerDeletion:
    """A marker folder to delete; ``folder`` is None where there is none."""

    target: str
    folder: MarkerFolderRow | None
    lock: LockConfig


def plan_heartbeat_deletion(session: Session, instant: str) -> HeartbeatDeletion:
    """Plans to delete the heartbeat of an instant. Raises Conflict: it is live; Unsupported, Unreadable,
    StorageFailed."""
    table = session.table
    writable_table(table, session.locking)
    clock = measure_clock(table.storage)
    timeline = load_timeline(table)
    known_timeline(table, timeline)
    writers_zone(table, timeline)

    beats = {beat.time: beat for beat in list_heartbeats(table, storage_now_ms(clock))}
    beat = beats.get(instant)
    row = heartbeat_row(table, timeline, beat) if beat else None
    if beat is not None and row is not None and row.state in (LIVE, UNKNOWN):
        raise Conflict(
            f"the heartbeat of {instant} {'may be' if beat.doubtful else 'is'} live: its last beat was "
            f"{seconds(row.age_ms)} ago",
            hint=HOW_TO_SAY
            if beat.doubtful
            else "its writer is running; the heartbeat expires "
            f"{seconds(table.heartbeat_rule.limit_ms)} after its last beat "
            "(--interval and --misses must have the writer's values)",
            instant=instant,
            age_ms=beat.age_ms,
        )
    return HeartbeatDeletion(instant, row, session.lock)


def delete_heartbeat(session: Session, plan: HeartbeatDeletion) -> None:
    """Deletes exactly the heartbeat of the plan; a missing one is no error.

    Raises as ``plan_heartbeat_deletion``; Conflict: it has changed since planning.
    """
    shown = plan.heartbeat
    if shown is None:
        return

    def look() -> None:
        now = plan_heartbeat_deletion(session, plan.target).heartbeat
        if now is None:
            raise NothingLeft
        if (now.state, now.last_beat_utc) != (shown.state, shown.last_beat_utc):
            raise _moved(f"the heartbeat of {plan.target}")

    def work(run: Begun[None]) -> HeartbeatRow:
        run.held.check()
        delete_all(session.table.storage, [heartbeat_path(plan.target)])
        session.table.storage.sync(HEARTBEATS)
        return shown

    with suppress(NothingLeft):
        changing(session, Kind.HEARTBEAT_DELETE, plan.target, {"state": shown.state}, look=look, work=work)


def plan_marker_deletion(session: Session, instant: str) -> MarkerDeletion:
    """Plans to delete the marker folder of an instant. Raises Refused: the instant is pending, or a pending rollback
    rolls it back: its files would become orphans; Unsupported, Unreadable."""
    table = session.table
    writable_table(table, session.locking)
    timeline = load_timeline(table)
    known_timeline(table, timeline)
    writers_zone(table, timeline)
    folder = look_at_markers(table, instant) if instant in marker_folders(table) else None
    if folder is None:
        return MarkerDeletion(instant, None, session.lock)

    found = timeline.at(instant)
    if found is not None and found.pending:
        way_out = f"`{command_of('rollback', instant)}` ends it, and removes its markers last"
        raise Refused(
            f"{found} is pending: without its markers its files would become orphans",
            hint=way_out if found.is_write else _way_out(table, instant),
            instant=instant,
        )
    for rollback, plan in pending_rollbacks(table, timeline):
        if plan is None or plan.target.time == instant:
            raise Refused(
                f"{rollback} is pending, and {'its plan cannot be read' if plan is None else f'rolls {instant} back'}: "
                "without the markers files would become orphans",
                hint=f"`{command_of('rollback', instant)}` ends it" if plan else _way_out(table, rollback.time),
                instant=instant,
                rollback=rollback.time,
            )
    return MarkerDeletion(instant, marker_folder_row(timeline, folder), session.lock)


def _way_out(table: Table, rollback: str) -> str:
    """The command that ends a pending rollback, or another operation. Raises Unreadable."""
    signs = read_signs(table)
    for entry in signs.live_rollbacks:
        if entry.instant.time == rollback:
            return way_out_of_rollback(table, signs, entry)
    return f"`{RESUME}`"


def delete_markers(session: Session, plan: MarkerDeletion) -> None:
    """Deletes the whole marker folder of the plan; a missing one is no error.

    Raises as ``plan_marker_deletion``; Conflict: it has changed since planning.
    """
    shown = plan.folder
    if shown is None:
        return

    def look() -> None:
        now = plan_marker_deletion(session, plan.target).folder
        if now is None:
            raise NothingLeft
        if now != shown:
            raise _moved(f"the marker folder of {plan.target}")

    def work(run: Begun[None]) -> MarkerFolderRow:
        run.held.check()
        session.table.storage.delete_folder(marker_folder(plan.target))
        return shown

    with suppress(NothingLeft):
        changing(session, Kind.MARKER_DELETE, plan.target, {"markers": shown.markers}, look=look, work=work)


def _moved(what: str) -> Conflict:
    return Conflict(f"{what} has changed since planning", hint="run the command again: it makes a new plan")
