"""Which lock the table's writers use, by Hudi's own write configuration (keys and defaults of 0.15.0 to 1.2.0)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hudictl.errors import Unsupported
from hudictl.table.locks.implicit import implicit_item_lock, implicit_node_lock
from hudictl.table.locks.kinds import (
    DYNAMODB,
    DYNAMODB_IMPLICIT,
    FILE_SYSTEM,
    METASTORE,
    PREFIX,
    STORAGE,
    WITHIN_WRITERS,
    ZOOKEEPER,
    ZOOKEEPER_IMPLICIT,
    AnyLock,
    ItemLock,
    Settings,
    file_lock,
    item_lock,
    metastore_lock,
    node_lock,
    number,
    storage_lock,
)
from hudictl.table.table import Table

_READERS: Mapping[str, Callable[[Table, Settings], tuple[AnyLock | None, str]]] = {
    FILE_SYSTEM: file_lock,
    STORAGE: storage_lock,
    ZOOKEEPER: node_lock,
    ZOOKEEPER_IMPLICIT: implicit_node_lock,
    DYNAMODB: item_lock,
    DYNAMODB_IMPLICIT: implicit_item_lock,
    METASTORE: metastore_lock,
}
_MULTI_WRITER = ("OPTIMISTIC_CONCURRENCY_CONTROL", "NON_BLOCKING_CONCURRENCY_CONTROL")


@dataclass(frozen=True, slots=True)
class Locking:
    """The lock options of the operator: Hudi's settings by key, how long to wait, and whether to take no lock."""

    settings: Mapping[str, str] = field(default_factory=dict)
    wait_ms: int | None = None
    off: bool = False


NOTHING_SAID = Locking()


@dataclass(frozen=True, slots=True)
class LockConfig:
    """The configured provider (None: no provider), and its lock (None: a lock only inside the writer's process).

    ``unsupported`` says why hudictl cannot take it. ``off``: it must not be taken. ``wait_ms``: how long to wait for
    it.
    """

    provider: str | None
    lock: AnyLock | None
    unsupported: str
    off: bool
    wait_ms: int

    @property
    def taken(self) -> AnyLock | None:
        """The lock that a writing command takes."""
        return None if self.off else self.lock


def lock_config(table: Table, locking: Locking) -> LockConfig:
    """The lock of the table's writers, by the operator's settings alone.

    Hudi, too, reads none from the table: who can write into it must not choose files and hosts for the operator.

    Raises:
        UsageError: a setting is missing or invalid.
    """
    settings = locking.settings
    provider = settings.get(f"{PREFIX}provider") or None
    if provider is None and settings.get("hoodie.write.concurrency.mode", "").upper() in _MULTI_WRITER:
        # Hudi's default; writers in this mode must configure its server.
        provider = ZOOKEEPER
    lock, unsupported = _read_lock(table, provider, settings)
    wait_ms = locking.wait_ms if locking.wait_ms is not None else _hudis_wait_ms(settings)
    if locking.wait_ms is None and isinstance(lock, ItemLock):
        # Like AWS's lock client, one lease longer: the time to find out that its holder is dead.
        wait_ms += lock.lease_ms
    return LockConfig(provider, lock, unsupported, locking.off, wait_ms)


def ignored_settings(table: Table) -> list[str]:
    """The lock settings in the table's own properties."""
    return sorted(key for key in table.properties if key.startswith((PREFIX, "hoodie.write.concurrency.")))


def supported_lock(table: Table, locking: Locking) -> LockConfig:
    """The same, for writing commands. Raises UsageError; Unsupported: a lock that hudictl cannot take."""
    config = lock_config(table, locking)
    if config.unsupported and not config.off:
        raise Unsupported(
            f"the lock provider {config.provider} is configured, but {config.unsupported}",
            hint="if there is no other writer: --no-lock --yes",
            provider=config.provider,
        )
    return config


def _read_lock(table: Table, provider: str | None, settings: Settings) -> tuple[AnyLock | None, str]:
    """The lock of a provider, and why hudictl cannot take it."""
    if provider is None or provider in WITHIN_WRITERS:
        return None, ""
    if provider in _READERS:
        return _READERS[provider](table, settings)
    return None, "hudictl cannot take locks of this kind"


def _hudis_wait_ms(settings: Settings) -> int:
    """How long a Hudi writer tries: its retries with the pauses between them; at least one try of ZooKeeper."""
    pauses_ms = number(settings, "client.num_retries", 50) * number(
        settings, "client.wait_time_ms_between_retry", 5_000
    )
    return max(pauses_ms, number(settings, "wait_time_ms", 60_000))
