"""``hudictl orphans``."""

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
from hudictl.cli.show import PLANNED, emit, show_result, show_rows, text_output

if TYPE_CHECKING:
    from hudictl.ops.orphans import OrphanOptions, OrphanPlan
    from hudictl.render.orphans import OrphanPlanView


@click.group()
def orphans() -> None:
    """Data files that belong to no instant: what writes have left that nobody took back whole."""


@orphans.command("list")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many files.")
@table_options
@engine_options
def list_(common: TableOptions, engine_options: EngineOptions, limit: int | None) -> None:
    """Lists them by path, each with the reason, and whether it is sure.

    Files of pending writes are none: `hudictl failed-writes list` shows those.
    """
    from hudictl.render.orphans import OrphanRow, orphan_row
    from hudictl.state.facts import read_facts, read_signs
    from hudictl.state.orphans import find_orphans

    table = common.open()
    engine = engine_options.open(table)
    try:
        found = find_orphans(read_facts(table, engine, read_signs(table), Progress().note), engine)
    finally:
        engine.close()
    show_rows(
        common, "orphans list", table.uri, [orphan_row(entry) for entry in found[:limit]], OrphanRow, "no orphans"
    )


@orphans.command()
@idle_option
@table_options
@engine_options
@change_options
def delete(common: TableOptions, engine_options: EngineOptions, change: ChangeOptions, idle_ms: int) -> None:
    """Deletes the orphans that are sure; the others stay, and so do files that changed within --idle.

    A metadata table that is in use is taken out of use first, for it may list them: the next writer makes it anew.
    """
    from hudictl.ops.orphans import OrphanOptions

    run_delete_orphans("orphans delete", common, engine_options, change, OrphanOptions(idle_ms))


def run_delete_orphans(
    name: str,
    common: TableOptions,
    engine_options: EngineOptions,
    change: ChangeOptions,
    options: "OrphanOptions",
    check: "Callable[[OrphanPlan], None]" = lambda _plan: None,
) -> None:
    """Plans, shows, asks, deletes. ``check`` may refuse what was planned."""
    from hudictl.ops.orphans import delete_orphans, plan_orphan_deletion
    from hudictl.render.orphans import orphan_plan_view
    from hudictl.render.words import size

    table = common.open(change.single_operator)
    engine = engine_options.open(table)
    progress = Progress()
    try:
        plan = plan_orphan_deletion(table, engine, options, progress.note)
        view = orphan_plan_view(plan, common.timezone)
        check(plan)
        left = f"; {len(plan.left):,} that stay: `hudictl orphans list` tells why" if plan.left else ""
        if not plan.files:
            show_result(common, name, table.uri, view, [f"no orphans to delete: nothing to do{left}"])
            return
        said = f"{len(plan.files):,} orphans, {size(plan.size)}"
        if change.plan or not common.json:
            _show_plan(name, common, table.uri, view)
        if change.plan:
            return
        confirm(f"Delete {said}? What is deleted is gone.", yes=change.yes)
        with stoppable(progress):
            result = delete_orphans(table, engine, plan, progress, command_line())
    finally:
        engine.close()
    show_result(common, name, table.uri, result, [f"deleted {result.files_deleted:,} of {said}{left}"])


def _show_plan(name: str, common: TableOptions, uri: str, view: "OrphanPlanView") -> None:
    from dataclasses import asdict

    from hudictl.render.json import envelope
    from hudictl.render.orphans import OrphanRow

    if common.json:
        emit(envelope(name, uri, notes=PLANNED, result=view))
        return
    from hudictl.render.text import print_lines, print_table

    rows = [asdict(row) for row in view.files]
    with text_output(common.color) as out:
        print_table(out, rows, list(OrphanRow.__dataclass_fields__), "nothing to delete")
        lines = [f"stays: {row.path} ({row.why})" for row in view.files_left]
        if view.metadata_table_dropped:
            indexes = ", ".join(view.indexes_lost) or "no index"
            lines.append(f"the metadata table goes first, with {indexes}; the next writer makes it anew")
        print_lines(out, ["", *lines, ""])
