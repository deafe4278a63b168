"""``hudictl partition``."""

import click

from hudictl.cli.complete import partitions as complete
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import ChangeOptions, engine_options
from hudictl.cli.repairs import run_repair
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options
from hudictl.library import changes


@click.group(cls=StrictGroup)
def partition() -> None:
    """Show the partitions of a table, and mend their metafiles."""


@partition.command("list")
@list_options(engine_options)
def list_(given: ListOptions) -> None:
    """List the partitions: their files and last write, and whether readers see them.

    State: used, dropped (each file group is replaced), empty (no data files), or missing (listed in the metadata table,
    but not on storage). In hudi-cli: `metadata list-partitions`.
    """
    with given.table() as table:
        show_list(given, "partition list", table, table.partitions(), "no partitions")


@partition.command()
@click.argument("paths", metavar="[PARTITION]...", nargs=-1, shell_complete=complete)
@change_options
def repair(change: ChangeOptions, paths: tuple[str, ...]) -> None:
    """Write the metafiles (.hoodie_partition_metadata) again that are missing or damaged: all, or those of PARTITION.

    A missing one is written if readers need a file of the partition. One in the base file format is refused: Hudi's
    next write into the partition creates it.

    `hudictl undo` takes it back. In hudi-cli: `repair addpartitionmeta`.
    """
    run_repair(changes.metafile_repair(paths), change)
