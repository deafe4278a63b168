"""``hudictl savepoint``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from hudictl.cli.confirm import confirm
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
from hudictl.cli.show import PLANNED, show_result, show_rows
from hudictl.errors import Incomplete
from hudictl.table.operations import current_user

if TYPE_CHECKING:
    from hudictl.ops.savepoint.plan import SavepointDeletion, SavepointOptions, SavepointPlan


@click.group()
def savepoint() -> None:
    """Commits that cleaning and archiving spare, to be restored to."""


@savepoint.command()
@click.argument("instant", required=False)
@click.option("--user", help="Who makes it; default: the operating system's user.")
@click.option("--comment", default="", help="Why.")
@click.option("--allow-pending", is_flag=True, help="Although an older write is pending, which it will not contain.")
@idle_option
@table_options
@engine_options
@change_options
def create(
    common: TableOptions,
    engine_options: EngineOptions,
    change: ChangeOptions,
    instant: str | None,
    user: str | None,
    comment: str,
    allow_pending: bool,
    idle_ms: int,
) -> None:
    """Creates a savepoint on INSTANT; default: the newest commit with no pending write older than it."""
    from hudictl.ops.savepoint.plan import SavepointOptions

    options = SavepointOptions(current_user() if user is None else user, comment, allow_pending, idle_ms)
    run_create("savepoint create", common, engine_options, change, instant, options)


def run_create(
    name: str,
    common: TableOptions,
    engine_options: EngineOptions,
    change: ChangeOptions,
    instant: str | None,
    options: "SavepointOptions",
    check: "Callable[[SavepointPlan], None]" = lambda _plan: None,
) -> None:
    """Plans, shows, asks, creates. ``check`` may refuse what was planned."""
    from hudictl.ops.savepoint.execute import create_savepoint
    from hudictl.ops.savepoint.planning import plan_savepoint
    from hudictl.render.views import savepoint_plan_view
    from hudictl.render.words import lock_line, size
    from hudictl.table.locks.config import lock_config

    table = common.open(change.single_operator)
    engine = engine_options.open(table)
    progress = Progress()
    try:
        plan = plan_savepoint(table, engine, instant, options, progress.note)
        view = savepoint_plan_view(plan, common.timezone, lock_config(table))
        chosen = " (the newest commit with no pending write older than it)" if plan.chosen else ""
        said = f"{plan.instant}{chosen}: {view.files:,} files in {view.partitions:,} partitions, {size(view.bytes)}"
        if plan.exists:
            show_result(common, name, table.uri, view, [f"a savepoint on {plan.instant} exists already"])
            return
        check(plan)
        if change.plan:
            lines = [f"would create a savepoint on {said}", lock_line(view.lock)]
            show_result(common, name, table.uri, view, lines, PLANNED)
            return
        confirm(f"Create a savepoint on {said}?", yes=change.yes)
        with stoppable(progress):
            create_savepoint(table, engine, plan, progress, command_line())
    finally:
        engine.close()
    show_result(common, name, table.uri, view, [f"created a savepoint on {said}"])


@savepoint.command("list")
@table_options
def list_(common: TableOptions) -> None:
    """Lists the savepoints, oldest first."""
    from hudictl.reports.savepoints import SavepointRow, savepoint_rows

    table = common.open()
    show_rows(common, "savepoint list", table.uri, savepoint_rows(table), SavepointRow, "no savepoints")


@savepoint.command()
@click.argument("instant")
@click.option("--verify", is_flag=True, help="Tell whether it can be restored now, and why not (exit code 3).")
@idle_option
@table_options
@engine_options
def show(common: TableOptions, engine_options: EngineOptions, instant: str, verify: bool, idle_ms: int) -> None:
    """Shows the files of a savepoint, with their sizes."""
    from hudictl.ops.restore.plan import RestoreOptions
    from hudictl.ops.savepoint.verify import verify_savepoint
    from hudictl.render.words import size
    from hudictl.reports.savepoints import SavepointFile, savepoint_files
    from hudictl.state.savepoints import find_savepoint
    from hudictl.table.timeline import load_timeline

    table = common.open()
    metadata = find_savepoint(table, load_timeline(table), instant)
    if not verify:
        rows = savepoint_files(table, dict(metadata.files))
        show_rows(common, "savepoint show", table.uri, rows, SavepointFile, "the savepoint has no files")
        return
    engine = engine_options.open(table)
    try:
        result = verify_savepoint(table, engine, instant, RestoreOptions(idle_ms=idle_ms))
    finally:
        engine.close()
    said = f"{instant} can be restored: {result.file_count:,} files, {size(result.bytes)}"
    show_result(common, "savepoint show", table.uri, result, [said] if result.restorable else [])
    if not result.restorable:
        raise Incomplete(f"{instant} cannot be restored now: {result.reason}", instant=instant)


@savepoint.command()
@click.argument("instant")
@table_options
@change_options
def delete(common: TableOptions, change: ChangeOptions, instant: str) -> None:
    """Deletes a savepoint: cleaning and archiving may take its files from then on."""
    run_delete("savepoint delete", common, change, instant)


def run_delete(
    name: str,
    common: TableOptions,
    change: ChangeOptions,
    instant: str,
    check: "Callable[[SavepointDeletion], None]" = lambda _plan: None,
) -> None:
    """Plans, asks, deletes. ``check`` may refuse what was planned."""
    from hudictl.ops.savepoint.deletion import delete_savepoint, plan_deletion
    from hudictl.render.views import deletion_view
    from hudictl.render.words import lock_line
    from hudictl.table.locks.config import lock_config

    table = common.open(change.single_operator)
    plan = plan_deletion(table, instant)
    view = deletion_view(plan, common.timezone, lock_config(table))
    said = f"the savepoint {instant}, which protects {plan.file_count:,} files"
    if not plan.exists:
        show_result(common, name, table.uri, view, [f"there is no savepoint on {instant}: nothing to do"])
        return
    check(plan)
    if change.plan:
        show_result(common, name, table.uri, view, [f"would delete {said}", lock_line(view.lock)], PLANNED)
        return
    confirm(f"Delete {said}?", yes=change.yes)
    progress = Progress()
    with stoppable(progress):
        delete_savepoint(table, plan, progress, command_line())
    show_result(common, name, table.uri, view, [f"deleted {said}"])
