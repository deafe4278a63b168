"""Guards on the other instants of the timeline."""

from collections.abc import Collection, Iterable, Mapping
from typing import NoReturn

from hudictl.errors import Conflict, Refused, Unreadable
from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.formats.instants import BOOTSTRAPS, PENDING_ONLY, WRITE_ACTIONS, Instant
from hudictl.formats.restore import target_text
from hudictl.phrases import command_of, count_of, first_few
from hudictl.state.facts import Signs
from hudictl.state.files.savepoints import is_protection, read_savepoint_head
from hudictl.state.pending import PendingRestore, foreign_rollbacks, paths_of
from hudictl.state.timeline.removed import COMPLETION, archived_before, seen_by
from hudictl.state.timeline.targets import BOOTSTRAP_AGAIN
from hudictl.state.timeline.unfinished import way_out_of_restore, way_out_of_rollback
from hudictl.table.archive_lost import losses
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, empty_commits
from hudictl.table.timeline.archive import archived_writes_after
from hudictl.table.timeline.archived_writes import archived_as_completed


def not_moved(timeline: Timeline, planned: frozenset[str]) -> None:
    """Raises Conflict: a file was added to the timeline, or removed from it, since planning."""
    moved = sorted(frozenset(timeline.modified_ms) ^ planned)
    if moved:
        raise Conflict(
            f"the timeline has changed since planning: {first_few(moved)}",
            hint="stop all writers, then run the command again: it makes a new plan",
            files=moved,
        )


def covered(signs: Signs, others: Iterable[PendingRestore], target: str, removed: Collection[str]) -> None:
    """Raises Refused: another pending restore has removed or un-published an instant that this one would keep."""
    on_timeline = {entry.time: entry for entry in signs.timeline.writes()}
    for other in others:
        # A table service may have been pending before the other restore: its state proves nothing.
        wrote = {info.time for info in other.plan.instants if info.action not in PENDING_ONLY}
        end = target_text(other.plan.target)
        for time in wrote - set(removed) if other.begun else ():
            found = on_timeline.get(time)
            if (found is None and time < target) or (found is not None and found.pending):
                raise Refused(
                    f"the pending restore {other.instant.time} to {end} has begun to remove {time}, "
                    f"but a restore to {target} would keep it",
                    hint=f"`{command_of('restore', end)}` finishes both"
                    if other.plan.target
                    else "finish it with Hudi",
                    restore=other.instant.time,
                    instant=time,
                )


def later_only(table: Table, timeline: Timeline, target: Instant, pending: PendingRestore) -> None:
    """Raises Refused: the plan of a pending restore lists the target, or what its readers saw: no release of Hudi plans
    that, whichever rule it follows. Unreadable: the archive."""
    there = {entry.time for entry in timeline.writes()}
    gone = {time for time in pending.instants - there if time < target.time}
    found = seen_by(table, timeline, target, pending.instants, unknown=False)
    found += sorted(archived_as_completed(table, timeline, gone))
    if found:
        raise Refused(
            f"the plan of the pending restore {pending.instant.time} lists {first_few(found)}: readers of its target "
            f"{target.time} saw that, and it must stay",
            hint="do not finish it with Hudi either. If readers still see all that it lists, copy "
            f"{paths_of(table, pending.instant)} to another place, and delete these: it has changed nothing",
            restore=pending.instant.time,
            instants=found,
        )


def no_pending_restore(table: Table, signs: Signs, until: str = "") -> None:
    """Raises Refused: a restore is pending. ``until``: what waits for its end."""
    for restore in signs.restores:
        raise Refused(
            f"a restore is pending: {restore.instant}{until}",
            hint=way_out_of_restore(table, restore),
            restore=restore.instant.time,
        )


def nothing_to_resume(signs: Signs, because: str) -> None:
    """Raises Refused: a restore or rollback is pending. ``because``: why it has to be finished first."""
    pending = [*(entry.instant for entry in signs.restores), *(entry.instant for entry in signs.live_rollbacks)]
    if pending:
        raise Refused(
            f"{pending[0]} is pending: {because}",
            hint="finish it first: `hudictl resume`",
            instant=pending[0].time,
        )


def no_later_savepoint(table: Table, timeline: Timeline, removed: Collection[str]) -> None:
    """Raises Refused: an instant to remove has a savepoint that is not hudictl's temporary one."""
    times = [entry.time for entry in timeline.savepoints() if entry.time in removed]
    saved = {time: read_savepoint_head(table, timeline, time) for time in times}
    later = [time for time, head in saved.items() if head is None or not is_protection(head)]
    if later:
        raise Refused(
            f"there are savepoints later than the target: {', '.join(later)}",
            hint="to delete them as a part of the restore, use --delete-later-savepoints",
            savepoints=later,
        )


def no_bootstrap(removed: Collection[str]) -> None:
    """Raises Refused: a bootstrap would be removed. Markers may name a part of its files only, and of two instants one
    would stay."""
    for time in sorted(BOOTSTRAPS.intersection(removed)):
        raise Refused(
            f"{time} is the table's bootstrap: without it the table has a part of the source's rows, or none",
            hint=f"to take it back with all later commits, or to end one that has died, {BOOTSTRAP_AGAIN}",
            instant=time,
        )


