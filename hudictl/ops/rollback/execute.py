"""Executing rollbacks, in the order of docs/restore-order.md. Every phase is idempotent, as a restore's.

Those of several failed writes run together: one claim, one wait, one job that deletes, one listing that proves it.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from hudictl.errors import Conflict, StorageFailed
from hudictl.formats import instants as fmt
from hudictl.formats import rollback
from hudictl.formats.instants import State, time_plus_ms
from hudictl.ops.guards import clock
from hudictl.ops.guards import timeline as timeline_guards
from hudictl.ops.guards.liveness import no_live_heartbeat
from hudictl.ops.guards.rollback import keeps_alone, metadata_table_can_go, no_rollback_beside
from hudictl.ops.metadata.in_place import roll_back_metadata
from hudictl.ops.metadata.keep import (
    MetadataOutcome,
    begin_keeping,
    forget_ended,
    nothing_required_lost,
    place_of,
    roll_back_aside,
    take_out_of_use,
    unchanged,
    use_again,
)
from hudictl.ops.metadata.treat import set_aside_by
from hudictl.ops.rollback.beside import no_new_metadata_table
from hudictl.ops.rollback.plan import RollbackPlan
from hudictl.ops.rollback.planning import check_around, check_target, stored_rollbacks
from hudictl.ops.rollback.publish import check_own, publish, verify_timeline
from hudictl.ops.rollback.run import One, RollbackResult, RollbackRun
from hudictl.ops.session import Kind, Session, all_kept, changing_all, keeping_files, kept_for
from hudictl.ops.undo import instants
from hudictl.ops.undo.afterwards import afterwards
from hudictl.ops.undo.backup import back_up_instants
from hudictl.ops.undo.execute import (
    delete_and_prove,
    delete_first,
    elapsed_ms,
    end_open_writes,
    remove_traces,
    wait_for_queries,
)
from hudictl.ops.undo.phases import Phase
from hudictl.ops.undo.plan import Removal
from hudictl.state.facts import Signs, read_signs
from hudictl.state.files.needed import cleans_in_the_way
from hudictl.state.writers.activity import last_sign_ms, may_be_writing
from hudictl.table.clock import StorageClock, measure_clock
from hudictl.table.files.hashing import remove_hashing_metadata, uncommit_hashing_metadata
from hudictl.table.kept import drop_room, room_of
from hudictl.table.locks.hold import Hold
from hudictl.table.metadata.aside import Other, delete_dropped, drop_indexes
from hudictl.table.properties import recover_properties
from hudictl.table.table import Table
from hudictl.table.timeline.active import (
    Timeline,
    create_instant_file,
    delete_instant,
    drop_empty_result,
    load_timeline,
)
from hudictl.table.writers.beat import BEAT_SECONDS
from hudictl.table.writers.heartbeats import beating


def execute_rollback(session: Session, plan: RollbackPlan) -> RollbackResult:
    """``execute_rollbacks`` for one plan."""
    (result,) = execute_rollbacks(session, (plan,))
    return result


def execute_rollbacks(session: Session, plans: Sequence[RollbackPlan]) -> Sequence[RollbackResult]:
    """Executes plans that were made together, and records who executed them.

    Raises:
        Conflict: the table has changed since planning, or another process works on it.
        Incomplete: files could not be deleted; the rollbacks are still pending.
        Refused, Unsupported, Unreadable, StorageFailed, EngineFailed, Interrupted.
    """
    return changing_all(
        session,
        Kind.ROLLBACK,
        [(plan.target, plan.summary) for plan in plans],
        look=lambda held: ((run := _look_again(session, plans, held)), run.times),
        work=_rollback,
    )


def _look_again(session: Session, plans: Sequence[RollbackPlan], held: Hold) -> RollbackRun:
    """Every guard again, now that no other hudictl can act in between, and by the storage's own clock."""
    table = session.table
    session.engine.ready()
    signs = read_signs(table, measure_clock(table.storage))
    for plan in plans:
        _not_changed(signs, plan)
    check_around(session, signs)
    known = {time for plan in plans for time in _planned(plan)}
    keeps_alone(table, signs, known, asked=any(plan.options.keep_files for plan in plans))
    plans = [_looked_at(session, held, signs, plan) for plan in plans]

    ended = {plan.target for plan in plans}.union(*(plan.rollbacks_superseded for plan in plans))
    timeline = load_timeline(table).without(ended)
    new = clock.new_time(table, timeline) if any(plan.resumes is None for plan in plans) else ""
    each = (One(plan, plan.resumes or time_plus_ms(new, number)) for number, plan in enumerate(plans))
    return RollbackRun(session, held, tuple(each), signs)


