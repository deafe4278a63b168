"""``hudictl timeline``."""

import re
from dataclasses import replace

import click

from hudictl.cli.options import TableOptions, table_options
from hudictl.cli.show import emit, show_rows, text_output
from hudictl.errors import Unreadable, UsageError
from hudictl.formats.instants import ACTIONS
from hudictl.render.json import envelope


@click.group()
def timeline() -> None:
    """The table's instants."""


@timeline.command()
@click.option(
    "--action",
    "actions",
    multiple=True,
    type=click.Choice(sorted(ACTIONS)),
    metavar="ACTION",
    help="Only this one, as commit or savepoint; repeatable.",
)
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(["requested", "inflight", "completed"]),
    help="Only these; repeatable.",
)
@click.option("--since", metavar="TIME", help="From this instant time or date on, as 20261121 or 2026-11-21T03:00.")
@click.option("--until", metavar="TIME", help="Up to this instant time or date, included.")
@click.option("--limit", type=click.IntRange(min=0), help="At most so many.")
@click.option("--desc", is_flag=True, help="Newest first.")
@click.option("--archived", is_flag=True, help="Also the instants that Hudi has archived.")
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
    """Shows the active timeline, oldest first; with --archived the whole history.

    A column then says where an instant is: active, archived, or both, where its archival was interrupted. hudi-cli has
    this as `commits show --includeArchivedTimeline`.
    """
    from hudictl.reports.timeline import TimelineFilter, TimelineRow, timeline_rows

    wanted = TimelineFilter(actions, states, limit=limit, descending=desc, archived=archived)
    wanted = replace(wanted, since=_time(since, "--since")) if since else wanted
    wanted = replace(wanted, until=_time(until, "--until")) if until else wanted
    table = common.open()
    rows = timeline_rows(table, wanted)
    hidden = () if archived else ("timeline",)
    show_rows(common, "timeline show", table.uri, rows, TimelineRow, "no instants", hidden)


@timeline.command()
@click.argument("instant")
@table_options
def inspect(common: TableOptions, instant: str) -> None:
    """Shows what the files of an instant say: all actions of that time, in any state, active and archived.

    Text sums up by partition; --output json gives each file's record whole. Ends with 14 where a file cannot be read,
    after showing the others.
    """
    from hudictl.render.records import print_contents
    from hudictl.reports.instant import inspect_instant

    table = common.open()
    found = inspect_instant(table, instant)
    if common.json:
        emit(envelope("timeline inspect", table.uri, result=found))
    else:
        with text_output(common.color) as out:
            print_contents(out, found)
    if found.problems:
        raise Unreadable(
            f"not all of {instant} can be read: {'; '.join(found.problems)}",
            hint="what can be read was shown",
            problems=list(found.problems),
        )


def _time(text: str, option: str) -> str:
    digits = re.sub(r"[-:T. ]", "", text)
    if not digits.isdigit() or len(digits) < 4:
        raise UsageError(
            f"{option} {text}: no time", hint="write it as 20261121, 20261121030000000 or 2026-11-21T03:00"
        )
    return digits
