"""What restores that have ended may leave behind: rollbacks that nobody needs, and hudictl's own savepoint."""

from dataclasses import dataclass

from hudictl.errors import Conflict, Unreadable
from hudictl.formats.instants import RESTORE, ROLLBACK, SAVEPOINT
from hudictl.ops.guards import liveness
from hudictl.ops.session import Monitor
from hudictl.state import writable as table_guards
from hudictl.state.facts import Signs, read_signs
from hudictl.state.savepoints import is_protection, read_savepoint
from hudictl.table.locks.hold import hold
from hudictl.table.operations import Operation, recorded
from hudictl.table.table import Table
from hudictl.table.timeline import delete_instant_files, instant_now


@dataclass(frozen=True)
class Leftovers:
    """Instants to remove, newest first: pending rollbacks of completed restores, restores that were requested without
    a plan, and savepoints that protected the target of a restore of which there is no pending one any more."""

    rollbacks: tuple[str, ...]
    restores: tuple[str, ...]
    savepoints: tuple[str, ...]

    @property
    def nothing(self) -> bool:
        return not (self.rollbacks or self.restores or self.savepoints)


def plan_leftovers(table: Table, idle_ms: int) -> Leftovers:
    """Finds them; none while a restore is pending, which removes its own.

    Args:
        idle_ms: how long a restore of Hudi's must have been silent to count as dead.

    Raises:
        Conflict, Unsupported, Unreadable.
    """
    signs = read_signs(table)
    liveness.no_running_restore(table, signs, idle_ms)
    return _find(table, signs)


def remove_leftovers(table: Table, plan: Leftovers, monitor: Monitor, command: str) -> Leftovers:
    """Removes them. Raises Conflict: the table moved since planning; Unsupported, Refused, StorageFailed."""
    with hold(table, command, monitor) as held:
        monitor.step("check again")
        signs = read_signs(table)
        liveness.no_lock_in_use(table, signs)
        if _find(table, signs) != plan:
            raise Conflict("the timeline has moved since planning", hint="run the command again")
        monitor.step("remove what restores have left")
        files = [
            file
            for action, times in (
                (ROLLBACK, plan.rollbacks),
                (RESTORE, plan.restores),
                (SAVEPOINT, plan.savepoints),
            )
            for time in times
            for instant in signs.timeline.having(action)
            if instant.time == time
            for file in reversed(instant.files)
        ]
        operation = Operation(instant_now(table), "remove leftovers", ", ".join(file.name for file in files), {})

        def work() -> Leftovers:
            held.check()
            delete_instant_files(table, files)
            return plan

        return recorded(table.storage, operation, command, work)


def _find(table: Table, signs: Signs) -> Leftovers:
    """Raises Unsupported: there are some, on a table that hudictl does not change."""
    if signs.planned_restores:
        return Leftovers((), (), ())
    times = sorted((entry.time for entry in signs.timeline.savepoints()), reverse=True)
    own = tuple(time for time in times if _is_own(table, signs, time))
    unplanned = tuple(sorted((entry.instant.time for entry in signs.unplanned_restores), reverse=True))
    rollbacks = tuple(sorted((entry.instant.time for entry in signs.left_rollbacks), reverse=True))
    found = Leftovers(rollbacks, unplanned, own)
    if not found.nothing:
        table_guards.writable_table(table)
        table_guards.known_timeline(signs.timeline)
    return found


def _is_own(table: Table, signs: Signs, time: str) -> bool:
    try:
        metadata = read_savepoint(table, signs.timeline, time)
    except Unreadable:
        # hudictl's own appear whole: this one is somebody else's business.
        return False
    return metadata is not None and is_protection(metadata)
