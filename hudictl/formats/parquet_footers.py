"""Footers of Parquet base files: statistics of the columns, and Hudi's own entries."""

import io
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hudictl.errors import Conflict, StorageFailed, Unreadable
from hudictl.formats.base_files import ENCRYPTED
from hudictl.formats.base_rows import META_COLUMNS
from hudictl.formats.column_stats import Statistics, Value, add_row_group
from hudictl.formats.ranges import ReadAt
from hudictl.formats.thrift import COLUMNS, GROUPS, METADATA, Struct, read_struct

if TYPE_CHECKING:
    from pyarrow import parquet

_USUAL_BYTES = 64 * 1024
_DIGITS = ("INT32", "INT64")
_FIXED = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE")
_BYTES_OF_TYPES = dict(zip(_FIXED, (1, 4, 8, 12, 4, 8), strict=True)) | {"BYTE_ARRAY": 0, "FIXED_LEN_BYTE_ARRAY": 0}
"""In the order of their numbers; 0 for those of other lengths."""
# The numbers of more fields: in a column, in its metadata, its statistics and its sizes.
_CRYPTO = 8
_TYPE, _STATISTICS, _SIZES = 1, 12, 16
_BOUNDS = (1, 2, 5, 6)
_REPETITIONS, _DEFINITIONS = 2, 3
HUDIS = frozenset({*META_COLUMNS, "_hoodie_operation"})
"""Columns that are Hudi's own; ``_hoodie_is_deleted`` is one of the table's."""
_SMALL = {"int8": "int32", "int16": "int32"}
"""Avro has no small integers."""
_PLAIN = {"boolean": "bool", "int": "int32", "long": "int64", "bytes": "binary"}
_LOGICAL = {
    "date": "date32[day]",
    "timestamp-millis": "timestamp[ms, tz=UTC]",
    "timestamp-micros": "timestamp[us, tz=UTC]",
    "local-timestamp-millis": "timestamp[ms]",
    "local-timestamp-micros": "timestamp[us]",
}


def read_footer(read_at: ReadAt, size: int) -> "parquet.FileMetaData":
    """Reads the footer of a Parquet file. Raises Unreadable: damaged, or ``encrypted``; what the storage raises."""
    from pyarrow import parquet

    with _reading():
        end = read_at(max(0, size - _USUAL_BYTES), min(size, _USUAL_BYTES))
        length = int.from_bytes(end[-8:-4], "little") + 8
        if length > size:
            raise ValueError(f"it has {length:,} bytes, but the file has {size:,}")
        if end[-4:] == ENCRYPTED:
            raise Unreadable("the Parquet footer is encrypted", encrypted=True)
        end = end[-length:] if length <= len(end) else read_at(size - length, length)
        footer = parquet.read_metadata(io.BytesIO(end[-4:] + end))
        _judge(footer, read_struct(io.BytesIO(end)))
        return footer


@contextmanager
def _reading() -> Iterator[None]:
    """The libraries raise any kind of error on damaged bytes; the storage's own errors are passed on."""
    try:
        yield
    except (Unreadable, StorageFailed, Conflict, FileNotFoundError):
        raise
    except Exception as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise Unreadable(f"the Parquet footer cannot be read: {why}") from error


def problem_in_footer(read_at: ReadAt, size: int) -> str:
    """Why the footer of a Parquet file cannot be read; "" if it can, is encrypted, or if the file has just
    been deleted."""
    try:
        read_footer(read_at, size)
    except Unreadable as error:
        return "" if error.fields.get("encrypted") else error.message
    except FileNotFoundError:
        pass
    return ""


def column_statistics(footer: "parquet.FileMetaData", columns: Collection[str] | None = None) -> dict[str, Statistics]:
    """The statistics of columns, all row groups together, by path (``a.b`` inside structures). Raises
    Unreadable."""
    found: dict[str, Statistics] = {}
    with _reading():
        for group in range(footer.num_row_groups):
            for number in range(footer.num_columns):
                chunk = footer.row_group(group).column(number)
                name = chunk.path_in_schema
                if columns is None or name in columns:
                    found[name] = add_row_group(found.get(name), _statistics(chunk, footer.schema.column(number)))
    return found


