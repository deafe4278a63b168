"""The lock files of the table's writers."""

from dataclasses import dataclass

from hudictl.formats.json_values import parse_json
from hudictl.formats.layouts import META
from hudictl.storage import Storage, whole_path
from hudictl.table.locks.file_system import place_of
from hudictl.table.locks.kinds import FILE_SYSTEM, STORAGE, STORAGE_LOCK, FileLock
from hudictl.table.locks.sign import LockSign
from hudictl.table.table import Table

_FILE_SYSTEM = (f"{META}/lock", f"{META}/.aux/lock")
_MOST_BYTES = 4096
DRIFT_MS = 500
"""How far Hudi allows clocks to differ before a storage lock is past its expiry (1.0.2 to 1.2.0)."""


def find_locks(table: Table, now_ms: int, configured: FileLock | None = None) -> list[LockSign]:
    """The lock files of Hudi's providers that keep one in the table (0.15.0 to 1.2.0), and the configured one."""
    own = None if configured is None else (*place_of(table, configured), configured.expire_ms)
    others = ((table.storage, path, 0) for path in _FILE_SYSTEM if configured is None or path != configured.inside)
    signs = []
    for storage, path, expire_ms in (*filter(None, (own,)), *others):
        found = _look(storage, path)
        if found is not None:
            content, modified_ms = found
            age_ms = now_ms - modified_ms
            expires_in_ms = expire_ms - age_ms if expire_ms else None
            expired = expires_in_ms is not None and expires_in_ms < 0
            shown = _shown(table, storage, path)
            owner, name = _owner_of(content), FILE_SYSTEM.rpartition(".")[2]
            signs.append(LockSign(shown, name, not expired, expired, owner, age_ms, expires_in_ms, content))
    found = _look(table.storage, STORAGE_LOCK)
    if found is not None:
        content, modified_ms = found
        seen = read_storage_lock(content, now_ms)
        name, age_ms = STORAGE.rpartition(".")[2], now_ms - modified_ms
        until_ms = seen.expires_in_ms
        signs.append(LockSign(STORAGE_LOCK, name, seen.held, seen.expired, seen.owner, age_ms, until_ms, content))
    return signs


def shown_path(table: Table, lock: FileLock) -> str:
    """The path by which ``find_locks`` names a lock file."""
    return _shown(table, *place_of(table, lock))


@dataclass(frozen=True, slots=True)
class SeenLock:
    """What the object of a storage lock says; ``expires_in_ms`` and ``owner`` are None where it cannot be read.

    ``expired``: its time is over, and it was not released.
    """

    held: bool
    expired: bool
    owner: str | None
    expires_in_ms: int | None


def read_storage_lock(content: str, now_ms: int) -> SeenLock:
    """The lock of Hudi's ``StorageBasedLockProvider``, as its object says. An unreadable one counts as held."""
    try:
        lock = parse_json(content)
        expires_in_ms = int(lock["validUntil"]) - now_ms
        over = expires_in_ms < -DRIFT_MS
        # Hudi names a released lock "expired".
        released = bool(lock["expired"])
        return SeenLock(not (released or over), over and not released, str(lock["owner"]), expires_in_ms)
    except (ValueError, KeyError, TypeError, OverflowError):
        return SeenLock(True, False, None, None)


def _shown(table: Table, storage: Storage, path: str) -> str:
    return path if storage is table.storage else whole_path(storage, path)


def _look(storage: Storage, path: str) -> tuple[str, int] | None:
    """A lock file's content and modification time; None where there is none, or it was released meanwhile."""
    found = storage.stat(path)
    if found is None:
        return None
    try:
        return storage.read(path, 0, _MOST_BYTES).decode("utf-8", "replace"), found.modified_ms
    except FileNotFoundError:
        return None


def _owner_of(content: str) -> str | None:
    """The owner that hudictl's lock files and Hudi's storage locks name."""
    try:
        return str(parse_json(content)["owner"])
    except (ValueError, KeyError, TypeError):
        return None
