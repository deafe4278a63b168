"""``hudictl partition``."""

from typing import TYPE_CHECKING

import click

from hudictl.cli.change import ChangeCommand, Question, run_change
from hudictl.cli.complete import partitions as complete
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import ChangeOptions, EngineOptions, TableOptions, engine_options, table_options
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options
from hudictl.phrases import count_of

if TYPE_CHECKING:
    from hudictl.ops.clean_up.metafiles import MetafilePlan


@click.group(cls=StrictGroup)
def partition() -> None:
    """Show the partitions of a table, and mend their metafiles."""


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


@partition.command()
@click.argument("paths", metavar="[PARTITION]...", nargs=-1, shell_complete=complete)
@table_options
@engine_options
@change_options
def repair(common: TableOptions, engine_options: EngineOptions, change: ChangeOptions, paths: tuple[str, ...]) -> None:
    """Write the metafiles (.hoodie_partition_metadata) again that are missing or damaged: all, or those of PARTITION.

    A missing one is written if readers need a file of the partition. One in the base file format is refused: Hudi's
    next write into the partition creates it.

    In hudi-cli: `repair addpartitionmeta`.
    """
    run_change(_repair_change(paths), common, change, engine_options)


def _repair_change(paths: tuple[str, ...]) -> "ChangeCommand[MetafilePlan, MetafilePlan]":
    from hudictl.library import changes
    from hudictl.render.locks import lock_line
    from hudictl.render.text import print_lines

    def said(plan: "MetafilePlan") -> str:
        return count_of(len(plan.partitions), "partition metafile")

    return ChangeCommand(
        name="partition repair",
        change=changes.metafile_repair(paths),
        show=lambda out, plan: print_lines(
            out, [*(f"{row.partition or '.'}: {row.problem}" for row in plan.partitions), lock_line(plan.lock)]
        ),
        shown_first=True,
        question=lambda plan: Question(f"Write {said(plan)}?"),
        done=lambda _plan, result: f"wrote {said(result)}",
    )
