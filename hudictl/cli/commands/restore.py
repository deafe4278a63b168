"""``hudictl restore``."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from hudictl.cli.change import ChangeCommand, Question, in_lines, run_change, table_line, told_after
from hudictl.cli.complete import COMMITS, instants
from hudictl.cli.keeping import Keeping, keeping_options
from hudictl.cli.options import PATH, ChangeOptions, accept_lost_option, gathered
from hudictl.cli.pace import Pace, pace_options
from hudictl.cli.services import add_list_and_show
from hudictl.cli.show import PLANNED, show_result
from hudictl.cli.tree import CommandWithMore
from hudictl.cli.writers_options import change_options
from hudictl.errors import Refused, UsageError
from hudictl.library import changes
from hudictl.phrases import count_of, first_few, gone, undo_text
from hudictl.render.json import ChangeOutcome
from hudictl.render.words import size

if TYPE_CHECKING:
    from hudictl.ops.restore.execute import RestoreResult
    from hudictl.ops.restore.leftovers import Leftovers
    from hudictl.ops.restore.plan import RestoreOptions, RestorePlan
    from hudictl.ops.restore.withdraw import Withdrawal, Withdrawn


@dataclass(frozen=True)
class How:
    """What a restore and its resumption share."""

    delete_later_savepoints: bool
    discard_rollbacks: bool
    pace: Pace
    keeping: Keeping

    def options(self, **more: Any) -> "RestoreOptions":
        """With what only one of them knows."""
        from hudictl.ops.restore.plan import RestoreOptions

        return RestoreOptions(
            **more,
            delete_later_savepoints=self.delete_later_savepoints,
            discard_rollbacks=self.discard_rollbacks,
            **asdict(self.pace),
            **asdict(self.keeping),
        )


restore_options = gathered(
    "how",
    How,
    click.option(
        "--delete-later-savepoints",
        is_flag=True,
        help="Also delete the savepoints on commits to remove. They cannot be restored later.",
    ),
    click.option(
        "--discard-rollbacks",
        is_flag=True,
        help="Discard pending rollbacks of commits to keep. Refused, if one has changed something already.",
    ),
    keeping_options,
    pace_options,
)


@click.group(cls=CommandWithMore)
@click.argument("savepoint", required=False, shell_complete=instants("savepoint", completed=True))
@click.option(
    "--to-instant",
    metavar="INSTANT",
    shell_complete=instants(*COMMITS, completed=True),
    help="Restore to this commit. It needs no savepoint.",
)
@click.option(
    "--rule",
    type=click.Choice(["requested", "completion"]),
    help="Which commits are later than the target: by requested time (as Hudi 0.15 and 1.0) or completion time "
    "(as 1.1 and 1.2). Default: the rule of the Hudi release for this table version.",
)
@click.option(
    "--deep",
    is_flag=True,
    help="Also read the footers of the base files that the target needs, and all blocks of its logs. A damaged file "
    "refuses the restore.",
)
@click.option(
    "--partition",
    "partitions",
    multiple=True,
    metavar="PATH",
    type=PATH,
    help="With --plan: print the steps that bring only this partition back: a copy, from which Hudi writes it again. "
    "Repeatable.",
)
@click.option(
    "--table-type",
    type=click.Choice(["MERGE_ON_READ", "COPY_ON_WRITE"]),
    help="Also bring back the table type, if it was changed after the target (hoodie.table.type).",
)
@accept_lost_option
@restore_options
@change_options
def restore(
    change: ChangeOptions,
    how: How,
    savepoint: str | None,
    to_instant: str | None,
    rule: str | None,
    accept_lost_instants: bool,
    deep: bool,
    partitions: tuple[str, ...],
    table_type: str | None,
) -> None:
    """Restore the table to SAVEPOINT, or to a commit with --to-instant.

    All later commits are removed, newest first, and their data files are deleted. Stop all writers first.
    """
    if (savepoint is None) == (to_instant is None):
        raise UsageError("give one target: either SAVEPOINT, or --to-instant INSTANT")
    if partitions:
        _show_partitions_back(change, savepoint or to_instant or "", partitions)
        return
    options = how.options(
        to_instant=to_instant is not None,
        rule=rule,
        accept_lost_instants=accept_lost_instants,
        deep=deep,
        table_type=table_type,
    )
    run_change(restore_change("restore", savepoint or to_instant or "", options), change)


add_list_and_show(
    restore,
    "restores",
    lists="List the restores, newest first; of a pending one also what it waits for.\n\nIn hudi-cli: `show restores`.",
    shows="Show the files that a restore has deleted, or the instants that a pending one removes.\n\n"
    "In hudi-cli: `show restore`.",
)


def _show_partitions_back(change: ChangeOptions, target: str, partitions: tuple[str, ...]) -> None:
    """Raises Refused: without --plan."""
    if not change.plan:
        raise Refused(
            "a restore is of the whole table: hudictl writes no commit of data",
            hint="with --plan, it prints the steps that bring single partitions back",
        )
    common, table = change.common, change.common.table()
    found = table.partitions_back(target, partitions)
    lines = ["1. Copy the partitions as they were:", "", f"   {found.copy}", "", "2. In Spark SQL, with Hudi:", ""]
    lines += [f"   {statement};" for statement in found.statements]
    lines += ["", *(f"Warning: {text}" for text in found.warnings)]
    show_result(common, "restore", table.uri, found, [table_line(table.core), *lines], PLANNED, ChangeOutcome.PLANNED)


def restore_change(name: str, target: str, options: "RestoreOptions") -> "ChangeCommand[RestorePlan, RestoreResult]":
    """A restore to a target, or the rest of one that is pending."""
    from hudictl.render.plans import create_again, print_restore_plan

    return ChangeCommand(
        name=name,
        change=changes.restore(target, options),
        show=print_restore_plan,
        shown_first=True,
        question=_question,
        done=_restored,
        then=lambda plan, result: [
            *told_after(result),
            *create_again(plan, result.metadata_table),
            *map(_indexing, result.indexings),
        ],
        instead=lambda plan, said: leftovers_change(name, options.idle_ms, said, plan),
    )


def _indexing(time: str) -> str:
    from hudictl.phrases import command_of

    return f"Hudi's HoodieIndexer must not execute the indexing {time} any more: `{command_of('rollback', time)}`."


def _question(plan: "RestorePlan") -> Question:
    verb = f"Finish the restore {plan.resumes} to" if plan.resumes else "Restore to"
    return Question(f"{verb} {plan.target}? {gone(kept=plan.options.keep_files)}", typed=plan.target)


def _restored(plan: "RestorePlan", result: "RestoreResult") -> str:
    from hudictl.render.plans import metadata_text

    return (
        f"restored to {plan.target} in {result.duration_ms / 1000:.1f} s: "
        f"removed {count_of(len(result.instants), 'instant')} and {count_of(result.files_deleted, 'file')} "
        f"({size(result.bytes_deleted)}); readers saw {plan.target} after {result.readers_back_ms:,} ms"
        f"{metadata_text(result)}{undo_text(result.undo)}"
    )


def withdrawal_change(idle_ms: int) -> "ChangeCommand[Withdrawal, Withdrawn]":
    """The withdrawal of a pending restore."""
    from hudictl.render.locks import lock_line

    def said(plan: "Withdrawal") -> str:
        again = ", ".join(plan.published_again) or "none"
        lost = f"; not recovered: {', '.join(plan.not_brought_back)}" if plan.not_brought_back else ""
        return f"the restore {plan.restore} to {plan.target}; instants published again: {again}{lost}"

    def back(result: "Withdrawn") -> str:
        said = {
            "put back": "; the metadata table is in use again",
            "deleted": "; the metadata table was deleted: the next Hudi write builds it again",
        }
        return said.get(result.metadata_table, "")

    return ChangeCommand(
        name="resume",
        change=changes.withdrawal(idle_ms),
        show=in_lines(lambda plan: [f"would withdraw {said(plan)}", lock_line(plan.lock)]),
        question=lambda plan: Question(f"Withdraw {said(plan)}?"),
        done=lambda plan, result: f"withdrew {said(plan)}{back(result)}",
    )


def leftovers_change(
    name: str, idle_ms: int, said: str, shown: "RestorePlan | None" = None
) -> "ChangeCommand[Leftovers, Leftovers]":
    """Where nothing is to be restored: what restores that have ended have left. ``said`` says so, and ``shown`` is the
    plan of nothing that JSON has then."""

    def nothing(plan: "Leftovers") -> str | None:
        if plan.nothing:
            return said
        # Nobody has seen these in a saved plan: who looks at them can remove them.
        return f"{said}; `hudictl resume` would remove {_leftovers(plan)}" if name == "apply" else None

    return ChangeCommand(
        name=name,
        change=changes.leftovers(idle_ms),
        nothing=nothing,
        nothing_json=lambda _plan: shown,
        show=in_lines(lambda plan: [f"{said}; would remove {_leftovers(plan)}"]),
        question=lambda plan: Question(f"Remove {_leftovers(plan)}?"),
        done=lambda plan, _result: f"{said}; removed {_leftovers(plan)}",
    )


def _leftovers(plan: "Leftovers") -> str:
    parts = [f"the pending rollbacks {', '.join(plan.rollbacks)}"] if plan.rollbacks else []
    parts += [f"the restore {time} without a plan" for time in plan.restores]
    parts += [f"hudictl's temporary savepoint on {time}" for time in plan.savepoints]
    parts += [f"the metadata table that {time} has set aside" for time in plan.metadata_tables]
    said = [f"{' and '.join(parts)}, left by an ended restore or rollback"] if parts else []
    said += [f"{first_few(plan.manifests, rest=' and {:,} more')}, left by a dead writer"] if plan.manifests else []
    said += [f"{' and '.join(plan.properties)}, left by an interrupted update"] if plan.properties else []
    return "; ".join(said)
