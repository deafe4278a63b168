"""Holding a table: the claim, and the lock file of Hudi's file system provider."""

import json
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from hudictl.errors import Conflict, Interrupted, StorageFailed, Unsupported
from hudictl.storage.base import DeleteOutcome
from hudictl.storage.local import LocalStorage
from hudictl.table.locks import file_system as module
from hudictl.table.locks import hold as module_of_hold
from hudictl.table.locks.config import FILE_SYSTEM, NOTHING_SAID, FileLock, Locking
from hudictl.table.locks.file_system import LockFile, lock_file
from hudictl.table.locks.hold import Hold
from hudictl.table.locks.providers import contender_of
from hudictl.table.open import open_table
from hudictl.table.table import Table
from hudictl.table.writers import beat
from tests import support
from tests.crash.inject import Crash, copy, dying
from tests.helpers import FailDeletion
from tests.table.conftest import Small, base_of

PROVIDER = {"hoodie.write.lock.provider": FILE_SYSTEM}
EXPIRING = PROVIDER | {"hoodie.write.lock.filesystem.expire": "5"}


class Watch:
    """Notes what it is told, and acts at the n-th look while waiting."""

    def __init__(self, act: Callable[[], None] = lambda: None, at: int = 0) -> None:
        self.steps: list[str] = []
        self.looks = 0
        self.act = act
        self.at = at

    def step(self, name: str) -> None:
        self.steps.append(name)

    def check(self) -> None:
        if self.looks == self.at:
            self.act()
        self.looks += 1


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", support.short_sleep)


@dataclass(frozen=True)
class Locked(Table):
    """A table with what the operator says of its writers' locks."""

    locking: Locking = NOTHING_SAID


def locked(table: Table, settings: dict[str, str] = PROVIDER, wait_ms: int = 0, *, off: bool = False) -> Table:
    return Locked(**vars(open_table(table.uri)), locking=Locking(settings, wait_ms, off))


def hold(table: Table, command: str, watch: object) -> AbstractContextManager[Hold]:
    locking = getattr(table, "locking", NOTHING_SAID)
    return module_of_hold.hold(table, command, watch, locking, contender_of)  # type: ignore[arg-type]


def lock_of(table: Table) -> Path:
    return base_of(table) / ".hoodie/lock"


def write(lock: Path, body: bytes = b"", *, age_s: float = 0) -> Path:
    lock.write_bytes(body)
    os.utime(lock, (time.time() - age_s,) * 2)
    return lock


def refused(table: Table, watch: Watch | None = None) -> Conflict:
    with pytest.raises(Conflict) as caught, hold(table, "x", watch or Watch()):
        pytest.fail("held")
    return caught.value


def test_the_lock_is_held_with_the_claim_and_given_back(small: Small) -> None:
    """Its content says whose it is; an error gives it back, too."""
    table = locked(small(9))
    watch = Watch()
    with hold(table, "restore S", watch) as held:
        held.check()
        content = json.loads(lock_of(table).read_bytes())
        assert list(content) == ["owner", "host", "pid", "createdAt", "table", "inside", "command"]
        assert (content["pid"], content["table"], content["command"]) == (os.getpid(), table.uri, "restore S")
        assert content["owner"] == held.claim.owner.uuid
    assert watch.steps == [f"take the lock {table.uri}/.hoodie/lock"]
    assert not lock_of(table).exists()
    with pytest.raises(ZeroDivisionError), hold(table, "x", Watch()):
        raise ZeroDivisionError
    assert not lock_of(table).exists()


