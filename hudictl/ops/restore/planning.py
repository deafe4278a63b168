"""Planning a restore: from what is on storage to the list of everything that changes."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import asdict

from hudictl.engine.base import Engine
from hudictl.errors import HudictlError, Refused
from hudictl.formats.instants import COMMIT, COMMIT_ACTIONS, ROLLBACK, SAVEPOINT
from hudictl.formats.savepoint_names import JoinedNames
from hudictl.ops.fingerprint import body_digest, listed, table_fingerprint
from hudictl.ops.guards import files as file_guards
from hudictl.ops.guards import liveness
from hudictl.ops.guards import metadata as metadata_guards
from hudictl.ops.guards import rollback as rollback_guards
from hudictl.ops.metadata.keep import still_kept, unrecorded
from hudictl.ops.restore.plan import FoundRestore, Overlap, RestoreOptions, RestorePlan
from hudictl.ops.restore.scope import Scope, scopes, with_lost
from hudictl.ops.restore.table_type import as_merge_on_read, goes_with_a_restore, type_before
from hudictl.ops.session import Session
from hudictl.ops.undo.backup import backed_up_commits
from hudictl.ops.undo.blocks import plan_blocks
from hudictl.ops.undo.plan import Removal, Undo, asked_to_delete, marked_logs, undo_facts
from hudictl.ops.undo.planning import Judged, empty_logs, judge_files, plan_removals, plan_undo, slices_to_mark
from hudictl.ops.undo.untouched import untouched_rollbacks
from hudictl.phrases import count_of, first_few
from hudictl.state.facts import Facts, Signs, read_facts, read_signs
from hudictl.state.files.savepoint_files import needed_names
from hudictl.state.files.savepoints import is_protection
from hudictl.state.metadata.gap import metadata_gap
from hudictl.state.metadata.record import read_kept
from hudictl.state.metadata.treatment import metadata_fate, unchanged
from hudictl.state.metadata.undo import KEPT, MetadataPlan, given_up
from hudictl.state.pending import PendingRestore, is_own, later_writes, worked_on
from hudictl.state.timeline.ahead import is_ahead
from hudictl.state.timeline.checkpoints import checkpoint_after
from hudictl.state.timeline.clean_plans import pending_cleans
from hudictl.state.timeline.overwritten import bare_after, undone_after
from hudictl.state.timeline.removed import later_savepoints, overlapping
from hudictl.state.timeline.unfinished import WITHDRAW, remedy_of_restore
from hudictl.state.writable import writable_table
from hudictl.table.kept import refuse_keeping_late
from hudictl.table.metadata.listing import read_known
from hudictl.table.metadata.place import metadata_table_in_use
from hudictl.table.operations import begun_plan, read_operation
from hudictl.table.table import Table
from hudictl.table.timeline.archive_writer import archive_without
from hudictl.table.timeline.archived_writes import commits_of
from hudictl.table.timeline.commits import Commits

_WITHOUT = "`hudictl resume --accept-loss` finishes it without these files"


def plan_restore(session: Session, target: str, options: RestoreOptions | None = None) -> RestorePlan:
    """Plans a restore to a savepoint or an instant, or the rest of a pending one. Changes nothing; every guard has
    passed. The cheapest guards run first: the kind of table, the pending operations, the timeline, and after the
    listing the files. Raises Unsupported, Conflict, Refused, Unreadable: a guard; StorageFailed, EngineFailed."""
    table = session.table
    writable_table(table, session.locking)
    signs, options = read_signs(table), options or RestoreOptions()
    before = type_before(table, signs, target, options)
    session = as_merge_on_read(session, before)
    table = session.table
    ways = scopes(session, signs, target, options)
    first = next(ways)
    goes_with_a_restore(target, before, restores=bool(first.removed or first.found))
    pending = first.pending
    # Also of Hudi: an inflight one may have deleted files.
    own = pending is not None and worked_on(table, pending)
    late = [pending.instant.time] if pending is not None and (pending.begun or own) else []
    asked = first.options.keep_files
    # Only then: a resume must not end at a record that only the way back needs.
    out = remedy_of_restore(table, pending) if asked and own and pending is not None else ()
    back = f"`{WITHDRAW}` takes it back if it has deleted none: then restore with --keep-files; else "
    takes_back = any(each.command == WITHDRAW for each in out)
    refuse_keeping_late(table, late, asked=asked, way=back if takes_back else "")

    session.engine.start()
    known = read_known(table, session.engine)
    told = commits_of(table, first.archived)
    # At the end of a restore it would be late to find that an archive cannot be written.
    for _ in archive_without(table, first.archived):
        pass
    note, named = session.monitor.note, first.savepointed.partitions.union(*(commit.stats for commit in told.values()))
    facts = read_facts(table, session.engine, signs, note, removed=first.removed, savepointed=named, known=known)
    if pending is not None:
        told |= backed_up_commits(
            table, [time for time, entry in first.removed.items() if entry is None or entry.pending]
        )
    ways = (with_lost(scope, facts, told) for scope in ways)
    scope, found = _possible(facts, session.engine, with_lost(first, facts, told), ways, told)
    liveness.no_running_rollback(signs, scope.options.idle_ms, [entry.instant for entry in scope.foreign])
    discarded = untouched_rollbacks(facts, session.engine, scope.foreign)

    removals = _removals(facts, session.engine, scope, found)
    for removal in removals if scope.pending is None else ():
        if removal.instant is not None:
            rollback_guards.no_block_ahead(facts.table, removal.instant, removal.blocks)
    marked = slices_to_mark(facts, found, removals)
    # The files are deleted by it: a failure must come before the first change.
    session.engine.ready()
    metadata_table = _metadata_table(facts, scope, found, marked_logs(removals))
    undo = plan_undo(facts, session.engine, scope.removed, found, removals, marked, metadata_table)
    return _made(session, facts, scope, undo, before, discarded=discarded)


def _made(
    session: Session, facts: Facts, scope: Scope, undo: Undo, before: str | None, *, discarded: tuple[str, ...]
) -> RestorePlan:
    """The plan, from the facts and their judgement. ``before``: the table's type, if the restore changes it."""
    table, signs = facts.table, facts.signs
    protects = scope.savepoint is None or is_protection(scope.savepoint.head)
    later = later_savepoints(signs, scope.removed)
    return RestorePlan(
        timezone=session.timezone,
        target=scope.target,
        options=scope.options,
        fingerprint=_fingerprint(table, scope, undo, before, protects=protects),
        table_version=table.version,
        rule=scope.rule,
        overlaps=_overlaps(table, scope),
        resumes=scope.pending.instant.time if scope.pending else None,
        withdrawn=scope.withdrawn,
        restores_superseded=_superseded(scope),
        pending_restores=tuple(_found_restore(table, signs, entry) for entry in signs.planned_restores),
        undo=undo,
        later_writes=scope.later_writes,
        savepoints_deleted=tuple(sorted((entry.time for entry in later), reverse=True)),
        protecting_savepoint=protects,
        rollbacks_removed=tuple(time for time in _rollbacks(scope) if time not in discarded),
        rollbacks_discarded=discarded,
        pending_writes_that_stay=_staying(scope),
        newer_compactions_that_stay=_newer_compactions(table, scope),
        checkpoint=checkpoint_after(facts, scope.removed),
        names=needed_names(facts, undo.case) if protects else JoinedNames({}),
        lock=session.lock,
        table_type_before=before,
    )


