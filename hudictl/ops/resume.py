"""What is left half done on a table: pending rollbacks, and those that were requested and refused."""

from dataclasses import dataclass

from hudictl.engine.base import Engine
from hudictl.errors import Conflict, Refused
from hudictl.formats.instants import ROLLBACK, WRITE_ACTIONS, Instant
from hudictl.formats.rollback import RollbackPlan
from hudictl.ops.armed import untouched_rollbacks
from hudictl.ops.facts import Facts, Signs, read_facts, read_signs
from hudictl.ops.guards import liveness
from hudictl.ops.guards import table as table_guards
from hudictl.ops.monitor import Monitor
from hudictl.table.hold import hold
from hudictl.table.operations import Operation, read_operation, recorded
from hudictl.table.table import Table
from hudictl.table.timeline import delete_instant, instant_now

Entry = tuple[Instant, RollbackPlan | None]


@dataclass(frozen=True)
class PendingRollbacks:
    """``finish``: the instants whose rollback goes on, newest first; ``armed``: Hudi's rollbacks of completed instants.

    Hudi requests a rollback before it looks whether it may (0.15.0 to 1.2.0). What it refused stays, and a later
    writer executes it. It looks the same as one that died before it took its instant from readers.
    """

    finish: tuple[str, ...]
    armed: tuple[Entry, ...]


@dataclass(frozen=True)
class Discard:
    """Rollbacks to discard, newest first, of which nothing was done."""

    rollbacks: tuple[str, ...]


def find_rollbacks(table: Table, signs: Signs, *, discard: bool = False) -> PendingRollbacks:
    """What is pending. A rollback of a completed instant that hudictl was asked for is wanted, unless it is to be
    discarded; not one of an instant that was pending then, and that its writer has completed since."""
    armed, finish = [], set()
    for instant, plan in signs.rollbacks:
        target = signs.timeline.find(plan.target.time, *WRITE_ACTIONS) if plan else None
        visible = target is not None and target.completed
        if plan is None or (visible and (discard or not _is_wanted(table, instant))):
            armed.append((instant, plan))
        else:
            finish.add(plan.target.time)
    return PendingRollbacks(tuple(sorted(finish, reverse=True)), tuple(armed))


def _is_wanted(table: Table, rollback: Instant) -> bool:
    operation = read_operation(table.storage, rollback.time)
    return operation is not None and operation.plan.get("completed") is True


def armed_target(table: Table, entry: Entry) -> str:
    """The instant that an armed rollback takes back.

    Raises Refused: nobody can tell which; or hudictl was asked for it while that was pending, as readers see it now.
    """
    instant, plan = entry
    if plan is None:
        raise Refused("nobody can tell what it is to take back")
    if read_operation(table.storage, instant.time) is not None:
        raise Refused(f"it was asked for while {plan.target.time} was pending, and its writer has completed it since")
    return plan.target.time


def armed_line(entry: Entry) -> str:
    """What an armed rollback is."""
    instant, plan = entry
    if plan is None:
        return f"{instant}: its plan cannot be read"
    return f"{instant} of {plan.target.time}, which is completed: the next writer would take it back"


def plan_discard(table: Table, engine: Engine, idle_ms: int) -> Discard:
    """The armed rollbacks, all of them untouched: every file of their plans is there, and no rollback block.

    Raises:
        Refused: of one something was done, or nobody can tell.
        Conflict: one may be running.
        Unsupported, Unreadable, StorageFailed, EngineFailed.
    """
    table_guards.writable_table(table)
    signs = read_signs(table)
    table_guards.known_timeline(signs.timeline)
    armed = find_rollbacks(table, signs, discard=True).armed
    _check(table, signs, armed, idle_ms)
    facts: Facts = read_facts(table, engine, signs)
    return Discard(untouched_rollbacks(facts, engine, armed))


def execute_discard(table: Table, plan: Discard, monitor: Monitor, command: str, idle_ms: int) -> Discard:
    """Removes them. Raises Conflict: the table moved since planning; StorageFailed."""
    with hold(table, command, monitor) as held:
        monitor.step("check again")
        signs = read_signs(table)
        armed = find_rollbacks(table, signs, discard=True).armed
        _check(table, signs, armed, idle_ms)
        if {entry.time for entry, _ in armed} != set(plan.rollbacks):
            raise Conflict("the timeline has moved since planning", hint="run the command again")
        monitor.step("discard rollbacks")
        operation = Operation(instant_now(table), "discard rollbacks", ", ".join(plan.rollbacks), {})

        def work() -> Discard:
            for time in plan.rollbacks:
                held.check()
                delete_instant(table, signs.timeline.find(time, ROLLBACK))
            return plan

        return recorded(table.storage, operation, command, work)


def _check(table: Table, signs: Signs, armed: tuple[Entry, ...], idle_ms: int) -> None:
    liveness.no_lock_in_use(table, signs)
    liveness.no_live_heartbeat(signs, [entry for entry, _ in armed])
    liveness.no_running_rollback(signs, idle_ms, [entry for entry, _ in armed])
