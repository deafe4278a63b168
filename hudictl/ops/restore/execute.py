"""Executing a restore, in the order of docs/restore-order.md. Every phase is idempotent: a rerun does the rest."""

import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from hudictl.errors import Conflict, HudictlError, StorageFailed
from hudictl.formats import instants as fmt
from hudictl.formats.instants import Instant, State
from hudictl.formats.layouts import METADATA_TABLE
from hudictl.ops.guards import clock, liveness
from hudictl.ops.guards import timeline as guards
from hudictl.ops.metadata.keep import (
    MetadataOutcome,
    begin_keeping,
    forget_ended,
    nothing_required_lost,
    place_of,
    roll_back_aside,
    still_kept,
    take_out_of_use,
    unchanged,
    use_again,
)
from hudictl.ops.restore.completion import complete_restore, drop_staged, stage_metadata
from hudictl.ops.restore.plan import RestorePlan, encode_plan
from hudictl.ops.restore.protection import end_protection, protect_target
from hudictl.ops.restore.scope import check_signs
from hudictl.ops.restore.table_type import as_merge_on_read, is_of, set_type, type_on_storage
from hudictl.ops.restore.verify import verify_timeline
from hudictl.ops.session import Kind, Monitor, Session, all_kept, changing_all, keeping_files, kept_for, kept_room
from hudictl.ops.undo import instants
from hudictl.ops.undo.afterwards import Consumers, Moment, afterwards
from hudictl.ops.undo.backup import back_up_instants, drop_backup
from hudictl.ops.undo.execute import (
    delete_and_prove,
    delete_first,
    elapsed_ms,
    end_open_writes,
    remove_traces,
    wait_for_queries,
)
from hudictl.ops.undo.phases import Phase
from hudictl.ops.undo.plan import Undo
from hudictl.phrases import first_few
from hudictl.state.facts import read_signs
from hudictl.state.files.catalog import NO_GAP, CatalogGap
from hudictl.state.files.needed import cleans_in_the_way
from hudictl.state.metadata.record import KeptMetadata
from hudictl.state.metadata.undo import Mode
from hudictl.state.services.stalled import outlived
from hudictl.state.timeline.ahead import latest_of_clocks
from hudictl.state.timeline.checkpoints import StreamerCheckpoint
from hudictl.state.timeline.unfinished import restores_to
from hudictl.table.files.hashing import remove_hashing_metadata, uncommit_hashing_metadata
from hudictl.table.kept import LOST, drop_room, end_room
from hudictl.table.locks.hold import Hold
from hudictl.table.metadata.aside import Other, delete_dropped
from hudictl.table.properties import recover_properties
from hudictl.table.table import MERGE_ON_READ, TYPE, Table
from hudictl.table.timeline.active import (
    create_instant_file,
    delete_instant,
    drop_empty_result,
    load_timeline,
)
from hudictl.table.timeline.archive_writer import take_out_of_archive
from hudictl.table.writers.heartbeats import beating


@dataclass(frozen=True)
class RestoreRun:
    """A running restore: ``time`` is its own instant; ``rollbacks`` maps a removed instant to its rollback's time, and
    ``bodies`` to the rollback plan that is not written yet. ``kept`` is the metadata table, if it is kept."""

    session: Session
    held: Hold
    plan: RestorePlan
    time: str
    rollbacks: Mapping[str, str]
    bodies: Mapping[str, bytes] = field(default_factory=dict)
    kept: KeptMetadata | None = None

    @property
    def undo(self) -> Undo:
        return self.plan.undo

    @property
    def table(self) -> Table:
        return self.session.table

    @property
    def monitor(self) -> Monitor:
        return self.session.monitor


@dataclass(frozen=True)
class RestoreResult:
    """What a restore has done; ``readers_back_ms`` from ``restore.inflight`` until readers saw the savepoint.

    ``metadata_table``: "rolled back" or "brought forward", with ``indexes_kept``; "deleted"; "none" if there was none.
    ``metadata_table_given_up``: why it was deleted, although the plan was to keep it.
    ``catalog``: what a Hive or Glue catalog lists wrongly now. The others are those of ``Afterwards``.
    ``undo``: what ``hudictl undo`` takes, if the deleted files are kept. ``indexings``: the pending ones that Hudi must
    not execute any more.
    """

    restore: str
    target: str
    instants: tuple[str, ...]
    files_deleted: int
    bytes_deleted: int
    rollback_blocks: int
    readers_back_ms: int
    duration_ms: int
    files_lost: tuple[str, ...] = ()
    metadata_table: str = Mode.NONE.value
    indexes_kept: tuple[str, ...] = ()
    metadata_table_given_up: str | None = None
    catalog: CatalogGap = NO_GAP
    head: Moment | None = None
    checkpoint: StreamerCheckpoint | None = None
    consumers: Consumers | None = None
    undo: str | None = None
    indexings: tuple[str, ...] = ()


