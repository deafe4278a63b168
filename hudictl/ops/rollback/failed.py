"""Cleaning up failed writes: the choice of writes to roll back, and the outcome of each rollback."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from hudictl.errors import Conflict, Findings, HudictlError, Interrupted, Unreadable
from hudictl.formats.instants import COMPACTION, State
from hudictl.ops.metadata.keep import still_required
from hudictl.ops.rollback.plan import RollbackOptions, RollbackPlan
from hudictl.ops.rollback.planning import done_already, plan_rollback
from hudictl.ops.rollback.run import RollbackResult
from hudictl.ops.rollback.together import plan_together
from hudictl.ops.session import Session
from hudictl.ops.undo.plan import KeptRow
from hudictl.phrases import SEE_CHECK, first_few
from hudictl.state.facts import Signs, read_signs
from hudictl.state.timeline.lost_plans import has_lost_plan
from hudictl.state.timeline.unfinished import Unfinished, find_unfinished
from hudictl.state.writable import writable_table
from hudictl.state.writers.failed_writes import FAILED, PendingWrite, pending_writes
from hudictl.table.beat_rule import HOW_TO_SAY
from hudictl.table.clock import StorageClock

EAGER = "eager"


@dataclass(frozen=True)
class Choice:
    """What is rolled back, newest first. ``left`` are the writes of which it cannot be determined whether they run.
    ``waiting`` are pending operations that need another command: a restore, a rollback of a completed commit.
    ``running`` are the writes whose writer is alive."""

    targets: tuple[tuple[str, RollbackOptions], ...]
    left: tuple[PendingWrite, ...]
    waiting: tuple[Unfinished, ...]
    running: tuple[PendingWrite, ...] = ()


@dataclass(frozen=True)
class RollbackOutcome:
    """The outcome of one instant; ``exit_code``, ``message`` and ``hint`` (what to do) are those of its failure, or of
    what was found when it was done. Without these, ``message`` is why a metadata table is deleted that was to be kept,
    and which files are kept. ``files_kept``: how many have the instant's name, and no record proves that they are its
    own. What a rollback has deleted or kept that ended before is not counted, and its ``metadata_table`` is None.
    ``rollback_blocks``: how many are written, which hide the write's blocks in logs of others. ``undo``: what
    ``hudictl undo`` takes, if the deleted files are kept; of rollbacks that ran together, all of them."""

    instant: str
    outcome: str
    rollback: str | None
    files_deleted: int
    bytes_deleted: int
    rollback_blocks: int
    files_kept: int
    metadata_table: str | None
    exit_code: int
    message: str
    hint: str = ""
    undo: str | None = None


def choose_failed(session: Session, policy: str, options: RollbackOptions, clock: StorageClock | None) -> Choice:
    """Which pending writes are rolled back.

    Lazy: the writes whose heartbeat has expired. Eager: all without activity for ``idle_ms``; table services become
    requested again. Both, as Hudi's own cleaning does (0.15.0 to 1.2.0), also finish pending rollbacks of instants that
    readers no longer see, unless such a rollback may be running. Nothing is chosen while a restore is pending: it
    decides about every instant.

    Raises:
        Conflict: eager, but a heartbeat is live: this table's writers do not clean eagerly.
        Unsupported: hudictl does not write this table; also raised if nothing failed.
        Unreadable, StorageFailed.
    """
    table = session.table
    writable_table(table, session.locking)
    rows = pending_writes(table, options.idle_ms, clock)
    running = [row for row in rows if row.heartbeat == "live"]
    alive = running or [row for row in rows if row.heartbeat == "unknown"]
    if policy == EAGER and alive:
        raise Conflict(
            f"the writer of {alive[0].instant} {'is' if running else 'may be'} alive: it has a heartbeat",
            hint="the writers of this table use heartbeats: use --policy lazy" if running else HOW_TO_SAY,
            instant=alive[0].instant,
        )
    signs = read_signs(table, clock)
    unfinished = find_unfinished(table, signs, options.idle_ms)
    if signs.restores:
        return Choice((), (), tuple(unfinished))
    finished = _half_done(signs, {entry.time for entry in unfinished if not entry.at_work})
    lost = {entry.time for entry in signs.timeline.instants if has_lost_plan(table, signs.timeline, entry)}
    # The plan of a log compaction is not kept: Hudi removes an interrupted one with its plan, too (0.15.0 to 1.2.0).
    failed = {
        row.instant: (row.clustering or row.action == COMPACTION) and row.instant not in lost
        for row in rows
        if row.verdict == FAILED or (policy == EAGER and row.idle_ms >= options.idle_ms)
    }
    targets = failed | dict.fromkeys(finished.values(), False)
    chosen = tuple((time, replace(options, keep_plan=targets[time])) for time in sorted(targets, reverse=True))
    left = tuple(row for row in rows if row.instant not in targets and row not in running)
    waiting = tuple(entry for entry in unfinished if not entry.at_work and entry.time not in finished)
    return Choice(chosen, left, waiting, tuple(running))


def roll_back_all(
    session: Session,
    targets: Sequence[tuple[str, RollbackOptions]],
    execute: Callable[[Sequence[RollbackPlan]], Sequence[RollbackOutcome]],
) -> list[RollbackOutcome]:
    """Plans and executes the rollbacks: together, as far as possible, and the others one by one. A failure does not
    stop the others. With ``keep_files`` those come first that have begun: beside one that keeps its files no other
    begins.

    Raises Interrupted; Unsupported: hudictl does not write this table; Unreadable.
    """
    writable_table(session.table, session.locking)
    keep = any(options.keep_files for _, options in targets)
    asked = {time for time, _ in targets}
    begun = [one for one in read_signs(session.table).live_rollbacks if one.target in asked] if keep else []
    first = {one.target for one in begun}
    ended = {one.instant.time for one in begun}
    outcomes = [done for each in targets if each[0] in first for done in _one(session, *each, execute, ended)]
    rest = [each for each in targets if each[0] not in first]
    together = _together(session, rest, execute, ended)
    for time, options in rest:
        outcomes += (together[time],) if time in together else _one(session, time, options, execute, ended)
    return outcomes


def _one(
    session: Session,
    time: str,
    options: RollbackOptions,
    execute: Callable[[Sequence[RollbackPlan]], Sequence[RollbackOutcome]],
    ended: Collection[str],
) -> Sequence[RollbackOutcome]:
    """The outcome of one that is planned by itself. Raises Interrupted."""
    try:
        done = _ended(session, time, options)
        return (done,) if done is not None else execute((plan_rollback(session, time, options, ended),))
    except Interrupted:
        raise
    except Findings as error:
        return (replace(rolled_back(error.report), exit_code=error.exit_code, message=error.message),)
    except HudictlError as error:
        return (_failed(time, error),)


def _together(
    session: Session,
    targets: Sequence[tuple[str, RollbackOptions]],
    execute: Callable[[Sequence[RollbackPlan]], Sequence[RollbackOutcome]],
    ended: Collection[str],
) -> dict[str, RollbackOutcome]:
    """The outcomes by instant. After a conflict those of what has begun: perhaps a writer has come to life, and a
    rollback that goes on does not ask again. All else is then done one by one, and each says why it fails.

    Raises Interrupted, StorageFailed.
    """
    if len(targets) < 2:
        return {}
    plans: Sequence[RollbackPlan] = ()
    try:
        plans = plan_together(session, targets, ended)
        return {outcome.instant: outcome for outcome in execute(plans)} if plans else {}
    except Interrupted:
        raise
    except HudictlError as error:
        session.monitor.note(f"not together: {error.message}")
        rollbacks = read_signs(session.table).live_rollbacks if isinstance(error, Conflict) and plans else ()
        begun = {entry.target for entry in rollbacks if entry.instant.state is State.INFLIGHT}
        return {plan.target: _failed(plan.target, error) for plan in plans if plan.target in begun}


def _ended(session: Session, time: str, options: RollbackOptions) -> RollbackOutcome | None:
    """The outcome of a rollback that ended before: of those that ran together and failed, some may have been published.
    None if there is something left to do. Raises Unreadable."""
    rollback = done_already(session.table, time)
    if rollback is None:
        return None
    session.monitor.note(f"{time} was rolled back by {rollback}")
    outcome = RollbackOutcome(time, "rolled back", rollback, 0, 0, 0, 0, None, 0, "")
    try:
        still_required(session.table, rollback, options.require_index)
    except Findings as error:
        return replace(outcome, exit_code=error.exit_code, message=error.message)
    return outcome


def _failed(time: str, error: HudictlError) -> RollbackOutcome:
    hint = error.hint or (SEE_CHECK if isinstance(error, Unreadable) else "")
    return RollbackOutcome(time, error.slug, None, 0, 0, 0, 0, None, error.exit_code, error.message, hint)


def planned(plan: RollbackPlan) -> RollbackOutcome:
    """What a rollback would do."""
    return RollbackOutcome(
        instant=plan.target,
        outcome="would be rolled back",
        rollback=plan.resumes,
        files_deleted=plan.undo.files_to_delete,
        bytes_deleted=plan.undo.bytes_to_delete,
        rollback_blocks=len(plan.removal.blocks),
        files_kept=len(plan.files_kept),
        metadata_table=plan.undo.metadata_table.fate,
        exit_code=0,
        message=_kept_text(plan.files_kept),
    )


def rolled_back(result: RollbackResult) -> RollbackOutcome:
    """What a rollback has done."""
    outcome = "requested again" if result.plan_kept else "rolled back"
    return RollbackOutcome(
        instant=result.target,
        outcome=outcome,
        rollback=result.rollback,
        files_deleted=result.files_deleted,
        bytes_deleted=result.bytes_deleted,
        rollback_blocks=result.rollback_blocks,
        files_kept=len(result.files_kept),
        metadata_table=result.metadata_table,
        exit_code=0,
        message="; ".join(filter(None, (result.metadata_table_given_up, _kept_text(result.files_kept)))),
        undo=result.undo,
    )


def _kept_text(files: Sequence[KeptRow]) -> str:
    paths = first_few([file.path for file in files], most=3, rest=" and {:,} more")
    return f"kept, because no record proves that they are its own: {paths}" if files else ""


def _half_done(signs: Signs, ended: Collection[str]) -> dict[str, str]:
    """By rollback, the instants that pending rollbacks roll back and readers no longer see."""
    return {
        entry.instant.time: entry.target
        for entry in signs.live_rollbacks
        if entry.target and not entry.visible and entry.instant.time in ended
    }
