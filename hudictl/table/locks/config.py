"""Which lock the table's writers use, by Hudi's own write configuration: the locks of Hudi's providers, and their
settings (keys and defaults of 0.15.0 to 1.2.0)."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TypeAlias

from hudictl.errors import Conflict, Unsupported, UsageError
from hudictl.formats.layouts import META
from hudictl.storage import HDFS, is_hdfs, local_path, without_name_node
from hudictl.storage.hadoop_conf import HIVE_SITE, read_configuration
from hudictl.table.table import Table

PREFIX = "hoodie.write.lock."
_PACKAGE = "org.apache.hudi.client.transaction.lock."
FILE_SYSTEM = f"{_PACKAGE}FileSystemBasedLockProvider"
ZOOKEEPER = f"{_PACKAGE}ZookeeperBasedLockProvider"
ZOOKEEPER_IMPLICIT = f"{_PACKAGE}ZookeeperBasedImplicitBasePathLockProvider"
STORAGE = f"{_PACKAGE}StorageBasedLockProvider"
DYNAMODB = "org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider"
DYNAMODB_IMPLICIT = "org.apache.hudi.aws.transaction.lock.DynamoDBBasedImplicitPartitionKeyLockProvider"
METASTORE = "org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider"
WITHIN_WRITERS = (f"{_PACKAGE}InProcessLockProvider", f"{_PACKAGE}NoopLockProvider")
_MULTI_WRITER = ("OPTIMISTIC_CONCURRENCY_CONTROL", "NON_BLOCKING_CONCURRENCY_CONTROL")
Settings: TypeAlias = Mapping[str, str]
_METASTORE_URI = re.compile(r"thrift://[^:/\s]+(:\d+)?/?")
_CREATES_EXCLUSIVELY = (*HDFS, "viewfs")
"""Schemes on which Hudi takes a lock file without ``hoodie.fs.atomic_creation.support`` (0.15.0 to 1.2.0)."""
_SWAPS = ("s3", "s3a", "gs", "abfs", "abfss")
"""Schemes on which Hudi's provider works, and hudictl, too (1.2.0; gs since 1.1, Azure's since 1.2)."""
STORAGE_LOCK = f"{META}/.locks/table_lock.json"
_LEAST_VALIDITY_S = 10
BASE_PATH = "hoodie.base.path"
_HASH_SEED = -625288518 % 2**64
_PARTS = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?(?://([^/]*))?(.*)", re.IGNORECASE | re.DOTALL)
_UNKNOWN = (
    "the name of its lock is a hash of the base path, as the writers spell it. Read this path in a writer's log, then "
    f"use --hoodie-conf {BASE_PATH}=PATH"
)


@dataclass(frozen=True, slots=True)
class FileLock:
    """The file of Hudi's ``FileSystemBasedLockProvider``: a local path or URI; ``inside`` is its path in the table, if
    it is there. ``expire_ms`` after its last change any process may delete it; 0: never."""

    place: str
    inside: str | None
    expire_ms: int


@dataclass(frozen=True, slots=True)
class StorageLock:
    """The object of Hudi's ``StorageBasedLockProvider``; ``inside`` is its path in the table. It expires
    ``validity_ms`` after it was taken or renewed, and is renewed every ``renew_ms``."""

    place: str
    inside: str
    validity_ms: int
    renew_ms: int


@dataclass(frozen=True, slots=True)
class NodeLock:
    """The node of Hudi's ``ZookeeperBasedLockProvider``, under which each contender has its own node."""

    place: str
    hosts: str
    path: str
    session_ms: int
    connection_ms: int


@dataclass(frozen=True, slots=True)
class ItemLock:
    """The item ``key`` in a table of DynamoDB, of Hudi's ``DynamoDBBasedLockProvider``. A contender takes it from a
    holder whose heartbeats it has not seen for ``lease_ms``. ``endpoint``: None, that of the region."""

    place: str
    table: str
    key: str
    region: str
    endpoint: str | None
    lease_ms: int


@dataclass(frozen=True, slots=True)
class MetastoreLock:
    """The lock of Hudi's ``HiveMetastoreBasedLockProvider``: on the name of a table, in the Hive metastore at ``uris``,
    separated by commas."""

    place: str
    uris: str
    database: str
    table: str
    heartbeat_ms: int


AnyLock: TypeAlias = FileLock | StorageLock | NodeLock | ItemLock | MetastoreLock


@dataclass(frozen=True, slots=True)
class LockSign:
    """A lock that exists: the provider that made it, and whether it is held now. ``expired``: its own time is over, and
    it was not released.

    ``path`` is a path below the table, or the lock's place elsewhere. ``owner`` is None if it is not named. ``age_ms``:
    since its last change, None if that is not stored. ``expires_in_ms`` is below 0 if it has expired, and None if it
    does not expire, or that is not known.
    """

    path: str
    provider: str
    held: bool
    expired: bool
    owner: str | None
    age_ms: int | None
    expires_in_ms: int | None
    content: str


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

    Raises UsageError: a setting is missing or invalid.
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
    pauses_ms = _number(settings, "client.num_retries", 50) * _number(
        settings, "client.wait_time_ms_between_retry", 5_000
    )
    return max(pauses_ms, _number(settings, "wait_time_ms", 60_000))


