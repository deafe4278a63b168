"""``hudictl compaction``."""

from dataclasses import replace
from typing import Any

import click

from hudictl.cli.complete import instants
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import ChangeOptions, engine_options, idle_option
from hudictl.cli.repairs import run_repair
from hudictl.cli.services import add_list_and_show
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options
from hudictl.errors import Findings
from hudictl.library import changes


@click.group(cls=StrictGroup)
def compaction() -> None:
    """Show compactions and log compactions: what they read and write. Validate and change the plans of pending ones."""


add_list_and_show(
    compaction,
    "compactions",
    lists=(
        "List the compactions, newest first; of a pending one also what it waits for.\n\n"
        "In hudi-cli: `compactions show all`, `compactions showarchived`; in SQL: `show_compaction`."
    ),
    shows=(
        "Show the files that a compaction reads and has written, and whether they are there.\n\n"
        "In hudi-cli: `compaction show`."
    ),
)


@compaction.command()
@click.argument("instant", shell_complete=instants)
@list_options(engine_options)
def validate(given: ListOptions, instant: str) -> None:
    """Show what is wrong with the plan of a pending compaction: no rows if nothing is.

    Each file that it reads must be there and whole; no log with rows may be outside of the plan; its file groups must
    not be replaced, or be in another plan. Ends with 3 if something is wrong.

    In hudi-cli: `compaction validate`.
    """
    with given.table() as table:
        rows = table.services.validate_compaction(instant).kept()
        show_list(given, "compaction validate", table, rows, "the plan is valid")
    wrong = len(list(rows))
    if wrong:
        raise Findings(
            f"the plan of {instant} has {wrong} problem{'s' if wrong > 1 else ''}",
            hint="`hudictl check` names the command that ends it",
        )


@compaction.command()
@click.argument("instant", shell_complete=instants)
@click.option(
    "--group",
    "groups",
    metavar="PARTITION/FILE_ID",
    multiple=True,
    help="Only the operation of this file group. Repeatable. Default: the whole compaction.",
)
@idle_option
@change_options
def unschedule(change: ChangeOptions, instant: str, groups: tuple[str, ...], idle_ms: int) -> None:
    """Remove a pending compaction or log compaction, or take single operations out of its plan.

    The next compaction plans the file groups again. Refused on table version 6 if later writes have put logs into the
    file slices: without the plan, readers would not find their rows. Operations are only taken out of a compaction that
    has not begun; `hudictl undo` takes that back. Stop all writers first: on table version 6, none can begin meanwhile,
    and if one came all the same, the plan stays as it was (12).

    In hudi-cli: `compaction unschedule`, `compaction unscheduleFileId`.
    """
    if groups:
        run_repair(changes.unscheduling(instant, groups, idle_ms), change)
    else:
        _roll_back("compaction unschedule", change, instant, idle_ms=idle_ms)


@compaction.command()
@click.argument("instant", shell_complete=instants)
@idle_option
@change_options
def rebuild_plan(change: ChangeOptions, instant: str, idle_ms: int) -> None:
    """Make the lost plan of a pending compaction again, from the file slices that depend on it.

    Only on table version 6: readers find the logs of later writes by the plan. From version 8 on nothing depends on it:
    `hudictl rollback` removes the compaction, and the next one plans anew.
    """
    _roll_back("compaction rebuild-plan", change, instant, idle_ms=idle_ms, keep_plan=True)


def _roll_back(name: str, change: ChangeOptions, instant: str, **options: Any) -> None:
    from hudictl.cli.change import run_change
    from hudictl.cli.commands.rollback import rollback_change
    from hudictl.ops.rollback.plan import RollbackOptions

    given = RollbackOptions(**options)
    command = replace(rollback_change(name, instant, given), change=changes.pending_compaction(instant, given))
    run_change(command, change)
