"""Rows as CSV and as Markdown, a line each as they come; and times as ages."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from io import StringIO
from itertools import chain
from typing import Any

from hudictl.phrases import printable, span
from hudictl.render.json import plain

Cells = Mapping[str, Any]


def csv_lines(rows: Iterable[Cells], columns: Sequence[str]) -> Iterator[str]:
    """RFC 4180: a head, then a row each. What is missing is empty, lists are JSON, control characters are escaped."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="")
    for cells in chain([columns], ([_text(row[column]) for column in columns] for row in rows)):
        writer.writerow(cells)
        yield text.getvalue()
        text.seek(0)
        text.truncate()


def markdown_lines(rows: Iterable[Cells], columns: Sequence[str]) -> Iterator[str]:
    """A table of GitHub's Markdown. A ``|`` in a cell is escaped."""
    yield f"| {' | '.join(columns)} |"
    yield f"|{' --- |' * len(columns)}"
    for row in rows:
        cells = [_text(row[column]).replace("\\", "\\\\").replace("|", "\\|") for column in columns]
        yield f"| {' | '.join(cells)} |"


def aged(row: Cells, now: datetime) -> dict[str, Any]:
    """The row with the ages of its UTC times in their places."""
    times = ("_utc", "_at")
    return {column: _age(value, now) if column.endswith(times) and value else value for column, value in row.items()}


def _age(utc: str, now: datetime) -> str:
    try:
        then = datetime.fromisoformat(utc)
    except ValueError:
        return utc  # of a damaged record
    milliseconds = int((now - then.astimezone(timezone.utc)).total_seconds() * 1000)
    return f"{span(milliseconds)} ago" if milliseconds >= 0 else f"in {span(-milliseconds)}"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(json.dumps(plain(value)) if isinstance(value, (list, tuple, Mapping)) else str(value))
