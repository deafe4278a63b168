"""Guards on what else the timeline holds."""

from collections.abc import Collection

from hudictl.errors import Conflict, Refused, Unreadable
from hudictl.formats.instants import COMMIT_ACTIONS, SAVEPOINT, WRITE_ACTIONS, Instant, State
from hudictl.formats.savepoint import SavepointMetadata, decode
from hudictl.ops.facts import PendingRestore, Signs
from hudictl.table.archive import archived_after
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, read_instant


def find_savepoint(table: Table, timeline: Timeline, time: str) -> SavepointMetadata:
    """The metadata of a completed savepoint.

    Raises:
        Refused: there is none; the message names those that exist.
        Unreadable.
    """
    instant = timeline.find(time, SAVEPOINT)
    file = instant.file(State.COMPLETED) if instant else None
    if file is None:
        names = ", ".join(entry.time for entry in timeline.savepoints()) or "none"
        raise Refused(
            f"there is no savepoint {time}; savepoints of this table: {names}",
            hint="`hudictl savepoint list` shows them",
            savepoint=time,
        )
    return decode(read_instant(table, file), file.name)


def find_commit(timeline: Timeline, time: str) -> Instant:
    """A completed commit on the active timeline. Raises Refused."""
    instant = timeline.find(time, *COMMIT_ACTIONS)
    if instant is None or not instant.completed:
        state = "no commit on the active timeline" if instant is None else f"pending ({instant.state.name})"
        raise Refused(
            f"{time} is {state}",
            hint="`hudictl timeline show` lists the instants",
            instant=time,
        )
    return instant


def not_moved(timeline: Timeline, planned: frozenset[str]) -> None:
    """Raises Conflict: a file came to the timeline, or went, since planning."""
    moved = sorted(frozenset(timeline.modified_ms) ^ planned)
    if moved:
        raise Conflict(
            f"the timeline moved since planning: {', '.join(moved[:5])}",
            hint="stop all writers, then run the command again: it plans anew",
            files=moved,
        )


def no_foreign_restore(signs: Signs, target: str | None) -> PendingRestore | None:
    """The pending restore to the target, if there is one.

    Raises:
        Refused: a pending restore with another target, or several.
    """
    if len(signs.restores) > 1:
        times = ", ".join(entry.instant.time for entry in signs.restores)
        raise Refused(
            f"several restores are pending: {times}",
            hint="finish them with Hudi; hudictl does not choose between them yet",
        )
    for pending in signs.restores:
        if pending.plan.target != target:
            raise Refused(
                f"a restore to {pending.plan.target or 'an unnamed instant'} is pending: {pending.instant}",
                hint="finish it first: `hudictl resume`",
                restore=pending.instant.time,
            )
        return pending
    return None


def no_later_savepoint(timeline: Timeline, removed: Collection[str]) -> None:
    """Raises Refused: a savepoint on an instant that would be removed."""
    later = [entry.time for entry in timeline.savepoints() if entry.time in removed]
    if later:
        raise Refused(
            f"later savepoints are in the way: {', '.join(later)}",
            hint="delete them first: `hudictl savepoint delete`, newest first",
            savepoints=later,
        )


def no_foreign_rollback(signs: Signs, removed: Collection[str]) -> None:
    """Raises Refused: a pending rollback of an instant that stays has a say on what the target is."""
    for instant, plan in signs.rollbacks:
        target = plan.target.time if plan else None
        if target is None or target not in removed:
            raise Refused(
                f"{instant} is pending, of {target or 'an unknown instant (its plan is unreadable)'}",
                hint="let a Hudi writer finish that rollback, or remove its files if nothing of it was done",
                rollback=instant.time,
            )


def nothing_archived_after(table: Table, target: str) -> None:
    """Raises Refused: a write newer than the target is archived, which nothing can un-publish."""
    later = sorted({entry.time for entry in archived_after(table, target) if entry.action in WRITE_ACTIONS})
    if later:
        raise Refused(
            f"{len(later)} commits after {target} are archived, {later[0]} among them: they cannot be taken back",
            hint="choose a later savepoint",
            instants=later,
        )


def readable_inflight(instant: Instant) -> None:
    """Raises Unreadable: a completed file that readers of this layout cannot place."""
    completed = [file for file in instant.files if file.state is State.COMPLETED]
    if len(completed) > 1:
        names = ", ".join(file.name for file in completed)
        raise Unreadable(f"{instant.time} is completed twice: {names}", hint="two processes completed it", files=names)
