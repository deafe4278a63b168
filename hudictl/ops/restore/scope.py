"""The scope of a restore, before any data file is listed: the target, pending operations, the instants to remove."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from hudictl.errors import Conflict, Unreadable
from hudictl.formats.archived_timeline import LOST, ArchivedInstant
from hudictl.formats.commit_metadata import previous_of
from hudictl.formats.instants import DELTACOMMIT, Instant, State
from hudictl.ops.guards import clock, liveness
from hudictl.ops.guards import timeline as guards
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.session import Session
from hudictl.state.facts import Facts, Signs
from hudictl.state.files.savepoints import Saved, find_saved, read_saved
from hudictl.state.orphans.lost_end import lost_after, lost_inside
from hudictl.state.pending import (
    PendingRestore,
    PendingRollback,
    foreign_rollbacks,
    later_writes,
    worked_on,
)
from hudictl.state.timeline.overwritten import bare_after, undone_after
from hudictl.state.timeline.removed import COMPLETION, REQUESTED, RestoreWay, instants_after, own_rule, ways_to
from hudictl.state.timeline.targets import find_commit
from hudictl.state.timeline.unfinished import restores_to
from hudictl.state.writable import known_timeline
from hudictl.table.files.saved import NOTHING_SAVED, SavedFiles
from hudictl.table.metadata.listing import listing_table
from hudictl.table.operations import BegunOptions, begun_plan, read_operation
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline
from hudictl.table.timeline.archived_writes import writes_after
from hudictl.table.timeline.commits import Commits


@dataclass(frozen=True)
class Scope:
    """The scope of a restore, known from the timeline. ``found`` is the pending restore to the target, ``others`` are
    all other pending ones; ``commit`` is the target's; ``rule`` decides which instants are later; ``removed`` are the
    instants to remove, newest first, and ``archived`` those of them that the archive has; ``foreign`` are the
    pending rollbacks to discard."""

    signs: Signs
    target: str
    options: RestoreOptions
    found: PendingRestore | None
    others: tuple[PendingRestore, ...]
    savepoint: Saved | None
    commit: Instant
    rule: str
    removed: Mapping[str, Instant | None]
    archived: Mapping[str, ArchivedInstant]
    foreign: Sequence[PendingRollback]

    @property
    def pending(self) -> PendingRestore | None:
        """The pending restore that is continued."""
        return self.found if self.found and self.found.begun else None

    @property
    def later_writes(self) -> tuple[str, ...]:
        """The instants that appeared during a pending restore, and are removed with it."""
        active = self.removed.keys() - self.archived.keys()
        return tuple(sorted(active - self.pending.instants)) if self.pending else ()

    @property
    def withdrawn(self) -> str | None:
        """The restore that was only requested: it has changed nothing, and is planned again."""
        return self.found.instant.time if self.found and not self.found.begun else None

    @property
    def changes_metadata_table(self) -> bool:
        """Whether there is anything for which the metadata table must change."""
        return bool(self.removed or self.found or self.foreign)

    @property
    def savepointed(self) -> SavedFiles:
        """The files that the savepoint names."""
        return self.savepoint.files if self.savepoint else NOTHING_SAVED


def scopes(session: Session, signs: Signs, target: str, options: RestoreOptions) -> Iterator[Scope]:
    """The ways to restore to the target, in the order in which they are tried. Each has passed every guard that needs
    no listing. Raises as ``plan_restore``."""
    table = session.table
    found, others = restores_to(table, signs.planned_restores, target)
    options = _consented(table, options, found)
    liveness.no_running_restore(table, signs, options.idle_ms)
    pending = found if found and found.begun else None

    # A pending restore has passed its guards before: it may be one to an instant without savepoint.
    needs_savepoint = not options.to_instant and found is None
    read = find_saved if needs_savepoint else read_saved
    savepoint = read(table, signs.timeline, session.engine, target)

    commit = find_commit(table, signs.timeline, target)
    guards.archive_is_known(table, target)
    archived = writes_after(table, target)
    for rule, active in _ways(table, signs, commit, pending, options):
        guards.archived_with_rule(table, commit, rule, archived)
        removed = {**active, **{time: None for time in archived if time not in active}}
        guards.covered(signs, others, target, removed)
        own = _half_removed(signs, target, pending)
        if pending is not None and not worked_on(table, pending):
            # Hudi begins one beside a pending rollback: its process may be at the end of its work.
            rollbacks = [entry.instant for entry in signs.live_rollbacks if entry.instant.time in own]
            liveness.no_running_rollback(signs, options.idle_ms, rollbacks)
        others_rollbacks = foreign_rollbacks(signs.live_rollbacks, removed)
        foreign = [entry for entry in others_rollbacks if options.discard_rollbacks and entry.instant.time not in own]
        ended = own.union(entry.instant.time for entry in foreign)
        check_signs(session, signs, target, removed, options, ended)
        # A restore that has begun keeps its time, whatever the clock shows.
        if pending is None and (removed or foreign or found):
            guards.no_bootstrap(removed)
            # The commit of a wrong clock can go: as in Hudi, its rollback has a time of now.
            gone = {found.instant.time if found else None, *removed}
            clock.time_can_be_given(table, signs.timeline.without(gone))
        yield Scope(signs, target, options, found, others, savepoint, commit, rule, removed, archived, foreign)


def with_lost(scope: Scope, facts: Facts, backup: Commits) -> Scope:
    """Also the writes after the target that neither timeline nor archive has, though later ones are based on them, or
    their files are there: the archive is cut. Raises Unreadable, StorageFailed, EngineFailed.

    Args:
        backup: the metadata of the instants to remove that the timeline has not.
    """
    removed, timeline = scope.removed, scope.signs.timeline
    on_timeline = (facts.commits[time] for time, entry in removed.items() if entry is not None)
    known = removed.keys() | {entry.time for entry in timeline.instants}
    named = previous_of([*on_timeline, *(commit for time, commit in backup.items() if time in removed)])
    # What the savepoint names, readers of the target saw.
    seen = known | scope.savepointed.instants
    based = {time for time in named - seen if time > scope.target}
    lost = _lost(facts, scope, cut=bool(scope.archived or based))
    times = sorted(based.union(time for time in lost - seen if time > scope.target), reverse=True)
    if not times:
        return scope
    found = {time: ArchivedInstant(time, DELTACOMMIT, State.COMPLETED, LOST) for time in times}
    return replace(scope, removed={**removed, **dict.fromkeys(times)}, archived={**scope.archived, **found})


def _lost(facts: Facts, scope: Scope, *, cut: bool) -> frozenset[str]:
    """The writes after the target that no record has, though their files are there; unless records of others are
    missing, too (``cut``), only those that the metadata table knows as completed. A restore that has begun keeps to its
    plan. Raises as ``with_lost``."""
    if scope.pending is not None:
        # Hudi's own plan has only what the timeline had, and some of their files may be gone.
        begun = begun_plan(read_operation(facts.table.storage, scope.pending.instant.time))
        return frozenset(entry.time for entry in begun.instants) - scope.pending.instants
    known = frozenset[str]() if cut else _known_as_completed(facts)
    if not (cut or known):
        return frozenset()
    # One that was requested before the target's completion may have been completed before it, too.
    completion = scope.commit.completion_time if scope.rule == COMPLETION else None
    found = lost_after(facts, max(scope.target, completion or ""))
    return found if cut else found & known


def _known_as_completed(facts: Facts) -> frozenset[str]:
    with suppress(Unreadable):
        metadata = listing_table(facts.table)
        return lost_inside(facts, load_timeline(metadata)) if metadata is not None else frozenset()
    return frozenset()


def check_signs(
    session: Session,
    signs: Signs,
    target: str,
    removed: Mapping[str, Instant | None],
    options: RestoreOptions,
    ended: Collection[str],
) -> None:
    """The guards that need no listing of data files; they run again under the claim.

    Args:
        ended: the pending rollbacks that the restore removes or discards.

    Raises as ``plan_restore``.
    """
    table = session.table
    find_commit(table, signs.timeline, target)
    known_timeline(table, signs.timeline)
    older = {time for time, entry in removed.items() if entry is not None and entry.pending and time < target}
    guards.not_archived(table, signs.timeline, older)
    for instant in signs.timeline.instants:
        guards.completed_once(instant)
    liveness.no_lock_in_use(table, signs, session.locking)
    if not options.delete_later_savepoints:
        guards.no_later_savepoint(table, signs.timeline, removed)
    guards.no_foreign_rollback(table, signs, removed, ended)


def _half_removed(signs: Signs, target: str, pending: PendingRestore | None) -> set[str]:
    """The rollbacks that look pending because the restore has removed them in part. When hudictl began it, no
    other rollback was pending; the targets of those that had ended were gone."""
    if pending is None:
        return set()
    gone = [entry for entry in signs.live_rollbacks if target < entry.instant.time < pending.instant.time]
    times = {instant.time for instant in signs.timeline.writes()}
    return {entry.instant.time for entry in gone if entry.target is not None and entry.target not in times}


def _consented(table: Table, options: RestoreOptions, pending: PendingRestore | None) -> RestoreOptions:
    """The operator's agreements when the restore began also apply to its rest, whichever command finishes it."""
    said = begun_plan(read_operation(table.storage, pending.instant.time) if pending else None).options
    # A restore that has not begun has changed nothing: the operator must agree again to further deletions.
    agreed = said if pending is not None and pending.begun else BegunOptions()
    return replace(
        options,
        rule=options.rule or said.rule,
        delete_later_savepoints=options.delete_later_savepoints or agreed.delete_later_savepoints,
        discard_rollbacks=options.discard_rollbacks or agreed.discard_rollbacks,
        keep_backup=options.keep_backup or said.keep_backup,
        metadata=agreed.metadata or options.metadata,
        require_index=tuple(sorted({*said.require_index, *options.require_index})),
        table_type=agreed.table_type or options.table_type,
    )


