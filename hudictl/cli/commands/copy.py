"""``hudictl copy``."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from hudictl.cli.change import ChangeCommand, Question, in_lines, run_change
from hudictl.cli.complete import COMMITS, instants
from hudictl.cli.options import PATH, ChangeOptions, pairs_of
from hudictl.cli.tree import StrictCommand
from hudictl.cli.writers_options import change_options
from hudictl.library import changes
from hudictl.phrases import count_of, first_few
from hudictl.render.words import size

if TYPE_CHECKING:
    from hudictl.ops.copy.execute import CopyResult
    from hudictl.ops.copy.plan import CopyOptions, CopyPlan
    from hudictl.storage import Storage

_TO_OPTION = "--to-storage-option"


@click.command(cls=StrictCommand)
@click.option(
    "--as-of",
    metavar="INSTANT",
    required=True,
    shell_complete=instants(*COMMITS, completed=True),
    help="The commit: the copy has the rows that readers saw after it.",
)
@click.option("--to", metavar="URI", required=True, type=PATH, help="The folder of the copy: empty, or absent.")
@click.option(
    "--partition", "copied_alone", multiple=True, metavar="PARTITION", help="Only this partition. Repeatable."
)
@click.option("--name", default="", help="Name of the new table. Default: that of the table.")
@click.option("--checksum", is_flag=True, help="Also compare the contents of all files: both are read again.")
@click.option(
    "--no-savepoint",
    is_flag=True,
    help="Write nothing into the table. If a clean deletes files meanwhile, the copy fails.",
)
@click.option(
    _TO_OPTION,
    "to_storage",
    multiple=True,
    metavar="K=V",
    help="Option of the copy's store. Repeatable. Default: those of the table, if both are on the same kind of store.",
)
@change_options
def copy(
    change: ChangeOptions,
    as_of: str,
    to: str,
    copied_alone: tuple[str, ...],
    name: str,
    checksum: bool,
    no_savepoint: bool,
    to_storage: tuple[str, ...],
) -> None:
    """Copy the table as of a commit: a table of its own at another place.

    The copy has the files that readers of the commit require, the commits up to it, and the archive. It has no
    metadata table, no savepoints, and no settings of locks. While it runs, a temporary savepoint protects the files
    from cleaning; writers go on.

    A copy that fails or dies is no table. The same command goes on with it.
    """
    from hudictl.library.copies import copy_target
    from hudictl.ops.copy.plan import CopyOptions

    table, given = change.open(), pairs_of(to_storage, _TO_OPTION)
    target = copy_target(table, to, change.common.storage_options, given, single_operator=change.single_operator)
    options = CopyOptions(copied_alone, name, checksum, not no_savepoint)
    assert change.engine is not None
    change = replace(change, engine=replace(change.engine, beside=target))
    run_change(_change(target, as_of, options), change, core=table)


def _change(target: "Storage", as_of: str, options: "CopyOptions") -> "ChangeCommand[CopyPlan, CopyResult]":
    from hudictl.render.locks import lock_line

    def only(partitions: "tuple[str, ...]") -> str:
        return f", only of {first_few(partitions, rest=' and {} more')}" if partitions else ""

    def said(plan: "CopyPlan") -> str:
        if plan.there:
            return f"end the copy as of {as_of} to {plan.to}: its files are there"
        rest = "the rest of " if plan.resumes else ""
        what = f"{count_of(plan.files, 'file')} in {count_of(plan.partitions, 'partition')}, {size(plan.bytes)}"
        what += only(plan.only_partitions)
        return f"copy {rest}{what}, as of {as_of} to {plan.to}"

    def lines(plan: "CopyPlan") -> list[str]:
        lines = [
            f"would {said(plan)}",
            f"Timeline: {count_of(plan.instants, 'commit')}; files in .hoodie: {plan.timeline_files:,}",
            f"Rollback blocks, for instants not in the copy: {plan.rollback_blocks:,}" if plan.marked else "",
            f"Requests, at least: {plan.requests:,}" if plan.requests else "",
            _PROTECTION[plan.savepoint],
            "Not copied: metadata table, savepoints, locks; storage classes, keys and access lists of objects are the "
            "defaults of the target",
            _QUERIED.format(plan.as_of),
            lock_line(plan.lock) if plan.savepoint == "temporary" else "",
        ]
        return [line for line in lines if line]

    def done(plan: "CopyPlan", result: "CopyResult") -> str:
        compared = ", contents compared" if result.checksum else ""
        files = f"{count_of(result.files_copied, 'file')}, {size(result.bytes_copied)}{only(result.only_partitions)}"
        return f"copied {as_of} to {plan.to} in {result.duration_ms / 1000:.1f} s: {files}; verified{compared}"

    def question(plan: "CopyPlan") -> Question:
        text = said(plan)
        return Question(f"{text[0].upper()}{text[1:]}?")

    return ChangeCommand(
        name="copy",
        change=changes.copy(target, as_of, options),
        show=in_lines(lines),
        question=question,
        done=done,
        then=lambda _plan, _result: [_QUERIED.format(as_of)],
    )


_QUERIED = (
    "Query the copy at {} or later: as of an earlier commit, or incremental from before it, Hudi reads too few rows, "
    "without an error"
)
_PROTECTION = {
    "temporary": "A temporary savepoint protects the table's files from cleaning until the copy is done",
    "exists": "The commit's savepoint protects the table's files from cleaning",
    "none": "Nothing protects the table's files from cleaning: the copy fails if one is deleted",
}
"""By the plan's ``savepoint``."""
