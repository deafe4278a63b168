"""``lock show``: the configured lock, and the lock files."""

import time
from dataclasses import dataclass

from hudictl.table.locks.config import LockConfig, Locking, lock_config
from hudictl.table.locks.kinds import FileLock, MetastoreLock
from hudictl.table.locks.lock_files import find_locks
from hudictl.table.locks.sign import LockSign
from hudictl.table.table import Table


@dataclass(frozen=True)
class LockDescription:
    """The lock that a writing command would take with these settings, and the existing lock files."""

    configured: LockConfig
    files: tuple[LockSign, ...]


def describe_locks(table: Table, locking: Locking) -> LockDescription:
    """Raises UsageError: a setting is missing, or has an invalid value; StorageFailed."""
    config = lock_config(table, locking)
    own = config.lock if isinstance(config.lock, FileLock) else None
    now_ms = int(time.time() * 1000)
    signs = find_locks(table, now_ms, own)
    if isinstance(config.lock, MetastoreLock) and not config.unsupported:
        # Imported here: thriftpy2 is an extra.
        from hudictl.table.locks.metastore import look_at_metastore_lock

        held = look_at_metastore_lock(config.lock, now_ms)
        signs += [held] if held is not None else []
    return LockDescription(config, tuple(signs))
