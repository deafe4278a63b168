"""Rows of older schemas, read up to a newer one."""

import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

from hudictl.formats.avro_schemas import Schema
from hudictl.formats.json_values import parse_json

Row = Mapping[str, Any]
_Convert = Callable[[Any], Any]

_SINGLE = struct.Struct(">f")


def reader(schema: Schema, before: tuple[str, ...] = ()) -> Callable[[Row], dict[str, Any]]:
    """Makes what reads a row up to a schema: its columns in its order, null where the row has none, and promoted.

    Maps become mappings: Parquet's readers give them as pairs.

    Args:
        before: columns that come before those of the schema, where it does not name them; they are taken as they are.
    """
    converters: dict[str, _Convert | None] = dict.fromkeys(column for column in before if column not in schema.fields)
    converters |= _fields(schema.raw, {})
    plain = [name for name, convert in converters.items() if convert is None]
    others = [(name, convert) for name, convert in converters.items() if convert is not None]
    columns = dict.fromkeys(converters)

    def read(row: Row) -> dict[str, Any]:
        found = columns.copy()
        for name in plain:
            found[name] = row.get(name)
        for name, convert in others:
            found[name] = convert(row.get(name))
        return found

    return read


def defaults(text: str) -> dict[str, Any]:
    """The defaults, other than null, of a schema's columns. Raises ValueError."""
    fields = parse_json(text)["fields"]
    return {field["name"]: field["default"] for field in fields if field.get("default") is not None}


def columns_in_millis(schema: Schema) -> frozenset[str]:
    """The columns whose timestamps are in milliseconds."""
    return frozenset(
        field["name"] for field in schema.parsed["fields"] if _logical(field["type"]).endswith("timestamp-millis")
    )


def _logical(kind: Any) -> str:
    if isinstance(kind, list):
        return next((found for found in map(_logical, kind) if found), "")
    return str(kind.get("logicalType", "")) if isinstance(kind, dict) else ""


def _fields(record: Any, named: dict[str, Any]) -> dict[str, _Convert | None]:
    return {field["name"]: _converter(field["type"], named) for field in record["fields"]}


def _converter(kind: Any, named: dict[str, Any]) -> _Convert | None:
    """What brings a value up to a type; None where all values stay as they are."""
    if isinstance(kind, list):
        branches = [branch for branch in kind if branch != "null"]
        return _converter(branches[0], named) if len(branches) == 1 else None
    if isinstance(kind, str):
        return _converter(named[kind], named) if kind in named else _PROMOTIONS.get(kind)
    name = kind["type"]
    if name == "record":
        named[kind["name"]] = kind
        return _nested(_fields(kind, named))
    if name == "array":
        item = _converter(kind["items"], named)
        return item and (lambda value: [item(entry) for entry in value] if isinstance(value, list) else value)
    if name == "map":
        return _mapping(_converter(kind["values"], named))
    if name in ("fixed", "enum"):
        named[kind["name"]] = kind
        return _to_text if name == "enum" else None
    return _converter(name, named)


def _nested(fields: dict[str, _Convert | None]) -> _Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {name: up(value.get(name)) if up else value.get(name) for name, up in fields.items()}

    return convert


def _mapping(up: _Convert | None) -> _Convert:
    def convert(value: Any) -> Any:
        try:
            pairs = dict(value).items()
        except (TypeError, ValueError):  # null, or of another type than the schema says
            return value
        return {key: up(entry) if up else entry for key, entry in pairs}

    return convert


def _to_float(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _to_single(value: Any) -> Any:
    """The shortest number that is the same one in 32 bits: 0.1, not 0.10000000149011612."""
    number = _to_float(value)
    try:
        stored = _SINGLE.pack(number)
        texts = (f"{number:.{digits}g}" for digits in range(6, 10))
        return next((found for found in map(float, texts) if _SINGLE.pack(found) == stored), number)
    except (struct.error, OverflowError):  # null, or of another type than the schema says
        return value


def _to_text(value: Any) -> Any:
    """Hudi promotes numbers and bytes to text, which Avro does not."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float):
        return float_text(value)
    return value if value is None or isinstance(value, (str, bool)) else str(value)


def float_text(value: float) -> str:
    """As Java writes it: 2.5, 1.0E10, NaN."""
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    text = repr(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return text
    shortest = next(f for f in (f"{value:.{digits}e}" for digits in range(1, 18)) if float(f) == value)
    mantissa, _, exponent = shortest.partition("e")
    return f"{mantissa}E{int(exponent)}"


_PROMOTIONS: dict[str, _Convert] = {"string": _to_text, "double": _to_float, "float": _to_single}
