"""``hudictl log records``."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from hudictl.cli.options import PATH, TableOptions, as_of_option, path_options
from hudictl.cli.show import print_by_file, show_stream
from hudictl.cli.tree import StrictCommand
from hudictl.errors import Unreadable, Unsupported, UsageError
from hudictl.phrases import count_of

if TYPE_CHECKING:
    from hudictl.render.text import Console
    from hudictl.reports.logs.records import RecordRow

_FEW = 10
_NOTHING = "no records"


@click.command(cls=StrictCommand)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=PATH)
@click.option("--key", "keys", multiple=True, metavar="KEY", help="Show records with this key only. Repeatable.")
@click.option("--columns", metavar="A,B", help="Show these columns only.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"Show at most N records; 0 shows all. Default: {_FEW} for text, all for JSON.",
)
@click.option(
    "--merged", is_flag=True, help="Show the records of the newest file slices, merged as a query reads them."
)
@as_of_option("With --merged: show the state at this instant.")
@path_options
def records(
    common: TableOptions,
    paths: tuple[str, ...],
    keys: tuple[str, ...],
    columns: str | None,
    limit: int | None,
    merged: bool,
    as_of: str | None,
) -> None:
    """Show the records of log files, block by block, with each block's fate (whether readers use it).

    PATH is a log file, a folder with log files, or a quoted pattern. With --merged: the newest slice of each file
    group, merged as a query reads it; PATH can then also be a base file, and a folder is a whole partition. A delete
    block has deleted keys instead of records: each key is one row.
    """
    from hudictl.library.logs import logs_at

    if as_of is not None and not merged:
        raise UsageError(
            "--as-of can only be used with --merged", hint="without --merged, all blocks of a log file are shown"
        )
    if limit is None and common.output == "text":
        limit = _FEW
    chosen = tuple(name.strip() for name in (columns or "").split(",") if name.strip())
    logs = logs_at(paths, common.storage_options, common.timezone, partitions=merged)
    damaged: list[Unreadable | Unsupported] = []
    rows = logs.merged(keys, chosen, as_of) if merged else logs.records(keys, chosen, damaged)
    print_rows = partial(_print_merged if merged else _print_blocks, bool(chosen))
    notes: list[str] = rows.notes
    show_stream(common, "log records", logs.table, _first(rows, limit, notes), notes, print_rows, data=True)
    if damaged:
        raise damaged[0]


def _first(rows: "Iterable[RecordRow]", limit: int | None, notes: list[str]) -> "Iterator[RecordRow]":
    for number, row in enumerate(rows):
        if limit and number == limit:
            notes.append(f"shown: the first {count_of(limit, 'record')}; --limit 0 shows all")
            return
        yield row


def _print_blocks(chosen: bool, out: "Console", rows: "Iterable[RecordRow]") -> None:
    from hudictl.render.log_records import BLOCK_COLUMNS, record_line

    print_by_file(out, rows, partial(record_line, chosen=chosen), BLOCK_COLUMNS, _NOTHING, "RecordRow")


def _print_merged(chosen: bool, out: "Console", rows: "Iterable[RecordRow]") -> None:
    from hudictl.render.log_records import MERGED_COLUMNS, record_line
    from hudictl.render.text import print_table

    print_table(out, [record_line(row, chosen) for row in rows], MERGED_COLUMNS, _NOTHING, "MergedRow")
