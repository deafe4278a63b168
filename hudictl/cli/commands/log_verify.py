"""``hudictl log verify``."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from hudictl.cli.options import PATH, EngineOptions, TableOptions, engine_options, stream_options
from hudictl.cli.progress import shown
from hudictl.cli.show import print_by_file, show_stream
from hudictl.cli.tree import StrictCommand
from hudictl.errors import Findings, UsageError
from hudictl.phrases import count_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hudictl.engine.base import Engine
    from hudictl.library.logs import LogFiles
    from hudictl.render.text import Console
    from hudictl.reports.logs.against_timeline import DefectRow
    from hudictl.reports.logs.verify import Verified

_FEW_BYTES = 32 * 1024 * 1024


@click.command(cls=StrictCommand)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=PATH)
@stream_options
@engine_options
def verify(common: TableOptions, engine_options: EngineOptions, paths: tuple[str, ...]) -> None:
    """Check log files: decode every block, compare with the timeline, and print one row for each defect.

    PATH is a log file, a folder with log files, or a quoted pattern. Its table is the nearest table above it in the
    folder tree. Without PATH: all log files of --table and of its metadata table; below version 8, also the log files
    of their archived timelines. PATHs of up to 32 MiB are read without Spark.

    Exit code 3 if a row is an error, else 0. Two things are only warnings: the incomplete end of a running write, and
    content that hudictl cannot decode although Hudi can.
    """
    from hudictl.library.logs import logs_at, logs_of

    if paths:
        if click.get_current_context().get_parameter_source("uri") is ParameterSource.COMMANDLINE:
            raise UsageError("PATHs cannot be used with --table")
        logs = logs_at(paths, common.storage_options, common.timezone)
        uri, engine = logs.table, _engine_for(logs, engine_options)
    else:
        if not common.uri:
            raise UsageError("no log is given", hint="use PATHs, or --table for all logs of a table")
        table = common.table(engine_options)
        uri, engine = table.uri, table.opened.engine
    try:
        if not paths:
            logs = logs_of(table.opened)
        with shown("verify logs", common.progress) as progress:
            found = logs.verify(engine, progress.counter(len(logs.files)))
    finally:
        engine.close()
    notes = logs.notes
    notes.append(_summary(found))
    show_stream(common, "log verify", uri, found.rows, notes, _print)
    if found.errors:
        raise Findings(
            f"{count_of(found.errors, 'error')} in the logs; {count_of(len(found.rows) - found.errors, 'warning')}",
            errors=found.errors,
            warnings=len(found.rows) - found.errors,
        )


def _engine_for(logs: "LogFiles", options: EngineOptions) -> "Engine":
    from hudictl.engine.local import LocalEngine

    # Read before Spark has started.
    if logs.bytes <= _FEW_BYTES:
        return LocalEngine()
    return options.open_at((logs.files[0].storage, logs.files[0].path))


def _summary(found: "Verified") -> str:
    warnings = len(found.rows) - found.errors
    read = [(found.blocks, "block"), (found.records, "record"), (found.log_bytes, "byte")]
    return (
        f"{count_of(found.logs, 'log')} verified: {', '.join(count_of(*entry) for entry in read)}; "
        f"{count_of(found.errors, 'error')}, {count_of(warnings, 'warning')}"
    )


def _print(out: "Console", rows: "Iterable[DefectRow]") -> None:
    print_by_file(
        out, rows, asdict, ["index", "offset", "severity", "defect", "instant", "what"], "no defects", "DefectRow"
    )
