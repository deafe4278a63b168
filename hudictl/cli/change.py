"""The one way of every command that changes a table: plan, show, ask, execute, report."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click

from hudictl.cli.command_line import command_line
from hudictl.cli.confirm import confirm, confirm_typed
from hudictl.cli.options import ChangeOptions, EngineOptions, TableOptions
from hudictl.cli.profiles import secrets_of
from hudictl.cli.progress import Progress, stoppable, without_hangup
from hudictl.cli.show import PLANNED, ChangeOutcome, show_result, text_output
from hudictl.cli.streams import emit_parts
from hudictl.errors import EngineFailed, Findings, Interrupted, StorageFailed
from hudictl.render.json import envelope

if TYPE_CHECKING:
    from hudictl.ops.restore.execute import RestoreResult
    from hudictl.ops.rollback.run import RollbackResult
    from hudictl.ops.session import Session
    from hudictl.render.text import Console
    from hudictl.table.table import Table

Plan = TypeVar("Plan")
Result = TypeVar("Result")
LOOKING = ChangeOptions(plan=True, yes=False, single_operator=False)
"""Of a command that plans, and changes nothing."""
Check = Callable[["Table", Any], "str | None"]
"""What a saved plan says to one that was planned anew: raises where it is another, tells where it is done already."""


def table_line(table: "Table") -> str:
    """Which table is meant: a clone of it can have the same instants."""
    return f"Table {table.name}: {table.uri}"


@dataclass(frozen=True)
class Question:
    """What is asked before a change; ``typed`` is what must be typed to go on, None for yes or no."""

    text: str
    typed: str | None = None

    def ask(self, table: "Table", *, yes: bool) -> None:
        """Raises NotConfirmed."""
        if self.typed is None:
            confirm(table_line(table), self.text, yes=yes)
        else:
            confirm_typed(table_line(table), self.text, self.typed, yes=yes)


@dataclass(frozen=True)
class Change(Generic[Plan, Result]):
    """A kind of change, from its plan to its report.

    ``nothing`` says why there is nothing to do, None where there is; ``show`` prints the plan for eyes, also before the
    question where ``shown_first``; ``execute`` changes the table, ``done`` says what it has done, ``then`` what that
    means to others, in text. ``ended`` tells from
    the table alone that nothing is left to do; ``instead`` is what is to be looked at where there is nothing to do.
    The ``..._json`` are what JSON has of a plan and of a result, where that is not the thing itself.
    """

    name: str
    plan: Callable[["Session"], Plan]
    nothing: Callable[[Plan], "str | None"]
    show: Callable[["Console", Plan], None]
    question: Callable[[Plan], Question]
    execute: Callable[["Session", Plan], Result]
    done: Callable[[Plan, Result], str]
    then: Callable[[Plan, Result], Sequence[str]] = lambda _plan, _result: ()
    shown_first: bool = False
    needs_engine: bool = True
    ended: "Callable[[Table], str | None] | None" = None
    instead: "Callable[[Plan, str], Change[Any, Any] | None]" = lambda _plan, _said: None
    nothing_json: Callable[[Plan], Any] = lambda plan: plan
    nothing_noted: bool = False
    planned_json: Callable[[Plan], Any] = lambda plan: plan
    done_json: Callable[[Plan, Result], Any] = lambda _plan, result: result


@contextmanager
def session(
    common: TableOptions, how: ChangeOptions, engine: EngineOptions | None = None, table: "Table | None" = None
) -> "Iterator[Session]":
    """The table, opened for a change unless it is open, and what works on it: threads where no engine is given.

    Raises UsageError, NotFound, Unreadable, Unsupported, StorageFailed, EngineFailed.
    """
    from hudictl.engine.local import LocalEngine
    from hudictl.ops.session import Session
    from hudictl.table.locks.config import NOTHING_SAID
    from hudictl.table.locks.providers import contender_of

    table = table or common.open(how.single_operator)
    with without_hangup() as ends:
        opened = engine.open(table) if engine else LocalEngine()
        # With --yes nobody has to be there.
        progress = Progress(common.progress, hangup=ends and not how.yes)
        try:
            yield Session(
                table=table,
                engine=opened,
                monitor=progress,
                command=command_line(),
                locking=common.locking or NOTHING_SAID,
                contend=contender_of,
                timezone=common.timezone,
                secrets=secrets_of(click.get_current_context(silent=True)),
            )
        finally:
            progress.end()
            opened.close()


def run_change(
    change: Change[Any, Any],
    common: TableOptions,
    how: ChangeOptions,
    engine: EngineOptions | None = None,
    check: Check | None = None,
    table: "Table | None" = None,
) -> None:
    """Plans, shows, asks, executes, reports. ``check`` looks at the plan first. The table is opened unless it is."""
    table = table or common.open(how.single_operator)
    ended = change.ended(table) if change.ended is not None else None
    if ended is not None:
        show_result(common, change.name, table.uri, None, [ended], [ended], ChangeOutcome.NOTHING)
        return
    with session(common, how, engine if change.needs_engine else None, table) as opened:
        change_in(opened, change, common, how, check)


def change_in(
    opened: "Session",
    change: Change[Any, Any],
    common: TableOptions,
    how: ChangeOptions,
    check: Check | None = None,
) -> None:
    """The same with a table that is open."""
    uri = opened.table.uri
    with _changing_nothing(), planning(opened):
        plan = change.plan(opened)
    said = check(opened.table, plan) if check else None
    said = said or change.nothing(plan)
    if said is not None:
        instead = change.instead(plan, said)
        if instead is not None:
            change_in(opened, instead, common, how)
        else:
            notes = [said] if change.nothing_noted else []
            show_result(common, change.name, uri, change.nothing_json(plan), [said], notes, ChangeOutcome.NOTHING)
        return

    if how.plan or (change.shown_first and not common.json):
        _show_plan(change, plan, common, opened.table)
    if how.plan:
        how.end_plan()
        return

    with _changing_nothing():
        change.question(plan).ask(opened.table, yes=how.yes)
    found: Findings | None = None
    try:
        result = execute(opened, lambda: change.execute(opened, plan))
    except Findings as error:
        if error.report is None:
            raise
        result, found = error.report, error
    done = change.done(plan, result)
    try:
        # The plan that was shown first has named it.
        lines = [*([] if change.shown_first else [table_line(opened.table)]), done, *change.then(plan, result)]
        show_result(common, change.name, uri, change.done_json(plan, result), lines, outcome=ChangeOutcome.DONE)
    except StorageFailed as error:
        raise StorageFailed(error.message, hint=f"the change is done; only its output was lost: {done}") from error
    if found is not None:
        raise found


@contextmanager
def planning(opened: "Session") -> Iterator[None]:
    """The step in which a change is planned: its first line comes before anything else."""
    from hudictl.engine.local import LocalEngine

    assert isinstance(opened.monitor, Progress)
    opened.monitor.begin("plan" if isinstance(opened.engine, LocalEngine) else "plan, and start Spark")
    try:
        yield
    finally:
        opened.monitor.end()


@contextmanager
def _changing_nothing() -> Iterator[None]:
    """What fails, or is interrupted, before the first change says so."""
    try:
        yield
    except (StorageFailed, EngineFailed) as error:
        hint = "; ".join(filter(None, ("nothing was changed", error.hint)))
        raise type(error)(error.message, hint=hint, **error.fields) from error
    except (click.Abort, KeyboardInterrupt):
        raise Interrupted("interrupted", hint="nothing was changed") from None


def execute(opened: "Session", work: Callable[[], Result]) -> Result:
    """Works on a table; signals stop it between two steps."""
    assert isinstance(opened.monitor, Progress)
    with stoppable(opened.monitor):
        try:
            return work()
        finally:
            opened.monitor.end()


def told_after(result: "RestoreResult | RollbackResult") -> "list[str]":
    """What those who read and write the table must know now."""
    from hudictl.ops.undo.afterwards import Afterwards
    from hudictl.render.afterwards import afterwards_lines

    return afterwards_lines(Afterwards(result.head, result.checkpoint, result.consumers, result.catalog))


def _keeping_line(plan: Any, table: "Table") -> str | None:
    """Where the files to delete can be found later."""
    from hudictl.render.keeping import keeping_line
    from hudictl.table.kept import keeps_versions

    if not getattr(getattr(plan, "options", None), "keep_files", False):
        return table.storage.keeps_deleted()
    return keeping_line(keeps_versions(table))


def _show_plan(change: Change[Any, Any], plan: Any, common: TableOptions, table: "Table") -> None:
    # What is shown before the question deletes files.
    kept = _keeping_line(plan, table) if change.shown_first else None
    if common.json:
        planned = change.planned_json(plan)
        notes = (*PLANNED, *filter(None, (kept, common.lock_source)))
        emit_parts(envelope(change.name, table.uri, notes=notes, outcome=ChangeOutcome.PLANNED.value, result=planned))
        return
    from hudictl.render.text import print_lines

    with text_output(common.color) as out:
        print_lines(out, [table_line(table)])
        change.show(out, plan)
        for line in filter(None, (common.lock_source, kept)):
            print_lines(out, [line, ""])