def _not_changed(signs: Signs, plan: RollbackPlan) -> None:
    """Raises Conflict: the instant, or its rollbacks, are not those of the plan."""
    instant = signs.timeline.find(plan.target, *fmt.WRITE_ACTIONS)
    if plan.completed:
        timeline_guards.not_moved(signs.timeline, plan.undo.timeline)
    stored = {entry.time for entry, _ in stored_rollbacks(signs, plan.target)}
    if instant != plan.removal.instant or stored != _planned(plan):
        raise Conflict(f"{plan.target} has changed since planning", hint="run the command again: it makes a new plan")


def _planned(plan: RollbackPlan) -> set[str]:
    """The pending rollbacks that the plan ends."""
    return {*plan.rollbacks_superseded, *([plan.resumes] if plan.resumes else [])}


def _looked_at(session: Session, held: Hold, signs: Signs, plan: RollbackPlan) -> RollbackPlan:
    """The plan, with the lengths that its logs have now. Raises a guard's error."""
    table, instant = session.table, plan.removal.instant
    check_target(table, signs, plan.target, instant, plan.options)
    if plan.undo.metadata_table.takes_it:
        metadata_table_can_go(signs, plan.target, plan.undo.timeline)
    no_new_metadata_table(table, plan, signs, plan.resumes or "")
    kept = plan.undo.metadata_table
    if kept.takes_it and kept.keeps and set_aside_by(table, _planned(plan)) is None:
        unchanged(table, kept)
    _check_silence(table, signs, plan)
    marked = end_open_writes(session, held, plan.undo.marked, counted=plan.completed)
    return replace(plan, undo=replace(plan.undo, marked=marked))


def _rollback(run: RollbackRun) -> Sequence[RollbackResult]:
    started = time.monotonic()
    targets = [one.plan.target for one in run.each]
    resumes = any(one.plan.resumes is not None for one in run.each)
    asked = run.options.keep_files or any(room_of(run.table, time) for time in run.ended if time not in run.times)
    kept = keeping_files(run.session, Kind.ROLLBACK, run.times, targets, asked=asked, resumes=resumes)
    run = replace(run, session=kept)
    table = run.table
    recover_properties(table.storage)
    # Before the request, which a writer may execute: so no writer uses this metadata after its instant is removed.
    for one in run.each:
        uncommit_hashing_metadata(table, one.plan.undo.hashing)
    run = _begin(run)

    with beating(table, run.times, min(BEAT_SECONDS, table.heartbeat_rule.interval_ms / 1000)):
        timeline = _enter(run, Phase.PREPARE)
        _prepare(run, timeline)

        _enter(run, Phase.UNPUBLISH_ONE)
        run = replace(run, each=tuple(_keeping(table, one) for one in run.each))
        for one in run.each:
            _hide(run, one)
        delete_first(run.session, run.held, run.undo, Kind.ROLLBACK)
        wait_for_queries(run.monitor, run.options.grace_s)

        undone, blocks, found = delete_and_prove(
            run.session,
            run.held,
            run.undo,
            Kind.ROLLBACK,
            enter=partial(_enter, run),
            delete_dropped=lambda: _delete_dropped(run),
            last_look=lambda undo: replace(undo, removals=tuple(_still_empty(run, one) for one in run.each)),
        )

        _enter(run, Phase.ROLL_BACK_METADATA_TABLE)
        metadata = [roll_back_aside(run.session, run.held, one.kept, {one.plan.target}, found) for one in run.each]

        _enter(run, Phase.PUBLISH_ROLLBACK)
        _delete_dropped(run)
        elapsed = elapsed_ms(started)
        results = [
            instants.rollback_result(table, removal, one.time, blocks.get(one.plan.target, ()), elapsed)
            for one, removal in zip(run.each, undone.removals, strict=True)
        ]
    remove_traces(table, run.ended)
    metadata = [use_again(table, one.kept, outcome) for one, outcome in zip(run.each, metadata, strict=True)]
    publish(run, [rollback.encode_metadata(result) for result in results])
    forget_ended(table, run.ended)
    verify_timeline(run)
    return [
        _ended(run, one, removal, outcome, elapsed_ms(started))
        for one, removal, outcome in zip(run.each, undone.removals, metadata, strict=True)
    ]


