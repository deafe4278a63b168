"""``hudictl failed-writes``."""

from typing import TYPE_CHECKING

import click

from hudictl.cli.options import TableOptions, heartbeat_options, idle_option, table_options
from hudictl.cli.show import show_rows

if TYPE_CHECKING:
    from hudictl.table.heartbeats import HeartbeatRule

# What eyes find in the reason, or in --output json.
_HIDDEN = ("clustering", "age_ms", "heartbeat_age_ms", "marker_type", "markers_partial", "rollback", "reason")


@click.group("failed-writes")
def failed_writes() -> None:
    """Writes that are not completed: which of them failed, and what they left."""


@failed_writes.command("list")
@heartbeat_options
@idle_option
@table_options
def list_(common: TableOptions, rule: "HeartbeatRule", idle_ms: int) -> None:
    """Lists the pending writes, oldest first, each as running, failed or unknown.

    A live heartbeat proves a writer, an expired one its death; without one nobody can tell: writers that clean eagerly,
    Hudi's default for a single one, never beat.
    """
    from hudictl.ops.failed_writes import PendingWrite, pending_writes
    from hudictl.table.clock import clock_sentence, try_clock

    table = common.open()
    clock = try_clock(table.storage)
    rows = pending_writes(table, rule, idle_ms, clock)
    reasons = [] if common.json else [f"{row.instant}: {row.reason}" for row in rows]
    notes = [*reasons, clock_sentence(clock)]
    show_rows(common, "failed-writes list", table.uri, rows, PendingWrite, "no pending writes", _HIDDEN, notes)
