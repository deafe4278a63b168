"""``hudictl heartbeat``."""

from typing import TYPE_CHECKING

import click

from hudictl.cli.confirm import confirm
from hudictl.cli.options import (
    ChangeOptions,
    TableOptions,
    change_options,
    command_line,
    heartbeat_options,
    table_options,
)
from hudictl.cli.progress import Progress
from hudictl.cli.show import PLANNED, show_result, show_rows
from hudictl.phrases import seconds

if TYPE_CHECKING:
    from hudictl.table.heartbeats import HeartbeatRule


@click.group()
def heartbeat() -> None:
    """Heartbeats: whether the writers of pending instants live."""


@heartbeat.command("list")
@heartbeat_options
@table_options
def list_(common: TableOptions, rule: "HeartbeatRule") -> None:
    """Lists the heartbeats, by instant: live, expired, or stale where the instant is completed or gone.

    Ages are by the storage's clock, which is measured with a file that is removed again. Only writers that clean
    lazily beat, as those do that share a table; with Hudi 1.2.0 their rollbacks and compactions, too.
    """
    from hudictl.state.heartbeats import HeartbeatRow, heartbeat_rows
    from hudictl.table.clock import clock_sentence, try_clock

    table = common.open()
    clock = try_clock(table.storage)
    rows = heartbeat_rows(table, rule, clock)
    notes = [clock_sentence(clock)]
    show_rows(common, "heartbeat list", table.uri, rows, HeartbeatRow, "no heartbeats", notes=notes)


@heartbeat.command()
@click.argument("instant")
@heartbeat_options
@table_options
@change_options
def delete(common: TableOptions, change: ChangeOptions, rule: "HeartbeatRule", instant: str) -> None:
    """Deletes a heartbeat that is expired or stale; a live one is refused (12)."""
    from hudictl.ops.litter import delete_heartbeat, plan_heartbeat_deletion
    from hudictl.state.heartbeats import EXPIRED

    table = common.open(change.single_operator)
    found = plan_heartbeat_deletion(table, instant, rule)
    if found is None:
        said = f"there is no heartbeat of {instant}: nothing to do"
        show_result(common, "heartbeat delete", table.uri, found, [said], [said])
        return
    said = f"the {found.state} heartbeat of {instant}, {seconds(found.age_ms)} old"
    if found.state == EXPIRED:
        said += f"; its {found.action} is pending, and without it nothing proves that its writer died"
    if change.plan:
        show_result(common, "heartbeat delete", table.uri, found, [f"would delete {said}"], PLANNED)
        return
    confirm(f"Delete {said}?", yes=change.yes)
    delete_heartbeat(table, instant, rule, Progress(), command_line())
    show_result(common, "heartbeat delete", table.uri, found, [f"deleted {said}"])
