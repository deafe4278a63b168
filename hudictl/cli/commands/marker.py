"""``hudictl marker``."""

from typing import TYPE_CHECKING

import click

from hudictl.cli.change import ChangeCommand, Question, in_lines, run_change
from hudictl.cli.complete import instants_in
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import ChangeOptions
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options_without_engine
from hudictl.formats.layouts import MARKERS
from hudictl.library import changes
from hudictl.phrases import count_of
from hudictl.render.json import plain

if TYPE_CHECKING:
    from hudictl.ops.clean_up.litter import MarkerDeletion


@click.group(cls=StrictGroup)
def marker() -> None:
    """Show and delete markers. A marker names a data file that a write has begun."""


@marker.command("list")
@click.argument("instant", required=False, shell_complete=instants_in(MARKERS))
@list_options()
def list_(given: ListOptions, instant: str | None) -> None:
    """List the instants with markers. With INSTANT: list its markers, and whether each data file exists."""
    table = given.table()
    if instant is None:
        show_list(given, "marker list", table, table.writers.markers(), "no markers")
    else:
        show_list(given, "marker list", table, table.writers.markers_of(instant), f"no markers of {instant}")


@marker.command()
@click.argument("instant", shell_complete=instants_in(MARKERS))
@change_options_without_engine
def delete(change: ChangeOptions, instant: str) -> None:
    """Delete the markers of a completed or removed instant.

    A pending instant is refused (exit code 13): its rollback requires the markers.
    """
    run_change(_delete_change(instant), change)


def _delete_change(instant: str) -> "ChangeCommand[MarkerDeletion, None]":
    from hudictl.render.locks import lock_line

    def said(plan: "MarkerDeletion") -> str:
        assert plan.folder is not None
        markers = count_of(plan.folder.markers, "marker")
        return f"the marker folder of {instant} ({plan.folder.state}) with {markers}"

    return ChangeCommand(
        name="marker delete",
        change=changes.marker_deletion(instant),
        nothing_json=lambda _plan: None,
        nothing_noted=True,
        show=in_lines(lambda plan: [f"would delete {said(plan)}", lock_line(plan.lock)]),
        planned_json=lambda plan: {**plain(plan.folder), "lock": plan.lock},
        question=lambda plan: Question(f"Delete {said(plan)}?"),
        done=lambda plan, _result: f"deleted {said(plan)}",
        done_json=lambda plan, _result: plan.folder,
    )
