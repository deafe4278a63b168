"""``hudictl undo``."""

from typing import TYPE_CHECKING

import click

from hudictl.cli.change import ChangeCommand, Question, in_lines, run_change
from hudictl.cli.complete import instants_in
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import ChangeOptions, idle_option
from hudictl.cli.pace import profile_given
from hudictl.cli.tree import CommandWithMore
from hudictl.cli.writers_options import change_options, change_options_without_engine
from hudictl.errors import UsageError
from hudictl.formats.file_names import PARTITION_METAFILE
from hudictl.formats.layouts import UNDO
from hudictl.library import changes
from hudictl.library.times import age_ms
from hudictl.phrases import count_of
from hudictl.render.words import size

if TYPE_CHECKING:
    from hudictl.ops.put_back.drop import UndoDrop, UndoDropped
    from hudictl.ops.put_back.execute import UndoResult
    from hudictl.ops.put_back.planning import UndoPlan


@click.group(cls=CommandWithMore)
@click.argument("instant", shell_complete=instants_in(UNDO))
@idle_option
@change_options
def undo(change: ChangeOptions, instant: str, idle_ms: int) -> None:
    """Undo the restore, rollback, deletion or drop INSTANT, which was done with --keep-files. Stop all writers first.

    Data files, timeline, metadata table and savepoints are then as they were before it, byte for byte. On file systems
    they also have their modification times. This is possible until the table is changed again (exit code 13), also if
    the operation has not ended. The same command again finishes an undo that was interrupted.
    """
    # The undo of a repair brings damaged properties back, and may be interrupted after that.
    core = change.open(salvage={})
    run_change(undo_change(instant, idle_ms), change, core=core)


@undo.command("list")
@list_options()
def list_(given: ListOptions) -> None:
    """List the operations that kept their files, newest first: the space, and whether they can still be undone."""
    table = given.table()
    show_list(given, "undo list", table, given.ordered(table.undos()), "nothing is kept", by_time=True)


@undo.command()
@click.argument("instants", nargs=-1, metavar="[INSTANT]...", shell_complete=instants_in(UNDO))
@click.option("--older-than", metavar="DURATION", help="Drop all that is older than this (12h, 14d).")
@change_options_without_engine
def drop(change: ChangeOptions, instants: tuple[str, ...], older_than: str | None) -> None:
    """Delete what the operations INSTANT have kept: they cannot be undone then. Or all that is old, for cron.

    Without INSTANT and --older-than, the age is that of the table's profile, as keep_files = "7d".
    """
    profile, of_profile = profile_given(), ""
    if profile is not None and isinstance(profile.keep_files, str) and not instants and older_than is None:
        older_than = profile.keep_files
        of_profile = f", as keep_files of the profile {profile.name} says ({profile.file})"
    if bool(instants) == (older_than is not None):
        raise UsageError("give either INSTANT, or --older-than DURATION")
    older_ms = None if older_than is None else age_ms(older_than, "--older-than")
    run_change(_drop_change(instants, older_ms, f"older than {older_than}{of_profile}"), change)


def undo_change(instant: str, idle_ms: int) -> "ChangeCommand[UndoPlan, UndoResult]":
    """The undo of an operation."""
    from hudictl.render.locks import lock_line

    def what(plan: "UndoPlan") -> str:
        of = ", ".join(filter(None, plan.targets))
        to = {"restore": " to ", "rollback": " of ", "metadata drop": " of "}.get(plan.of, " ")
        return f"the {plan.of} {plan.undoes}{f'{to}{of}' if of else ''}"

    def lines(plan: "UndoPlan") -> list[str]:
        lines = [f"Undo {what(plan)}, begun at {plan.begun_at}", ""]
        if plan.instants:
            lines.append(f"Instants that readers see again: {', '.join(plan.instants)}.")
        if plan.files or not plan.metadata_table:
            lines.append(f"Data files that come back: {plan.files:,} ({size(plan.bytes)}).")
        if plan.contents.versions:
            lines.append(
                f"Old versions of the bucket, of {count_of(len(plan.contents.versions), 'file')}: their delete markers "
                "are removed. A file that was written since, or whose marker may not be removed, is copied."
            )
        if plan.files_removed:
            lines.append(f"Data files that it created, and that go: {len(plan.files_removed):,}.")
        if plan.metadata_table:
            lines.append("The metadata table is put back as it was.")
        return [*lines, f"{lock_line(plan.lock)} All writers and table services must be stopped.", ""]

    return ChangeCommand(
        name="undo",
        change=changes.undo(instant, idle_ms),
        show=in_lines(lines),
        shown_first=True,
        question=lambda plan: Question(f"Undo {what(plan)}?", typed=plan.undoes),
        done=lambda plan, result: f"undid {what(plan)}: {_back(plan, result)}",
    )


def _back(plan: "UndoPlan", result: "UndoResult") -> str:
    from hudictl.ops.session import Kind

    pending = plan.pending_again
    if plan.metadata_table and not (result.instants or result.files or pending):
        return "the metadata table is back"
    back = count_of(len(result.instants), "instant")
    if pending:
        # No reader sees it.
        back = f"{', '.join(pending)} {'is' if len(pending) == 1 else 'are'} pending again,"
    elif plan.of == Kind.ROLLBACK.value and not result.instants:
        back = ", ".join(filter(None, plan.targets))
    blocks = sum(not path.endswith(PARTITION_METAFILE) for path in plan.files_removed)
    gone = f"; rollback blocks removed: {blocks:,}" if blocks and plan.of == Kind.ROLLBACK.value else ""
    return f"{back} and {count_of(result.files, 'file')} ({size(result.bytes)}) are back{gone}"


def _drop_change(
    instants: tuple[str, ...], older_than_ms: int | None, older: str
) -> "ChangeCommand[UndoDrop, UndoDropped]":
    """``older`` says what goes where no instants are named; and where that comes from, if not the command line."""

    def said(plan: "UndoDrop") -> str:
        files, total = (sum(getattr(entry, name) for entry in plan.dropped) for name in ("files", "bytes"))
        times = ", ".join(f"{entry.operation} {entry.undo}" for entry in plan.dropped)
        versions = sum(entry.versions for entry in plan.dropped)
        rest = f" freed; {count_of(versions, 'old version')} of the bucket go by its own rules" if versions else ""
        chosen = "" if instants else f", {older}"
        return f"what was kept of {times}{chosen}: {count_of(files, 'file')}, {size(total)}{rest}"

    def stays(plan: "UndoDrop") -> str:
        kept = (("pending", plan.pending), ("of unknown age", plan.unreadable))
        return "".join(f"; {why}, and kept: {', '.join(times)}" for why, times in kept if times)

    def nothing_older(plan: "UndoDrop") -> str | None:
        return None if plan.dropped else f"nothing is {older}: nothing to do{stays(plan)}"

    return ChangeCommand(
        name="undo drop",
        change=changes.undo_drop(instants, older_than_ms),
        nothing=None if instants else nothing_older,
        show=in_lines(lambda plan: [f"would drop {said(plan)}{stays(plan)}"]),
        question=lambda plan: Question(f"Drop {said(plan)}? It cannot be undone then."),
        done=lambda plan, _result: f"dropped {said(plan)}{stays(plan)}",
    )
