"""Deleting a savepoint: its plan, and its execution."""

from contextlib import suppress
from functools import partial

from hudictl.errors import Refused, Unreadable
from hudictl.formats import instants as fmt
from hudictl.formats import savepoint
from hudictl.formats.instants import Instant, State
from hudictl.ops.fingerprint import body_digest, table_fingerprint
from hudictl.ops.guards import clock, liveness
from hudictl.ops.guards import timeline as guards
from hudictl.ops.savepoint.plan import SavepointDeletion, SavepointReport
from hudictl.ops.session import Begun, Kind, Session, changing, writable_signs
from hudictl.state.facts import Signs, read_signs
from hudictl.state.files.savepoints import find_savepoint
from hudictl.table.timeline.active import delete_instant, read_instant


def plan_deletion(session: Session, instant: str) -> SavepointDeletion:
    """Plans the deletion of a savepoint.

    Raises:
        Refused: no such commit; a pending restore requires the savepoint; a pending rollback is blocked only by it.
        Conflict, Unsupported, Unreadable.
    """
    table, signs = session.table, writable_signs(session)
    found = signs.timeline.find(instant, fmt.SAVEPOINT)
    if found is None and signs.timeline.find(instant, *fmt.COMMIT_ACTIONS) is None:
        find_savepoint(table, signs.timeline, instant)
    _check_deletion(session, signs, instant)
    file = found.file(State.COMPLETED) if found else None
    count = 0
    if file is not None:
        # One that cannot be read can be deleted all the same: Hudi's cleans fail on it.
        with suppress(Unreadable):
            metadata = savepoint.decode(read_instant(table, file), file.name)
            count = sum(len(names) for names in metadata.files.values())
    return SavepointDeletion(
        timezone=session.timezone,
        target=instant,
        fingerprint={**table_fingerprint(table, {}), "savepoint": f"{found} {body_digest(table, found)}"},
        exists=found is not None,
        files_protected=count,
        timeline=frozenset(signs.timeline.modified_ms),
        lock=session.lock,
    )


def delete_savepoint(session: Session, plan: SavepointDeletion) -> None:
    """Deletes the completed file, then the inflight one. Raises as ``plan_deletion``, and Conflict."""
    if plan.nothing_to_do:
        return

    def work(run: Begun[Instant | None]) -> SavepointReport:
        run.held.check()
        delete_instant(session.table, run.found)
        return SavepointReport(plan.target, plan.files_protected)

    look, record = partial(_look_again, session, plan), {"files": plan.files_protected}
    changing(session, Kind.SAVEPOINT_DELETE, plan.target, record, look=look, work=work)


def _look_again(session: Session, plan: SavepointDeletion) -> Instant | None:
    signs = read_signs(session.table)
    guards.not_moved(signs.timeline, plan.timeline)
    _check_deletion(session, signs, plan.target)
    session.monitor.step("delete the savepoint")
    return signs.timeline.find(plan.target, fmt.SAVEPOINT)


def _check_deletion(session: Session, signs: Signs, instant: str) -> None:
    liveness.no_lock_in_use(session.table, signs, session.locking)
    clock.writers_zone(session.table, signs.timeline)
    nothing_waits_for(signs, instant)


def nothing_waits_for(signs: Signs, instant: str) -> None:
    """Raises Refused: a pending restore requires the savepoint; a pending rollback is blocked only by it."""
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
        # A pending restore ends its own rollbacks itself.
        if entry.target == instant and rollback.time < begun:
            raise Refused(
                f"{rollback} of {instant} is pending and blocked only by this savepoint: without it the next writer "
                f"would roll {instant} back",
                hint="remove that rollback first: `hudictl resume --discard-rollbacks`",
                rollback=rollback.time,
            )
