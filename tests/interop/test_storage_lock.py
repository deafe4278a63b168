"""Hudi's storage lock on S3 (moto's), beside the real Hudi: its provider and hudictl queue for one object.

The store's client is ours (S3StorageLockClient.java): Hudi's own is not on Maven Central. The provider is Hudi's.
"""

import json
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hudictl.errors import Conflict
from hudictl.formats.layouts import OWN
from hudictl.ops.session import Silent
from hudictl.table.locks import hold as module_of_hold
from hudictl.table.locks.claim import current_owner
from hudictl.table.locks.config import STORAGE, STORAGE_LOCK, Locking, StorageLock
from hudictl.table.locks.hold import hold, locked
from hudictl.table.locks.providers import contender_of
from hudictl.table.open import open_table
from hudictl.table.table import Table
from tests import support
from tests.interop.judge import Judge, s3a, start
from tests.interop.lake import Lake
from tests.s3 import BUCKET, S3

pytestmark = pytest.mark.hudi

SETTINGS = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.write.lock.provider": STORAGE,
    "hoodie.write.lock.storage.validity.timeout.secs": "10",
    "hoodie.write.lock.storage.renew.interval.secs": "1",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "200",
    "hoodie.write.lock.client.num_retries": "300",
}


@pytest.fixture(scope="module", params=["v8", "v9"])
def judge(request: pytest.FixtureRequest, s3: S3) -> Iterator[Judge]:
    with start(request.param, s3a(s3.endpoint)) as running:
        yield running


@pytest.fixture
def table(judge: Judge, s3: S3, tmp_path_factory: pytest.TempPathFactory) -> Table:
    base = support.unpack(judge.version, "cow_flat_nomdt", tmp_path_factory.mktemp("lake"))
    return open_table(s3.upload(base, f"lock/{uuid.uuid4()}"), s3.options)


def lock_of(table: Table) -> dict[str, object]:
    return dict(json.loads(table.storage.read(STORAGE_LOCK)))


@pytest.mark.short("v9")
def test_each_waits_for_the_other(judge: Judge, table: Table) -> None:
    """Whoever comes first; the file is Hudi's own in each state, whoever has written it."""
    assert judge.lock(table.uri, SETTINGS, 500)
    theirs = lock_of(table)
    assert (list(theirs), theirs["expired"]) == (["expired", "validUntil", "owner"], False)
    with (
        pytest.raises(Conflict, match=str(theirs["owner"])),
        hold(table, "x", Silent(), Locking(SETTINGS, 0), contender_of),
    ):
        pass
    judge.unlock(table.uri)
    assert lock_of(table) == {**theirs, "validUntil": lock_of(table)["validUntil"], "expired": True}
    with hold(table, "x", Silent(), Locking(SETTINGS, 0), contender_of) as held:
        held.check()
        assert not judge.lock(table.uri, SETTINGS, 500)
        judge.unlock(table.uri)
        held.check()
    assert judge.lock(table.uri, SETTINGS, 500)
    judge.unlock(table.uri)


@pytest.mark.short("v9-20")
@pytest.mark.parametrize("turns", [20, 1000])
def test_never_both_at_once(judge: Judge, table: Table, monkeypatch: pytest.MonkeyPatch, turns: int) -> None:
    monkeypatch.setattr(module_of_hold, "_POLL_SECONDS", 0.01)
    lock, owner = StorageLock("the lock", STORAGE_LOCK, 10_000, 1_000), current_owner("test")
    inside: list[str] = []
    seen: list[tuple[str, ...]] = []
    stop = threading.Event()

    def enter(name: str) -> None:
        inside.append(name)
        seen.append(tuple(inside))
        time.sleep(0.002)
        seen.append(tuple(inside))
        inside.remove(name)

    def hudis() -> None:
        while not stop.is_set():
            if judge.lock(table.uri, SETTINGS, 1):
                enter("hudi")
            judge.unlock(table.uri)

    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(hudis)
        try:
            for turn in range(turns):
                with locked(table, lock, owner, 60_000, Silent(), contender_of) as held:
                    enter("hudictl")
                    held.check()
                # Hudi makes a provider for each try, and would hardly ever come in time.
                time.sleep(0.1)
                if turn % 20 == 10:
                    before, until = seen.count(("hudi",)), time.monotonic() + 60
                    while seen.count(("hudi",)) == before and time.monotonic() < until:
                        time.sleep(0.01)
                    assert seen.count(("hudi",)) > before, "both have their turns"
        finally:
            stop.set()
        theirs.result(60)
    assert max(map(len, seen)) == 1


