"""``hudictl log``."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from hudictl.cli.commands.log_records import records
from hudictl.cli.commands.log_verify import verify
from hudictl.cli.options import EngineOptions, TableOptions, as_of_option, engine_options, stream_options, table_options
from hudictl.cli.show import show_rows, show_stream
from hudictl.errors import UsageError

if TYPE_CHECKING:
    from hudictl.render.text import Console
    from hudictl.reports.logs.blocks import BlockRow
    from hudictl.table.log_reader import LogFile


@click.group()
def log() -> None:
    """Log files: their blocks, records, and the slices that they belong to."""


log.add_command(records)
log.add_command(verify)


@log.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--partition", metavar="PARTITION", help="The logs of one partition path of --table.")
@click.option("--file-id", metavar="ID", help="The logs of one file group of --table.")
@click.option("--instant", metavar="INSTANT", help="The logs with a block of this instant, or one that takes it back.")
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
    """Shows every block of some logs, from the headers alone: type, place, instant, and whether readers count it.

    PATH is a log, a folder with logs, or a quoted pattern; its table is the nearest folder above it, also a metadata
    table. Logs of the archived timeline can be inspected, too.
    """
    from hudictl.reports.logs.blocks import Selection, inspect_logs, select_logs
    from hudictl.table.log_reader import find_logs

    wanted = Selection(partition, file_id, instant)
    notes: list[str] = []
    if paths:
        _refuse_table(wanted != Selection())
        logs, notes = find_logs(paths, common.storage_options, common.timezone)
        tables = {entry.table.uri if entry.table else None for entry in logs}
        uri = tables.pop() if len(tables) == 1 else None
    else:
        if wanted == Selection() or not common.uri:
            raise UsageError("no log is named", hint="name PATHs, or --table with --partition, --file-id or --instant")
        table = common.open()
        uri = table.uri
        engine = engine_options.open(table)
        try:
            logs = select_logs(table, wanted, engine)
        finally:
            engine.close()
    rows = inspect_logs(logs, notes)
    show_stream(common, "log inspect", uri, rows, notes, lambda out, found: _print_blocks(out, found, logs))


def _refuse_table(selecting: bool) -> None:
    """Raises UsageError: PATHs and a table are named."""
    source = click.get_current_context().get_parameter_source("uri")
    if selecting or source is ParameterSource.COMMANDLINE:
        raise UsageError("PATHs do not go with --table, --partition, --file-id and --instant")


def _print_blocks(out: "Console", rows: "Iterable[BlockRow]", logs: "Sequence[LogFile]") -> None:
    """A table for each log, under its path."""
    from hudictl.render.log_blocks import BlockLine, block_line, totals_line
    from hudictl.render.text import print_lines, print_table
    from hudictl.reports.logs.blocks import Totals, counted

    totals = Totals()
    one_table = len({log.storage.uri for log in logs}) == 1
    for (table, file), found in groupby(counted(rows, totals), key=lambda row: (row.table, row.file)):
        print_lines(out, [file if one_table or table is None else f"{table}/{file}"])
        print_table(out, [asdict(block_line(row)) for row in found], list(BlockLine.__dataclass_fields__), "")
        print_lines(out, [""])
    print_lines(out, [totals_line(len(logs), totals)])


@log.command()
@click.option("--partition", metavar="PARTITION", help="Only this partition path: one listing, and no Spark.")
@as_of_option("Only what instants up to this one wrote.")
@table_options
@engine_options
def slices(common: TableOptions, engine_options: EngineOptions, partition: str | None, as_of: str | None) -> None:
    """Lists file groups with their slices: base file, logs, and what a compaction would read."""
    from hudictl.render.slices import compaction_lines
    from hudictl.reports.logs.slices import SliceRow, files_of_partition, files_of_table, slice_rows
    from hudictl.table.timeline import load_timeline

    table = common.open()
    timeline = load_timeline(table)
    engine = engine_options.open(table)
    try:
        files = files_of_table(table, timeline, engine) if partition is None else files_of_partition(table, partition)
    finally:
        engine.close()
    rows = slice_rows(table, files, timeline, as_of)
    lines = () if common.json else compaction_lines(rows)
    show_rows(common, "log slices", table.uri, rows, SliceRow, "no file slices", hidden=("logs",), notes=lines)
