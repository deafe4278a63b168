"""``hudictl indexing``."""

import click

from hudictl.cli.services import add_list_and_show
from hudictl.cli.tree import StrictGroup


@click.group(cls=StrictGroup)
def indexing() -> None:
    """Show indexings: the indexes that they build."""


add_list_and_show(
    indexing,
    "indexings",
    lists="List the indexings, newest first; of a pending one also what it waits for.",
    shows="Show the indexes of an indexing.",
)
