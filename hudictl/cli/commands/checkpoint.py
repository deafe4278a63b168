"""``hudictl checkpoint``."""

import click

from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.tree import StrictGroup


@click.group(cls=StrictGroup)
def checkpoint() -> None:
    """Show the checkpoints of Hudi Streamer: how far it had read its source at each commit."""


@checkpoint.command("list")
@list_options(by_time=True)
def list_(given: ListOptions) -> None:
    """List the commits with a checkpoint, newest first.

    After a restore to a commit, Hudi Streamer goes on from the checkpoint of this commit, or of the newest one before
    it that has one.
    """
    table = given.table()
    rows = table.checkpoints(**given.times)
    hidden = () if given.archived else ("timeline",)
    show_list(given, "checkpoint list", table, rows, "no checkpoints", by_time=True, hidden=hidden)
