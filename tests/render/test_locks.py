"""Locks for eyes."""

from dataclasses import replace

import pytest

from hudictl.render.locks import lock_facts, lock_line
from hudictl.table.locks.config import FILE_SYSTEM, FileLock, ItemLock, LockConfig

CONFIG = LockConfig(FILE_SYSTEM, FileLock("file:///t/.hoodie/lock", ".hoodie/lock", 0), "", False, 2500)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {},
            "hudictl takes the lock file:///t/.hoodie/lock (FileSystemBasedLockProvider), "
            "and waits for it at most 2.5 s.",
        ),
        ({"off": True}, "No lock is taken (--no-lock), although FileSystemBasedLockProvider is configured."),
        ({"lock": None}, "No lock is taken: FileSystemBasedLockProvider is no lock between processes."),
        ({"provider": None, "lock": None}, "No lock is taken: none is configured."),
    ],
)
def test_which_lock_is_taken_is_said(changes: dict[str, object], said: str) -> None:
    assert lock_line(replace(CONFIG, **changes)) == said  # type: ignore[arg-type]


def test_the_configuration_of_a_lock_in_names_and_values() -> None:
    place = ("lock", "file:///t/.hoodie/lock")
    assert lock_facts(CONFIG) == [("provider", FILE_SYSTEM), place, ("longest wait", "2.5 s"), ("expires", "never")]
    expiring = replace(CONFIG, lock=FileLock("file:///t/.hoodie/lock", ".hoodie/lock", 90_000))
    assert lock_facts(expiring)[-1] == ("expires", "after 1.5 min")
    assert lock_facts(replace(CONFIG, lock=None))[1:] == [
        ("lock", "none between processes: it works only inside one writer")
    ]
    item = replace(CONFIG, lock=ItemLock("dynamodb://us-east-1/l/t", "l", "t", "us-east-1", None, 1500))
    assert lock_facts(item)[-1] == ("expires", "1.5 s after the holder's last heartbeat")
    assert lock_facts(LockConfig(None, None, "", False, 0)) == [("provider", "none is configured")]
    assert lock_facts(replace(CONFIG, lock=None, unsupported="x"))[1:] == [("not supported", "x")]