def execute_restore(session: Session, plan: RestorePlan) -> RestoreResult:
    """Executes the plan, and records who executed it.

    Raises:
        Conflict: the table has changed since planning, or another process works on it.
        Incomplete: files could not be deleted; the restore is still pending.
        Refused, Unsupported, Unreadable, StorageFailed, EngineFailed, Interrupted.
    """
    session = as_merge_on_read(session, plan.table_type_before)
    (result,) = changing_all(
        session,
        Kind.RESTORE,
        [(plan.target, plan.summary)],
        look=lambda held: ((run := _look_again(session, plan, held)), (run.time,)),
        work=lambda run: (_restore(run),),
    )
    return result


def _look_again(session: Session, plan: RestorePlan, held: Hold) -> RestoreRun:
    """Every guard again, now that no other hudictl can act in between."""
    table, undo = session.table, plan.undo
    session.engine.ready()
    signs = read_signs(table)
    guards.not_moved(signs.timeline, undo.timeline)
    restores_to(table, signs.planned_restores, plan.target)
    removed = {removal.time: removal.instant for removal in undo.removals}
    ended = (*plan.rollbacks_removed, *plan.rollbacks_discarded)
    check_signs(session, signs, plan.target, removed, plan.options, ended)
    guards.archived_as_planned(table, plan.target, removed)
    liveness.no_live_heartbeat(signs, [entry for entry in removed.values() if entry is not None])
    if undo.metadata_table.keeps and still_kept(table, plan.resumes) is None:
        unchanged(table, undo.metadata_table)
    plan = replace(plan, undo=replace(undo, marked=end_open_writes(session, held, undo.marked, counted=True)))

    drop_staged(table, plan.resumes)
    timeline = load_timeline(table).without({plan.withdrawn, *removed})
    restore = plan.resumes or clock.new_time(table, timeline)
    # Not the times that no clock shows: one may have no later time, and metadata of the far future would stay.
    last = max(restore, latest_of_clocks(table, timeline))
    return RestoreRun(session, held, plan, restore, _rollback_times(plan, last))


def _restore(run: RestoreRun) -> RestoreResult:
    started = time.monotonic()
    asked, resumes = run.plan.options.keep_files, run.plan.resumes is not None
    kept = keeping_files(run.session, Kind.RESTORE, [run.time], [run.plan.target], asked=asked, resumes=resumes)
    run = replace(run, session=kept)
    recover_properties(run.table.storage)
    run = _begin(run)
    inflight = time.monotonic()
    run = _prepared(run)

    # Not before the rollbacks exist: a rerun would choose other times, and leave these heartbeats behind.
    with beating(run.table, [run.time, *run.rollbacks.values()]):
        _enter(run, Phase.UNPUBLISH)
        _unpublish(run)
        remove_hashing_metadata(run.table, run.undo.hashing)
        delete_first(run.session, run.held, run.undo, Kind.RESTORE)
        _retire_metadata_table(run)
        readers_back_ms = elapsed_ms(inflight)
        wait_for_queries(run.monitor, run.plan.options.grace_s)

        _, blocks, found = delete_and_prove(
            run.session,
            run.held,
            run.undo,
            Kind.RESTORE,
            enter=partial(_enter, run),
            delete_dropped=lambda: delete_dropped(run.table, run.time),
        )
        _retire_metadata_table(run)
        body = stage_metadata(
            run.table, run.time, run.plan, rollbacks=run.rollbacks, blocks=blocks, duration_ms=elapsed_ms(started)
        )

        _enter(run, Phase.REMOVE_INSTANTS)
        if any(removal.archived is not None for removal in run.undo.removals):
            take_out_of_archive(run.table, run.undo.removed)
        _remove_instants(run)

        _enter(run, Phase.ROLL_BACK_METADATA_TABLE)
        metadata_table = roll_back_aside(run.session, run.held, run.kept, run.undo.removed, found)

        _enter(run, Phase.PUBLISH_RESTORE)
        _clear_up(run)
    # Before the completion: afterwards there is no reason for a rerun, which would remove the leftovers.
    remove_traces(run.table, {run.time})
    run.held.check()
    metadata_table = use_again(run.table, run.kept, metadata_table)
    complete_restore(run.table, run.time, body)
    forget_ended(run.table, (run.time, *run.plan.rollbacks_removed, *run.plan.rollbacks_discarded))
    verify_timeline(run.table, run.plan, run.time, run.rollbacks.values(), metadata_table.kept)
    result = _result(run, metadata_table, readers_back_ms, elapsed_ms(started))
    nothing_required_lost(run.table, run.undo.metadata_table, run.plan.options.require_index, metadata_table, result)
    all_kept(run.session, result)
    return result


