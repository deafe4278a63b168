"""Planning a restore: from what is on storage to the list of everything that changes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from hudictl.engine.base import Engine
from hudictl.errors import Conflict
from hudictl.formats.instants import COMMIT, ROLLBACK, Instant
from hudictl.formats.savepoint import SavepointMetadata
from hudictl.ops.guards import files as file_guards
from hudictl.ops.guards import liveness
from hudictl.ops.guards import metadata as metadata_guards
from hudictl.ops.guards import timeline as guards
from hudictl.ops.restore.fingerprint import restore_fingerprint
from hudictl.ops.restore.plan import FoundRestore, RestoreOptions, RestorePlan
from hudictl.ops.session import Session
from hudictl.ops.undo.backup import backed_up_commits
from hudictl.ops.undo.blocks import marked_slices, plan_blocks
from hudictl.ops.undo.plan import Removal
from hudictl.ops.undo.removals import empty_logs, plan_removals
from hudictl.ops.undo.untouched import untouched_rollbacks
from hudictl.state.cleans import cleans_in_the_way, pending_cleans
from hudictl.state.facts import Facts, Signs, read_facts, read_signs
from hudictl.state.later import COMPLETION, REQUESTED, instants_after, later_savepoints, own_rule
from hudictl.state.metadata_gap import metadata_gap, read_known
from hudictl.state.needed import Needed, needed_files
from hudictl.state.pending import PendingRestore, PendingRollback, foreign_rollbacks, restores_to
from hudictl.state.savepoints import find_savepoint, is_protection, read_savepoint
from hudictl.state.targets import find_commit
from hudictl.state.writable import known_timeline, writable_table
from hudictl.table.metadata_table import metadata_table_in_use
from hudictl.table.operations import operation_path, read_operation
from hudictl.table.table import Table
from hudictl.table.timeline import refuse_future


@dataclass(frozen=True)
class _Scope:
    """What a restore is about, as the timeline tells it: ``found`` is the pending restore to the target, ``others`` are
    all others; ``removed`` the instants that go, newest first; ``foreign`` the pending rollbacks to discard."""

    signs: Signs
    target: str
    options: RestoreOptions
    found: PendingRestore | None
    others: tuple[PendingRestore, ...]
    savepoint: SavepointMetadata | None
    removed: Mapping[str, Instant | None]
    foreign: Sequence[PendingRollback]

    @property
    def pending(self) -> PendingRestore | None:
        """The restore that goes on."""
        return self.found if self.found and self.found.begun else None

    @property
    def withdrawn(self) -> str | None:
        """The restore that was only requested: nothing of it was done, and it is planned anew."""
        return self.found.instant.time if self.found and not self.found.begun else None

    @property
    def savepointed(self) -> Mapping[str, tuple[str, ...]]:
        """The files that the savepoint names, by partition."""
        return self.savepoint.files if self.savepoint else {}


def plan_restore(session: Session, target: str, options: RestoreOptions | None = None) -> RestorePlan:
    """Plans a restore to a savepoint or an instant, or the rest of one that is pending. Changes nothing; every guard
    has passed. They are asked in the order of what they cost: what the table is, what is pending, the timeline, and
    then, after the listing, its files.

    Raises:
        Unsupported, Conflict, Refused, Unreadable: a guard.
        StorageFailed, EngineFailed.
    """
    table = session.table
    writable_table(table, session.locking)
    signs = read_signs(table)
    scope = _scope(session, signs, target, options or RestoreOptions())

    session.engine.start()
    known = read_known(table)
    facts = read_facts(table, session.engine, signs, session.monitor.note, savepointed=scope.savepointed, known=known)
    needed, cleans = _needed(facts, session.engine, scope)
    liveness.no_running_rollback(signs, scope.options.idle_ms, [entry.instant for entry in scope.foreign])
    discarded = untouched_rollbacks(facts, session.engine, scope.foreign)
    removals = _removals(facts, session.engine, scope)

    protects = scope.savepoint is None or is_protection(scope.savepoint)
    later = later_savepoints(signs, scope.removed)
    # Oldest first: a reader meets the blocks in the order of the commits.
    blocks = ((removal.time, block) for removal in reversed(removals) for block in removal.blocks)
    return RestorePlan(
        timezone=session.timezone,
        target=target,
        options=scope.options,
        fingerprint=restore_fingerprint(
            table, signs, target, scope.options, removals, needed.files, scope.withdrawn, protects
        ),
        table_version=table.version,
        rule=scope.options.rule or own_rule(table),
        resumes=scope.pending.instant.time if scope.pending else None,
        withdrawn=scope.withdrawn,
        restores_superseded=_superseded(scope),
        pending_restores=tuple(_found_restore(table, signs, entry) for entry in signs.planned_restores),
        removals=removals,
        marked=marked_slices(blocks, facts.sweep.files),
        savepoints_deleted=tuple(sorted((entry.time for entry in later), reverse=True)),
        protecting_savepoint=protects,
        rollbacks_removed=tuple(time for time in _rollbacks(scope) if time not in discarded),
        rollbacks_discarded=discarded,
        cleans_discarded=cleans,
        partition_metafiles_made=needed.bare,
        metadata_table_dropped=metadata_table_in_use(table),
        indexes_lost=table.indexes,
        pending_writes_that_stay=_staying(scope),
        newer_compactions_that_stay=_newer_compactions(table, scope),
        needed=needed.files,
        timeline=frozenset(signs.timeline.modified_ms),
        lock=session.lock,
        metadata_table_unread=known.unread,
    )


def _scope(session: Session, signs: Signs, target: str, options: RestoreOptions) -> _Scope:
    """Every guard that needs no listing has passed. Raises as ``plan_restore``."""
    table = session.table
    found, others = restores_to(signs.planned_restores, target)
    options = _consented(table, options, found)
    liveness.no_running_restore(table, signs, options.idle_ms)
    pending = found if found and found.begun else None

    # A pending restore was allowed to begin: it may be one that needed no savepoint.
    needs_savepoint = not options.to_instant and found is None
    read = find_savepoint if needs_savepoint else read_savepoint
    savepoint = read(table, signs.timeline, target)
    removed = _instants(table, signs, target, pending, options.rule)
    if pending is not None:
        refuse_future(table, signs.timeline)
    guards.covered(signs, others, target, removed)

    foreign = foreign_rollbacks(signs.live_rollbacks, removed) if options.discard_rollbacks else []
    check_signs(session, signs, target, removed, options, {entry.instant.time for entry in foreign})
    return _Scope(signs, target, options, found, others, savepoint, removed, foreign)


def _needed(facts: Facts, engine: Engine, scope: _Scope) -> tuple[Needed, dict[str, int]]:
    """What readers need at the target, and the pending cleans to discard, which would take some of it: all of it is
    there, and nobody is at work on it.

    Raises Unsupported, Conflict, Refused, Unreadable.
    """
    table, signs, idle_ms = facts.table, facts.signs, scope.options.idle_ms
    planned = scope.pending.instants if scope.pending else frozenset()
    liveness.no_running_write(table, signs, signs.timeline.instants, idle_ms, facts.sweep.files, planned)
    file_guards.own_files_only(facts, scope.removed)
    needed = needed_files(facts, set(scope.removed), scope.savepointed)
    file_guards.nothing_missing(needed, f"{scope.target} cannot be restored")
    file_guards.metafiles_can_be_made(table, needed)
    # What hudictl has begun had passed, and has no other way out.
    if scope.pending is None or not _is_own(table, scope.pending):
        gap = metadata_gap(facts, engine, needed, scope.removed, scope.savepointed)
        metadata_guards.nothing_lost_or_gained(gap)
    cleans = cleans_in_the_way(table, signs.timeline, pending_cleans(signs.timeline), needed.files)
    liveness.no_running_clean(signs, idle_ms, cleans)
    return needed, cleans


def _removals(facts: Facts, engine: Engine, scope: _Scope) -> tuple[Removal, ...]:
    """What goes with each instant. Raises Unreadable, StorageFailed, EngineFailed."""
    removed, pending = scope.removed, scope.pending
    # The action before un-publishing: Hudi's metadata names that one.
    actions = {info.time: info.action for info in reversed(pending.plan.instants)} if pending else {}
    blocks = plan_blocks(facts, engine, removed, pending.instant.time if pending else None, profiles=True)
    unpublished = [time for time, instant in removed.items() if instant is None or instant.pending]
    backup = backed_up_commits(facts.table, unpublished) if pending else {}
    empty = empty_logs(facts, (), 0) if removed else []
    return plan_removals(facts, removed, blocks, actions, backup, empty=empty)


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
    guards.no_foreign_rollback(signs, removed, discarded)
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


def _superseded(scope: _Scope) -> tuple[str, ...]:
    """The restores that end with this one: covered by it, or never planned."""
    ended = (*scope.others, *scope.signs.unplanned_restores)
    return tuple(sorted((entry.instant.time for entry in ended), reverse=True))


def _staying(scope: _Scope) -> tuple[str, ...]:
    """The pending writes that the restore leaves."""
    writes = scope.signs.timeline.writes()
    return tuple(entry.time for entry in writes if entry.pending and entry.time not in scope.removed)


def _found_restore(table: Table, signs: Signs, pending: PendingRestore) -> FoundRestore:
    on_timeline = {entry.time: entry for entry in signs.timeline.writes()}
    states = [on_timeline.get(time) for time in pending.instants]
    present = [entry for entry in states if entry is not None]
    return FoundRestore(
        restore=pending.instant.time,
        target=pending.plan.target,
        own=_is_own(table, pending),
        state=pending.instant.state.name,
        gone=len(states) - len(present),
        taken_back=sum(entry.pending for entry in present),
        completed=sum(entry.completed for entry in present),
    )


def _is_own(table: Table, pending: PendingRestore) -> bool:
    return table.storage.stat(operation_path(pending.instant.time)) is not None


def _instants(
    table: Table, signs: Signs, target: str, pending: PendingRestore | None, rule: str | None
) -> dict[str, Instant | None]:
    """The instants to remove by requested time, newest first; None for one that the pending restore removed already.

    Raises Conflict: a write came in beside a pending restore.
    """
    commit = find_commit(signs.timeline, target)
    if pending is None:
        if rule is None:
            guards.rules_agree(table, signs.timeline, commit)
        return {entry.time: entry for entry in instants_after(table, signs.timeline, commit, rule or own_rule(table))}
    planned = [info.time for info in pending.plan.instants]
    on_timeline = {entry.time: entry for entry in signs.timeline.writes()}
    both = {entry.time for entry in instants_after(table, signs.timeline, commit, REQUESTED)} & {
        entry.time for entry in instants_after(table, signs.timeline, commit, COMPLETION)
    }
    later = sorted(both - set(planned))
    if later:
        raise Conflict(
            f"writes that are not in the plan of the pending restore {pending.instant.time}: {', '.join(later)}",
            hint="stop all writers; roll these instants back with Hudi, then resume",
            instants=later,
        )
    return {time: on_timeline.get(time) for time in dict.fromkeys(planned)}


def _newer_compactions(table: Table, scope: _Scope) -> tuple[str, ...]:
    """Compactions that stay and completed after the target: their base files hold what the target's logs held."""
    timeline = scope.signs.timeline
    commit = find_commit(timeline, scope.target)
    if table.is_cow or commit.completion_time is None:
        return ()
    return tuple(
        entry.time
        for entry in timeline.having(COMMIT)
        if entry.time not in scope.removed and (entry.completion_time or "") > commit.completion_time
    )


def _rollbacks(scope: _Scope) -> tuple[str, ...]:
    """The rollback instants that the restore removes, newest first: of removed instants, and older ones after the
    target: never one that a later writer made."""
    signs = scope.signs
    of_removed = {entry.instant.time for entry in signs.live_rollbacks if entry.target in scope.removed}
    until = scope.pending.instant.time if scope.pending else "~"
    later = {entry.time for entry in signs.timeline.having(ROLLBACK) if scope.target < entry.time < until}
    return tuple(sorted(of_removed | later, reverse=True))
