"""Restores and rollbacks that have not ended: what each means to writers, and the commands that end it.

The same verdict for ``table show``, ``check``, ``failed-writes``, ``resume`` and the guards.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from hudictl.errors import Refused, Unreadable
from hudictl.formats.instants import (
    CLUSTERING,
    COMPACTION,
    INDEXING,
    INITIAL,
    RESTORE,
    ROLLBACK,
    SAVEPOINT,
    WRITE_ACTIONS,
    Instant,
    InstantFile,
    State,
)
from hudictl.formats.restore import target_text
from hudictl.phrases import command_of, seconds
from hudictl.state.as_left import refusal
from hudictl.state.facts import Signs
from hudictl.state.pending import Condition, PendingRestore, PendingRollback, is_asked_for, is_own, worked_on
from hudictl.state.timeline.built_on import builds_on
from hudictl.state.timeline.remedy import Remedy
from hudictl.state.timeline.service_plans import service_of
from hudictl.state.timeline.targets import BOOTSTRAP_AGAIN
from hudictl.table.kept import Room, begun_undo, contents_of, read_room, room_of
from hudictl.table.locks.claim import living_owner
from hudictl.table.metadata.aside import times_aside
from hudictl.table.metadata.place import metadata_table_in_use
from hudictl.table.operations import BegunInstant, BegunPlan, begun_plan, is_recorded, read_operation
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline

RESUME = "hudictl resume"
DISCARD = f"{RESUME} --discard-rollbacks"
WITHDRAW = f"{RESUME} --withdraw"
PENDING_RESTORE = "pending-restore"
RESTORE_WITHOUT_PLAN = "restore-without-plan"
ARMED_ROLLBACK = "armed-rollback"
PENDING_ROLLBACK = "pending-rollback"
ROLLBACK_REMNANT = "rollback-remnant"
UNDO_BEGUN = "undo-begun"
_AS_BEFORE = "all is as it was before hudictl began"
_WITHDRAWN = (
    "the commits and their rows are as before the restore; a deleted metadata table and deleted savepoints stay "
    "deleted; only possible while no data file is deleted"
)


@dataclass(frozen=True)
class Unfinished:
    """A restore or rollback that has not ended, or an undo of one.

    ``name`` is the name of its finding. ``at_work`` says why it may be running now; "" if it is not.
    ``writers_can_start``: Hudi's writers can write, although they may roll back something first. ``eager_only``: only
    those with eager cleaning of failed writes cannot start. ``remedy`` has more than one way if only the operator can
    know the wanted outcome.
    """

    name: str
    instant: str
    time: str
    completed: bool
    meaning: str
    at_work: str
    writers_can_start: bool
    remedy: tuple[Remedy, ...]
    eager_only: bool = False

    @property
    def told(self) -> str:
        """What it means, also for writers."""
        if self.writers_can_start:
            return f"{self.meaning}: keep writers stopped" if self.name == UNDO_BEGUN else self.meaning
        return f"{self.meaning}: {no_writer(eager_only=self.eager_only)}"


def no_writer(*, eager_only: bool) -> str:
    """Which writers cannot start."""
    return f"no writer {'with eager cleaning of failed writes ' if eager_only else ''}can start"


def find_unfinished(table: Table, signs: Signs, idle_ms: int) -> list[Unfinished]:
    """All that has not ended, the most severe first; without rollbacks of a pending restore, which ends them itself.
    While an undo has begun, it alone: nothing else is done before it, and it takes its own operation back.

    Args:
        idle_ms: an operation of Hudi's with activity less than this ago may be running.
    """
    owner = living_owner(table.storage, signs.now_ms)
    working = f"`{owner.command}` is running (process {owner.pid} on {owner.host})" if owner else ""
    begun = begun_undo(table)
    if begun is not None:
        return [_undo(table, signs, begun, working)]
    restores = [*_restores(table, signs, idle_ms, working)]
    rollbacks = [*_rollbacks(table, signs, idle_ms, working)]
    return [
        *restores,
        *sorted(rollbacks, key=lambda entry: (entry.writers_can_start, entry.eager_only)),
        *_remnants(table, signs),
    ]


def _undo(table: Table, signs: Signs, time: str, working: str) -> Unfinished:
    """An undo that has begun; its operation may be on no timeline any more."""
    own = signs.timeline.find(time, RESTORE, ROLLBACK)
    drop = Remedy(command_of("undo drop", time), "the table stays as it is, and what has not come back is lost")
    ways: tuple[Remedy, ...] = (drop,)
    with suppress(Unreadable):
        room = read_room(table, time)
        refused = refusal(table, signs.timeline, room, contents_of(table, room)) if room is not None else None
        if room is not None:
            back = "all is as it was before the operation"
            finish = Remedy(command_of("undo", time), f"{back}, but now: {refused}" if refused else back)
            ways = (finish, drop) if refused else (finish,)
    return Unfinished(
        name=UNDO_BEGUN,
        instant=str(own) if own is not None else time,
        time=time,
        completed=False,
        meaning=f"the undo of {time} has begun, and not ended",
        at_work=working,
        # Beside a pending restore: the undone one, or the request that the undo of a rollback has made.
        writers_can_start=not signs.restores,
        remedy=ways,
    )


def in_words(remedy: Sequence[Remedy]) -> str:
    """The ways, as a hint; with the result of each if there are several."""
    if len(remedy) == 1:
        return f"`{remedy[0].command}`"
    return "; or ".join(f"`{way.command}`: {way.leaves}" for way in remedy)


def way_out_of_restore(table: Table, restore: PendingRestore, *, alone: bool = True) -> str:
    """The hint of a command that a pending restore refuses. ``alone``: no other is pending, as withdrawing asks."""
    by_hand = BOOTSTRAP_AGAIN if restore.plan.target == INITIAL else "its plan names no target: only Hudi can finish it"
    ways = remedy_of_restore(table, restore)
    return in_words([way for way in ways if alone or way.command != WITHDRAW]) or by_hand


def way_out_of_rollback(table: Table, signs: Signs, rollback: PendingRollback) -> str:
    """The hint of a command that a pending rollback refuses."""
    return in_words(rollback_of(table, signs, rollback))


def restores_to(
    table: Table, restores: Collection[PendingRestore], target: str
) -> tuple[PendingRestore | None, tuple[PendingRestore, ...]]:
    """The pending restore to the target that continues (the newest started one, else the newest), and all others.

    Args:
        restores: the pending ones that have a plan.

    Raises:
        Refused: restores are pending, none of them to the target.
    """
    same = [entry for entry in restores if entry.plan.target == target]
    if restores and not same:
        found = ", ".join(f"{entry.instant} to {target_text(entry.plan.target)}" for entry in restores)
        # The one that `resume` goes on with.
        newest = max(restores, key=lambda entry: (entry.plan.target or "", entry.instant.time))
        raise Refused(
            f"another restore is pending: {found}",
            hint=f"end it first: {way_out_of_restore(table, newest, alone=len(restores) == 1)}",
            restores=[entry.instant.time for entry in restores],
        )
    chosen = max(same, key=lambda entry: (entry.begun, entry.instant.time), default=None)
    return chosen, tuple(entry for entry in restores if entry is not chosen)


def remedy_of_restore(table: Table, restore: PendingRestore) -> tuple[Remedy, ...]:
    """The ways to end a pending restore; none if its plan names no target, or ends a bootstrap."""
    if restore.condition is Condition.NO_PLAN:
        return (Remedy(RESUME, "the request is removed; it had not started"),)
    if restore.plan.target in (None, INITIAL):
        return ()
    finish = Remedy(_finishing(table, restore), f"the table is restored to {restore.plan.target}")
    with suppress(Unreadable):
        room = read_room(table, restore.instant.time)
        if room is not None:
            back = Remedy(command_of("undo", restore.instant.time), _AS_BEFORE)
            return (finish, *([back] if _can_be_undone(table, room) else []))
        if is_own(table, restore) and not restore.removed:
            published = (entry for entry in _asked(table, restore).instants if entry.completion_time)
            if indexing_without(table, load_timeline(table), restore, published) is None:
                return (finish, Remedy(WITHDRAW, _WITHDRAWN))
    return (finish,)


def _can_be_undone(table: Table, room: Room) -> bool:
    """Raises Unreadable, StorageFailed."""
    return refusal(table, load_timeline(table), room, contents_of(table, room)) is None


def indexing_without(
    table: Table, timeline: Timeline, restore: PendingRestore, published: Iterable[InstantFile | BegunInstant]
) -> str | None:
    """The time of an indexing that would be the newest completed instant without a pending restore of hudictl's, which
    has deleted the metadata table: after an indexing Hudi cannot build it again. Raises Unreadable.

    Args:
        published: the instants that would be completed again.
    """
    pending = {entry.time for entry in timeline.having(RESTORE, ROLLBACK) if entry.pending}
    had = _asked(table, restore).metadata_table not in (None, "none")
    deleted = had and not metadata_table_in_use(table) and not pending & times_aside(table)
    return last_indexing(timeline, published) if deleted else None


def last_indexing(timeline: Timeline, published: Iterable[InstantFile | BegunInstant] = ()) -> str | None:
    """The time of the newest completed instant, if it is an indexing, once some instants are completed again."""
    done: list[Instant | InstantFile | BegunInstant] = list(published)
    done += [entry for entry in timeline.instants if entry.completed and entry.action != SAVEPOINT]
    for newest in (max(done, key=key, default=None) for key in (_requested, _completed)):
        if newest is not None and newest.action == INDEXING:
            return newest.time
    return None


def _requested(instant: Instant | InstantFile | BegunInstant) -> str:
    return instant.time


def _completed(instant: Instant | InstantFile | BegunInstant) -> str:
    # Below table version 8 a name does not tell it.
    return instant.completion_time or instant.time


def _asked(table: Table, restore: PendingRestore) -> BegunPlan:
    return begun_plan(read_operation(table.storage, restore.instant.time))


def _finishing(table: Table, restore: PendingRestore) -> str:
    """The command that finishes a restore. If it has not started, the options of the first command are repeated."""
    with suppress(Unreadable):
        operation = None if restore.begun else read_operation(table.storage, restore.instant.time)
        said = begun_plan(operation).options
        savepoints = ["--delete-later-savepoints"] if said.delete_later_savepoints else []
        rollbacks = ["--discard-rollbacks"] if said.discard_rollbacks else []
        return " ".join([RESUME, *savepoints, *rollbacks])
    return RESUME


def rollback_of(table: Table, signs: Signs, rollback: PendingRollback) -> tuple[Remedy, ...]:
    """The ways to end a pending rollback. Nobody can finish one without a plan: what it has done is not known."""
    target = rollback.target
    if rollback.condition is Condition.LEFT_OVER:
        return (Remedy(RESUME, "its timeline files are removed; its target no longer exists"),)
    if target is None:
        # Hudi executes nothing without a plan.
        begun = rollback.instant.state is not State.REQUESTED
        rest = "what it had deleted stays deleted: run `hudictl check` then" if begun else "it had not started"
        return (Remedy(DISCARD, f"its timeline files are removed; {rest}"),)

    undo: tuple[Remedy, ...] = ()
    with suppress(Unreadable):
        # The rooms of others are not read for a rollback of Hudi's.
        room = room_of(table, rollback.instant.time) if is_recorded(table.storage, rollback.instant.time) else None
        if room is not None and _can_be_undone(table, room):
            # A pending rollback keeps no writer out.
            undo = (Remedy(command_of("undo", room.times[0]), f"{_AS_BEFORE} (possible until the next write)"),)
    if not rollback.visible:
        return (Remedy(RESUME, f"{target} is rolled back"), *undo)
    keep = Remedy(DISCARD, f"{target} is kept, with its rows")
    go = f"{target} is rolled back, and its rows are removed"
    if rollback.condition is Condition.TARGET_ARCHIVED:
        return (keep,)
    if is_asked_for(table, rollback.instant):
        return (Remedy(RESUME, go), *(undo or (keep,)))
    refused = _is_saved(signs, target) or signs.timeline.last_write > target or _is_built_on(table, signs, target)
    return (keep,) if refused else (keep, Remedy(command_of("rollback", target), go))


def restore_quiet_ms(signs: Signs, restore: PendingRestore) -> int:
    """How long a pending restore and its rollbacks had no activity on the timeline."""
    steps = [entry for entry in signs.timeline.having(ROLLBACK) if entry.time > restore.instant.time]
    return min(signs.timeline.idle_ms(entry, signs.now_ms) for entry in (*steps, restore.instant))


def _restores(table: Table, signs: Signs, idle_ms: int, working: str) -> Iterator[Unfinished]:
    for restore in (*signs.planned_restores, *signs.unplanned_restores):
        planned = restore.condition is not Condition.NO_PLAN
        at_work = working
        if not working and not worked_on(table, restore):
            at_work = lately_active(restore_quiet_ms(signs, restore), idle_ms)
        if not planned:
            meaning = "a restore was requested without a plan, and has not started"
        elif restore.plan.target == INITIAL:
            # Hudi begins it at the next write after a bootstrap died, and cannot end it (1.0.2, 1.2.0).
            meaning = f"a restore to before the table's bootstrap has not ended: {BOOTSTRAP_AGAIN}"
        elif restore.plan.target is None:
            meaning = "a restore without a named target has not ended; only Hudi can finish it"
        elif restore.condition is Condition.EMPTY_RESULT:
            meaning = f"a restore to {restore.plan.target} has not ended: its completed file is empty"
        else:
            meaning = f"a restore to {restore.plan.target} has not ended"
        yield Unfinished(
            name=PENDING_RESTORE if planned else RESTORE_WITHOUT_PLAN,
            instant=str(restore.instant),
            time=restore.instant.time,
            completed=restore.instant.completed,
            meaning=meaning,
            at_work=at_work,
            writers_can_start=False,
            remedy=remedy_of_restore(table, restore),
        )


def _rollbacks(table: Table, signs: Signs, idle_ms: int, working: str) -> Iterator[Unfinished]:
    begun = min((restore.instant.time for restore in signs.planned_restores), default="~")
    for rollback in signs.live_rollbacks:
        if rollback.instant.time < begun:
            yield rollback_unfinished(table, signs, rollback, idle_ms, working)


def rollback_unfinished(
    table: Table, signs: Signs, rollback: PendingRollback, idle_ms: int, working: str = ""
) -> Unfinished:
    """What a pending rollback means; ``working`` names the running hudictl, if any."""
    instant, target = rollback.instant, rollback.target
    at_work = working
    archived = rollback.condition is Condition.TARGET_ARCHIVED
    # Nobody may do that: it is told at once.
    if not (working or archived or is_recorded(table.storage, instant.time)):
        at_work = lately_active(signs.timeline.idle_ms(instant, signs.now_ms), idle_ms)
    saved = target is not None and _is_saved(signs, target)
    visible = rollback.visible
    service = _service_rolled_back(table, signs, rollback)
    eager_only = (
        not (instant.completed or archived or saved or service)
        and target is not None
        and eager_cleaning_fails(signs, target)
    )
    if archived:
        meaning = f"a rollback of the archived commit {target} is pending: Hudi's next clean-up of failed writes "
        meaning += "deletes its files, with rows that readers see"
    elif visible:
        meaning = f"a rollback of the completed commit {target} has not ended, but readers still see the commit; "
        if eager_only:
            meaning += "the commit has later commits; a clean-up by lazy writers rolls it back"
        else:
            meaning += "the commit has a savepoint" if saved else "the next writer rolls the commit back"
    elif eager_only:
        meaning = f"a rollback of {target} has not ended, and later commits are completed"
    elif target is not None:
        executes = f"the next run of this {service}" if service else "the next writer"
        meaning = f"a rollback of {target} has not ended: {executes} executes it"
    elif instant.state is State.REQUESTED:
        # Hudi's writers delete such a request, and ignore an inflight one (0.15.0 to 1.2.0).
        meaning = "a rollback was requested without a readable plan, and has not started"
    else:
        meaning = "a rollback without a readable plan has not ended, and Hudi cannot finish it"
    return Unfinished(
        name=ARMED_ROLLBACK if visible else PENDING_ROLLBACK,
        instant=str(instant),
        time=instant.time,
        completed=instant.completed,
        meaning=meaning,
        at_work=at_work,
        writers_can_start=not ((visible and saved) or eager_only) or archived,
        remedy=rollback_of(table, signs, rollback),
        eager_only=eager_only,
    )


def _remnants(table: Table, signs: Signs) -> Iterator[Unfinished]:
    for rollback in signs.left_rollbacks:
        yield Unfinished(
            name=ROLLBACK_REMNANT,
            instant=f"{rollback.instant.time} {ROLLBACK}",
            time=rollback.instant.time,
            completed=rollback.instant.completed,
            meaning="a leftover of an ended restore: the next writer with eager cleaning would execute this rollback",
            at_work="",
            writers_can_start=True,
            remedy=rollback_of(table, signs, rollback),
        )


def lately_active(quiet_ms: int, idle_ms: int) -> str:
    """Why something may be running; "" if it had no activity for so long."""
    return f"last activity {seconds(quiet_ms)} ago: it may be running" if quiet_ms < idle_ms else ""


def _is_saved(signs: Signs, target: str) -> bool:
    """Whether an instant has a savepoint: its rollback by Hudi's writers fails each time (0.15.0 to 1.2.0)."""
    return any(entry.time == target for entry in signs.timeline.savepoints())


def eager_cleaning_fails(signs: Signs, target: str) -> bool:
    """Whether the rollback of a write or log compaction by writers with eager cleaning fails each time (0.15.0 to
    1.2.0): later commits are completed, and it has no heartbeat. Compactions and clusterings are exempt."""
    return signs.timeline.last_write > target and all(beat.time != target for beat in signs.heartbeats)


def _service_rolled_back(table: Table, signs: Signs, rollback: PendingRollback) -> str:
    """The compaction or clustering that a rollback takes back, which Hudi's writers leave to its next run; else ""."""
    service = rollback.plan.target.action if rollback.plan else None
    instant = signs.timeline.find(rollback.target or "", *WRITE_ACTIONS)
    with suppress(Unreadable):
        if instant is not None and instant.pending:
            service = service_of(table, instant)
    return service if service in (COMPACTION, CLUSTERING) else ""


def _is_built_on(table: Table, signs: Signs, target: str) -> bool:
    """Whether ``hudictl rollback`` refuses a completed instant for another write, or for its damage."""
    instant = signs.timeline.find(target, *WRITE_ACTIONS)
    try:
        return instant is not None and bool(builds_on(table, signs.timeline, instant))
    except Unreadable:
        return True
