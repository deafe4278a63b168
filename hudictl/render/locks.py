"""Locks as text: which one a command takes, and how it is configured."""

from typing import Any

from hudictl.table.locks.config import FileLock, ItemLock, LockConfig, StorageLock


def lock_line(config: LockConfig) -> str:
    """Which lock a command takes, or why it takes none."""
    name = (config.provider or "").rpartition(".")[2]
    if config.provider is None:
        return "No lock is taken: none is configured."
    if config.off:
        return f"No lock is taken (--no-lock), although {name} is configured."
    if config.taken is None:
        return f"No lock is taken: {name} is no lock between processes."
    return (
        f"hudictl takes the lock {config.taken.place} ({name}), and waits for it at most {config.wait_ms / 1000:g} s."
    )


def lock_facts(config: LockConfig) -> list[tuple[str, Any]]:
    """The configuration of a lock as names and values."""
    facts: list[tuple[str, Any]] = [("provider", config.provider or "none is configured")]
    if config.unsupported:
        facts.append(("not supported", config.unsupported))
    elif config.lock is None and config.provider is not None:
        facts.append(("lock", "none between processes: it works only inside one writer"))
    if config.lock is not None:
        facts += [("lock", config.lock.place), ("longest wait", f"{config.wait_ms / 1000:g} s")]
    if isinstance(config.lock, FileLock):
        facts.append(("expires", f"after {config.lock.expire_ms / 60_000:g} min" if config.lock.expire_ms else "never"))
    if isinstance(config.lock, StorageLock):
        facts.append(("expires", f"after {config.lock.validity_ms / 1000:g} s without renewal"))
    if isinstance(config.lock, ItemLock):
        facts.append(("expires", f"{config.lock.lease_ms / 1000:g} s after the holder's last heartbeat"))
    return facts
