"""Deleting a savepoint: its plan, and its execution."""

from hudictl.errors import Refused
from hudictl.formats import instants as fmt
from hudictl.formats import savepoint
from hudictl.formats.instants import State
from hudictl.ops.guards import liveness
from hudictl.ops.guards import timeline as guards
from hudictl.ops.savepoint.fingerprint import deletion_fingerprint
from hudictl.ops.savepoint.plan import SavepointDeletion, SavepointReport
from hudictl.ops.session import Monitor
from hudictl.state import writable as table_guards
from hudictl.state.facts import Signs, read_signs
from hudictl.state.savepoints import find_savepoint
from hudictl.table.locks.hold import hold
from hudictl.table.operations import Operation, recorded
from hudictl.table.table import Table
from hudictl.table.timeline import (
    delete_instant,
    instant_now,
    read_instant,
)


def plan_deletion(table: Table, instant: str) -> SavepointDeletion:
    """Plans the deletion of a savepoint.

    Raises:
        Refused: no such commit; a pending restore needs the savepoint; a pending rollback waits behind it.
        Conflict, Unsupported, Unreadable.
    """
    table_guards.writable_table(table)
    signs = read_signs(table)
    table_guards.known_timeline(signs.timeline)
    found = signs.timeline.find(instant, fmt.SAVEPOINT)
    if found is None and signs.timeline.find(instant, *fmt.COMMIT_ACTIONS) is None:
        find_savepoint(table, signs.timeline, instant)
    _check_deletion(table, signs, instant)
    file = found.file(State.COMPLETED) if found else None
    count = 0
    if file is not None:
        metadata = savepoint.decode(read_instant(table, file), file.name)
        count = sum(len(names) for names in metadata.files.values())
    return SavepointDeletion(
        table.uri,
        instant,
        found is not None,
        count,
        frozenset(signs.timeline.modified_ms),
        deletion_fingerprint(table, found),
    )


def delete_savepoint(table: Table, plan: SavepointDeletion, monitor: Monitor, command: str) -> None:
    """Deletes the completed file, then the inflight one. Raises as ``plan_deletion``, and Conflict."""
    if not plan.exists:
        return
    with hold(table, command, monitor) as held:
        monitor.step("check again")
        signs = read_signs(table)
        guards.not_moved(signs.timeline, plan.timeline)
        _check_deletion(table, signs, plan.instant)
        found = signs.timeline.find(plan.instant, fmt.SAVEPOINT)
        monitor.step("delete the savepoint")
        operation = Operation(instant_now(table), "savepoint delete", plan.instant, {"files": plan.file_count})

        def work() -> SavepointReport:
            held.check()
            delete_instant(table, found)
            return SavepointReport(plan.instant, plan.file_count)

        recorded(table.storage, operation, command, work)


def _check_deletion(table: Table, signs: Signs, instant: str) -> None:
    liveness.no_lock_in_use(table, signs)
    for restore in signs.planned_restores:
        if restore.plan.target == instant:
            raise Refused(
                f"{restore.instant} is pending, and restores to this savepoint",
                hint="finish it first: `hudictl resume`",
                restore=restore.instant.time,
            )
    begun = min((restore.instant.time for restore in signs.planned_restores), default="~")
    for entry in signs.live_rollbacks:
        rollback = entry.instant
        # A pending restore has made rollbacks of its own, and ends them itself.
        if entry.target == instant and rollback.time < begun:
            raise Refused(
                f"{rollback} waits for this savepoint to go: the next writer would take the commit {instant} back",
                hint="remove that rollback's files first",
                rollback=rollback.time,
            )
