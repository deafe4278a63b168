"""Text through rich, the only importer of it."""

import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

_UNBOUNDED = 100_000
_STATE_STYLES = {"COMPLETED": "green", "INFLIGHT": "yellow", "REQUESTED": "yellow"}


def console(color: bool, stream: IO[str] | None = None) -> Console:
    """Wide tables are cut to a terminal's width only, never in a pipe or a file."""
    stream = stream or sys.stdout
    width = None if stream.isatty() else _UNBOUNDED
    return Console(file=stream, width=width, no_color=not color, highlight=False, soft_wrap=True)


def print_table(out: Console, rows: Sequence[Mapping[str, Any]], columns: Sequence[str], empty: str) -> None:
    """Rows under their column names; columns in which no row has a value are left out."""
    if not rows:
        out.print(Text(empty))
        return
    shown = [column for column in columns if any(row[column] not in (None, "", ()) for row in rows)]
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in shown:
        numeric = any(isinstance(row[column], int) for row in rows)
        wrap = column in ("problem", "reason", "comment")
        table.add_column(column.replace("_", " "), justify="right" if numeric else "left", no_wrap=not wrap)
    for row in rows:
        table.add_row(*(_cell(row[column]) for column in shown))
    out.print(table)


def print_facts(out: Console, facts: Sequence[tuple[str, Any]]) -> None:
    """Names and values, one a line."""
    width = max((len(name) for name, _ in facts), default=0)
    for name, value in facts:
        out.print(Text.assemble((f"{name:<{width}}  ", "bold"), _cell(value)))


def print_lines(out: Console, lines: Sequence[str]) -> None:
    """Sentences, one a line."""
    for line in lines:
        out.print(Text(line))


def _cell(value: Any) -> Text:
    if value is None:
        return Text("")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, int):
        return Text(f"{value:,}")
    if isinstance(value, (list, tuple)):
        return Text(", ".join(str(entry) for entry in value) or "none")
    return Text(str(value), style=_STATE_STYLES.get(str(value), ""))
