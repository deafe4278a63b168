"""``hudictl rollback``."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from hudictl.cli.change import (
    ChangeCommand,
    Question,
    kept_where,
    opened_table,
    planning,
    run_change,
    table_line,
    told_after,
    working,
)
from hudictl.cli.complete import instants
from hudictl.cli.confirm import confirm
from hudictl.cli.keeping import Keeping, keeping_options
from hudictl.cli.options import ChangeOptions, accept_lost_option
from hudictl.cli.pace import Pace, pace_options
from hudictl.cli.services import add_list_and_show
from hudictl.cli.show import PLANNED, outcome_of, show_rows
from hudictl.cli.to_copy import to_copy
from hudictl.cli.tree import CommandWithMore
from hudictl.cli.writers_options import change_options
from hudictl.errors import Findings, Incomplete
from hudictl.library import changes
from hudictl.phrases import count_of, first_few, gone, undo_text
from hudictl.render.words import size

if TYPE_CHECKING:
    from hudictl.ops.clean_up.service import ServiceOptions, ServiceRemoval
    from hudictl.ops.rollback.failed import RollbackOutcome
    from hudictl.ops.rollback.plan import RollbackOptions, RollbackPlan
    from hudictl.ops.rollback.run import RollbackResult


@click.group(cls=CommandWithMore)
@click.argument("instant", shell_complete=instants())
@click.option(
    "--keep-plan",
    is_flag=True,
    help="Keep the plan of a pending compaction or clustering: the instant goes back to requested.",
)
@accept_lost_option
@keeping_options
@pace_options
@change_options
def rollback(
    change: ChangeOptions, pace: Pace, keeping: Keeping, instant: str, keep_plan: bool, accept_lost_instants: bool
) -> None:
    """Roll back INSTANT: a pending write or table service, or the newest completed commit.

    A pending clean can be removed if its plan is unreadable or would delete required files. A pending indexing can be
    removed if it has not started in the metadata table.
    """
    from hudictl.ops.clean_up.service import ServiceOptions, is_service

    core = change.open()
    if not keep_plan and is_service(core, instant):
        change_of_service = service_change("rollback", instant, ServiceOptions(pace.idle_ms))
        run_change(change_of_service, change, core=core)
        return
    options = rollback_options(pace, keeping, keep_plan=keep_plan, accept_lost_instants=accept_lost_instants)
    run_change(rollback_change("rollback", instant, options), change, core=core)


add_list_and_show(
    rollback,
    "rollbacks",
    lists="List the rollbacks, newest first; of a pending one also what it waits for.\n\n"
    "In hudi-cli: `show rollbacks`.",
    shows="Show the files that a rollback has deleted, or will delete, and whether they are there.\n\n"
    "In hudi-cli: `show rollback`.",
)


def rollback_options(pace: Pace, keeping: Keeping, **more: Any) -> "RollbackOptions":
    """The options of a rollback, as the operator has given them."""
    from hudictl.ops.rollback.plan import RollbackOptions

    given = {**asdict(pace), **asdict(keeping)}
    return RollbackOptions(**given, **more)


def rollback_change(
    name: str, target: str, options: "RollbackOptions"
) -> "ChangeCommand[RollbackPlan, RollbackResult]":
    """The rollback of an instant, or the rest of one that is pending."""
    from hudictl.render.plans import print_rollback_plan, rollback_verb

    return ChangeCommand(
        name=name,
        change=changes.rollback(target, options),
        show=print_rollback_plan,
        shown_first=True,
        question=lambda plan: Question(
            f"{rollback_verb(plan)} {target}? {gone(kept=options.keep_files)}", typed=target
        ),
        done=lambda _plan, result: rolled_back_line(result),
        then=lambda _plan, result: told_after(result),
    )


def service_change(
    name: str, target: str, options: "ServiceOptions"
) -> "ChangeCommand[ServiceRemoval, ServiceRemoval]":
    """The removal of a pending clean, or of an indexing."""
    from hudictl.render.plans import print_service_removal

    return ChangeCommand(
        name=name,
        change=changes.service_removal(target, options),
        show=print_service_removal,
        shown_first=True,
        question=lambda plan: Question(f"Remove the pending {plan.action} {target}?"),
        done=lambda plan, result: (
            f"removed the pending {plan.action} {target}: {', '.join(plan.files)}{undo_text(result.undo)}"
        ),
    )


def run_rollbacks(
    name: str,
    change: ChangeOptions,
    *,
    targets: "Sequence[tuple[str, RollbackOptions]]",
    notes: Sequence[str] = (),
) -> None:
    """Plans and executes several; one that fails does not stop the others. The plans are shown before the question, and
    no more files are deleted than they name.

    Raises as ``_all_well``.
    """
    from hudictl.library.rollbacks import Rollbacks

    common = change.common

    def show(outcomes: "Sequence[RollbackOutcome]", said: Sequence[str]) -> None:
        from hudictl.ops.rollback.failed import RollbackOutcome

        outcome, empty = outcome_of(planned=change.plan), "nothing to roll back"
        kept = sum(entry.files_kept for entry in outcomes)
        if kept:
            told = f"files kept although their names contain an instant that is rolled back: {kept:,}"
            said = [*said, to_copy().text(f"{told}; `hudictl orphans list` shows them afterwards")]
        undos = sorted({entry.undo for entry in outcomes if entry.undo}, reverse=True)
        if undos:
            said = [*said, to_copy().text(undo_text(*undos).removeprefix("; "))]
        counted = ("files_kept", "rollback_blocks")
        hidden = ("hint", "undo", *(name for name in counted if not any(getattr(row, name) for row in outcomes)))
        outcomes = to_copy().all_of(tuple(outcomes))
        said = [*said, *(f"{entry.instant}: {entry.hint}" for entry in outcomes if entry.hint)]
        show_rows(common, name, table.uri, outcomes, RollbackOutcome, empty, hidden, said, outcome)

    with opened_table(change, change.engine) as table:
        rollbacks, within = Rollbacks(table.opened, targets), partial(working, table)
        if change.plan or not (change.yes or common.json):
            with planning(table):
                plan = rollbacks.plan()
            outcomes = plan.outcomes
            if not change.plan:
                show(outcomes, notes)
        if not change.plan:
            times = first_few([time for time, _ in targets], rest=" and {:,} more")
            kept = all(options.keep_files for _, options in targets)
            confirm(table_line(table), f"Roll back {times}? {gone(kept=kept)}", yes=change.yes)
            outcomes = rollbacks.execute(within) if change.yes or common.json else plan.execute(within)
        kept_at = [kept_where(table.core)] if change.plan and any(given.keep_files for _, given in targets) else []
    show(outcomes, [*notes, *kept_at, *(PLANNED if change.plan else ())])
    _all_well(outcomes)
    if change.plan:
        change.end_plan()


def _all_well(outcomes: "Sequence[RollbackOutcome]") -> None:
    """Raises Incomplete: some failed; Findings: all are done, but an index is lost. The message names the first."""
    wrong = [outcome for outcome in outcomes if outcome.exit_code]
    failed = [outcome for outcome in wrong if not outcome.rollback]
    if failed:
        raise Incomplete(
            f"{len(failed)} of {len(outcomes)} could not be rolled back; the first is {failed[0].instant}: "
            f"{failed[0].message}",
            hint="the others were rolled back; the rows show the reasons"
            if len(failed) < len(outcomes)
            else "the rows show the reasons",
            failed=[outcome.instant for outcome in failed],
        )
    if wrong:
        raise Findings(
            f"{len(wrong)} of {len(outcomes)} are done, with findings; the first is {wrong[0].instant}: "
            f"{wrong[0].message}",
            hint="the rows show them",
            found=[outcome.instant for outcome in wrong],
        )


def rolled_back_line(result: "RollbackResult") -> str:
    """The result of a rollback."""
    from hudictl.render.plans import metadata_text

    done = f"returned {result.target} to requested" if result.plan_kept else f"rolled back {result.target}"
    return (
        f"{done} in {result.duration_ms / 1000:.1f} s (rollback {result.rollback}): "
        f"deleted {count_of(result.files_deleted, 'file')} ({size(result.bytes_deleted)}); "
        f"rollback blocks: {result.rollback_blocks:,}{metadata_text(result)}{undo_text(result.undo)}"
    )
