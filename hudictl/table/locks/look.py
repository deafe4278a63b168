"""A look at the locks of the table's writers that are files of the table, without taking them."""

from hudictl.errors import StorageFailed
from hudictl.formats.json_values import parse_json
from hudictl.formats.layouts import META
from hudictl.storage import Folders, Storage, whole_path
from hudictl.table.locks.config import FILE_SYSTEM, STORAGE, STORAGE_LOCK, LockSign
from hudictl.table.table import Table

_FILE_SYSTEM = (f"{META}/lock", f"{META}/.aux/lock")
LOCK_BYTES = 64 * 1024
"""So much of a lock is read: it has the command line of its owner."""
OURS = "hudictl-"
"""The beginning of hudictl's name as the owner of a storage lock."""
DRIFT_MS = 500
"""How far Hudi allows clocks to differ before a storage lock is past its expiry (1.0.2 to 1.2.0)."""


def find_locks(table: Table, now_ms: int, own: tuple[Storage, str, int] | None = None) -> list[LockSign]:
    """The lock files of Hudi's providers that keep one in the table (0.15.0 to 1.2.0).

    Args:
        own: the configured lock file, which comes first: its storage, its path there, and its ``expire_ms``.

    Raises StorageFailed; also if the configured lock is a folder, which nobody can take.
    """
    # In an object store a file may have the name of a folder.
    if own is not None and isinstance(own[0], Folders) and own[0].has_folder(own[1]):
        raise is_folder(own[1])
    others = ((table.storage, path, 0) for path in _FILE_SYSTEM if own is None or own[:2] != (table.storage, path))
    signs = []
    for storage, path, expire_ms in (*filter(None, (own,)), *others):
        found = _look(storage, path)
        if found is not None:
            content, modified_ms = found
            age_ms = now_ms - modified_ms
            expires_in_ms = expire_ms - age_ms if expire_ms else None
            expired = expires_in_ms is not None and expires_in_ms < 0
            shown = shown_path(table, storage, path)
            owner, name = _owner_of(content), FILE_SYSTEM.rpartition(".")[2]
            signs.append(LockSign(shown, name, not expired, expired, owner, age_ms, expires_in_ms, content))
    found = _look(table.storage, STORAGE_LOCK)
    if found is not None:
        content, modified_ms = found
        signs.append(read_storage_lock(content, now_ms, now_ms - modified_ms))
    return signs


def is_folder(path: str) -> StorageFailed:
    """The error where a folder is in the place of a lock file."""
    return StorageFailed(f"the lock {path} is a folder", hint="move it away", path=path)


def read_storage_lock(content: str, now_ms: int, age_ms: int | None = None) -> LockSign:
    """The lock of Hudi's ``StorageBasedLockProvider``, as its object says. An unreadable one counts as held, by an
    unknown owner."""
    held, expired, owner, expires_in_ms = True, False, None, None
    try:
        lock = parse_json(content)
        left_ms = int(lock["validUntil"]) - now_ms
        over = left_ms < -DRIFT_MS
        # Hudi names a released lock "expired".
        released = bool(lock["expired"])
        owner = str(lock["owner"])
        held, expired, expires_in_ms = not (released or over), over and not released, left_ms
    except (ValueError, KeyError, TypeError, OverflowError):
        pass
    return LockSign(STORAGE_LOCK, STORAGE.rpartition(".")[2], held, expired, owner, age_ms, expires_in_ms, content)


def shown_path(table: Table, storage: Storage, path: str) -> str:
    return path if storage is table.storage else whole_path(storage, path)


def _look(storage: Storage, path: str) -> tuple[str, int] | None:
    """A lock file's content and modification time; None where there is none, or it was released meanwhile."""
    found = storage.stat(path)
    if found is None:
        return None
    try:
        return storage.read(path, 0, LOCK_BYTES).decode("utf-8", "replace"), found.modified_ms
    except FileNotFoundError:
        return None


def own_process(content: str) -> str | None:
    """The process of hudictl that has made a lock, in words; None of another lock."""
    try:
        lock = parse_json(content)
        if str(lock["owner"]).startswith(OURS):
            return f"a hudictl ({lock['owner']})"
        return f"a hudictl (process {int(lock['pid'])} on {lock['host']}: {lock['command']})"
    except (ValueError, KeyError, TypeError, OverflowError):
        return None


def _owner_of(content: str) -> str | None:
    """The owner that hudictl's lock files and Hudi's storage locks name."""
    try:
        return str(parse_json(content)["owner"])
    except (ValueError, KeyError, TypeError):
        return None
