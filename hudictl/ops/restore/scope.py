"""What a restore is about, before any data file is listed: the target, what is pending, the instants that go."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hudictl.errors import Conflict
from hudictl.formats.instants import Instant
from hudictl.formats.savepoint import SavepointMetadata
from hudictl.ops.guards import clock, liveness
from hudictl.ops.guards import timeline as guards
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.session import Session
from hudictl.state.facts import Signs
from hudictl.state.later import (
    COMPLETION,
    REQUESTED,
    instants_after,
    own_rule,
    ways_to,
)
from hudictl.state.pending import PendingRestore, PendingRollback, foreign_rollbacks, later_writes, restores_to
from hudictl.state.savepoints import find_savepoint, read_savepoint
from hudictl.state.targets import find_commit
from hudictl.state.writable import known_timeline
from hudictl.table.operations import read_operation
from hudictl.table.table import Table


@dataclass(frozen=True)
class Scope:
    """What a restore is about, as the timeline tells it: ``found`` is the pending restore to the target, ``others`` are
    all others; ``rule`` decides what is later, ``removed`` are the instants that go, newest first, ``foreign`` the
    pending rollbacks to discard."""

    signs: Signs
    target: str
    options: RestoreOptions
    found: PendingRestore | None
    others: tuple[PendingRestore, ...]
    savepoint: SavepointMetadata | None
    rule: str
    removed: Mapping[str, Instant | None]
    foreign: Sequence[PendingRollback]

    @property
    def pending(self) -> PendingRestore | None:
        """The restore that goes on."""
        return self.found if self.found and self.found.begun else None

    @property
    def later_writes(self) -> tuple[str, ...]:
        """The instants that came in beside a pending restore, and go with it."""
        return tuple(sorted(self.removed.keys() - self.pending.instants)) if self.pending else ()

    @property
    def withdrawn(self) -> str | None:
        """The restore that was only requested: nothing of it was done, and it is planned anew."""
        return self.found.instant.time if self.found and not self.found.begun else None

    @property
    def savepointed(self) -> Mapping[str, tuple[str, ...]]:
        """The files that the savepoint names, by partition."""
        return self.savepoint.files if self.savepoint else {}


def scopes(session: Session, signs: Signs, target: str, options: RestoreOptions) -> Iterator[Scope]:
    """The ways to restore to the target, in the order in which they are tried; of each that comes, every guard that
    needs no listing has passed. Raises as ``plan_restore``."""
    table = session.table
    found, others = restores_to(signs.planned_restores, target)
    options = _consented(table, options, found)
    liveness.no_running_restore(table, signs, options.idle_ms)
    pending = found if found and found.begun else None

    # A pending restore was allowed to begin: it may be one that needed no savepoint.
    needs_savepoint = not options.to_instant and found is None
    read = find_savepoint if needs_savepoint else read_savepoint
    savepoint = read(table, signs.timeline, target)

    for rule, removed in _ways(table, signs, target, pending, options):
        guards.covered(signs, others, target, removed)
        foreign = foreign_rollbacks(signs.live_rollbacks, removed) if options.discard_rollbacks else []
        check_signs(session, signs, target, removed, options, {entry.instant.time for entry in foreign})
        # One that has begun keeps the time that it has, whatever the clock says.
        if pending is None and (removed or foreign or found):
            clock.time_can_be_given(table, signs.timeline.without({found.instant.time if found else None}))
        yield Scope(signs, target, options, found, others, savepoint, rule, removed, foreign)


def check_signs(
    session: Session,
    signs: Signs,
    target: str,
    removed: Mapping[str, Instant | None],
    options: RestoreOptions,
    discarded: Collection[str],
) -> None:
    """The guards that need no listing of data files; they run again under the claim. Raises as ``plan_restore``."""
    table = session.table
    find_commit(signs.timeline, target)
    known_timeline(signs.timeline)
    for instant in signs.timeline.instants:
        guards.completed_once(instant)
    liveness.no_lock_in_use(table, signs, session.locking)
    if not options.delete_later_savepoints:
        guards.no_later_savepoint(table, signs.timeline, removed)
    guards.no_foreign_rollback(table, signs, removed, discarded)
    guards.nothing_archived_after(table, target)


def _consented(table: Table, options: RestoreOptions, pending: PendingRestore | None) -> RestoreOptions:
    """What the operator agreed to when the restore began holds for its rest, whatever command finishes it."""
    operation = read_operation(table.storage, pending.instant.time) if pending else None
    said = operation.plan.get("options", {}) if operation else {}
    # Of a restore that has not begun nothing is to be finished: what else may go is asked for anew.
    agreed = said if pending is not None and pending.begun else {}
    return replace(
        options,
        rule=options.rule or said.get("rule"),
        delete_later_savepoints=options.delete_later_savepoints or bool(agreed.get("delete_later_savepoints")),
        discard_rollbacks=options.discard_rollbacks or bool(agreed.get("discard_rollbacks")),
        keep_backup=options.keep_backup or bool(said.get("keep_backup")),
    )


def _ways(
    table: Table, signs: Signs, target: str, pending: PendingRestore | None, options: RestoreOptions
) -> Iterator[tuple[str, Mapping[str, Instant | None]]]:
    """The rule, and the instants to remove by requested time, newest first; None for one that the pending restore
    removed already.

    Raises Conflict: a write came in beside a pending restore.
    """
    commit = find_commit(signs.timeline, target)
    if pending is None:
        for way in ways_to(table, signs.timeline, commit, options.rule):
            yield way.rule, {entry.time: entry for entry in way.removed}
        return

    operation = read_operation(table.storage, pending.instant.time)
    begun = operation.plan.get("rule") if operation else None
    yield options.rule or begun or own_rule(table), _planned(table, signs, commit, pending, options)


def _planned(
    table: Table, signs: Signs, target: Instant, pending: PendingRestore, options: RestoreOptions
) -> dict[str, Instant | None]:
    """The instants of a pending restore, with those that came in beside it, if that is wanted or was before.

    Raises Conflict: a write came in beside it.
    """
    planned = [*later_writes(table, pending), *(info.time for info in pending.plan.instants)]
    both = instants_after(table, signs.timeline, target, REQUESTED)
    after = instants_after(table, signs.timeline, target, COMPLETION)
    later = [entry.time for entry in after if entry in both and entry.time not in planned]
    if later and not options.with_later_writes:
        times = sorted(later)
        raise Conflict(
            f"writes that are not in the plan of the pending restore {pending.instant.time}: {', '.join(times)}",
            hint="stop all writers; `hudictl resume --with-later-writes` removes these instants, too",
            instants=times,
        )
    on_timeline = {entry.time: entry for entry in signs.timeline.writes()}
    return {time: on_timeline.get(time) for time in dict.fromkeys([*later, *planned])}
