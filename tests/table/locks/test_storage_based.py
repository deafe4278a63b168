"""Hudi's storage lock, on S3: taken, renewed, released, lost."""

import json
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hudictl.errors import Conflict, StorageFailed
from hudictl.ops.session import Silent
from hudictl.table.locks import storage_based as module
from hudictl.table.locks.config import STORAGE, STORAGE_LOCK, Locking, StorageLock
from hudictl.table.locks.hold import hold
from hudictl.table.locks.providers import contender_of
from hudictl.table.locks.storage_based import LockObject
from hudictl.table.open import open_table
from hudictl.table.table import Table
from hudictl.table.writers.beat import kept_alive
from tests import support
from tests.s3 import ONE_TRY, S3, fail_with
from tests.storage.contract import swapping
from tests.table.conftest import Small, base_of

SETTINGS = {"hoodie.write.lock.provider": STORAGE, "hoodie.write.lock.storage.validity.timeout.secs": "100"}
TAKEN = Locking(SETTINGS | {"hoodie.write.lock.storage.renew.interval.secs": "10"}, 0)


@pytest.fixture(scope="module")
def opened(s3: S3, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A client takes half a second to make."""
    base = tmp_path_factory.mktemp("lake")
    (base / ".hoodie").mkdir()
    (base / ".hoodie/hoodie.properties").write_text(PROPERTIES)
    table = open_table(s3.upload(base, str(uuid.uuid4())), {**s3.options, **ONE_TRY})
    table.storage.filesystem.retries = 1  # type: ignore[attr-defined]
    return table


PROPERTIES = """\
hoodie.table.name=t
hoodie.table.type=COPY_ON_WRITE
hoodie.table.version=9
hoodie.timeline.layout.version=2
"""


@pytest.fixture
def table(opened: Table, s3: S3) -> Table:
    """The same table, without a lock."""
    prefix = opened.uri.rpartition("/")[2]
    for name in s3.names(prefix) - {".hoodie/hoodie.properties"}:
        s3.backend.delete_object("lake", f"{prefix}/{name}")
    return opened


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", support.short_sleep)


def lock_of(table: Table) -> dict[str, Any]:
    return dict(json.loads(table.storage.read(STORAGE_LOCK)))


def put(table: Table, valid_for_s: float, owner: str = "a writer", *, expired: bool = False) -> bytes:
    """As Hudi writes it: compact, in this order."""
    until = int((time.time() + valid_for_s) * 1000)
    body = f'{{"expired":{str(expired).lower()},"validUntil":{until},"owner":"{owner}"}}'.encode()
    table.storage.replace(STORAGE_LOCK, body)
    return body


def contender(table: Table, owner: str = "hudictl-me") -> LockObject:
    return LockObject(swapping(table.storage), StorageLock("the lock", STORAGE_LOCK, 100_000, 10_000), owner)


@pytest.mark.slow
def test_the_lock_is_held_and_given_back(table: Table) -> None:
    """It is never deleted; an error gives it back, too."""
    for _ in range(2):
        with hold(table, "restore S", Silent(), TAKEN, contender_of) as held:
            held.check()
            body = table.storage.read(STORAGE_LOCK)
            lock = json.loads(body)
            assert list(lock) == ["expired", "validUntil", "owner"]
            assert b" " not in body
            assert lock["owner"].startswith("hudictl-")
            assert held.claim.owner.uuid in lock["owner"]
            assert 95_000 < lock["validUntil"] - time.time() * 1000 <= 100_000
            assert lock["expired"] is False
        assert lock_of(table) == {**lock, "expired": True}
    with pytest.raises(ZeroDivisionError), hold(table, "x", Silent(), TAKEN, contender_of):
        raise ZeroDivisionError
    assert lock_of(table)["expired"] is True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("valid_for_s", "expired", "free"),
    [(60, False, False), (-0.2, False, False), (-0.6, False, True), (60, True, True)],
)
def test_when_a_lock_is_free(
    table: Table, monkeypatch: pytest.MonkeyPatch, valid_for_s: float, expired: bool, free: bool
) -> None:
    """Half a second after its time, as for Hudi; another's lock is not touched."""
    now_ms = int(time.time() * 1000)
    monkeypatch.setattr(module, "host_now_ms", lambda: now_ms)
    body = put(table, valid_for_s, expired=expired)
    if free:
        with hold(table, "x", Silent(), TAKEN, contender_of) as held:
            held.check()
        return
    with pytest.raises(Conflict, match="a writer, which expires in"), hold(table, "x", Silent(), TAKEN, contender_of):
        pytest.fail("held")
    assert table.storage.read(STORAGE_LOCK) == body


@pytest.mark.slow
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"expired":false,"owner":"x"}'])
def test_a_lock_that_cannot_be_read_is_held(table: Table, body: bytes) -> None:
    table.storage.replace(STORAGE_LOCK, body)
    with pytest.raises(Conflict, match="an unknown owner"), hold(table, "x", Silent(), TAKEN, contender_of):
        pytest.fail("held")
    assert table.storage.read(STORAGE_LOCK) == body


