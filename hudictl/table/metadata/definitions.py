"""The definitions of indexes, which Hudi 1.x keeps beside the metadata table."""

import json
from collections.abc import Collection
from typing import Any

from hudictl.errors import Unreadable
from hudictl.formats.json_values import parse_json
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


def drop_definitions(table: Table, partitions: Collection[str]) -> None:
    """Deletes the definitions of indexes whose partitions are dropped, as DROP INDEX does. Idempotent.

    Raises:
        Unreadable: the definitions are damaged.
    """
    gone = {name for name in partitions if is_defined(name)}
    found = _read(table) if gone else None
    if found is None:
        return
    path, whole = found
    definitions = whole[_DEFINITIONS]
    kept = {name: value for name, value in definitions.items() if name not in gone}
    if kept.keys() != definitions.keys():
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
        version = definition.get("version", "V1") if isinstance(definition, dict) else None
        if version not in _VERSIONS:
            raise Unreadable(f"{path} defines {name!r} with the unknown version {version!r}", file=path)


def _read(table: Table) -> tuple[str, dict[str, Any]] | None:
    """The path of the definitions and all that is there; None where there are none."""
    path = table.properties.get(_PATH, "")
    if not path.startswith(f"{META}/") or ".." in path.split("/"):
        return None
    try:
        found = parse_json(read_whole(table.storage, path, RECORD_BYTES))
        if not isinstance(found[_DEFINITIONS], dict):
            raise TypeError("not a JSON object")
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"{path} has no valid index definitions: {error}", file=path) from error
    return path, found
