"""``lock show``: the configured lock, and the existing locks."""

import time
from dataclasses import dataclass

from hudictl.errors import StorageFailed
from hudictl.table.locks.config import LockConfig, Locking, LockSign, lock_config
from hudictl.table.locks.providers import look_at_locks
from hudictl.table.table import Table


@dataclass(frozen=True)
class LockDescription:
    """The lock that a writing command would take with these settings, and the existing locks.

    ``problem``: why the configured lock could not be looked at; empty if it could.
    """

    configured: LockConfig
    locks: tuple[LockSign, ...]
    problem: str


def describe_locks(table: Table, locking: Locking) -> LockDescription:
    """Raises UsageError: a setting is missing or invalid; StorageFailed."""
    config, now_ms = lock_config(table, locking), int(time.time() * 1000)
    if config.lock is None or config.unsupported:
        return LockDescription(config, tuple(look_at_locks(table, None, now_ms)), "")
    try:
        return LockDescription(config, tuple(look_at_locks(table, config.lock, now_ms)), "")
    except StorageFailed as error:
        # Of a lock in another system, or a folder; the table's own files can still be shown.
        return LockDescription(config, tuple(look_at_locks(table, None, now_ms)), error.message)
