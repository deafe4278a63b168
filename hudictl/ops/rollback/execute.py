"""Executing the rollback of one instant, in the order of docs/safety.md. Every phase is idempotent, as a restore's."""

import time
from contextlib import suppress
from dataclasses import dataclass, replace

from hudictl.errors import Conflict, Incomplete, StorageFailed
from hudictl.formats import instants as fmt
from hudictl.formats import rollback
from hudictl.formats.instants import State
from hudictl.formats.plans import encode_compaction_plan
from hudictl.ops.guards import clock
from hudictl.ops.guards import timeline as timeline_guards
from hudictl.ops.guards.liveness import no_live_heartbeat
from hudictl.ops.guards.rollback import metadata_table_can_go, no_rollback_beside
from hudictl.ops.rollback.beside import no_new_metadata_table
from hudictl.ops.rollback.metadata import roll_back_metadata
from hudictl.ops.rollback.metadata_plan import set_aside_by
from hudictl.ops.rollback.plan import MetadataStep, RollbackPlan
from hudictl.ops.rollback.planning import check_signs, stored_rollbacks
from hudictl.ops.session import Kind, Monitor, Session, changing
from hudictl.ops.undo import instants
from hudictl.ops.undo.backup import back_up_instants, drop_backup
from hudictl.ops.undo.files import (
    delete_files,
    elapsed_ms,
    end_open_writes,
    remove_traces,
    wait_for_queries,
    write_blocks,
)
from hudictl.ops.undo.hashing import verify_hashing
from hudictl.ops.undo.metadata import (
    another_made,
    begin_keeping,
    forget_ended,
    nothing_required_lost,
    roll_back_aside,
    take_out_of_use,
    unchanged,
    use_again,
)
from hudictl.ops.undo.phases import Phase
from hudictl.ops.undo.plan import Removal
from hudictl.ops.undo.verify import verify_data
from hudictl.state.catalog import NO_GAP, CatalogGap
from hudictl.state.facts import Signs, read_signs
from hudictl.state.lost_plans import has_lost_plan
from hudictl.state.metadata_record import KeptMetadata
from hudictl.state.needed import cleans_in_the_way
from hudictl.state.writers import last_sign_ms, may_be_writing
from hudictl.table.beat import BEAT_SECONDS
from hudictl.table.clock import StorageClock, measure_clock
from hudictl.table.hashing_metadata import remove_hashing_metadata, uncommit_hashing_metadata
from hudictl.table.heartbeats import beating
from hudictl.table.locks.hold import Hold
from hudictl.table.markers import marker_folders
from hudictl.table.metadata_aside import is_aside
from hudictl.table.metadata_table import delete_retired, delete_retired_indexes, retire_indexes
from hudictl.table.properties import recover_properties
from hudictl.table.table import Table
from hudictl.table.timeline import (
    Timeline,
    completion_now,
    create_instant_file,
    delete_instant,
    delete_instant_files,
    drop_empty_result,
    load_timeline,
    replace_request,
)


@dataclass(frozen=True)
class Run:
    """A running rollback: ``time`` is its own instant. ``kept`` is the metadata table, if it is set aside. ``signs``
    were read at its last look at all guards."""

    session: Session
    held: Hold
    plan: RollbackPlan
    time: str
    signs: Signs
    kept: KeptMetadata | None = None

    @property
    def table(self) -> Table:
        return self.session.table

    @property
    def monitor(self) -> Monitor:
        return self.session.monitor


@dataclass(frozen=True)
class RollbackResult:
    """What a rollback has done; ``plan_kept``: the instant is requested again, not removed. ``metadata_table``:
    "kept" if nothing of it had to change; the others are as in ``RestoreResult``.
    ``catalog``: what a Hive or Glue catalog lists wrongly now."""

    rollback: str
    target: str
    plan_kept: bool
    files_deleted: int
    bytes_deleted: int
    rollback_blocks: int
    metadata_table: str
    duration_ms: int
    indexes_kept: tuple[str, ...] = ()
    metadata_table_given_up: str | None = None
    catalog: CatalogGap = NO_GAP


