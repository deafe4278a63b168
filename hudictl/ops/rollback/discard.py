"""Discarding rollbacks that were requested, and have changed nothing."""

from dataclasses import dataclass, replace
from functools import partial

from hudictl.errors import Conflict
from hudictl.formats.instants import ROLLBACK
from hudictl.ops.guards import clock, liveness
from hudictl.ops.metadata.keep import forget_kept, put_back_unchanged
from hudictl.ops.session import Begun, Kind, Session, changing, keeping_files, writable_signs
from hudictl.ops.undo.execute import remove_traces
from hudictl.ops.undo.untouched import untouched_rollbacks
from hudictl.state.facts import Signs, read_facts, read_signs
from hudictl.state.metadata.record import read_kept
from hudictl.state.pending import PendingRollback, rollbacks_to_end
from hudictl.table.timeline.active import Timeline, delete_instant


@dataclass(frozen=True)
class Discard:
    """Rollbacks to discard, newest first; they have changed nothing, or have no plan to be finished by.

    - ``undo``: the number with which ``hudictl undo`` takes it back; null if not done.
    """

    rollbacks: tuple[str, ...]
    undo: str | None = None


def plan_discard(session: Session, idle_ms: int) -> Discard:
    """The unwanted rollbacks. None has changed anything: every file of their plans exists, and no rollback block does;
    or it has no plan.

    Raises:
        Refused: one has changed something, or that cannot be determined.
        Conflict: one may be running.
        Unsupported, Unreadable, StorageFailed, EngineFailed.
    """
    table, signs = session.table, writable_signs(session)
    unwanted = rollbacks_to_end(table, signs.live_rollbacks, discard=True).unwanted
    _check(session, signs, unwanted, idle_ms)
    facts = read_facts(table, session.engine, signs)
    untouched = untouched_rollbacks(facts, session.engine, [entry for entry in unwanted if entry.plan])
    # Hudi executes nothing without a plan, also of what has begun: nobody can finish it.
    lost = (entry.instant.time for entry in unwanted if not entry.plan)
    return Discard(tuple(sorted((*untouched, *lost), reverse=True)))


def execute_discard(session: Session, plan: Discard, idle_ms: int) -> Discard:
    """Removes them. Raises Conflict: the timeline has changed since planning; StorageFailed."""

    def work(run: Begun[Timeline]) -> Discard:
        table = keeping_files(session, Kind.DISCARD_ROLLBACKS, [run.time], plan.rollbacks, asked=True).table
        for time in plan.rollbacks:
            run.held.check()
            # It may have set the metadata table aside, before it has changed the data.
            kept = read_kept(session.table, time)
            if kept is not None:
                put_back_unchanged(session.table, kept)
            remove_traces(table, {time})
            delete_instant(table, run.found.find(time, ROLLBACK))
            forget_kept(session.table, time)
        return replace(plan, undo=run.time)

    look = partial(_look_again, session, plan, idle_ms)
    return changing(session, Kind.DISCARD_ROLLBACKS, ", ".join(plan.rollbacks), {}, look=look, work=work)


def _look_again(session: Session, plan: Discard, idle_ms: int) -> Timeline:
    signs = read_signs(session.table)
    unwanted = rollbacks_to_end(session.table, signs.live_rollbacks, discard=True).unwanted
    _check(session, signs, unwanted, idle_ms)
    if {entry.instant.time for entry in unwanted} != set(plan.rollbacks):
        raise Conflict("the timeline has changed since planning", hint="run the command again")
    session.monitor.step("discard rollbacks")
    return signs.timeline


def _check(session: Session, signs: Signs, unwanted: tuple[PendingRollback, ...], idle_ms: int) -> None:
    liveness.no_lock_in_use(session.table, signs, session.locking)
    clock.writers_zone(session.table, signs.timeline)
    liveness.no_live_heartbeat(signs, [entry.instant for entry in unwanted])
    liveness.no_running_rollback(signs, idle_ms, [entry.instant for entry in unwanted])
