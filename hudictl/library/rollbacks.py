"""Rollbacks of several instants. One that fails does not stop the others."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from hudictl.library.opened import Opened
from hudictl.library.options import refuse_value, refuse_wrong
from hudictl.ops.rollback.execute import execute_rollbacks
from hudictl.ops.rollback.failed import Choice, RollbackOutcome, choose_failed, planned, roll_back_all, rolled_back
from hudictl.ops.rollback.plan import RollbackOptions, RollbackPlan
from hudictl.ops.saved_plan import refuse_grown
from hudictl.table.clock import try_clock


@dataclass(frozen=True)
class Rollbacks:
    """The rollbacks of some instants, each with its options."""

    table: Opened
    targets: Sequence[tuple[str, RollbackOptions]]

    def plan(self) -> "PlannedRollbacks":
        """What each would do. Nothing is changed. Raises Interrupted, Unsupported."""
        files: dict[str, frozenset[str]] = {}

        def look(plans: Sequence[RollbackPlan]) -> list[RollbackOutcome]:
            files.update({plan.target: _paths(plan) for plan in plans})
            return [planned(plan) for plan in plans]

        return PlannedRollbacks(self, roll_back_all(self.table.session(), self.targets, look), files)

    def execute(
        self,
        within: Callable[[], AbstractContextManager[object]] = nullcontext,
        shown: Mapping[str, Iterable[str]] | None = None,
    ) -> list[RollbackOutcome]:
        """Plans and executes them.

        Args:
            within: what surrounds each execution.
            shown: the files, by instant, of which no more may be deleted.

        Raises Interrupted, Unsupported.
        """
        session = self.table.session()

        def act(plans: Sequence[RollbackPlan]) -> list[RollbackOutcome]:
            if shown is not None:
                for plan in plans:
                    refuse_grown([*shown.get(plan.target, ())], _paths(plan))
            with within():
                return [rolled_back(result) for result in execute_rollbacks(session, plans)]

        return roll_back_all(session, self.targets, act)


@dataclass(frozen=True)
class PlannedRollbacks:
    """The planned outcome of each rollback, and the files that each would delete."""

    of: Rollbacks
    outcomes: Sequence[RollbackOutcome]
    files: Mapping[str, Iterable[str]] = field(repr=False)

    def execute(self, within: Callable[[], AbstractContextManager[object]] = nullcontext) -> list[RollbackOutcome]:
        """Rolls back, and deletes no more than was planned. ``exit_code`` of an outcome is that of its failure.

        Raises Interrupted, Unsupported.
        """
        return self.of.execute(within, self.files)


def failed_writes_to_clean(table: Opened, policy: str, options: RollbackOptions) -> Choice:
    """Which failed writes are rolled back (``targets``), which are left, and what waits for another command.

    Args:
        policy: "lazy": those with an expired heartbeat; "eager": all without activity for ``options.idle_ms``.
    """
    refuse_value("policy", policy)
    refuse_wrong(options)
    return choose_failed(table.session(engine=False), policy, options, try_clock(table.core.storage))


def _paths(plan: RollbackPlan) -> frozenset[str]:
    return frozenset(file.path for file in plan.removal.files)
