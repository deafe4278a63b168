"""Planning the rollback of one instant, or the rest of a pending rollback."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace

from hudictl.engine.base import Engine
from hudictl.formats.file_names import data_path
from hudictl.formats.instants import CLUSTERING, COMPACTION, ROLLBACK, WRITE_ACTIONS, Instant, State
from hudictl.formats.rollback import StoredRollbackPlan as StoredPlan
from hudictl.formats.rollback import decode_taken_back
from hudictl.ops.fingerprint import body_digest, listed, table_fingerprint
from hudictl.ops.guards import clock, liveness
from hudictl.ops.guards import files as file_guards
from hudictl.ops.guards import metadata as metadata_guards
from hudictl.ops.guards import rollback as guards
from hudictl.ops.guards import timeline as timeline_guards
from hudictl.ops.metadata.treat import stays_in_place, treat_metadata_table
from hudictl.ops.rollback.partitions import listed_facts, own_empty_logs, takes_metadata_table
from hudictl.ops.rollback.plan import RollbackOptions, RollbackPlan
from hudictl.ops.session import Session
from hudictl.ops.undo.backup import backed_up_commits
from hudictl.ops.undo.blocks import plan_blocks
from hudictl.ops.undo.plan import Undo, asked_to_delete, undo_facts
from hudictl.ops.undo.planning import Judged, judge_files, plan_removals, plan_undo, slices_to_mark
from hudictl.state.facts import Facts, Signs, read_signs
from hudictl.state.files.needed import Outcome
from hudictl.state.metadata.gap import metadata_gap
from hudictl.state.metadata.undo import MetadataPlan
from hudictl.state.timeline.checkpoints import checkpoint_after
from hudictl.state.timeline.clean_plans import pending_cleans
from hudictl.state.timeline.lost_plans import has_lost_plan
from hudictl.state.timeline.targets import find_target
from hudictl.state.writable import known_timeline, writable_table
from hudictl.state.writers.activity import at_work_beside, last_sign_ms
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.kept import refuse_keeping_late
from hudictl.table.metadata.listing import read_known, written_partitions
from hudictl.table.metadata.place import NOT_ASKED, Known, metadata_table_in_use
from hudictl.table.operations import begun_plan, read_operation
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline, pending_rollbacks, read_instant
from hudictl.table.timeline.archived_writes import archived_as_completed
from hudictl.table.timeline.commits import Commits

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
    table = session.table
    writable_table(table, session.locking)
    it = _gathered(session, target, options or RollbackOptions(), ended)
    known = _known(session, it)
    whole = known is not NOT_ASKED or takes_metadata_table(table, it.times)
    facts = listed_facts(session, it.signs, it.removed, it.backup, it.listed, known=known, whole=whole)
    if not it.stored:
        file_guards.timeline_has_its_end(facts, session.engine, it.options.accept_lost_instants)
    _check_liveness(facts, it)
    guards.nothing_on_its_slice(facts, it.instant, it.options.keep_plan)
    planned_again = guards.something_is_planned(facts, it.instant, it.options.keep_plan)
    undo = _undo(session, facts, it, _judged(facts, session.engine, it))
    resumes = undo.removals[0].rollback
    resumed = next((entry for entry, _ in it.stored if entry.time == resumes), None)
    return RollbackPlan(
        timezone=session.timezone,
        target=target,
        options=it.options,
        fingerprint=_fingerprint(table, it, undo),
        table_version=table.version,
        resumes=resumes,
        begun=resumed is not None and resumed.state is not State.REQUESTED,
        rollbacks_superseded=tuple(time for time in it.times if time != resumes),
        undo=undo,
        planned_again=planned_again,
        completed=it.visible,
        metadata_table_found=metadata_table_in_use(table),
        last_sign_ms=it.seen_ms,
        lock=session.lock,
        checkpoint=checkpoint_after(facts, {target}),
    )


@dataclass(frozen=True)
class _Target:
    """What is rolled back, as the timeline has it: ``stored`` are its pending rollbacks with their plans. ``seen_ms``:
    the last activity of its writer. ``backup`` is its metadata if it is un-published, ``listed`` the partitions that
    the metadata table's record of it names: its own may have lost a part of them."""

    signs: Signs
    time: str
    instant: Instant | None
    stored: list[Stored]
    options: RollbackOptions
    seen_ms: int
    backup: Commits
    listed: Mapping[str, frozenset[str]]

    @property
    def removed(self) -> dict[str, Instant | None]:
        return {self.time: self.instant}

    @property
    def times(self) -> list[str]:
        """Those of its pending rollbacks."""
        return [entry.time for entry, _ in self.stored]

    @property
    def visible(self) -> bool:
        """Whether readers see it."""
        return self.instant is not None and self.instant.completed