def _prepared(run: RestoreRun) -> RestoreRun:
    """All that comes before the first instant is un-published."""
    _enter(run, Phase.PREPARE)
    # Before all else: beside a half created savepoint a rerun could not plan it again.
    latest = max(run.rollbacks.values(), default=run.time)
    run = replace(run, kept=begin_keeping(run.table, run.time, latest, run.undo.metadata_table))
    _prepare(run)

    _enter(run, Phase.RETIRE_METADATA_TABLE)
    _retire_metadata_table(run, planned=run.undo.metadata_table.mode is not Mode.NONE)

    _enter(run, Phase.WRITE_ROLLBACK_PLANS)
    back_up_instants(run.table, run.undo.removals, pending_too=run.plan.options.keep_backup)
    _request_rollbacks(run)
    return run


def _result(run: RestoreRun, metadata_table: MetadataOutcome, readers_back_ms: int, duration_ms: int) -> RestoreResult:
    undo = run.undo
    after = afterwards(run.table, run.plan.resumes, undo, run.plan.checkpoint)
    return RestoreResult(
        restore=run.time,
        target=run.plan.target,
        instants=tuple(removal.time for removal in undo.removals),
        files_deleted=undo.files_to_delete,
        bytes_deleted=undo.bytes_to_delete,
        rollback_blocks=len(undo.rollback_blocks),
        readers_back_ms=readers_back_ms,
        duration_ms=duration_ms,
        files_lost=undo.files_lost,
        metadata_table=metadata_table.fate(undo.metadata_table),
        indexes_kept=metadata_table.indexes,
        metadata_table_given_up=metadata_table.given_up,
        **vars(after),
        undo=kept_for(run.session),
        indexings=_outlived(run),
    )


def _outlived(run: RestoreRun) -> tuple[str, ...]:
    # Nothing that cannot be read is an error here: the work is done.
    with suppress(HudictlError):
        return outlived(run.table, load_timeline(run.table), run.time)
    return ()


def _clear_up(run: RestoreRun) -> None:
    """Removes what a completed restore must not leave: a metadata table, copies, hudictl's temporary savepoint."""
    _retire_metadata_table(run)
    delete_dropped(run.table, run.time)
    if not run.plan.options.keep_backup:
        drop_backup(run.table, run.undo.removed)
    if run.plan.protecting_savepoint:
        end_protection(run.table, run.plan.target)


def _begin(run: RestoreRun) -> RestoreRun:
    """Requests the restore, waits for late writers while it encodes the rollback plans, and begins the restore."""
    run.monitor.step("request the restore")
    run.held.check()
    if run.plan.resumes is not None:
        drop_empty_result(run.table, run.time, fmt.RESTORE)
        return replace(run, bodies=_encode(run))
    if run.plan.withdrawn is not None:
        delete_instant(run.table, load_timeline(run.table).find(run.plan.withdrawn, fmt.RESTORE))
    create_instant_file(run.table, run.time, fmt.RESTORE, State.REQUESTED, encode_plan(run.plan))
    try:
        return _settle(run)
    except (Exception, KeyboardInterrupt):
        # No restore is better than one that blocks all writers and has changed nothing.
        with suppress(StorageFailed):
            delete_instant(run.table, load_timeline(run.table).find(run.time, fmt.RESTORE))
            drop_room(run.table, run.time)
        raise


