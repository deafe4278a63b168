"""Signs of lock providers."""

import os

import pytest

from hudictl.errors import StorageFailed
from hudictl.storage.base import FileStatus
from hudictl.storage.local import LocalStorage
from hudictl.table.locks.look import find_locks
from tests.table.conftest import Small, base_of, put

NOW = 1_700_000_000_000


def lock(until: int, *, released: bool) -> str:
    """As Hudi writes it: compact, in this order."""
    return f'{{"expired":{str(released).lower()},"validUntil":{until},"owner":"x"}}'


@pytest.mark.parametrize("path", [".hoodie/lock", ".hoodie/.aux/lock"])
@pytest.mark.parametrize("body", [b"", b'{"lockThreadName": "x"}', b"\xff\xfe"])
def test_a_file_system_lock(small: Small, path: str, body: bytes) -> None:
    """Held whatever its content (Hudi's own is empty) and age: nobody but its provider knows when it expires."""
    table = small(9)
    os.utime(put(table, path, body), (NOW / 1000 - 3600, NOW / 1000 - 3600))
    (sign,) = find_locks(table, NOW)
    assert (sign.path, sign.provider, sign.held, sign.age_ms) == (path, "FileSystemBasedLockProvider", True, 3_600_000)


@pytest.mark.parametrize(
    ("body", "held"),
    [
        (lock(NOW + 1, released=False), True),
        (lock(NOW - 500, released=False), True),
        (lock(NOW - 501, released=False), False),
        (lock(NOW + 99_999, released=True), False),
        ("", True),
        ("{", True),
        ("[]", True),
        ("null", True),
        ('{"expired":false,"owner":"x"}', True),
        ('{"validUntil":1}', True),
        ('{"expired":false,"validUntil":null}', True),
        ('{"expired":true,"validUntil":1e999,"owner":"x"}', True),
    ],
)
def test_a_storage_lock(small: Small, body: str, held: bool) -> None:
    """Free when released or run out (with Hudi's half second of drift); what cannot be read is not free."""
    table = small(9)
    put(table, ".hoodie/.locks/table_lock.json", body.encode())
    (sign,) = find_locks(table, NOW)
    assert (sign.provider, sign.held, sign.content) == ("StorageBasedLockProvider", held, body)


def test_no_lock(small: Small) -> None:
    """A folder of that name is none either: with other settings, the lock file is in it."""
    table = small(9)
    (base_of(table) / ".hoodie/lock").mkdir()
    assert find_locks(table, NOW) == []


def test_a_configured_lock_that_is_a_folder(small: Small) -> None:
    table = small(9)
    (base_of(table) / ".hoodie/lock").mkdir()
    with pytest.raises(StorageFailed, match="lock is a folder"):
        find_locks(table, NOW, (table.storage, ".hoodie/lock", 0))
    assert find_locks(table, NOW, (table.storage, ".hoodie/lock/lock", 0)) == []


@pytest.mark.parametrize("path", [".hoodie/lock", ".hoodie/.locks/table_lock.json"])
def test_a_lock_that_is_released_while_it_is_looked_at(
    small: Small, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writers take and release it all the time."""
    table = small(9)
    file = put(table, path, b"{}")
    real = LocalStorage.stat

    def stat(storage: LocalStorage, asked: str) -> FileStatus | None:
        found = real(storage, asked)
        if asked == path:
            os.unlink(file)
        return found

    monkeypatch.setattr(LocalStorage, "stat", stat)
    assert find_locks(table, NOW) == []
