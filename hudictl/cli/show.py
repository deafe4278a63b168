"""Printing results in the format that was asked for."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from hudictl.cli.options import TableOptions
from hudictl.render.json import envelope


def show_rows(
    common: TableOptions, command: str, table: str, rows: Sequence[Any], row_type: type[Any], empty: str
) -> None:
    """A list of row dataclasses."""
    if common.json:
        click.echo(envelope(command, table, rows=rows))
        return
    from hudictl.render.text import console, print_table

    columns = list(row_type.__dataclass_fields__)
    print_table(console(common.color), [asdict(row) for row in rows], columns, empty)


def show_result(common: TableOptions, command: str, table: str, result: Any, lines: Sequence[str]) -> None:
    """A result dataclass in JSON; in text the lines that say the same."""
    if common.json:
        click.echo(envelope(command, table, result=result))
        return
    for line in lines:
        click.echo(line)