def no_foreign_rollback(table: Table, signs: Signs, removed: Collection[str], ended: Collection[str]) -> None:
    """Raises Refused: a rollback of an instant that the restore keeps is pending, and not one that it ends."""
    for rollback in foreign_rollbacks(signs.live_rollbacks, removed):
        if rollback.instant.time not in ended:
            of = rollback.target or "an unknown instant"
            if rollback.target:
                there = signs.timeline.find(rollback.target, *WRITE_ACTIONS)
                of += ", which the restore keeps" if there else ", which is no longer on the timeline"
            why = "" if rollback.target else ": its plan cannot be read"
            raise Refused(
                f"{rollback.instant} is pending; it rolls back {of}{why}",
                hint=way_out_of_rollback(table, signs, rollback),
                rollback=rollback.instant.time,
            )


def not_archived(table: Table, timeline: Timeline, times: Collection[str]) -> None:
    """Raises Refused: the archive has one of the instants to remove as a completed write. Its files have rows that
    readers see, whatever is pending under its time."""
    for time in sorted(archived_as_completed(table, timeline, times)):
        left = timeline.find(time, *WRITE_ACTIONS)
        raise Refused(
            f"{time} is archived as completed: readers see its rows, and it cannot be taken back",
            hint=f"copy {paths_of(table, left)} to another place, and delete these leftovers"
            if left is not None
            else "`hudictl resume --discard-rollbacks` removes the pending rollback of it",
            instant=time,
        )


def nothing_archived_after(table: Table, target: str) -> None:
    """Raises Refused: a write newer than the target is archived. Only a restore takes that back with it."""
    archive_is_known(table, target)
    later = archived_writes_after(table, target)
    if later:
        raise Refused(
            f"commits after {target} are archived: {len(later):,}, the first is {later[0]}",
            hint="choose a later instant; only a restore removes archived commits: "
            f"`{command_of('restore', options=[f'--to-instant={target}', '--plan'])}` shows what goes",
            instants=later,
        )


def archive_is_known(table: Table, target: str) -> None:
    """Raises Refused: a repair of the archive may have lost a write or clean after the target."""
    lost = {time: until for time, until in losses(table).items() if until > target}
    if lost:
        until = max(lost.values())
        raise Refused(
            f"a repair of the archive has lost instants up to {until}: what came after {target} is not all known",
            hint=f"choose an instant after {until}; or `{command_of('undo', max(lost))}`, and put the file back from a "
            "backup",
            until=until,
        )


def archived_as_planned(table: Table, target: str, planned: Collection[str]) -> None:
    """Raises Conflict: a write after the target has come into the archive since planning."""
    late = [time for time in archived_writes_after(table, target) if time not in planned]
    if late:
        raise Conflict(
            f"{count_of(len(late), 'write')} after {target} have come into the archive since planning: "
            f"{first_few(late)}",
            hint="stop all writers, then run the command again: it makes a new plan",
            instants=late,
        )


def archived_with_rule(table: Table, target: Instant, rule: str, archived: Mapping[str, ArchivedInstant]) -> None:
    """Raises Refused: the rule keeps an archived write that was requested after the target. Readers saw it there, and
    would take it for uncommitted, as it is newer than the timeline's first commit."""
    found = archived_before(table, target, archived.values()) if rule == COMPLETION else []
    if found:
        raise Refused(
            f"{first_few(found)} was requested after {target.time} and completed before it, and is archived: after a "
            "restore readers would not see it",
            hint="--rule requested takes it away with its rows, as Hudi 1.0 does; or choose another instant",
            instants=found,
        )


def undone(target: Instant, found: Mapping[str, Collection[str]]) -> NoReturn:
    """Raises Refused: an instant that the restore would keep undoes what readers of the target saw."""
    time, commits = next(iter(found.items()))
    raise Refused(
        f"{time} replaces file groups that {first_few(sorted(commits))} has changed since it was planned; both rules "
        f"keep it, and readers would not see {target.time}",
        hint="to restore all the same, choose a --rule: the plan says what readers will see; or choose another instant",
        instants=sorted(found),
    )


def says_what_it_wrote(timeline: Timeline, instant: Instant) -> None:
    """Raises Unreadable: the completed file is empty, so that the files of the commit cannot be determined."""
    for file in empty_commits(timeline):
        if file.time == instant.time:
            raise Unreadable(
                f"{file.name} is empty: the files of {instant.time} cannot be determined",
                hint="choose another commit; `hudictl check` shows what else is wrong",
                file=file.name,
            )


def completed_once(instant: Instant) -> None:
    """Raises Unreadable: two processes have completed the instant; the valid file cannot be determined."""
    completed = instant.completed_files
    if len(completed) > 1:
        names = ", ".join(file.name for file in completed)
        raise Unreadable(
            f"{instant.time} has several completed files: {names}",
            hint="two processes have completed it, and the valid file cannot be determined; `hudictl check` shows more",
            files=names,
        )
