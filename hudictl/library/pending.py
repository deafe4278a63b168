"""What is pending: the restores and rollbacks that ``resume`` ends."""

from dataclasses import dataclass

from hudictl.errors import Refused
from hudictl.library.opened import Opened
from hudictl.state.facts import Signs, read_signs
from hudictl.state.pending import PendingRestore, PendingRollback, is_asked_for, rollbacks_to_end
from hudictl.state.timeline.unfinished import Unfinished, rollback_unfinished, way_out_of_rollback


@dataclass(frozen=True)
class Pending:
    """``restores`` have a plan. ``finish`` are the instants whose rollbacks go on, newest first; ``unwanted`` are the
    rollbacks of commits that are to stay, or of which nobody knows."""

    signs: Signs
    restores: tuple[PendingRestore, ...]
    finish: tuple[str, ...]
    unwanted: tuple[PendingRollback, ...]

    def target(self) -> str:
        """The newest target of the pending restores. Raises Refused: one names none."""
        targets = [entry.plan.target for entry in self.restores if entry.plan.target is not None]
        if len(targets) < len(self.restores):
            times = ", ".join(entry.instant.time for entry in self.restores if entry.plan.target is None)
            raise Refused(f"the plan of the pending restore {times} has no target", hint="only Hudi can finish it")
        return max(targets)

    def said(self, table: Opened, idle_ms: int) -> list[Unfinished]:
        """What the unwanted rollbacks mean, and the ways to end them."""
        return [rollback_unfinished(table.core, self.signs, entry, idle_ms) for entry in self.unwanted]


def pending_of(table: Opened, *, discard: bool = False) -> Pending:
    """What is pending. ``discard``: rollbacks of completed instants are not wanted, whoever has asked for them. Raises
    Refused: one has taken its commit from readers already, and could only be finished."""
    signs = read_signs(table.core)
    if signs.planned_restores:
        return Pending(signs, signs.planned_restores, (), ())
    found = rollbacks_to_end(table.core, signs.live_rollbacks, discard=discard)
    for entry in signs.live_rollbacks if discard else ():
        if entry.target in found.finish and is_asked_for(table.core, entry.instant):
            raise Refused(
                f"{entry.instant} cannot be discarded: readers do not see the commit {entry.target} any more",
                hint=way_out_of_rollback(table.core, signs, entry),
                rollback=entry.instant.time,
            )
    return Pending(signs, (), found.finish, found.unwanted)
