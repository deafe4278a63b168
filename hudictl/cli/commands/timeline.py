"""``hudictl timeline``."""

import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from hudictl.cli.complete import instants
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import (
    PATH,
    ChangeOptions,
    EngineOptions,
    TableOptions,
    engine_options,
    idle_option,
    table_options,
)
from hudictl.cli.progress import shown
from hudictl.cli.repairs import run_repair
from hudictl.cli.show import show_result, text_output
from hudictl.cli.streams import emit, emit_parts
from hudictl.cli.to_copy import to_copy
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options, settings_options
from hudictl.errors import Unreadable, UsageError
from hudictl.formats.instants import ACTIONS
from hudictl.library import changes
from hudictl.render.json import envelope
from hudictl.render.words import size
from hudictl.table.settings import SMALL_FILE_LIMIT

if TYPE_CHECKING:
    from hudictl.library.table import HudiTable
    from hudictl.reports.timeline_bars import Bars
    from hudictl.reports.timeline_report import TimelineReport
    from hudictl.table.settings import Settings

_PIPE = 100
"""Columns of a graph that is no terminal's."""


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
@click.option("--graph", "graphic", is_flag=True, help="Draw bars by action, in the terminal's width.")
@click.option(
    "--watch", type=click.FloatRange(min=0.2), metavar="SECONDS", help="Show it again every SECONDS, until Ctrl-C."
)
@list_options(by_time=True)
def show(
    given: ListOptions,
    actions: tuple[str, ...],
    states: tuple[str, ...],
    with_metadata_table: bool,
    graphic: bool,
    watch: float | None,
) -> None:
    """Show the active timeline, newest instant first.

    With --archived, archived instants are included. The column `timeline` then shows active, archived, or both
    (archiving was interrupted).

    --graph: a row for each action, from request to completion; a page with more is `hudictl timeline report`.

    In hudi-cli: `timeline show active`, `timeline show incomplete`; in SQL: `show_timeline`.
    """
    if watch is not None and given.common.output != "text":
        raise UsageError("--watch goes with --output text")
    if graphic and (given.common.output != "text" or given.where or given.columns or given.sort or given.relative):
        raise UsageError("--graph goes with --output text, without --where, --columns, --sort and --relative")
    table, none = given.table(), "no such instants" if actions or states else "no instants"

    def once() -> None:
        if graphic:
            bars = table.pictures.bars(actions, states, given.limit, metadata=with_metadata_table, **given.times)
            _show_graph(given.common, bars, given.empty(none), zone_known=table.core.zone is not None)
            bars.tell_damaged()
        elif with_metadata_table:
            pairs = table.timeline_pairs(actions, states, **given.times)
            show_list(given, "timeline show", table, pairs, none, by_time=True)
        else:
            _show(given, table, actions, states, none)

    if watch is None:
        once()
        return
    with suppress(KeyboardInterrupt):
        while True:
            click.clear()
            once()
            time.sleep(watch)


def _show(given: ListOptions, table: "HudiTable", actions: Sequence[str], states: Sequence[str], none: str) -> None:
    # Then no others are read.
    first = not given.times["ascending"] and not given.where and given.sort is None
    rows = table.timeline(actions, states, given.limit if first else None, **given.times)
    if given.common.output == "text":
        read = rows
        # One column for eyes: only writes have an operation, and only other actions a detail.
        rows = replace(
            read,
            make=lambda: (
                replace(row, operation=row.detail) if row.detail and not row.operation else row for row in read
            ),
        )
    hidden = ("target", "detail") if given.archived else ("timeline", "target", "detail")
    show_list(given, "timeline show", table, rows, none, by_time=True, hidden=hidden)