def _keeping(table: Table, one: One) -> One:
    """The rollback, with the metadata table that it sets aside, if it does."""
    if not one.plan.undo.metadata_table.takes_it:
        return one
    earlier = set_aside_by(table, (one.time, *one.plan.rollbacks_superseded))
    return replace(one, kept=earlier or begin_keeping(table, one.time, one.time, one.plan.undo.metadata_table))


def _delete_dropped(run: RollbackRun) -> None:
    """Deletes what this attempt and earlier ones have taken out of use of the metadata table. Several rollbacks that
    run together leave it in its place."""
    for one in run.each if len(run.each) == 1 else ():
        delete_dropped(run.table, one.time)


def _ended(run: RollbackRun, one: One, removal: Removal, metadata: MetadataOutcome, duration_ms: int) -> RollbackResult:
    """What one rollback has done. Raises Findings: a required index is lost."""
    plan = one.plan
    result = RollbackResult(
        rollback=one.time,
        target=plan.target,
        plan_kept=plan.plan_kept,
        files_deleted=len(removal.files),
        bytes_deleted=removal.size,
        rollback_blocks=len(plan.removal.blocks),
        metadata_table=metadata.fate(plan.undo.metadata_table),
        duration_ms=duration_ms,
        files_kept=plan.files_kept,
        indexes_kept=() if metadata.given_up else plan.undo.metadata_table.indexes_kept,
        metadata_table_given_up=metadata.given_up,
        **vars(afterwards(run.table, plan.resumes, plan.undo, plan.checkpoint)),
        undo=kept_for(run.session),
    )
    nothing_required_lost(run.table, plan.undo.metadata_table, plan.options.require_index, metadata, result)
    all_kept(run.session, result)
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


def _begin(run: RollbackRun) -> RollbackRun:
    """Requests the rollbacks, waits for other processes that work on the same instants, and begins them."""
    table = run.table
    waiting = [one for one in run.each if not one.plan.begun]
    for one in run.each:
        if one.plan.begun:
            drop_empty_result(table, one.time, fmt.ROLLBACK)
    if not waiting:
        return run
    run.monitor.step("request the rollback")
    requested: list[str] = []
    try:
        for one in waiting:
            if one.plan.resumes is None:
                body = instants.encode_rollback(table, one.plan.removal)
                create_instant_file(table, one.time, fmt.ROLLBACK, State.REQUESTED, body)
                requested.append(one.time)
        if len(requested) > 1:
            # Each has taken the next millisecond.
            instants.wait_until(table, requested[-1])
        signs = _settle(run)
    except (Exception, KeyboardInterrupt):
        _withdraw(run, requested)
        raise
    run.monitor.step("begin the rollback")
    run.held.check()
    for one in waiting:
        create_instant_file(table, one.time, fmt.ROLLBACK, State.INFLIGHT)
    return replace(run, signs=signs)


