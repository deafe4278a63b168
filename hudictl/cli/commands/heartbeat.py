"""``hudictl heartbeat``."""

from typing import TYPE_CHECKING

import click

from hudictl.cli.change import Change, Question, run_change
from hudictl.cli.complete import instants_in
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import ChangeOptions, TableOptions, table_options
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options, heartbeat_options
from hudictl.formats.layouts import HEARTBEATS
from hudictl.phrases import seconds
from hudictl.render.json import plain

if TYPE_CHECKING:
    from hudictl.ops.clean_up.litter import HeartbeatDeletion
    from hudictl.render.text import Console


@click.group(cls=StrictGroup)
def heartbeat() -> None:
    """Show and delete heartbeats of writers."""


@heartbeat.command("list")
@list_options()
@heartbeat_options
def list_(common: TableOptions, given: ListOptions) -> None:
    """List the heartbeats, the newest instant first: live, expired, or stale (its instant is completed or removed).

    The age of a heartbeat is measured with the storage's clock (the time of a temporary file). Only writers with lazy
    clean-up of failed writes have heartbeats, as is usual with several writers. With Hudi 1.2.0, rollbacks and
    compactions also have heartbeats.
    """
    from hudictl.state.writers.heartbeats import HeartbeatRow, heartbeat_rows
    from hudictl.table.beat_rule import ASSUMED_SENTENCE
    from hudictl.table.clock import clock_sentence, try_clock

    table = common.open()
    clock = try_clock(table.storage)
    rows = given.ordered(heartbeat_rows(table, clock)[::-1])
    notes = (clock_sentence(clock), *((ASSUMED_SENTENCE,) if table.heartbeat_rule.assumed else ()))
    show_list(common, given, "heartbeat list", table, rows, HeartbeatRow, "no heartbeats", by_time=True, notes=notes)


@heartbeat.command()
@click.argument("instant", shell_complete=instants_in(HEARTBEATS))
@table_options
@change_options
def delete(common: TableOptions, change: ChangeOptions, instant: str) -> None:
    """Delete an expired or stale heartbeat. A live heartbeat is not deleted (exit code 12)."""
    run_change(_delete_change(instant), common, change)


def _delete_change(instant: str) -> "Change[HeartbeatDeletion, None]":
    from hudictl.ops.clean_up.litter import delete_heartbeat, plan_heartbeat_deletion
    from hudictl.render.locks import lock_line
    from hudictl.render.text import print_lines
    from hudictl.state.writers.heartbeats import EXPIRED

    def said(plan: "HeartbeatDeletion") -> str:
        found = plan.heartbeat
        assert found is not None
        what = f"the {found.state} heartbeat of {instant}, {seconds(found.age_ms)} old"
        if found.state == EXPIRED:
            what += f"; its {found.action} is pending; this heartbeat is the only proof that the writer is dead"
        return what

    def show(out: "Console", plan: "HeartbeatDeletion") -> None:
        print_lines(out, [f"would delete {said(plan)}", lock_line(plan.lock)])

    return Change(
        name="heartbeat delete",
        plan=lambda session: plan_heartbeat_deletion(session, instant),
        nothing=lambda plan: None if plan.heartbeat else f"there is no heartbeat of {instant}: nothing to do",
        nothing_json=lambda _plan: None,
        nothing_noted=True,
        show=show,
        planned_json=lambda plan: {**plain(plan.heartbeat), "lock": plan.lock},
        question=lambda plan: Question(f"Delete {said(plan)}?"),
        execute=delete_heartbeat,
        done=lambda plan, _result: f"deleted {said(plan)}",
        done_json=lambda plan, _result: plan.heartbeat,
    )
