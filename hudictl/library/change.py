"""A change of a table: planned, looked at, executed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from hudictl.library.opened import Opened
    from hudictl.ops.session import Session
    from hudictl.table.table import Table

Plan = TypeVar("Plan")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Change(Generic[Plan, Result]):
    """A kind of change, and what it is to do.

    ``command``: which command does the same. ``nothing`` says why there is nothing to do, None where there is; so does
    ``ended`` from the table alone, before anything is planned. ``needs_engine``: it lists or deletes data files.
    """

    command: str
    plan: "Callable[[Session], Plan]"
    execute: "Callable[[Session, Plan], Result]"
    nothing: Callable[[Plan], str | None] = lambda _plan: None
    ended: "Callable[[Table], str | None]" = lambda _table: None
    needs_engine: bool = True

    def of(self, table: "Opened") -> "TableChange[Plan, Result]":
        """This change of a table."""
        return TableChange(table, self)


@dataclass(frozen=True)
class TableChange(Generic[Plan, Result]):
    """A change of a table that nothing has been done for yet."""

    table: "Opened"
    change: Change[Plan, Result]

    def plan(self) -> "Planned[Plan, Result]":
        """Looks at the table and plans the change. Nothing is changed.

        Raises Refused, Conflict, Unsupported, Unreadable, StorageFailed, EngineFailed.
        """
        ended = self.change.ended(self.table.core)
        if ended is not None:
            return Planned(self, None, ended)
        plan = self.change.plan(self.table.session(engine=self.change.needs_engine))
        return Planned(self, plan, self.change.nothing(plan))


@dataclass(frozen=True)
class Planned(Generic[Plan, Result]):
    """A planned change. ``nothing`` says why there is nothing to do, None where there is.

    ``plan`` is what the command prints with ``--plan --output json`` (of a heartbeat, a marker folder or a lock, it
    prints this part of it); None where it is not needed to see that there is nothing to do. What a restore or rollback
    does to files and instants is in ``plan.undo``: ``plan.undo.files`` is the ``files`` of its JSON.
    """

    of: TableChange[Plan, Result]
    plan: Plan | None
    nothing: str | None

    def execute(self) -> Result | None:
        """Changes the table: all guards look again first. None where there was nothing to do.

        Raises:
            Conflict: the table has changed since, or another process works on it.
            Findings: done, but with a finding; its ``report`` is the result.
            Refused, Incomplete, Interrupted, StorageFailed, EngineFailed: the message says what was changed, and how to
                go on.
        """
        if self.nothing is not None or self.plan is None:
            return None
        change = self.of.change
        return change.execute(self.of.table.session(engine=change.needs_engine), self.plan)

    def to_dict(self) -> dict[str, Any]:
        """The plan by the keys of its JSON (docs/json.md); empty where there is none."""
        from hudictl.render.json import plain

        return {} if self.plan is None else dict(plain(self.plan))

    def to_json(self) -> str:
        """The plan as a file for ``hudictl apply``, or ``HudiTable.apply``: a person can look at it first.

        Raises UsageError: ``apply`` takes no plans of this kind (undos, copies, heartbeats, markers, locks), or there
        is none, because there is nothing to do.
        """
        from hudictl.errors import UsageError
        from hudictl.render.json import envelope

        if getattr(self.plan, "plan_version", None) is None:
            why = f"the plan of `{self.of.change.command}` cannot be saved: apply does not take it"
            raise UsageError(why if self.plan is not None else f"there is no plan: {self.nothing}")
        document = envelope(self.of.change.command, self.of.table.core.uri, outcome="planned", result=self.plan)
        return "".join(document)