def _withdraw(run: RollbackRun, requested: Sequence[str]) -> None:
    """No rollback is better than one that is armed and has changed nothing."""
    with suppress(StorageFailed):
        timeline = load_timeline(run.table)
        for rollback_time in requested:
            delete_instant(run.table, timeline.find(rollback_time, fmt.ROLLBACK))
        if len(requested) == len(run.each):
            drop_room(run.table, run.times[0])


def _signs(run: RollbackRun, clock: StorageClock | None = None) -> Signs:
    return read_signs(run.table, clock, run.signs)


def _settle(run: RollbackRun) -> Signs:
    """Raises Conflict: another process appeared during the settle wait; then the request is removed."""
    _wait(run)
    signs = _signs(run, measure_clock(run.table.storage))
    no_rollback_beside(signs, run.targets, run.ended)
    for one in run.each:
        plan = one.plan
        if plan.completed:
            own = fmt.instant_file_name(one.time, fmt.ROLLBACK, State.REQUESTED, run.table.layout.version)
            timeline_guards.not_moved(signs.timeline, plan.undo.timeline | {own})
        instant = signs.timeline.find(plan.target, *fmt.WRITE_ACTIONS)
        no_live_heartbeat(signs, [instant] if instant else [])
        if plan.undo.metadata_table.takes_it:
            metadata_table_can_go(signs, plan.target, plan.undo.timeline)
        no_new_metadata_table(run.table, plan, signs, one.time)
        _check_silence(run.table, signs, plan)
    return signs


def _wait(run: RollbackRun) -> None:
    """The settle wait. If a pending target has a heartbeat, it lasts one interval longer than the heartbeat's limit:
    the writer may beat late, on a host under load.

    Raises Interrupted; Conflict: the writer was active.
    """
    rule = run.table.heartbeat_rule
    signs = _signs(run)
    for one in run.each:
        _check_silence(run.table, signs, one.plan)
    pending = {one.plan.target for one in run.each if not one.plan.completed}
    beats = [beat for beat in signs.heartbeats if beat.time in pending]
    late_ms = max((rule.limit_ms + rule.interval_ms - beat.age_ms for beat in beats), default=0)
    left = max(run.options.settle_s, late_ms / 1000)
    while left > 0:
        time.sleep(min(1.0, left))
        run.monitor.check()
        left -= 1.0


def _enter(run: RollbackRun, phase: Phase) -> Timeline:
    """Before each phase: there is no request to stop, the claim is still held, the rollbacks are still pending, the
    writer of a pending target has no activity, and beside a completed target no other process writes.

    Returns:
        The timeline now.

    Raises Interrupted, Conflict, Unreadable; the rollbacks are still pending.
    """
    run.monitor.step(phase.label)
    run.held.check()
    signs, retired = _signs(run), phase.after_unpublishing
    for one in run.each:
        check_own(one, signs.timeline)
        _check_silence(run.table, signs, one.plan)
        _refuse_intruders(run.table, one, signs, phase)
        no_new_metadata_table(run.table, one.plan, signs, one.time, retired=retired, kept=one.kept)
    return signs.timeline


def _refuse_intruders(table: Table, one: One, signs: Signs, phase: Phase) -> None:
    """Raises Conflict: a restore, or a savepoint on the instant, appeared; or, during the rollback of a completed
    instant, a write or a clean appeared, or the instant was published again."""
    timeline, plan = signs.timeline, one.plan
    came = [str(entry.instant) for entry in signs.restores]
    came += [str(entry) for entry in (timeline.find(plan.target, fmt.SAVEPOINT),) if entry is not None]
    if plan.completed:
        others = [entry for entry in timeline.writes() if entry.time != plan.target]
        came += [str(entry) for entry in others if not plan.undo.timeline.issuperset(entry.names)]
        if phase.after_unpublishing:
            came += [str(entry) for entry in timeline.writes() if entry.time == plan.target and entry.completed]
        new = [entry for entry in timeline.having(fmt.CLEAN) if not plan.undo.timeline.issuperset(entry.names)]
        came += [f"the clean {time}" for time in cleans_in_the_way(table, timeline, plan.undo.case, new)]
    if came:
        raise Conflict(
            f"{came[0]} appeared or changed during the rollback; the rollback is still pending",
            hint="stop all writers and table services, then run `hudictl resume`",
            rollback=one.time,
        )