def _fingerprint(table: Table, scope: Scope, undo: Undo, before: str | None, *, protects: bool) -> dict[str, str]:
    """Left out are completed cleans, heartbeats, markers and modification times: a restore does not depend on them, or
    a guard checks them again. The pending restore that is withdrawn is left out, too.

    Args:
        before: the table's type, if the restore changes it.
        protects: the target has no savepoint except hudictl's temporary one, so that its commit is compared instead.
    """
    signs, timeline = scope.signs, scope.signs.timeline
    subject = timeline.find(scope.target, *(COMMIT_ACTIONS if protects else (SAVEPOINT,)))
    savepoints = [entry.time for entry in timeline.savepoints() if entry.time != scope.target]
    restores = [entry.instant.time for entry in signs.planned_restores if entry.instant.time != scope.withdrawn]
    outside = [str(entry) for entry in timeline.writes() if entry.pending and entry.time not in undo.removed]
    return {
        **table_fingerprint(table, asdict(scope.options)),
        "table type": before or table.type,
        "target": f"{subject} {body_digest(table, subject, timeline.sizes)}",
        **{f"instant {removal.time}": removal.now for removal in undo.removals},
        "savepoints": listed(savepoints),
        "pending restores": listed(restores),
        "pending rollbacks": listed(entry.instant.time for entry in signs.live_rollbacks),
        "pending cleans": listed(f"{entry.time} {body_digest(table, entry)}" for entry in pending_cleans(timeline)),
        "pending writes that stay": listed(outside),
        **undo_facts(undo),
    }


