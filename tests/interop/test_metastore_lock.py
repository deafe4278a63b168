"""The lock in a Hive metastore, beside Hudi's own provider and on a real metastore."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hudictl.errors import Conflict
from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.table.locks.claim import Owner
from hudictl.table.locks.config import METASTORE, Locking, MetastoreLock
from hudictl.table.locks.hive_metastore import (
    QueuedLock,
    free_expired_metastore_lock,
    look_at_metastore_lock,
    metastore_lock,
)
from hudictl.table.open import open_table
from tests import support
from tests.helpers import session, tree
from tests.interop import product
from tests.interop.judge import Judge, start
from tests.interop.locks_support import WRITER, completed, held_by_hudictl, waits
from tests.interop.metastore import TIMEOUT_S, Metastore, start_metastore

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
Settings = dict[str, str]
WAIT_MS = 10_000
"""Of Hudi's provider, for the metastore's answer. It leaves its request in the queue if this is too short."""


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metastore]:
    with start_metastore(tmp_path_factory.mktemp("metastore") / "server") as server:
        yield server


@pytest.fixture
def settings(metastore: Metastore, tmp_path: Path) -> Settings:
    """A lock of its own for each test; no table of this name is in the metastore."""
    return settings_for(metastore.uri, tmp_path.name)


def settings_for(uri: str, name: str) -> Settings:
    return WRITER | {
        "hoodie.write.lock.provider": METASTORE,
        "hoodie.write.lock.hivemetastore.uris": uri,
        "hoodie.write.lock.hivemetastore.database": "Lake",
        "hoodie.write.lock.hivemetastore.table": name,
        "hoodie.write.lock.heartbeat_interval_ms": "1000",
    }


def lock_of(settings: Settings) -> MetastoreLock:
    uri, database, table = (settings[f"hoodie.write.lock.hivemetastore.{key}"] for key in ("uris", "database", "table"))
    return MetastoreLock(f"{uri}/{database}.{table}", uri, database, table, 1000)


def owner(uuid: str) -> Owner:
    return Owner(uuid, "host", "boot", "space", 7, "1", "restore 1")


def locked_within(hudi: Judge, base: Path, settings: Settings, seconds: float) -> bool:
    """Whether Hudi's provider gets the lock in this time, by trying again as a writer does."""
    deadline = time.monotonic() + seconds
    while not hudi.lock(base, settings, WAIT_MS):
        hudi.unlock(base, close_only=True)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


