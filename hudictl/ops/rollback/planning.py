"""Planning the rollback of one instant, or the rest of a pending rollback."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from hudictl.engine.base import Engine
from hudictl.formats.file_names import data_path
from hudictl.formats.instants import CLUSTERING, COMPACTION, ROLLBACK, WRITE_ACTIONS, Instant, State
from hudictl.formats.rollback import StoredRollbackPlan as StoredPlan
from hudictl.formats.rollback import decode_taken_back
from hudictl.ops.guards import clock, liveness
from hudictl.ops.guards import files as file_guards
from hudictl.ops.guards import metadata as metadata_guards
from hudictl.ops.guards import rollback as guards
from hudictl.ops.guards import timeline as timeline_guards
from hudictl.ops.metadata.treat import stays_in_place, treat_metadata_table
from hudictl.ops.rollback.fingerprint import rollback_fingerprint
from hudictl.ops.rollback.partitions import partitions_to_list, takes_metadata_table
from hudictl.ops.rollback.plan import RollbackOptions, RollbackPlan
from hudictl.ops.session import Session
from hudictl.ops.undo.backup import backed_up_commits
from hudictl.ops.undo.blocks import plan_blocks
from hudictl.ops.undo.plan import BlockTarget, Removal, asked_to_delete
from hudictl.ops.undo.planning import Judged, empty_logs, judge_files, plan_removals, plan_undo, slices_to_mark
from hudictl.state.facts import Facts, Signs, read_facts, read_signs
from hudictl.state.files.needed import Outcome
from hudictl.state.metadata.gap import metadata_gap
from hudictl.state.timeline.checkpoints import checkpoint_after
from hudictl.state.timeline.lost_plans import has_lost_plan
from hudictl.state.timeline.targets import find_target
from hudictl.state.writable import known_timeline, writable_table
from hudictl.state.writers.activity import at_work_beside, last_sign_ms, may_be_writing
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.kept import refuse_keeping_late
from hudictl.table.metadata.listing import read_known, written_partitions
from hudictl.table.metadata.place import NOT_ASKED, Known, metadata_table_in_use
from hudictl.table.operations import begun_plan, read_operation
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline, pending_rollbacks, read_instant
from hudictl.table.timeline.archived_writes import archived_as_completed
from hudictl.table.timeline.commits import Commits
from hudictl.table.writers.markers import look_at_markers

Stored = tuple[Instant, StoredPlan]
_WAY_OUT = "if its pending rollback has changed nothing, `hudictl resume --discard-rollbacks` discards it"


def plan_rollback(
    session: Session, target: str, options: RollbackOptions | None = None, ended: Collection[str] = ()
) -> RollbackPlan:
    """Plans to roll an instant back, or to finish its pending rollback. Changes nothing; every guard has passed. The
    cheapest guards run first: the table, the timeline, and after the listing the files.

    Args:
        ended: the pending rollbacks that the same command ends first.

    Raises:
        Unsupported, Conflict, Refused, Unreadable: a guard.
        StorageFailed, EngineFailed.
    """
    table, options = session.table, options or RollbackOptions()
    writable_table(table, session.locking)
    signs = read_signs(table)

    stored = stored_rollbacks(signs, target)
    instant = find_target(table, signs.timeline, target, [entry for entry, _ in stored])
    options = _consented(table, options, stored, instant is not None and has_lost_plan(table, signs.timeline, instant))
    check_around(session, signs)
    check_target(table, signs, target, instant, options)
    guards.keeps_alone(table, signs, {*ended, *(entry.time for entry, _ in stored)}, asked=options.keep_files)
    # Before the long listing: any later activity proves that the writer is alive.
    seen_ms = last_sign_ms(table, signs, instant)
    # A pending rollback keeps its time, whatever the clock shows.
    if not stored:
        # The commit of a wrong clock can go: as in Hudi, its rollback has a time of now.
        clock.time_can_be_given(table, signs.timeline.without({target}))
        if instant is not None:
            guards.no_metadata_table_ahead(table, instant)

    session.engine.start()
    visible = instant if instant is not None and instant.completed else None
    backup = {} if visible else backed_up_commits(table, {target})
    # The target's own record may have lost a part of its partitions.
    listed = written_partitions(table, {target}) if visible else {}
    facts = _facts(session, signs, target, instant, stored, options, backup, listed)
    if not stored:
        file_guards.timeline_has_its_end(facts, session.engine, options.accept_lost_instants)
    _check_liveness(facts, instant, stored, options)
    guards.nothing_on_its_slice(facts, instant, options.keep_plan)
    planned_again = guards.something_is_planned(facts, instant, options.keep_plan)
    found = _judged(facts, target, instant, backup, options, listed)
    if visible and not stored:
        file_guards.nothing_rowless(facts, session.engine, found.case, f"{target} cannot be rolled back")
    liveness.no_running_clean(signs, options.idle_ms, found.outcome.cleans)

    removed = {target: instant}
    times = [entry.time for entry, _ in stored]
    partly = [time for time, places in listed.items() if not places <= facts.commits[time].stats.keys()]
    blocks = plan_blocks(facts, session.engine, removed, None, profiles=False, partly_told=partly)
    if instant is not None:
        guards.no_block_ahead(table, instant, blocks.get(target, ()))
    logs = [data_path(block.partition, block.log) for block in blocks.get(target, ())]
    asked = asked_to_delete(options.metadata)
    metadata_table = treat_metadata_table(facts, instant, target, times, asked, found.outcome, logs)
    goes = metadata_table.takes_it
    removal = _removal(facts, removed, stored, options, found, blocks, others_dead=goes)
    marked = slices_to_mark(facts, found, (removal,))
    if goes:
        _check_metadata_table(facts, session.engine, target, stored, options, found.outcome)
    begun = [time for time in times if read_operation(table.storage, time)]
    # Also of Hudi: an inflight one may have deleted files.
    late = [entry.time for entry, _ in stored if entry.time in begun or entry.state is State.INFLIGHT]
    refuse_keeping_late(table, late, asked=options.keep_files)
    if not begun:
        # One that hudictl has begun could not go back any more: it tells at its end.
        metadata_guards.required_indexes_kept(metadata_table, options.require_index)
    if not stored:
        staying = signs.timeline if options.keep_plan else signs.timeline.without({target})
        metadata_guards.record_index_can_be_built(table, staying, metadata_table.lost_in_use)
    # The files are deleted by it: a failure must come before the first change.
    session.engine.ready()
    undo = plan_undo(facts, session.engine, removed, found, (removal,), marked, metadata_table)
    if not visible:
        # Other writers continue: the files that readers require change meanwhile.
        undo = replace(undo, needed=None, partition_metafiles_made=undo.partition_metafiles_made if goes else ())
    undo = undo if goes else replace(undo, metadata_table_unread=None)
    resumed = next((entry for entry, _ in stored if entry.time == removal.rollback), None)
    return RollbackPlan(
        timezone=session.timezone,
        target=target,
        options=options,
        fingerprint=rollback_fingerprint(table, signs, options, undo),
        table_version=table.version,
        resumes=removal.rollback,
        begun=resumed is not None and resumed.state is not State.REQUESTED,
        rollbacks_superseded=tuple(entry.time for entry, _ in stored if entry.time != removal.rollback),
        undo=undo,
        planned_again=planned_again,
        completed=visible is not None,
        metadata_table_found=metadata_table_in_use(table),
        last_sign_ms=seen_ms,
        lock=session.lock,
        checkpoint=checkpoint_after(facts, {target}),
    )


def _facts(
    session: Session,
    signs: Signs,
    target: str,
    instant: Instant | None,
    stored: list[Stored],
    options: RollbackOptions,
    backup: Commits,
    listed: Mapping[str, frozenset[str]],
) -> Facts:
    """The facts, from the partitions that matter. To take the metadata table out of use, or to put it back, all are
    compared with it."""
    table, known = session.table, _known(session, instant, target, stored, options)
    whole = known is not NOT_ASKED or takes_metadata_table(table, [entry.time for entry, _ in stored])

    def choose(commits: Commits) -> frozenset[str] | None:
        return None if whole else partitions_to_list(table, signs, commits, {target: instant}, backup, listed)

    note = session.monitor.note
    # The profile of a failed write may be cut. It names nothing then: of the target, all partitions are listed. Those
    # of others decide nothing; two cut ones would keep each other from being rolled back.
    return read_facts(
        table, session.engine, signs, note, removed={target}, profiles_ok=True, known=known, choose=choose
    )


def check_around(session: Session, signs: Signs) -> None:
    """The guards that need no listing of data files, and are the same for all targets; they run again under the claim.
    Raises as ``plan_rollback``."""
    known_timeline(session.table, signs.timeline)
    liveness.no_lock_in_use(session.table, signs, session.locking)
    guards.no_restore(session.table, signs)


def check_target(table: Table, signs: Signs, target: str, instant: Instant | None, options: RollbackOptions) -> None:
    """Those of one target. Raises as ``plan_rollback``."""
    if not any(entry.target == target for entry in signs.live_rollbacks):
        timeline_guards.no_bootstrap({target})
    timeline_guards.not_archived(table, signs.timeline, {target})
    guards.not_savepointed(signs.timeline, target)
    guards.plan_can_stay(table, signs.timeline, instant, options.keep_plan)
    if instant is None:
        return
    timeline_guards.completed_once(instant)
    liveness.no_live_heartbeat(signs, [instant])
    if instant.completed:
        guards.no_other_rollback(table, signs, target)
        guards.nothing_later(table, signs.timeline, instant)
        guards.no_pending_write(table, signs.timeline, instant)
        timeline_guards.nothing_archived_after(table, target)


def stored_rollbacks(signs: Signs, target: str) -> list[Stored]:
    """The pending rollbacks of an instant, with their plans."""
    return [(entry.instant, entry.plan) for entry in signs.live_rollbacks if entry.plan and entry.target == target]


def done_already(table: Table, target: str) -> str | None:
    """The completed rollback of an instant, if nothing of it is left to do, and it has not run again since. Raises
    Unreadable."""
    timeline = load_timeline(table)
    pending = {plan.target.time for _, plan in pending_rollbacks(table, timeline) if plan is not None}
    there = timeline.find(target, *WRITE_ACTIONS) is not None or archived_as_completed(table, timeline, {target})
    if target in pending or there:
        return None
    for instant in timeline.having(ROLLBACK):
        file = instant.file(State.COMPLETED)
        if file is None or not timeline.sizes[file.name]:
            continue
        if target in decode_taken_back(read_instant(table, file), file.name):
            return instant.time
    return None


def _consented(table: Table, options: RollbackOptions, stored: list[Stored], plan_lost: bool) -> RollbackOptions:
    """A pending rollback ends with the options with which it began; indexes may be required in addition. Hudi's own
    rollback of a table service keeps its plan requested, if there is one."""
    for instant, plan in stored:
        operation = read_operation(table.storage, instant.time)
        if operation is not None:
            said = begun_plan(operation).options
            options = replace(
                options,
                keep_plan=said.keep_plan,
                metadata=said.metadata or options.metadata,
                require_index=tuple(sorted({*said.require_index, *options.require_index})),
            )
        elif plan.target.action in (COMPACTION, CLUSTERING) and not plan_lost:
            options = replace(options, keep_plan=True)
    return options


def _check_liveness(facts: Facts, instant: Instant | None, stored: list[Stored], options: RollbackOptions) -> None:
    """Beside a completed target no process may write; the writer of a pending target must be dead."""
    table, signs = facts.table, facts.signs
    foreign = [entry for entry, _ in stored if read_operation(table.storage, entry.time) is None]
    liveness.no_live_heartbeat(signs, foreign)
    liveness.no_running_rollback(signs, options.idle_ms, foreign)
    if instant is not None:
        subjects = signs.timeline.instants if instant.completed else (instant,)
        # If a rollback has begun, the last activity on its target was its own.
        touched = {instant.time} if any(entry.state is State.INFLIGHT for entry, _ in stored) else set()
        liveness.no_running_write(table, signs, subjects, options.idle_ms, facts.sweep, touched)


def _judged(
    facts: Facts,
    target: str,
    instant: Instant | None,
    backup: Commits,
    options: RollbackOptions,
    listed: Mapping[str, frozenset[str]],
) -> Judged:
    """What becomes of the table's files without the target. For a completed target, all files that readers then require
    exist, and no pending table service has planned with its files.

    Raises Refused, Unsupported, Unreadable.
    """
    visible = instant is not None and instant.completed
    if instant is not None and visible:
        guards.no_service_on_it(facts, instant)
    bases_only = _bases_only(facts.table, target, options)
    found = judge_files(facts, {target: instant}, backup, readers_see=visible, bases_only=bases_only, listed=listed)
    outcome = found.outcome
    if visible:
        pending = any(entry.target == target for entry in facts.signs.live_rollbacks)
        hint = _WAY_OUT if pending else file_guards.PUT_BACK
        file_guards.nothing_missing(facts, outcome, f"{target} cannot be rolled back", hint)
        if not pending:
            file_guards.nothing_misnamed(outcome, f"{target} cannot be rolled back")
            file_guards.stays_read(facts, {target: instant}, f"{target} cannot be rolled back")
            file_guards.type_is_read(
                facts, found.case, f"{target} cannot be rolled back", facts.table.type, as_now=True
            )
        file_guards.metafiles_can_be_made(facts.table, outcome)
    return found


def _bases_only(table: Table, target: str, options: RollbackOptions) -> set[str]:
    """A compaction whose plan is kept: below table version 8, the logs with its time in their names are of later
    writes."""
    return {target} if options.keep_plan and not table.rules.logs_named_by_writer else set()


def _known(
    session: Session, target: Instant | None, time: str, stored: list[Stored], options: RollbackOptions
) -> Known:
    """What the metadata table lists, if it may have to be taken out of use: whether blocks are written is known only
    after the listing."""
    table = session.table
    if not metadata_table_in_use(table):
        return NOT_ASKED
    if asked_to_delete(options.metadata) is None:
        blocks = table.rules.needs_rollback_blocks and not table.is_cow
        mode, _ = stays_in_place(table, target, time, [entry.time for entry, _ in stored], blocks=blocks)
        if mode is not None:
            return NOT_ASKED
    return read_known(table, session.engine)


def _check_metadata_table(
    facts: Facts, engine: Engine, target: str, stored: list[Stored], options: RollbackOptions, outcome: Outcome
) -> None:
    """No writer uses the metadata table, and readers see the same rows without it. Raises Refused, Conflict."""
    table, signs = facts.table, facts.signs
    guards.metadata_table_can_go(signs, target, signs.timeline.modified_ms)
    others = at_work_beside(table, signs.timeline, target)
    liveness.no_running_write(table, signs, others, options.idle_ms, facts.sweep, ())
    file_guards.metafiles_can_be_made(facts.table, outcome)
    # A rollback that hudictl has begun has passed this guard before, and there is no other way to end it.
    if not any(read_operation(facts.table.storage, entry.time) for entry, _ in stored):
        metadata_guards.nothing_lost_or_gained(metadata_gap(facts, engine, outcome, {target}, NOTHING_SAVED))
        metadata_guards.no_empty_file(facts, {target})


def _removal(
    facts: Facts,
    removed: Mapping[str, Instant | None],
    stored: list[Stored],
    options: RollbackOptions,
    found: Judged,
    blocks: Mapping[str, tuple[BlockTarget, ...]],
    *,
    others_dead: bool,
) -> Removal:
    """What is removed with the instant.

    Args:
        others_dead: a guard has seen that no other write had activity for ``--idle``. The metadata table is deleted
            then, and Hudi 0.15.0 makes none of a table that has an empty log.
    """
    (target,) = removed
    actions = {plan.target.time: plan.target.action for _, plan in stored}
    # An earlier rollback may have died at a block of its own.
    folders = [look_at_markers(facts.table, time) for time in (target, *(entry.time for entry, _ in stored))]
    begun = {marker.path for folder in folders if folder is not None for marker in folder.markers}
    # Some stores show no size while a file is being written.
    busy = not others_dead and may_be_writing(facts.table, facts.signs, target)
    empty = [] if busy else empty_logs(facts, begun, options.idle_ms)
    bases_only = _bases_only(facts.table, target, options)
    (removal,) = plan_removals(facts, removed, blocks, actions, found, bases_only, empty)
    return removal