def _metadata_table(facts: Facts, scope: Scope, found: Judged, marked: Collection[str]) -> MetadataPlan:
    """What becomes of the metadata table; of a restore that has begun, as it was recorded.

    Args:
        marked: see ``metadata_fate``.

    Raises:
        Refused: a required index cannot be kept, or Hudi could not build one again; Conflict, Unreadable,
            StorageFailed.
    """
    table, options, pending = facts.table, scope.options, scope.pending
    if not scope.changes_metadata_table:
        return unchanged(table)
    delete = asked_to_delete(options.metadata)
    if scope.archived:
        delete = delete or f"{count_of(len(scope.archived), 'write')} after {scope.target} are archived"
    if any(instant is not None and is_ahead(table, instant) for instant in scope.removed.values()):
        # What follows there would be older than the delta commit of this one.
        delete = delete or "a commit to remove is ahead of the clock"
    begun = read_operation(table.storage, pending.instant.time) if pending is not None else None
    if pending is not None:
        kept = still_kept(table, pending.instant.time)
        if kept is not None:
            return kept.plan
        if begun is not None and begun_plan(begun).metadata_table not in KEPT:
            delete = "the restore began without it"
    plan = _lost_aside(facts, pending) or metadata_fate(
        facts, scope.removed.keys(), found.outcome, scope.savepointed, marked=marked, delete=delete
    )
    if begun is None:
        # One that hudictl has begun could not go back any more: it tells at its end.
        metadata_guards.required_indexes_kept(plan, options.require_index)
    if pending is None:
        metadata_guards.record_index_can_be_built(table, facts.timeline.without(scope.removed), plan.lost_in_use)
    return plan


def _lost_aside(facts: Facts, pending: PendingRestore | None) -> MetadataPlan | None:
    """The end of a metadata table that a rollback has set aside before it died: the restore ends that rollback; or
    whose record is gone. Raises Unreadable."""
    table = facts.table
    if metadata_table_in_use(table):
        return None
    for rollback in facts.signs.live_rollbacks:
        kept = read_kept(table, rollback.instant.time)
        if kept is not None:
            way = "; to keep it, finish that rollback first" if rollback.target else ""
            return given_up(kept.plan, f"the rollback {rollback.instant.time} has set it aside{way}")
    times = (found.instant.time for found in (pending, *facts.signs.live_rollbacks) if found is not None)
    return unrecorded(table, times)


