"""Avro schemas out of files: no text is trusted, and each is judged before anything is decoded with it."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import fastavro
from fastavro.read import LOGICAL_READERS

from hudictl.errors import Unreadable

# Far beyond any real table. Larger schemas could overflow a stack, or keep a decoder busy without data.
_MOST_LEVELS = 200
_MOST_FIELDS = 100_000
# Values that a byte can stand for: nulls and empty records take none.
_MOST_IN_BYTE = 10
_LENIENT = "hudictl-"


@dataclass(frozen=True, slots=True)
class Schema:
    """A record's schema, parsed for fastavro: as it is; without logical types, so that values stay as on disk; and with
    types that leave only those values as on disk that Python's types cannot hold."""

    parsed: Any
    raw: Any
    lenient: Any
    name: str
    fields: tuple[str, ...]


@lru_cache(maxsize=64)
def parse_schema(text: str) -> Schema:
    """Parses a schema that came with its data: the only way to one. Equal texts are parsed once: all blocks of a table,
    and all its instants of one kind, have the same.

    Defaults are dropped: old releases wrote invalid ones, and no writer's schema needs them.

    Raises:
        Unreadable: not a schema of a record; or one with which few bytes are many values, endless ones, or very deep.
    """
    try:
        tree = json.loads(text)
        _look_at_tree(tree)
        parsed = fastavro.parse_schema(_without(tree, {"default"}))
        raw = fastavro.parse_schema(_without(tree, {"default", "logicalType"}))
        lenient = fastavro.parse_schema(_lenient(_without(tree, {"default"})))
        if not isinstance(raw, dict) or raw.get("type") != "record":
            raise ValueError("it does not describe a record")
        _measure(raw, {})
    except Exception as error:  # fastavro raises whatever a damaged schema leads to
        raise Unreadable(f"its Avro schema cannot be used: {error or type(error).__name__}") from error
    return Schema(parsed, raw, lenient, str(raw["name"]), tuple(field["name"] for field in raw["fields"]))


def _look_at_tree(tree: Any) -> None:
    level, names = [tree], 0
    for _ in range(_MOST_LEVELS):
        for entry in level:
            if isinstance(entry, dict):
                _look_at_name(entry.get("name"))
                names += "name" in entry
        if names > _MOST_FIELDS:
            raise ValueError(f"it has more than {_MOST_FIELDS} names")
        level = [
            below
            for entry in level
            if isinstance(entry, (dict, list))
            for below in (_without_default(entry) if isinstance(entry, dict) else entry)
        ]
        if not level:
            return
    raise ValueError(f"it is nested more than {_MOST_LEVELS} times")


def _without_default(entry: dict[str, Any]) -> list[Any]:
    return [value for key, value in entry.items() if key != "default"]


def _look_at_name(name: object) -> None:
    """Avro's own reader, in Hudi 0.15.0 to 1.2.0, takes no other name, and fastavro does."""
    simple = name.rpartition(".")[2] if isinstance(name, str) else "_"
    if not simple.replace("_", "a").isalnum() or simple[0].isdigit():
        raise ValueError(f"{name!r} is not a valid name")


def _without(tree: Any, keys: set[str]) -> Any:
    """The same without some attributes."""
    if isinstance(tree, dict):
        return {key: _without(value, keys) for key, value in tree.items() if key not in keys}
    return [_without(entry, keys) for entry in tree] if isinstance(tree, list) else tree


def _lenient(tree: Any) -> Any:
    """The same with lenient logical types."""
    if isinstance(tree, dict):
        return {key: f"{_LENIENT}{value}" if key == "logicalType" else _lenient(value) for key, value in tree.items()}
    return [_lenient(entry) for entry in tree] if isinstance(tree, list) else tree


def _or_as_on_disk(read: Callable[..., Any], value: Any, *schemas: Any) -> Any:
    try:
        return read(value, *schemas)
    except Exception:  # a valid date in the year 300000, for example
        return value


for _name, _read in tuple(LOGICAL_READERS.items()):
    _type, _, _logical = _name.partition("-")
    LOGICAL_READERS[f"{_type}-{_LENIENT}{_logical}"] = partial(_or_as_on_disk, _read)


class _Size(NamedTuple):
    """What a datum of a type takes at least, in bytes; the values that come without more bytes; how deep they nest."""

    values: int
    least: int
    levels: int


def _measure(part: Any, named: dict[str, _Size | None]) -> _Size:
    """Judges a part of a parsed schema: a type, a union, or a name.

    Args:
        part: the part.
        named: what is known of the types that have a name, None for a record that is being looked at.
    """
    if isinstance(part, list):
        return _Size(1, 1, _deeper(_measure(branch, named) for branch in part))
    kind = part["type"] if isinstance(part, dict) else part
    if isinstance(kind, (dict, list)):
        return _measure(kind, named)
    if kind in named:
        if (known := named[kind]) is None:
            raise ValueError(f"the record {kind} contains itself")
        return known
    if kind in ("record", "fixed", "enum"):
        named[part["name"]] = None
        named[part["name"]] = found = _measure_named(kind, part, named)
        return found
    if kind in ("array", "map"):
        inner = _measure(part["items" if kind == "array" else "values"], named)
        if kind == "array" and inner.least == 0:
            raise ValueError("it has an array whose elements take 0 bytes")
        return _Size(1, 1, _deeper([inner]))
    return _Size(1, int(kind != "null"), 0)


def _measure_named(kind: str, part: Any, named: dict[str, _Size | None]) -> _Size:
    if kind != "record":
        least = part.get("size", 1)
        if not isinstance(least, int) or least < 0:
            raise ValueError(f"{least!r} is not a number of bytes")
        return _Size(1, least, 0)
    unnamed = [field["name"] for field in part["fields"] if not isinstance(field["name"], str)]
    if unnamed:
        raise ValueError(f"{unnamed[0]!r} is not a valid field name")
    fields = [_measure(field["type"], named) for field in part["fields"]]
    values, least = 1 + sum(field.values for field in fields), sum(field.least for field in fields)
    if values > _MOST_FIELDS:
        raise ValueError(f"it has more than {_MOST_FIELDS} fields")
    if values > _MOST_LEVELS + _MOST_IN_BYTE * least:
        raise ValueError(f"it has a record of {values} values in {least} bytes")
    return _Size(values, least, _deeper(fields))


def _deeper(parts: Iterable[_Size]) -> int:
    levels = 1 + max((part.levels for part in parts), default=0)
    if levels > _MOST_LEVELS:
        raise ValueError(f"its records are nested more than {_MOST_LEVELS} times")
    return levels
