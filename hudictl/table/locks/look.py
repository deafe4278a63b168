"""A look at the lock of the table's writers, without taking it."""

from hudictl.table.locks.kinds import AnyLock, FileLock, ItemLock, MetastoreLock, NodeLock, StorageLock
from hudictl.table.locks.lock_files import find_locks, shown_path
from hudictl.table.locks.sign import LockSign
from hudictl.table.table import Table


def look_at_locks(table: Table, configured: AnyLock | None, now_ms: int) -> list[LockSign]:
    """The locks that exist: the configured one first, then lock files of others. Raises StorageFailed."""
    files = find_locks(table, now_ms, _as_file(configured))
    outside = _look_outside(configured, now_ms)
    return [outside, *files] if outside else files


def look_at_lock(table: Table, configured: AnyLock, now_ms: int) -> LockSign | None:
    """The configured lock, if it exists. Raises StorageFailed."""
    match configured:
        case FileLock():
            path = shown_path(table, configured)
        case StorageLock():
            path = configured.inside
        case _:
            return _look_outside(configured, now_ms)
    return next((sign for sign in find_locks(table, now_ms, _as_file(configured)) if sign.path == path), None)


def _as_file(lock: AnyLock | None) -> FileLock | None:
    return lock if isinstance(lock, FileLock) else None


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