def execute_rollback(session: Session, plan: RollbackPlan) -> RollbackResult:
    """Executes the plan, and records who executed it.

    Raises:
        Conflict: the table has changed since planning, or another process works on it.
        Incomplete: files could not be deleted; the rollback is still pending.
        Refused, Unsupported, Unreadable, StorageFailed, EngineFailed, Interrupted.
    """
    return changing(
        session,
        Kind.ROLLBACK,
        plan.target,
        plan.summary,
        look=lambda held: _look_again(session, plan, held),
        work=_rollback,
    )


def _look_again(session: Session, plan: RollbackPlan, held: Hold) -> Run:
    """Every guard again, now that no other hudictl can act in between, and by the storage's own clock."""
    table = session.table
    signs = read_signs(table, plan.options.rule, measure_clock(table.storage))
    instant = signs.timeline.find(plan.target, *fmt.WRITE_ACTIONS)
    stored = stored_rollbacks(signs, plan.target)
    if plan.completed:
        timeline_guards.not_moved(signs.timeline, plan.timeline)
    planned = {*plan.rollbacks_superseded, *([plan.resumes] if plan.resumes else [])}
    if instant != plan.removal.instant or {entry.time for entry, _ in stored} != planned:
        raise Conflict(f"{plan.target} has changed since planning", hint="run the command again: it makes a new plan")
    check_signs(session, signs, plan.target, instant, plan.options, stored)
    if plan.metadata_step.takes_it:
        metadata_table_can_go(signs, plan.target, plan.timeline)
    no_new_metadata_table(table, plan, signs, plan.resumes or "")
    if plan.metadata_step is MetadataStep.SET_ASIDE and set_aside_by(table, planned) is None:
        unchanged(table, plan.metadata_table)
    _check_silence(table, signs, plan)
    plan = replace(plan, marked=end_open_writes(session, plan.marked, counted=plan.completed))

    recover_properties(table.storage)
    timeline = load_timeline(table).without({plan.target, *plan.rollbacks_superseded})
    return Run(session, held, plan, plan.resumes or clock.new_time(table, timeline), signs)


def _rollback(run: Run) -> RollbackResult:
    started = time.monotonic()
    plan = run.plan
    # Before the request, which a writer may execute: so no writer uses this metadata after its instant is removed.
    uncommit_hashing_metadata(run.table, plan.hashing)
    run = _begin(run)

    with beating(run.table, [run.time], min(BEAT_SECONDS, plan.options.interval_ms / 1000)):
        _side_lines(run, _enter(run, Phase.PREPARE))

        _enter(run, Phase.UNPUBLISH_ONE)
        if plan.metadata_step is MetadataStep.SET_ASIDE:
            earlier = set_aside_by(run.table, (run.time, *plan.rollbacks_superseded))
            run = replace(run, kept=earlier or begin_keeping(run.table, run.time, run.time, plan.metadata_table))
        _hide(run)
        wait_for_queries(run.monitor, plan.options.grace_s)

        _enter(run, Phase.DELETE_FILES)
        delete_retired(run.table, run.time)
        delete_retired_indexes(run.table, run.time)
        blocks = write_blocks(run.session, plan.marked)
        removal = _still_empty(run)
        run.held.check()
        delete_files(run.session, [removal], Kind.ROLLBACK)

        _enter(run, Phase.VERIFY)
        needed = plan.needed if plan.completed else None
        found = verify_data(
            run.session, [removal], plan.case, needed, plan.files_lost, plan.marked, plan.files_kept, Kind.ROLLBACK
        )
        verify_hashing(run.session, {plan.target}, Kind.ROLLBACK)

        _enter(run, Phase.ROLL_BACK_METADATA_TABLE)
        metadata_table = roll_back_aside(run.session, run.kept, {plan.target}, found)

        _enter(run, Phase.PUBLISH_ROLLBACK)
        delete_retired(run.table, run.time)
        done = instants.rollback_result(run.table, removal, run.time, blocks.get(plan.target, ()), elapsed_ms(started))
    remove_traces(run.table, {run.time})
    metadata_table = use_again(run.table, run.kept, metadata_table)
    _publish(run, rollback.encode_metadata(done))
    forget_ended(run.table, (run.time, *plan.rollbacks_superseded))
    _verify_timeline(run)
    result = RollbackResult(
        rollback=run.time,
        target=plan.target,
        plan_kept=plan.plan_kept,
        files_deleted=len(removal.files),
        bytes_deleted=removal.size,
        rollback_blocks=len(plan.removal.blocks),
        metadata_table=metadata_table.fate(plan.metadata_table),
        duration_ms=elapsed_ms(started),
        indexes_kept=() if metadata_table.given_up else plan.metadata_table.indexes_kept,
        metadata_table_given_up=metadata_table.given_up,
        catalog=plan.catalog,
    )
    nothing_required_lost(run.table, plan.metadata_table, plan.options.require_index, metadata_table, result)
    return result


