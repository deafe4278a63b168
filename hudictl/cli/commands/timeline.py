"""``hudictl timeline``."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from hudictl.cli.complete import instants
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import TableOptions, table_options
from hudictl.cli.show import text_output
from hudictl.cli.streams import emit_parts
from hudictl.cli.tree import StrictGroup
from hudictl.errors import Unreadable, UsageError
from hudictl.formats.instants import ACTIONS
from hudictl.render.json import envelope

if TYPE_CHECKING:
    from hudictl.library.table import HudiTable


@click.group(cls=StrictGroup)
def timeline() -> None:
    """Show the instants of a table."""


@timeline.command()
@click.option(
    "--action",
    "actions",
    multiple=True,
    type=click.Choice(sorted(ACTIONS)),
    metavar="ACTION",
    help="Show this action only, for example commit or savepoint. Repeatable.",
)
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(["requested", "inflight", "completed"], case_sensitive=False),
    help="Show this state only. Repeatable.",
)
@click.option("--with-metadata-table", is_flag=True, help="Show the metadata table's instants beside the table's own.")
@click.option(
    "--watch", type=click.FloatRange(min=0.2), metavar="SECONDS", help="Show it again every SECONDS, until Ctrl-C."
)
@list_options(by_time=True)
def show(
    common: TableOptions,
    given: ListOptions,
    actions: tuple[str, ...],
    states: tuple[str, ...],
    with_metadata_table: bool,
    watch: float | None,
) -> None:
    """Show the active timeline, newest instant first.

    With --archived, archived instants are included. The column `timeline` then shows active, archived, or both
    (archiving was interrupted).

    In hudi-cli: `timeline show active`, `timeline show incomplete`; in SQL: `show_timeline`.
    """
    if watch is not None and common.output != "text":
        raise UsageError("--watch goes with --output text")
    table = common.table()

    def once() -> None:
        if with_metadata_table:
            pairs = table.timeline_pairs(actions, states, **given.times)
            show_list(common, given, "timeline show", table, pairs, "no instants", by_time=True)
        else:
            _show(common, given, table, actions, states)

    if watch is None:
        once()
        return
    with suppress(KeyboardInterrupt):
        while True:
            click.clear()
            once()
            time.sleep(watch)


def _show(
    common: TableOptions, given: ListOptions, table: "HudiTable", actions: Sequence[str], states: Sequence[str]
) -> None:
    # Then no others are read.
    first = not given.times["ascending"] and not given.where and given.sort is None
    rows = table.timeline(actions, states, given.limit if first else None, **given.times)
    if common.output == "text":
        read = rows
        # One column for eyes: only writes have an operation, and only other actions a detail.
        rows = replace(
            read,
            make=lambda: [
                replace(row, operation=row.detail) if row.detail and not row.operation else row for row in read
            ],
        )
    hidden = ("target", "detail") if given.archived else ("timeline", "target", "detail")
    show_list(common, given, "timeline show", table, rows, "no instants", by_time=True, hidden=hidden)


@timeline.command()
@click.argument("instant", shell_complete=instants())
@table_options
def inspect(common: TableOptions, instant: str) -> None:
    """Show the contents of an instant's files, active and archived: all actions and states of this instant time.

    The text output shows sums by partition; --output json shows the full contents. If a file cannot be read, the other
    files are shown, and the exit code is 14.
    """
    from hudictl.render.records import print_contents

    table = common.table()
    found = table.instant(instant)
    if common.json:
        emit_parts(envelope("timeline inspect", table.uri, result=found))
    else:
        with text_output(common.color) as out:
            print_contents(out, found)
    if found.problems:
        raise Unreadable(
            f"some files of {instant} cannot be read: {'; '.join(found.problems)}",
            hint="the readable files were shown",
            problems=list(found.problems),
        )
