"""What the tests of locks share with others."""

import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from hudictl.ops.session import Silent
from hudictl.table.locks.config import FILE_SYSTEM, ZOOKEEPER, Locking
from hudictl.table.locks.hold import Hold, hold
from hudictl.table.locks.providers import contender_of
from hudictl.table.open import open_table
from tests.interop.judge import Judge
from tests.interop.zookeeper import ZooKeeper, start_zookeeper

Settings = dict[str, str]


WRITER = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "200",
    "hoodie.write.lock.client.num_retries": "300",
}


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeper]:
    with start_zookeeper(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture
def settings(request: pytest.FixtureRequest, kind: str, version: str, tmp_path: Path) -> Settings:
    """A lock of its own for each test."""
    if kind == "file_system":
        return WRITER | {"hoodie.write.lock.provider": FILE_SYSTEM}
    server: ZooKeeper = request.getfixturevalue("zookeeper")
    return WRITER | {
        "hoodie.write.lock.provider": ZOOKEEPER,
        "hoodie.write.lock.zookeeper.url": server.hosts,
        "hoodie.write.lock.zookeeper.base_path": f"/hudi/{tmp_path.name}",
        "hoodie.write.lock.zookeeper.session_timeout_ms": "4000",
    }


def held_by_hudictl(base: Path, settings: Settings, wait_ms: int = 60_000) -> AbstractContextManager[Hold]:
    return hold(open_table(str(base)), "test", Silent(), Locking(settings, wait_ms), contender_of)


def waits(work: "Future[object]", seconds: float = 2.0) -> bool:
    """Whether it is still at work after a while."""
    time.sleep(seconds)
    return not work.done()


def completed(hudi: Judge, base: Path) -> set[str]:
    return {entry[0] for entry in hudi.timeline(base) if entry[1] == "commit" and entry[2] == "COMPLETED"}
