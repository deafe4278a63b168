"""``hudictl savepoint``."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from hudictl.cli.change import ChangeCommand, Question, in_lines, looking, opened_table, run_change
from hudictl.cli.commands.savepoint_prune import prune, tag_option
from hudictl.cli.complete import COMMITS, instants
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import (
    ChangeOptions,
    EngineOptions,
    TableOptions,
    accept_lost_option,
    engine_options,
    idle_option,
    table_options,
)
from hudictl.cli.show import show_result, show_rows
from hudictl.cli.to_copy import to_copy
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options, change_options_without_engine, heartbeat_options
from hudictl.errors import Findings, UsageError
from hudictl.library import changes
from hudictl.phrases import command_of, count_of, first_few
from hudictl.render.words import size

if TYPE_CHECKING:
    from hudictl.ops.savepoint.plan import SavepointDeletion, SavepointOptions, SavepointPlan


@click.group(cls=StrictGroup)
def savepoint() -> None:
    """Manage savepoints: commits protected from cleaning and archiving, for later restores."""


savepoint.add_command(prune)


@savepoint.command()
@click.argument("instant", required=False, shell_complete=instants(*COMMITS, completed=True))
@click.option("--user", help="Creator of the savepoint. Default: the current user.")
@click.option("--comment", default="", help="Reason for the savepoint.")
@tag_option("Tag of the savepoint, for `savepoint prune`: it is stored as [TAG] before the comment.")
@click.option(
    "--every",
    metavar="DURATION",
    help="Nothing to do if a savepoint with the --tag is on a commit that is younger than 90% of this (24h, 7d).",
)
@click.option(
    "--allow-pending",
    is_flag=True,
    help="Allow it although older writes are pending. The savepoint does not contain them.",
)
@accept_lost_option
@idle_option
@change_options
def create(
    change: ChangeOptions,
    instant: str | None,
    user: str | None,
    comment: str,
    tag: str | None,
    every: str | None,
    allow_pending: bool,
    accept_lost_instants: bool,
    idle_ms: int,
) -> None:
    """Create a savepoint on INSTANT.

    Without INSTANT: on the newest commit without older pending writes.

    A warning if the writers' settings archive beyond savepoints: rows can be lost then.

    With --every, suitable for cron: exit code 0 if there is nothing to do. The age is that of the savepointed commit,
    by its instant time. 90%, because a job may start earlier than the last one did. A commit has only one savepoint:
    with a --tag, 13 if it is one with another tag.
    """
    from hudictl.library.savepoints import creation
    from hudictl.ops.savepoint.plan import SavepointOptions

    options = SavepointOptions(user or "", comment, allow_pending, idle_ms, accept_lost_instants)
    made = creation(instant, options, tag, every)
    run_change(replace(create_change("savepoint create", instant, options), change=made), change)


def create_change(name: str, instant: str | None, options: "SavepointOptions") -> "ChangeCommand[SavepointPlan, None]":
    """A savepoint to create."""
    from hudictl.render.locks import lock_line

    def said(plan: "SavepointPlan") -> str:
        chosen = " (the newest commit without older pending writes)" if plan.chosen else ""
        what = f"{count_of(plan.files, 'file')} in {count_of(plan.partitions, 'partition')}, {size(plan.bytes)}"
        return f"{plan.target}{chosen}: {what}" + "".join(f". Warning: {text}" for text in plan.warnings)

    def added(plan: "SavepointPlan") -> str:
        return count_of(plan.files_added, "file")

    def lines(plan: "SavepointPlan") -> list[str]:
        what = f"add {added(plan)} to the" if plan.exists else "create a"
        return [f"would {what} savepoint on {said(plan)}", lock_line(plan.lock)]

    return ChangeCommand(
        name=name,
        change=changes.savepoint_creation(instant, options),
        show=in_lines(lines),
        question=lambda plan: Question(
            f"{f'Add {added(plan)} to the' if plan.exists else 'Create a'} savepoint on {said(plan)}?"
        ),
        done=lambda plan, _result: (
            f"{f'added {added(plan)} to the' if plan.exists else 'created a'} savepoint on {said(plan)}"
        ),
        nothing_noted=True,
        done_json=lambda plan, _result: plan,
    )


@savepoint.command("list")
@click.option("--bytes", "count_bytes", is_flag=True, help="Also list the data files: how many bytes each holds.")
@click.option("--verify", is_flag=True, help="Also check whether each can be restored now. If one cannot: exit code 3.")
@idle_option
@list_options(heartbeat_options, engine_options)
def list_(given: ListOptions, count_bytes: bool, verify: bool, idle_ms: int) -> None:
    """List the savepoints, newest first.

    The column own bytes has those of files that neither the newest file slices nor another savepoint have: what could
    be cleaned without the savepoint. Columns that need --bytes or --verify turn it on where they are named.

    In hudi-cli: `savepoints show`; in SQL: `show_savepoints`.
    """
    count_bytes = count_bytes or given.names("files", "bytes", "own_bytes", "missing")
    verify = verify or given.names("restorable")
    with opened_table(looking(given.common), given.engine_options) if verify else given.table() as table:
        rows = table.savepoints(count_bytes=count_bytes, verify=verify, idle_ms=idle_ms).kept()
    show_list(given, "savepoint list", table, given.ordered(rows), "no savepoints", by_time=True)
    lost = [row.instant for row in rows if row.restorable is False]
    if lost:
        some = f"{len(lost)} of {len(list(rows))} savepoints"
        raise Findings(
            f"{some} cannot be restored now: {first_few(lost, rest=' and {:,} more')}",
            hint="the rows say why",
            instants=lost,
        )


@savepoint.command()
@click.argument("instant", shell_complete=instants("savepoint", completed=True))
@click.option(
    "--verify",
    is_flag=True,
    help="Check whether the savepoint can be restored now. If it cannot: exit code 3, and the reason.",
)
@click.option(
    "--deep",
    is_flag=True,
    help="With --verify: also read the footers of the base files, and all blocks of the logs.",
)
@idle_option
@table_options
@heartbeat_options
@engine_options
def show(
    common: TableOptions, engine_options: EngineOptions, instant: str, verify: bool, deep: bool, idle_ms: int
) -> None:
    """Show the files of a savepoint, with their sizes."""
    from hudictl.state.timeline.dropped import ways_out
    from hudictl.state.timeline.unfinished import in_words

    if deep and not verify:
        raise UsageError("--deep can only be used with --verify")
    with opened_table(looking(common), engine_options) if verify else common.table() as table:
        uri, files = table.uri, table.savepoint_files(instant).kept()
        if not verify:
            empty = "the savepoint has no files"
            show_rows(common, "savepoint show", uri, list(files), files.type, empty, notes=files.notes)
            return
        result = to_copy().all_of(table.verify_savepoint(instant, deep=deep, idle_ms=idle_ms))
    tagged = list(files.notes)
    if result.later_savepoints:
        later = first_few(result.later_savepoints, rest=" and {:,} more")
        tagged.append(f"later savepoints: {later}; a restore to it deletes them, with --delete-later-savepoints")
    read = "footers and logs read" if deep else "--deep reads them"
    verified = f"{count_of(result.file_count, 'file')}, {size(result.bytes)} (present, of the recorded size; {read})"
    said = f"{instant} can be restored: {verified}"
    if result.taken_back:
        tagged.append(
            f"not required: its files of {first_few(result.taken_back)}, rolled back or removed by a restore since"
        )
    show_result(common, "savepoint show", uri, result, [said, *tagged] if result.restorable else [], tagged)
    if not result.restorable:
        why = result.reason.removeprefix(f"{instant} cannot be restored: ")
        raise Findings(f"{instant} cannot be restored now: {why}", hint=result.hint, instant=instant)
    if result.threat:
        raise Findings(
            f"{instant} can be restored now, but not after the next clean: {result.threat}",
            hint=in_words(ways_out(instant, result.later_savepoints)),
            instant=instant,
        )
    if result.unprotected:
        raise Findings(
            f"{instant} can be restored now, but the savepoint does not name {len(result.unprotected):,} required "
            f"files, for example {result.unprotected[0]}: a clean may delete them",
            hint=f"`{command_of('savepoint create', instant)}` adds them",
            instant=instant,
        )


@savepoint.command()
@click.argument("instant", shell_complete=instants("savepoint", completed=True))
@change_options_without_engine
def delete(change: ChangeOptions, instant: str) -> None:
    """Delete a savepoint. It no longer protects its files from cleaning, and its commit from archiving."""
    run_change(delete_change("savepoint delete", instant), change)


def delete_change(name: str, instant: str) -> "ChangeCommand[SavepointDeletion, None]":
    """A savepoint to delete."""
    from hudictl.render.locks import lock_line

    def said(plan: "SavepointDeletion") -> str:
        return f"the savepoint {instant}, which protects {count_of(plan.files_protected, 'file')}"

    def protected(plan: "SavepointDeletion") -> str:
        return count_of(plan.files_protected, "file") if plan.files_protected else "nothing that can be read"

    return ChangeCommand(
        name=name,
        change=changes.savepoint_deletion(instant),
        show=in_lines(lambda plan: [f"would delete {said(plan)}", lock_line(plan.lock)]),
        question=lambda plan: Question(f"Delete {said(plan)}?"),
        done=lambda plan, _result: f"deleted the savepoint {instant}, which protected {protected(plan)}",
        done_json=lambda plan, _result: plan,
    )
