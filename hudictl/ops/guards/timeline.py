"""Guards on what else the timeline holds."""

from collections.abc import Collection, Iterable

from hudictl.errors import Conflict, Refused, Unreadable
from hudictl.formats.instants import PENDING_ONLY, WRITE_ACTIONS, Instant
from hudictl.formats.restore import target_text
from hudictl.phrases import first_few
from hudictl.state.facts import Signs
from hudictl.state.pending import PendingRestore, foreign_rollbacks
from hudictl.state.savepoints import is_protection, read_savepoint
from hudictl.state.unfinished import way_out_of_rollback
from hudictl.table.archive import archived_after
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, empty_commits


def not_moved(timeline: Timeline, planned: frozenset[str]) -> None:
    """Raises Conflict: a file came to the timeline, or went, since planning."""
    moved = sorted(frozenset(timeline.modified_ms) ^ planned)
    if moved:
        raise Conflict(
            f"the timeline moved since planning: {first_few(moved)}",
            hint="stop all writers, then run the command again: it plans anew",
            files=moved,
        )


def covered(signs: Signs, others: Iterable[PendingRestore], target: str, removed: Collection[str]) -> None:
    """Raises Refused: another pending restore has taken back, or begun to, an instant that this one leaves."""
    on_timeline = {entry.time: entry for entry in signs.timeline.writes()}
    for other in others:
        # A table service that was pending when the other restore was planned says nothing of what it did.
        wrote = {info.time for info in other.plan.instants if info.action not in PENDING_ONLY}
        end = target_text(other.plan.target)
        for time in wrote - set(removed) if other.begun else ():
            found = on_timeline.get(time)
            if (found is None and time < target) or (found is not None and found.pending):
                raise Refused(
                    f"the pending restore {other.instant.time} to {end} has begun to take {time} back, "
                    f"which a restore to {target} would leave",
                    hint=f"`hudictl restore {end}` finishes both" if other.plan.target else "finish it with Hudi",
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


def no_foreign_rollback(table: Table, signs: Signs, removed: Collection[str], discarded: Collection[str]) -> None:
    """Raises Refused: a pending rollback of an instant that stays, and that is not discarded."""
    for rollback in foreign_rollbacks(signs.live_rollbacks, removed):
        if rollback.instant.time not in discarded:
            target = rollback.target or "an unknown instant (its plan is unreadable)"
            raise Refused(
                f"{rollback.instant} is pending, of {target}, which stays",
                hint=way_out_of_rollback(table, signs, rollback),
                rollback=rollback.instant.time,
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


def says_what_it_wrote(timeline: Timeline, instant: Instant) -> None:
    """Raises Unreadable: the completed file has no content, so that nobody can tell which files the commit needs."""
    for file in empty_commits(timeline):
        if file.time == instant.time:
            raise Unreadable(
                f"{file.name} has no content: nobody can tell which files {instant.time} has written",
                hint="choose another commit; `hudictl check` says what else is wrong",
                file=file.name,
            )


def completed_once(instant: Instant) -> None:
    """Raises Unreadable: two processes have completed the instant; which of them holds cannot be told."""
    completed = instant.completed_files
    if len(completed) > 1:
        names = ", ".join(file.name for file in completed)
        raise Unreadable(f"{instant.time} is completed twice: {names}", hint="two processes completed it", files=names)
