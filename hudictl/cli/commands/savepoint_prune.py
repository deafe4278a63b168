"""``hudictl savepoint prune``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from hudictl.cli.change import ChangeCommand, Question, run_change
from hudictl.cli.complete import tags
from hudictl.cli.options import ChangeOptions, Command
from hudictl.cli.tree import StrictCommand
from hudictl.cli.writers_options import change_options
from hudictl.library import changes
from hudictl.library.times import age_ms
from hudictl.phrases import count_of

if TYPE_CHECKING:
    from hudictl.ops.savepoint.plan import PruneOptions, PrunePlan, PruneResult

_COUNTED = {
    "last": "Keep the N newest savepoints.",
    "hourly": "Keep the newest savepoint of each hour that has one, for the last N such hours.",
    "daily": "The same for calendar days.",
    "weekly": "The same for ISO weeks, from Monday to Sunday.",
    "monthly": "The same for months.",
    "yearly": "The same for years.",
}


def tag_option(help: str) -> Callable[[Command], Command]:
    """Adds --tag."""

    return click.option("--tag", shell_complete=tags, help=help)


def _rules(command: Command) -> Command:
    """Adds the --keep-... options."""
    within = "Keep all savepoints that are less than this (30d) older than the newest one."
    command = click.option("--keep-within", metavar="DURATION", help=within)(command)
    for rule, help in reversed(_COUNTED.items()):
        option = click.option(f"--keep-{rule}", type=click.IntRange(min=1), metavar="N", help=help)
        command = option(command)
    return command


@click.command(cls=StrictCommand)
@tag_option("Only savepoints with this tag. Without it: all with a tag; the rules count for each tag by itself.")
@click.option("--all", "untagged", is_flag=True, help="Also savepoints without a tag.")
@_rules
@change_options
def prune(
    change: ChangeOptions, tag: str | None, untagged: bool, keep_within: str | None, **counted: int | None
) -> None:
    """Delete the savepoints that no --keep option keeps.

    The options are those of `restic forget`; at least one is needed. The times are those of the savepointed commits.
    The newest savepoint of a tag is always kept; so is the newest one that can be restored, if no other can.

    Suitable for cron: exit code 0 if there is nothing to do. The plan says why each savepoint is kept, and what
    cleaning and archiving can take afterwards.
    """
    from hudictl.ops.savepoint.plan import PruneOptions
    from hudictl.state.files.retention import Rules

    within_ms = age_ms(keep_within, "--keep-within") if keep_within is not None else 0
    rules = Rules(**{name.removeprefix("keep_"): count or 0 for name, count in counted.items()}, within_ms=within_ms)
    options = PruneOptions(rules, tag, untagged)
    run_change(prune_change("savepoint prune", options), change)


def prune_change(name: str, options: "PruneOptions") -> "ChangeCommand[PrunePlan, PruneResult]":
    """The savepoints to delete."""
    from hudictl.render.plans import freed_text, print_prune_plan

    def left(plan: "PrunePlan") -> str:
        return f"{sum(row.kept for row in plan.savepoints):,} kept"

    def said(plan: "PrunePlan") -> str:
        more = f", and what is left of {count_of(len(plan.unfinished), 'other')}" if plan.unfinished else ""
        return f"{count_of(len(plan.savepoints_to_delete), 'savepoint')}{more}; {left(plan)}"

    return ChangeCommand(
        name=name,
        change=changes.savepoint_prune(options),
        show=print_prune_plan,
        shown_first=True,
        question=lambda plan: Question(f"Delete {said(plan)}?"),
        done=lambda plan, _result: f"deleted {said(plan)}; {freed_text(plan)}",
    )
