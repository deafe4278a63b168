"""``hudictl failed-writes``."""

from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

import click

from hudictl.cli.change import opened_table
from hudictl.cli.commands.rollback import rollback_options, run_rollbacks
from hudictl.cli.keeping import Keeping, keeping_options
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import ChangeOptions, accept_lost_option, idle_option
from hudictl.cli.pace import Pace, pace_options
from hudictl.cli.show import show_rows
from hudictl.cli.to_copy import to_copy
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options, heartbeat_options
from hudictl.errors import Incomplete
from hudictl.render.json import ChangeOutcome

if TYPE_CHECKING:
    from hudictl.state.writers.failed_writes import PendingWrite

# What eyes find in the reason, or in --output json.
_HIDDEN = (
    "clustering",
    "age_ms",
    "heartbeat_age_ms",
    "marker_type",
    "markers_partial",
    "writers_can_start",
    "eager_only",
    "rollback",
    "restore",
    "reason",
    "remedy",
)


@click.group("failed-writes", cls=StrictGroup)
def failed_writes() -> None:
    """Find failed writes, and roll them back."""


@failed_writes.command("list")
@idle_option
@list_options(heartbeat_options)
def list_(given: ListOptions, idle_ms: int) -> None:
    """List the pending writes, newest first, with a verdict: running, failed or unknown.

    Running: its heartbeat is live. Failed: its heartbeat has expired. Unknown: usually it has no heartbeat, as with
    eager clean-up of failed writes (Hudi's default for a single writer).
    """
    table = given.table()
    complete = to_copy()
    rows = given.ordered(table.writers.failed_writes(idle_ms)).kept()
    rows = replace(rows, make=partial(complete.all_of, list(rows)))
    reasons = [_in_words(row) for row in rows] if given.common.output == "text" and given.whole else []
    notes = (*reasons, *map(complete.text, rows.notes))
    show_list(given, "failed-writes list", table, rows, "no pending writes", by_time=True, hidden=_HIDDEN, notes=notes)


@failed_writes.command()
@click.option(
    "--policy",
    type=click.Choice(["lazy", "eager"]),
    default="lazy",
    show_default=True,
    help="Which writes to roll back. lazy: those with an expired heartbeat. eager: all without activity for --idle.",
)
@click.option("--strict", is_flag=True, help="Exit code 3 if a write was not rolled back because its state is unknown.")
@accept_lost_option
@keeping_options
@pace_options
@change_options
def clean(
    change: ChangeOptions, pace: Pace, keeping: Keeping, policy: str, strict: bool, accept_lost_instants: bool
) -> None:
    """Roll back failed writes, newest first, and finish their pending rollbacks.

    Suitable for cron: exit code 0 if there is nothing to do. A pending restore, or a pending rollback of a completed
    commit, is reported but not changed: exit code 3.
    """
    from hudictl.library.rollbacks import failed_writes_to_clean
    from hudictl.ops.rollback.failed import RollbackOutcome
    from hudictl.state.timeline.unfinished import in_words

    with opened_table(change) as table:
        options = rollback_options(pace, keeping, accept_lost_instants=accept_lost_instants)
        choice = to_copy().all_of(failed_writes_to_clean(table.opened, policy, options))
    left = [f"not rolled back: {_in_words(row)}" for row in (*choice.left, *choice.running)]
    for number, entry in enumerate(choice.waiting):
        # The error names the ways of the first one.
        ways = f"; {in_words(entry.remedy)}" if entry.remedy and (number or change.plan) else ""
        left.append(f"{entry.instant} is pending: {entry.told}{ways}")
    if choice.targets:
        run_rollbacks("failed-writes clean", change, targets=choice.targets, notes=left)
    else:
        empty, outcome = "nothing was rolled back" if left else "no failed writes", ChangeOutcome.NOTHING
        show_rows(
            change.common, "failed-writes clean", table.uri, [], RollbackOutcome, empty, notes=left, outcome=outcome
        )
    if choice.waiting and not change.plan:
        first = choice.waiting[0]
        raise Incomplete(
            f"{first.instant} is pending, and was not changed",
            hint=in_words(first.remedy) or first.told,
            pending=[entry.time for entry in choice.waiting],
            remedy=[asdict(way) for way in first.remedy],
        )
    if strict and choice.left:
        raise Incomplete(
            f"{len(choice.left)} pending writes were not rolled back; the first is {choice.left[0].instant}: "
            f"{choice.left[0].reason}",
            hint=in_words(choice.left[0].remedy) or "wait until they end, or have no activity for --idle",
            left=[row.instant for row in choice.left],
        )


def _in_words(row: "PendingWrite") -> str:
    from hudictl.state.timeline.unfinished import in_words

    return f"{row.instant}: {row.reason}" + (f"; {in_words(row.remedy)}" if row.remedy else "")