def _check_silence(table: Table, signs: Signs, plan: RollbackPlan) -> None:
    """Raises Conflict: the writer of a pending target was active after planning."""
    instant = signs.timeline.find(plan.target, *fmt.WRITE_ACTIONS)
    if plan.completed or instant is None:
        return
    if instant.completed or last_sign_ms(table, signs, instant) > plan.last_sign_ms:
        seen = "it has completed the instant" if instant.completed else "it was active after planning"
        raise Conflict(
            f"the writer of {plan.target} is alive: {seen}",
            hint="run the command again when the writer has ended: it makes a new plan",
            instant=plan.target,
        )


def _begin(run: Run) -> Run:
    """Requests the rollback, waits for other processes that work on the same instant, and begins it."""
    if run.plan.begun:
        drop_empty_result(run.table, run.time, fmt.ROLLBACK)
        return run
    run.monitor.step("request the rollback")
    if run.plan.resumes is not None:
        signs = _settle(run)
    else:
        body = instants.encode_rollback(run.table, run.plan.removal)
        create_instant_file(run.table, run.time, fmt.ROLLBACK, State.REQUESTED, body)
        try:
            signs = _settle(run)
        except (Exception, KeyboardInterrupt):
            # No rollback is better than one that is armed and has changed nothing.
            with suppress(StorageFailed):
                delete_instant(run.table, load_timeline(run.table).find(run.time, fmt.ROLLBACK))
            raise
    run.monitor.step("begin the rollback")
    run.held.check()
    create_instant_file(run.table, run.time, fmt.ROLLBACK, State.INFLIGHT)
    return replace(run, signs=signs)


def _signs(run: Run, clock: StorageClock | None = None) -> Signs:
    return read_signs(run.table, run.plan.options.rule, clock, run.signs)


def _settle(run: Run) -> Signs:
    """Raises Conflict: another process appeared during the settle wait; then the request is removed."""
    _wait(run)
    signs = _signs(run, measure_clock(run.table.storage))
    no_rollback_beside(signs, run.plan.target, {run.time, *run.plan.rollbacks_superseded})
    if run.plan.completed:
        timeline_guards.not_moved(signs.timeline, run.plan.timeline | _requested(run))
    instant = signs.timeline.find(run.plan.target, *fmt.WRITE_ACTIONS)
    no_live_heartbeat(signs, [instant] if instant else [])
    if run.plan.metadata_step.takes_it:
        metadata_table_can_go(signs, run.plan.target, run.plan.timeline)
    no_new_metadata_table(run.table, run.plan, signs, run.time)
    _check_silence(run.table, signs, run.plan)
    return signs


def _wait(run: Run) -> None:
    """The settle wait. If the pending target has a heartbeat, it lasts one interval longer than the heartbeat's limit:
    the writer may beat late, on a host under load.

    Raises Interrupted; Conflict: the writer was active.
    """
    options = run.plan.options
    signs = _signs(run)
    _check_silence(run.table, signs, run.plan)
    beats = [beat for beat in signs.heartbeats if beat.time == run.plan.target and not run.plan.completed]
    late_ms = max((options.rule.limit_ms + options.interval_ms - beat.age_ms for beat in beats), default=0)
    left = max(options.settle_s, late_ms / 1000)
    while left > 0:
        time.sleep(min(1.0, left))
        run.monitor.check()
        left -= 1.0