def _prepare(run: RollbackRun, timeline: Timeline) -> None:
    """What the plans name beside their instants: removes cleans that block them, and creates metafiles."""
    for plan in (one.plan for one in run.each):
        for clean in plan.undo.cleans_discarded:
            delete_instant(run.table, timeline.find(clean, fmt.CLEAN))
            run.monitor.note(f"discarded the clean {clean}")
        for partition in plan.undo.partition_metafiles_made:
            instants.create_metafile(run.table, partition, plan.target)


def _hide(run: RollbackRun, one: One) -> None:
    """Un-publishes an instant, also in the metadata table: from here on readers no longer see it.

    A metadata table to delete is taken out of use first, and so is an index that was built after the instant: Hudi,
    which may finish this rollback if hudictl dies, would keep them. In a metadata table that is kept, readers ignore
    the deltacommit as soon as its instant is pending (Hudi 1.0.2, 1.2.0); it is then rolled back, before any file is
    deleted.
    """
    plan, table = one.plan, run.table
    _retire_metadata_table(run, one)
    if not plan.undo.metadata_table.takes_it and drop_indexes(table, plan.undo.indexes_lost, one.time):
        run.monitor.note(f"took out of use: {', '.join(plan.undo.indexes_lost)}")
    if plan.completed and plan.removal.instant is not None:
        back_up_instants(table, [plan.removal], pending_too=plan.options.keep_backup)
        instants.check_rollback_plan(table, one.time, plan.target)
        run.held.check()
        instants.unpublish(table, plan.removal.instant)
        run.monitor.note(f"un-published {plan.removal.instant}")
    remove_hashing_metadata(table, plan.undo.hashing)
    if len(run.each) > 1:
        # They were never seen, and leave the metadata table as it is: the next phase looks again.
        return
    no_new_metadata_table(table, plan, _signs(run), one.time, retired=True, kept=one.kept)
    if plan.undo.metadata_table.in_place and plan.undo.metadata_table.keeps:
        roll_back_metadata(table, plan.target, one.time)
        run.monitor.note(f"rolled {plan.target} back in the metadata table")


def _still_empty(run: RollbackRun, one: One) -> Removal:
    """The removal, without empty logs of other writers that may have been written since planning: on a store that can
    append, a writer continues the newest log of a slice.

    Raises Conflict: another writer started while the metadata table is being deleted. It could not build it again
    beside such a log; the rollback stays pending.
    """
    removal, plan = one.plan.removal, one.plan
    others = [file for file in removal.files if not removal.owns(file)]
    if not others:
        return removal
    signs = _signs(run)
    if plan.undo.metadata_table.takes_it:
        metadata_table_can_go(signs, plan.target, plan.undo.timeline)
        busy = False
    else:
        busy = may_be_writing(run.table, signs, run.targets)
    found = {} if busy else {file.path: run.table.storage.stat(file.path) for file in others}
    empty = {path for path, status in found.items() if status is None or not status.size}
    return replace(removal, files=tuple(file for file in removal.files if removal.owns(file) or file.path in empty))


def _retire_metadata_table(run: RollbackRun, one: One) -> None:
    """Takes the metadata table out of use, but never while a writer uses it.

    Raises Conflict; the rollback is still pending.
    """
    if not one.plan.undo.metadata_table.takes_it:
        return
    place = place_of(run.table, one.time, one.kept)
    if not place.is_aside and (one.kept is not None or place.other is not Other.NONE):
        metadata_table_can_go(_signs(run), one.plan.target, one.plan.undo.timeline)
    if take_out_of_use(run.table, one.time, one.kept):
        run.monitor.note("took the metadata table out of use")
