"""``hudictl clean``."""

import click

from hudictl.cli.complete import instants
from hudictl.cli.options import ChangeOptions, idle_option
from hudictl.cli.services import add_list_and_show
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options


@click.group(cls=StrictGroup)
def clean() -> None:
    """Show cleans: what they deleted, and what pending ones will delete. Discard a pending one."""


add_list_and_show(
    clean,
    "cleans",
    lists=(
        "List the cleans, newest first; of a pending one also what it waits for.\n\n"
        "In hudi-cli: `cleans show`; in SQL: `show_cleans`, `show_clean_plans`."
    ),
    shows=(
        "Show the files that a clean has deleted, or will delete, and whether they are there.\n\n"
        "In hudi-cli: `clean showpartitions`."
    ),
)


@clean.command()
@click.argument("instant", shell_complete=instants)
@idle_option
@change_options
def discard(change: ChangeOptions, instant: str, idle_ms: int) -> None:
    """Remove a pending clean: the next clean plans anew.

    Files that it has deleted stay deleted. Refused if the metadata table still lists such files: a Hudi writer finishes
    the clean then.

    In hudi-cli: `repair corrupted clean files`.
    """
    from hudictl.cli.change import run_change
    from hudictl.cli.commands.rollback import service_change
    from hudictl.ops.clean_up.service import ServiceOptions

    run_change(service_change("clean discard", instant, ServiceOptions(idle_ms, discard=True)), change)