def _possible(
    facts: Facts, engine: Engine, scope: Scope, others: Iterator[Scope], backup: Commits
) -> tuple[Scope, Judged]:
    """The first way, and its judgement. Raises its refusal; if the other rule would lose nothing, the hint names it: it
    removes other instants, so the operator decides.

    Args:
        backup: the metadata of the instants to remove that the timeline has not, as far as it is known.
    """
    try:
        return scope, _judged(facts, engine, scope, backup)
    except Refused as refusal:
        # The other way may fail at its own guards.
        with suppress(HudictlError):
            # For another reason, it would be refused as well.
            for other in others if refusal.fields.keys() & {"missing", "contradictions"} else ():
                _judged(facts, engine, other, backup)
                refusal.hint = _other_rule(scope, other)
                refusal.fields["rule"] = other.rule
        raise


def _other_rule(scope: Scope, other: Scope) -> str:
    """What the other rule would do, as a hint."""
    said = [
        f"{verb} {first_few(sorted(times))}"
        for verb, times in (
            ("also removes", other.removed.keys() - scope.removed.keys()),
            ("keeps", scope.removed.keys() - other.removed.keys()),
        )
        if times
    ]
    return f"--rule {other.rule} has all files: it {' and '.join(said)}, which overlap {scope.target}"


def _judged(facts: Facts, engine: Engine, scope: Scope, backup: Commits) -> Judged:
    """What becomes of the table's files, and the pending cleans to remove. All files required by the target exist, and
    no other process works on the table.

    Raises Unsupported, Conflict, Refused, Unreadable.
    """
    table, signs, idle_ms = facts.table, facts.signs, scope.options.idle_ms
    planned = scope.pending.instants.union(later_writes(table, scope.pending)) if scope.pending else frozenset()
    hint = _way_out(table, scope.pending) if scope.pending else ""
    liveness.no_running_write(table, signs, signs.timeline.instants, idle_ms, facts.sweep, planned)

    found = judge_files(facts, scope.removed, backup, scope.savepointed)
    case, outcome = found.case, found.outcome
    if not scope.pending:
        file_guards.timeline_has_its_end(facts, engine, scope.options.accept_lost_instants)
        hint = file_guards.put_back(facts, scope.target)
        # Where none was asked for, the other one is tried, too.
        hint += ", or another --rule" if scope.options.rule and hint != file_guards.PUT_BACK else ""
        file_guards.nothing_missing(facts, outcome, f"{scope.target} cannot be restored", hint)
        file_guards.nothing_misnamed(outcome, f"{scope.target} cannot be restored")
        if scope.savepoint is None:
            archived = {time: commit for time, commit in backup.items() if time in scope.archived}
            file_guards.replaced_are_there(facts, archived, f"{scope.target} cannot be restored")
        file_guards.stays_read(facts, scope.removed, f"{scope.target} cannot be restored")
        file_guards.format_is_read(table, outcome, f"{scope.target} cannot be restored")
        reads = scope.options.table_type or table.type
        file_guards.type_is_read(facts, case, f"{scope.target} cannot be restored", reads)
        if scope.options.deep:
            file_guards.nothing_damaged(facts, engine, case, f"{scope.target} cannot be restored")
    elif not scope.options.accept_loss:
        file_guards.nothing_missing(facts, outcome, f"{scope.target} cannot be restored completely", hint)
    if not (scope.pending and scope.options.accept_loss):
        file_guards.nothing_saved_goes(table, facts.timeline, scope.commit, scope.savepointed, outcome.removed)
        source = hint if scope.pending else file_guards.SOURCE_BACK
        file_guards.nothing_rowless(facts, engine, case, f"{scope.target} cannot be restored", source)
    file_guards.metafiles_can_be_made(table, outcome)
    # A restore that hudictl has begun has passed this guard before, and there is no other way to end it.
    if scope.pending is None or not worked_on(table, scope.pending):
        metadata_guards.nothing_lost_or_gained(metadata_gap(facts, engine, outcome, scope.removed, scope.savepointed))
        if scope.changes_metadata_table and metadata_table_in_use(table):
            metadata_guards.no_empty_file(facts, scope.removed)
    liveness.no_running_clean(signs, idle_ms, outcome.cleans)
    return found


