"""``hudictl clustering``."""

import click

from hudictl.cli.complete import instants
from hudictl.cli.options import PATH, ChangeOptions, idle_option
from hudictl.cli.repairs import run_repair
from hudictl.cli.services import add_list_and_show
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options
from hudictl.library import changes


@click.group(cls=StrictGroup)
def clustering() -> None:
    """Show clusterings: what they read, write and replace. Prune the plan of a pending one."""


add_list_and_show(
    clustering,
    "clusterings",
    lists=(
        "List the clusterings, newest first; of a pending one also what it waits for.\n\nIn SQL: `show_clustering`."
    ),
    shows="Show the files that a clustering reads and has written, and whether they are there.",
)


@clustering.command()
@click.argument("instant", shell_complete=instants)
@click.option(
    "--file",
    "files",
    metavar="PATH",
    type=PATH,
    multiple=True,
    help="Only the input groups with this file: its name, or its path below the table. Repeatable.",
)
@idle_option
@change_options
def prune(change: ChangeOptions, instant: str, files: tuple[str, ...], idle_ms: int) -> None:
    """Take input groups out of the plan of a requested clustering: those that cannot be run, or must not be.

    These are input groups with a file that is missing or damaged, and those that a commit has changed since: the run
    would bring the rows of before back. The clustering is removed if none is left. `hudictl undo` takes it back.
    """
    run_repair(changes.pruning(instant, files, idle_ms), change)
