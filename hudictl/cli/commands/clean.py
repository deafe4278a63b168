"""``hudictl clean``."""

import click

from hudictl.cli.services import add_list_and_show
from hudictl.cli.tree import StrictGroup


@click.group(cls=StrictGroup)
def clean() -> None:
    """Show cleans: what they deleted, and what pending ones will delete."""


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
