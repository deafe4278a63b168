"""The definitions of indexes, which Hudi 1.x keeps beside the metadata table."""

import json
from collections.abc import Collection
from typing import Any

from hudictl.errors import Unreadable
from hudictl.formats.layouts import META
from hudictl.table.table import Table

_PATH = "hoodie.table.index.defs.path"
_DEFINITIONS = "indexDefinitions"
_NEEDS_PARTITION = "expr_index_"
"""Where an expression index is defined and its partition is gone, queries fail that could use it, until the next write
(Hudi 1.0.2, 1.2.0). What else is defined, readers ask only where it is listed, and the next write builds it anew."""


def drop_definitions(table: Table, partitions: Collection[str]) -> None:
    """Deletes the definitions that must not outlive their partitions; those that are not there are no error.

    Raises:
        Unreadable: the definitions are damaged.
    """
    path = table.properties.get(_PATH, "")
    gone = {name for name in partitions if name.startswith(_NEEDS_PARTITION)}
    if not gone or not path.startswith(f"{META}/") or ".." in path.split("/"):
        return
    try:
        found = json.loads(table.storage.read(path))
        definitions: dict[str, Any] = found[_DEFINITIONS]
        kept = {name: value for name, value in definitions.items() if name not in gone}
    except FileNotFoundError:
        return
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(f"{path} holds no index definitions: {error}", file=path) from error
    if kept.keys() != definitions.keys():
        table.storage.replace(path, json.dumps(found | {_DEFINITIONS: kept}, indent=2).encode())
