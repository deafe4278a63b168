"""``hudictl heartbeat``."""

from typing import TYPE_CHECKING

import click

from hudictl.cli.change import ChangeCommand, Question, in_lines, run_change
from hudictl.cli.complete import instants_in
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import ChangeOptions
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options_without_engine, heartbeat_options
from hudictl.formats.layouts import HEARTBEATS
from hudictl.library import changes
from hudictl.phrases import span
from hudictl.render.json import plain

if TYPE_CHECKING:
    from hudictl.ops.clean_up.litter import HeartbeatDeletion


@click.group(cls=StrictGroup)
def heartbeat() -> None:
    """Show and delete heartbeats of writers."""


@heartbeat.command("list")
@list_options(heartbeat_options)
def list_(given: ListOptions) -> None:
    """List the heartbeats, the newest instant first: live, expired, or stale (its instant is completed or removed).

    The age of a heartbeat is measured with the storage's clock (the time of a temporary file). Only writers with lazy
    clean-up of failed writes have heartbeats, as is usual with several writers. With Hudi 1.2.0, rollbacks and
    compactions also have heartbeats.
    """
    table = given.table()
    rows = given.ordered(table.writers.heartbeats())
    show_list(given, "heartbeat list", table, rows, "no heartbeats", by_time=True)


@heartbeat.command()
@click.argument("instant", shell_complete=instants_in(HEARTBEATS))
@change_options_without_engine
def delete(change: ChangeOptions, instant: str) -> None:
    """Delete an expired or stale heartbeat. A live heartbeat is not deleted (exit code 12)."""
    run_change(_delete_change(instant), change)


def _delete_change(instant: str) -> "ChangeCommand[HeartbeatDeletion, None]":
    from hudictl.render.locks import lock_line
    from hudictl.state.writers.heartbeats import EXPIRED

    def said(plan: "HeartbeatDeletion", tense: str = "is") -> str:
        found = plan.heartbeat
        assert found is not None
        what = f"the {found.state} heartbeat of {instant}, {span(found.age_ms)} old"
        if found.state == EXPIRED:
            what += f"; its {found.action} is pending; this heartbeat {tense} the only proof that the writer is dead"
        return what

    return ChangeCommand(
        name="heartbeat delete",
        change=changes.heartbeat_deletion(instant),
        nothing_json=lambda _plan: None,
        nothing_noted=True,
        show=in_lines(lambda plan: [f"would delete {said(plan)}", lock_line(plan.lock)]),
        planned_json=lambda plan: {**plain(plan.heartbeat), "lock": plan.lock},
        question=lambda plan: Question(f"Delete {said(plan)}?"),
        done=lambda plan, _result: f"deleted {said(plan, 'was')}",
        done_json=lambda plan, _result: plan.heartbeat,
    )
