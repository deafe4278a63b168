"""``hudictl failed-writes``."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from hudictl.cli.change import session
from hudictl.cli.commands.rollback import rollback_options, run_rollbacks
from hudictl.cli.keeping import Keeping, keeping_options
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import (
    ChangeOptions,
    EngineOptions,
    TableOptions,
    accept_lost_option,
    engine_options,
    idle_option,
    table_options,
)
from hudictl.cli.pace import Pace, pace_options
from hudictl.cli.show import ChangeOutcome, show_rows
from hudictl.cli.to_copy import to_copy
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options, heartbeat_options
from hudictl.errors import Incomplete

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
@list_options()
@heartbeat_options
def list_(common: TableOptions, given: ListOptions, idle_ms: int) -> None:
    """List the pending writes, newest first, with a verdict: running, failed or unknown.

    Running: its heartbeat is live. Failed: its heartbeat has expired. Unknown: usually it has no heartbeat, as with
    eager clean-up of failed writes (Hudi's default for a single writer).
    """
    from hudictl.state.services.stalled import find_stalled
    from hudictl.state.timeline.unfinished import in_words
    from hudictl.state.writers.failed_writes import PendingWrite, pending_writes
    from hudictl.table.clock import clock_sentence, storage_now_ms, try_clock
    from hudictl.table.timeline.active import load_timeline

    table = common.open()
    clock = try_clock(table.storage)
    complete = to_copy().all_of
    rows = given.ordered(complete(pending_writes(table, idle_ms, clock))[::-1])
    reasons = [_in_words(row) for row in rows] if common.output == "text" and given.whole else []
    services = [
        f"{entry.instant} (not a write): {entry.meaning}; {entry.at_work or in_words(entry.remedy)}".rstrip("; ")
        for entry in complete(find_stalled(table, load_timeline(table), storage_now_ms(clock), idle_ms))
    ]
    notes = (*reasons, *services, clock_sentence(clock))
    show_list(
        common,
        given,
        "failed-writes list",
        table,
        rows,
        PendingWrite,
        "no pending writes",
        by_time=True,
        hidden=_HIDDEN,
        notes=notes,
    )


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
@table_options
@engine_options
@change_options
def clean(
    common: TableOptions,
    engine_options: EngineOptions,
    change: ChangeOptions,
    pace: Pace,
    keeping: Keeping,
    policy: str,
    strict: bool,
    accept_lost_instants: bool,
) -> None:
    """Roll back failed writes, newest first, and finish their pending rollbacks.

    Suitable for cron: exit code 0 if there is nothing to do. A pending restore, or a pending rollback of a completed
    commit, is reported but not changed: exit code 3.
    """
    from hudictl.ops.rollback.failed import RollbackOutcome, choose_failed
    from hudictl.state.timeline.unfinished import in_words
    from hudictl.table.clock import try_clock

    with session(common, change) as opened:
        table = opened.table
        options = rollback_options(pace, keeping, accept_lost_instants=accept_lost_instants)
        choice = to_copy().all_of(choose_failed(opened, policy, options, try_clock(table.storage)))
    left = [f"not rolled back: {_in_words(row)}" for row in (*choice.left, *choice.running)]
    for entry in choice.waiting:
        ways = f"; {in_words(entry.remedy)}" if entry.remedy else ""
        left.append(f"{entry.instant} is pending: {entry.told}{ways}")
    if choice.targets:
        run_rollbacks("failed-writes clean", common, change, engine_options, targets=choice.targets, notes=left)
    else:
        empty, outcome = "nothing was rolled back" if left else "no failed writes", ChangeOutcome.NOTHING
        show_rows(common, "failed-writes clean", table.uri, [], RollbackOutcome, empty, notes=left, outcome=outcome)
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