def _requested(run: Run) -> frozenset[str]:
    return frozenset({fmt.instant_file_name(run.time, fmt.ROLLBACK, State.REQUESTED, run.table.layout.version)})


def _enter(run: Run, phase: Phase) -> Timeline:
    """Before each phase: there is no request to stop, the claim is still held, the rollback is still pending, the
    writer of a pending target has no activity, and beside a completed target no other process writes.

    Returns:
        The timeline now.

    Raises Interrupted, Conflict, Unreadable; the rollback is still pending.
    """
    run.monitor.step(phase.label)
    run.held.check()
    signs = _signs(run)
    _check_own(run, signs.timeline)
    _check_silence(run.table, signs, run.plan)
    _refuse_intruders(run, signs, phase)
    no_new_metadata_table(run.table, run.plan, signs, run.time, retired=phase.after_unpublishing, kept=run.kept)
    return signs.timeline


def _check_own(run: Run, timeline: Timeline) -> None:
    """Raises Conflict: the rollback is no longer pending."""
    own = timeline.find(run.time, fmt.ROLLBACK)
    if own is None or own.completed:
        raise Conflict(
            f"the rollback {run.time} was {'completed' if own else 'removed'} by another process",
            hint="run the command again: it shows what is left to do",
            rollback=run.time,
        )


def _refuse_intruders(run: Run, signs: Signs, phase: Phase) -> None:
    """Raises Conflict: a restore, or a savepoint on the instant, appeared; or, during the rollback of a completed
    instant, a write or a clean appeared, or the instant was published again."""
    timeline, plan = signs.timeline, run.plan
    came = [str(entry.instant) for entry in signs.restores]
    came += [str(entry) for entry in timeline.having(fmt.SAVEPOINT) if entry.time == plan.target]
    if plan.completed:
        others = [entry for entry in timeline.writes() if entry.time != plan.target]
        came += [str(entry) for entry in others if not plan.timeline.issuperset(entry.names)]
        if phase.after_unpublishing:
            came += [str(entry) for entry in timeline.writes() if entry.time == plan.target and entry.completed]
        new = [entry for entry in timeline.having(fmt.CLEAN) if not plan.timeline.issuperset(entry.names)]
        came += [f"the clean {time}" for time in cleans_in_the_way(run.table, timeline, plan.case, new)]
    if came:
        raise Conflict(
            f"{came[0]} appeared or changed during the rollback; the rollback is still pending",
            hint="stop all writers and table services, then run `hudictl resume`",
            rollback=run.time,
        )


def _side_lines(run: Run, timeline: Timeline) -> None:
    """What the plan names beside its instant: removes cleans that block it, and creates metafiles."""
    for clean in run.plan.cleans_discarded:
        delete_instant(run.table, timeline.find(clean, fmt.CLEAN))
        run.monitor.note(f"discarded the clean {clean}")
    for partition in run.plan.partition_metafiles_made:
        instants.create_metafile(run.table, partition, run.plan.target)


def _hide(run: Run) -> None:
    """Un-publishes the instant, also in the metadata table: from here on readers no longer see it.

    A metadata table to delete is taken out of use first, and so is an index that was built after the instant: Hudi,
    which may finish this rollback if hudictl dies, would keep them. In a metadata table that is kept, readers ignore
    the deltacommit as soon as its instant is pending (Hudi 1.0.2, 1.2.0); it is then rolled back, before any file is
    deleted.
    """
    plan = run.plan
    _retire_metadata_table(run)
    if not plan.metadata_step.takes_it and retire_indexes(run.table, plan.indexes_lost, run.time):
        run.monitor.note(f"took out of use: {', '.join(plan.indexes_lost)}")
    if plan.completed and plan.removal.instant is not None:
        back_up_instants(run.table, [plan.removal], pending_too=plan.options.keep_backup)
        instants.check_rollback_plan(run.table, run.time, plan.target)
        run.held.check()
        instants.unpublish(run.table, plan.removal.instant)
        run.monitor.note(f"un-published {plan.removal.instant}")
    remove_hashing_metadata(run.table, plan.hashing)
    signs = _signs(run)
    no_new_metadata_table(run.table, plan, signs, run.time, retired=True, kept=run.kept)
    if plan.metadata_step is MetadataStep.ROLL_BACK:
        roll_back_metadata(run.table, plan.target, run.time)
        run.monitor.note(f"rolled {plan.target} back in the metadata table")


