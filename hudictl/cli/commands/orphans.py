"""``hudictl orphans``."""

from typing import TYPE_CHECKING

import click

from hudictl.cli.change import Change, Question, run_change
from hudictl.cli.options import (
    ChangeOptions,
    EngineOptions,
    TableOptions,
    change_options,
    engine_options,
    idle_option,
    table_options,
)
from hudictl.cli.progress import Progress
from hudictl.cli.show import show_rows

if TYPE_CHECKING:
    from hudictl.ops.orphans import OrphanOptions, OrphanPlan, OrphanResult


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
    from hudictl.state.facts import read_facts, read_signs
    from hudictl.state.orphans import OrphanRow, find_orphans

    table = common.open()
    engine = engine_options.open(table)
    try:
        found = find_orphans(read_facts(table, engine, read_signs(table), Progress().note), engine)
    finally:
        engine.close()
    show_rows(common, "orphans list", table.uri, [entry.row for entry in found[:limit]], OrphanRow, "no orphans")


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

    run_change(delete_change("orphans delete", OrphanOptions(idle_ms)), common, change, engine_options)


def delete_change(name: str, options: "OrphanOptions") -> "Change[OrphanPlan, OrphanResult]":
    """The orphans to delete."""
    from hudictl.ops.orphans import delete_orphans, plan_orphan_deletion
    from hudictl.render.plans import print_orphan_plan
    from hudictl.render.words import size

    def left(plan: "OrphanPlan") -> str:
        return f"; {len(plan.left):,} that stay: `hudictl orphans list` tells why" if plan.left else ""

    def said(plan: "OrphanPlan") -> str:
        return f"{plan.files_to_delete:,} orphans, {size(plan.bytes_to_delete)}"

    return Change(
        name=name,
        plan=lambda session: plan_orphan_deletion(session, options),
        nothing=lambda plan: None if plan.orphans else f"no orphans to delete: nothing to do{left(plan)}",
        show=print_orphan_plan,
        shown_first=True,
        question=lambda plan: Question(f"Delete {said(plan)}? What is deleted is gone."),
        execute=delete_orphans,
        done=lambda plan, result: f"deleted {result.files_deleted:,} of {said(plan)}{left(plan)}",
    )
