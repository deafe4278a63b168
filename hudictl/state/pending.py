"""Restores and rollbacks that are not completed, or left of one that is: how far each has come."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum

from hudictl.errors import Refused, Unreadable
from hudictl.formats.instants import RESTORE, WRITE_ACTIONS, Instant, State
from hudictl.formats.restore import RestorePlan, decode_plan, target_text
from hudictl.formats.rollback import RollbackPlan
from hudictl.table.operations import LATER_WRITES, is_recorded, read_operation
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, empty_result, pending_rollbacks, read_instant


class Condition(Enum):
    """How far a restore or rollback has come."""

    REQUESTED = "requested"
    """It has a plan, and nothing of it was done."""
    INFLIGHT = "inflight"
    """It has begun: some or all of it may be done."""
    NO_PLAN = "no plan"
    """Its request is empty, unreadable or gone. Of such a restore nothing was done; a rollback may have begun."""
    EMPTY_RESULT = "empty result"
    """Its completed file is there, and has no content: whoever did it died at the end, and it is not completed."""
    TARGET_COMPLETED = "target completed"
    """Of a rollback, requested or inflight: readers still see its target. Hudi requests a rollback before it looks
    whether it may (0.15.0 to 1.2.0), and what it refused stays: it looks as one that died before it began."""
    LEFT_OVER = "left over"
    """Of a rollback: the restore that made it, or removed its target, is completed, and did not remove it."""


@dataclass(frozen=True)
class PendingRestore:
    """A restore that is not completed, with its stored plan: one that names nothing where there is none."""

    instant: Instant
    plan: RestorePlan
    condition: Condition

    @property
    def begun(self) -> bool:
        """False while it is only requested: nothing was changed yet."""
        return self.condition in (Condition.INFLIGHT, Condition.EMPTY_RESULT)

    @property
    def instants(self) -> frozenset[str]:
        """The times of the instants that it takes back."""
        return frozenset(info.time for info in self.plan.instants)


@dataclass(frozen=True)
class PendingRollback:
    """A rollback that is not completed, with its stored plan; None where there is no readable one."""

    instant: Instant
    plan: RollbackPlan | None
    condition: Condition

    @property
    def target(self) -> str | None:
        """The time of the instant that it takes back."""
        return self.plan.target.time if self.plan else None


def find_restores(table: Table, timeline: Timeline) -> tuple[PendingRestore, ...]:
    """Restores that are not completed, those without a plan last. Raises Unreadable: the plan of one."""
    planned, unplanned = [], []
    for instant in timeline.having(RESTORE):
        file = instant.file(State.REQUESTED)
        if file is None:
            if instant.pending:
                raise Unreadable(
                    f"{instant} has no request, and so no plan", hint="where no restore runs, remove its file"
                )
        elif instant.state is State.REQUESTED and not timeline.sizes[file.name]:
            unplanned.append(PendingRestore(instant, RestorePlan((), None), Condition.NO_PLAN))
        elif instant.pending or empty_result(timeline, instant):
            plan = decode_plan(read_instant(table, file), file.name)
            planned.append(PendingRestore(instant, plan, _reached(instant)))
    return (*planned, *unplanned)


def find_rollbacks(table: Table, timeline: Timeline) -> tuple[PendingRollback, ...]:
    """Rollbacks that are not completed. Raises Unreadable: the plan of a completed restore."""
    found = pending_rollbacks(table, timeline)
    left = _left_over(table, timeline, found)
    return tuple(
        PendingRollback(
            instant, plan, Condition.LEFT_OVER if instant.time in left else _condition(timeline, instant, plan)
        )
        for instant, plan in found
    )


def _condition(timeline: Timeline, instant: Instant, plan: RollbackPlan | None) -> Condition:
    if plan is None:
        return Condition.NO_PLAN
    target = timeline.find(plan.target.time, *WRITE_ACTIONS)
    # First: whatever else it says of itself, to finish it takes a commit from readers.
    return Condition.TARGET_COMPLETED if target is not None and target.completed else _reached(instant)


def _reached(instant: Instant) -> Condition:
    """How far it has come by its own files; a completed one has no content."""
    return (Condition.REQUESTED, Condition.INFLIGHT, Condition.EMPTY_RESULT)[instant.state]


def _left_over(
    table: Table, timeline: Timeline, rollbacks: Collection[tuple[Instant, RollbackPlan | None]]
) -> frozenset[str]:
    """Pending rollbacks of a completed restore: Hudi (0.15.0 to 1.2.0) removes them last, and may die before.

    Their instants are gone; the next eager writer would execute them all the same.
    """
    found = set()
    for restore in timeline.having(RESTORE):
        late = [entry for entry in rollbacks if entry[0].time < (restore.completion_time or "")]
        file = restore.file(State.REQUESTED)
        if not late or file is None or empty_result(timeline, restore):
            continue
        # The request names all instants; the result of a resumed restore only those of its last attempt.
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
    """``finish``: the instants whose rollback goes on, newest first; ``unwanted``: rollbacks that nobody asked for, of
    completed instants or without a plan: each is discarded, or shown and asked for by itself."""

    finish: tuple[str, ...]
    unwanted: tuple[PendingRollback, ...]


def rollbacks_to_end(table: Table, rollbacks: Iterable[PendingRollback], *, discard: bool = False) -> RollbacksToEnd:
    """What is to become of pending rollbacks. One of a completed instant that hudictl was asked for is wanted, unless
    it is to be discarded; not one of an instant that was pending then, and that its writer has completed since."""
    finish, unwanted = set(), []
    for rollback in rollbacks:
        visible = rollback.condition is Condition.TARGET_COMPLETED
        if rollback.plan is None or (visible and (discard or not is_asked_for(table, rollback.instant))):
            unwanted.append(rollback)
        else:
            finish.add(rollback.plan.target.time)
    return RollbacksToEnd(tuple(sorted(finish, reverse=True)), tuple(unwanted))


def is_asked_for(table: Table, rollback: Instant) -> bool:
    """Whether hudictl was asked for a rollback while its target was completed: it is wanted as it is."""
    operation = read_operation(table.storage, rollback.time)
    return operation is not None and operation.plan.get("completed") is True


def restores_to(
    restores: Collection[PendingRestore], target: str
) -> tuple[PendingRestore | None, tuple[PendingRestore, ...]]:
    """The pending restore to the target that goes on (the newest that has begun, else the newest), and all others.

    Args:
        restores: the pending ones that have a plan.

    Raises:
        Refused: restores are pending, none of them to the target.
    """
    same = [entry for entry in restores if entry.plan.target == target]
    if restores and not same:
        found = ", ".join(f"{entry.instant} to {target_text(entry.plan.target)}" for entry in restores)
        raise Refused(
            f"another restore is pending: {found}",
            hint="finish it first: `hudictl resume`; or take it back while nothing was deleted: `resume --withdraw`",
            restores=[entry.instant.time for entry in restores],
        )
    chosen = max(same, key=lambda entry: (entry.begun, entry.instant.time), default=None)
    return chosen, tuple(entry for entry in restores if entry is not chosen)


def later_writes(table: Table, restore: PendingRestore) -> tuple[str, ...]:
    """The writes that came in beside a restore of hudictl's and are removed with it: its request does not name them."""
    operation = read_operation(table.storage, restore.instant.time)
    return tuple(operation.plan.get(LATER_WRITES, ())) if operation else ()


def is_own(table: Table, restore: PendingRestore) -> bool:
    """Whether hudictl has begun the restore."""
    return is_recorded(table.storage, restore.instant.time)


def foreign_rollbacks(rollbacks: Iterable[PendingRollback], removed: Collection[str]) -> list[PendingRollback]:
    """The pending rollbacks of instants that stay: they have a say on what the target is."""
    return [entry for entry in rollbacks if entry.target is None or entry.target not in removed]
