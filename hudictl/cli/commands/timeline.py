"""``hudictl timeline``."""

from dataclasses import replace

import click

from hudictl.cli.complete import instants
from hudictl.cli.lists import time_of
from hudictl.cli.options import TableOptions, table_options
from hudictl.cli.show import show_rows, text_output
from hudictl.cli.streams import emit_parts
from hudictl.cli.tree import StrictGroup
from hudictl.errors import Unreadable
from hudictl.formats.instants import ACTIONS
from hudictl.render.json import envelope


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
    type=click.Choice(["requested", "inflight", "completed"]),
    help="Show this state only. Repeatable.",
)
@click.option(
    "--since", metavar="TIME", help="Show instants from this time on: 20261121, 2026-11-21T03:00, or an age (2h)."
)
@click.option("--until", metavar="TIME", help="Show instants up to this time (included): a time, a date or an age.")
@click.option("--limit", type=click.IntRange(min=0), help="Show the newest N instants.")
@click.option("--desc", is_flag=True, help="Show the newest instant first.")
@click.option("--archived", is_flag=True, help="Include archived instants.")
@table_options
def show(
    common: TableOptions,
    actions: tuple[str, ...],
    states: tuple[str, ...],
    since: str | None,
    until: str | None,
    limit: int | None,
    desc: bool,
    archived: bool,
) -> None:
    """Show the active timeline, oldest instant first.

    With --archived, archived instants are included. The column `timeline` then shows active, archived, or both
    (archiving was interrupted). In hudi-cli: `commits show --includeArchivedTimeline`.
    """
    from hudictl.reports.timeline import TimelineFilter, TimelineRow, timeline_rows

    table = common.open()
    wanted = TimelineFilter(actions, states, limit=limit, descending=desc, archived=archived)
    wanted = replace(wanted, since=time_of(table, since, "--since")) if since else wanted
    wanted = replace(wanted, until=time_of(table, until, "--until")) if until else wanted
    rows = timeline_rows(table, wanted)
    if not common.json:
        # One column for eyes: only writes have an operation, and only other actions a detail.
        rows = [replace(row, operation=row.detail) if row.detail and not row.operation else row for row in rows]
    hidden = ("target", "detail") if archived else ("timeline", "target", "detail")
    show_rows(common, "timeline show", table.uri, rows, TimelineRow, "no instants", hidden)


@timeline.command()
@click.argument("instant", shell_complete=instants())
@table_options
def inspect(common: TableOptions, instant: str) -> None:
    """Show the contents of an instant's files, active and archived: all actions and states of this instant time.

    The text output shows sums by partition; --output json shows the full contents. If a file cannot be read, the other
    files are shown, and the exit code is 14.
    """
    from hudictl.render.records import print_contents
    from hudictl.reports.instant import inspect_instant

    table = common.open()
    found = inspect_instant(table, instant)
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
