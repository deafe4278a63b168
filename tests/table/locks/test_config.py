"""Which lock is configured, from the writers' settings."""

from pathlib import Path

import pytest

from hudictl.errors import Unsupported, UsageError
from hudictl.storage.hdfs import HdfsStorage
from hudictl.storage.webhdfs import Identity, WebHdfs
from hudictl.table.locks import config as module
from hudictl.table.locks.config import (
    DYNAMODB,
    FILE_SYSTEM,
    METASTORE,
    ZOOKEEPER,
    FileLock,
    ItemLock,
    LockConfig,
    Locking,
    MetastoreLock,
    NodeLock,
    lock_config,
    supported_lock,
)
from hudictl.table.open import open_table
from hudictl.table.table import Table
from tests.table.conftest import Small

PACKAGE = "org.apache.hudi.client.transaction.lock"
KEY = "hoodie.write.lock."
FILES = {f"{KEY}provider": FILE_SYSTEM}
ITEMS = {f"{KEY}provider": DYNAMODB}
NODES = {
    f"{KEY}provider": ZOOKEEPER,
    f"{KEY}zookeeper.url": "zk1,zk2:2182/chroot",
    f"{KEY}zookeeper.base_path": "/hudi",
}
METASTORES = {
    f"{KEY}provider": METASTORE,
    f"{KEY}hivemetastore.uris": "thrift://one:9083, thrift://two:9083",
    f"{KEY}hivemetastore.database": "db",
    f"{KEY}hivemetastore.table": "Trips",
}


def of(table: Table, settings: dict[str, str], wait_ms: int | None = None) -> LockConfig:
    return lock_config(table, Locking(settings, wait_ms))


def test_nothing_is_configured(small: Small) -> None:
    """Nor by settings that name no provider."""
    table = small(9)
    assert of(table, {}) == LockConfig(None, None, "", False, 250_000)
    assert of(table, {f"{KEY}filesystem.expire": "1", f"{KEY}provider": ""}).provider is None
    assert of(table, {"hoodie.write.concurrency.mode": "SINGLE_WRITER"}).provider is None


def test_a_file_lock(small: Small) -> None:
    """In the table's own folder, unless a path is given; minutes until it expires."""
    table = small(9)
    assert of(table, FILES).lock == FileLock(f"{table.uri}/.hoodie/lock", ".hoodie/lock", 0)
    settings = FILES | {f"{KEY}filesystem.path": f"{table.uri}/.hoodie/.aux/", f"{KEY}filesystem.expire": "3"}
    assert of(table, settings).lock == FileLock(f"{table.uri}/.hoodie/.aux/lock", ".hoodie/.aux/lock", 180_000)


@pytest.mark.parametrize("path", ["/locks", "file:/locks", "file:///locks", "file:///locks/"])
def test_a_file_lock_elsewhere(small: Small, path: str) -> None:
    """Also beside the table, where the names begin alike."""
    table = small(9)
    assert of(table, FILES | {f"{KEY}filesystem.path": path}).lock == FileLock("file:///locks/lock", None, 0)
    beside = f"{table.uri}-locks"
    assert of(table, FILES | {f"{KEY}filesystem.path": beside}).lock == FileLock(f"{beside}/lock", None, 0)


@pytest.mark.parametrize("scheme", ["abfs", "s3a", "gs"])
def test_a_file_lock_on_another_store_is_unsupported(small: Small, scheme: str) -> None:
    table = small(9)
    settings = FILES | {f"{KEY}filesystem.path": f"{scheme}://host/locks"}
    assert (
        f"on {scheme} hudictl takes a lock file only with hoodie.fs.atomic_creation.support={scheme}"
        in of(table, settings).unsupported
    )
    settings |= {"hoodie.fs.atomic_creation.support": f"x, {scheme}"}
    assert "only inside the table" in of(table, settings).unsupported


def test_a_file_lock_inside_a_table_on_an_object_store(small: Small) -> None:
    """Where the writers' own settings say that files are created there exclusively."""
    local = small(9)

    class Remote:
        uri = "s3a://b/t"

        def absolute(self, path: str) -> str:
            return f"{self.uri}/{path}"

    def remote(settings: dict[str, str]) -> LockConfig:
        table = Table(Remote(), local.properties, local.layout, 9, local.zone)  # type: ignore[arg-type]
        return lock_config(table, Locking(settings))

    assert remote(FILES).unsupported
    found = remote(FILES | {"hoodie.fs.atomic_creation.support": "s3a"})
    assert (found.lock, found.unsupported) == (FileLock("s3a://b/t/.hoodie/lock", ".hoodie/lock", 0), "")
    with pytest.raises(UsageError, match="depends on the writer"):
        remote(FILES | {f"{KEY}filesystem.path": "/locks"})


@pytest.mark.parametrize("scheme", ["hdfs", "viewfs"])
def test_a_file_lock_on_an_hdfs_beside_the_table_is_unsupported(small: Small, scheme: str) -> None:
    """Also where a table on this host has the same path."""
    table = small(9)
    settings = FILES | {f"{KEY}filesystem.path": f"{scheme}://host{table.storage.absolute('.hoodie')}"}
    assert "only inside the table" in of(table, settings).unsupported