@pytest.mark.full
@pytest.mark.short("v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_each_waits_for_the_other(judge: Judges, settings: Settings, version: str, tmp_path: Path) -> None:
    """And what gave up has left nothing in the queue."""
    base = support.unpack(version, "cow_part", tmp_path)
    hudi = judge(version)
    with held_by_hudictl(base, settings) as held:
        assert not hudi.lock(base, settings, WAIT_MS)
        hudi.unlock(base, close_only=True)
        held.check()
    assert hudi.lock(base, settings, WAIT_MS)
    with pytest.raises(Conflict, match="another process holds"), held_by_hudictl(base, settings, 0):
        pass

    def work() -> str:
        with held_by_hudictl(base, settings) as held:
            held.check()
            return "done"

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(work)
        assert waits(waiting)
        hudi.unlock(base)
        assert waiting.result(30) == "done"
    assert look_at_metastore_lock(lock_of(settings), 0) is None


@pytest.mark.full
@pytest.mark.parametrize("times", [20, pytest.param(1000, marks=pytest.mark.full)])
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.short("v9-20")
def test_never_two_hold_it(judge: Judges, settings: Settings, version: str, times: int, tmp_path: Path) -> None:
    """Two threads with hudictl's request and one with Hudi's provider, until each has had it so many times."""
    base = support.unpack(version, "cow_part", tmp_path)
    hudi = judge(version)
    inside: list[str] = []
    most: list[int] = []

    def enter(name: str) -> None:
        inside.append(name)
        time.sleep(0.005)
        most.append(len(inside))
        inside.remove(name)

    def by_hudi() -> None:
        for _ in range(times):
            assert locked_within(hudi, base, settings, 120)
            enter("hudi")
            hudi.unlock(base)

    def by_hudictl(name: str) -> None:
        for _ in range(times):
            with metastore_lock(lock_of(settings), owner(name)) as lock:
                while lock.holder() is not None:
                    time.sleep(0.01)
                enter(name)
                lock.check()

    with ThreadPoolExecutor(3) as pool:
        done = [pool.submit(by_hudi), pool.submit(by_hudictl, "one"), pool.submit(by_hudictl, "two")]
        for each in done:
            each.result(3600)
    assert (len(most), max(most)) == (3 * times, 1)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_killed_hudictl_is_waited_out(judge: Judges, settings: Settings, version: str, tmp_path: Path) -> None:
    """For as long as the metastore's timeout says, by Hudi's provider."""
    base = support.unpack(version, "cow_part", tmp_path)
    hudi = judge(version)
    product.hold_and_die(base, settings)
    begun = time.monotonic()
    assert locked_within(hudi, base, settings, 5 * TIMEOUT_S)
    assert time.monotonic() - begun > TIMEOUT_S / 2
    hudi.unlock(base)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_killed_writer_is_waited_out(settings: Settings, version: str, tmp_path: Path) -> None:
    """A living one beats for longer than that timeout."""
    base = support.unpack(version, "cow_part", tmp_path)
    with start(version) as hudi:
        assert hudi.lock(base, settings, WAIT_MS)
        with pytest.raises(Conflict, match="another process holds"), held_by_hudictl(base, settings, TIMEOUT_S * 1500):
            pass
        os.killpg(hudi.process.pid, signal.SIGKILL)
        begun = time.monotonic()
        with held_by_hudictl(base, settings, TIMEOUT_S * 5000) as held:
            held.check()
        assert time.monotonic() - begun > TIMEOUT_S / 2


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_hudi_writer_waits_for_a_restore(judge: Judges, settings: Settings, version: str, tmp_path: Path) -> None:
    """And commits once hudictl is through."""
    base = support.unpack(version, "cow_savepoints", tmp_path)
    hudi = judge(version)
    target = max(entry[0] for entry in hudi.timeline(base) if entry[1] == "savepoint")
    rows = support.facts(version, "cow_savepoints")["rows"]
    with ThreadPoolExecutor(1) as pool:
        with held_by_hudictl(base, settings) as held:
            first = hudi.read(base, columns=("id", "ts", "val", "p"))[0]
            written = pool.submit(hudi.upsert, base, [[first[0], 9_999_999, "x", first[3]]], "upsert", settings)
            assert waits(written, 8)
            held.check()
        instant = written.result(120)
    assert instant in completed(hudi, base)
    assert product.restore(base, target, RestoreOptions(), Locking(settings)) is not None
    assert hudi.both_rows(base) == rows[target]


@pytest.mark.full
@pytest.mark.parametrize("version", ["v9"])
def test_a_lock_that_is_lost_stops_a_restore(settings: Settings, version: str, tmp_path: Path) -> None:
    """Before its next step: no file was deleted, and the same command finishes it."""
    base = support.unpack(version, "cow_savepoints", tmp_path)
    target = max(path.name.partition(".")[0].partition("_")[0] for path in base.rglob("*.savepoint"))
    before = {path for path in tree(base) if path.endswith(".parquet")}
    opened = session(open_table(str(base)), locking=Locking(settings))
    plan = plan_restore(opened, target, RestoreOptions(settle_s=3.0))

    def take_away() -> None:
        while not any((base / ".hoodie/timeline").glob("*.restore.requested")):
            time.sleep(0.01)
        sign = look_at_metastore_lock(lock_of(settings), 0)
        assert sign is not None
        QueuedLock(lock_of(settings), json.loads(sign.content)["lockid"]).release()

    with ThreadPoolExecutor(1) as pool:
        taken = pool.submit(take_away)
        with pytest.raises(Conflict, match="may have lost the lock: the metastore has removed it"):
            execute_restore(opened, plan)
        taken.result(10)
    assert {path for path in tree(base) if path.endswith(".parquet")} == before
    assert product.restore(base, target, RestoreOptions(), Locking(settings)) is not None


@pytest.mark.full
def test_without_housekeeping_a_dead_owners_lock_stays(judge: Judges, tmp_path: Path) -> None:
    """As Hive 2 starts its metastore by itself. It can be removed by hand: then Hudi's provider gets it."""
    base = support.unpack("v9", "cow_part", tmp_path)
    hudi = judge("v9")
    with start_metastore(tmp_path / "server", housekeeping=False) as server:
        settings = settings_for(server.uri, "t")
        lock = lock_of(settings)
        product.hold_and_die(base, settings)
        sign = look_at_metastore_lock(lock, int(time.time() * 1000))
        assert sign is not None
        assert not free_expired_metastore_lock(lock, sign, owner("too early"))
        assert not locked_within(hudi, base, settings, 2 * TIMEOUT_S)
        sign = look_at_metastore_lock(lock, int(time.time() * 1000))
        assert sign is not None
        assert sign.expires_in_ms is not None
        assert sign.expires_in_ms < 0
        assert free_expired_metastore_lock(lock, sign, owner("breaks it"))
        assert hudi.lock(base, settings, WAIT_MS)
        hudi.unlock(base)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
def test_hudis_provider_leaves_a_request_behind_whose_answer_is_late(
    judge: Judges, settings: Settings, version: str, tmp_path: Path
) -> None:
    """With a wait of 0 ms. It is granted, to nobody, until the metastore removes it."""
    base = support.unpack(version, "cow_part", tmp_path)
    hudi = judge(version)
    assert not hudi.lock(base, settings, 0)
    hudi.unlock(base, close_only=True)
    time.sleep(1)
    assert look_at_metastore_lock(lock_of(settings), 0) is not None
    with held_by_hudictl(base, settings, TIMEOUT_S * 5000) as held:
        held.check()