@pytest.mark.parametrize("gone", ["claim", "lock"])
def test_after_a_standstill_nothing_is_changed_without_them(
    small: Small, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    """As when the host was stopped for a minute, and another hudictl or a writer has begun."""
    table, now = locked(small(9)), time.time
    with hold(table, "restore S", Watch()) as held:
        table.storage.replace("file", b"mine")
        if gone == "claim":
            table.storage.create(f".hoodie/.hudictl/claim-{held.claim.number + 1}", b"theirs")
        else:
            lock_of(table).unlink()
        monkeypatch.setattr("hudictl.storage.guard.time.time", lambda: now() + 60)
        with pytest.raises(Conflict):
            table.storage.delete(["file"])
        assert table.storage.read("file") == b"mine"


def test_a_lock_that_cannot_be_given_back_is_told(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers would wait for it, and nobody would know why. What ended the work before counts more."""
    table = locked(small(9))
    FailDeletion("lock").install(monkeypatch)
    with pytest.raises(StorageFailed, match="not permitted") as told, hold(table, "restore", Watch()):
        pass
    assert "writers wait" in (told.value.hint or "")
    assert lock_of(table).exists()
    os.unlink(lock_of(table))
    with pytest.raises(Conflict, match="has moved"), hold(table, "restore", Watch()):
        raise Conflict("the table has moved")


def test_without_a_provider_there_is_only_the_claim(small: Small) -> None:
    table = open_table(small(9).uri)
    with hold(table, "x", Watch()) as held:
        held.check()
        assert held.lock is None
        assert not lock_of(table).exists()


def test_with_no_lock_the_file_is_left_alone(small: Small) -> None:
    table = locked(small(9), off=True)
    write(lock_of(table), b"theirs")
    with hold(table, "x", Watch()) as held:
        held.check()
    assert lock_of(table).read_bytes() == b"theirs"


def test_what_hudictl_cannot_take_is_refused_before_anything_is_written(small: Small) -> None:
    table = locked(small(9), {"hoodie.write.lock.provider": "com.example.Lock"})
    with pytest.raises(Unsupported, match=r"com\.example\.Lock"), hold(table, "x", Watch()):
        pytest.fail("held")
    assert not (base_of(table) / ".hoodie/.hudictl").exists()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "an unknown writer"),
        (b'{"lockThreadName": "main"}', "main"),
        (b'{"owner": "x", "table": "file:///another", "host": "elsewhere"}', "elsewhere"),
        (b"[1]", "[1]"),
        (b"\xff", "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_anothers_lock_is_never_deleted(small: Small, body: bytes, said: str) -> None:
    """However old it is: by default locks do not expire. The refusal names the file, its age, and what is in it."""
    table = locked(small(9))
    write(lock_of(table), body, age_s=90_000)
    error = refused(table)
    assert error.exit_code == 12
    for word in (".hoodie/lock", "for 900", said):
        assert word in error.message
    assert lock_of(table).read_bytes() == body


def test_it_waits_until_the_lock_is_free(small: Small) -> None:
    table = locked(small(9), wait_ms=60_000)
    write(lock_of(table))
    watch = Watch(lock_of(table).unlink, at=3)
    with hold(table, "x", watch) as held:
        held.check()
    assert watch.looks == 4


def test_waiting_can_be_interrupted(small: Small) -> None:
    """The lock stays its owner's, and the claim is released."""
    table = locked(small(9), wait_ms=60_000)
    write(lock_of(table), b"theirs")

    def stop() -> None:
        raise Interrupted("stop")

    with pytest.raises(Interrupted), hold(table, "x", Watch(stop)):
        pytest.fail("held")
    assert lock_of(table).read_bytes() == b"theirs"
    lock_of(table).unlink()
    with hold(table, "x", Watch()):
        pass


@pytest.mark.parametrize("theirs", [None, b"", b"theirs"])
def test_a_lock_that_was_taken_away_is_noticed(small: Small, theirs: bytes | None) -> None:
    """Hudi's writers delete whatever is there; what another has put there meanwhile stays."""
    table = locked(small(9))
    with hold(table, "x", Watch()) as held:
        lock_of(table).unlink()
        if theirs is not None:
            write(lock_of(table), theirs)
        with pytest.raises(Conflict, match="has lost the lock") as caught:
            held.check()
        assert caught.value.exit_code == 12
    assert (lock_of(table).read_bytes() if lock_of(table).exists() else None) == theirs


def test_a_writer_that_was_quicker_by_a_moment_has_it(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hudi looks, then opens the file, and so empties one that was created in between."""
    table = locked(small(9))
    monkeypatch.setattr(module.time, "sleep", lambda seconds: write(lock_of(table)))
    assert "same moment" in refused(table).message
    assert lock_of(table).read_bytes() == b""


@pytest.mark.parametrize("settings", [PROVIDER, EXPIRING])
def test_expiry_is_the_writers_own_rule(small: Small, settings: dict[str, str]) -> None:
    """Older than its minutes: anybody's. Without the setting: never."""
    table = locked(small(9), settings)
    write(lock_of(table), age_s=200)
    refused(table)
    write(lock_of(table), age_s=301)
    if settings is PROVIDER:
        refused(table)
        return
    with hold(table, "x", Watch()) as held:
        held.check()
    assert not lock_of(table).exists()
    assert list((base_of(table) / ".hoodie/.hudictl/tmp").iterdir()) == []


@pytest.mark.parametrize("command", ["killed", "orphans delete" + " part-0/f_1.parquet" * 1000])
def test_a_dead_hudictls_lock_is_taken_over(small: Small, command: str) -> None:
    """By whoever holds the claim of the same table now; its own settings need not let locks expire."""
    table = locked(small(9))
    with dying(None), pytest.raises(Crash), hold(table, command, Watch()):
        raise Crash
    with hold(table, "x", Watch()) as held:
        held.check()
        assert json.loads(lock_of(table).read_bytes())["command"] == "x"
    assert not lock_of(table).exists()


@pytest.mark.parametrize("folder", [".hoodie", "locks"])
def test_a_dead_hudictls_lock_is_taken_over_by_another_name_of_the_table(small: Small, folder: str) -> None:
    """Only beside the claims: another folder may be a link, and the lock that of another table."""
    base = base_of(small(9))
    (base / "locks").mkdir()
    link = base.with_name("link")
    link.symlink_to(base)
    dead, now = (
        locked(open_table(str(path)), PROVIDER | {"hoodie.write.lock.filesystem.path": f"{path}/{folder}"})
        for path in (link, base)
    )
    with dying(None), pytest.raises(Crash), hold(dead, "killed", Watch()):
        raise Crash
    if folder == "locks":
        assert "killed" in refused(now).message
        return
    with hold(now, "x", Watch()) as held:
        held.check()


@pytest.mark.parametrize("before", ["nothing", "a dead one", "an expired one"])
def test_it_dies_anywhere_and_the_next_one_gets_the_lock(small: Small, tmp_path: Path, before: str) -> None:
    """Before and in the middle of every change to the file system."""
    table = locked(small(9), EXPIRING)
    with hold(table, "first", Watch()):
        pass

    def trial(name: str) -> Table:
        base = copy(base_of(table), tmp_path / name)
        own = locked(open_table(str(base)), EXPIRING)
        if before == "a dead one":
            write(lock_of(own), json.dumps({"owner": "x", "table": own.uri}).encode())
        elif before == "an expired one":
            write(lock_of(own), age_s=999)
        return own

    def run(own: Table) -> None:
        with hold(own, "x", Watch()) as held:
            held.check()
        assert not lock_of(own).exists()

    with dying(None) as system:
        run(trial("whole"))
    assert system.count >= 10
    for at in range(system.count):
        own = trial(f"crash-{at}")
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            run(own)
        run(own)


def contender(folder: Path, name: str) -> LockFile:
    """One that waits for the lock of another table in the same folder."""
    storage = LocalStorage(str(folder), "")
    return LockFile(f"file:///{name}", storage, "lock", f"lock.{name}", 300_000, name.encode())


def take(rival: LockFile) -> None:
    assert rival.holder() is None


def take_as_hudi(lock: Path) -> None:
    lock.unlink()
    write(lock)


@pytest.mark.parametrize(
    ("who", "when"),
    [("hudictl", "alone"), ("hudictl", "create"), ("hudi", "alone"), ("hudi", "move"), ("hudi", "create")],
)
def test_of_two_that_find_it_expired_one_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str, when: str
) -> None:
    """The other has judged it before the winner came, and acts after: the winner's lock is there again."""
    lock = write(tmp_path / "lock", b"old", age_s=999)
    ours, rival = contender(tmp_path, "ours"), contender(tmp_path, "rival")
    real = getattr(LocalStorage, when)
    came = []

    def late(self: LocalStorage, path: str, *rest: object, **named: object) -> object:
        if not came and (when != "create" or lock.exists() is False):
            came.append(path)
            if who == "hudictl":
                take(rival)
            elif lock.exists():
                take_as_hudi(lock)
            else:
                write(lock)
        return real(self, path, *rest, **named)

    monkeypatch.setattr(LocalStorage, when, late)
    assert ours.holder() is not None
    assert came
    assert lock.read_bytes() == (b"rival" if who == "hudictl" else b"")
    assert [entry.name for entry in tmp_path.iterdir()] == ["lock"]


def test_a_late_one_leaves_no_lock_that_is_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has read the expired one; by then another has taken the lock, and gives it back when anything is moved."""
    write(tmp_path / "lock", b"old", age_s=999)
    ours, rival = contender(tmp_path, "ours"), contender(tmp_path, "rival")
    read, move = LocalStorage.read, LocalStorage.move
    took, gave = [], []

    def give_back() -> None:
        if took and not gave:
            gave.append(rival.release())

    def late(self: LocalStorage, path: str, start: int = 0, length: int | None = None) -> bytes:
        body = read(self, path, start, length)
        if not took and body == b"old":
            monkeypatch.setattr(LocalStorage, "read", read)
            took.append(take(rival))
        return body

    def moved(self: LocalStorage, source: str, target: str) -> bool:
        done = move(self, source, target)
        give_back()
        return done

    monkeypatch.setattr(LocalStorage, "read", late)
    monkeypatch.setattr(LocalStorage, "move", moved)
    assert ours.holder() is not None
    give_back()
    assert list(tmp_path.iterdir()) == []
    take(ours)


def test_giving_back_never_deletes_anothers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own has expired: another may take it between the look and the deletion."""
    lock, delete = tmp_path / "lock", LocalStorage.delete
    ours, rival = contender(tmp_path, "ours"), contender(tmp_path, "rival")
    take(ours)
    write(lock, b"ours", age_s=999)
    answers: list[str | None] = []

    def late(self: LocalStorage, paths: Sequence[str]) -> Sequence[DeleteOutcome]:
        monkeypatch.setattr(LocalStorage, "delete", delete)
        answers.append(rival.holder())
        return delete(self, paths)

    monkeypatch.setattr(LocalStorage, "delete", late)
    ours.release()
    assert lock.exists() == (answers == [None])
    take(rival)


@pytest.mark.parametrize("seed", range(5))
def test_many_at_once_and_never_two_hold_it(tmp_path: Path, seed: int) -> None:
    """Threads without order, from an expired lock on: each that has it finds it its own until it lets go."""
    write(tmp_path / "lock", b"old", age_s=999)
    inside: list[str] = []
    wrong: list[str] = []
    had: list[str] = []

    def work(name: str) -> None:
        own = contender(tmp_path, name)
        while (holder := own.holder()) is not None:
            assert holder
        inside.append(name)
        if len(inside) != 1:
            wrong.append(name)
        own.check()
        inside.remove(name)
        had.append(name)
        own.release()

    threads = [threading.Thread(target=work, args=(f"{seed}-{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(had), wrong) == (4, [])


def test_a_held_lock_is_renewed(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hudi's writers count its age from the last change; another's lock is not made younger."""
    monkeypatch.setattr(beat, "BEAT_SECONDS", 0.01)
    table = locked(small(9))
    with hold(table, "x", Watch()):
        os.utime(lock_of(table), (0, 0))
        until = time.monotonic() + 60
        while lock_of(table).stat().st_mtime == 0:
            assert time.monotonic() < until, "not renewed"
            support.short_sleep(1)
        lock_of(table).unlink()
        write(lock_of(table), b"theirs", age_s=100)
        for _ in range(50):
            support.short_sleep(1)
        assert time.time() - lock_of(table).stat().st_mtime > 60


def test_a_folder_outside_the_table(small: Small, tmp_path: Path) -> None:
    """The file alone is in it, and nothing stays."""
    folder = tmp_path / "locks of all tables"
    folder.mkdir()
    settings = PROVIDER | {"hoodie.write.lock.filesystem.path": f"file:{folder}"}
    table = locked(small(9), settings)
    with hold(table, "x", Watch()) as held:
        held.check()
        assert [entry.name for entry in folder.iterdir()] == ["lock"]
        assert not lock_of(table).exists()
    assert list(folder.iterdir()) == []


def test_where_files_cannot_be_renamed_an_expired_lock_stays(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """An object store: nobody could tell whose file a deletion meets."""
    table = locked(small(9), EXPIRING)
    write(lock_of(table), age_s=999)
    monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    assert re.search(r"for (9|10)\d\d s", refused(table).message)


def test_a_lock_that_cannot_be_written_is_the_storages_failure(small: Small) -> None:
    table = locked(small(9))
    lock_of(table).mkdir()
    with pytest.raises(StorageFailed), hold(table, "x", Watch()):
        pytest.fail("held")


def test_the_claim_is_asked_first(small: Small) -> None:
    """Of two hudictl one is refused at once, and does not queue for the lock."""
    table = locked(small(9), wait_ms=60_000)
    with hold(table, "the first", Watch()):
        assert "`the first`" in refused(table).message


def test_both_are_proved(small: Small) -> None:
    table = locked(small(9))
    with hold(table, "x", Watch()) as held:
        assert isinstance(held, Hold)
        table.storage.create(".hoodie/.hudictl/claim-9", b"{}")
        with pytest.raises(Conflict, match=r"taken over the table \(claim 9\)"):
            held.check()


def test_a_lock_file_without_its_table(tmp_path: Path, small: Small) -> None:
    """The context alone releases nothing that it has not got."""
    table = small(9)
    write(lock_of(table), b"theirs")
    with lock_file(table, FileLock(str(lock_of(table)), ".hoodie/lock", 0), b"ours") as lock:
        assert lock.holder() is not None
    assert lock_of(table).read_bytes() == b"theirs"
