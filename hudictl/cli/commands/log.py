"""``hudictl log``."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from hudictl.cli.commands.file import slices
from hudictl.cli.commands.log_records import records
from hudictl.cli.commands.log_verify import verify
from hudictl.cli.complete import instants, partitions
from hudictl.cli.options import PATH, EngineOptions, TableOptions, engine_options, stream_options
from hudictl.cli.show import show_stream
from hudictl.cli.tree import StrictGroup, hidden
from hudictl.errors import UsageError

if TYPE_CHECKING:
    from hudictl.render.text import Console
    from hudictl.reports.logs.blocks import BlockRow
    from hudictl.table.logs.reader import LogFile


@click.group(cls=StrictGroup)
def log() -> None:
    """Show and verify log files."""


log.add_command(records)
log.add_command(verify)
log.add_command(hidden(slices))


@log.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=PATH)
@click.option(
    "--partition", metavar="PARTITION", shell_complete=partitions, help="Log files of this partition of --table."
)
@click.option("--file-id", metavar="ID", help="Log files of this file group of --table.")
@click.option(
    "--instant",
    metavar="INSTANT",
    shell_complete=instants(),
    help="Log files with a block of this instant, or with a rollback block for this instant.",
)
@stream_options
@engine_options
def inspect(
    common: TableOptions,
    engine_options: EngineOptions,
    paths: tuple[str, ...],
    partition: str | None,
    file_id: str | None,
    instant: str | None,
) -> None:
    """Show each block of log files, from its header: type, position, instant, and fate (whether readers use it).

    PATH is a log file, a folder with log files, or a quoted pattern. Its table is the nearest Hudi table
    above it in the folder tree; this can be a metadata table. Log files of the archived timeline can also be inspected.
    """
    from hudictl.library.logs import logs_at, logs_of
    from hudictl.reports.logs.blocks import LogSelection

    wanted = LogSelection(partition, file_id, instant)
    if paths:
        _refuse_table(wanted != LogSelection())
        logs = logs_at(paths, common.storage_options, common.timezone)
        uri = logs.table
    else:
        if wanted == LogSelection() or not common.uri:
            raise UsageError("no log is given", hint="use PATHs, or --table with --partition, --file-id or --instant")
        with common.table(engine_options) as table:
            uri, logs = table.uri, logs_of(table.opened, wanted)
    rows = logs.blocks()
    show_stream(common, "log inspect", uri, rows, rows.notes, lambda out, found: _print_blocks(out, found, logs.files))


def _refuse_table(selecting: bool) -> None:
    """Raises UsageError: PATHs and a table are named."""
    source = click.get_current_context().get_parameter_source("uri")
    if selecting or source is ParameterSource.COMMANDLINE:
        raise UsageError("PATHs cannot be used with --table, --partition, --file-id or --instant")


def _print_blocks(out: "Console", rows: "Iterable[BlockRow]", logs: "Sequence[LogFile]") -> None:
    """A table for each log, under its path."""
    from hudictl.render.log_blocks import BlockLine, block_line, totals_line
    from hudictl.render.text import print_lines, print_table
    from hudictl.reports.logs.blocks import Totals, counted

    totals = Totals()
    one_table = len({log.storage.uri for log in logs}) == 1
    for (table, file), found in groupby(counted(rows, totals), key=lambda row: (row.table, row.file)):
        print_lines(out, [file if one_table or table is None else f"{table}/{file}"])
        print_table(
            out, [asdict(block_line(row)) for row in found], list(BlockLine.__dataclass_fields__), "", "BlockLine"
        )
        print_lines(out, [""])
    print_lines(out, [totals_line(len(logs), totals)])
