"""``hudictl wait``."""

from typing import TYPE_CHECKING

import click

from hudictl.cli.change import looking, opened_table
from hudictl.cli.options import EngineOptions, TableOptions, engine_options, idle_option, table_options
from hudictl.cli.show import show_result
from hudictl.cli.tree import StrictCommand
from hudictl.cli.writers_options import heartbeat_options
from hudictl.library.times import duration_ms
from hudictl.phrases import count_of, span

if TYPE_CHECKING:
    from hudictl.ops.waiting import ConditionRow


@click.command(cls=StrictCommand)
@click.option(
    "--for",
    "conditions",
    multiple=True,
    required=True,
    metavar="CONDITION",
    help="What must hold (see above). Repeatable.",
)
@click.option(
    "--timeout",
    default="30m",
    show_default=True,
    metavar="DURATION",
    help="End with exit code 12 after this time. 0: look once.",
)
@click.option(
    "--every", default="10s", show_default=True, metavar="DURATION", help="The pause between two looks, at least 5s."
)
@idle_option
@table_options
@heartbeat_options
@engine_options
def wait(
    common: TableOptions,
    engine_options: EngineOptions,
    conditions: tuple[str, ...],
    timeout: str,
    every: str,
    idle_ms: int,
) -> None:
    """Wait until the table is in a certain state. Changes nothing.

    \b
    no-writers            no writer, table service or operator is at work:
                          what `restore` would refuse with exit code 12
    nothing-pending       no write, table service, rollback, restore or
                          savepoint is pending
    savepoint-restorable  `savepoint show --verify` has no finding for the
                          newest savepoint; with =S for the savepoint S
    instant=T             the instant T is completed

    no-writers: no live heartbeat; no pending write, clean, rollback or restore with activity within --idle (timeline,
    markers, data files); no held lock in .hoodie; no other hudictl. A lock in another system is not seen.
    savepoint-restorable lists the data files, once all other conditions hold.

    Exit code 0: all conditions hold at the same look. 12: the time is over. 13: a condition can never hold, for example
    because the instant was rolled back. 14, 15: a look failed twice in a row.

    Waiting is not a lock: a writer can start right after it. Stop the writers' schedule first.
    """
    every_ms, timeout_ms = duration_ms(every, "--every"), duration_ms(timeout, "--timeout")
    with opened_table(looking(common), engine_options) as table:
        waited = table.wait(conditions, timeout_ms=timeout_ms, every_ms=every_ms, idle_ms=idle_ms)
    total = f"waited {span(waited.waited_ms)}: {count_of(waited.looks, 'look')}"
    show_result(common, "wait", table.uri, waited, [*map(_line, waited.conditions), total])


def _line(row: "ConditionRow") -> str:
    return f"{row.condition}: holds" + (f"; waited for: {row.waited_for}" if row.waited_for else "")
