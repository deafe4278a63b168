"""Removing a pending clean whose plan cannot be read, or an indexing that was given up: Hudi finishes neither.

What such a clean had deleted no reader needs, and what it had not the next clean plans again. Of an indexing nothing
is in the metadata table. So the files on the timeline are all that goes, the inflight file first, as Hudi does: what a
crash leaves is pending, and removed by the same command.
"""

from dataclasses import dataclass

from hudictl.errors import Conflict, Refused, Unreadable
from hudictl.formats.instants import CLEAN, INDEXING, Instant
from hudictl.ops.guards import clock, liveness
from hudictl.ops.session import Begun, Kind, Session, changing
from hudictl.state.cleans import cleans_without_plan
from hudictl.state.facts import Signs, read_signs
from hudictl.state.stalled import drop_first, partitions_in_the_making
from hudictl.state.writable import known_timeline, writable_table
from hudictl.table.locks.config import LockConfig
from hudictl.table.locks.hold import Hold
from hudictl.table.operations import Operation, operation_instants, read_operation
from hudictl.table.table import Table
from hudictl.table.timeline import delete_instant, instant_now, load_timeline


@dataclass(frozen=True)
class ServiceRemoval:
    """A pending clean or indexing to remove: its files on the timeline in the order of their removal, and why."""

    target: str
    action: str
    state: str
    reason: str
    files: tuple[str, ...]
    lock: LockConfig


def is_service(table: Table, target: str) -> bool:
    """Whether an instant is a pending clean or indexing, or one that hudictl has removed. Raises Unreadable."""
    at = load_timeline(table).at(target)
    if at is None:
        return removed_already(table, target) is not None
    return at.action in (CLEAN, INDEXING) and at.pending


def removed_already(table: Table, target: str) -> str | None:
    """When hudictl has removed a pending clean or indexing; None where there is one. Raises Unreadable."""
    if load_timeline(table).at(target) is not None:
        return None
    for time in reversed(operation_instants(table.storage)):
        # The record is of a later time than what it is about.
        operation = _operation(table, time) if time > target else None
        if operation is not None and (operation.operation, operation.target) == (Kind.SERVICE_REMOVE.value, target):
            return time
    return None


def _operation(table: Table, time: str) -> Operation | None:
    try:
        return read_operation(table.storage, time)
    except Unreadable:
        # It proves nothing then: the timeline has the last word.
        return None


def plan_service_removal(session: Session, target: str, idle_ms: int) -> ServiceRemoval:
    """Plans to remove a pending clean or indexing. Changes nothing; every guard has passed.

    Raises:
        Refused: Hudi can finish it, or it has begun in the metadata table.
        Conflict: it may be running.
        Unsupported, Unreadable, StorageFailed.
    """
    return _planned(session, target, idle_ms)[1]


def execute_service_removal(session: Session, plan: ServiceRemoval, idle_ms: int) -> ServiceRemoval:
    """Removes it. Raises as ``plan_service_removal``; Conflict: it is not what it was at planning."""

    def look(held: Hold) -> Begun[Instant]:
        instant, now = _planned(session, plan.target, idle_ms)
        if now.files != plan.files:
            raise Conflict(f"{instant} has changed since planning", hint="run the command again: it plans anew")
        session.monitor.step(f"remove the {plan.action}")
        return Begun(held, instant_now(session.table), instant)

    def work(run: Begun[Instant]) -> ServiceRemoval:
        run.held.check()
        delete_instant(session.table, run.found)
        return plan

    record = {"action": plan.action, "reason": plan.reason, "files": plan.files}
    return changing(session, Kind.SERVICE_REMOVE, plan.target, record, look=look, work=work)


def _planned(session: Session, target: str, idle_ms: int) -> tuple[Instant, ServiceRemoval]:
    table = session.table
    writable_table(table, session.locking)
    signs = read_signs(table)
    known_timeline(signs.timeline)
    liveness.no_lock_in_use(table, signs, session.locking)
    clock.writers_zone(table, signs.timeline)

    instant = signs.timeline.at(target)
    if instant is None or not instant.pending or instant.action not in (CLEAN, INDEXING):
        raise Conflict(f"{target} is no longer pending", hint="run the command again: it plans anew", instant=target)
    reason = _clean_reason(table, signs, instant) if instant.action == CLEAN else _indexing_reason(table, instant)
    # A file that is being written can be read as little.
    liveness.no_live_heartbeat(signs, [instant])
    liveness.no_running_rollback(signs, idle_ms, [instant])
    files = tuple(file.name for file in reversed(instant.files))
    return instant, ServiceRemoval(target, instant.action, instant.state.name, reason, files, session.lock)


def _clean_reason(table: Table, signs: Signs, instant: Instant) -> str:
    """Raises Refused: it has a plan."""
    for without in cleans_without_plan(table, signs.timeline):
        if without.instant.time == instant.time:
            return without.problem
    raise Refused(
        f"{instant} has a plan: the next clean of Hudi's finishes it",
        hint="`hudictl check` says whether it would delete files that are needed",
        instant=instant.time,
    )


def _indexing_reason(table: Table, instant: Instant) -> str:
    """Raises Refused: partitions of the metadata table are in the making."""
    making = partitions_in_the_making(table, instant)
    if making:
        raise Refused(
            f"{instant}: {', '.join(making)} of the metadata table is in the making",
            hint=drop_first(making),
            instant=instant.time,
            partitions=list(making),
        )
    return "nothing of it is in the metadata table"
