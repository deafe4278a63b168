"""The locks of Hudi's implicit providers: named by a hash of the base path (Hudi 1.0.2 and 1.2.0).

Each writer hashes its own ``hoodie.base.path``, character by character: with a slash at the end it is another lock, and
``file:/lake`` is not ``file:///lake``. Only s3a and s3 are the same. The table does not store how its writers spell the
path. So hudictl does not guess: with another spelling it would hold a lock that no writer waits for.
"""

import re

from hudictl.errors import UsageError
from hudictl.storage import is_hdfs
from hudictl.table.locks.kinds import (
    ZOOKEEPER_IMPLICIT,
    ItemLock,
    NodeLock,
    Settings,
    item_of,
    lacks,
    node_at,
    required,
)
from hudictl.table.table import Table

BASE_PATH = "hoodie.base.path"
_SEED = -625288518 % 2**64
_PARTS = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?(?://([^/]*))?(.*)", re.IGNORECASE | re.DOTALL)
_UNKNOWN = (
    "the name of its lock is a hash of the base path, as the writers spell it. Read this path in a writer's log, then "
    f"use --hoodie-conf {BASE_PATH}=PATH"
)


def implicit_item_lock(table: Table, settings: Settings) -> tuple[ItemLock | None, str]:
    """The lock, and why hudictl cannot take it. Raises UsageError."""
    base = _base_path(table, settings)
    missing = lacks("boto3") or lacks("xxhash")
    if base is None or missing:
        return None, missing or _UNKNOWN
    return item_of(hash_of(base), settings), ""


def implicit_node_lock(table: Table, settings: Settings) -> tuple[NodeLock | None, str]:
    """The same for ZooKeeper."""
    base = _base_path(table, settings)
    missing = lacks("kazoo") or lacks("xxhash")
    if base is None or missing:
        return None, missing or _UNKNOWN
    url = required(settings, "zookeeper.url", ZOOKEEPER_IMPLICIT)
    return node_at(url, f"/tmp/{hash_of(base)}/lock_key", settings), ""


def hash_of(base: str) -> str:
    """Hudi's ``HashID`` of a base path, with 64 bits."""
    import xxhash

    spelled = re.sub("^s3a://", "s3://", base, flags=re.IGNORECASE)
    return f"{xxhash.xxh64_intdigest(spelled.encode(), _SEED):016X}"


def _base_path(table: Table, settings: Settings) -> str | None:
    """The base path as the writers spell it, None if it is not specified. Raises UsageError: that of another table."""
    base = settings.get(BASE_PATH) or None
    if base is not None and not _same(base, table.uri):
        raise UsageError(
            f"{BASE_PATH}={base} is another table than {table.uri}",
            hint="specify the base path of this table, as its writers spell it",
        )
    return base


def _same(base: str, uri: str) -> bool:
    """Whether two spellings can mean one folder: the host or bucket counts, except for HDFS, or where it is missing."""
    (host, path), (other_host, other_path) = _split(base), _split(uri)
    return path == other_path and (host == other_host or not host or not other_host or is_hdfs(uri))


def _split(uri: str) -> tuple[str, str]:
    match = _PARTS.fullmatch(uri)
    host, path = match.groups() if match else ("", uri)
    return host or "", re.sub("/+", "/", path).rstrip("/")