@pytest.mark.full
def test_a_dead_owner_is_waited_out(judge: Judge, table: Table) -> None:
    """By each: a lock that nobody renews is free when its time is over, and not before."""
    owner = '{"expired":false,"validUntil":%d,"owner":"dead"}'
    table.storage.replace(STORAGE_LOCK, (owner % ((time.time() + 4) * 1000)).encode())
    begun = time.monotonic()
    assert not judge.lock(table.uri, SETTINGS, 500)
    judge.unlock(table.uri)
    with hold(table, "x", Silent(), Locking(SETTINGS, 20_000), contender_of) as held:
        assert time.monotonic() - begun > 4
        held.check()
    table.storage.replace(STORAGE_LOCK, (owner % ((time.time() + 4) * 1000)).encode())
    begun = time.monotonic()
    assert judge.lock(table.uri, SETTINGS, 20_000)
    assert time.monotonic() - begun > 4
    judge.unlock(table.uri)


@pytest.mark.full
def test_a_lock_that_is_held_long_is_renewed_by_each(judge: Judge, table: Table) -> None:
    """Longer than it is valid."""
    assert judge.lock(table.uri, SETTINGS, 500)
    with pytest.raises(Conflict), hold(table, "x", Silent(), Locking(SETTINGS, 14_000), contender_of):
        pass
    judge.unlock(table.uri)
    with hold(table, "x", Silent(), Locking(SETTINGS, 0), contender_of) as held:
        assert not judge.lock(table.uri, SETTINGS, 14_000)
        judge.unlock(table.uri)
        held.check()


@pytest.mark.full
def test_a_restore_and_a_writer_wait_for_each_other(judge: Judge, s3: S3) -> None:
    """The writer commits once hudictl is through; a restore changes nothing while a writer has the lock."""
    lake = Lake(judge, f"s3a://{BUCKET}", s3.options)
    made = lake.make("cow-locked")
    lake.savepoint(made.uri, made.writes[1])
    table = lake.table(made.uri)
    rows = judge.read(made.uri, columns=("id", "ts", "val", "p"))[:1]
    change = [[rows[0][0], 9_999_999, "x", rows[0][3]]]
    with ThreadPoolExecutor(1) as pool:
        with hold(table, "x", Silent(), Locking(SETTINGS, 0), contender_of) as held:
            written = pool.submit(judge.upsert, made.uri, change, "upsert", SETTINGS)
            time.sleep(8)
            assert not written.done()
            held.check()
        assert written.result(120)
        before = s3.names(made.uri.partition(f"{BUCKET}/")[2])
        assert judge.lock(made.uri, SETTINGS, 500)
        restored = pool.submit(lake.restore, made.uri, made.writes[1], None, Locking(SETTINGS))
        time.sleep(8)
        assert not restored.done()
        assert {name for name in s3.names(made.uri.partition(f"{BUCKET}/")[2]) - before if OWN not in name} == set()
        judge.unlock(made.uri)
        restored.result(120)
    assert lake.rows(made.uri) == made.seen(1)
    lake.go_on(made.uri, made.rows[made.writes[1]], options=SETTINGS)
    assert lock_of(table)["expired"] is True
