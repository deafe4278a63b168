"""``list`` and ``show`` of the instants of one kind: of a table service, of rollbacks, of restores."""

from dataclasses import replace

import click

from hudictl.cli.complete import instants
from hudictl.cli.lists import ListOptions, list_options, show_list
from hudictl.cli.options import engine_options
from hudictl.cli.to_copy import to_copy


def add_list_and_show(group: click.Group, noun: str, *, lists: str, shows: str) -> None:
    """Adds both commands.

    Args:
        lists, shows: their help.
    """
    name = str(group.name)

    @group.command("list", help=lists)
    @list_options(by_time=True)
    def list_(given: ListOptions) -> None:
        table = given.table()
        found, complete = getattr(table.services, f"{name}s")(**given.times), to_copy()
        rows = replace(found, make=lambda: map(complete.all_of, found))
        hidden = ("requested_utc",) if given.archived else ("requested_utc", "timeline")
        show_list(given, f"{name} list", table, rows, f"no {noun}", by_time=True, hidden=hidden)

    @group.command(help=shows)
    @click.argument("instant", shell_complete=instants())
    @list_options(engine_options)
    def show(given: ListOptions, instant: str) -> None:
        from hudictl.render.afterwards import afterwards_lines

        with given.table() as table:
            rows = table.services.files(name, instant).kept()
            then = afterwards_lines(table.afterwards(instant)) if name in ("restore", "rollback") else ()
            notes = (*map(to_copy().text, rows.notes), *then)
            show_list(given, f"{name} show", table, rows, "it names no files", notes=notes)
