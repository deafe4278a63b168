"""Hudi's ``StorageBasedLockProvider``, as hudictl takes its lock (rules of Hudi 1.0.2 to 1.2.0).

One object in the table, written under the condition that nobody has written it since it was read. It is never deleted:
a holder renews its ``validUntil`` while it works, and marks it ``expired`` at its end. The lock is free if there is no
object, if it is marked so, or half a second after ``validUntil``.

A lock of another hudictl is dead, too: the holder of the table's claim knows that no other hudictl works on the table.
The process that seemed dead finds another version before its next step, and stops.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hudictl.errors import Conflict, OutcomeUnknown
from hudictl.storage.swap import Swapping, Versioned, read_version, swap
from hudictl.table.clock import host_now_ms
from hudictl.table.locks.claim import Owner
from hudictl.table.locks.config import STORAGE_LOCK, StorageLock
from hudictl.table.locks.look import OURS, read_storage_lock
from hudictl.table.table import Table
from hudictl.table.writers.beat import kept_alive, releasing

_RELEASE_PAUSES_S = (1, 2, 4)
"""Between the tries to release, as Hudi 1.2.0 does."""


@dataclass
class LockObject:
    """The lock for one contender. ``held`` is this process's last version of it, None while it is not held.

    The thread that renews it and the steps of the operation take turns.
    """

    storage: Swapping
    lock: StorageLock
    owner: str
    held: Versioned | None = None
    lost: str = ""
    turn: threading.Lock = field(default_factory=threading.Lock)

    def holder(self) -> str | None:
        """Takes the lock, or returns its holder. Raises StorageFailed."""
        found = read_version(self.storage, STORAGE_LOCK)
        if found is not None:
            seen = read_storage_lock(found.body.decode("utf-8", "replace"), host_now_ms())
            if seen.held and not (seen.owner or "").startswith(OURS):
                return f"{seen.owner or 'an unknown owner'}, {_until(seen.expires_in_ms)}"
        try:
            taken = self._write(found.version if found else None)
        except OutcomeUnknown as error:
            return f"not known: {error.message}"
        if taken is None:
            return "a writer that took it at the same moment"
        self.held = taken
        return None

    def check(self) -> None:
        """Raises Conflict: another process has written the object, or it was not renewed in time; StorageFailed."""
        with self.turn:
            if self.held is None or self.lost:
                raise self._conflict(self.lost or "it was not taken")
            found = read_version(self.storage, STORAGE_LOCK)
            if found is None or found.body != self.held.body:
                self.lost = "another process has deleted it" if found is None else "another process has taken it"
                raise self._conflict(self.lost)
            if _valid_until_ms(self.held) <= host_now_ms():
                raise self._conflict("it has expired, because it could not be renewed")

    def renew(self) -> None:
        """Extends the time until it expires. Raises StorageFailed: it may be possible later."""
        with self.turn:
            if self.held is None or self.lost:
                return
            renewed = self._write(self.held.version)
            if renewed is None:
                self.lost = "another process has written it"
            else:
                self.held = renewed

    def release(self) -> None:
        """Marks it expired, if it is this process's. Raises StorageFailed."""
        with self.turn:
            if self.held is None:
                return
            # Of a lock that was lost the condition fails, and nothing is written.
            body = _encode(self.owner, _valid_until_ms(self.held), expired=True)
            for pause_s in (*_RELEASE_PAUSES_S, None):
                try:
                    swap(self.storage, STORAGE_LOCK, body, self.held.version)
                    return
                except OutcomeUnknown:
                    if pause_s is None:
                        raise
                    time.sleep(pause_s)

    def _write(self, version: str | None) -> Versioned | None:
        body = _encode(self.owner, host_now_ms() + self.lock.validity_ms, expired=False)
        written = swap(self.storage, STORAGE_LOCK, body, version)
        return None if written is None else Versioned(body, written)

    def _conflict(self, reason: str) -> Conflict:
        return Conflict(
            f"{self.lock.place}: this process has lost the lock: {reason}",
            hint="run the same command again, or `hudictl resume`",
            file=STORAGE_LOCK,
        )


@contextmanager
def lock_in_storage(table: Table, lock: StorageLock, owner: Owner) -> Iterator[LockObject]:
    """A contender for the lock, which releases it at the end if it holds it. Raises StorageFailed."""
    assert isinstance(table.storage, Swapping)
    own = LockObject(table.storage, lock, f"{OURS}{owner.host}-{owner.pid}-{owner.uuid}")
    hint = "the operation is completed; writers wait for this lock until it expires"
    with releasing(own.release, hint), kept_alive(own.renew, lock.renew_ms / 1000):
        yield own


def _encode(owner: str, valid_until_ms: int, *, expired: bool) -> bytes:
    """As Hudi writes it: compact, in this order."""
    lock = {"expired": expired, "validUntil": valid_until_ms, "owner": owner}
    return json.dumps(lock, separators=(",", ":")).encode()


def _valid_until_ms(held: Versioned) -> int:
    return int(json.loads(held.body)["validUntil"])


def _until(expires_in_ms: int | None) -> str:
    return "with no time of expiry" if expires_in_ms is None else f"which expires in {max(0, expires_in_ms) // 1000} s"