@pytest.mark.parametrize(
    "folder", ["", "hdfs://lake/a/t/.hoodie", "hdfs://node:8020/a/t/.hoodie/", "hdfs:/a/t/.hoodie"]
)
def test_a_file_lock_inside_a_table_on_hdfs(small: Small, folder: str) -> None:
    """By any name that a writer has for the name node; Hudi asks for no setting more."""
    local = small(9)
    client = WebHdfs(("http://node:9870",), Identity("hudi"))
    storage = HdfsStorage("hdfs://node:8020", "/a/t", "/a/t/.tmp", client)
    table = Table(storage, local.properties, local.layout, 9, local.zone)
    found = of(table, FILES | ({f"{KEY}filesystem.path": folder} if folder else {}))
    assert isinstance(found.lock, FileLock)
    assert (found.lock.inside, found.unsupported) == (".hoodie/lock", "")
    beside = FILES | {f"{KEY}filesystem.path": "hdfs://lake/a/t-locks"}
    assert "only inside the table" in of(table, beside).unsupported


def test_a_node(small: Small) -> None:
    """Hudi's defaults: the key is the table's name; the port stands in the URL."""
    table = small(9)
    config = of(table, NODES | {f"{KEY}zookeeper.port": "9999"})
    where = "zookeeper://zk1,zk2:2182/chroot/hudi/t"
    assert config.lock == NodeLock(where, "zk1,zk2:2182/chroot", "/hudi/t", 60_000, 15_000)
    more = {"lock_key": "key", "session_timeout_ms": "1", "connection_timeout_ms": "2"}
    lock = of(table, NODES | {f"{KEY}zookeeper.{key}": value for key, value in more.items()}).lock
    assert isinstance(lock, NodeLock)
    assert (lock.path, lock.session_ms, lock.connection_ms) == ("/hudi/key", 1, 2)


@pytest.mark.parametrize("mode", ["optimistic_concurrency_control", "NON_BLOCKING_CONCURRENCY_CONTROL"])
def test_several_writers_without_a_provider_mean_zookeeper(small: Small, mode: str) -> None:
    """Hudi's own default; it then needs its settings."""
    settings = {"hoodie.write.concurrency.mode": mode}
    table = small(9)
    with pytest.raises(UsageError, match=r"zookeeper\.url is missing"):
        of(table, settings)
    assert of(table, NODES | settings | {f"{KEY}provider": ""}).provider == ZOOKEEPER


@pytest.mark.parametrize("name", ["InProcessLockProvider", "NoopLockProvider"])
def test_a_lock_within_a_process_is_none(small: Small, name: str) -> None:
    config = of(small(9), {f"{KEY}provider": f"{PACKAGE}.{name}"})
    assert (config.lock, config.unsupported) == (None, "")


@pytest.mark.parametrize(
    "provider",
    [
        f"{PACKAGE}.StorageBasedLockProvider",
        "FileSystemBasedLockProvider",
        "com.example.Own",
    ],
)
def test_other_providers_are_unsupported(small: Small, provider: str) -> None:
    """Unless no lock is to be taken at all; how to go on is said."""
    uri = small(9).uri
    settings = {f"{KEY}provider": provider}
    with pytest.raises(Unsupported) as caught:
        supported_lock(open_table(uri), Locking(settings))
    assert provider in caught.value.message
    assert "--no-lock" in caught.value.hint
    config = supported_lock(open_table(uri), Locking(settings, off=True))
    assert (config.provider, config.taken) == (provider, None)


def test_an_item(small: Small) -> None:
    """Hudi's defaults: its own table of locks, the table's name as the key, the waiting time as the lease."""
    table = small(9)
    config = of(table, ITEMS)
    assert config.lock == ItemLock("dynamodb://us-east-1/hudi_locks/t", "hudi_locks", "t", "us-east-1", None, 60_000)
    assert config.unsupported == ""
    more = {"table": "own", "partition_key": "key", "region": "eu-west-1", "endpoint_url": "local:8000/"}
    settings = ITEMS | {f"{KEY}dynamodb.{key}": value for key, value in more.items()} | {f"{KEY}wait_time_ms": "9000"}
    found = of(table, settings).lock
    assert found == ItemLock("dynamodb://local:8000/own/key", "own", "key", "eu-west-1", "https://local:8000/", 9000)
    given = settings | {f"{KEY}dynamodb.endpoint_url": "http://local"}
    assert getattr(of(table, given).lock, "endpoint", None) == "http://local"


def test_an_item_is_waited_for_one_lease_longer(small: Small) -> None:
    """So that a dead holder's lease ends in this time, as with AWS's client; unless the operator says how long."""
    table = small(9)
    assert of(table, ITEMS).wait_ms == 250_000 + 60_000
    assert of(table, ITEMS, 0).wait_ms == 0


