"""``lock show``: the configured lock, and the existing locks."""

import time
from dataclasses import dataclass

from hudictl.table.locks.config import LockConfig, Locking, lock_config
from hudictl.table.locks.kinds import FileLock, ItemLock
from hudictl.table.locks.lock_files import find_locks
from hudictl.table.locks.sign import LockSign
from hudictl.table.table import Table


@dataclass(frozen=True)
class LockDescription:
    """The lock that a writing command would take with these settings, and the existing locks."""

    configured: LockConfig
    files: tuple[LockSign, ...]


def describe_locks(table: Table, locking: Locking) -> LockDescription:
    """Raises UsageError: a setting is missing, or has an invalid value; StorageFailed: DynamoDB does not answer."""
    config = lock_config(table, locking)
    own = config.lock if isinstance(config.lock, FileLock) else None
    signs = find_locks(table, int(time.time() * 1000), own)
    if isinstance(config.lock, ItemLock) and not config.unsupported:
        # Imported here: boto3 is an extra.
        from hudictl.table.locks.item import look_at_item

        item = look_at_item(config.lock)
        signs = [item, *signs] if item is not None else signs
    return LockDescription(config, tuple(signs))