def _way_out(table: Table, pending: PendingRestore) -> str:
    """The hint where required files of a pending restore are missing: the ways back, and the one to the end."""
    back = (f"`{way.command}`: {way.leaves}" for way in remedy_of_restore(table, pending)[1:])
    return "; or ".join((*back, _WITHOUT))


def _removals(facts: Facts, engine: Engine, scope: Scope, found: Judged) -> tuple[Removal, ...]:
    """What is removed with each instant. Raises Unreadable, StorageFailed, EngineFailed."""
    removed, pending = scope.removed, scope.pending
    # The action before un-publishing: Hudi's metadata names this one.
    actions = {info.time: info.action for info in reversed(pending.plan.instants)} if pending else {}
    restore = pending.instant.time if pending else None
    blocks = plan_blocks(facts, engine, removed, restore, profiles=True, archived=scope.archived, backup=found.backup)
    empty = empty_logs(facts, (), 0) if removed else []
    return plan_removals(facts, removed, blocks, actions, found, empty=empty, archived=scope.archived)


def _superseded(scope: Scope) -> tuple[str, ...]:
    """The pending restores that are removed with this one: covered by it, or without a plan."""
    ended = (*scope.others, *scope.signs.unplanned_restores)
    return tuple(sorted((entry.instant.time for entry in ended), reverse=True))


def _staying(scope: Scope) -> tuple[str, ...]:
    """The pending writes that the restore keeps."""
    writes = scope.signs.timeline.writes()
    return tuple(entry.time for entry in writes if entry.pending and entry.time not in scope.removed)


def _found_restore(table: Table, signs: Signs, pending: PendingRestore) -> FoundRestore:
    on_timeline = {entry.time: entry for entry in signs.timeline.writes()}
    states = [on_timeline.get(time) for time in pending.instants]
    present = [entry for entry in states if entry is not None]
    return FoundRestore(
        restore=pending.instant.time,
        target=pending.plan.target,
        own=is_own(table, pending),
        state=pending.instant.state.name,
        gone=len(states) - len(present),
        taken_back=sum(entry.pending for entry in present),
        completed=sum(entry.completed for entry in present),
    )


def _overlaps(table: Table, scope: Scope) -> tuple[Overlap, ...]:
    timeline = scope.signs.timeline
    found = overlapping(table, timeline, scope.commit)
    undone = undone_after(table, timeline, scope.commit, scope.removed.keys() - {entry.time for entry in found})
    bare = bare_after(table, timeline, scope.commit, scope.removed.keys()).values()
    return tuple(
        Overlap(
            entry.time,
            entry.action,
            entry.state.name,
            entry.completion_time,
            entry.time in scope.removed,
            tuple(sorted(undone.get(entry.time, ()))),
            tuple(sorted({path for overwrites in bare for path in overwrites.get(entry.time, ())})),
        )
        for entry in found
    )


def _newer_compactions(table: Table, scope: Scope) -> tuple[str, ...]:
    """The kept compactions that completed after the target. They were planned before it and have no newer rows, but by
    them read-optimised queries show more than they did at the target."""
    completed = scope.commit.completion_time
    if table.is_cow or completed is None:
        return ()
    return tuple(
        entry.time
        for entry in scope.signs.timeline.having(COMMIT)
        if entry.time not in scope.removed and (entry.completion_time or "") > completed
    )


def _rollbacks(scope: Scope) -> tuple[str, ...]:
    """The rollback instants to remove, newest first: those of removed instants, and those between the target and a
    pending restore. A later writer's rollback is never among them."""
    signs = scope.signs
    of_removed = {entry.instant.time for entry in signs.live_rollbacks if entry.target in scope.removed}
    until = scope.pending.instant.time if scope.pending else "~"
    later = {entry.time for entry in signs.timeline.having(ROLLBACK) if scope.target < entry.time < until}
    return tuple(sorted(of_removed | later, reverse=True))
