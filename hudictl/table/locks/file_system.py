"""Hudi's ``FileSystemBasedLockProvider``, as hudictl takes its lock (rules of Hudi 0.15.0 to 1.2.0).

The process that creates the file has the lock. Hudi's own file is empty, and Hudi deletes any file that is there: when
it unlocks, and when a writer without the lock ends. So hudictl writes its own content, never deletes another process's
file, and checks again before each step that cannot be undone.

Two kinds of foreign locks are dead. One: a lock of hudictl for this table, because the holder of the table's claim
knows that no other hudictl holds the lock. A lock in the folder of the claims is for this table, however its owner has
spelled the table, if its owner has seen it there, too: it has held a claim of the same chain. Two: a lock older than
the writers' own expiry. A dead lock is not deleted in place, because another process may do the same now, and already
have a living lock there. Only one hudictl process at a time removes a dead lock or releases its own, and checks again
first. So it never moves another hudictl's living lock, whose owner could release it meanwhile and find no file. Hudi's
writers do not wait for this. So a dead lock is renamed away, checked once more, and put back if it is not dead. The
new lock is then created exclusively, as usual.
"""

import time
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass

from hudictl.errors import Conflict
from hudictl.formats.json_values import parse_json
from hudictl.formats.layouts import META, SCRATCH
from hudictl.phrases import seconds
from hudictl.storage import Exclusive, FileStatus, Storage, delete_all
from hudictl.storage.open import open_storage
from hudictl.table.clock import host_now_ms
from hudictl.table.locks.config import FileLock
from hudictl.table.locks.look import LOCK_BYTES, is_folder, own_process
from hudictl.table.table import Table
from hudictl.table.writers.beat import kept_alive, releasing

_RACE_SECONDS = 0.5
_BESIDE_CLAIMS = f"{META}/lock"


@dataclass(frozen=True)
class LockFile:
    """The lock for one contender: ``body`` is the content that it writes into the file."""

    table: str
    storage: Storage
    path: str
    aside: str
    expire_ms: int
    body: bytes

    def holder(self) -> str | None:
        """Takes the lock, or returns its holder. Raises StorageFailed, OutcomeUnknown."""
        while not self._created():
            living = self._living()
            if living is not None:
                return living
        # On local files Hudi checks, then opens: it may have truncated a file that was created in between.
        time.sleep(_RACE_SECONDS)
        return None if self._is_own() else "a writer that took it at the same moment"

    def check(self) -> None:
        """Raises Conflict: the file no longer exists, or belongs to another process."""
        if not self._is_own():
            raise Conflict(
                f"{self.path}: this process has lost the lock: a Hudi writer deletes the lock file at its end, even "
                "the file of another process",
                hint="stop all writers; then run the same command again, or `hudictl resume`",
                file=self.path,
            )

    def renew(self) -> None:
        """Updates the file: its age counts from the last change."""
        if self._is_own():
            self.storage.touch(self.path)

    def release(self) -> None:
        """Deletes the file, if it is this process's. Raises StorageFailed."""
        with self._alone(wait=True):
            if self._is_own():
                delete_all(self.storage, [self.path])

    def _alone(self, *, wait: bool) -> AbstractContextManager[bool]:
        if not isinstance(self.storage, Exclusive):
            return nullcontext(True)
        return self.storage.alone(self.path.rpartition("/")[0], wait=wait)

    def _created(self) -> bool:
        try:
            self.storage.create(self.path, self.body)
        except FileExistsError:
            if self.storage.has_folder(self.path):
                raise is_folder(self.path) from None
            return False
        return True

    def _is_own(self) -> bool:
        try:
            return self.storage.read(self.path, 0, len(self.body) + 1) == self.body
        except FileNotFoundError:
            return False

    def _living(self) -> str | None:
        """The holder of the lock; None if it is free now."""
        found = self._look(self.path)
        if found is not None and self._is_dead(*found):
            with self._alone(wait=False) as alone:
                if not alone:
                    return "another hudictl that is taking or releasing it at this moment"
                found = self._look(self.path)
                if found is not None and self._is_dead(*found) and self._moved_away():
                    return None
        if found is None:
            return None
        content, status = found
        age = seconds(_age_ms(status))
        text = content.decode("utf-8", "replace").strip()
        shown = own_process(text) or text
        return f"for {age}, {shown}" if shown else f"for {age}, an unknown writer"

    def _moved_away(self) -> bool:
        if not self.storage.move(self.path, self.aside):
            # Gone already; or an object store, where the file that a deletion would hit cannot be determined.
            return self.storage.stat(self.path) is None
        found = self._look(self.aside)
        if found is not None and not self._is_dead(*found):
            with suppress(FileExistsError):
                self.storage.create(self.path, found[0])
        self.storage.delete([self.aside])
        return True

    def _is_dead(self, content: bytes, status: FileStatus) -> bool:
        if 0 < self.expire_ms < _age_ms(status):
            return True
        try:
            owner = parse_json(content)
        except ValueError:
            return False
        if not isinstance(owner, dict) or "owner" not in owner:
            return False
        return owner.get("table") == self.table or owner.get("inside") == self.path == _BESIDE_CLAIMS

    def _look(self, path: str) -> tuple[bytes, FileStatus] | None:
        status = self.storage.stat(path)
        try:
            return None if status is None else (self.storage.read(path, 0, LOCK_BYTES), status)
        except FileNotFoundError:
            return None


@contextmanager
def lock_file(table: Table, lock: FileLock, body: bytes) -> Iterator[LockFile]:
    """A contender for the lock, which releases it at the end if it holds it. Raises StorageFailed."""
    storage, path = place_of(table, lock)
    name = str(uuid.uuid4())
    aside = f"{path}.{name}" if lock.inside is None else f"{SCRATCH}/{name}"
    own = LockFile(table.uri, storage, path, aside, lock.expire_ms, body)
    hint = f"the operation is completed; delete {path}, because writers wait for this lock"
    with releasing(own.release, hint), kept_alive(own.renew):
        yield own


def place_of(table: Table, lock: FileLock) -> tuple[Storage, str]:
    """The storage of the file, and its path there; outside the table only on this host's file system."""
    if lock.inside is not None:
        return table.storage, lock.inside
    folder, _, name = lock.place.rpartition("/")
    return open_storage(folder, ""), name


def _age_ms(status: FileStatus) -> int:
    return host_now_ms() - status.modified_ms