def _gathered(session: Session, target: str, options: RollbackOptions, ended: Collection[str]) -> _Target:
    """What is known before the listing; the guards that need none have passed. Raises as ``plan_rollback``."""
    table, signs = session.table, read_signs(session.table)
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
    visible = instant is not None and instant.completed
    backup = {} if visible else backed_up_commits(table, {target})
    listed = written_partitions(table, {target}) if visible else {}
    return _Target(signs, target, instant, stored, options, seen_ms, backup, listed)


def _fingerprint(table: Table, it: _Target, undo: Undo) -> dict[str, str]:
    """Other writes beside a pending target do not count."""
    timeline = it.signs.timeline
    return {
        **table_fingerprint(table, asdict(it.options)),
        **{f"instant {removal.time}": removal.now for removal in undo.removals},
        "savepoints": listed(entry.time for entry in timeline.savepoints()),
        "pending rollbacks": listed(entry.instant.time for entry in it.signs.live_rollbacks),
        "pending cleans": listed(f"{entry.time} {body_digest(table, entry)}" for entry in pending_cleans(timeline)),
        **undo_facts(undo),
    }


def check_around(session: Session, signs: Signs) -> None:
    """The guards that need no listing of data files, and are the same for all targets; they run again under the claim.
    Raises as ``plan_rollback``."""
    known_timeline(session.table, signs.timeline)
    liveness.no_lock_in_use(session.table, signs, session.locking)
    timeline_guards.no_pending_restore(session.table, signs, ": until it has ended, no instant can be rolled back")


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


def _check_liveness(facts: Facts, it: _Target) -> None:
    """Beside a completed target no process may write; the writer of a pending target must be dead."""
    table, signs, idle_ms = facts.table, facts.signs, it.options.idle_ms
    foreign = [entry for entry, _ in it.stored if read_operation(table.storage, entry.time) is None]
    liveness.no_live_heartbeat(signs, foreign)
    liveness.no_running_rollback(signs, idle_ms, foreign)
    if it.instant is not None:
        subjects = signs.timeline.instants if it.visible else (it.instant,)
        # If a rollback has begun, the last activity on its target was its own.
        touched = {it.time} if any(entry.state is State.INFLIGHT for entry, _ in it.stored) else set()
        liveness.no_running_write(table, signs, subjects, idle_ms, facts.sweep, touched)


def _judged(facts: Facts, engine: Engine, it: _Target) -> Judged:
    """What becomes of the table's files without the target. For a completed target, all files that readers then require
    exist, and no pending table service has planned with its files; no pending clean is running that would delete some.

    Raises Refused, Conflict, Unsupported, Unreadable.
    """
    refusal = f"{it.time} cannot be rolled back"
    if it.instant is not None and it.visible:
        guards.no_service_on_it(facts, it.instant)
    bases_only = _bases_only(facts.table, it)
    found = judge_files(facts, it.removed, it.backup, readers_see=it.visible, bases_only=bases_only, listed=it.listed)
    if it.visible:
        hint = _WAY_OUT if it.stored else file_guards.PUT_BACK
        file_guards.nothing_missing(facts, found.outcome, refusal, hint)
        if not it.stored:
            file_guards.nothing_misnamed(found.outcome, refusal)
            file_guards.stays_read(facts, it.removed, refusal)
            file_guards.type_is_read(facts, found.case, refusal, facts.table.type, as_now=True)
        file_guards.metafiles_can_be_made(facts.table, found.outcome)
        if not it.stored:
            file_guards.nothing_rowless(facts, engine, found.case, refusal)
    liveness.no_running_clean(facts.signs, it.options.idle_ms, found.outcome.cleans)
    return found


