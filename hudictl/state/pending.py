"""Restores and rollbacks that are pending, or leftovers of completed ones: the progress of each."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType

from hudictl.errors import Unreadable
from hudictl.formats.instants import RESTORE, WRITE_ACTIONS, Instant, State, instant_file_name
from hudictl.formats.restore import StoredRestorePlan, decode_plan
from hudictl.formats.rollback import StoredRollbackPlan
from hudictl.phrases import command_of
from hudictl.table.operations import begun_plan, is_recorded, read_operation
from hudictl.table.table import MERGE_ON_READ, TYPE, Table
from hudictl.table.timeline.active import SeenFile, Timeline, empty_result, pending_rollbacks, read_instant
from hudictl.table.timeline.archived_writes import archived_as_completed


class Condition(Enum):
    """The progress of a restore or rollback."""

    REQUESTED = "requested"
    """It has a plan, and has not started."""
    INFLIGHT = "inflight"
    """It has started: a part, or all, may be done."""
    NO_PLAN = "no plan"
    """Its request is empty, unreadable or gone. Such a restore has not started; such a rollback may have."""
    EMPTY_RESULT = "empty result"
    """Its completed file exists, but is empty: its process died at the end, and it is not completed."""
    TARGET_COMPLETED = "target completed"
    """A rollback, requested or inflight, whose target readers still see. Hudi requests a rollback before it checks
    whether it is allowed (0.15.0 to 1.2.0), and keeps a refused one: it looks like one that died before its start."""
    TARGET_ARCHIVED = "target archived"
    """The same, and the target has been archived since: Hudi's next clean-up of failed writes deletes its files."""
    LEFT_OVER = "left over"
    """A leftover rollback: the restore that created it, or removed its target, is completed, but did not remove it."""


@dataclass(frozen=True)
class PendingRestore:
    """A restore that is not completed, with its stored plan; an empty plan if there is none.

    ``visible``: readers still see one of its instants, so no data file is deleted. ``removed``: one of its instants is
    gone, so data files are deleted.
    """

    instant: Instant
    plan: StoredRestorePlan
    condition: Condition
    visible: bool = False
    removed: bool = False

    @property
    def begun(self) -> bool:
        """False while it is only requested: it has changed nothing."""
        return self.condition in (Condition.INFLIGHT, Condition.EMPTY_RESULT)

    @property
    def instants(self) -> frozenset[str]:
        """The times of the instants that it removes."""
        return frozenset(info.time for info in self.plan.instants)


@dataclass(frozen=True)
class PendingRollback:
    """A rollback that is not completed, with its stored plan; None if there is no readable plan."""

    instant: Instant
    plan: StoredRollbackPlan | None
    condition: Condition

    @property
    def target(self) -> str | None:
        """The time of the instant that it rolls back."""
        return self.plan.target.time if self.plan else None

    @property
    def visible(self) -> bool:
        """Whether readers still see the instant that it rolls back."""
        return self.condition in (Condition.TARGET_COMPLETED, Condition.TARGET_ARCHIVED)


def paths_of(table: Table, instant: Instant) -> str:
    """The files of an instant, for a hint to delete them by hand."""
    return " and ".join(f"{table.layout.timeline}/{file.name}" for file in instant.files)


def find_restores(table: Table, timeline: Timeline) -> tuple[PendingRestore, ...]:
    """Restores that are not completed, those without a plan last. Raises Unreadable: the plan of one."""
    planned, unplanned = [], []
    completed = {entry.time: entry.completed for entry in timeline.writes()}
    for instant in timeline.having(RESTORE):
        file = instant.file(State.REQUESTED)
        if file is None:
            if instant.pending:
                raise Unreadable(
                    f"{instant} has no requested file, and so no plan",
                    hint=f"`{command_of('timeline quarantine', instant.time)}`",
                    file=instant_file_name(instant.time, RESTORE, State.REQUESTED, table.layout.version),
                )
        elif instant.state is State.REQUESTED and not timeline.sizes[file.name]:
            unplanned.append(PendingRestore(instant, StoredRestorePlan((), None), Condition.NO_PLAN))
        elif instant.pending or empty_result(timeline, instant):
            plan = decode_plan(read_instant(table, file), file.name)
            left = [completed.get(info.time) for info in plan.instants]
            planned.append(PendingRestore(instant, plan, _reached(instant), any(left), None in left))
    return (*planned, *unplanned)


def find_rollbacks(
    table: Table, timeline: Timeline, seen: Mapping[SeenFile, StoredRollbackPlan] = MappingProxyType({})
) -> tuple[PendingRollback, ...]:
    """Rollbacks that are not completed; ``seen`` as in ``pending_rollbacks``. Raises Unreadable: the plan of a restore
    that is completed; the archive, where a target may be in it."""
    found = pending_rollbacks(table, timeline, seen)
    left = _left_over(table, timeline, found)
    targets = {plan.target.time for instant, plan in found if plan is not None and instant.time not in left}
    archived = archived_as_completed(table, timeline, targets)
    return tuple(
        PendingRollback(
            instant,
            plan,
            Condition.LEFT_OVER if instant.time in left else _condition(timeline, instant, plan, archived),
        )
        for instant, plan in found
    )


