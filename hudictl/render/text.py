"""Text through rich, the only importer of it."""

import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import IO, Any

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.text import Text

from hudictl.phrases import printable
from hudictl.render.columns import by_importance
from hudictl.render.words import age

__all__ = ["PROSE", "Console", "console", "judged", "print_facts", "print_lines", "print_table"]

Cell = tuple[str, str]
"""A text and its style."""

_COMPLETED = "COMPLETED"
_UNBOUNDED = 100_000
PROSE = 110
"""Columns that eyes follow to the next line."""
_GAP = "  "
_NARROWEST = 20
"""No column is made narrower for the sake of others."""

# Standard colours that can be read on light and on dark backgrounds: neither yellow nor blue, and nothing dim.
_GOOD, _DOUBTFUL, _BAD = "green", "magenta", "bold red"
_STYLES = {
    **dict.fromkeys(("live", "rolled back", "running", "valid"), _GOOD),
    **dict.fromkeys(
        ("INFLIGHT", "REQUESTED", "hidden", "pending", "stale", "uncommitted", "unknown", "warning"), _DOUBTFUL
    ),
    **dict.fromkeys(("corrupt", "error", "expired", "failed"), _BAD),
}
_MARK = re.compile(r"(?P<bad>(?:error|LOST|MISSING|blocked)\b|Files to delete: [1-9][^)]*\))|(?P<doubtful>warning)\b")
"""At the beginning of a line: how grave it is."""
_FINDING = re.compile(r"(error|warning|info): ")

# A command is one word: half of it must not be run. So is a number with its unit.
_WORD = re.compile(r"(?:`[^`]*`|\d (?:[KMG]iB|B|d|h|min|s)\b|\S)+\s*")
_PARTS = (re.compile(r"[^\s/_]*[\s/_]+|[^\s/_]+"), re.compile(r"[^.,=-]*[.,=-]+|[^.,=-]+"))
"""Of a word that is too long: between its names, else between their parts."""
_MOST_LINES = 4


def console(color: bool, stream: IO[str], into: IO[str] | None = None) -> Console:
    """A console for a stream; ``into`` is another stream that gets the text instead. Wide tables are fitted to the
    width of a terminal, but never in a pipe or a file."""
    terminal = stream.isatty()
    return Console(
        file=into or stream,
        width=shutil.get_terminal_size().columns if terminal else _UNBOUNDED,
        force_terminal=terminal,
        color_system="standard" if terminal and color else None,
        highlight=False,
        soft_wrap=True,
    )


def print_table(
    out: Console,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    empty: str,
    kind: str = "",
    *,
    whole: bool = False,
) -> None:
    """Rows under their column names; columns without any value are left out, unless ``whole``.

    On a narrow terminal, cells are wrapped between words. If that is not enough, the least important columns of this
    kind of rows (``render/columns.py``) are left out whole, and a line below names them. Names are broken only if the
    columns that are always shown need it.
    """
    if not rows:
        out.print(Text(printable(empty)))
        return

    cells = {column: [_cell(column, row[column]) for row in rows] for column in columns}
    filled = [column for column in columns if whole or any(text for text, _ in cells[column])]
    heads = {column: (column.removesuffix("_ms").replace("_", " "), "bold") for column in filled}
    widths = _widths(heads, {column: cells[column] for column in filled}, out.width, kind)

    right = {column for column in widths if any(isinstance(row[column], (int, float)) for row in rows)}
    shown = [column for column in filled if column in widths]
    lines = [heads, *({column: cells[column][position] for column in shown} for position in range(len(rows)))]
    parts = [part for line in lines for part in _lines({column: line[column] for column in shown}, widths, right)]
    if out.color_system:
        out.print(Text("\n").join(Text.assemble(*part) for part in parts))
    else:
        # Without colours rich has nothing to add, and takes twice the time of all the rest.
        out.file.write("".join("".join(text for text, _ in part) + "\n" for part in parts))

    left_out = ", ".join(heads[column][0] for column in filled if column not in widths)
    if left_out:
        print_lines(out, [f"Columns not shown: {left_out}. To see them: a wider terminal, or `-o json`."])


def print_facts(out: Console, facts: Sequence[tuple[str, Any]]) -> None:
    """Names and values, one a line; long values continue below their beginning."""
    facts = [(printable(name), value) for name, value in facts]
    width = max((len(name) for name, _ in facts), default=0) + len(_GAP)
    for name, value in facts:
        text, style = _cell("", value)
        first, *others = _wrapped(text, max(out.width - width, _NARROWEST))
        line = Text.assemble((f"{name:<{width}}", "bold"), (first, style))
        line.rstrip()
        out.print(line)
        for other in others:
            out.print(Text(" " * width).append(other, style))


def print_lines(out: Console, lines: Sequence[str], widest: int = _UNBOUNDED) -> None:
    """Sentences, one a line; on a terminal, wrapped between words, and no wider than ``widest``."""
    width = out.width if out.width == _UNBOUNDED else min(out.width, widest)
    for line in lines:
        said = printable(line)
        indent = " " * (len(said) - len(said.lstrip()))
        # The next line must not look like another finding.
        first, *others = _wrapped(said.lstrip(), width - len(indent))
        below = indent + "  " if _FINDING.match(said) else indent
        text = Text("\n").join([Text(indent + first), *(Text(below + part) for part in others)])
        mark = _MARK.match(said)
        if mark:
            text.stylize(_BAD if mark["bad"] else _DOUBTFUL, 0, mark.end())
        out.print(text)