def _file_lock(table: Table, settings: Settings) -> tuple[FileLock, str]:
    """The lock, and why hudictl cannot take it. Like Hudi, hudictl must be able to create the file exclusively."""
    key = f"{PREFIX}filesystem.path"
    folder = (settings.get(key) or f"{table.uri}/{META}").rstrip("/")
    scheme, separator, _ = folder.partition(":")
    on_this_host = table.uri.startswith("file:") if not separator else scheme == "file"
    if not separator and (not folder.startswith("/") or not on_this_host):
        raise UsageError(
            f"{key}={folder}: the file system of this path depends on the writer", hint="write it as a URI"
        )
    if on_this_host:
        folder = f"file://{local_path(folder)}"
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


def _storage_lock(table: Table, settings: Settings) -> tuple[StorageLock, str]:
    """The lock, and why hudictl cannot take it. Raises UsageError: Hudi would not start with these times."""
    validity_s = _number(settings, "storage.validity.timeout.secs", 300)
    # The second name is that of 1.0.2.
    renew_s = _number(settings, "storage.renew.interval.secs", _number(settings, "storage.heartbeat.poll.secs", 30))
    if validity_s < _LEAST_VALIDITY_S or renew_s < 1 or validity_s < 10 * renew_s:
        raise UsageError(
            f"{PREFIX}storage.validity.timeout.secs={validity_s}, renew.interval.secs={renew_s}: Hudi needs at least "
            f"{_LEAST_VALIDITY_S} s, and ten times the interval"
        )
    lock = StorageLock(f"{table.uri}/{STORAGE_LOCK}", STORAGE_LOCK, validity_s * 1000, renew_s * 1000)
    works_on = ", ".join(_SWAPS)
    return lock, "" if works_in_storage(table) else f"it works only on {works_on}, not on {table.uri}"


def works_in_storage(table: Table) -> bool:
    """Whether Hudi's ``StorageBasedLockProvider`` works on the table's store."""
    return table.uri.partition(":")[0] in _SWAPS


def _node_lock(table: Table, settings: Settings) -> tuple[NodeLock, str]:
    """The lock, and why hudictl cannot take it."""
    url, base_path = (_required(settings, f"zookeeper.{key}", ZOOKEEPER) for key in ("url", "base_path"))
    key = settings.get(f"{PREFIX}zookeeper.lock_key") or table.name
    if not base_path.startswith("/"):
        raise UsageError(f"{PREFIX}zookeeper.base_path={base_path}: it must begin with /")
    return _node_at(url, f"{base_path}/{key}", settings), _lacks("kazoo")


def _node_at(url: str, path: str, settings: Settings) -> NodeLock:
    """The node at a path. Raises UsageError."""
    # Hudi never reads hoodie.write.lock.zookeeper.port: the port is in the URL, or 2181.
    return NodeLock(
        f"zookeeper://{url}{path}",
        url,
        path,
        _number(settings, "zookeeper.session_timeout_ms", 60_000),
        _number(settings, "zookeeper.connection_timeout_ms", 15_000),
    )


def _item_lock(table: Table, settings: Settings) -> tuple[ItemLock, str]:
    """The lock, and why hudictl cannot take it."""
    key = settings.get(f"{PREFIX}dynamodb.partition_key") or table.name
    return _item_of(key, settings), _lacks("boto3")


def _item_of(key: str, settings: Settings) -> ItemLock:
    """The item with a key. Raises UsageError."""
    table = settings.get(f"{PREFIX}dynamodb.table") or "hudi_locks"
    region = settings.get(f"{PREFIX}dynamodb.region") or "us-east-1"
    endpoint = settings.get(f"{PREFIX}dynamodb.endpoint_url") or None
    if endpoint is not None and not endpoint.startswith(("https://", "http://")):
        endpoint = f"https://{endpoint}"
    host = region if endpoint is None else endpoint.partition("://")[2].rstrip("/")
    # Hudi gives its waiting time to AWS's lock client as the lease, too.
    lease_ms = _number(settings, "wait_time_ms", 60_000)
    return ItemLock(f"dynamodb://{host}/{table}/{key}", table, key, region, endpoint, lease_ms)


