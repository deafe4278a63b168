"""Deleting what writers have left beside the timeline: heartbeats and marker folders."""

from hudictl.errors import Conflict, Refused, StorageFailed
from hudictl.formats.layouts import HEARTBEATS
from hudictl.ops.session import Monitor
from hudictl.phrases import seconds
from hudictl.state import writable as table_guards
from hudictl.state.heartbeats import HeartbeatRow, heartbeat_row
from hudictl.state.markers import MarkerFolderRow, marker_folder_row
from hudictl.table.clock import measure_clock, storage_now_ms
from hudictl.table.heartbeats import HeartbeatRule, heartbeat_path, list_heartbeats
from hudictl.table.locks.hold import hold
from hudictl.table.markers import look_at_markers, marker_folder, marker_folders
from hudictl.table.operations import Operation, recorded
from hudictl.table.table import Table
from hudictl.table.timeline import instant_now, load_timeline, pending_rollbacks


def plan_heartbeat_deletion(table: Table, instant: str, rule: HeartbeatRule) -> HeartbeatRow | None:
    """The heartbeat to delete; None where there is none.

    Raises:
        Conflict: it is live.
        Unsupported, Unreadable, StorageFailed.
    """
    table_guards.writable_table(table)
    clock = measure_clock(table.storage)
    timeline = load_timeline(table)
    table_guards.known_timeline(timeline)
    beats = {beat.time: beat for beat in list_heartbeats(table, storage_now_ms(clock), rule)}
    beat = beats.get(instant)
    if beat is not None and beat.live:
        raise Conflict(
            f"the heartbeat of {instant} is live: it is {seconds(max(0, beat.age_ms))} old",
            hint=f"its writer is at work; without a beat it expires after {seconds(rule.limit_ms)} "
            "(--interval, --misses: as its writer has them)",
            instant=instant,
            age_ms=beat.age_ms,
        )
    return heartbeat_row(timeline, beat, rule) if beat else None


def delete_heartbeat(table: Table, instant: str, rule: HeartbeatRule, monitor: Monitor, command: str) -> None:
    """Deletes an expired or stale heartbeat; one that is gone is no error. Raises as ``plan_heartbeat_deletion``."""
    with hold(table, command, monitor) as held:
        found = plan_heartbeat_deletion(table, instant, rule)
        if found is None:
            return

        def work() -> HeartbeatRow:
            held.check()
            (outcome,) = table.storage.delete([heartbeat_path(instant)])
            if outcome.error is not None:
                raise StorageFailed(f"cannot delete {outcome.path}: {outcome.error}", path=outcome.path)
            table.storage.sync(HEARTBEATS)
            return found

        operation = Operation(instant_now(table), "heartbeat delete", instant, {"state": found.state})
        recorded(table.storage, operation, command, work)


def plan_marker_deletion(table: Table, instant: str) -> MarkerFolderRow | None:
    """The marker folder to delete; None where there is none.

    Raises:
        Refused: the instant is pending, or a pending rollback takes it back: its files would become orphans.
        Unsupported, Unreadable.
    """
    table_guards.writable_table(table)
    timeline = load_timeline(table)
    table_guards.known_timeline(timeline)
    folder = look_at_markers(table, instant) if instant in marker_folders(table) else None
    if folder is None:
        return None
    found = timeline.at(instant)
    if found is not None and found.pending:
        way_out = f"rollback {instant}" if found.is_write else "resume"
        raise Refused(
            f"{found} is pending: without its markers the files that it wrote would become orphans",
            hint=f"`hudictl {way_out}` ends it, and removes them last",
            instant=instant,
        )
    for rollback, plan in pending_rollbacks(table, timeline):
        if plan is None or plan.target.time == instant:
            raise Refused(
                f"{rollback} is pending, and {'its plan cannot be read' if plan is None else f'takes {instant} back'}: "
                "without the markers files would become orphans",
                hint=f"`hudictl {f'rollback {instant}' if plan else 'resume'}` ends it",
                instant=instant,
                rollback=rollback.time,
            )
    return marker_folder_row(timeline, folder)


def delete_markers(table: Table, instant: str, monitor: Monitor, command: str) -> None:
    """Deletes a marker folder, whole; one that is gone is no error.

    Raises as ``plan_marker_deletion``, and Conflict.
    """
    with hold(table, command, monitor) as held:
        found = plan_marker_deletion(table, instant)
        if found is None:
            return

        def work() -> MarkerFolderRow:
            held.check()
            table.storage.delete_folder(marker_folder(instant))
            return found

        operation = Operation(instant_now(table), "marker delete", instant, {"markers": found.markers})
        recorded(table.storage, operation, command, work)
