"""Schemas of log blocks: Avro JSON from an untrusted header."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import fastavro

from hudictl.errors import Unreadable

# Far beyond any real table. Larger schemas could overflow a stack, or keep a decoder busy without data.
_MOST_LEVELS = 200
_MOST_FIELDS = 100_000


@dataclass(frozen=True, slots=True)
class Schema:
    """A record's schema, parsed for fastavro: as it is, and without logical types, so that values stay as on disk."""

    parsed: Any
    raw: Any
    name: str
    fields: tuple[str, ...]


@lru_cache(maxsize=64)
def parse_schema(text: str) -> Schema:
    """Parses the SCHEMA of a block's header. Equal texts are parsed once: each block of a table has the same.

    Defaults are dropped: old releases wrote invalid ones, and no writer's schema needs them.

    Raises:
        Unreadable: not a schema of a record, or one with endless data: a record in itself, an array of empty items.
    """
    try:
        tree = json.loads(text)
        _look_at_tree(tree)
        parsed = fastavro.parse_schema(_without(tree, {"default"}))
        raw = fastavro.parse_schema(_without(tree, {"default", "logicalType"}))
        if not isinstance(raw, dict) or raw.get("type") != "record":
            raise ValueError("it does not describe a record")
        _look_at_size(raw, {})
    except Exception as error:  # fastavro raises whatever a damaged schema leads to
        raise Unreadable(f"the SCHEMA in the block's header cannot be used: {error or type(error).__name__}") from error
    return Schema(parsed, raw, str(raw["name"]), tuple(field["name"] for field in raw["fields"]))


def _look_at_tree(tree: Any) -> None:
    level = [tree]
    for _ in range(_MOST_LEVELS):
        for entry in level:
            if isinstance(entry, dict):
                _look_at_name(entry.get("name"))
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


def _look_at_size(part: Any, named: dict[str, tuple[int, int] | None]) -> tuple[int, int]:
    """The number of values in each datum of a schema, and its minimum bytes; both 1 if the bytes contain the number.

    Args:
        part: of a parsed schema: a type, a union, or a name.
        named: what is known of the types that have a name, None for a record that is being looked at.
    """
    if isinstance(part, list):
        for branch in part:
            _look_at_size(branch, named)
        return 1, 1
    kind = part["type"] if isinstance(part, dict) else part
    if isinstance(kind, (dict, list)):
        return _look_at_size(kind, named)
    if kind in named:
        if named[kind] is None:
            raise ValueError(f"the record {kind} contains itself")
        return named[kind] or (1, 1)
    if kind in ("record", "fixed", "enum"):
        named[part["name"]] = None
        named[part["name"]] = found = _named_size(kind, part, named)
        return found
    if kind == "array" and _look_at_size(part["items"], named)[1] == 0:
        raise ValueError("it has an array whose elements take 0 bytes")
    if kind == "map":
        _look_at_size(part["values"], named)
    return 1, int(kind != "null")


def _named_size(kind: str, part: Any, named: dict[str, tuple[int, int] | None]) -> tuple[int, int]:
    if kind != "record":
        return 1, int(part.get("size", 1))
    unnamed = [field["name"] for field in part["fields"] if not isinstance(field["name"], str)]
    if unnamed:
        raise ValueError(f"{unnamed[0]!r} is not a valid field name")
    fields = [_look_at_size(field["type"], named) for field in part["fields"]]
    values = 1 + sum(values for values, _ in fields)
    if values > _MOST_FIELDS:
        raise ValueError(f"it has more than {_MOST_FIELDS} fields")
    return values, sum(least for _, least in fields)
