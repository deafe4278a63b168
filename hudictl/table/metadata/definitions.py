"""The definitions of indexes, which Hudi 1.x keeps beside the metadata table."""

import json
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from hudictl.errors import Unreadable
from hudictl.formats.json_values import parse_first
from hudictl.formats.layouts import META
from hudictl.formats.limits import RECORD_BYTES
from hudictl.storage import read_whole
from hudictl.table.table import Table

_PATH = "hoodie.table.index.defs.path"
_DEFINITIONS = "indexDefinitions"
_VERSIONS = ("V1", "V2")
"""Versions of the format of an index; a definition without one has the first."""
_BY_STATEMENT = ("secondary_index_", "expr_index_")
"""Indexes that CREATE INDEX defines, and that DROP INDEX deletes with the partition. With a definition of an expression
index but no partition, queries fail (Hudi 1.0.2, 1.2.0). The next writer rebuilds a secondary index. If CREATE INDEX is
still the newest completed instant, that writer uses its time for each index that it builds, rolls the previous one
back, and lists them all (both releases): queries with an empty index find nothing."""


def is_defined(partition: str) -> bool:
    """Whether a partition of the metadata table is an index with a definition."""
    return partition.startswith(_BY_STATEMENT)


def defined_names(table: Table) -> frozenset[str]:
    """The indexes that have a definition. Raises Unreadable: the definitions are damaged."""
    found = _read(table)
    return frozenset(found[1][_DEFINITIONS]) if found is not None else frozenset()


def drop_definitions(table: Table, partitions: Collection[str]) -> None:
    """Deletes the definitions of indexes whose partitions are dropped, as DROP INDEX does. Idempotent. Raises
    Unreadable: the definitions are damaged."""
    gone = {name for name in partitions if is_defined(name)}
    found = _read(table) if gone else None
    if found is None:
        return
    path, whole = found
    definitions = whole[_DEFINITIONS]
    kept = {name: value for name, value in definitions.items() if name not in gone}
    if kept.keys() != definitions.keys():
        table.storage.replace(path, json.dumps(whole | {_DEFINITIONS: kept}, indent=2).encode())


def damaged_definitions(table: Table) -> str | None:
    """What is wrong with the definitions; None if Hudi can read them."""
    try:
        check_definitions(table)
    except Unreadable as error:
        return error.message
    return None


def reset_damaged(table: Table) -> None:
    """Takes out what Hudi cannot read of the definitions, before the whole metadata table is dropped: no index is left
    that needs it, and the next writer defines its own again (1.0.2, 1.2.0). Idempotent."""
    path = table.properties.get(_PATH, "")
    if damaged_definitions(table) is None or not _is_own(path):
        return
    whole: dict[str, Any] = {_DEFINITIONS: {}}
    with suppress(Unreadable):
        found = _read(table)
        whole = found[1] if found is not None else whole
    kept = {name: value for name, value in whole[_DEFINITIONS].items() if _version(value) in _VERSIONS}
    table.storage.replace(path, json.dumps(whole | {_DEFINITIONS: kept}, indent=2).encode())


def check_definitions(table: Table) -> None:
    """Whether Hudi finds the definitions of the table's indexes, and can read them. Raises Unreadable."""
    found = _read(table)
    if found is None:
        named = table.properties.get(_PATH)
        if named and table.indexes:
            raise Unreadable(f"{named} (the definitions of indexes) does not exist", file=named)
        return
    path, whole = found
    for name, definition in whole[_DEFINITIONS].items():
        if _version(definition) not in _VERSIONS:
            unknown = f"with the unknown version {_version(definition)!r}"
            raise Unreadable(f"{path} defines {name!r} {unknown}", file=path)


def _version(definition: Any) -> Any:
    return definition.get("version", "V1") if isinstance(definition, dict) else None


def _is_own(path: str) -> bool:
    return path.startswith(f"{META}/") and ".." not in path.split("/")


def _read(table: Table) -> tuple[str, dict[str, Any]] | None:
    """The path of the definitions and all that is there; None where there are none."""
    path = table.properties.get(_PATH, "")
    if not _is_own(path):
        return None
    try:
        found = parse_first(read_whole(table.storage, path, RECORD_BYTES))
        if not isinstance(found[_DEFINITIONS], dict):
            raise TypeError("not a JSON object")
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"{path} has no valid index definitions: {error}", file=path) from error
    return path, found
