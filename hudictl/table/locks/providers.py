"""The providers of Hudi's locks, by the kind of a lock: what contends for it, and what looks at it.

What knows every provider: a change gets ``contender_of``, and knows none.
"""

import json
from contextlib import AbstractContextManager
from datetime import datetime, timezone

from hudictl.storage import Storage
from hudictl.table.locks.claim import Owner
from hudictl.table.locks.config import AnyLock, FileLock, ItemLock, LockSign, MetastoreLock, NodeLock, StorageLock
from hudictl.table.locks.file_system import lock_file, place_of
from hudictl.table.locks.hold import Lock
from hudictl.table.locks.look import find_locks, shown_path
from hudictl.table.table import Table


def contender_of(table: Table, lock: AnyLock, owner: Owner) -> AbstractContextManager[Lock]:
    """A contender for a lock, which releases it at the end if it holds it. Raises Conflict, StorageFailed."""
    if isinstance(lock, StorageLock):
        # Imported here, like the store's driver.
        from hudictl.table.locks.storage_based import lock_in_storage

        return lock_in_storage(table, lock, owner)
    if isinstance(lock, FileLock):
        return lock_file(table, lock, _encode(table, owner, inside=lock.inside))
    body = _encode(table, owner)
    # Imported here: these libraries are extras.
    if isinstance(lock, ItemLock):
        from hudictl.table.locks.dynamodb import lock_item

        return lock_item(lock, body)
    if isinstance(lock, MetastoreLock):
        from hudictl.table.locks.hive_metastore import metastore_lock

        return metastore_lock(lock, owner)
    from hudictl.table.locks.zookeeper import lock_node

    return lock_node(lock, body)


def _encode(table: Table, owner: Owner, **more: str | None) -> bytes:
    moment = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    said = {
        "owner": owner.uuid,
        "host": owner.host,
        "pid": owner.pid,
        "createdAt": moment,
        "table": table.uri,
        **more,
        "command": owner.command,
    }
    return json.dumps(said).encode()


def look_at_locks(table: Table, configured: AnyLock | None, now_ms: int) -> list[LockSign]:
    """The locks that exist: the configured one first, then lock files of others. Raises StorageFailed."""
    files = find_locks(table, now_ms, _own_file(table, configured))
    outside = _look_outside(configured, now_ms)
    return [outside, *files] if outside else files


def look_at_lock(table: Table, configured: AnyLock, now_ms: int) -> LockSign | None:
    """The configured lock, if it exists. Raises StorageFailed."""
    match configured:
        case FileLock():
            path = shown_path(table, *place_of(table, configured))
        case StorageLock():
            path = configured.inside
        case _:
            return _look_outside(configured, now_ms)
    return next((sign for sign in find_locks(table, now_ms, _own_file(table, configured)) if sign.path == path), None)


def _own_file(table: Table, lock: AnyLock | None) -> tuple[Storage, str, int] | None:
    return (*place_of(table, lock), lock.expire_ms) if isinstance(lock, FileLock) else None


def _look_outside(lock: AnyLock | None, now_ms: int) -> LockSign | None:
    """A lock that is no file of the table's store."""
    if isinstance(lock, NodeLock):
        # Imported here: their libraries are extras.
        from hudictl.table.locks.zookeeper import look_at_node

        return look_at_node(lock)
    if isinstance(lock, ItemLock):
        from hudictl.table.locks.dynamodb import look_at_item

        return look_at_item(lock)
    if isinstance(lock, MetastoreLock):
        from hudictl.table.locks.hive_metastore import look_at_metastore_lock

        return look_at_metastore_lock(lock, now_ms)
    return None
