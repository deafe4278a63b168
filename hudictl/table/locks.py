"""Signs of lock providers that the table's writers use."""

import json
from dataclasses import dataclass

from hudictl.formats.layouts import META
from hudictl.table.lock_config import FileLock
from hudictl.table.lock_file import place_of
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
        found = storage.stat(path)
        if found is not None and not found.is_dir:
            content = storage.read(path, 0, 1000).decode("utf-8", "replace")
            shown = path if storage is table.storage else storage.absolute(path)
            signs.append(LockSign(shown, "FileSystemBasedLockProvider", True, now_ms - found.modified_ms, content))
    found = table.storage.stat(_STORAGE)
    if found is not None:
        content = table.storage.read(_STORAGE).decode("utf-8", "replace")
        held = _storage_lock_held(content, now_ms)
        signs.append(LockSign(_STORAGE, "StorageBasedLockProvider", held, now_ms - found.modified_ms, content))
    return signs


def _storage_lock_held(content: str, now_ms: int) -> bool:
    try:
        lock = json.loads(content)
        # Hudi allows half a second of drift between clocks.
        return not lock["expired"] and now_ms <= int(lock["validUntil"]) + 500
    except (ValueError, KeyError, TypeError):
        # Unreadable is not free.
        return True
