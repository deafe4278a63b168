"""Pending rollbacks: those to finish, and those that Hudi requested and refused."""

from dataclasses import dataclass

from hudictl.errors import Refused
from hudictl.formats.instants import WRITE_ACTIONS, Instant
from hudictl.formats.rollback import RollbackPlan
from hudictl.state.facts import Signs
from hudictl.table.operations import read_operation
from hudictl.table.table import Table

Entry = tuple[Instant, RollbackPlan | None]


@dataclass(frozen=True)
class PendingRollbacks:
    """``finish``: the instants whose rollback goes on, newest first; ``armed``: Hudi's rollbacks of completed instants.

    Hudi requests a rollback before it looks whether it may (0.15.0 to 1.2.0). What it refused stays, and a later
    writer executes it. It looks the same as one that died before it took its instant from readers.
    """

    finish: tuple[str, ...]
    armed: tuple[Entry, ...]


def find_rollbacks(table: Table, signs: Signs, *, discard: bool = False) -> PendingRollbacks:
    """What is pending. A rollback of a completed instant that hudictl was asked for is wanted, unless it is to be
    discarded; not one of an instant that was pending then, and that its writer has completed since."""
    armed, finish = [], set()
    for instant, plan in signs.rollbacks:
        target = signs.timeline.find(plan.target.time, *WRITE_ACTIONS) if plan else None
        visible = target is not None and target.completed
        if plan is None or (visible and (discard or not _is_wanted(table, instant))):
            armed.append((instant, plan))
        else:
            finish.add(plan.target.time)
    return PendingRollbacks(tuple(sorted(finish, reverse=True)), tuple(armed))


def _is_wanted(table: Table, rollback: Instant) -> bool:
    operation = read_operation(table.storage, rollback.time)
    return operation is not None and operation.plan.get("completed") is True


def armed_target(table: Table, entry: Entry) -> str:
    """The instant that an armed rollback takes back.

    Raises Refused: nobody can tell which; or hudictl was asked for it while that was pending, as readers see it now.
    """
    instant, plan = entry
    if plan is None:
        raise Refused("nobody can tell what it is to take back")
    if read_operation(table.storage, instant.time) is not None:
        raise Refused(f"it was asked for while {plan.target.time} was pending, and its writer has completed it since")
    return plan.target.time


def armed_line(entry: Entry) -> str:
    """What an armed rollback is."""
    instant, plan = entry
    if plan is None:
        return f"{instant}: its plan cannot be read"
    return f"{instant} of {plan.target.time}, which is completed: the next writer would take it back"
