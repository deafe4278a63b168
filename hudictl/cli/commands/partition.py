"""``hudictl partition``."""

import click

from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import EngineOptions, TableOptions, engine_options
from hudictl.cli.tree import StrictGroup


@click.group(cls=StrictGroup)
def partition() -> None:
    """Show the partitions of a table."""


@partition.command("list")
@list_options()
@engine_options
def list_(common: TableOptions, given: ListOptions, engine_options: EngineOptions) -> None:
    """List the partitions: their files and last write, and whether readers see them.

    State: used, dropped (each file group is replaced), empty (no data files), or missing (listed in the metadata table,
    but not on storage). In hudi-cli: `metadata list-partitions`.
    """
    with common.table(engine_options) as table:
        show_list(common, given, "partition list", table, table.partitions(), "no partitions")
