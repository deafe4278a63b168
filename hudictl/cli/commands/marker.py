"""``hudictl marker``."""

from typing import TYPE_CHECKING

import click

from hudictl.cli.change import Change, Question, run_change
from hudictl.cli.complete import instants_in
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import ChangeOptions, TableOptions, table_options
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options
from hudictl.formats.layouts import MARKERS
from hudictl.render.json import plain

if TYPE_CHECKING:
    from hudictl.ops.clean_up.litter import MarkerDeletion
    from hudictl.render.text import Console


@click.group(cls=StrictGroup)
def marker() -> None:
    """Show and delete markers. A marker names a data file that a write has begun."""


@marker.command("list")
@click.argument("instant", required=False, shell_complete=instants_in(MARKERS))
@list_options()
def list_(common: TableOptions, given: ListOptions, instant: str | None) -> None:
    """List the instants with markers. With INSTANT: list its markers, and whether each data file exists."""
    from hudictl.reports.markers import MarkerRow, marker_rows
    from hudictl.state.writers.markers import MarkerFolderRow, marker_folder_rows
    from hudictl.table.writers.markers import marker_folders, read_markers

    table = common.open()
    if instant is None:
        show_list(common, given, "marker list", table, marker_folder_rows(table), MarkerFolderRow, "no markers")
        return
    folder = read_markers(table, instant) if instant in marker_folders(table) else None
    found = marker_rows(table, folder) if folder else []
    notes = (f"the list may be incomplete: {folder.partial}",) if folder and folder.partial else ()
    show_list(common, given, "marker list", table, found, MarkerRow, f"no markers of {instant}", notes=notes)


@marker.command()
@click.argument("instant", shell_complete=instants_in(MARKERS))
@table_options
@change_options
def delete(common: TableOptions, change: ChangeOptions, instant: str) -> None:
    """Delete the markers of a completed or removed instant.

    A pending instant is refused (exit code 13): its rollback requires the markers.
    """
    run_change(_delete_change(instant), common, change)


def _delete_change(instant: str) -> "Change[MarkerDeletion, None]":
    from hudictl.ops.clean_up.litter import delete_markers, plan_marker_deletion
    from hudictl.phrases import count_of
    from hudictl.render.locks import lock_line
    from hudictl.render.text import print_lines

    def said(plan: "MarkerDeletion") -> str:
        assert plan.folder is not None
        markers = count_of(plan.folder.markers, "marker")
        return f"the marker folder of {instant} ({plan.folder.state}) with {markers}"

    def show(out: "Console", plan: "MarkerDeletion") -> None:
        print_lines(out, [f"would delete {said(plan)}", lock_line(plan.lock)])

    return Change(
        name="marker delete",
        plan=lambda session: plan_marker_deletion(session, instant),
        nothing=lambda plan: None if plan.folder else f"there are no markers of {instant}: nothing to do",
        nothing_json=lambda _plan: None,
        nothing_noted=True,
        show=show,
        planned_json=lambda plan: {**plain(plan.folder), "lock": plan.lock},
        question=lambda plan: Question(f"Delete {said(plan)}?"),
        execute=delete_markers,
        done=lambda plan, _result: f"deleted {said(plan)}",
        done_json=lambda plan, _result: plan.folder,
    )
