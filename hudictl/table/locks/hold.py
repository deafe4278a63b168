"""The locks of a writing command: hudictl's claim, and Hudi's lock if one is configured."""

import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Protocol

from hudictl.errors import Conflict
from hudictl.table.locks.claim import Claim, Owner, claim
from hudictl.table.locks.config import AnyLock, FileLock, ItemLock, Locking, MetastoreLock, StorageLock, supported_lock
from hudictl.table.locks.file_system import lock_file
from hudictl.table.table import Table

_POLL_SECONDS = 1.0


class Watch(Protocol):
    """Gets the steps of a waiting process, and may stop it with an exception."""

    def step(self, name: str) -> None: ...

    def check(self) -> None: ...


class Lock(Protocol):
    """A contender for one of Hudi's locks."""

    def holder(self) -> str | None:
        """Takes the lock and returns None; or returns its holder."""

    def check(self) -> None:
        """Raises Conflict: it is not held any more."""


@dataclass(frozen=True)
class Hold:
    """A table held against other hudictl processes, and against writers that take the same lock."""

    claim: Claim
    lock: Lock | None

    def check(self) -> None:
        """Called before each irreversible step. Raises Conflict: another process took over, or deleted the lock."""
        self.claim.check()
        if self.lock is not None:
            self.lock.check()


@contextmanager
def hold(table: Table, command: str, watch: Watch, locking: Locking) -> Iterator[Hold]:
    """Takes the claim, then the configured lock; releases both at the end.

    Args:
        command: the command line, shown to processes that find the claim or the lock.
        locking: the operator's lock options.

    Raises:
        Conflict: another hudictl uses the table; or the lock was not free in time.
        Unsupported: a lock that hudictl cannot take. UsageError, Refused, StorageFailed, Interrupted.
    """
    config = supported_lock(table, locking)
    with claim(table.storage, command) as claimed:
        if config.taken is None:
            yield Hold(claimed, None)
            return
        with locked(table, config.taken, claimed.owner, config.wait_ms, watch) as lock:
            yield Hold(claimed, lock)


@contextmanager
def locked(table: Table, lock: AnyLock, owner: Owner, wait_ms: int, watch: Watch) -> Iterator[Lock]:
    """Takes a lock, and releases it at the end.

    Args:
        owner: the holder of the table's claim: no other hudictl works on the table.
        wait_ms: how long to wait for the lock.

    Raises as ``hold``.
    """
    with _contender(table, lock, owner) as contender:
        _wait(contender, lock.place, wait_ms, watch)
        yield contender


def _contender(table: Table, lock: AnyLock, owner: Owner) -> AbstractContextManager[Lock]:
    if isinstance(lock, StorageLock):
        # Imported here, like the store's driver.
        from hudictl.table.locks.storage_based import lock_in_storage

        return lock_in_storage(table, lock, owner)
    body = _encode(table, owner)
    if isinstance(lock, FileLock):
        return lock_file(table, lock, body)
    # Imported here: these libraries are extras.
    if isinstance(lock, ItemLock):
        from hudictl.table.locks.dynamodb import lock_item

        return lock_item(lock, body)
    if isinstance(lock, MetastoreLock):
        from hudictl.table.locks.hive_metastore import metastore_lock

        return metastore_lock(lock, owner)
    from hudictl.table.locks.zookeeper import lock_node

    return lock_node(lock, body)


def _wait(lock: Lock, place: str, wait_ms: int, watch: Watch) -> None:
    """Raises Conflict, Interrupted."""
    deadline = time.monotonic() + wait_ms / 1000
    watch.step(f"take the lock {place}")
    while (holder := lock.holder()) is not None:
        if time.monotonic() >= deadline:
            raise Conflict(
                f"another process holds {place} ({holder}); waited {wait_ms / 1000:g} s",
                hint="wait longer for the writer (--lock-timeout); if no writer is running, the team that runs the "
                "writers must remove the lock",
                lock=place,
                holder=holder,
            )
        time.sleep(_POLL_SECONDS)
        watch.check()


def _encode(table: Table, owner: Owner) -> bytes:
    moment = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    said = {
        "owner": owner.uuid,
        "host": owner.host,
        "pid": owner.pid,
        "createdAt": moment,
        "table": table.uri,
        "command": owner.command,
    }
    return json.dumps(said).encode()
