"""``hudictl savepoint``."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from hudictl.cli.change import LOOKING, Change, Question, run_change, session
from hudictl.cli.commands.savepoint_prune import prune, tag_option
from hudictl.cli.complete import COMMITS, instants
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import (
    ChangeOptions,
    EngineOptions,
    TableOptions,
    accept_lost_option,
    duration_ms,
    engine_options,
    idle_option,
    table_options,
)
from hudictl.cli.show import show_result, show_rows
from hudictl.cli.to_copy import to_copy
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options, heartbeat_options
from hudictl.errors import Findings, UsageError
from hudictl.phrases import command_of, first_few

if TYPE_CHECKING:
    from hudictl.ops.savepoint.plan import SavepointDeletion, SavepointOptions, SavepointPlan
    from hudictl.render.text import Console
    from hudictl.reports.savepoints import SavepointRow
    from hudictl.table.table import Table


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
@table_options
@engine_options
@change_options
def create(
    common: TableOptions,
    engine_options: EngineOptions,
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
    by its instant time. 90%, because a job may start earlier than the last one did.
    """
    from hudictl.ops.savepoint.plan import SavepointOptions
    from hudictl.state.files.savepoints import with_tag
    from hudictl.table.operations import current_user

    if every is not None and (tag is None or instant is not None):
        raise UsageError(
            "--every needs a --tag, and no INSTANT", hint="it chooses the newest commit: add --tag nightly"
        )
    by = current_user() if user is None else user
    comment = comment if tag is None else with_tag(tag, comment)
    options = SavepointOptions(by, comment, allow_pending, idle_ms, accept_lost_instants)
    made = create_change("savepoint create", instant, options)
    if every is not None:
        made = replace(made, ended=_young(str(tag), every))
    run_change(made, common, change, engine_options)


def _young(tag: str, every: str) -> "Callable[[Table], str | None]":
    from hudictl.ops.savepoint.planning import young_savepoint

    every_ms = duration_ms(every, "--every")

    def said(table: "Table") -> str | None:
        young = young_savepoint(table, tag, every_ms)
        return f"the savepoint {young} with the tag {tag} is younger than {every}: nothing to do" if young else None

    return said


def create_change(name: str, instant: str | None, options: "SavepointOptions") -> "Change[SavepointPlan, None]":
    """A savepoint to create."""
    from hudictl.ops.savepoint.execute import create_savepoint
    from hudictl.ops.savepoint.planning import plan_savepoint
    from hudictl.phrases import count_of
    from hudictl.render.locks import lock_line
    from hudictl.render.text import print_lines
    from hudictl.render.words import size
    from hudictl.state.files.savepoints import tag_of

    def nothing(plan: "SavepointPlan") -> str | None:
        asked, has = tag_of(options.comment), tag_of(plan.comment)
        untagged = f", {f'with the tag {has}' if has else 'without a tag'}: it does not get the tag {asked}"
        other = untagged if asked and asked != has else ""
        return f"{plan.target} already has a savepoint{other}: nothing to do" if plan.nothing_to_do else None

    def said(plan: "SavepointPlan") -> str:
        chosen = " (the newest commit without older pending writes)" if plan.chosen else ""
        what = f"{count_of(plan.files, 'file')} in {count_of(plan.partitions, 'partition')}, {size(plan.bytes)}"
        return f"{plan.target}{chosen}: {what}" + "".join(f". Warning: {text}" for text in plan.warnings)

    def added(plan: "SavepointPlan") -> str:
        return count_of(plan.files_added, "file")

    def show(out: "Console", plan: "SavepointPlan") -> None:
        what = f"add {added(plan)} to the" if plan.exists else "create a"
        print_lines(out, [f"would {what} savepoint on {said(plan)}", lock_line(plan.lock)])

    return Change(
        name=name,
        plan=lambda session: plan_savepoint(session, instant, options),
        nothing=nothing,
        show=show,
        question=lambda plan: Question(
            f"{f'Add {added(plan)} to the' if plan.exists else 'Create a'} savepoint on {said(plan)}?"
        ),
        execute=create_savepoint,
        done=lambda plan, _result: (
            f"{f'added {added(plan)} to the' if plan.exists else 'created a'} savepoint on {said(plan)}"
        ),
        done_json=lambda plan, _result: plan,
    )


