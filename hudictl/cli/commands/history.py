"""``hudictl history``."""

from dataclasses import asdict

import click

from hudictl.cli.complete import instants_in
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import TableOptions, table_options
from hudictl.cli.show import text_output
from hudictl.cli.streams import emit_parts
from hudictl.cli.tree import CommandWithMore
from hudictl.formats.layouts import OPERATIONS
from hudictl.render.json import envelope


@click.group(cls=CommandWithMore)
@list_options()
def history(given: ListOptions) -> None:
    """List the operations of hudictl on the table, newest first: user, time and result."""
    table = given.table()
    rows = given.ordered(table.history())
    show_list(given, "history", table, rows, "hudictl has changed nothing here", by_time=True)


@history.command()
@click.argument("instant", shell_complete=instants_in(OPERATIONS))
@table_options
def show(common: TableOptions, instant: str) -> None:
    """Show one operation: its plan, and every attempt."""
    table = common.table()
    operation = table.operation(instant)
    if common.json:
        emit_parts(envelope("history show", table.uri, result=operation))
        return
    from hudictl.ops.undo.afterwards import Afterwards, afterwards_in
    from hudictl.render.afterwards import afterwards_lines
    from hudictl.render.history import plan_facts
    from hudictl.render.text import print_facts, print_lines

    with text_output(common.color) as out:
        facts = [("instant", operation.instant), ("operation", operation.operation), ("target", operation.target)]
        plan = {key: value for key, value in operation.plan.items() if key != "fingerprint"}
        print_facts(out, [*facts, *plan_facts(plan)])
        for number, attempt in enumerate(operation.attempts, 1):
            out.print()
            report = attempt.report or {}
            # A number, but no count.
            told = {key: value for key, value in asdict(attempt).items() if key != "report"} | {"pid": str(attempt.pid)}
            facts = [(key, value) for key, value in report.items() if key not in Afterwards.__dataclass_fields__]
            print_facts(out, [("attempt", number), *told.items(), *facts])
            print_lines(out, afterwards_lines(afterwards_in(report)))
