"""``hudictl resume``."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from hudictl.cli.commands.restore import restore_options, run_leftovers, run_restore
from hudictl.cli.commands.rollback import run_rollback, run_rollbacks
from hudictl.cli.confirm import confirm
from hudictl.cli.options import (
    ChangeOptions,
    EngineOptions,
    TableOptions,
    change_options,
    command_line,
    engine_options,
    heartbeat_options,
    table_options,
)
from hudictl.cli.progress import Progress, stoppable
from hudictl.cli.show import PLANNED, show_result
from hudictl.errors import Incomplete, Refused

if TYPE_CHECKING:
    from hudictl.ops.rollback.plan import RollbackOptions
    from hudictl.state.pending import PendingRestore, RollbacksToEnd
    from hudictl.table.heartbeats import HeartbeatRule
    from hudictl.table.table import Table


@click.command()
@restore_options
@heartbeat_options
@table_options
@engine_options
@change_options
def resume(
    common: TableOptions,
    engine_options: EngineOptions,
    change: ChangeOptions,
    rule: "HeartbeatRule",
    how: dict[str, Any],
) -> None:
    """Finishes what is pending: the restore; else removes what a restore that has ended has left; else rollbacks.

    Where one run does not do it all, it ends with 3: run it again.

    With --discard-rollbacks pending rollbacks of completed instants go, where nothing of them was done: Hudi leaves
    them where it refuses a rollback.
    """
    from hudictl.ops.restore.leftovers import plan_leftovers
    from hudictl.ops.restore.plan import RestoreOptions
    from hudictl.ops.rollback.plan import RollbackOptions
    from hudictl.state.facts import read_signs
    from hudictl.state.pending import rollbacks_to_end

    table = common.open(change.single_operator)
    signs = read_signs(table, rule)
    if signs.planned_restores:
        run_restore("resume", common, engine_options, change, _target(signs.planned_restores), RestoreOptions(**how))
        return
    pending = rollbacks_to_end(table, signs.live_rollbacks, discard=how["discard_rollbacks"])
    waiting = bool(pending.finish or pending.unwanted)
    # First: a restore without plan is in the way of every rollback.
    if not waiting or not plan_leftovers(table, how["idle_ms"]).nothing:
        said = "rollbacks are pending" if waiting else "nothing is pending"
        run_leftovers("resume", common, table, change, how["idle_ms"], said)
        if waiting and not change.plan:
            raise Incomplete("rollbacks are pending, too", hint="run `hudictl resume` again: it goes on with them")
        return
    notes: list[str] = []
    if pending.unwanted and how["discard_rollbacks"]:
        notes = _discard(common, engine_options, change, table, pending, how["idle_ms"])
        pending = replace(pending, unwanted=())
    pace = {key: how[key] for key in ("idle_ms", "settle_s", "grace_s", "keep_backup")}
    options = RollbackOptions(interval_ms=rule.interval_ms, misses=rule.misses, **pace)
    _finish(common, engine_options, change, table, pending, options, notes)


def _finish(
    common: TableOptions,
    engine_options: EngineOptions,
    change: ChangeOptions,
    table: "Table",
    pending: "RollbacksToEnd",
    options: "RollbackOptions",
    notes: Sequence[str],
) -> None:
    """Raises Refused: an unwanted rollback is refused by the guards that Hudi asks too late; Incomplete: one waits."""
    from hudictl.state.pending import unwanted_line, unwanted_target

    if pending.finish:
        targets = [(time, options) for time in pending.finish]
        run_rollbacks("resume", common, engine_options, change, table, targets, notes)
        if pending.unwanted and not change.plan:
            # It takes a completed commit back: its plan is shown, and asked for, by itself.
            raise Incomplete(
                f"still pending: {unwanted_line(pending.unwanted[0])}",
                hint="`hudictl resume` again finishes it where all guards pass, with --discard-rollbacks it is "
                "discarded",
                rollback=pending.unwanted[0].instant.time,
            )
        return
    for entry in pending.unwanted:
        try:
            run_rollback("resume", common, engine_options, change, unwanted_target(table, entry), options)
        except Refused as error:
            raise Refused(
                f"{unwanted_line(entry)}; but {error.message}",
                hint="`hudictl resume --discard-rollbacks` discards the rollback where nothing of it was done",
                rollback=entry.instant.time,
            ) from error


def _target(restores: "tuple[PendingRestore, ...]") -> str:
    """The newest target of the pending restores. Raises Refused: one names none."""
    targets = [entry.plan.target for entry in restores if entry.plan.target is not None]
    if len(targets) < len(restores):
        times = ", ".join(entry.instant.time for entry in restores if entry.plan.target is None)
        raise Refused(f"the pending restore {times} names no target", hint="finish it with Hudi")
    return max(targets)


def _discard(
    common: TableOptions,
    engine_options: EngineOptions,
    change: ChangeOptions,
    table: "Table",
    pending: "RollbacksToEnd",
    idle_ms: int,
) -> list[str]:
    """Returns what is to be said with the rollbacks that go on: a command prints one document."""
    from hudictl.ops.rollback.discard import execute_discard, plan_discard
    from hudictl.state.pending import unwanted_line

    engine = engine_options.open(table)
    try:
        plan = plan_discard(table, engine, idle_ms)
    finally:
        engine.close()
    lines = [unwanted_line(entry) for entry in pending.unwanted]
    times = ", ".join(plan.rollbacks)
    said = f"would discard {times}"
    if not change.plan:
        confirm(f"{'; '.join(lines)}. Discard?", yes=change.yes)
        progress = Progress()
        with stoppable(progress):
            execute_discard(table, plan, progress, command_line(), idle_ms)
        said = f"discarded {times}: nothing of it was done"
    if common.json and pending.finish:
        return [*lines, said]
    show_result(common, "resume", table.uri, plan, [*lines, said], PLANNED if change.plan else ())
    return []
