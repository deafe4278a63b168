"""What ``lock show`` tells."""

import time
from dataclasses import dataclass

from hudictl.table.locks.config import FileLock, LockConfig, Locking, lock_config
from hudictl.table.locks.lock_files import LockSign, find_locks
from hudictl.table.table import Table


@dataclass(frozen=True)
class LockDescription:
    """The lock that a command which writes would take, with the settings given, and the lock files that there are."""

    configured: LockConfig
    files: tuple[LockSign, ...]


def describe_locks(table: Table, locking: Locking) -> LockDescription:
    """Raises UsageError: a setting is missing, or has a value that cannot be taken."""
    config = lock_config(table, locking)
    own = config.lock if isinstance(config.lock, FileLock) else None
    return LockDescription(config, tuple(find_locks(table, int(time.time() * 1000), own)))
