"""``hudictl clustering``."""

import click

from hudictl.cli.services import add_list_and_show
from hudictl.cli.tree import StrictGroup


@click.group(cls=StrictGroup)
def clustering() -> None:
    """Show clusterings: what they read, write and replace."""


add_list_and_show(
    clustering,
    "clusterings",
    lists=(
        "List the clusterings, newest first; of a pending one also what it waits for.\n\nIn SQL: `show_clustering`."
    ),
    shows="Show the files that a clustering reads and has written, and whether they are there.",
)
