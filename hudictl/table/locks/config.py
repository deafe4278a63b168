"""Which lock the table's writers use: Hudi's own write configuration (keys and defaults of 0.15.0 to 1.2.0)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from hudictl.errors import Unsupported, UsageError
from hudictl.formats.layouts import META
from hudictl.storage import HDFS, is_hdfs, open_storage, without_name_node
from hudictl.table.table import Table

_PREFIX = "hoodie.write.lock."
_PACKAGE = "org.apache.hudi.client.transaction.lock."
FILE_SYSTEM = f"{_PACKAGE}FileSystemBasedLockProvider"
ZOOKEEPER = f"{_PACKAGE}ZookeeperBasedLockProvider"
_IMPLICIT = f"{_PACKAGE}ZookeeperBasedImplicitBasePathLockProvider"
_WITHIN_WRITERS = (f"{_PACKAGE}InProcessLockProvider", f"{_PACKAGE}NoopLockProvider")
_CREATES_EXCLUSIVELY = (*HDFS, "viewfs")
"""Schemes on which Hudi takes a lock file without ``hoodie.fs.atomic_creation.support`` (0.15.0 to 1.2.0)."""
_MULTI_WRITER = ("OPTIMISTIC_CONCURRENCY_CONTROL", "NON_BLOCKING_CONCURRENCY_CONTROL")


@dataclass(frozen=True, slots=True)
class Locking:
    """The lock options of the operator: Hudi's settings by key, how long to wait, and whether to take no lock."""

    settings: Mapping[str, str] = field(default_factory=dict)
    wait_ms: int | None = None
    off: bool = False


NOTHING_SAID = Locking()


@dataclass(frozen=True, slots=True)
class FileLock:
    """The file of Hudi's ``FileSystemBasedLockProvider``: a local path or URI; ``inside`` is its path in the table, if
    it is there. ``expire_ms`` after its last change any process may delete it; 0: never."""

    place: str
    inside: str | None
    expire_ms: int


@dataclass(frozen=True, slots=True)
class NodeLock:
    """The node of Hudi's ``ZookeeperBasedLockProvider``, under which each contender has its own node."""

    place: str
    hosts: str
    path: str
    session_ms: int
    connection_ms: int


@dataclass(frozen=True, slots=True)
class LockConfig:
    """The configured provider (None: no provider), and its lock (None: a lock only inside the writer's process).

    ``unsupported`` says why hudictl cannot take it. ``off``: it must not be taken. ``wait_ms``: how long to wait for
    it.
    """

    provider: str | None
    lock: FileLock | NodeLock | None
    unsupported: str
    off: bool
    wait_ms: int

    @property
    def taken(self) -> FileLock | NodeLock | None:
        """The lock that a writing command takes."""
        return None if self.off else self.lock


def lock_config(table: Table, locking: Locking) -> LockConfig:
    """The lock of the table's writers, by the operator's settings over the table's own properties.

    Raises:
        UsageError: a setting is missing or invalid.
    """
    settings = {**table.properties, **locking.settings}
    provider = settings.get(f"{_PREFIX}provider") or None
    if provider is None and settings.get("hoodie.write.concurrency.mode", "").upper() in _MULTI_WRITER:
        # Hudi's default; writers in this mode must configure its server.
        provider = ZOOKEEPER
    lock: FileLock | NodeLock | None = None
    unsupported = ""
    if provider == FILE_SYSTEM:
        lock, unsupported = _file_lock(table, settings)
    elif provider == ZOOKEEPER:
        lock = _node_lock(settings)
        if find_spec("kazoo") is None:
            unsupported = "it needs a package: pip install kazoo"
    elif provider == _IMPLICIT:
        unsupported = (
            "its node depends on how each writer spells the base path. Read the node's path and lock key in a "
            f"writer's log, then use --hoodie-conf with {_PREFIX}provider={ZOOKEEPER}, {_PREFIX}zookeeper.base_path "
            f"and {_PREFIX}zookeeper.lock_key"
        )
    elif provider is not None and provider not in _WITHIN_WRITERS:
        unsupported = "hudictl cannot take locks of this kind"
    wait_ms = locking.wait_ms if locking.wait_ms is not None else _hudis_wait_ms(settings)
    return LockConfig(provider, lock, unsupported, locking.off, wait_ms)


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