def _settle(run: RestoreRun) -> RestoreRun:
    """Encodes the rollback plans during the settle wait; begins the restore if no writer has appeared.

    Raises Conflict, Interrupted.
    """
    settled = time.monotonic() + run.plan.options.settle_s
    bodies = _encode(run)
    time.sleep(max(0.0, settled - time.monotonic()))
    timeline = load_timeline(run.table)
    before = run.undo.timeline - {f"{run.plan.withdrawn}.restore.requested"}
    moved = (frozenset(timeline.modified_ms) - {f"{run.time}.restore.requested"}) ^ before
    if moved:
        raise Conflict(
            f"another process changed the timeline ({first_few(sorted(moved))}): the restore request was removed, "
            "nothing else was changed",
            hint="stop all writers, then run the command again",
            files=sorted(moved),
        )
    run.monitor.step("begin the restore")
    run.held.check()
    create_instant_file(run.table, run.time, fmt.RESTORE, State.INFLIGHT)
    begun = load_timeline(run.table).find(run.time, fmt.RESTORE)
    if begun is None or begun.file(State.REQUESTED) is None:
        # Another hudictl took this process for dead, and removed the request: the inflight file alone would block all
        # writers.
        raise Conflict(
            f"the request of the restore {run.time} was removed by another hudictl",
            hint="`hudictl table show` shows what is pending now",
        )
    return replace(run, bodies=bodies)


def _encode(run: RestoreRun) -> dict[str, bytes]:
    """The rollback plans that are not stored yet."""
    removals = (removal for removal in run.undo.removals if not (removal.rollback or removal.only_archived))
    return {removal.time: instants.encode_rollback(run.table, removal) for removal in removals}


def _rollback_times(plan: RestorePlan, last: str) -> dict[str, str]:
    """A time for each rollback, later than the restore's own; stored rollbacks keep their times."""
    times = {removal.time: removal.rollback for removal in plan.undo.removals if removal.rollback}
    new = [removal.time for removal in plan.undo.removals if not (removal.rollback or removal.only_archived)]
    return times | {time: fmt.time_plus_ms(last, number) for number, time in enumerate(new, 1)}


def _enter(run: RestoreRun, phase: Phase) -> None:
    """Before each phase: there is no request to stop, claim and lock are still held, no other process has changed the
    timeline's writes, and no new clean would delete files required by the target.

    Raises Interrupted, Conflict, Unreadable; the restore is still pending.
    """
    run.monitor.step(phase.label)
    run.held.check()
    timeline = load_timeline(run.table)
    found = next(
        (entry for entry in timeline.writes() if _is_intruder(run.plan, entry, phase.after_unpublishing)), None
    )
    target = timeline.find(run.plan.target, *fmt.COMMIT_ACTIONS)
    what = f"{found} was changed by another process" if found else ""
    if phase.after_unpublishing and type_on_storage(run.table) != (run.plan.options.table_type or run.table.type):
        what = f"{TYPE} was changed by another process"
    if target is None or not target.completed:
        what = f"the target {run.plan.target} was rolled back by another process"
    new = [entry for entry in timeline.having(fmt.CLEAN) if not run.undo.timeline.issuperset(entry.names)]
    for clean in cleans_in_the_way(run.table, timeline, run.undo.case, new):
        what = f"the clean {clean} would delete files required by {run.plan.target}; it appeared"
    # A restore completes none. A writer that cleans eagerly does, before it fails: their files are gone.
    executed = [entry for entry in timeline.having(fmt.ROLLBACK) if entry.completed and entry.time > run.time]
    room = kept_room(run.session) if executed else None
    if room is not None:
        end_room(run.table, room, LOST)
        came = [entry for entry in executed if not run.undo.timeline.issuperset(entry.names)]
        what = f"{came[0]} appeared, so that it cannot be undone any more," if came else what
    if what:
        raise Conflict(
            f"{what} during the restore; the restore is still pending",
            hint="stop all writers and table services, then run `hudictl resume`",
            restore=run.time,
        )


def _is_intruder(plan: RestorePlan, instant: Instant, unpublished: bool) -> bool:
    """Whether a write is not as planned: published again, new, or, if it is to be kept, un-published."""
    if instant.time in plan.undo.removed:
        return unpublished and instant.completed
    before = plan.undo.timeline
    return not before.issuperset(instant.names) or (instant.pending and _was_completed(before, instant.time))


