"""``hudictl rollback``."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from hudictl.cli.change import Change, Question, execute, run_change, session
from hudictl.cli.confirm import confirm
from hudictl.cli.options import (
    ChangeOptions,
    EngineOptions,
    TableOptions,
    change_options,
    engine_options,
    heartbeat_options,
    table_options,
)
from hudictl.cli.pace import Pace, pace_options
from hudictl.cli.show import PLANNED, outcome_of, show_rows
from hudictl.errors import Incomplete

if TYPE_CHECKING:
    from hudictl.ops.rollback.execute import RollbackResult
    from hudictl.ops.rollback.plan import RollbackOptions, RollbackPlan
    from hudictl.ops.rollback.service import ServiceRemoval
    from hudictl.table.heartbeats import HeartbeatRule
    from hudictl.table.table import Table


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
    pace: Pace,
    instant: str,
    keep_plan: bool,
) -> None:
    """Rolls INSTANT back: a write or table service, pending or completed; of completed ones the newest.

    A pending clean whose plan cannot be read is removed: each clean of Hudi's would fail at it. So is an indexing of
    which nothing is in the metadata table.
    """
    from hudictl.ops.rollback.service import is_service

    if not keep_plan and is_service(common.open(change.single_operator), instant):
        run_change(service_change(instant, pace.idle_ms), common, change)
        return
    options = rollback_options(rule, pace, keep_plan=keep_plan)
    run_change(rollback_change("rollback", instant, options), common, change, engine_options)


def rollback_options(rule: "HeartbeatRule", pace: Pace, *, keep_plan: bool = False) -> "RollbackOptions":
    """The options of a rollback, as the operator has given them."""
    from hudictl.ops.rollback.plan import RollbackOptions

    return RollbackOptions(keep_plan=keep_plan, interval_ms=rule.interval_ms, misses=rule.misses, **asdict(pace))


def rollback_change(name: str, target: str, options: "RollbackOptions") -> "Change[RollbackPlan, RollbackResult]":
    """The rollback of an instant, or the rest of one that is pending."""
    from hudictl.ops.rollback.execute import execute_rollback
    from hudictl.ops.rollback.planning import done_already, plan_rollback
    from hudictl.render.plans import print_rollback_plan, rollback_verb

    def ended(table: "Table") -> str | None:
        done = done_already(table, target)
        return f"{target} was rolled back already, by {done}: nothing to do" if done else None

    return Change(
        name=name,
        ended=ended,
        plan=lambda session: plan_rollback(session, target, options),
        nothing=lambda plan: f"{target} is requested, and nothing of it was begun" if plan.nothing_to_do else None,
        show=print_rollback_plan,
        shown_first=True,
        question=lambda plan: Question(f"{rollback_verb(plan)} {target}? What is deleted is gone.", typed=target),
        execute=execute_rollback,
        done=lambda _plan, result: rolled_back_line(result),
    )


def service_change(target: str, idle_ms: int) -> "Change[ServiceRemoval, ServiceRemoval]":
    """The removal of a pending clean without plan, or of an indexing."""
    from hudictl.ops.rollback.service import execute_service_removal, plan_service_removal, removed_already
    from hudictl.render.plans import print_service_removal

    def ended(table: "Table") -> str | None:
        done = removed_already(table, target)
        return f"{target} was removed already, at {done}: nothing to do" if done else None

    return Change(
        name="rollback",
        ended=ended,
        plan=lambda session: plan_service_removal(session, target, idle_ms),
        nothing=lambda _plan: None,
        show=print_service_removal,
        shown_first=True,
        question=lambda plan: Question(f"Remove the pending {plan.action} {target}?"),
        execute=lambda session, plan: execute_service_removal(session, plan, idle_ms),
        done=lambda plan, _result: f"removed the pending {plan.action} {target}: {', '.join(plan.files)}",
    )


def run_rollbacks(
    name: str,
    common: TableOptions,
    change: ChangeOptions,
    engine: EngineOptions,
    *,
    targets: "Sequence[tuple[str, RollbackOptions]]",
    notes: Sequence[str] = (),
) -> None:
    """Plans and executes several, newest first; one that fails does not stop the others.

    Raises Incomplete: some failed; the message names the first.
    """
    from hudictl.ops.rollback.execute import execute_rollback
    from hudictl.ops.rollback.failed import RollbackOutcome, planned, roll_back_all, rolled_back

    if not change.plan:
        confirm(f"Roll back {', '.join(time for time, _ in targets)}? What is deleted is gone.", yes=change.yes)
    with session(common, change, engine) as opened:

        def act(plan: "RollbackPlan") -> RollbackOutcome:
            if change.plan:
                return planned(plan)
            return rolled_back(execute(opened, lambda: execute_rollback(opened, plan)))

        outcomes = roll_back_all(opened, targets, act)
        uri = opened.table.uri
    said = [*notes, *(PLANNED if change.plan else ())]
    outcome = outcome_of(planned=change.plan)
    show_rows(common, name, uri, outcomes, RollbackOutcome, "nothing to roll back", notes=said, outcome=outcome)
    failed = [outcome for outcome in outcomes if outcome.exit_code]
    if failed:
        raise Incomplete(
            f"{len(failed)} of {len(outcomes)} could not be rolled back, {failed[0].instant} among them: "
            f"{failed[0].message}",
            hint="the others were; see the rows" if len(failed) < len(outcomes) else "see the rows",
            failed=[outcome.instant for outcome in failed],
        )


def rolled_back_line(result: "RollbackResult") -> str:
    """What a rollback has done."""
    from hudictl.render.words import size

    verb = "took back to requested" if result.plan_kept else "rolled back"
    return (
        f"{verb} {result.target} in {result.duration_ms / 1000:.1f} s, as rollback {result.rollback}: "
        f"files deleted: {result.files_deleted:,} ({size(result.bytes_deleted)}), "
        f"rollback blocks: {result.rollback_blocks:,}; metadata table: {result.metadata_table}"
    )