def own_entries(footer: "parquet.FileMetaData") -> dict[str, str]:
    """The key-value pairs of the footer, as Hudi's ``org.apache.hudi.bloomfilter``. Raises Unreadable."""
    with _reading():
        return {key.decode(): value.decode("utf-8", "replace") for key, value in (footer.metadata or {}).items()}


def own_columns(footer: "parquet.FileMetaData") -> dict[str, str]:
    """The types of the columns in a Parquet file by their names, as ``avro_columns`` has them. Raises Unreadable."""
    with _reading():
        fields = footer.schema.to_arrow_schema()
        return {field.name: _arrow_text(field) for field in fields if field.name not in HUDIS}


def avro_columns(schema: Mapping[str, Any]) -> dict[str, str]:
    """The types of the columns in an Avro schema of a record, as Hudi writes them to Parquet, without Hudi's own. What
    has no such type has a text of its own."""
    fields = [field for field in schema["fields"] if field["name"] not in HUDIS]
    return {field["name"]: _avro_text(field["type"]) for field in fields}


def _arrow_text(field: Any) -> str:
    from pyarrow import types

    kind = field.type
    if types.is_struct(kind):
        text = "{" + ", ".join(f"{inner.name}: {_arrow_text(inner)}" for inner in kind) + "}"
    elif types.is_list(kind):
        text = f"[{_arrow_text(kind.value_field)}]"
    elif types.is_map(kind):
        text = f"<{_arrow_text(kind.item_field)}>"
    else:
        text = _SMALL.get(str(kind), str(kind))
    return f"{text}?" if field.nullable else text


def _avro_text(kind: Any) -> str:
    if isinstance(kind, list):
        others = [one for one in kind if one != "null"]
        return f"{_avro_text(others[0])}?" if len(others) == 1 and len(kind) > 1 else str(kind)
    if not isinstance(kind, dict):
        return _PLAIN.get(str(kind), str(kind))
    logical, inner = str(kind.get("logicalType")), kind["type"]
    if logical == "decimal":
        return f"decimal128({kind['precision']}, {kind.get('scale', 0)})"
    if inner == "record":
        return "{" + ", ".join(f"{one['name']}: {_avro_text(one['type'])}" for one in kind["fields"]) + "}"
    if inner == "array":
        return f"[{_avro_text(kind['items'])}]"
    if inner == "map":
        return f"<{_avro_text(kind['values'])}>"
    named = {"enum": "string", "fixed": f"fixed_size_binary[{kind.get('size')}]"}
    return _LOGICAL.get(logical) or named.get(inner) or _avro_text(inner)


def _judge(footer: "parquet.FileMetaData", told: Struct) -> None:
    """Raises ValueError: a column for which pyarrow would end the process (seen on 26.0.1). Raises
    Unreadable: one is encrypted, and the others are in order."""
    groups = told[GROUPS]
    if len(groups) != footer.num_row_groups or any(len(group[COLUMNS]) != footer.num_columns for group in groups):
        raise ValueError("its row groups have other columns than its schema")
    encrypted = ""
    for number in range(footer.num_columns):
        column = footer.schema.column(number)
        least = max(_BYTES_OF_TYPES[column.physical_type], column.length)
        levels = {_REPETITIONS: column.max_repetition_level + 1, _DEFINITIONS: column.max_definition_level + 1}
        for group in groups:
            chunk = group[COLUMNS][number]
            if _CRYPTO in chunk:
                encrypted = column.path
                continue
            told = chunk[METADATA]
            bounds = [told.get(_STATISTICS, {}).get(bound) for bound in _BOUNDS]
            sizes = told.get(_SIZES, {})
            fits = [*_BYTES_OF_TYPES][told[_TYPE]] == column.physical_type
            fits = fits and all(bound is None or len(bound) >= least for bound in bounds)
            if not fits or any(len(sizes.get(kind) or range(count)) != count for kind, count in levels.items()):
                raise ValueError(f"the column {column.path} is not as its schema says")
    if encrypted:
        raise Unreadable(f"the column {encrypted} of the Parquet file is encrypted", encrypted=True)


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
