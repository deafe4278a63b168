"""Discarding rollbacks that were requested, and of which nothing was done."""

from dataclasses import dataclass

from hudictl.engine.base import Engine
from hudictl.errors import Conflict
from hudictl.formats.instants import ROLLBACK
from hudictl.ops.guards import liveness
from hudictl.ops.session import Monitor
from hudictl.ops.undo.untouched import untouched_rollbacks
from hudictl.state import writable as table_guards
from hudictl.state.facts import Facts, Signs, read_facts, read_signs
from hudictl.state.pending import PendingRollback, rollbacks_to_end
from hudictl.table.locks.hold import hold
from hudictl.table.operations import Operation, recorded
from hudictl.table.table import Table
from hudictl.table.timeline import delete_instant, instant_now


@dataclass(frozen=True)
class Discard:
    """Rollbacks to discard, newest first, of which nothing was done."""

    rollbacks: tuple[str, ...]


def plan_discard(table: Table, engine: Engine, idle_ms: int) -> Discard:
    """The unwanted rollbacks, all of them untouched: every file of their plans is there, and no rollback block.

    Raises:
        Refused: of one something was done, or nobody can tell.
        Conflict: one may be running.
        Unsupported, Unreadable, StorageFailed, EngineFailed.
    """
    table_guards.writable_table(table)
    signs = read_signs(table)
    table_guards.known_timeline(signs.timeline)
    unwanted = rollbacks_to_end(table, signs.live_rollbacks, discard=True).unwanted
    _check(table, signs, unwanted, idle_ms)
    facts: Facts = read_facts(table, engine, signs)
    return Discard(untouched_rollbacks(facts, engine, unwanted))


def execute_discard(table: Table, plan: Discard, monitor: Monitor, command: str, idle_ms: int) -> Discard:
    """Removes them. Raises Conflict: the table moved since planning; StorageFailed."""
    with hold(table, command, monitor) as held:
        monitor.step("check again")
        signs = read_signs(table)
        unwanted = rollbacks_to_end(table, signs.live_rollbacks, discard=True).unwanted
        _check(table, signs, unwanted, idle_ms)
        if {entry.instant.time for entry in unwanted} != set(plan.rollbacks):
            raise Conflict("the timeline has moved since planning", hint="run the command again")
        monitor.step("discard rollbacks")
        operation = Operation(instant_now(table), "discard rollbacks", ", ".join(plan.rollbacks), {})

        def work() -> Discard:
            for time in plan.rollbacks:
                held.check()
                delete_instant(table, signs.timeline.find(time, ROLLBACK))
            return plan

        return recorded(table.storage, operation, command, work)


def _check(table: Table, signs: Signs, unwanted: tuple[PendingRollback, ...], idle_ms: int) -> None:
    liveness.no_lock_in_use(table, signs)
    liveness.no_live_heartbeat(signs, [entry.instant for entry in unwanted])
    liveness.no_running_rollback(signs, idle_ms, [entry.instant for entry in unwanted])
