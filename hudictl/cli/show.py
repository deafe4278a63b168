"""Printing results in the format that was asked for."""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Any

from hudictl.cli.options import TableOptions
from hudictl.cli.streams import emit, emit_parts, say
from hudictl.cli.to_copy import to_copy
from hudictl.errors import HudictlError
from hudictl.phrases import printable
from hudictl.render.json import ChangeOutcome, envelope, row_line, stream_envelope

if TYPE_CHECKING:
    from hudictl.render.text import Console

PLANNED = ("planned only: nothing was changed",)


def outcome_of(*, planned: bool) -> ChangeOutcome:
    """The outcome of a command that had something to do."""
    return ChangeOutcome.PLANNED if planned else ChangeOutcome.DONE


@contextmanager
def text_output(color: bool, *, data: bool = False) -> "Iterator[Console]":
    """A console whose text goes out at the end, by click: rich ends the process where the reader has gone."""
    from hudictl.render.text import console

    text = StringIO()
    yield console(color, sys.stdout, text)
    emit(text.getvalue(), nl=False, data=data)


def show_rows(
    common: TableOptions,
    command: str,
    table: str | None,
    rows: Sequence[Any],
    row_type: type[Any],
    empty: str,
    hidden: Collection[str] = (),
    notes: Sequence[str] = (),
    outcome: ChangeOutcome | None = None,
) -> None:
    """A list of row dataclasses, and notes; ``hidden`` columns say nothing to eyes. ``outcome`` is a change's."""
    if common.json:
        emit_parts(envelope(command, table, notes=notes, **_said(outcome), rows=rows))
        return
    from hudictl.render.text import print_lines, print_table

    columns = [column for column in row_type.__dataclass_fields__ if column not in hidden]
    with text_output(common.color) as out:
        shown = [{column: getattr(row, column) for column in columns} for row in rows]
        print_table(out, shown, columns, empty, row_type.__name__)
        print_lines(out, notes)


def show_result(
    common: TableOptions,
    command: str,
    table: str,
    result: Any,
    lines: Sequence[str],
    notes: Sequence[str] = (),
    outcome: ChangeOutcome | None = None,
) -> None:
    """A result dataclass in JSON, with notes; in text the lines that say the same. ``outcome`` is a change's."""
    lines, notes = (list(map(to_copy().text, said)) for said in (lines, notes))
    if common.json:
        emit_parts(envelope(command, table, notes=notes, **_said(outcome), result=result))
        return
    from hudictl.render.text import print_lines

    with text_output(common.color) as out:
        print_lines(out, lines)


def _said(outcome: ChangeOutcome | None) -> dict[str, str]:
    return {"outcome": outcome.value} if outcome else {}


def show_stream(
    common: TableOptions,
    command: str,
    table: str | None,
    rows: Iterable[Any],
    notes: Sequence[str],
    text: "Callable[[Console, Iterable[Any]], None]",
    data: bool = False,
) -> None:
    """Row dataclasses as they come: a line each in NDJSON, with the notes on stderr; else all at the end.

    An error that ends the rows is raised when those before it are out.

    Args:
        notes: may grow while the rows come.
        text: prints them for eyes; the notes come behind.
        data: the rows are the table's own.
    """
    ended: list[HudictlError] = []
    left = iter(rows)
    # One that comes before the first row is all there is to tell.
    rows = chain(list(islice(left, 1)), up_to_error(left, ended))
    if common.output == "ndjson":
        if all(emit(row_line(row), data=data) for row in rows):
            for note in notes:
                say(f"hudictl: {printable(note)}")
    elif common.json:
        emit_parts(stream_envelope(command, table, rows, notes), data=data)
    else:
        from hudictl.render.text import print_lines

        with text_output(common.color, data=data) as out:
            text(out, rows)
            print_lines(out, notes)
    if ended:
        raise ended[0]


def up_to_error(rows: Iterable[Any], ended: list[HudictlError]) -> Iterator[Any]:
    """The rows before an error, which goes to ``ended``: it is raised when they are out."""
    try:
        yield from rows
    except HudictlError as error:
        ended.append(error)


def print_by_file(
    out: "Console",
    rows: Iterable[Any],
    line: Callable[[Any], Mapping[str, Any]],
    columns: Sequence[str],
    empty: str,
    kind: str,
) -> None:
    """A table for each file, under its path: a column of paths leaves no room for others on most terminals."""
    from hudictl.render.text import print_lines, print_table

    shown = False
    for file, found in groupby(rows, key=lambda row: row.file):
        shown = True
        print_lines(out, [file])
        print_table(out, [line(row) for row in found], columns, "", kind)
        print_lines(out, [""])
    if not shown:
        print_lines(out, [empty])
