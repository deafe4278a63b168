"""A process that stood still: what it does before its next change."""

import pickle
from pathlib import Path

import pytest

from hudictl.errors import Conflict
from hudictl.storage.base import Exclusive, Folders, KeyOrder, Leases, Storage, Versions
from hudictl.storage.descriptors import unlink_in
from hudictl.storage.guard import CHANGES, STANDSTILL_SECONDS
from hudictl.storage.hdfs import HdfsStorage
from hudictl.storage.keeping import Keeping
from hudictl.storage.local import LocalStorage
from hudictl.storage.remote import RemoteStorage
from hudictl.storage.s3 import S3Storage

READS = {
    *("uri", "guard", "below", "above", "require_writable", "behind_link", "absolute", "list", "stat", "has_folder"),
    *("read", "keeps_deleted", "files_in_one_listing", "files_between", "keeps_versions", "versions_now"),
    *("versions_gone", "read_version_of", "delete_batch", "unfinished"),
    # It makes what is there durable, and locks that no other process can have when it goes on.
    *("sync", "alone"),
}


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 1_000_000.0
        monkeypatch.setattr("hudictl.storage.guard.time.time", lambda: self.now_s)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def store(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path), ".tmp")


def lost() -> None:
    raise Conflict("another hudictl has taken over")


def test_what_can_be_done_to_a_store_is_a_change_or_reads() -> None:
    """A new method is in one of the two."""
    kinds: tuple[type, ...] = (Storage, Folders, KeyOrder, Versions, Leases, Exclusive)
    named = {name for kind in kinds for name in vars(kind) if not name.startswith("_")}
    assert named == {*READS, *CHANGES}
    assert not READS & set(CHANGES)


@pytest.mark.parametrize("kind", [LocalStorage, RemoteStorage, S3Storage, HdfsStorage, Keeping])
def test_each_change_of_a_store_is_guarded(kind: type) -> None:
    own = {name for name in vars(kind) if name in CHANGES}
    assert own
    assert [name for name in own if not hasattr(getattr(kind, name), "__wrapped__")] == []


def test_after_a_standstill(store: LocalStorage, clock: Clock) -> None:
    """It looks first; where others have taken over, it changes nothing, however often it tries."""
    with store.guard.looking(lost):
        for _ in range(5):
            clock.now_s += STANDSTILL_SECONDS
            store.replace("f", b"mine")
        clock.now_s += STANDSTILL_SECONDS + 1
        for _ in range(2):
            with pytest.raises(Conflict):
                store.replace("f", b"late")
            with pytest.raises(Conflict):
                store.below("folder").create("g", b"late")
            with pytest.raises(Conflict):
                store.delete(["f"])
        assert store.read("f") == b"mine"
    store.replace("f", b"of the next operation")


@pytest.mark.parametrize("step_s", [STANDSTILL_SECONDS + 1, -3600.0])
def test_a_look_that_finds_all_well(store: LocalStorage, clock: Clock, step_s: float) -> None:
    """One look for one standstill, also where the clock was set back."""
    looks: list[float] = []
    with store.guard.looking(lambda: looks.append(clock.now_s)):
        clock.now_s += step_s
        store.create("f", b"")
        store.create("g", b"")
    assert looks == [clock.now_s]


def test_no_operation(store: LocalStorage, clock: Clock) -> None:
    """Between operations there is nothing to look at; each begins awake."""
    store.create("f", b"")
    clock.now_s += 3600
    store.replace("f", b"")
    clock.now_s += 3600
    with store.guard.looking(lost):
        store.replace("f", b"")


def test_what_is_kept_is_guarded(store: LocalStorage, clock: Clock) -> None:
    store.create("f", b"old")
    keeping = Keeping(store, "room", "own")
    with store.guard.looking(lost):
        clock.now_s += 60
        with pytest.raises(Conflict):
            keeping.delete(["f"])
    assert store.read("f") == b"old"


def test_another_process_has_a_guard_of_its_own(store: LocalStorage, clock: Clock) -> None:
    """Tasks of an engine: their fence knows more."""
    with store.guard.looking(lost):
        sent: LocalStorage = pickle.loads(pickle.dumps(store))
        clock.now_s += 60
        sent.create("f", b"")


def test_a_task_looks_however_much_it_does(store: LocalStorage, clock: Clock) -> None:
    """In its process nobody else looks whether its operation goes on; where it has ended, nothing is changed."""
    looks: list[float] = []
    sent: LocalStorage = pickle.loads(pickle.dumps(store))
    sent.guard.begin_task(lambda: looks.append(clock.now_s))
    begun = clock.now_s
    for step in range(10):
        clock.now_s = begun + 0.3 * step
        sent.replace("f", b"x")
    assert looks == [begun, begun + 1.2, begun + 2.4]
    sent.guard.begin_task(lambda: None)
    clock.now_s += 0.5
    sent.delete(["f"])
    assert store.stat("f") is None


def test_each_file_of_a_task_is_guarded(store: LocalStorage, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mounted store may take long for each."""
    for name in "abc":
        store.create(name, b"")
    sent: LocalStorage = pickle.loads(pickle.dumps(store))
    left = [2]

    def one_less() -> None:
        left[0] -= 1
        if not left[0]:
            raise Conflict("the operation has ended")

    sent.guard.begin_task(one_less)

    def unlink_slowly(name: str, folder: int) -> None:
        clock.now_s += 1
        unlink_in(name, folder)

    monkeypatch.setattr("hudictl.storage.local.unlink_in", unlink_slowly)
    with pytest.raises(Conflict):
        sent.delete(["a", "b", "c"])
    assert [name for name in "abc" if store.stat(name)] == ["b", "c"]


def test_a_guard_is_no_part_of_what_a_storage_is(store: LocalStorage, tmp_path: Path) -> None:
    assert store == LocalStorage(str(tmp_path), ".tmp")
    assert "Guard" not in repr(store)
