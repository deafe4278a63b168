"""Saved plans: what a plan in a file stands for, and whether it still holds."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hudictl.errors import Unreadable
from hudictl.formats.decode import decode
from hudictl.library import changes
from hudictl.library.change import Change
from hudictl.ops import saved_plan
from hudictl.ops.clean_up.orphans import OrphanOptions
from hudictl.ops.clean_up.service import ServiceOptions
from hudictl.ops.metadata.drop import DropOptions
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.saved_plan import SavedPlan
from hudictl.ops.savepoint.plan import PruneOptions, SavepointOptions
from hudictl.ops.session import Kind, Session
from hudictl.table.table import Table


@dataclass(frozen=True)
class PlanKind:
    """How saved plans of one kind are applied: their options, the change that they are, and what compares a new plan
    with the saved one. ``targeted``: the change is of a target, to which the options say how."""

    options: type[Any] | None
    change: Callable[..., Change[Any, Any]]
    check: Callable[[Table, SavedPlan, Any], str | None]
    targeted: bool = True


_KINDS = {
    Kind.RESTORE: PlanKind(RestoreOptions, changes.restore, saved_plan.check_restore),
    Kind.ROLLBACK: PlanKind(RollbackOptions, changes.rollback, saved_plan.check_rollback),
    Kind.SAVEPOINT_CREATE: PlanKind(SavepointOptions, changes.savepoint_creation, saved_plan.check_facts),
    Kind.SAVEPOINT_DELETE: PlanKind(None, changes.savepoint_deletion, saved_plan.check_facts),
    Kind.SAVEPOINT_PRUNE: PlanKind(PruneOptions, changes.savepoint_prune, saved_plan.check_prune, targeted=False),
    Kind.SERVICE_REMOVE: PlanKind(ServiceOptions, changes.service_removal, saved_plan.check_service_removal),
    Kind.METADATA_DROP: PlanKind(DropOptions, changes.metadata_drop, saved_plan.check_facts, targeted=False),
    Kind.ORPHANS_DELETE: PlanKind(OrphanOptions, changes.orphan_deletion, saved_plan.check_orphans, targeted=False),
}


@dataclass(frozen=True)
class ReadPlan:
    """A saved plan with its options."""

    saved: SavedPlan
    options: Any

    @property
    def kind(self) -> Kind:
        return self.saved.kind

    @property
    def arguments(self) -> list[Any]:
        """Those of the change: its target and its options, as far as it has them."""
        kind = _KINDS[self.kind]
        return [*([self.saved.target] if kind.targeted else []), *([self.options] if kind.options else [])]

    def refuse_another_place(self) -> None:
        """Raises Conflict: the table that the plan names is not the one that it was made for."""
        saved_plan.refuse_another_place(self.saved)

    def check(self, table: Table, plan: Any) -> str | None:
        """Compares a new plan with the saved one. Says whether the plan is applied already.

        Raises Conflict: the table has changed.
        """
        return _KINDS[self.kind].check(table, self.saved, plan)

    def change(self) -> Change[Any, Any]:
        """The change: it is planned again, and compared."""
        made = _KINDS[self.kind].change(*self.arguments)
        said: list[str | None] = []

        def plan(session: Session) -> Any:
            found = made.plan(session)
            said[:] = [self.check(session.table, found)]
            return found

        return replace(made, plan=plan, nothing=lambda plan: said[0] or made.nothing(plan))


def read_plan(body: bytes, what: str) -> ReadPlan:
    """A plan that a command has printed with ``--plan --output json``.

    Args:
        what: the file, for errors.

    Raises:
        Unreadable: not a plan, or one that was changed.
        Unsupported: of another plan version.
        UsageError: of a command whose plans cannot be applied, or that had nothing to do.
    """
    saved = saved_plan.decode_saved_plan(body, what)
    kind = _KINDS[saved.kind].options
    try:
        return ReadPlan(saved, decode(kind, saved.options) if kind else None)
    except ValueError as error:
        hint = "create the plan again with --plan --output json"
        raise Unreadable(f"{what}: {error}", hint=hint, file=what) from error
