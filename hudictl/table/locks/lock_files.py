"""The lock files of the table's writers."""

import json
from dataclasses import dataclass

from hudictl.formats.layouts import META
from hudictl.storage import Storage, whole_path
from hudictl.table.locks.file import place_of
from hudictl.table.locks.kinds import FileLock
from hudictl.table.table import Table

_FILE_SYSTEM = (f"{META}/lock", f"{META}/.aux/lock")
_STORAGE = f"{META}/.locks/table_lock.json"


@dataclass(frozen=True, slots=True)
class LockSign:
    """A lock file: the provider that made it, and whether it is held now. ``age_ms`` since its last change."""

    path: str
    provider: str
    held: bool
    age_ms: int
    content: str


def find_locks(table: Table, now_ms: int, configured: FileLock | None = None) -> list[LockSign]:
    """The lock files of Hudi's providers that keep one in the table (0.15.0 to 1.2.0), and the configured one."""
    places = [(table.storage, path) for path in _FILE_SYSTEM if configured is None or path != configured.inside]
    if configured is not None:
        places.insert(0, place_of(table, configured))
    signs = []
    for storage, path in places:
        found = _look(storage, path, 1000)
        if found is not None:
            content, modified_ms = found
            shown = path if storage is table.storage else whole_path(storage, path)
            signs.append(LockSign(shown, "FileSystemBasedLockProvider", True, now_ms - modified_ms, content))
    found = _look(table.storage, _STORAGE, None)
    if found is not None:
        content, modified_ms = found
        held = _storage_lock_held(content, now_ms)
        signs.append(LockSign(_STORAGE, "StorageBasedLockProvider", held, now_ms - modified_ms, content))
    return signs


def _look(storage: Storage, path: str, length: int | None) -> tuple[str, int] | None:
    """A lock file's content and modification time; None where there is none, or it was released meanwhile."""
    found = storage.stat(path)
    if found is None:
        return None
    try:
        return storage.read(path, 0, length).decode("utf-8", "replace"), found.modified_ms
    except FileNotFoundError:
        return None


def _storage_lock_held(content: str, now_ms: int) -> bool:
    try:
        lock = json.loads(content)
        # Hudi allows half a second of drift between clocks.
        return not lock["expired"] and now_ms <= int(lock["validUntil"]) + 500
    except (ValueError, KeyError, TypeError):
        # An unreadable lock counts as held.
        return True
