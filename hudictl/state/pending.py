"""Restores that are not completed, and the rollbacks that one of them has left."""

from collections.abc import Collection
from dataclasses import dataclass

from hudictl.errors import Unreadable
from hudictl.formats.instants import RESTORE, WRITE_ACTIONS, Instant, State
from hudictl.formats.restore import RestorePlan, decode_plan
from hudictl.formats.rollback import RollbackPlan
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, hollow_file, read_instant


@dataclass(frozen=True)
class PendingRestore:
    """A restore that is not completed, with its stored plan."""

    instant: Instant
    plan: RestorePlan

    @property
    def begun(self) -> bool:
        """False while it is only requested: nothing was changed yet."""
        return self.instant.state is not State.REQUESTED


def pending_restores(table: Table, timeline: Timeline) -> list[PendingRestore]:
    """Restores that are not completed, and have a plan. Raises Unreadable: the plan of one."""
    found = []
    for instant in timeline.having(RESTORE):
        file = instant.file(State.REQUESTED)
        hollow = file is not None and hollow_file(timeline, instant) is not None
        if (instant.pending or hollow) and not is_unplanned(timeline, instant):
            if file is None:
                raise Unreadable(
                    f"{instant} has no request, and so no plan", hint="where no restore runs, remove its file"
                )
            found.append(PendingRestore(instant, decode_plan(read_instant(table, file), file.name)))
    return found


def is_unplanned(timeline: Timeline, instant: Instant) -> bool:
    file = instant.file(State.REQUESTED)
    return instant.state is State.REQUESTED and file is not None and not timeline.sizes[file.name]


def rollbacks_left(
    table: Table, timeline: Timeline, rollbacks: Collection[tuple[Instant, RollbackPlan | None]]
) -> frozenset[str]:
    """Pending rollbacks of a completed restore: Hudi (0.15.0 to 1.2.0) removes them last, and may die before.

    Their instants are gone; the next eager writer would execute them all the same.
    """
    found = set()
    for restore in timeline.having(RESTORE):
        late = [entry for entry in rollbacks if entry[0].time < (restore.completion_time or "")]
        file = restore.file(State.REQUESTED)
        if not late or file is None or hollow_file(timeline, restore):
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
