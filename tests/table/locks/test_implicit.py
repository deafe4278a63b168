"""The locks that are named by a hash of the base path, as its writers spell it."""

import pytest

from hudictl.errors import Unsupported, UsageError
from hudictl.table.locks import config
from hudictl.table.locks.config import (
    DYNAMODB_IMPLICIT,
    ZOOKEEPER_IMPLICIT,
    AnyLock,
    ItemLock,
    Locking,
    NodeLock,
    hash_of,
    lock_config,
    supported_lock,
)
from hudictl.table.table import Table
from tests.table.conftest import Small

HASHES = {
    "s3://lake/trips": "52B6F91537859B95",
    "s3a://lake/trips": "52B6F91537859B95",
    "S3A://lake/trips": "52B6F91537859B95",
    "s3a://lake/trips/": "ABACFC14EFEF7546",
    "file:///lake/trips": "3257BDF22D472274",
    "file:/lake/trips": "12BD6AF9AB23F224",
    "/lake/é": "BF99903F645C7FA9",
    "": "0D6FDE68D55B45DA",
}
"""What ``HashID`` of Hudi 1.0.2 and 1.2.0 makes of them; tests/interop asks it for more."""
ZK = {"hoodie.write.lock.zookeeper.url": "zk"}
PROVIDERS = (DYNAMODB_IMPLICIT, ZOOKEEPER_IMPLICIT)


def lock_of(table: Table, provider: str, base: str) -> AnyLock | None:
    settings = ZK | {"hoodie.write.lock.provider": provider, "hoodie.base.path": base}
    return supported_lock(table, Locking(settings)).lock


def at(table: Table, uri: str) -> Table:
    """The same table, as if it were at a URI."""

    class Elsewhere:
        def __init__(self) -> None:
            self.uri = uri

    return Table(Elsewhere(), table.properties, table.layout, 9, table.zone)  # type: ignore[arg-type]


@pytest.mark.parametrize("base", HASHES)
def test_the_hash_is_hudis(base: str) -> None:
    assert hash_of(base) == HASHES[base]


def test_the_lock_has_the_hash_as_its_name(small: Small) -> None:
    table = at(small(9), "s3a://lake/trips")
    item = lock_of(table, DYNAMODB_IMPLICIT, "s3://lake/trips/")
    assert isinstance(item, ItemLock)
    assert (item.key, item.place) == ("ABACFC14EFEF7546", "dynamodb://us-east-1/hudi_locks/ABACFC14EFEF7546")
    node = lock_of(table, ZOOKEEPER_IMPLICIT, "s3a://lake/trips")
    assert node == NodeLock(
        "zookeeper://zk/tmp/52B6F91537859B95/lock_key", "zk", "/tmp/52B6F91537859B95/lock_key", 60_000, 15_000
    )


@pytest.mark.parametrize("provider", PROVIDERS)
def test_without_the_writers_base_path_it_is_not_guessed(small: Small, provider: str) -> None:
    """Another spelling would be another lock, which no writer waits for."""
    with pytest.raises(Unsupported, match=r"--hoodie-conf hoodie\.base\.path=PATH") as caught:
        supported_lock(small(9), Locking(ZK | {"hoodie.write.lock.provider": provider}))
    assert "as the writers spell it" in caught.value.message


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("uri", "base"),
    [
        ("s3a://lake/trips", "s3://lake/trips2"),
        ("s3a://lake/trips", "s3://other/trips"),
        ("file:///lake/trips", "/lake"),
        ("file:///lake/trips", "trips"),
    ],
)
def test_the_base_path_of_another_table_is_refused(small: Small, provider: str, uri: str, base: str) -> None:
    with pytest.raises(UsageError, match="is another table than"):
        lock_of(at(small(9), uri), provider, base)


@pytest.mark.parametrize(
    ("uri", "base"),
    [
        ("s3a://lake/trips", "S3://lake/trips/"),
        ("s3a://lake/trips", "s3://lake//trips"),
        ("file:///lake/trips", "file:/lake/trips"),
        ("file:///lake/trips", "/lake/trips/"),
        ("hdfs://node:8020/lake/trips", "hdfs://nameservice/lake/trips"),
        ("hdfs://node:8020/lake/trips", "/lake/trips"),
        ("abfss://c@a.dfs.core.windows.net/trips", "abfs://c@a.dfs.core.windows.net/trips"),
    ],
)
def test_other_spellings_of_the_table_are_hashed_as_they_are(small: Small, uri: str, base: str) -> None:
    lock = lock_of(at(small(9), uri), DYNAMODB_IMPLICIT, base)
    assert isinstance(lock, ItemLock)
    assert lock.key == hash_of(base)


@pytest.mark.parametrize(("provider", "package"), [(DYNAMODB_IMPLICIT, "boto3"), (ZOOKEEPER_IMPLICIT, "kazoo")])
def test_it_needs_packages(small: Small, monkeypatch: pytest.MonkeyPatch, provider: str, package: str) -> None:
    table = small(9)
    settings = Locking(ZK | {"hoodie.write.lock.provider": provider, "hoodie.base.path": table.uri})
    for missing in (package, "xxhash"):
        monkeypatch.setattr(config, "find_spec", lambda name, missing=missing: name != missing)
        assert f"pip install {missing}" in lock_config(table, settings).unsupported


def test_zookeeper_needs_its_hosts(small: Small) -> None:
    table = small(9)
    settings = {"hoodie.write.lock.provider": ZOOKEEPER_IMPLICIT, "hoodie.base.path": table.uri}
    with pytest.raises(UsageError, match=r"zookeeper\.url is missing"):
        lock_config(table, Locking(settings))
