"""``hudictl restore`` and ``hudictl resume``."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from hudictl.cli.confirm import confirm_typed
from hudictl.cli.options import (
    ChangeOptions,
    EngineOptions,
    TableOptions,
    change_options,
    command_line,
    engine_options,
    idle_option,
    table_options,
)
from hudictl.cli.progress import Progress, stoppable
from hudictl.cli.show import PLANNED, emit, show_result, text_output

if TYPE_CHECKING:
    from hudictl.render.views import RestorePlanView

_settle = click.option(
    "--settle",
    type=click.FloatRange(min=2),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for writers that began while the restore was planned.",
)
_rule = click.option(
    "--rule",
    type=click.Choice(["requested", "completion"]),
    help="Which instants are later, where Hudi's releases disagree.",
)


@click.command()
@click.argument("savepoint")
@_rule
@_settle
@idle_option
@table_options
@engine_options
@change_options
def restore(
    common: TableOptions,
    engine_options: EngineOptions,
    change: ChangeOptions,
    savepoint: str,
    rule: str | None,
    settle: float,
    idle_ms: int,
) -> None:
    """Restores the table to SAVEPOINT."""
    _restore("restore", common, engine_options, change, savepoint, rule, settle, idle_ms)


@click.command()
@_settle
@idle_option
@table_options
@engine_options
@change_options
def resume(
    common: TableOptions, engine_options: EngineOptions, change: ChangeOptions, settle: float, idle_ms: int
) -> None:
    """Finishes the pending restore."""
    from hudictl.errors import Refused
    from hudictl.ops.facts import pending_restores
    from hudictl.table.timeline import load_timeline

    table = common.open()
    pending = pending_restores(table, load_timeline(table))
    targets = {entry.plan.target for entry in pending}
    if not pending:
        show_result(common, "resume", table.uri, None, ["nothing is pending"])
        return
    (target,) = targets if len(targets) == 1 else (None,)
    if target is None:
        times = ", ".join(entry.instant.time for entry in pending)
        raise Refused(f"the pending restores {times} name no common savepoint", hint="finish them with Hudi")
    _restore("resume", common, engine_options, change, target, None, settle, idle_ms)


def _restore(
    name: str,
    common: TableOptions,
    engine_options: EngineOptions,
    change: ChangeOptions,
    savepoint: str,
    rule: str | None,
    settle: float,
    idle_ms: int,
) -> None:
    from hudictl.ops.execute import execute_restore
    from hudictl.ops.restore import RestoreOptions, plan_restore
    from hudictl.render.views import restore_plan_view, size

    table = common.open(change.single_operator)
    engine = engine_options.open(table)
    progress = Progress()
    try:
        plan = plan_restore(table, engine, savepoint, RestoreOptions(rule, idle_ms), progress.note)
        view = restore_plan_view(plan)
        if plan.nothing_to_do:
            show_result(common, name, table.uri, view, [f"the table is at {savepoint} already: nothing to do"])
            return
        if change.plan or not common.json:
            _show_plan(name, common, table.uri, view)
        if change.plan:
            return
        verb = f"Finish the restore {plan.restore} to" if plan.restore else "Restore to"
        confirm_typed(f"{verb} {savepoint}? What is deleted is gone.", savepoint, yes=change.yes)
        with stoppable(progress):
            result = execute_restore(table, engine, plan, progress, command_line(), settle)
    finally:
        engine.close()
    done = (
        f"restored to {savepoint} in {result.duration_ms / 1000:.1f} s: instants taken back: {len(result.instants)}, "
        f"files deleted: {result.files_deleted:,} ({size(result.bytes_deleted)}); "
        f"readers back at the savepoint after {result.readers_back_ms:,} ms"
    )
    show_result(common, name, table.uri, result, [done])


def _show_plan(name: str, common: TableOptions, uri: str, view: "RestorePlanView") -> None:
    from hudictl.render.json import envelope
    from hudictl.render.views import InstantView, restore_lines

    if common.json:
        emit(envelope(name, uri, notes=PLANNED, result=view))
        return
    from hudictl.render.text import print_lines, print_table

    head = f"Finish the restore {view.resumes} to" if view.resumes else "Restore to"
    rows = [asdict(row) for row in view.instants]
    with text_output(common.color) as out:
        print_lines(out, [f"{head} savepoint {view.savepoint}", ""])
        print_table(out, rows, list(InstantView.__dataclass_fields__), "no instants to take back")
        print_lines(out, ["", *restore_lines(view), ""])
