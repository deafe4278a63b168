"""The lock in a Hive metastore, on a server in this process. The real metastore is asked in tests/interop."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from hudictl.errors import Conflict, StorageFailed
from hudictl.table.locks.claim import Owner
from hudictl.table.locks.config import MetastoreLock
from hudictl.table.locks.hive_metastore import (
    duration_ms,
    free_expired_metastore_lock,
    look_at_metastore_lock,
    metastore_lock,
)
from tests.table.locks.metastore_server import Queue, serving

OURS = Owner("a-uuid", "our-host", "boot", "space", 7, "1", "restore 1")
THEIRS = replace(OURS, uuid="b-uuid", host="their-host", pid=8)
NOBODY = "thrift://127.0.0.1:1"


@pytest.fixture
def queue() -> Queue:
    return Queue()


@pytest.fixture
def lock(queue: Queue) -> Iterator[MetastoreLock]:
    with serving(queue) as uri:
        yield MetastoreLock(f"{uri}/db.t", uri, "db", "t", 60_000)


def now_ms() -> int:
    return int(time.time() * 1000)


def test_the_first_request_holds_the_lock_and_the_second_one_waits(queue: Queue, lock: MetastoreLock) -> None:
    """Also for one that asks again and again, as Hudi's provider does: it comes after those that wait."""
    with metastore_lock(lock, THEIRS) as first:
        assert first.holder() is None
        first.check()
        with metastore_lock(lock, OURS) as second:
            assert second.holder() == "hudictl@their-host (hudictl b-uuid pid 8: restore 1)"
            with pytest.raises(Conflict, match="has not granted it"):
                second.check()
            first.release()
            with metastore_lock(lock, THEIRS) as third:
                assert third.holder() is not None
                assert second.holder() is None
                second.check()
    assert not queue.requests


def test_locks_of_other_tables_are_other_locks(lock: MetastoreLock) -> None:
    with metastore_lock(lock, OURS) as first, metastore_lock(replace(lock, table="u"), THEIRS) as second:
        assert (first.holder(), second.holder()) == (None, None)
    with metastore_lock(lock, OURS) as first, metastore_lock(replace(lock, database="d"), THEIRS) as second:
        assert (first.holder(), second.holder()) == (None, None)


def test_a_lock_that_the_metastore_has_removed_is_lost(queue: Queue, lock: MetastoreLock) -> None:
    with metastore_lock(lock, OURS) as held:
        assert held.holder() is None
        queue.requests.clear()
        for question in (held.check, held.holder, held.beat):
            with pytest.raises(Conflict, match="may have lost the lock: the metastore has removed it"):
                question()


def test_without_an_answer_a_lock_that_is_held_counts_as_lost(queue: Queue, lock: MetastoreLock) -> None:
    with metastore_lock(lock, OURS) as held:
        held.check()
        queue.lost.add("check_lock")
        with pytest.raises(Conflict, match=r"may have lost the lock: .* does not answer"):
            held.check()


def test_without_a_metastore_nothing_is_taken() -> None:
    with (
        pytest.raises(StorageFailed, match=f"the Hive metastore {NOBODY} does not answer"),
        metastore_lock(MetastoreLock("x", NOBODY, "db", "t", 60_000), OURS),
    ):
        pass


def test_the_next_metastore_is_asked_if_the_first_cannot_be_reached(lock: MetastoreLock) -> None:
    both = replace(lock, uris=f"{NOBODY}, {lock.uris}/")
    with metastore_lock(both, OURS) as held:
        held.check()


def test_a_request_whose_reply_was_lost_is_removed(queue: Queue, lock: MetastoreLock) -> None:
    """Or it would hold the lock until the metastore's timeout."""
    queue.lost.add("lock")
    with pytest.raises(StorageFailed), metastore_lock(lock, OURS):
        pass
    assert queue.numbers == 1
    assert not queue.requests


@pytest.mark.slow
def test_a_lock_is_renewed_before_the_metastore_removes_it(queue: Queue, lock: MetastoreLock) -> None:
    """A third of its timeout, if that is shorter than the writers' interval."""
    queue.timeout = "150ms"
    with metastore_lock(lock, OURS) as held:
        held.check()
        (entry,) = queue.requests.values()
        before = entry.lastheartbeat
        deadline = time.monotonic() + 5
        while entry.lastheartbeat <= before + 100 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert entry.lastheartbeat > before + 100


def test_what_is_seen_of_a_lock(queue: Queue, lock: MetastoreLock) -> None:
    queue.timeout = "60s"
    assert look_at_metastore_lock(lock, now_ms()) is None
    with metastore_lock(lock, THEIRS), metastore_lock(lock, OURS):
        sign = look_at_metastore_lock(lock, now_ms() + 1000)
        assert sign is not None
        assert (sign.path, sign.provider, sign.held) == (lock.place, "HiveMetastoreBasedLockProvider", True)
        assert sign.owner == "hudictl@their-host (hudictl b-uuid pid 8: restore 1)"
        assert sign.age_ms is not None
        assert sign.expires_in_ms is not None
        assert 1000 <= sign.age_ms < 9000
        assert 51_000 < sign.expires_in_ms <= 59_000
        assert json.loads(sign.content)["lockid"] == 1
        assert len(queue.requests) == 2, "looking asks for no lock"


def test_a_metastore_that_stores_names_in_lower_case(queue: Queue, lock: MetastoreLock) -> None:
    """As Hive 3 and later."""
    with metastore_lock(lock, OURS):
        assert look_at_metastore_lock(replace(lock, database="DB", table="T"), now_ms()) is not None


def test_an_expired_lock_is_removed(queue: Queue, lock: MetastoreLock) -> None:
    queue.timeout = "60s"
    with metastore_lock(lock, THEIRS):
        sign = look_at_metastore_lock(lock, now_ms())
        assert sign is not None
        queue.ahead_ms = 61_000
        assert free_expired_metastore_lock(lock, sign, OURS)
        assert not queue.requests, "nor is its own request left"
        assert not free_expired_metastore_lock(lock, sign, OURS), "it is not there any more"


def test_a_lock_that_is_not_expired_is_not_removed(queue: Queue, lock: MetastoreLock) -> None:
    """By the metastore's clock: this host's may be ahead."""
    with metastore_lock(lock, THEIRS) as held:
        sign = look_at_metastore_lock(lock, now_ms() + 3_600_000)
        assert sign is not None
        assert sign.expires_in_ms is not None
        assert sign.expires_in_ms < 0
        assert not free_expired_metastore_lock(lock, sign, OURS)
        held.check()
    assert not queue.requests


def test_a_lock_that_was_renewed_meanwhile_is_not_removed(queue: Queue, lock: MetastoreLock) -> None:
    """It has expired, but its owner is alive."""
    queue.timeout = "60s"
    with metastore_lock(lock, THEIRS) as held:
        sign = look_at_metastore_lock(lock, now_ms())
        assert sign is not None
        queue.ahead_ms = 61_000
        held.beat()
        queue.ahead_ms = 130_000
        assert not free_expired_metastore_lock(lock, sign, OURS)
        held.check()


@pytest.mark.parametrize(
    ("text", "span"),
    [("300s", 300_000), ("5min", 300_000), ("6", 6000), ("1 d", 86_400_000), ("9ms", 9), ("", None), ("5 us", None)],
)
def test_spans_of_time_as_hive_writes_them(text: str, span: int | None) -> None:
    assert duration_ms(text) == span
