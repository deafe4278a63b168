"""Text through rich, the only importer of it."""

from collections.abc import Collection, Mapping, Sequence
from typing import IO, Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hudictl.render.json import printable

__all__ = ["Console", "console", "print_facts", "print_lines", "print_table"]

_UNBOUNDED = 100_000
# Left out first on a narrow terminal: a pipe, a file or a wider terminal shows these columns.
_DROPPED_FIRST = ("requested_utc", "completed_utc", "completion_time", "duration_ms", "rollback_blocks", "partitions")
_WRAPPED = ("problem", "reason", "comment", "record", "what", "meaning")
_STATE_STYLES = {"COMPLETED": "green", "INFLIGHT": "yellow", "REQUESTED": "yellow"}


def console(color: bool, stream: IO[str], into: IO[str] | None = None) -> Console:
    """A console for a stream; ``into`` is another stream that gets the text instead. Wide tables are fitted to the
    width of a terminal, but never in a pipe or a file."""
    terminal = stream.isatty()
    width = None if terminal else _UNBOUNDED
    return Console(
        file=into or stream,
        width=width,
        force_terminal=terminal,
        no_color=not color,
        highlight=False,
        soft_wrap=True,
    )


def print_table(out: Console, rows: Sequence[Mapping[str, Any]], columns: Sequence[str], empty: str) -> None:
    """Rows under their column names.

    Columns without any value are left out. No cell is ever cut: on a narrow terminal whole columns are left out, and
    the last line names them.
    """
    if not rows:
        out.print(Text(empty))
        return

    cells = {column: [_cell(row[column]) for row in rows] for column in columns}
    filled = [column for column in columns if any(cell.plain for cell in cells[column])]
    widths = {column: max(len(column), *(cell.cell_len for cell in cells[column])) for column in filled}
    shown = _fitting(widths, out.width)
    numeric = {column for column in shown if any(isinstance(row[column], int) for row in rows)}

    if sum(widths[column] + 2 for column in shown) <= out.width:
        # No cell needs wrapping. Rich's table would examine every cell for it, which takes seconds on a long timeline.
        heads = {column: Text(column.replace("_", " "), style="bold") for column in shown}
        lines = [heads, *({column: cells[column][position] for column in shown} for position in range(len(rows)))]
        out.print(Text("\n").join(_line(line, widths, numeric) for line in lines))
    else:
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        for column in shown:
            justify: Literal["left", "right"] = "right" if column in numeric else "left"
            table.add_column(column.replace("_", " "), justify=justify, no_wrap=column not in _WRAPPED)
        for position in range(len(rows)):
            table.add_row(*(cells[column][position] for column in shown))
        out.print(table)

    left_out = [column.replace("_", " ") for column in filled if column not in shown]
    if left_out:
        out.print(Text(f"(terminal too narrow for: {', '.join(left_out)})", style="dim"))


def _line(cells: Mapping[str, Text], widths: Mapping[str, int], numeric: Collection[str]) -> Text:
    parts: list[str | Text] = []
    for column, cell in cells.items():
        padding = " " * (widths[column] - cell.cell_len)
        parts += [padding, cell, "  "] if column in numeric else [cell, padding, "  "]
    line = Text.assemble(*parts)
    line.rstrip()
    return line


def _fitting(widths: Mapping[str, int], limit: int) -> list[str]:
    shown = list(widths)
    droppable = [column for column in _DROPPED_FIRST if column in widths] + list(widths)[::-1]
    while sum(widths[column] + 2 for column in shown if column not in _WRAPPED) > limit and len(shown) > 1:
        shown.remove(next(column for column in droppable if column in shown and column != shown[0]))
    return shown


def print_facts(out: Console, facts: Sequence[tuple[str, Any]]) -> None:
    """Names and values, one a line."""
    width = max((len(name) for name, _ in facts), default=0)
    for name, value in facts:
        out.print(Text.assemble((f"{name:<{width}}  ", "bold"), _cell(value)))


def print_lines(out: Console, lines: Sequence[str]) -> None:
    """Sentences, one a line."""
    for line in lines:
        out.print(Text(printable(line)))


def _cell(value: Any) -> Text:
    if value is None:
        return Text("")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, int):
        return Text(f"{value:,}")
    if isinstance(value, (list, tuple)):
        return Text(printable(", ".join(str(entry) for entry in value)) or "none")
    return Text(printable(str(value)), style=_STATE_STYLES.get(str(value), ""))