@savepoint.command("list")
@click.option("--bytes", "count_bytes", is_flag=True, help="Also list the data files: how many bytes each holds.")
@click.option("--verify", is_flag=True, help="Also check whether each can be restored now. If one cannot: exit code 3.")
@list_options()
@engine_options
def list_(
    common: TableOptions, engine_options: EngineOptions, given: ListOptions, count_bytes: bool, verify: bool
) -> None:
    """List the savepoints, newest first.

    The column own bytes has those of files that neither the newest file slices nor another savepoint have: what could
    be cleaned without the savepoint.

    In hudi-cli: `savepoints show`; in SQL: `show_savepoints`.
    """
    from hudictl.reports.savepoints import SavepointRow, savepoint_rows

    table = common.open()
    rows = savepoint_rows(table)
    if count_bytes or given.names("files", "bytes", "own_bytes", "missing"):
        from hudictl.reports.savepoint_bytes import with_bytes

        with closing(engine_options.open(table)) as engine:
            rows = with_bytes(table, rows, engine)
    if verify:
        rows = _verified(common, engine_options, rows)
    show_list(common, given, "savepoint list", table, given.ordered(rows), SavepointRow, "no savepoints", by_time=True)
    lost = [row.instant for row in rows if row.restorable is False]
    if lost:
        raise Findings(
            f"{len(lost)} of {len(rows)} savepoints cannot be restored now: {first_few(lost, rest=' and {:,} more')}",
            hint="the rows say why",
            instants=lost,
        )


def _verified(
    common: TableOptions, engine_options: EngineOptions, rows: "Sequence[SavepointRow]"
) -> "list[SavepointRow]":
    from hudictl.ops.restore.plan import RestoreOptions
    from hudictl.ops.savepoint.verify import verify_savepoint

    with session(common, LOOKING, engine_options) as opened:
        options = RestoreOptions(delete_later_savepoints=True)
        found = {
            row.instant: verify_savepoint(opened, row.instant, options, named=False)
            for row in rows
            if row.state == "COMPLETED"
        }
    return [
        replace(row, restorable=one.restorable, warning=one.reason or one.threat or row.warning)
        if (one := found.get(row.instant))
        else row
        for row in rows
    ]


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
    from hudictl.ops.restore.plan import RestoreOptions
    from hudictl.ops.savepoint.verify import verify_savepoint
    from hudictl.phrases import count_of
    from hudictl.render.words import size
    from hudictl.reports.savepoints import SavepointFile, savepoint_files
    from hudictl.state.files.savepoints import find_savepoint, tag_of
    from hudictl.state.timeline.dropped import ways_out
    from hudictl.state.timeline.unfinished import in_words
    from hudictl.table.timeline.active import load_timeline

    if deep and not verify:
        raise UsageError("--deep can only be used with --verify")
    table = common.open()
    metadata = find_savepoint(table, load_timeline(table), instant)
    tag = tag_of(metadata.comment)
    tagged = [f"tag: {tag}"] if tag else []
    if not verify:
        rows = savepoint_files(table, dict(metadata.files))
        show_rows(common, "savepoint show", table.uri, rows, SavepointFile, "the savepoint has no files", notes=tagged)
        return
    with session(common, LOOKING, engine_options) as opened:
        options = RestoreOptions(idle_ms=idle_ms, deep=deep)
        result = to_copy().all_of(verify_savepoint(opened, instant, options))
        uri = opened.table.uri
    read = "footers and logs read" if deep else "--deep reads them"
    files = f"{count_of(result.file_count, 'file')}, {size(result.bytes)} (present, of the recorded size; {read})"
    said = f"{instant} can be restored: {files}"
    show_result(common, "savepoint show", uri, result, [said, *tagged] if result.restorable else [], tagged)
    if not result.restorable:
        raise Findings(f"{instant} cannot be restored now: {result.reason}", hint=result.hint, instant=instant)
    if result.threat:
        raise Findings(
            f"{instant} can be restored now, but not after the next clean: {result.threat}",
            hint=in_words(ways_out(instant)),
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
@table_options
@change_options
def delete(common: TableOptions, change: ChangeOptions, instant: str) -> None:
    """Delete a savepoint. It no longer protects its files from cleaning, and its commit from archiving."""
    run_change(delete_change("savepoint delete", instant), common, change)


def delete_change(name: str, instant: str) -> "Change[SavepointDeletion, None]":
    """A savepoint to delete."""
    from hudictl.ops.savepoint.deletion import delete_savepoint, plan_deletion
    from hudictl.phrases import count_of
    from hudictl.render.locks import lock_line
    from hudictl.render.text import print_lines

    def said(plan: "SavepointDeletion") -> str:
        return f"the savepoint {instant}, which protects {count_of(plan.files_protected, 'file')}"

    def show(out: "Console", plan: "SavepointDeletion") -> None:
        print_lines(out, [f"would delete {said(plan)}", lock_line(plan.lock)])

    return Change(
        name=name,
        needs_engine=False,
        plan=lambda session: plan_deletion(session, instant),
        nothing=lambda plan: None if plan.exists else f"there is no savepoint on {instant}: nothing to do",
        show=show,
        question=lambda plan: Question(f"Delete {said(plan)}?"),
        execute=delete_savepoint,
        done=lambda plan, _result: (
            f"deleted the savepoint {instant}, which protected {count_of(plan.files_protected, 'file')}"
        ),
        done_json=lambda plan, _result: plan,
    )
