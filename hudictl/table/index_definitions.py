"""The definitions of indexes, which Hudi 1.x keeps beside the metadata table."""

import json
from collections.abc import Collection
from typing import Any

from hudictl.errors import Unreadable
from hudictl.formats.layouts import META
from hudictl.table.table import Table

_PATH = "hoodie.table.index.defs.path"
_DEFINITIONS = "indexDefinitions"
_BY_STATEMENT = ("secondary_index_", "expr_index_")
"""What CREATE INDEX defines, and DROP INDEX deletes with the partition. Where an expression index is defined and has no
partition, queries fail (Hudi 1.0.2, 1.2.0). The next writer builds a secondary index anew: where CREATE INDEX is the
newest completed instant as yet, it takes that one's time for each index that it builds, takes the one before back, and
lists them all (both releases): queries by an empty index find nothing."""


def drop_definitions(table: Table, partitions: Collection[str]) -> None:
    """Deletes the definitions of indexes whose partitions are dropped, as DROP INDEX does. Idempotent.

    Raises:
        Unreadable: the definitions are damaged.
    """
    path = table.properties.get(_PATH, "")
    gone = {name for name in partitions if name.startswith(_BY_STATEMENT)}
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