def _metastore_lock(_table: Table, settings: Settings) -> tuple[MetastoreLock, str]:
    """The lock, and why hudictl cannot take it. Without URIs, Hudi reads them from hive-site.xml."""
    database, table = (_required(settings, f"hivemetastore.{key}", METASTORE) for key in ("database", "table"))
    site = read_configuration((HIVE_SITE,))
    uris = settings.get(f"{PREFIX}hivemetastore.uris") or site.get("hive.metastore.uris", "")
    if not uris:
        raise UsageError(
            f"{PREFIX}hivemetastore.uris is missing, and HADOOP_CONF_DIR has no {HIVE_SITE} with hive.metastore.uris",
            hint="specify it with --hoodie-conf or --props, as thrift://HOST:PORT",
        )
    if not all(_METASTORE_URI.fullmatch(uri.strip()) for uri in uris.split(",")):
        raise UsageError(
            f"{uris}: not URIs of a Hive metastore", hint="write them as thrift://HOST:PORT,thrift://HOST:PORT"
        )
    place = f"{uris.partition(',')[0].strip().rstrip('/')}/{database}.{table}"
    lock = MetastoreLock(place, uris, database, table, _number(settings, "heartbeat_interval_ms", 60_000))
    for key in ("hive.metastore.sasl.enabled", "hive.metastore.use.SSL"):
        if site.get(key, "").lower() == "true":
            return lock, f"{HIVE_SITE} has {key}=true: hudictl connects to a metastore without Kerberos and TLS only"
    return lock, _lacks("thriftpy2")


def _implicit_item_lock(table: Table, settings: Settings) -> tuple[ItemLock | None, str]:
    """The lock, and why hudictl cannot take it. Raises UsageError."""
    name, why = _hashed(table, settings, "boto3")
    return (None, why) if why else (_item_of(name, settings), "")


def _implicit_node_lock(table: Table, settings: Settings) -> tuple[NodeLock | None, str]:
    """The same for ZooKeeper."""
    name, why = _hashed(table, settings, "kazoo")
    if why:
        return None, why
    url = _required(settings, "zookeeper.url", ZOOKEEPER_IMPLICIT)
    return _node_at(url, f"/tmp/{name}/lock_key", settings), ""


_READERS: Mapping[str, Callable[[Table, Settings], tuple[AnyLock | None, str]]] = {
    FILE_SYSTEM: _file_lock,
    STORAGE: _storage_lock,
    ZOOKEEPER: _node_lock,
    ZOOKEEPER_IMPLICIT: _implicit_node_lock,
    DYNAMODB: _item_lock,
    DYNAMODB_IMPLICIT: _implicit_item_lock,
    METASTORE: _metastore_lock,
}


def _hashed(table: Table, settings: Settings, package: str) -> tuple[str, str]:
    """The name of an implicit lock, or why it is not known. Raises UsageError: it would be that of another table.

    Each writer hashes its own ``hoodie.base.path``, character by character: with a slash at the end it is another lock,
    and ``file:/lake`` is not ``file:///lake``. Only s3a and s3 are the same. The table does not store how its writers
    spell the path. So hudictl does not guess: with another spelling it would hold a lock that no writer waits for.
    """
    base = settings.get(BASE_PATH) or None
    if base is not None and not _same(base, table.uri):
        raise UsageError(
            f"{BASE_PATH}={base} is another table than {table.uri}",
            hint="specify the base path of this table, as its writers spell it",
        )
    why = _lacks(package) or _lacks("xxhash") or ("" if base else _UNKNOWN)
    return ("", why) if why or base is None else (hash_of(base), "")


def hash_of(base: str) -> str:
    """Hudi's ``HashID`` of a base path, with 64 bits."""
    import xxhash

    spelled = re.sub("^s3a://", "s3://", base, flags=re.IGNORECASE)
    return f"{xxhash.xxh64_intdigest(spelled.encode(), _HASH_SEED):016X}"


def _same(base: str, uri: str) -> bool:
    """Whether two spellings can mean one folder: the host or bucket counts, except for HDFS, or where it is missing."""
    (host, path), (other_host, other_path) = _split(base), _split(uri)
    return path == other_path and (host == other_host or not host or not other_host or is_hdfs(uri))


def _split(uri: str) -> tuple[str, str]:
    match = _PARTS.fullmatch(uri)
    host, path = match.groups() if match else ("", uri)
    return host or "", re.sub("/+", "/", path).rstrip("/")


def _lacks(package: str) -> str:
    """Why hudictl cannot take a lock that needs a package; "" if it is installed."""
    return "" if find_spec(package) else f"it needs a package: pip install {package}"


def _required(settings: Settings, name: str, provider: str) -> str:
    """A setting of the lock. Raises UsageError: it is missing."""
    value = settings.get(PREFIX + name)
    if not value:
        raise UsageError(
            f"{PREFIX}{name} is missing, but required by {provider}",
            hint="specify it with --hoodie-conf or --props, with the value of the table's writers",
        )
    return value


def _number(settings: Settings, name: str, default: int) -> int:
    """A number among the settings of the lock. Raises UsageError: it is none."""
    text = settings.get(PREFIX + name) or str(default)
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"{PREFIX}{name}={text}: not a whole number, 0 or more")
    return int(text)


def may_be_lost(lock: AnyLock, server: str, reason: str, /, **fields: object) -> Conflict:
    """The error of a holder whose lock the server does not confirm."""
    return Conflict(
        f"{lock.place}: this process may have lost the lock: {reason}",
        hint=f"once {server} answers, run the same command again, or `hudictl resume`",
        **fields,
    )
