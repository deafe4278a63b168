"""JSON: one envelope for every command, keys from the dataclasses, none omitted."""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from itertools import chain, islice
from math import isfinite, isnan
from operator import attrgetter
from typing import Any

from hudictl.errors import HudictlError

SCHEMA_VERSION = 1
_AT_ONCE = 100
"""So many rows of a stream are encoded in one call."""
# Nearly all values of a stream have these types, so they are tested first.
_AS_IT_IS = (str, int, bool, type(None))


class ChangeOutcome(Enum):
    """What became of a change that was asked for: the ``outcome`` of its JSON document."""

    DONE = "done"
    NOTHING = "nothing to do"
    PLANNED = "planned"


@dataclass(frozen=True)
class ErrorObject:
    """An error. ``slug``: the kind of error; it belongs to the exit code. ``message``: what happened, with the value.
    ``hint``: what to do; it may be empty. ``fields``: the values of the message, by name; they depend on the error.
    """

    slug: str
    exit_code: int
    message: str
    hint: str
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class _Stream:
    """Very many rows."""

    rows: Iterator[Any]

    def parts(self) -> Iterator[tuple[str]]:
        """Some rows as text, without the brackets around them."""
        while some := list(islice(self.rows, _AT_ONCE)):
            yield (row_line(some)[1:-1],)


def envelope(command: str, table: str | None, *, notes: Sequence[str] = (), **content: Any) -> Iterator[str]:
    """``rows`` or ``result`` inside the common frame; a change also has its ``outcome``.

    Returns:
        The text in parts: a plan can name very many files, and rows can be an iterator. ``notes`` may grow meanwhile.
    """
    document = {"schema_version": SCHEMA_VERSION, "command": command, "table": table}
    return _object((document | content | {"notes": notes}).items(), _parts)


def _parts(value: Any) -> Iterator[str]:
    """A value as text, row by row, or key by key."""
    if hasattr(value, "shown"):
        return _object(_shown(value, value.shown), _parts)
    if isinstance(value, Mapping):
        return _object(value.items(), _whole)
    if isinstance(value, _Stream):
        return _joined(value.parts(), "[]")
    if isinstance(value, (list, tuple, Iterator)):
        return _joined(map(_whole, value), "[]")
    return iter(_whole(value))


def _whole(value: Any) -> tuple[str]:
    return (json.dumps(plain(value)),)


def _object(entries: Iterable[tuple[Any, Any]], inside: Callable[[Any], Iterable[str]]) -> Iterator[str]:
    return _joined((chain((json.dumps(str(name)), ": "), inside(value)) for name, value in entries), "{}")


def _joined(entries: Iterable[Iterable[str]], ends: str) -> Iterator[str]:
    between = ends[0]
    for entry in entries:
        yield between
        yield from entry
        between = ", "
    yield ends[1] if between == ", " else ends


def stream_envelope(command: str, table: str | None, rows: Iterable[Any], notes: Sequence[str]) -> Iterator[str]:
    """``envelope`` of very many row dataclasses, which are encoded some at a time."""
    return envelope(command, table, notes=notes, rows=_Stream(iter(rows)))


def row_line(row: Any) -> str:
    """A row dataclass, as one line."""
    try:
        # The encoder handles plain values itself, many times faster than ``plain``.
        return _STREAM.encode(row)
    except (ValueError, TypeError):
        return json.dumps(plain(row))


def error_object(error: HudictlError) -> str:
    """The one object that is written to stderr after a failure."""
    return json.dumps(plain(ErrorObject(error.slug, error.exit_code, error.message, error.hint, error.fields)))


def plain(value: Any) -> Any:
    """Dataclasses, sets and mappings as JSON types; sets are sorted, so that plans can be compared. All other types
    become text: bytes as base64, dates and times as ISO 8601, decimals with all their digits."""
    kind = type(value)
    if kind in _AS_IT_IS:
        return value
    if kind in _AS_TEXT:
        return _AS_TEXT[kind](value)
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    names = _names(value)
    if names is not None:
        return {name: plain(found) for name, found in _shown(value, names)}
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, (set, frozenset)):
        return sorted(plain(entry) for entry in value)
    if isinstance(value, (list, tuple, Iterator)):
        return [plain(entry) for entry in value]
    return value if isinstance(value, (str, int)) else str(value)


def _outermost(value: Any) -> Any:
    """Converts one level of what the encoder cannot handle; it asks again for the values inside."""
    as_text = _AS_TEXT.get(type(value))
    if as_text is not None:
        return as_text(value)
    names = _names(value)
    return plain(value) if names is None else dict(_shown(value, names))


def _shown(value: Any, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """A name can be that of a part's field: its last word is the key."""
    return ((name.rpartition(".")[2], attrgetter(name)(value)) for name in names)


def _names(value: Any) -> Iterable[str] | None:
    """The keys of a dataclass. A plan lists those that it shows: not all are fields, and not all fields are shown."""
    return getattr(value, "shown", None) or getattr(value, "__dataclass_fields__", None)


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _number(value: float) -> float | str:
    """JSON has no infinite numbers, and no NaN."""
    return value if isfinite(value) else "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


_AS_TEXT: dict[type, Callable[[Any], Any]] = {
    float: _number,
    bytes: _base64,
    datetime: datetime.isoformat,
    date: date.isoformat,
    time: time.isoformat,
    Decimal: "{:f}".format,
}

_STREAM = json.JSONEncoder(default=_outermost, allow_nan=False)