def _file_lock(table: Table, settings: Mapping[str, str]) -> tuple[FileLock, str]:
    """The lock, and why hudictl cannot take it. Like Hudi, hudictl must be able to create the file exclusively."""
    key = f"{_PREFIX}filesystem.path"
    folder = (settings.get(key) or f"{table.uri}/{META}").rstrip("/")
    scheme, separator, _ = folder.partition(":")
    on_this_host = table.uri.startswith("file:") if not separator else scheme == "file"
    if not separator and (not folder.startswith("/") or not on_this_host):
        raise UsageError(
            f"{key}={folder}: the file system of this path depends on the writer", hint="write it as a URI"
        )
    if on_this_host:
        folder = open_storage(folder, "").uri
    place = f"{folder}/lock"
    inside = place.removeprefix(f"{table.uri}/") if place.startswith(f"{table.uri}/") else None
    on_hdfs = is_hdfs(folder) and is_hdfs(table.uri)
    if on_hdfs and inside is None:
        # Writers may call the name node by another name, or by that of the name service.
        path, base = without_name_node(place), table.storage.absolute("")
        inside = path.removeprefix(f"{base}/") if path.startswith(f"{base}/") else None
    lock = FileLock(place, inside, _number(settings, "filesystem.expire", 0) * 60_000)
    atomic = [entry.strip() for entry in settings.get("hoodie.fs.atomic_creation.support", "").split(",")]
    if on_this_host:
        return lock, ""
    if scheme not in (*_CREATES_EXCLUSIVELY, *atomic):
        return lock, f"on {scheme} hudictl takes a lock file only with hoodie.fs.atomic_creation.support={scheme}"
    return lock, "" if inside is not None else f"on {scheme} hudictl takes a lock file only inside the table"


def _node_lock(settings: Mapping[str, str]) -> NodeLock:
    # Hudi never reads hoodie.write.lock.zookeeper.port: the port is in the URL, or 2181.
    url, base_path = (_required(settings, f"zookeeper.{key}") for key in ("url", "base_path"))
    key = settings.get(f"{_PREFIX}zookeeper.lock_key") or settings["hoodie.table.name"]
    if not base_path.startswith("/"):
        raise UsageError(f"{_PREFIX}zookeeper.base_path={base_path}: it must begin with /")
    path = f"{base_path}/{key}"
    return NodeLock(
        f"zookeeper://{url}{path}",
        url,
        path,
        _number(settings, "zookeeper.session_timeout_ms", 60_000),
        _number(settings, "zookeeper.connection_timeout_ms", 15_000),
    )


def _hudis_wait_ms(settings: Mapping[str, str]) -> int:
    """How long a Hudi writer tries: its retries with the pauses between them; at least one try of ZooKeeper."""
    pauses_ms = _number(settings, "client.num_retries", 50) * _number(
        settings, "client.wait_time_ms_between_retry", 5_000
    )
    return max(pauses_ms, _number(settings, "wait_time_ms", 60_000))


def _required(settings: Mapping[str, str], name: str) -> str:
    value = settings.get(_PREFIX + name)
    if not value:
        raise UsageError(
            f"{_PREFIX}{name} is missing, but required by {ZOOKEEPER}",
            hint="specify it with --hoodie-conf or --props, with the value of the table's writers",
        )
    return value


def _number(settings: Mapping[str, str], name: str, default: int) -> int:
    text = settings.get(_PREFIX + name) or str(default)
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"{_PREFIX}{name}={text}: not a whole number, 0 or more")
    return int(text)