def _ways(
    table: Table, signs: Signs, commit: Instant, pending: PendingRestore | None, options: RestoreOptions
) -> Iterator[tuple[str, Mapping[str, Instant | None]]]:
    """The rule, and the instants to remove by requested time, newest first; None for one that the pending restore has
    already removed.

    Raises:
        Conflict: a new write appeared during a pending restore.
        Refused: its plan lists what readers of the target saw; each rule keeps an instant that undoes what they saw.
    """
    if pending is None:
        for way in ways_back_to(table, signs.timeline, commit, options.rule):
            yield way.rule, {entry.time: entry for entry in way.removed}
        return

    yield options.rule or own_rule(table), _planned(table, signs, commit, pending, options)


def ways_back_to(table: Table, timeline: Timeline, commit: Instant, rule: str | None) -> Sequence[RestoreWay]:
    """The ways to a commit by which readers see what they saw then, the first one first. Raises Refused."""
    ways = [*ways_to(table, timeline, commit, rule)]
    # A rule that the operator asks for is obeyed: the plan says what it means.
    if rule is not None:
        return ways
    undone = [
        undone_after(table, timeline, commit, way.times) or bare_after(table, timeline, commit, way.times)
        for way in ways
    ]
    if all(undone):
        guards.undone(commit, undone[0])
    return [way for way, found in zip(ways, undone, strict=True) if not found]


def _planned(
    table: Table, signs: Signs, target: Instant, pending: PendingRestore, options: RestoreOptions
) -> dict[str, Instant | None]:
    """The instants of a pending restore, and new writes that appeared during it, if their removal was agreed to. Raises
    Refused: the plan lists what readers of the target saw; Conflict: a new write appeared during the restore."""
    guards.later_only(table, signs.timeline, target, pending)
    planned = [*later_writes(table, pending), *(info.time for info in pending.plan.instants)]
    both = instants_after(table, signs.timeline, target, REQUESTED)
    after = instants_after(table, signs.timeline, target, COMPLETION)
    later = [entry.time for entry in after if entry in both and entry.time not in planned]
    if later and not options.with_later_writes:
        times = sorted(later)
        raise Conflict(
            f"there are new writes, not contained in the plan of the pending restore {pending.instant.time}: "
            f"{', '.join(times)}",
            hint="stop all writers; to remove these instants too, run `hudictl resume --with-later-writes`",
            instants=times,
        )
    on_timeline = {entry.time: entry for entry in signs.timeline.writes()}
    return {time: on_timeline.get(time) for time in dict.fromkeys([*later, *planned])}
