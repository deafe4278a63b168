"""``hudictl compaction``."""

import click

from hudictl.cli.services import add_list_and_show
from hudictl.cli.tree import StrictGroup


@click.group(cls=StrictGroup)
def compaction() -> None:
    """Show compactions and log compactions: what they read and write."""


add_list_and_show(
    compaction,
    "compactions",
    lists=(
        "List the compactions, newest first; of a pending one also what it waits for.\n\n"
        "In hudi-cli: `compactions show all`, `compactions showarchived`; in SQL: `show_compaction`."
    ),
    shows=(
        "Show the files that a compaction reads and has written, and whether they are there.\n\n"
        "In hudi-cli: `compaction show`, `compaction validate`."
    ),
)
