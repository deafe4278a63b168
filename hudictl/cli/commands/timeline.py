"""``hudictl timeline``."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from hudictl.cli.complete import instants
from hudictl.cli.options import TableOptions, duration_ms, table_options
from hudictl.cli.show import show_rows, text_output
from hudictl.cli.streams import emit_parts
from hudictl.cli.tree import StrictGroup
from hudictl.errors import Unreadable, UsageError
from hudictl.formats.instants import ACTIONS
from hudictl.render.json import envelope

if TYPE_CHECKING:
    from hudictl.table.table import Table


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
    wanted = replace(wanted, since=_time(table, since, "--since")) if since else wanted
    wanted = replace(wanted, until=_time(table, until, "--until")) if until else wanted
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


def _time(table: "Table", text: str, option: str) -> str:
    """The beginning of an instant time, in the table's zone, of a date, a time, or an age."""
    if re.fullmatch(r"\d+[smhd]", text):
        from hudictl.formats.instants import time_plus_ms
        from hudictl.table.timeline.active import instant_now

        days = text.endswith("d")
        return time_plus_ms(instant_now(table), -duration_ms(f"{int(text[:-1]) * 24}h" if days else text, option))
    digits = re.sub(r"[-:T. ]", "", text)
    if not digits.isdigit() or len(digits) < 4:
        raise UsageError(
            f"{option} {text}: not a time",
            hint="write it as 20261121, 20261121030000000 or 2026-11-21T03:00; 2h means 2 hours ago",
        )
    return digits