def _was_completed(before: Collection[str], requested: str) -> bool:
    return any(name.startswith(requested) and name.rpartition(".")[2] in fmt.COMMIT_ACTIONS for name in before)


def _prepare(run: RestoreRun) -> None:
    """What the plan names beside its instants: protects the target, then removes what blocks the restore."""
    if run.plan.protecting_savepoint:
        protect_target(run.table, run.plan, run.time)
    uncommit_hashing_metadata(run.table, run.undo.hashing)
    timeline = load_timeline(run.table)
    for action, times in (
        (fmt.CLEAN, run.undo.cleans_discarded),
        (fmt.ROLLBACK, run.plan.rollbacks_discarded),
        (fmt.SAVEPOINT, run.plan.savepoints_deleted),
    ):
        for moment in times:
            delete_instant(run.table, timeline.find(moment, action))
            run.monitor.note(f"discarded the {action} {moment}")
    for partition in run.undo.partition_metafiles_made:
        instants.create_metafile(run.table, partition, run.plan.target)


def _retire_metadata_table(run: RestoreRun, *, planned: bool = False) -> None:
    """Called several times: a writer that cleans eagerly may have built a new one meanwhile.

    Raises Conflict: a writer is building one that was not in the plan; the restore is still pending.
    """
    looks = run.kept is not None or not planned
    if looks and place_of(run.table, run.time, run.kept).other is Other.BEGUN:
        raise Conflict(
            f"a writer is building a new metadata table ({METADATA_TABLE}) during the restore; the restore is still "
            "pending",
            hint="stop all writers and table services, then run `hudictl resume`",
            restore=run.time,
        )
    if take_out_of_use(run.table, run.time, run.kept):
        run.monitor.note("took the metadata table out of use")


def _request_rollbacks(run: RestoreRun) -> None:
    """Writes every rollback's plan and inflight file, all of them before the first instant is un-published."""
    instants.wait_until(run.table, max(run.rollbacks.values(), default=""))
    for removal in run.undo.removals:
        if removal.instant is None and removal.rollback is None:
            # An earlier attempt removed the instant with its rollback; or it is archived: no writer knows it.
            continue
        rollback = run.rollbacks[removal.time]
        if removal.time in run.bodies:
            create_instant_file(run.table, rollback, fmt.ROLLBACK, State.REQUESTED, run.bodies[removal.time])
        create_instant_file(run.table, rollback, fmt.ROLLBACK, State.INFLIGHT)


def _unpublish(run: RestoreRun) -> None:
    """Un-publishes the instants, newest first. Each needs a readable rollback plan: without one, a writer that cleans
    eagerly would take the instant for a failed write, and leave its files behind."""
    kind = run.plan.options.table_type if run.plan.table_type_before is not None else None
    for removal in run.undo.removals:
        # Readers do not see a pending log compaction, but Hudi's own resume would stop at it.
        if removal.instant and (removal.instant.completed or removal.instant.action == fmt.LOGCOMPACTION):
            if kind == MERGE_ON_READ and is_of(kind, removal.instant.action, removal.operation):
                run.held.check()
                set_type(run.table, kind)
            run.held.check()
            instants.check_rollback_plan(run.table, run.rollbacks[removal.time], removal.time)
            instants.unpublish(run.table, removal.instant)
            run.monitor.note(f"un-published {removal.instant}")
    if kind is not None:
        run.held.check()
        set_type(run.table, kind)


def _remove_instants(run: RestoreRun) -> None:
    """Pending files of the instants, newest first; markers and heartbeats; then the rollbacks that the plan names."""
    timeline = load_timeline(run.table)
    instants: dict[str, list[Instant]] = {}
    for instant in timeline.writes():
        instants.setdefault(instant.time, []).append(instant)
    for removal in run.undo.removals:
        for instant in instants.get(removal.time, ()):
            delete_instant(run.table, instant)
    rollbacks = {*run.plan.rollbacks_removed, *run.rollbacks.values()}
    # Before the rollbacks: a rerun does not know the times of those that are gone.
    remove_traces(run.table, run.undo.removed | rollbacks | {*run.plan.rollbacks_discarded})
    for rollback in sorted(rollbacks, reverse=True):
        delete_instant(run.table, timeline.find(rollback, fmt.ROLLBACK))
    for restore in run.plan.restores_superseded:
        delete_instant(run.table, timeline.find(restore, fmt.RESTORE))
