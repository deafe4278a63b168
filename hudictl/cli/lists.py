"""The manner of all lists: which rows, in which order, as text, JSON, NDJSON, CSV or Markdown."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hudictl.cli.options import OUTPUTS, Command, EngineOptions, TableOptions, common_options, gathered, required_table
from hudictl.cli.show import show_stream, up_to_error
from hudictl.cli.streams import emit
from hudictl.errors import HudictlError

if TYPE_CHECKING:
    from hudictl.library.opened import Times
    from hudictl.library.rows import Rows
    from hudictl.library.table import HudiTable
    from hudictl.ops.session import Monitor
    from hudictl.render.text import Console

Row = TypeVar("Row")
LIST_OUTPUTS = (*OUTPUTS, "ndjson", "csv", "markdown")


@dataclass(frozen=True)
class ListOptions:
    """What every list takes, as it was given. ``engine_options``: None of a list that needs no engine."""

    common: TableOptions
    where: tuple[str, ...]
    columns: str | None
    sort: str | None
    order: str | None
    limit: int | None
    relative: bool
    since: str | None = None
    until: str | None = None
    archived: bool = False
    engine_options: EngineOptions | None = None

    def table(self, monitor: "Monitor | None" = None) -> "HudiTable":
        """The table, with the engine of the command."""
        return self.common.table(self.engine_options, monitor=monitor)

    def ordered(self, rows: "Rows[Row]") -> "Rows[Row]":
        """Rows by time that are all made first, newest first, in the order that was asked for."""
        return rows if self._newest_first else replace(rows, make=lambda: list(rows)[::-1])

    @property
    def turned(self) -> bool:
        """Whether the newest rows are to be shown oldest first."""
        return self.order == "asc" and self.sort is None and self.limit is not None

    @property
    def _newest_first(self) -> bool:
        return self.turned or self.sort is not None or self.order != "asc"

    def names(self, *columns: str) -> bool:
        """Whether one of some columns is asked for, in whatever way."""
        said = " ".join((self.columns or "", self.sort or "", *self.where))
        return any(re.search(rf"\b{column}\b", said) for column in columns)

    @property
    def whole(self) -> bool:
        """Whether all rows are shown, with all columns."""
        return not self.where and self.limit is None and self.columns is None

    def empty(self, said: str) -> str:
        """What a list without rows says: what there is in the table is not known where rows were left out."""
        if self.limit == 0:
            return "no row is shown: --limit is 0"
        return "no row meets the conditions" if self.where or self.since or self.until else said

    @property
    def times(self) -> "Times":
        """The instants whose rows are made, in the order in which they are shown where nothing else sorts them."""
        return {
            "since": self.since,
            "until": self.until,
            "archived": self.archived,
            "ascending": not self._newest_first,
        }


def list_options(*more: Callable[[Any], Any], by_time: bool = False) -> Callable[[Command], Command]:
    """Adds -t and the options of all lists; the command gets them as ``given``.

    Args:
        more: decorators that add options to ``common``, and ``engine_options``.
        by_time: the rows are instants: also adds --since, --until and --archived.
    """

    added = gathered("given", ListOptions, *(_BY_TIME if by_time else ()), *_OF_ALL, *more)
    return lambda command: required_table(common_options(added(command), LIST_OUTPUTS))


_BY_TIME = (
    click.option("--since", metavar="TIME", help="From this time on: 20261121, 2026-11-21T03:00, or an age (2h, 3d)."),
    click.option("--until", metavar="TIME", help="Up to this time (included): a time, a date or an age."),
    click.option("--archived", is_flag=True, help="Include archived instants."),
)
_OF_ALL = (
    click.option(
        "--where",
        multiple=True,
        metavar="CONDITION",
        help="Rows that meet this only: COLUMN=VALUE, or with !=, <, <=, >, >=, ~ (contains). Repeatable. Before and "
        "after a time: written as with --since.",
    ),
    click.option("--columns", metavar="A,B", help="These columns only, in this order."),
    click.option("--sort", metavar="COLUMN", help="Sort by this column."),
    click.option("--asc", "order", flag_value="asc", help="Ascending: oldest or smallest first."),
    click.option("--desc", "order", flag_value="desc", help="Descending: newest or largest first."),
    click.option(
        "--limit",
        type=click.IntRange(min=0),
        metavar="N",
        help="The first N rows; by time, without --sort: the newest N, in either order.",
    ),
    click.option("--relative", is_flag=True, help="In text: ages (3 h ago) in the place of UTC times."),
)

_ZERO_IF_UNTOLD = ("CommitRow", "AmplificationRow")
"""The rows whose counts are 0 where a file does not tell them, as their JSON promises numbers. For eyes: nothing."""


def show_list(
    given: ListOptions,
    command: str,
    table: "HudiTable",
    rows: "Rows[Any]",
    empty: str,
    *,
    by_time: bool = False,
    hidden: tuple[str, ...] = (),
    notes: Sequence[str] | None = None,
) -> None:
    """Prints a list.

    Args:
        rows: by time: in the order of ``given.times``.
        empty: what text says where there are none at all.
        hidden: columns that text shows only where they are asked for.
        notes: in the place of those of the rows.

    Raises:
        UsageError: a column or a condition that there is not.
        Unreadable: behind the last row, where one has a problem; and all that making a row raises.
    """
    from hudictl.cli.chosen import RowFilter, chosen, condition, known_columns, of_times

    common, row_type = given.common, rows.type
    asked = known_columns(given.columns.split(",") if given.columns else (), row_type, "--columns")
    sort = next(iter(known_columns([given.sort] if given.sort else (), row_type, "--sort")), None)
    turned = given.order == "desc" and (given.sort is not None or not by_time)
    where = tuple(of_times(condition(text, row_type), table.core) for text in given.where)
    found = chosen(
        rows,
        RowFilter(where, sort, turned, given.limit, by_time and given.turned, "total" in row_type.__dataclass_fields__),
    )
    if common.output == "text" and row_type.__name__ in _ZERO_IF_UNTOLD:
        found = map(_untold, found)
    columns = asked or tuple(row_type.__dataclass_fields__)
    shown = ({column: getattr(row, column) for column in columns} for row in found)
    if common.output in ("csv", "markdown"):
        _show_lines(common.output, shown, columns)
        return
    told = rows.notes if notes is None else notes
    in_text = asked or tuple(column for column in columns if column not in (*hidden, "total"))

    def text(out: "Console", lines: Iterable[Any]) -> None:
        from datetime import datetime, timezone

        from hudictl.render.rows import aged
        from hudictl.render.text import print_table

        now = datetime.now(timezone.utc)
        cells = [aged(line, now) if given.relative else line for line in lines]
        print_table(out, cells, in_text, given.empty(empty), row_type.__name__, whole=bool(asked))

    show_stream(common, command, table.uri, shown if asked or common.output == "text" else found, told, text)


def _untold(row: Any) -> Any:
    unread = (name for name, value in vars(row).items() if value == 0 and type(value) is int) if row.problem else ()
    return replace(row, **dict.fromkeys(unread))


def unseen(empty: str, as_of: str | None) -> str:
    """What an empty list says, as of an instant: of files that are gone nothing is known."""
    return empty if as_of is None else f"{empty} in the files that are left of {as_of}"


def _show_lines(output: str, rows: Iterator[dict[str, Any]], columns: tuple[str, ...]) -> None:
    from hudictl.render.rows import csv_lines, markdown_lines

    ended: list[HudictlError] = []
    lines = csv_lines if output == "csv" else markdown_lines
    all(map(emit, lines(up_to_error(rows, ended), columns)))
    if ended:
        raise ended[0]