@pytest.mark.slow
def test_a_dead_hudictls_lock_is_taken_over(table: Table) -> None:
    """It held the claim, and this process has it now."""
    dead = contender(table, "hudictl-dead")
    assert dead.holder() is None
    with hold(table, "x", Silent(), TAKEN, contender_of) as held:
        held.check()
        with pytest.raises(Conflict, match="another process has taken it"):
            dead.check()
        dead.renew()
        dead.release()
        held.check()


def test_of_two_that_look_at_once_one_takes_it(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    put(table, 60, expired=True)
    real = module.swap

    def late(*arguments: Any) -> Any:
        monkeypatch.setattr(module, "swap", real)
        put(table, 60, "the faster one")
        return real(*arguments)

    monkeypatch.setattr(module, "swap", late)
    late_one = contender(table)
    assert late_one.holder() == "a writer that took it at the same moment"
    with pytest.raises(Conflict, match="it was not taken"):
        late_one.check()
    assert (late_one.holder() or "").startswith("the faster one")


@pytest.mark.slow
def test_it_is_renewed(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the thread that renews it ends before it is released."""
    renewed = []

    def quick(beat: Callable[[], None], every_s: float) -> Any:
        renewed.append(every_s)
        return kept_alive(beat, 0.05)

    monkeypatch.setattr(module, "kept_alive", quick)
    with hold(table, "x", Silent(), TAKEN, contender_of) as held:
        first = lock_of(table)["validUntil"]
        deadline = time.monotonic() + 10
        while lock_of(table)["validUntil"] == first and time.monotonic() < deadline:
            pass
        assert lock_of(table)["validUntil"] > first
        held.check()
    assert renewed == [10]
    assert lock_of(table)["expired"] is True


@pytest.mark.parametrize("how", ["taken", "deleted"])
def test_a_lock_that_was_stolen_stops_the_next_step(table: Table, how: str) -> None:
    """And is neither renewed nor released: it is another's now."""
    own = contender(table)
    assert own.holder() is None
    own.check()
    body = put(table, 60, "a thief") if how == "taken" else None
    if how == "deleted":
        table.storage.delete([STORAGE_LOCK])
    with pytest.raises(Conflict, match=f"another process has {how} it"):
        own.check()
    own.renew()
    own.release()
    found = table.storage.stat(STORAGE_LOCK)
    assert (None if found is None else table.storage.read(STORAGE_LOCK)) == body


def test_a_renewal_that_meets_another_owner_stops_the_next_step(table: Table) -> None:
    own = contender(table)
    assert own.holder() is None
    body = put(table, 60, "a thief")
    own.renew()
    table.storage.replace(STORAGE_LOCK, own.held.body if own.held else b"")
    with pytest.raises(Conflict, match="another process has written it"):
        own.check()
    own.release()
    assert table.storage.read(STORAGE_LOCK) != body


@pytest.mark.slow
def test_a_store_that_does_not_answer_is_no_other_owner(s3: S3, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is kept until its time is over, and no longer."""
    own = contender(table)
    assert own.holder() is None
    with s3.interfering(fail_with("503 Service Unavailable", "SlowDown", "PUT")), pytest.raises(StorageFailed):
        own.renew()
    own.check()
    own.renew()
    own.check()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 101)
    with pytest.raises(Conflict, match="could not be renewed"):
        own.check()


def test_a_contender_that_gets_no_answer_waits(s3: S3, table: Table) -> None:
    own = contender(table)
    with s3.interfering(fail_with("409 Conflict", "ConditionalRequestConflict", "PUT")):
        assert (own.holder() or "").startswith("not known")
    assert own.holder() is None


@pytest.mark.slow
def test_a_release_is_tried_again(s3: S3, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Hudi does: after 1, 2 and 4 seconds. One that fails says until when writers wait."""
    busy = fail_with("503 Service Unavailable", "SlowDown", "PUT")
    paused: list[float] = []

    def pause(seconds: float) -> None:
        # Threads of other tests may wait, too.
        if threading.current_thread() is not threading.main_thread():
            return
        paused.append(seconds)
        if len(paused) == 3:
            s3.interferences.remove(busy)

    monkeypatch.setattr(module.time, "sleep", pause)
    own = contender(table)
    assert own.holder() is None
    s3.interferences.append(busy)
    own.release()
    assert paused == [1, 2, 4]
    assert lock_of(table)["expired"] is True

    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    with pytest.raises(StorageFailed) as told, hold(table, "x", Silent(), TAKEN, contender_of):
        s3.interferences.append(busy)
    s3.interferences.remove(busy)
    assert "writers wait for this lock until it expires" in told.value.hint


def test_a_process_that_slept_does_not_go_on(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    own = contender(table)
    assert own.holder() is None
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 100.1)
    with pytest.raises(Conflict, match="has expired"):
        own.check()


def test_local_files_have_no_such_lock(small: Small) -> None:
    from hudictl.table.locks.config import lock_config

    config = lock_config(open_table(str(base_of(small(9)))), TAKEN)
    assert "works only on s3, s3a, gs, abfs, abfss" in config.unsupported
    assert replace(config, unsupported="").taken
