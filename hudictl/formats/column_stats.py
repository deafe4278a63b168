"""Column statistics: records of the metadata table's index ``column_stats``, and their values compared with a footer's.

Checked on what 0.15.0, 1.0.2 and 1.2.0 write.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from hudictl.errors import Unreadable
from hudictl.formats.wrappers import DECIMAL, LOCAL_DATE, WRAPPERS, decimal_of

COLUMN_STATS = "column_stats"
Value = bool | int | float | str | bytes | Decimal
"""As in Parquet: dates are days, times and timestamps are numbers since midnight or the epoch. After a compaction of
the metadata table a decimal may be bytes: its unscaled number with the scale of a DecimalWrapper (0.15.0)."""

_COLUMN_STATS = 3
_VALUE_TYPE_OF_DECIMAL = re.compile(r"\d+,(\d+)")
"""From 1.1 on a decimal is bytes, and its value type has its precision and its own scale."""
_PLAIN = {*WRAPPERS, LOCAL_DATE} - {DECIMAL}


class Statistics(NamedTuple):
    """The least and the greatest value of a column in one file (None: not known, or nothing but nulls), the number of
    nulls (None: not known), and the number of values with the nulls."""

    least: Value | None
    greatest: Value | None
    nulls: int | None
    values: int


@dataclass(frozen=True, slots=True)
class ColumnEntry:
    """What the index says of a column in a file. ``exact``: it replaces what was said before."""

    file: str
    column: str
    deleted: bool
    exact: bool
    statistics: Statistics


def decode_column_entry(record: Mapping[str, Any]) -> ColumnEntry:
    """Decodes a record, whose wrappers come as pairs of a name and a record (``read_records`` with ``named``). Raises
    Unreadable: it is no record of this index, or has a wrapper that is not known."""
    try:
        if record["type"] != _COLUMN_STATS:
            raise Unreadable(f"a record of type {record['type']} in the column statistics")
        found = record["ColumnStatsMetadata"]
        scale = _VALUE_TYPE_OF_DECIMAL.fullmatch((found.get("valueType") or {}).get("additionalInfo") or "")
        bytes_scale = int(scale[1]) if scale else None
        least, greatest = (_unwrapped(found[name], bytes_scale) for name in ("minValue", "maxValue"))
        return ColumnEntry(
            str(found["fileName"]),
            str(found["columnName"]),
            bool(found["isDeleted"]),
            bool(found.get("isTightBound")),
            Statistics(least, greatest, int(found["nullCount"]), int(found["valueCount"])),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Unreadable(f"no record of the column statistics: {error!r}") from error


def combine_entries(older: ColumnEntry, newer: ColumnEntry) -> ColumnEntry:
    """Merges two records of one key, as HoodieTableMetadataUtil.mergeColumnStatsRecords does: a record adds to what was
    said before, unless one of the two is deleted."""
    if newer.deleted or older.deleted or newer.exact:
        return newer
    one, other = older.statistics, newer.statistics
    both = Statistics(
        _first(min, one.least, other.least),
        _first(max, one.greatest, other.greatest),
        (one.nulls or 0) + (other.nulls or 0),
        one.values + other.values,
    )
    return ColumnEntry(newer.file, newer.column, False, False, both)


def add_row_group(whole: Statistics | None, part: Statistics) -> Statistics:
    """The statistics of a column, with those of one more row group."""
    if whole is None:
        return part
    nulls = None if whole.nulls is None or part.nulls is None else whole.nulls + part.nulls
    least, greatest = _first(min, whole.least, part.least), _first(max, whole.greatest, part.greatest)
    return Statistics(least, greatest, nulls, whole.values + part.values)


def agree(index: Statistics, footer: Statistics) -> bool:
    """Whether the index says what a footer has. A number of nulls that the footer does not have is not compared."""
    return (
        index.values == footer.values
        and footer.nulls in (None, index.nulls)
        and same_value(index.least, footer.least)
        and same_value(index.greatest, footer.greatest)
    )


def in_words(value: Value | None) -> str:
    """A value as text; bytes in hexadecimal, and ? for one that is not known."""
    return f"0x{value.hex()}" if isinstance(value, bytes) else "?" if value is None else str(value)


def same_value(index: Value | None, footer: Value | None) -> bool:
    """Whether a value of the index is the one of a footer."""
    if isinstance(index, bytes) and isinstance(footer, Decimal):
        return decimal_of(index) == footer
    if isinstance(index, bytes) and isinstance(footer, str):
        return index == footer.encode("utf-8", "surrogateescape")
    if isinstance(index, float) and isinstance(footer, float) and math.isnan(index):
        return math.isnan(footer)
    return index == footer


def _unwrapped(wrapper: Any, bytes_scale: int | None) -> Value | None:
    if wrapper is None:
        return None
    name, fields = wrapper
    kind = name.rpartition(".")[2]
    if kind == DECIMAL:
        return decimal_of(fields["value"])
    if kind not in _PLAIN:
        raise Unreadable(f"column statistics have a value of the unknown type {kind}")
    value: Value = fields["value"]
    return decimal_of(value, bytes_scale) if isinstance(value, bytes) and bytes_scale is not None else value


def _first(choose: Callable[..., Value], one: Value | None, other: Value | None) -> Value | None:
    """The least or greatest of two values, by Java's orders: text by UTF-16, bytes as signed numbers."""
    if one is None or other is None:
        return other if one is None else one
    return choose(one, other, key=_order)


def _order(value: Value) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16-be", "surrogatepass")
    return bytes(byte ^ 0x80 for byte in value) if isinstance(value, bytes) else value
