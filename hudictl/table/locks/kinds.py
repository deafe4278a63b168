"""The locks of Hudi's providers, and their settings (keys and defaults of 0.15.0 to 1.2.0)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TypeAlias

from hudictl.errors import UsageError
from hudictl.formats.layouts import META
from hudictl.storage import HDFS, is_hdfs, open_storage, without_name_node
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
Settings: TypeAlias = Mapping[str, str]
_METASTORE_URI = re.compile(r"thrift://[^:/\s]+(:\d+)?/?")
_CREATES_EXCLUSIVELY = (*HDFS, "viewfs")
"""Schemes on which Hudi takes a lock file without ``hoodie.fs.atomic_creation.support`` (0.15.0 to 1.2.0)."""
_SWAPS = ("s3", "s3a", "gs", "abfs", "abfss")
"""Schemes on which Hudi's provider works, and hudictl, too (1.2.0; gs since 1.1, Azure's since 1.2)."""
STORAGE_LOCK = f"{META}/.locks/table_lock.json"
_LEAST_VALIDITY_S = 10


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


def file_lock(table: Table, settings: Settings) -> tuple[FileLock, str]:
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
        folder = open_storage(folder, "").uri
    place = f"{folder}/lock"
    inside = place.removeprefix(f"{table.uri}/") if place.startswith(f"{table.uri}/") else None
    on_hdfs = is_hdfs(folder) and is_hdfs(table.uri)
    if on_hdfs and inside is None:
        # Writers may call the name node by another name, or by that of the name service.
        path, base = without_name_node(place), table.storage.absolute("")
        inside = path.removeprefix(f"{base}/") if path.startswith(f"{base}/") else None
    lock = FileLock(place, inside, number(settings, "filesystem.expire", 0) * 60_000)
    atomic = [entry.strip() for entry in settings.get("hoodie.fs.atomic_creation.support", "").split(",")]
    if on_this_host:
        return lock, ""
    if scheme not in (*_CREATES_EXCLUSIVELY, *atomic):
        return lock, f"on {scheme} hudictl takes a lock file only with hoodie.fs.atomic_creation.support={scheme}"
    return lock, "" if inside is not None else f"on {scheme} hudictl takes a lock file only inside the table"


def storage_lock(table: Table, settings: Settings) -> tuple[StorageLock, str]:
    """The lock, and why hudictl cannot take it. Raises UsageError: Hudi would not start with these times."""
    validity_s = number(settings, "storage.validity.timeout.secs", 300)
    # The second name is that of 1.0.2.
    renew_s = number(settings, "storage.renew.interval.secs", number(settings, "storage.heartbeat.poll.secs", 30))
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


def node_lock(table: Table, settings: Settings) -> tuple[NodeLock, str]:
    """The lock, and why hudictl cannot take it."""
    url, base_path = (required(settings, f"zookeeper.{key}", ZOOKEEPER) for key in ("url", "base_path"))
    key = settings.get(f"{PREFIX}zookeeper.lock_key") or table.name
    if not base_path.startswith("/"):
        raise UsageError(f"{PREFIX}zookeeper.base_path={base_path}: it must begin with /")
    return node_at(url, f"{base_path}/{key}", settings), lacks("kazoo")


def node_at(url: str, path: str, settings: Settings) -> NodeLock:
    """The node at a path. Raises UsageError."""
    # Hudi never reads hoodie.write.lock.zookeeper.port: the port is in the URL, or 2181.
    return NodeLock(
        f"zookeeper://{url}{path}",
        url,
        path,
        number(settings, "zookeeper.session_timeout_ms", 60_000),
        number(settings, "zookeeper.connection_timeout_ms", 15_000),
    )


def item_lock(table: Table, settings: Settings) -> tuple[ItemLock, str]:
    """The lock, and why hudictl cannot take it."""
    key = settings.get(f"{PREFIX}dynamodb.partition_key") or table.name
    return item_of(key, settings), lacks("boto3")


def item_of(key: str, settings: Settings) -> ItemLock:
    """The item with a key. Raises UsageError."""
    table = settings.get(f"{PREFIX}dynamodb.table") or "hudi_locks"
    region = settings.get(f"{PREFIX}dynamodb.region") or "us-east-1"
    endpoint = settings.get(f"{PREFIX}dynamodb.endpoint_url") or None
    if endpoint is not None and not endpoint.startswith(("https://", "http://")):
        endpoint = f"https://{endpoint}"
    host = region if endpoint is None else endpoint.partition("://")[2].rstrip("/")
    # Hudi gives its waiting time to AWS's lock client as the lease, too.
    lease_ms = number(settings, "wait_time_ms", 60_000)
    return ItemLock(f"dynamodb://{host}/{table}/{key}", table, key, region, endpoint, lease_ms)


def metastore_lock(_table: Table, settings: Settings) -> tuple[MetastoreLock, str]:
    """The lock, and why hudictl cannot take it. Without URIs, Hudi reads them from hive-site.xml."""
    database, table = (required(settings, f"hivemetastore.{key}", METASTORE) for key in ("database", "table"))
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
    lock = MetastoreLock(place, uris, database, table, number(settings, "heartbeat_interval_ms", 60_000))
    for key in ("hive.metastore.sasl.enabled", "hive.metastore.use.SSL"):
        if site.get(key, "").lower() == "true":
            return lock, f"{HIVE_SITE} has {key}=true: hudictl connects to a metastore without Kerberos and TLS only"
    return lock, lacks("thriftpy2")


def lacks(package: str) -> str:
    """Why hudictl cannot take a lock that needs a package; "" if it is installed."""
    return "" if find_spec(package) else f"it needs a package: pip install {package}"


def required(settings: Settings, name: str, provider: str) -> str:
    """A setting of the lock. Raises UsageError: it is missing."""
    value = settings.get(PREFIX + name)
    if not value:
        raise UsageError(
            f"{PREFIX}{name} is missing, but required by {provider}",
            hint="specify it with --hoodie-conf or --props, with the value of the table's writers",
        )
    return value


def number(settings: Settings, name: str, default: int) -> int:
    """A number among the settings of the lock. Raises UsageError: it is none."""
    text = settings.get(PREFIX + name) or str(default)
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"{PREFIX}{name}={text}: not a whole number, 0 or more")
    return int(text)