def _undo(session: Session, facts: Facts, it: _Target, found: Judged) -> Undo:
    """What is undone, and how. Raises as ``plan_rollback``."""
    engine, instant = session.engine, it.instant
    partly = [time for time, places in it.listed.items() if not places <= facts.commits[time].stats.keys()]
    blocks = plan_blocks(facts, engine, it.removed, None, profiles=False, partly_told=partly)
    if instant is not None:
        guards.no_block_ahead(facts.table, instant, blocks.get(it.time, ()))
    logs = [data_path(block.partition, block.log) for block in blocks.get(it.time, ())]
    asked = asked_to_delete(it.options.metadata)
    metadata_table = treat_metadata_table(facts, instant, it.time, it.times, asked, found.outcome, logs)
    goes = metadata_table.takes_it
    actions = {plan.target.time: plan.target.action for _, plan in it.stored}
    empty = own_empty_logs(facts, it.removed, it.times, it.options.idle_ms, others_dead=goes)
    removals = plan_removals(facts, it.removed, blocks, actions, found, _bases_only(facts.table, it), empty)
    marked = slices_to_mark(facts, found, removals)
    if goes:
        _check_metadata_table(facts, engine, it, found.outcome)
    _check_consent(facts, it, metadata_table)
    # The files are deleted by it: a failure must come before the first change.
    engine.ready()
    undo = plan_undo(facts, engine, it.removed, found, removals, marked, metadata_table)
    if not it.visible:
        # Other writers continue: the files that readers require change meanwhile.
        undo = replace(undo, needed=None, partition_metafiles_made=undo.partition_metafiles_made if goes else ())
    return undo if goes else replace(undo, metadata_table_unread=None)


def _check_consent(facts: Facts, it: _Target, metadata_table: MetadataPlan) -> None:
    """Raises Refused: it is too late to keep files; a required index is lost, or could not be built again."""
    table = facts.table
    begun = [time for time in it.times if read_operation(table.storage, time)]
    # Also of Hudi: an inflight one may have deleted files.
    late = [entry.time for entry, _ in it.stored if entry.time in begun or entry.state is State.INFLIGHT]
    refuse_keeping_late(table, late, asked=it.options.keep_files)
    if not begun:
        # One that hudictl has begun could not go back any more: it tells at its end.
        metadata_guards.required_indexes_kept(metadata_table, it.options.require_index)
    if not it.stored:
        staying = facts.timeline if it.options.keep_plan else facts.timeline.without({it.time})
        metadata_guards.record_index_can_be_built(table, staying, metadata_table.lost_in_use)


def _bases_only(table: Table, it: _Target) -> set[str]:
    """A compaction whose plan is kept: below table version 8, the logs with its time in their names are of later
    writes."""
    return {it.time} if it.options.keep_plan and not table.rules.logs_named_by_writer else set()


def _known(session: Session, it: _Target) -> Known:
    """What the metadata table lists, if it may have to be taken out of use: whether blocks are written is known only
    after the listing."""
    table = session.table
    if not metadata_table_in_use(table):
        return NOT_ASKED
    if asked_to_delete(it.options.metadata) is None:
        blocks = table.rules.needs_rollback_blocks and not table.is_cow
        mode, _ = stays_in_place(table, it.instant, it.time, it.times, blocks=blocks)
        if mode is not None:
            return NOT_ASKED
    return read_known(table, session.engine)


def _check_metadata_table(facts: Facts, engine: Engine, it: _Target, outcome: Outcome) -> None:
    """No writer uses the metadata table, and readers see the same rows without it. Raises Refused, Conflict."""
    table, signs = facts.table, facts.signs
    guards.metadata_table_can_go(signs, it.time, signs.timeline.modified_ms)
    others = at_work_beside(table, signs.timeline, it.time)
    liveness.no_running_write(table, signs, others, it.options.idle_ms, facts.sweep, ())
    file_guards.metafiles_can_be_made(table, outcome)
    # A rollback that hudictl has begun has passed this guard before, and there is no other way to end it.
    if not any(read_operation(table.storage, time) for time in it.times):
        metadata_guards.nothing_lost_or_gained(metadata_gap(facts, engine, outcome, {it.time}, NOTHING_SAVED))
        metadata_guards.no_empty_file(facts, {it.time})
