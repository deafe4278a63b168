"""Footers of Parquet base files: statistics of the columns, and Hudi's own entries."""

from collections.abc import Collection
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hudictl.errors import Conflict, StorageFailed, Unreadable
from hudictl.formats.column_stats import Statistics, Value, add_row_group
from hudictl.formats.ranges import ReadAt, as_file

if TYPE_CHECKING:
    from pyarrow import parquet

_DIGITS = ("INT32", "INT64")


def read_footer(read_at: ReadAt, size: int) -> "parquet.FileMetaData":
    """Reads the footer of a Parquet file. Raises Unreadable; what the storage raises."""
    from pyarrow import parquet

    try:
        return parquet.read_metadata(as_file(read_at, size))
    except (StorageFailed, Conflict, FileNotFoundError):
        raise
    except Exception as error:
        raise Unreadable(f"the Parquet footer cannot be read: {error}") from error


def column_statistics(footer: "parquet.FileMetaData", columns: Collection[str] | None = None) -> dict[str, Statistics]:
    """The statistics of columns, all row groups together, by path (``a.b`` inside structures)."""
    found: dict[str, Statistics] = {}
    for group in range(footer.num_row_groups):
        for number in range(footer.num_columns):
            chunk = footer.row_group(group).column(number)
            name = chunk.path_in_schema
            if columns is None or name in columns:
                found[name] = add_row_group(found.get(name), _statistics(chunk, footer.schema.column(number)))
    return found


def own_entries(footer: "parquet.FileMetaData") -> dict[str, str]:
    """The key-value pairs of the footer, as Hudi's ``org.apache.hudi.bloomfilter``."""
    return {key.decode(): value.decode("utf-8", "replace") for key, value in (footer.metadata or {}).items()}


def _statistics(chunk: Any, column: Any) -> Statistics:
    found = chunk.statistics
    if found is None:
        return Statistics(None, None, None, chunk.num_values)
    nulls = found.null_count if found.has_null_count else None
    if not found.has_min_max:
        return Statistics(None, None, nulls, chunk.num_values)
    least, greatest = (_value(raw, chunk.physical_type, column) for raw in (found.min_raw, found.max_raw))
    return Statistics(least, greatest, nulls, chunk.num_values)


def _value(raw: Any, physical: str, column: Any) -> Value:
    kind = column.logical_type.type
    if kind == "DECIMAL":
        number = raw if physical in _DIGITS else int.from_bytes(raw, "big", signed=True)
        return Decimal(f"{number}E-{column.scale}")
    if kind == "STRING":
        return str(raw.decode("utf-8", "surrogateescape"))
    value: Value = raw
    return value