def _still_empty(run: Run) -> Removal:
    """The removal, without empty logs of other writers that may have been written since planning: on a store that can
    append, a writer continues the newest log of a slice.

    Raises Conflict: another writer started while the metadata table is being deleted. It could not build it again
    beside such a log; the rollback stays pending.
    """
    removal = run.plan.removal
    others = [file for file in removal.files if not removal.owns(file)]
    if not others:
        return removal
    signs = _signs(run)
    if run.plan.metadata_step.takes_it:
        metadata_table_can_go(signs, run.plan.target, run.plan.timeline)
        busy = False
    else:
        busy = may_be_writing(run.table, signs, removal.time)
    found = {} if busy else {file.path: run.table.storage.stat(file.path) for file in others}
    empty = {path for path, status in found.items() if status is None or not status.size}
    return replace(removal, files=tuple(file for file in removal.files if removal.owns(file) or file.path in empty))


def _retire_metadata_table(run: Run) -> None:
    """Takes the metadata table out of use, but never while a writer uses it.

    Raises Conflict; the rollback is still pending.
    """
    if not run.plan.metadata_step.takes_it:
        return
    set_aside_already = run.kept is not None and is_aside(run.table, run.kept.aside)
    if not set_aside_already and (run.kept is not None or another_made(run.table, run.time, None)):
        metadata_table_can_go(_signs(run), run.plan.target, run.plan.timeline)
    if take_out_of_use(run.table, run.time, run.kept):
        run.monitor.note("took the metadata table out of use")


def _publish(run: Run, body: bytes) -> None:
    """Removes the instant's pending files and traces, then publishes its rollback: from then on it is completed.

    Raises Conflict: another process has published it.
    """
    timeline = load_timeline(run.table)
    # From version 8 on the completion time is part of the name, so that a second completed file is possible.
    _check_own(run, timeline)
    instant = timeline.find(run.plan.target, *fmt.WRITE_ACTIONS)
    if instant is not None and run.plan.options.keep_plan:
        if run.plan.planned_again:
            replace_request(run.table, instant, encode_compaction_plan(run.plan.planned_again))
        delete_instant_files(run.table, [file for file in instant.files if file.state is State.INFLIGHT])
    else:
        delete_instant(run.table, instant)
    for superseded in run.plan.rollbacks_superseded:
        delete_instant(run.table, timeline.find(superseded, fmt.ROLLBACK))
    if not run.plan.options.keep_backup:
        drop_backup(run.table, {run.plan.target})
    # Before the completion: afterwards there is no reason for a rerun, which would remove the leftovers.
    remove_traces(run.table, {run.plan.target})
    run.held.check()
    completed = completion_now(run.table, run.time)
    create_instant_file(run.table, run.time, fmt.ROLLBACK, State.COMPLETED, body, completed)


def _verify_timeline(run: Run) -> None:
    """Reads the timeline back. New writes of other processes are no failure. Raises Incomplete, Unreadable."""
    timeline = load_timeline(run.table)
    own = timeline.find(run.time, fmt.ROLLBACK)
    instant = timeline.find(run.plan.target, *fmt.WRITE_ACTIONS)
    requested = instant is not None and instant.state is State.REQUESTED and not has_lost_plan(timeline, instant)
    findings = [f"{run.time} is not completed"] if own is None or not own.completed else []
    kept = run.plan.options.keep_plan and run.plan.removal.instant is not None
    if not (requested if kept else instant is None):
        findings.append(f"{instant}" if instant is not None else f"{run.plan.target} is not on the timeline any more")
    findings += [f"markers of {time}" for time in marker_folders(run.table) if time in (run.plan.target, run.time)]
    if findings:
        raise Incomplete(
            f"the rollback is published, but the verification found: {', '.join(findings)}",
            hint="`hudictl check` shows what is wrong, and the remedy",
            findings=findings,
        )
