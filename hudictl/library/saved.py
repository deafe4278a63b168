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
    with the saved one."""

    options: type[Any] | None
    change: Callable[[SavedPlan, Any], Change[Any, Any]]
    check: Callable[[Table, SavedPlan, Any], str | None]


_KINDS = {
    Kind.RESTORE: PlanKind(
        RestoreOptions, lambda saved, options: changes.restore(saved.target, options), saved_plan.check_restore
    ),
    Kind.ROLLBACK: PlanKind(
        RollbackOptions, lambda saved, options: changes.rollback(saved.target, options), saved_plan.check_rollback
    ),
    Kind.SAVEPOINT_CREATE: PlanKind(
        SavepointOptions,
        lambda saved, options: changes.savepoint_creation(saved.target, options),
        saved_plan.check_savepoint,
    ),
    Kind.SAVEPOINT_DELETE: PlanKind(
        None, lambda saved, _options: changes.savepoint_deletion(saved.target), saved_plan.check_savepoint
    ),
    Kind.SAVEPOINT_PRUNE: PlanKind(
        PruneOptions, lambda _saved, options: changes.savepoint_prune(options), saved_plan.check_prune
    ),
    Kind.SERVICE_REMOVE: PlanKind(
        ServiceOptions,
        lambda saved, options: changes.service_removal(saved.target, options),
        saved_plan.check_service_removal,
    ),
    Kind.METADATA_DROP: PlanKind(
        DropOptions, lambda _saved, options: changes.metadata_drop(options), saved_plan.check_metadata_drop
    ),
    Kind.ORPHANS_DELETE: PlanKind(
        OrphanOptions, lambda _saved, options: changes.orphan_deletion(options), saved_plan.check_orphans
    ),
}


@dataclass(frozen=True)
class ReadPlan:
    """A saved plan with its options."""

    saved: SavedPlan
    options: Any

    @property
    def kind(self) -> Kind:
        return self.saved.kind

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
        made = _KINDS[self.kind].change(self.saved, self.options)
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
