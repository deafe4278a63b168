"""``hudictl marker``."""

import click

from hudictl.cli.confirm import confirm
from hudictl.cli.options import ChangeOptions, TableOptions, change_options, command_line, table_options
from hudictl.cli.progress import Progress
from hudictl.cli.show import PLANNED, show_result, show_rows


@click.group()
def marker() -> None:
    """Markers: which data files writes have begun."""


@marker.command("list")
@click.argument("instant", required=False)
@table_options
def list_(common: TableOptions, instant: str | None) -> None:
    """Lists the instants that have markers; with INSTANT its markers, and whether their files are on storage."""
    from hudictl.reports.markers import MarkerRow, marker_rows
    from hudictl.state.markers import MarkerFolderRow, marker_folder_rows
    from hudictl.table.markers import marker_folders, read_markers

    table = common.open()
    if instant is None:
        rows = marker_folder_rows(table)
        show_rows(common, "marker list", table.uri, rows, MarkerFolderRow, "no markers")
        return
    folder = read_markers(table, instant) if instant in marker_folders(table) else None
    found = marker_rows(table, folder) if folder else []
    notes = [f"there may be more: {folder.partial}"] if folder and folder.partial else []
    show_rows(common, "marker list", table.uri, found, MarkerRow, f"no markers of {instant}", notes=notes)


@marker.command()
@click.argument("instant")
@table_options
@change_options
def delete(common: TableOptions, change: ChangeOptions, instant: str) -> None:
    """Deletes the markers of an instant that is completed or gone; while it is pending they are needed (13)."""
    from hudictl.ops.litter import delete_markers, plan_marker_deletion

    table = common.open(change.single_operator)
    found = plan_marker_deletion(table, instant)
    if found is None:
        said = f"there are no markers of {instant}: nothing to do"
        show_result(common, "marker delete", table.uri, found, [said], [said])
        return
    said = f"the marker folder of {instant} ({found.state}) with {found.markers:,} markers"
    if change.plan:
        show_result(common, "marker delete", table.uri, found, [f"would delete {said}"], PLANNED)
        return
    confirm(f"Delete {said}?", yes=change.yes)
    delete_markers(table, instant, Progress(), command_line())
    show_result(common, "marker delete", table.uri, found, [f"deleted {said}"])
