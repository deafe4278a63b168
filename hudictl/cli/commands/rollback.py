"""``hudictl rollback``."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from hudictl.cli.confirm import confirm, confirm_typed
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
from hudictl.cli.pace import pace_options
from hudictl.cli.progress import Progress, stoppable
from hudictl.cli.show import PLANNED, emit, show_result, show_rows, text_output
from hudictl.errors import Incomplete

if TYPE_CHECKING:
    from hudictl.engine.base import Engine
    from hudictl.ops.rollback.execute import RollbackResult
    from hudictl.ops.rollback.plan import RollbackOptions, RollbackPlan
    from hudictl.render.rollback import RollbackPlanView
    from hudictl.table.heartbeats import HeartbeatRule
    from hudictl.table.table import Table

Check = Callable[["Table", "RollbackPlan"], None]


@click.command()
@click.argument("instant")
@click.option("--keep-plan", is_flag=True, help="A pending compaction or clustering goes back to requested.")
@heartbeat_options
@pace_options
@table_options
@engine_options
@change_options
def rollback(
    common: TableOptions,
    engine_options: EngineOptions,
    change: ChangeOptions,
    rule: "HeartbeatRule",
    pace: dict[str, Any],
    instant: str,
    keep_plan: bool,
) -> None:
    """Rolls INSTANT back: a write or table service, pending or completed; of completed ones the newest."""
    from hudictl.ops.rollback.plan import RollbackOptions

    options = RollbackOptions(keep_plan=keep_plan, interval_ms=rule.interval_ms, misses=rule.misses, **pace)
    run_rollback("rollback", common, engine_options, change, instant, options)


def run_rollback(
    name: str,
    common: TableOptions,
    engine_options: EngineOptions,
    change: ChangeOptions,
    target: str,
    options: "RollbackOptions",
    check: Check = lambda _table, _plan: None,
) -> None:
    """Plans, shows, asks, executes. ``check`` may refuse what was planned."""
    from hudictl.ops.rollback.planning import done_already, plan_rollback
    from hudictl.render.rollback import rollback_plan_view
    from hudictl.table.locks.config import supported_lock

    table = common.open(change.single_operator)
    done = done_already(table, target)
    if done is not None:
        said = [f"{target} was rolled back already, by {done}: nothing to do"]
        show_result(common, name, table.uri, None, said, said)
        return
    engine = engine_options.open(table)
    progress = Progress()
    try:
        plan = plan_rollback(table, engine, target, options, progress.note)
        view = rollback_plan_view(plan, common.timezone, supported_lock(table))
        check(table, plan)
        if plan.nothing_to_do:
            show_result(common, name, table.uri, view, [f"{target} is requested, and nothing of it was begun"])
            return
        if change.plan or not common.json:
            show_plan(name, common, table.uri, view)
        if change.plan:
            return
        confirm_typed(f"{_verb(view)} {target}? What is deleted is gone.", target, yes=change.yes)
        result = execute(table, engine, plan, progress)
    finally:
        engine.close()
    show_result(common, name, table.uri, result, [rolled_back_line(result)])


def run_rollbacks(
    name: str,
    common: TableOptions,
    engine_options: EngineOptions,
    change: ChangeOptions,
    table: "Table",
    targets: "Sequence[tuple[str, RollbackOptions]]",
    notes: Sequence[str] = (),
) -> None:
    """Plans and executes several, newest first; one that fails does not stop the others.

    Raises Incomplete: some failed; the message names the first.
    """
    from hudictl.ops.rollback.failed import RollbackOutcome, planned, roll_back_all, rolled_back

    times = ", ".join(time for time, _ in targets)
    if not change.plan:
        confirm(f"Roll back {times}? What is deleted is gone.", yes=change.yes)
    engine = engine_options.open(table)
    progress = Progress()

    def act(plan: "RollbackPlan") -> RollbackOutcome:
        return planned(plan) if change.plan else rolled_back(execute(table, engine, plan, progress))

    try:
        outcomes = roll_back_all(table, engine, targets, act)
    finally:
        engine.close()
    said = [*notes, *(PLANNED if change.plan else ())]
    show_rows(common, name, table.uri, outcomes, RollbackOutcome, "nothing to roll back", (), said)
    failed = [outcome for outcome in outcomes if outcome.exit_code]
    if failed:
        raise Incomplete(
            f"{len(failed)} of {len(outcomes)} could not be rolled back, {failed[0].instant} among them: "
            f"{failed[0].message}",
            hint="the others were; see the rows" if len(failed) < len(outcomes) else "see the rows",
            failed=[outcome.instant for outcome in failed],
        )


def execute(table: "Table", engine: "Engine", plan: "RollbackPlan", progress: Progress) -> "RollbackResult":
    """Executes a plan; signals stop it between two steps."""
    from hudictl.ops.rollback.execute import execute_rollback

    with stoppable(progress):
        return execute_rollback(table, engine, plan, progress, command_line())


def rolled_back_line(result: "RollbackResult") -> str:
    """What a rollback has done."""
    from hudictl.render.words import size

    verb = "took back to requested" if result.plan_kept else "rolled back"
    return (
        f"{verb} {result.target} in {result.duration_ms / 1000:.1f} s, as rollback {result.rollback}: "
        f"files deleted: {result.files_deleted:,} ({size(result.bytes_deleted)}), "
        f"rollback blocks: {result.rollback_blocks:,}; metadata table: {result.metadata_table}"
    )


def show_plan(name: str, common: TableOptions, uri: str, view: "RollbackPlanView") -> None:
    """Prints a plan."""
    from hudictl.render.json import envelope
    from hudictl.render.rollback import rollback_lines
    from hudictl.render.views import InstantView

    if common.json:
        emit(envelope(name, uri, notes=PLANNED, result=view))
        return
    from hudictl.render.text import print_lines, print_table

    with text_output(common.color) as out:
        print_lines(out, [f"{_verb(view)} {view.target}", ""])
        print_table(out, [asdict(view.instant)], list(InstantView.__dataclass_fields__), "")
        print_lines(out, ["", *rollback_lines(view), ""])


def _verb(view: "RollbackPlanView") -> str:
    return f"Finish the rollback {view.resumes} of" if view.resumes else "Roll back"
