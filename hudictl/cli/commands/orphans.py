"""``hudictl orphans``."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from hudictl.cli.change import ChangeCommand, Question, run_change
from hudictl.cli.keeping import Keeping, orphan_keeping_options
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import PATH, ChangeOptions, engine_options, idle_option
from hudictl.cli.pace import keep_files_option, keeps_files
from hudictl.cli.progress import shown
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options
from hudictl.errors import UsageError
from hudictl.library import changes
from hudictl.phrases import count_of, first_few, gone, undo_text
from hudictl.render.words import size

if TYPE_CHECKING:
    from hudictl.ops.clean_up.orphans import OrphanOptions, OrphanPlan, OrphanResult


@click.group(cls=StrictGroup)
def orphans() -> None:
    """Find and delete orphans: data files without an instant, left by failed writes."""


@orphans.command("list")
@list_options(engine_options)
def list_(given: ListOptions) -> None:
    """List orphans by path, each with the reason and the certainty: sure, or unknown.

    Files of pending writes are not orphans: see `hudictl failed-writes list`.
    """
    with (
        shown("list files", given.common.progress) as progress,
        given.table(progress) as table,
    ):
        rows = table.files.orphans().kept()
    show_list(given, "orphans list", table, rows, "no orphans")


@orphans.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=PATH)
@click.option("--duplicates", is_flag=True, help="Only second base files of a slice, whose commit names the other one.")
@keep_files_option
@idle_option
@orphan_keeping_options
@change_options
def delete(
    change: ChangeOptions,
    keep_files: bool | None,
    idle_ms: int,
    keeping: Keeping,
    paths: tuple[str, ...],
    duplicates: bool,
) -> None:
    """Delete the sure orphans. Unknown ones are kept; so are files that changed within --idle.

    What rolled-back resizes have left for the buckets (.hoodie/.bucket_index) is deleted, too.

    With PATHs: these files only, of which you are sure. A PATH is an orphan, sure or unknown; a base file that its own
    commit does not name; or a file that Hudi did not write, below the table's partitions. What a commit, a savepoint
    or a pending plan names is refused.

    With --duplicates: where a file slice has several base files, those that its commit does not name, if it names
    exactly one of them. The rows of both are read: the plan says how many of a file to delete are not in the other one.

    If the metadata table lists some of them, they are taken out of it first. Then its indexes of keys are deleted, too:
    they may hold keys of these files.
    """
    from hudictl.ops.clean_up.orphans import OrphanOptions

    if duplicates and paths:
        raise UsageError("--duplicates cannot be used with PATHs")
    keeps = keeps_files(keep_files)
    options = OrphanOptions(idle_ms, **asdict(keeping), keep_files=keeps, paths=paths, duplicates=duplicates)
    run_change(delete_change("orphans delete", options), change)


def delete_change(name: str, options: "OrphanOptions") -> "ChangeCommand[OrphanPlan, OrphanResult]":
    """The orphans to delete."""
    from hudictl.render.plans import print_orphan_plan
    from hudictl.state.metadata.undo import Mode

    def left(plan: "OrphanPlan") -> str:
        if not plan.left:
            return ""
        if plan.options.duplicates:
            return f"; kept: {first_few([f'{row.path} ({row.why})' for row in plan.files_left])}"
        return f"; {count_of(len(plan.left), 'orphan')} kept: `hudictl orphans list` shows why"

    def said(plan: "OrphanPlan") -> str:
        if plan.hashing and not plan.orphans:
            return f"{count_of(len(plan.hashing), 'file')} of buckets"
        if not plan.orphans:
            return "what earlier deletions have left"
        noun = "second base file" if plan.options.duplicates else "file" if plan.options.paths else "orphan"
        return f"{count_of(plan.files_to_delete, noun)}, {size(plan.bytes_to_delete)}"

    def done(plan: "OrphanPlan", result: "OrphanResult") -> str:
        counted = f"{result.files_deleted:,} of " if plan.orphans else ""
        changed = plan.orphans and result.metadata_table in (Mode.FORWARD.value, Mode.DELETE.value)
        became = f"; metadata table: {result.metadata_table}" if changed else ""
        return f"deleted {counted}{said(plan)}{left(plan)}{became}{undo_text(result.undo)}"

    wanted = "second base files" if options.duplicates else "orphans"
    return ChangeCommand(
        name=name,
        change=changes.orphan_deletion(options),
        nothing=lambda plan: f"no {wanted} to delete: nothing to do{left(plan)}" if plan.nothing_to_do else None,
        show=print_orphan_plan,
        shown_first=True,
        question=lambda plan: Question(f"Delete {said(plan)}? {gone(kept=options.keep_files)}"),
        done=done,
    )