def _show_graph(common: TableOptions, bars: "Bars", none: str, *, zone_known: bool) -> None:
    from hudictl.render.graph import graph, signs_for
    from hudictl.render.text import judged, print_facts, print_lines

    with text_output(common.color) as out:
        # A pipe has no width.
        width = out.width if sys.stdout.isatty() else _PIPE
        found = graph(bars, width, signs_for(sys.stdout.encoding), zone_known=zone_known)
        if found is None:
            print_lines(out, [none])
            return
        rows = [
            (row.name, judged(row.cells, good=True, doubtful=True) if row.pending else row.cells) for row in found.rows
        ]
        print_facts(out, [("", found.head), *rows])
        print_lines(out, found.notes)


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


@timeline.command()
@click.option(
    "--html", "file", required=True, metavar="FILE", type=PATH, help="Write the page here; - is standard output."
)
@click.option(
    "--since", metavar="TIME", help="Instants from this time on: 20261121, 2026-11-21T03:00, or an age (2h, 3d)."
)
@click.option("--archived", is_flag=True, help="Include archived instants.")
@click.option("--quick", is_flag=True, help="List no data files: without the findings of `check`, and sizes of files.")
@click.option(
    "--small-file-limit", metavar="BYTES", default=SMALL_FILE_LIMIT, help="As hoodie.parquet.small.file.limit."
)
@idle_option
@table_options
@engine_options
@settings_options
def report(
    common: TableOptions,
    engine_options: EngineOptions,
    settings: "Settings",
    idle_ms: int,
    file: str,
    since: str | None,
    archived: bool,
    quick: bool,
    small_file_limit: int,
) -> None:
    """Make a picture of the table: one HTML page that opens in a browser without a network.

    It shows what happened when, what is pending and what it blocks, the findings of `check` with their commands,
    savepoints and what they hold back, writers and locks, sizes of files, and growth. It shows names of files and
    partitions, users and comments of savepoints, and no rows.

    A page of this command is replaced; another file is not (exit code 13). A part that cannot be read is left out: the
    page says so, and the exit code is 14.
    """
    from hudictl.render.timeline_page import write_page
    from hudictl.reports.timeline_report import ReportWritten

    if file == "-" and common.json:
        raise UsageError("--html - does not go with --output json", hint="give the page a file")
    with shown("report", common.progress) as progress, common.table(engine_options, monitor=progress) as table:
        made = table.pictures.report(
            settings,
            quick=quick,
            idle_ms=idle_ms,
            small_file_limit=small_file_limit,
            since=since,
            archived=archived,
        )
        found = _to_copy(made)
        page = table.pictures.page(found)
    if file == "-":
        emit(page, nl=False, data=True)
    else:
        write_page(file, page)
        instants = sum(len(lane.bars) for lane in found.bars.lanes)
        done = ReportWritten(
            file, len(page.encode()), instants, len(found.pending), len(found.found.findings) if found.found else None
        )
        show_result(
            common, "timeline report", table.uri, done, [f"wrote {file} ({size(done.bytes)}): open it in a browser"]
        )
    if found.problems:
        raise Unreadable(
            f"not on the page: {'; '.join(found.problems)}", hint="all else is on it", problems=list(found.problems)
        )


def _to_copy(found: "TimelineReport") -> "TimelineReport":
    """With whole commands. The bars have none, and can be very many."""
    copied = to_copy()
    return replace(
        found, table=copied.all_of(found.table), pending=copied.all_of(found.pending), found=copied.all_of(found.found)
    )


@timeline.command()
@click.argument("instant", shell_complete=instants)
@idle_option
@change_options
def quarantine(change: ChangeOptions, instant: str, idle_ms: int) -> None:
    """Mend the damaged files of an instant: a sound instant is never touched.

    What cannot be read goes into quarantine, and what other files prove takes its place: the whole half of a doubled
    file; the metadata of a commit by its data files; the result of a clean by its plan; the files of a savepoint. The
    plan says what is lost, and what is not proven. `hudictl undo` takes it back.
    """
    run_repair(changes.quarantine(instant, idle_ms), change)