def test_without_boto3_an_item_is_unsupported(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    table = small(9)
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert "pip install boto3" in of(table, ITEMS).unsupported


def test_without_kazoo_zookeepers_lock_is_unsupported(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    table = small(9)
    assert of(table, NODES).unsupported == ""
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert "pip install kazoo" in of(table, NODES).unsupported
    assert of(table, FILES).unsupported == ""


def test_a_lock_in_a_metastore(small: Small) -> None:
    """The names as they are written: the metastore compares them."""
    uris = METASTORES[f"{KEY}hivemetastore.uris"]
    lock = MetastoreLock("thrift://one:9083/db.Trips", uris, "db", "Trips", 60_000)
    assert of(small(9), METASTORES).lock == lock
    found = of(small(9), METASTORES | {f"{KEY}heartbeat_interval_ms": "5000"}).lock
    assert isinstance(found, MetastoreLock)
    assert found.heartbeat_ms == 5000


def test_the_metastore_of_hive_site_xml(small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Hudi finds it; one with Kerberos or TLS is not supported."""
    settings = {key: value for key, value in METASTORES.items() if not key.endswith("uris")}

    def site(**properties: str) -> None:
        entries = (f"<property><name>{key}</name><value>{text}</value></property>" for key, text in properties.items())
        (tmp_path / "hive-site.xml").write_text(f"<configuration>{''.join(entries)}</configuration>")

    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    with pytest.raises(UsageError, match=r"hivemetastore\.uris is missing"):
        of(small(9), settings)
    site(**{"hive.metastore.uris": "thrift://three:9083"})
    config = of(small(9), settings)
    assert config.lock is not None
    assert (config.lock.place, config.unsupported) == ("thrift://three:9083/db.Trips", "")
    for key in ("hive.metastore.sasl.enabled", "hive.metastore.use.SSL"):
        site(**{"hive.metastore.uris": "thrift://three:9083", key: "true"})
        assert f"hive-site.xml has {key}=true" in of(small(9), settings).unsupported


def test_without_thriftpy2_a_metastores_lock_is_unsupported(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    table = small(9)
    assert of(table, METASTORES).unsupported == ""
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert "pip install thriftpy2" in of(table, METASTORES).unsupported


def test_the_tables_own_properties_do_not_count(small: Small) -> None:
    """Else who can write into the table would choose a file to delete, or a host to ask."""
    table = small(9, write_lock_provider=FILE_SYSTEM, write_lock_filesystem_path="/victim")
    assert of(table, {}) == LockConfig(None, None, "", False, 250_000)
    assert of(table, FILES).lock == FileLock(f"{table.uri}/.hoodie/lock", ".hoodie/lock", 0)
    table = small(9, write_concurrency_mode="OPTIMISTIC_CONCURRENCY_CONTROL")
    assert of(table, {}).provider is None


@pytest.mark.parametrize(
    ("settings", "wait_ms"),
    [
        ({}, 250_000),
        ({"client.num_retries": "3", "client.wait_time_ms_between_retry": "100000"}, 300_000),
        ({"client.num_retries": "0"}, 60_000),
        ({"client.num_retries": "0", "wait_time_ms": "5"}, 5),
    ],
)
def test_it_waits_as_long_as_a_writer(small: Small, settings: dict[str, str], wait_ms: int) -> None:
    """Unless the operator says how long."""
    given = {KEY + key: value for key, value in settings.items()}
    table = small(9)
    assert of(table, given).wait_ms == wait_ms
    assert of(table, given, 0).wait_ms == 0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (FILES | {f"{KEY}filesystem.expire": "-1"}, "filesystem.expire=-1"),
        (FILES | {f"{KEY}filesystem.expire": "1m"}, "filesystem.expire=1m"),
        (FILES | {f"{KEY}client.num_retries": "many"}, "client.num_retries=many"),
        (FILES | {f"{KEY}filesystem.path": "locks"}, "write it as a URI"),
        (NODES | {f"{KEY}zookeeper.url": ""}, "zookeeper.url is missing"),
        (NODES | {f"{KEY}zookeeper.base_path": ""}, "zookeeper.base_path is missing"),
        (NODES | {f"{KEY}zookeeper.base_path": "hudi"}, "must begin with /"),
        (ITEMS | {f"{KEY}wait_time_ms": "1m"}, "wait_time_ms=1m"),
        (METASTORES | {f"{KEY}hivemetastore.database": ""}, "hivemetastore.database is missing"),
        (METASTORES | {f"{KEY}hivemetastore.table": ""}, "hivemetastore.table is missing"),
        (METASTORES | {f"{KEY}hivemetastore.uris": "thrift://one:9083,two:9083"}, "write them as thrift://HOST:PORT"),
        (METASTORES | {f"{KEY}hivemetastore.uris": "thrift://one:port"}, "not URIs of a Hive metastore"),
        (NODES | {f"{KEY}zookeeper.session_timeout_ms": "\u0661"}, "session_timeout_ms"),
    ],
)
def test_settings_that_cannot_be_taken(small: Small, settings: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        of(small(9), settings)
    assert said in f"{caught.value.message} {caught.value.hint}"
    assert caught.value.exit_code == 2
