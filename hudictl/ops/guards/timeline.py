"""Guards on what else the timeline holds."""

from collections.abc import Collection, Iterable

from hudictl.errors import Conflict, Refused, Unreadable
from hudictl.formats.instants import COMMIT_ACTIONS, PENDING_ONLY, SAVEPOINT, WRITE_ACTIONS, Instant, State
from hudictl.formats.rollback import RollbackPlan
from hudictl.formats.savepoint import SavepointMetadata, decode
from hudictl.ops.facts import PendingRestore, Signs
from hudictl.ops.protect import is_protection
from hudictl.table.archive import archived_after
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, read_instant


def find_savepoint(table: Table, timeline: Timeline, time: str) -> SavepointMetadata:
    """The metadata of a completed savepoint.

    Raises:
        Refused: there is none; the message names those that exist.
        Unreadable.
    """
    found = read_savepoint(table, timeline, time)
    if found is None:
        names = ", ".join(entry.time for entry in timeline.savepoints()) or "none"
        raise Refused(
            f"there is no savepoint {time}; savepoints of this table: {names}",
            hint="`hudictl savepoint list` shows them; --to-instant restores to a commit without one",
            savepoint=time,
        )
    return found


def read_savepoint(table: Table, timeline: Timeline, time: str) -> SavepointMetadata | None:
    """The metadata of a completed savepoint, if there is one. Raises Unreadable."""
    instant = timeline.find(time, SAVEPOINT)
    file = instant.file(State.COMPLETED) if instant else None
    return decode(read_instant(table, file), file.name) if file else None


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


def restores_to(signs: Signs, target: str) -> tuple[PendingRestore | None, tuple[PendingRestore, ...]]:
    """The pending restore to the target that goes on (the newest that has begun, else the newest), and all others.

    Raises:
        Refused: restores are pending, none of them to the target.
    """
    same = [entry for entry in signs.restores if entry.plan.target == target]
    if signs.restores and not same:
        found = ", ".join(f"{entry.instant} to {entry.plan.target or 'an unnamed instant'}" for entry in signs.restores)
        raise Refused(
            f"another restore is pending: {found}",
            hint="finish it first: `hudictl resume`",
            restores=[entry.instant.time for entry in signs.restores],
        )
    chosen = max(same, key=lambda entry: (entry.begun, entry.instant.time), default=None)
    return chosen, tuple(entry for entry in signs.restores if entry is not chosen)


def covered(signs: Signs, others: Iterable[PendingRestore], target: str, removed: Collection[str]) -> None:
    """Raises Refused: another pending restore has taken back, or begun to, an instant that this one leaves."""
    on_timeline = {entry.time: entry for entry in signs.timeline.writes()}
    for other in others:
        # A table service that was pending when the other restore was planned says nothing of what it did.
        wrote = {info.time for info in other.plan.instants if info.action not in PENDING_ONLY}
        for time in wrote - set(removed) if other.begun else ():
            found = on_timeline.get(time)
            if (found is None and time < target) or (found is not None and found.pending):
                raise Refused(
                    f"the pending restore {other.instant.time} to {other.plan.target} has begun to take {time} back, "
                    f"which a restore to {target} would leave",
                    hint=f"`hudictl restore {other.plan.target}` finishes both",
                    restore=other.instant.time,
                    instant=time,
                )


def no_later_savepoint(table: Table, timeline: Timeline, removed: Collection[str]) -> None:
    """Raises Refused: a savepoint on an instant that would be removed, and that is not one of hudictl's own."""
    times = [entry.time for entry in timeline.savepoints() if entry.time in removed]
    saved = {time: read_savepoint(table, timeline, time) for time in times}
    later = [time for time, metadata in saved.items() if metadata is None or not is_protection(metadata)]
    if later:
        raise Refused(
            f"later savepoints are in the way: {', '.join(later)}",
            hint="--delete-later-savepoints makes their deletion part of the restore",
            savepoints=later,
        )


def foreign_rollbacks(signs: Signs, removed: Collection[str]) -> list[tuple[Instant, RollbackPlan | None]]:
    """The pending rollbacks of instants that stay: they have a say on what the target is."""
    return [(entry, plan) for entry, plan in signs.rollbacks if plan is None or plan.target.time not in removed]


def no_foreign_rollback(signs: Signs, removed: Collection[str], discarded: Collection[str]) -> None:
    """Raises Refused: a pending rollback of an instant that stays, and that is not discarded."""
    for instant, plan in foreign_rollbacks(signs, removed):
        if instant.time not in discarded:
            target = plan.target.time if plan else "an unknown instant (its plan is unreadable)"
            raise Refused(
                f"{instant} is pending, of {target}, which stays",
                hint="`hudictl resume` finishes it; where nothing of it was done, --discard-rollbacks discards it; "
                "without a readable plan, remove its files",
                rollback=instant.time,
            )


def nothing_archived_after(table: Table, target: str) -> None:
    """Raises Refused: a write newer than the target is archived, which nothing can un-publish."""
    later = sorted({entry.time for entry in archived_after(table, target) if entry.action in WRITE_ACTIONS})
    if later:
        raise Refused(
            f"{len(later)} commits after {target} are archived, {later[0]} among them: they cannot be taken back",
            hint="choose a later instant",
            instants=later,
        )


def readable_inflight(instant: Instant) -> None:
    """Raises Unreadable: a completed file that readers of this layout cannot place."""
    completed = [file for file in instant.files if file.state is State.COMPLETED]
    if len(completed) > 1:
        names = ", ".join(file.name for file in completed)
        raise Unreadable(f"{instant.time} is completed twice: {names}", hint="two processes completed it", files=names)