def judged(text: str, *, good: bool, doubtful: bool) -> Text:
    """A value for ``print_facts`` whose colour says, too, whether it is good."""
    return Text(printable(text), style=_BAD if not good else _DOUBTFUL if doubtful else _GOOD)


def _cell(column: str, value: Any) -> Cell:
    if value is None:
        return "", ""
    if isinstance(value, Text):
        return value.plain, str(value.style)
    if isinstance(value, bool):
        return "yes" if value else "no", ""
    if isinstance(value, int):
        if column == "exit_code":
            return str(value), _BAD if value else _GOOD
        return age(value) if column.endswith("_ms") else f"{value:,}", ""
    if isinstance(value, float):
        return f"{value:,.2f}", ""
    if isinstance(value, (list, tuple)):
        return printable(", ".join(str(entry) for entry in value)) or "none", ""
    text = str(value)
    return printable(text), _STYLES.get(text, "")


def _widths(heads: Mapping[str, Cell], columns: Mapping[str, Sequence[Cell]], limit: int, kind: str) -> dict[str, int]:
    """The columns that are shown, with their widths."""
    texts = {column: [text for text, _ in (heads[column], *cells)] for column, cells in columns.items()}
    wanted = {column: max(map(_width, found)) for column, found in texts.items()}
    if _taken(wanted.values()) <= limit:
        return wanted

    least = {column: max(_longest_word(head), *map(_least, found)) for column, (head, *found) in texts.items()}
    always, others = by_importance(kind)
    always = [column for column in always if column in columns] or list(columns)[:1]
    known = [*always, *(column for column in others if column in columns)]
    shown = [*known, *(column for column in columns if column not in known)]
    if {text for text, _ in columns.get("state", ())} == {_COMPLETED}:
        # It says nothing: the first to go.
        always = [column for column in always if column != "state"]
        shown = [*(column for column in shown if column != "state"), "state"]
    while (over := _taken(least[column] for column in shown) - limit) > 0 and len(shown) > 1:
        widest = max(shown, key=least.__getitem__)
        if len(shown) <= len(always) and least[widest] > _NARROWEST:
            least[widest] = max(least[widest] - over, _NARROWEST)
        else:
            shown.pop()

    widths = {column: min(least[column], limit) for column in shown}
    spare = limit - _taken(widths.values())
    for column in sorted(shown, key=lambda column: wanted[column] - widths[column]):
        more = min(wanted[column] - widths[column], spare)
        widths[column] += more
        spare -= more
    return {column: _used(texts[column], width) for column, width in widths.items()}


def _used(texts: Sequence[str], width: int) -> int:
    return max(_width(line) for text in texts for line in _wrapped(text, width, fold=True))


def _width(text: str) -> int:
    """On a terminal: some signs take two places, others none."""
    return len(text) if text.isascii() else cell_len(text)


def _taken(widths: Collection[int] | Iterator[int]) -> int:
    return sum(width + len(_GAP) for width in widths) - len(_GAP)


def _least(text: str) -> int:
    """The width at which no word is broken, a few words are on one line, and a sentence is on a few lines."""
    width = _width(text)
    return max(_longest_word(text), min(width, _NARROWEST), width // _MOST_LINES)


def _longest_word(text: str) -> int:
    return max((_width(word.rstrip()) for word in _WORD.findall(text)), default=0)


def _lines(cells: Mapping[str, Cell], widths: Mapping[str, int], right: Collection[str]) -> Iterator[list[Cell]]:
    """A row: one line, or as many as its longest cell needs; of each its texts, with nothing behind the last."""
    parts_of = [_wrapped(text, widths[column], fold=True) for column, (text, _) in cells.items()]
    for parts in zip_longest(*parts_of, fillvalue=""):
        line: list[Cell] = []
        padding = ""
        for part, (column, (_, style)) in zip(parts, cells.items(), strict=True):
            missing = " " * (widths[column] - _width(part))
            before, behind = (missing, _GAP) if column in right else ("", missing + _GAP)
            if part:
                line += [(padding + before, ""), (part, style)]
                padding = behind
            else:
                padding += before + behind
        if line:
            text, style = line[-1]
            line[-1] = (text.rstrip(), style)
        yield line


def _wrapped(text: str, width: int, *, fold: bool = False) -> list[str]:
    """Lines of a text, broken between words. A longer word is left to the terminal, so that its copy is whole; with
    ``fold`` it is broken behind a sign, as in paths and file names, or else anywhere."""
    if _width(text) <= width:
        return [text]
    lines = [""]
    for word in _WORD.findall(text):
        for part in _parts(word, width) if fold else [word]:
            if lines[-1] and _width(lines[-1]) + _width(part.rstrip()) > width:
                lines.append("")
            lines[-1] += part
    return [line.rstrip() for line in lines]


def _parts(word: str, width: int, ways: Sequence[re.Pattern[str]] = _PARTS) -> Iterator[str]:
    if _width(word.rstrip()) <= width:
        yield word
    elif not ways:
        yield from chop_cells(word, width)
    else:
        for part in ways[0].findall(word):
            yield from _parts(part, width, ways[1:])
