"""Which rows of a list are shown: those that meet the conditions, sorted, and no more than the limit."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timezone
from itertools import islice
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from hudictl.cli.show import up_to_error
from hudictl.errors import HudictlError, Unreadable, UsageError
from hudictl.formats.instants import ACTIONS, State
from hudictl.formats.layouts import OWN
from hudictl.phrases import command_of, count_of

if TYPE_CHECKING:
    from hudictl.table.table import Table

Row = TypeVar("Row")
Shown = str | int | float

_CONDITION = re.compile(r"(?P<column>\w[\w ]*)(?P<sign>!=|<=|>=|==?|<|>|~)(?P<value>.*)", re.DOTALL)
_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": eq,
    "!=": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
    "~": lambda text, part: part in text,
}
_CHECK = "`hudictl check` shows whether the table is damaged"
_INSTANTS = (
    *("time", "instant", "target", "completion_time", "undo", "base_instant", "previous", "earliest", "up_to"),
    *("oldest", "newest", "oldest_slice", "newest_slice", "last_compaction", "last_write", "back_to"),
)
"""The columns that have instant times."""
_WORDS = (
    *("action", "state", "instant_state", "operation", "timeline", "kind", "type", "marker_type", "event", "fate"),
    *("verdict", "heartbeat", "outcome", "metadata_action", "metadata_state", "target_action", "policy"),
)
"""The columns of words: compared in any letters."""
_OWN_STATES = ("MarkerFolderRow", "HeartbeatRow", "PartitionRow", "PartitionStats", "RecordVersion")
"""The rows of which ``state`` is not that of an instant."""
_FLAGS = {"yes": True, "true": True, "no": False, "false": False}


@dataclass(frozen=True)
class Condition:
    """``column sign value``. A value that is missing equals "", and is neither less nor greater than any. ``utc``: the
    column has times in UTC, of which the digits are compared."""

    column: str
    sign: str
    value: Shown
    utc: bool = False

    def holds(self, row: object) -> bool:
        found = getattr(row, self.column)
        if self.sign == "~" or isinstance(self.value, str):
            found = (
                "" if found is None else ", ".join(map(str, found)) if isinstance(found, (list, tuple)) else str(found)
            )
            found = re.sub("[^0-9]", "", found.partition("+")[0]) if self.utc else found
            found = found.lower() if self.column in _WORDS else found
            return _SIGNS[self.sign](found, self.value) and bool(found or self.sign[0] not in "<>")
        return self.sign == "!=" if found is None else _SIGNS[self.sign](found, self.value)


@dataclass(frozen=True)
class RowFilter:
    """``descending`` turns the order of ``sort``, or of the rows as they come; ``turned`` that of the rows shown.
    ``totals``: rows have a ``total``; those with a true one stand behind the others, whatever else is asked for."""

    where: Sequence[Condition] = ()
    sort: str | None = None
    descending: bool = False
    limit: int | None = None
    turned: bool = False
    totals: bool = False


def condition(text: str, row_type: type) -> Condition:
    """The condition in ``COLUMN=VALUE`` and its like, for rows of a type.

    Raises UsageError: it is none, there is no such column, the column has numbers and the value is none, or there is no
    such action or state of an instant.
    """
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise UsageError(
            f"--where {text}: not a condition", hint="write it as COLUMN=VALUE, or with !=, <, <=, >, >=, ~"
        )
    said, sign, value = (part.strip() for part in match.groups())
    sign = "=" if sign == "==" else sign
    column = _column(row_type, said, "--where")
    kind = _kind(row_type, column)
    if column in _WORDS:
        value = value.lower()
        known = _known_words(row_type, column)
        if value and known and sign in ("=", "!=") and value not in known:
            raise UsageError(
                f"--where {text}: there is no {column} {value!r}", hint=f"the words are: {', '.join(known)}"
            )
    if sign == "~" or kind is str:
        return Condition(column, sign, value)
    if value == "" and sign in ("=", "!="):
        return Condition(column, sign, value)
    try:
        # Text has thousands apart.
        return Condition(column, sign, _FLAGS[value.lower()] if kind is bool else kind(value.replace(",", "")))
    except (KeyError, ValueError):
        wanted = "yes or no" if kind is bool else "a number"
        raise UsageError(f"--where {text}: {column} is {wanted}, not {value!r}") from None


def _known_words(row_type: type, column: str) -> list[str]:
    """All that a column of words may have; empty if that is not limited."""
    if column in ("action", "metadata_action", "target_action"):
        return sorted(ACTIONS)
    of_instants = column in ("instant_state", "metadata_state") or (
        column == "state" and row_type.__name__ not in _OWN_STATES
    )
    return [state.name.lower() for state in State] if of_instants else []


def of_times(one: Condition, table: "Table") -> Condition:
    """The condition with a time in digits where it asks for what is before or after one, which may be given as --since
    takes it; else the same. Raises UsageError: it is no time."""
    utc = one.column.endswith(("_utc", "_at"))
    if one.sign[0] not in "<>" or not (utc or one.column in _INSTANTS):
        return one
    from hudictl.library.times import time_of

    zoned = replace(table, zone=timezone.utc) if utc else table
    begin = time_of(zoned, str(one.value), f"--where {one.column}{one.sign}")
    # All that begins with the digits, as a day's times do, is of that time, as with --until.
    return replace(one, value=f"{begin}~" if one.sign in ("<=", ">") else begin, utc=utc)


def known_columns(names: Iterable[str], row_type: type, option: str) -> tuple[str, ...]:
    """The names of columns, also as text has them at its head. Raises UsageError: there is no such column."""
    return tuple(_column(row_type, name, option) for name in names)


def chosen(rows: Iterable[Row], wanted: RowFilter) -> Iterator[Row]:
    """The rows to show, as they come; all are read first if they are sorted or turned.

    Raises:
        Unreadable: behind the last row, where a row that was shown has a ``problem``.
        HudictlError: behind the last row, what the rows raise before they are at their end.
    """
    totals: list[Row] = []
    ended: list[HudictlError] = []
    readable = up_to_error(rows, ended)
    others = _without(readable, totals) if wanted.totals else readable
    found: Iterable[Row] = (row for row in others if all(one.holds(row) for one in wanted.where))
    if wanted.sort is not None:
        found = sorted(found, key=lambda row: _key(getattr(row, wanted.sort or "")), reverse=wanted.descending)
    elif wanted.descending:
        found = list(found)[::-1]
    problems, in_archive, own = list[str](), True, ""
    shown: Iterable[Row] = islice(found, wanted.limit)
    for row in list(shown)[::-1] if wanted.turned else shown:
        problem = getattr(row, "problem", None)
        if problem:
            own = own if problems else _of_own_record(row, problem)
            problems.append(problem)
        # The check does not read what is archived.
        in_archive = in_archive and (not problem or getattr(row, "timeline", None) == "archived")
        yield row
    if wanted.totals:
        deque(others, 0)  # the total is behind what the limit has left unread
    yield from totals
    if ended:
        raise ended[0]
    if problems:
        raise Unreadable(
            f"{count_of(len(problems), 'row')} could not be read whole: {problems[0]}",
            hint=own or ("the rows say what they are" + ("" if in_archive else f"; {_CHECK}")),
        )


def _of_own_record(row: object, problem: str) -> str:
    """What to do with a damaged record of hudictl's own; "" if it is another problem."""
    if not problem.startswith(f"{OWN}/"):
        return ""
    undo = getattr(row, "undo", None)
    return f"`{command_of('undo drop', undo)}` frees all that it keeps" if undo else "move this file out of the table"


def _without(rows: Iterable[Row], totals: list[Row]) -> Iterator[Row]:
    """The rows that are no totals; these are collected."""
    for row in rows:
        if getattr(row, "total", False):
            totals.append(row)
        else:
            yield row


def _column(row_type: type, said: str, option: str) -> str:
    fields = row_type.__dataclass_fields__  # type: ignore[attr-defined]
    name = said.strip().replace(" ", "_")
    for column in (name, f"{name}_ms"):
        if column in fields:
            return column
    raise UsageError(f"{option}: there is no column {said}", hint=f"the columns are: {', '.join(fields)}")


def _kind(row_type: type, column: str) -> type:
    declared = row_type.__dataclass_fields__[column].type  # type: ignore[attr-defined]
    kinds = get_args(declared) or (declared,)
    return next((kind for kind in (bool, int, float) if kind in kinds), str)


def _key(value: Any) -> tuple[bool, Any]:
    """What is missing comes first."""
    return value is not None, value if isinstance(value, (int, float)) else str(value)
