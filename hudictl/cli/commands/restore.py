"""``hudictl restore``."""

import functools
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from hudictl.cli.confirm import confirm, confirm_typed
from hudictl.cli.options import (
    ChangeOptions,
    Command,
    EngineOptions,
    TableOptions,
    change_options,
    command_line,
    engine_options,
    table_options,
)
from hudictl.cli.pace import pace_options
from hudictl.cli.progress import Progress, stoppable
from hudictl.cli.show import PLANNED, emit, show_result, text_output
from hudictl.errors import UsageError

if TYPE_CHECKING:
    from hudictl.ops.restore.plan import RestoreOptions, RestorePlan
    from hudictl.render.views import RestorePlanView
    from hudictl.table.table import Table

Check = Callable[["Table", "RestorePlan"], "str | None"]


def restore_options(command: Command) -> Command:
    """Adds what a restore and its resumption share; the command gets a mapping ``how``."""

    @click.option(
        "--delete-later-savepoints", is_flag=True, help="Savepoints on instants that go are deleted with them."
    )
    @click.option(
        "--discard-rollbacks",
        is_flag=True,
        help="Pending rollbacks of instants that stay are discarded, where nothing of them was done.",
    )
    @pace_options
    @functools.wraps(command)
    def wrapped(delete_later_savepoints: bool, discard_rollbacks: bool, pace: dict[str, Any], **kwargs: Any) -> Any:
        how = {
            "delete_later_savepoints": delete_later_savepoints,
            "discard_rollbacks": discard_rollbacks,
            **pace,
        }
        return command(how=how, **kwargs)

    return wrapped  # type: ignore[return-value]


@click.command()
@click.argument("savepoint", required=False)
@click.option("--to-instant", metavar="INSTANT", help="Restore to this commit, although it has no savepoint.")
@click.option(
    "--rule",
    type=click.Choice(["requested", "completion"]),
    help="Which instants are later, where Hudi's releases disagree.",
)
@restore_options
@table_options
@engine_options
@change_options
def restore(
    common: TableOptions,
    engine_options: EngineOptions,
    change: ChangeOptions,
    how: dict[str, Any],
    savepoint: str | None,
    to_instant: str | None,
    rule: str | None,
) -> None:
    """Restores the table to SAVEPOINT, or to an instant."""
    from hudictl.ops.restore.plan import RestoreOptions

    if (savepoint is None) == (to_instant is None):
        raise UsageError("name one target: a SAVEPOINT, or --to-instant INSTANT")
    options = RestoreOptions(to_instant=to_instant is not None, rule=rule, **how)
    run_restore("restore", common, engine_options, change, savepoint or to_instant or "", options)


def run_restore(
    name: str,
    common: TableOptions,
    engine_options: EngineOptions,
    change: ChangeOptions,
    target: str,
    options: "RestoreOptions",
    check: Check = lambda _table, _plan: None,
) -> None:
    """Plans, shows, asks, executes. ``check`` looks at the plan first, and may say that all is done."""
    from hudictl.ops.restore.execute import execute_restore
    from hudictl.ops.restore.planning import plan_restore
    from hudictl.render.views import restore_plan_view, size
    from hudictl.table.locks.config import lock_config

    table = common.open(change.single_operator)
    engine = engine_options.open(table)
    progress = Progress()
    try:
        plan = plan_restore(table, engine, target, options, progress.note)
        view = restore_plan_view(plan, common.timezone, lock_config(table))
        done = check(table, plan)
        if done or plan.nothing_to_do:
            said = done or f"the table is at {target} already: nothing to do"
            run_leftovers(name, common, table, change, options.idle_ms, said, view)
            return
        if change.plan or not common.json:
            _show_plan(name, common, table.uri, view)
        if change.plan:
            return
        verb = f"Finish the restore {plan.restore} to" if plan.restore else "Restore to"
        confirm_typed(f"{verb} {target}? What is deleted is gone.", target, yes=change.yes)
        with stoppable(progress):
            result = execute_restore(table, engine, plan, progress, command_line())
    finally:
        engine.close()
    said = (
        f"restored to {target} in {result.duration_ms / 1000:.1f} s: instants taken back: {len(result.instants)}, "
        f"files deleted: {result.files_deleted:,} ({size(result.bytes_deleted)}); "
        f"readers back at {target} after {result.readers_back_ms:,} ms"
    )
    show_result(common, name, table.uri, result, [said])


def run_leftovers(
    name: str,
    common: TableOptions,
    table: "Table",
    change: ChangeOptions,
    idle_ms: int,
    said: str,
    view: "RestorePlanView | None" = None,
) -> None:
    """Where nothing is to be restored: what restores that have ended have left."""
    from hudictl.ops.restore.leftovers import plan_leftovers, remove_leftovers

    plan = plan_leftovers(table, idle_ms)
    if plan.nothing:
        show_result(common, name, table.uri, view, [said])
        return
    parts = [f"the pending rollbacks {', '.join(plan.rollbacks)}"] if plan.rollbacks else []
    parts += [f"the restore {time}, which has no plan" for time in plan.restores]
    parts += [f"hudictl's own savepoint on {time}" for time in plan.savepoints]
    what = f"{' and '.join(parts)}, left by a restore that has ended"
    if change.plan:
        show_result(common, name, table.uri, plan, [f"{said}; would remove {what}"], PLANNED)
        return
    if name == "apply":
        # Nobody has seen these in the plan: who looks at them can remove them.
        show_result(common, name, table.uri, view, [f"{said}; `hudictl resume` would remove {what}"])
        return
    confirm(f"Remove {what}?", yes=change.yes)
    progress = Progress()
    with stoppable(progress):
        remove_leftovers(table, plan, progress, command_line())
    show_result(common, name, table.uri, plan, [f"{said}; removed {what}"])


def _show_plan(name: str, common: TableOptions, uri: str, view: "RestorePlanView") -> None:
    from hudictl.render.json import envelope
    from hudictl.render.views import InstantView, restore_lines

    if common.json:
        emit(envelope(name, uri, notes=PLANNED, result=view))
        return
    from hudictl.render.text import print_lines, print_table

    head = f"Finish the restore {view.resumes} to" if view.resumes else "Restore to"
    kind = "instant" if view.protecting_savepoint else "savepoint"
    rows = [asdict(row) for row in view.instants]
    with text_output(common.color) as out:
        print_lines(out, [f"{head} {kind} {view.target}", ""])
        print_table(out, rows, list(InstantView.__dataclass_fields__), "no instants to take back")
        print_lines(out, ["", *restore_lines(view), ""])
