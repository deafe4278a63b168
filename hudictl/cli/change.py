"""The one way of every command that changes a table: plan, show, ask, execute, report."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click

from hudictl.cli.confirm import confirm, confirm_typed
from hudictl.cli.options import ChangeOptions, EngineOptions, TableOptions
from hudictl.cli.progress import Progress, stoppable, without_hangup
from hudictl.cli.show import PLANNED, show_result, text_output
from hudictl.cli.streams import emit_parts
from hudictl.cli.to_copy import to_copy
from hudictl.errors import EngineFailed, Findings, Interrupted, StorageFailed, Unreadable
from hudictl.phrases import SEE_CHECK
from hudictl.render.json import ChangeOutcome, envelope

if TYPE_CHECKING:
    from hudictl.library.change import Change
    from hudictl.library.table import HudiTable
    from hudictl.ops.restore.execute import RestoreResult
    from hudictl.ops.rollback.run import RollbackResult
    from hudictl.render.text import Console
    from hudictl.table.table import Table

Plan = TypeVar("Plan")
Result = TypeVar("Result")
Check = Callable[["Table", Any], "str | None"]
"""What a saved plan says to one that was planned anew: raises where it is another, tells where it is done already."""


def looking(common: TableOptions) -> ChangeOptions:
    """Of a command that plans, and changes nothing."""
    return ChangeOptions(common, plan=True, yes=False, single_operator=False)


def table_line(table: "Table | HudiTable") -> str:
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
class ChangeCommand(Generic[Plan, Result]):
    """A change, and how a command speaks of it, from its plan to its report.

    ``show`` prints the plan for eyes, also before the question where ``shown_first``; ``done`` says what the change has
    done, ``then`` what that means to others, in text. ``nothing`` is said where there is nothing to do, in the place of
    the change's own words; ``instead`` is what is to be looked at then.
    The ``..._json`` are what JSON has of a plan and of a result, where that is not the thing itself.
    """

    name: str
    change: "Change[Plan, Result]"
    show: Callable[["Console", Plan], None]
    question: Callable[[Plan], Question]
    done: Callable[[Plan, Result], str]
    then: Callable[[Plan, Result], Sequence[str]] = lambda _plan, _result: ()
    shown_first: bool = False
    nothing: Callable[[Plan], "str | None"] | None = None
    instead: "Callable[[Plan, str], ChangeCommand[Any, Any] | None]" = lambda _plan, _said: None
    nothing_json: Callable[[Plan], Any] = lambda plan: plan
    nothing_noted: bool = False
    planned_json: Callable[[Plan], Any] = lambda plan: plan
    done_json: Callable[[Plan, Result], Any] = lambda _plan, result: result


def in_lines(lines: Callable[[Plan], Sequence[str]]) -> "Callable[[Console, Plan], None]":
    """The ``show`` of a plan that is told in some lines."""

    def show(out: "Console", plan: Plan) -> None:
        from hudictl.render.text import print_lines

        print_lines(out, lines(plan))

    return show


@contextmanager
def opened_table(
    how: ChangeOptions, engine: EngineOptions | None = None, core: "Table | None" = None
) -> "Iterator[HudiTable]":
    """The table, opened for a change unless it is open, and what works on it: threads where no engine is given.

    Raises UsageError, NotFound, Unreadable, Unsupported, StorageFailed, EngineFailed.
    """
    core = core or how.open()
    with without_hangup() as ends:
        # With --yes nobody has to be there.
        progress = Progress(how.common.progress, hangup=ends and not how.yes)
        with how.common.table(engine, core=core, monitor=progress) as table:
            # Spark starts while the table is looked at.
            table.opened.engine  # noqa: B018
            try:
                yield table
            finally:
                progress.end()


def run_change(
    command: ChangeCommand[Any, Any], how: ChangeOptions, check: Check | None = None, core: "Table | None" = None
) -> None:
    """Plans, shows, asks, executes, reports. ``check`` looks at the plan first. The table is opened unless it is."""
    core = core or how.open()
    try:
        ended = command.change.ended(core)
        if ended is not None:
            show_result(how.common, command.name, core.uri, None, [ended], [ended], ChangeOutcome.NOTHING)
            return
        with opened_table(how, how.engine if command.change.needs_engine else None, core) as table:
            change_in(table, command, how, check)
    except Unreadable as error:
        error.hint = error.hint or SEE_CHECK
        raise


def change_in(
    table: "HudiTable", command: ChangeCommand[Any, Any], how: ChangeOptions, check: Check | None = None
) -> None:
    """The same with a table that is open."""
    common, session = how.common, table.opened.session()
    with _changing_nothing(), planning(table):
        plan = command.change.plan(session)
    said = check(table.core, plan) if check else None
    said = said or (command.nothing or command.change.nothing)(plan)
    if said is not None:
        instead = command.instead(plan, said)
        if instead is not None:
            change_in(table, instead, how)
        else:
            notes, shown = [said] if command.nothing_noted else [], command.nothing_json(plan)
            show_result(common, command.name, table.uri, shown, [said], notes, ChangeOutcome.NOTHING)
        return

    if how.plan or (command.shown_first and not common.json):
        _show_plan(command, plan, common, table.core)
    if how.plan:
        how.end_plan()
        return

    with _changing_nothing():
        command.question(plan).ask(table.core, yes=how.yes)
    found: Findings | None = None
    try:
        with working(table):
            result = command.change.execute(session, plan)
    except Findings as error:
        if error.report is None:
            raise
        result, found = error.report, error
    done = command.done(plan, result)
    try:
        # The plan that was shown first has named it.
        lines = [*([] if command.shown_first else [table_line(table.core)]), done, *command.then(plan, result)]
        shown = command.done_json(plan, result)
        show_result(common, command.name, table.uri, shown, lines, outcome=ChangeOutcome.DONE)
    except StorageFailed as error:
        raise StorageFailed(error.message, hint=f"the change is done; only its output was lost: {done}") from error
    if found is not None:
        raise found


@contextmanager
def planning(table: "HudiTable") -> Iterator[None]:
    """The step in which a change is planned: its first line comes before anything else."""
    from hudictl.engine.local import LocalEngine

    progress = table.opened.access.monitor
    assert isinstance(progress, Progress)
    progress.begin("plan" if isinstance(table.opened.engine, LocalEngine) else "plan, and start Spark")
    try:
        yield
    finally:
        progress.end()


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


@contextmanager
def working(table: "HudiTable") -> Iterator[None]:
    """Works on a table; signals stop it between two steps."""
    progress = table.opened.access.monitor
    assert isinstance(progress, Progress)
    with stoppable(progress):
        try:
            yield
        finally:
            progress.end()


def told_after(result: "RestoreResult | RollbackResult") -> "list[str]":
    """What those who read and write the table must know now."""
    from hudictl.ops.undo.afterwards import Afterwards
    from hudictl.render.afterwards import afterwards_lines

    return afterwards_lines(Afterwards(result.head, result.checkpoint, result.consumers, result.catalog))


def _keeping_line(plan: Any, table: "Table") -> str | None:
    """Where the files to delete can be found later."""
    if not getattr(getattr(plan, "options", None), "keep_files", False):
        return table.storage.keeps_deleted()
    return kept_where(table)


def kept_where(table: "Table") -> str:
    """Where an operation keeps its files, and what that costs."""
    from hudictl.render.keeping import keeping_line
    from hudictl.table.kept import keeps_versions

    return to_copy().text(keeping_line(keeps_versions(table)))


def _show_plan(command: ChangeCommand[Any, Any], plan: Any, common: TableOptions, table: "Table") -> None:
    # What is shown before the question deletes files.
    kept = _keeping_line(plan, table) if command.shown_first else None
    if common.json:
        planned = command.planned_json(plan)
        notes = (*PLANNED, *filter(None, (kept, common.lock_source)))
        emit_parts(envelope(command.name, table.uri, notes=notes, outcome=ChangeOutcome.PLANNED.value, result=planned))
        return
    from hudictl.render.text import print_lines

    with text_output(common.color) as out:
        print_lines(out, [table_line(table)])
        command.show(out, plan)
        for line in filter(None, (common.lock_source, kept)):
            print_lines(out, [line, ""])
