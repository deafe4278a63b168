"""The locks of a writing command: hudictl's claim, and Hudi's lock if one is configured."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from hudictl.errors import Conflict
from hudictl.table.locks.claim import Claim, Owner, claim
from hudictl.table.locks.config import AnyLock, FileLock, Locking, supported_lock
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


Contend: TypeAlias = Callable[[Table, AnyLock, Owner], AbstractContextManager[Lock]]
"""What makes a contender for a lock of any kind, and releases the lock at the end: ``providers.contender_of``."""


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
def hold(table: Table, command: str, watch: Watch, locking: Locking, contend: Contend) -> Iterator[Hold]:
    """Takes the claim, then the configured lock; releases both at the end.

    Args:
        command: the command line, shown to processes that find the claim or the lock.
        locking: the operator's lock options.

    Raises:
        Conflict: another hudictl uses the table; or the lock was not free in time.
        Unsupported: a lock that hudictl cannot take. UsageError, Refused, StorageFailed, Interrupted.
    """
    config = supported_lock(table, locking)
    with claim(table.storage, command) as claimed, ExitStack() as stack:
        lock = None
        if config.taken is not None:
            taken = locked(table, config.taken, claimed.owner, config.wait_ms, watch, contend)
            lock = stack.enter_context(taken)
        held = Hold(claimed, lock)
        # If this process stands still, it changes nothing before it has looked at its locks.
        with table.storage.guard.looking(held.check):
            yield held


@contextmanager
def locked(table: Table, lock: AnyLock, owner: Owner, wait_ms: int, watch: Watch, contend: Contend) -> Iterator[Lock]:
    """Takes a lock, and releases it at the end.

    Args:
        owner: the holder of the table's claim: no other hudictl works on the table.
        wait_ms: how long to wait for the lock.

    Raises as ``hold``.
    """
    with contend(table, lock, owner) as contender:
        _wait(contender, lock, wait_ms, watch)
        yield contender


def _wait(contender: Lock, lock: AnyLock, wait_ms: int, watch: Watch) -> None:
    """Raises Conflict, Interrupted."""
    deadline = time.monotonic() + wait_ms / 1000
    watch.step(f"take the lock {lock.place}")
    while (holder := contender.holder()) is not None:
        if time.monotonic() >= deadline:
            free = "the team that runs the writers must remove the lock"
            if isinstance(lock, FileLock) and lock.inside is not None and not lock.expire_ms:
                free = "`hudictl lock break --dead-after 1h` frees the lock, once it is so old"
            raise Conflict(
                f"another process holds {lock.place} ({holder}); waited {wait_ms / 1000:g} s",
                hint=f"wait longer for the writer (--lock-timeout); if no writer is running, {free}",
                lock=lock.place,
                holder=holder,
            )
        time.sleep(_POLL_SECONDS)
        watch.check()
