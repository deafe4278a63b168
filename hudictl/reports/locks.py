"""``lock show``: the configured lock, and the existing locks."""

import time
from dataclasses import dataclass

from hudictl.errors import StorageFailed
from hudictl.phrases import command_of, span
from hudictl.table.locks.config import FILE_SYSTEM, PREFIX, FileLock, LockConfig, Locking, LockSign, lock_config
from hudictl.table.locks.providers import look_at_locks
from hudictl.table.table import Table

_OLD_MS = 3_600_000


@dataclass(frozen=True)
class LockDescription:
    """The lock that a writing command would take with these settings, and the existing locks.

    ``problem``: why the configured lock could not be looked at; empty if it could.
    """

    configured: LockConfig
    locks: tuple[LockSign, ...]
    problem: str


def ways_out(found: LockDescription) -> list[str]:
    """What frees old lock files of the table that never expire, if their writers have died."""
    config = found.configured
    settings = [] if config.provider else [f"--hoodie-conf={PREFIX}provider={FILE_SYSTEM}"]
    lock = config.lock
    if config.provider and not (isinstance(lock, FileLock) and lock.inside is not None and not lock.expire_ms):
        return []
    free = command_of("lock break", options=["--dead-after=1h", *settings])
    return [
        f"{sign.path} is {span(sign.age_ms)} old: if its writer has died, `{free}` frees it"
        for sign in found.locks
        if sign.held and FILE_SYSTEM.endswith(sign.provider) and sign.age_ms is not None and sign.age_ms >= _OLD_MS
    ]


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