def _condition(
    timeline: Timeline, instant: Instant, plan: StoredRollbackPlan | None, archived: Collection[str]
) -> Condition:
    if plan is None:
        return Condition.NO_PLAN
    if plan.target.time in archived:
        return Condition.TARGET_ARCHIVED
    target = timeline.find(plan.target.time, *WRITE_ACTIONS)
    # This comes first: whatever its own files show, finishing it would un-publish a commit.
    return Condition.TARGET_COMPLETED if target is not None and target.completed else _reached(instant)


def _reached(instant: Instant) -> Condition:
    """The progress by its own files; a completed file here is an empty one."""
    return (Condition.REQUESTED, Condition.INFLIGHT, Condition.EMPTY_RESULT)[instant.state]


def _left_over(
    table: Table, timeline: Timeline, rollbacks: Collection[tuple[Instant, StoredRollbackPlan | None]]
) -> frozenset[str]:
    """Pending rollbacks of a completed restore: Hudi (0.15.0 to 1.2.0) removes them last, and may die before.

    Their instants no longer exist, but the next writer with eager cleaning would execute them.
    """
    found = set()
    for restore in timeline.having(RESTORE):
        late = [entry for entry in rollbacks if entry[0].time < (restore.completion_time or "")]
        file = restore.file(State.REQUESTED)
        if not late or file is None or empty_result(timeline, restore):
            continue
        # The request names all instants; the result of a resumed restore names only those of its last attempt.
        planned = {info.time for info in decode_plan(read_instant(table, file), file.name).instants}
        for instant, plan in late:
            if plan is None:
                ended = instant.time > restore.time
            else:
                target = plan.target.time
                ended = target in planned and timeline.find(target, *WRITE_ACTIONS) is None
            if ended:
                found.add(instant.time)
    return frozenset(found)


@dataclass(frozen=True)
class RollbacksToEnd:
    """``finish`` are the instants whose rollback continues, newest first. ``unwanted`` are rollbacks that were not
    requested with hudictl, of completed instants or without a plan: each is discarded, or confirmed separately."""

    finish: tuple[str, ...]
    unwanted: tuple[PendingRollback, ...]


def rollbacks_to_end(table: Table, rollbacks: Iterable[PendingRollback], *, discard: bool = False) -> RollbacksToEnd:
    """What to do with pending rollbacks. A rollback of a completed instant is wanted if it was requested with hudictl,
    unless it is to be discarded. It is not wanted if its instant was still pending then, and was completed since; nor
    if its instant is archived, as nothing can be rolled back there."""
    finish, unwanted = set(), []
    for rollback in rollbacks:
        visible = rollback.visible and (
            discard or rollback.condition is Condition.TARGET_ARCHIVED or not is_asked_for(table, rollback.instant)
        )
        if rollback.plan is None or visible:
            unwanted.append(rollback)
        else:
            finish.add(rollback.plan.target.time)
    return RollbacksToEnd(tuple(sorted(finish, reverse=True)), tuple(unwanted))


def is_asked_for(table: Table, rollback: Instant) -> bool:
    """Whether a rollback was requested with hudictl while its target was completed."""
    return begun_plan(read_operation(table.storage, rollback.time)).completed is True


def later_writes(table: Table, restore: PendingRestore) -> tuple[str, ...]:
    """The writes that appeared while hudictl's restore ran, and are removed with it: its request does not name them."""
    return begun_plan(read_operation(table.storage, restore.instant.time)).later_writes


def worked_on(table: Table, restore: PendingRestore) -> bool:
    """Whether hudictl has begun the restore, or gone on with it."""
    return is_recorded(table.storage, restore.instant.time)


def is_own(table: Table, restore: PendingRestore) -> bool:
    """Whether hudictl has requested the restore: its record says what readers saw. A damaged one does not."""
    with suppress(Unreadable):
        operation = read_operation(table.storage, restore.instant.time)
        return operation is not None and begun_plan(operation).resumes is None
    return False


def planned_as(table: Table, type_before: str | None) -> Table:
    """The table as a restore has planned it: as merge on read, which has all kinds of files, if it changes the type."""
    properties = {} if type_before is None else {TYPE: MERGE_ON_READ}
    return replace(table, properties={**table.properties, **properties})


def foreign_rollbacks(rollbacks: Iterable[PendingRollback], removed: Collection[str]) -> list[PendingRollback]:
    """The pending rollbacks of kept instants: they affect the content of the target."""
    return [entry for entry in rollbacks if entry.target is None or entry.target not in removed]
