"""``list`` and ``show`` of the instants of one kind: of a table service, of rollbacks, of restores."""

import click

from hudictl.cli.complete import instants
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import EngineOptions, TableOptions, engine_options


def add_list_and_show(group: click.Group, noun: str, *, lists: str, shows: str) -> None:
    """Adds both commands.

    Args:
        lists, shows: their help.
    """
    name = str(group.name)

    @group.command("list", help=lists)
    @list_options(by_time=True)
    def list_(common: TableOptions, given: ListOptions) -> None:
        from hudictl.reports.services import SERVICES, service_rows

        table = common.open()
        rows = service_rows(table, SERVICES[name], given.instants(table))
        hidden = ("requested_utc",) if given.archived else ("requested_utc", "timeline")
        show_list(
            common,
            given,
            f"{name} list",
            table,
            rows,
            SERVICES[name].row_type,
            f"no {noun}",
            by_time=True,
            hidden=hidden,
        )

    @group.command(help=shows)
    @click.argument("instant", shell_complete=instants())
    @list_options()
    @engine_options
    def show(common: TableOptions, engine_options: EngineOptions, given: ListOptions, instant: str) -> None:
        from hudictl.ops.undo.afterwards import afterwards_then
        from hudictl.render.afterwards import afterwards_lines
        from hudictl.reports.service_files import ServiceFile, role_lines, service_files
        from hudictl.reports.services import diagnosed, service_instant

        table = common.open()
        entry = service_instant(table, name, instant)
        rows = service_files(table, name, entry, lambda: engine_options.open(table))
        said = diagnosed(table)(entry)
        then = afterwards_lines(afterwards_then(table, instant)) if name in ("restore", "rollback") else ()
        notes = (*([f"{entry.state}: {said}"] if said else []), *role_lines(rows), *then)
        show_list(common, given, f"{name} show", table, rows, ServiceFile, "it names no files", notes=notes)
