"""``hudictl log``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from hudictl.cli.options import EngineOptions, TableOptions, engine_options, stream_options, table_options
from hudictl.cli.show import show_blocks, show_rows
from hudictl.errors import UsageError

if TYPE_CHECKING:
    from hudictl.engine.base import Engine
    from hudictl.table.table import Table


@click.group()
def log() -> None:
    """Log files: their blocks, records, and the slices that they belong to."""


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
    from hudictl.ops.log_inspect import Selection, inspect_logs, select_logs
    from hudictl.table.log_reader import find_logs

    wanted = Selection(partition, file_id, instant)
    notes: list[str] = []
    if paths:
        _refuse_both(wanted != Selection())
        logs, notes = find_logs(paths, common.storage_options, common.timezone)
        found = {entry.table.uri for entry in logs if entry.table is not None}
        uri = found.pop() if len(found) == 1 and all(entry.table for entry in logs) else None
    else:
        if wanted == Selection() or not common.uri:
            raise UsageError(
                "no log is named", hint="name PATHs, or --table with --partition, --file-id or --instant"
            )
        table = common.open()
        uri = table.uri
        with _engine(engine_options, table) as engine:
            logs = select_logs(table, wanted, engine)
    show_blocks(common, "log inspect", uri, inspect_logs(logs, notes), len(logs), notes)
