"""``lock show``: the configured lock, and the lock files."""

import time
from dataclasses import dataclass

from hudictl.table.locks.config import LockConfig, Locking, lock_config
from hudictl.table.locks.kinds import FileLock
from hudictl.table.locks.lock_files import find_locks
from hudictl.table.locks.sign import LockSign
from hudictl.table.table import Table


@dataclass(frozen=True)
class LockDescription:
    """The lock that a writing command would take with these settings, and the existing lock files."""

    configured: LockConfig
    files: tuple[LockSign, ...]


def describe_locks(table: Table, locking: Locking) -> LockDescription:
    """Raises UsageError: a setting is missing, or has an invalid value."""
    config = lock_config(table, locking)
    own = config.lock if isinstance(config.lock, FileLock) else None
    return LockDescription(config, tuple(find_locks(table, int(time.time() * 1000), own)))
