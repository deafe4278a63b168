"""One hudictl at a time."""

import json
import multiprocessing
import os
import threading
import time
from dataclasses import asdict, replace
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import psutil
import pytest

from hudictl.errors import Conflict, Refused, StorageFailed, Unsupported
from hudictl.storage import FileStatus, local
from hudictl.storage.local import LocalStorage
from hudictl.table.locks import claim as module
from hudictl.table.locks.claim import Owner, claim, current_owner, living_owner
from hudictl.table.writers import beat

FOLDER = ".hoodie/.hudictl"


@pytest.fixture
def store(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path), f"{FOLDER}/tmp")


def link(store: LocalStorage, number: int, owner: Owner, *, released: bool = False, age_s: float = 0) -> Path:
    """Writes a link of the chain."""
    path = Path(store.absolute(f"{FOLDER}/claim-{number}"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**asdict(owner), "released": released}))
    os.utime(path, (time.time() - age_s,) * 2)
    return path


def numbers(store: LocalStorage) -> list[int]:
    return sorted(int(entry.name.split("-")[1]) for entry in store.list(FOLDER) if entry.name.startswith("claim-"))


def test_held_and_released(store: LocalStorage) -> None:
    """While it is held its owner is told; afterwards the link says released, also after an error."""
    with claim(store, "restore S") as held:
        held.check()
        with pytest.raises(Conflict, match="`restore S`") as caught, claim(store, "other"):
            pass
        assert (caught.value.exit_code, caught.value.fields["pid"]) == (12, os.getpid())
    with pytest.raises(ZeroDivisionError), claim(store, "second"):
        raise ZeroDivisionError
    with claim(store, "third") as held:
        assert held.number == 3
    content = json.loads(store.read(f"{FOLDER}/claim-3"))
    assert (content["released"], content["command"], content["pid"]) == (True, "third", os.getpid())


def test_who_works_on_the_table(store: LocalStorage) -> None:
    """To one that only looks; it takes nothing over."""
    now_ms = int(time.time() * 1000)
    assert living_owner(store, now_ms) is None
    with claim(store, "restore S") as held:
        found = living_owner(store, now_ms)
        assert found is not None
        assert found.uuid == held.owner.uuid
    assert living_owner(store, now_ms) is None
    link(store, 2, replace(current_owner("died"), pid=2**22 + 1))
    assert living_owner(store, now_ms) is None
    Path(store.absolute(f"{FOLDER}/claim-3")).write_text("garbage")
    assert living_owner(store, now_ms) is None
    assert numbers(store) == [1, 2, 3]


def test_a_link_that_was_deleted_holds_nothing(store: LocalStorage) -> None:
    """Another would begin the chain anew, below this one's number, and never be met."""
    link(store, 4, current_owner("before"), released=True)
    with claim(store, "mine") as held:
        Path(store.absolute(f"{FOLDER}/claim-5")).unlink()
        with pytest.raises(Conflict, match="claim-5 was deleted"):
            held.check()
        with claim(store, "other") as other:
            assert other.number == 1
            with pytest.raises(Conflict, match="claim-5 was deleted"):
                held.check()


def test_only_the_highest_link_counts(store: LocalStorage) -> None:
    """Claim 10 comes after 9."""
    living = current_owner("living")
    link(store, 9, living)
    link(store, 10, living, released=True)
    with claim(store, "x") as held:
        assert held.number == 11


@pytest.mark.parametrize(
    ("change", "age_s", "dead"),
    [
        ({}, 999, False),
        ({"pid": 2**22 + 1}, 0, True),
        ({"process_start": "1"}, 0, True),
        ({"process_start": ""}, 999, False),
        ({"pid_namespace": "pid:[1]", "pid": 2**22 + 1}, 0, False),
        ({"pid_namespace": "pid:[1]", "pid": 2**22 + 1}, 61, True),
        ({"boot_id": "another boot"}, 0, False),
        ({"boot_id": "another boot"}, 61, True),
        ({"host": "elsewhere"}, 0, False),
        ({"host": "elsewhere"}, 55, False),
        ({"host": "elsewhere"}, 61, True),
        ({"host": "elsewhere", "pid": 2**22 + 1}, 0, False),
    ],
)
def test_who_is_dead(store: LocalStorage, change: dict[str, Any], age_s: float, dead: bool) -> None:
    """Here: process gone, or its number taken by another. Elsewhere, in another container or before a reboot: no beat
    for a minute."""
    owner = replace(current_owner("their command"), **change)
    link(store, 1, owner, age_s=age_s)
    assert (living_owner(store, int(time.time() * 1000)) is None) is dead
    if dead:
        with claim(store, "mine") as held:
            assert held.number == 2
        return
    with pytest.raises(Conflict, match="`their command` on"), claim(store, "mine"):
        pass
    assert numbers(store) == [1], "a refused command leaves nothing"


def test_a_process_whose_start_cannot_be_read_is_alive(store: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many hosts hide the processes of other users: only that it is there can be told, however old its beat."""
    link(store, 1, current_owner("their command"), age_s=999)
    monkeypatch.setattr(module, "_process_start", lambda pid: "")
    with pytest.raises(Conflict, match="`their command` on"), claim(store, "mine"):
        pass
    assert numbers(store) == [1]


@pytest.mark.parametrize("stat", ["btime 1800000000\n", "cpu 1\n", None], ids=["hidden", "no boot time", "no /proc"])
def test_a_living_process_that_proc_hides_is_alive(
    store: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stat: str | None
) -> None:
    """/proc as with hidepid, or none at all: psutil calls such a process gone, and it is there."""
    link(store, 1, current_owner("their command"), age_s=999)
    if stat is not None:
        (tmp_path / "stat").write_text(stat)
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    assert not psutil.pid_exists(os.getpid())
    with pytest.raises(Conflict, match="`their command` on"), claim(store, "mine"):
        pass


def test_a_process_that_may_not_be_signalled_is_alive(store: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is another user's."""
    link(store, 1, current_owner("their command"), age_s=999)

    def kill(pid: int, signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(module.os, "kill", kill)
    with pytest.raises(Conflict, match="`their command` on"), claim(store, "mine"):
        pass


def test_a_beat_is_judged_by_the_storages_clock(store: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """This host's is minutes ahead: a living process elsewhere would look dead."""
    link(store, 1, replace(current_owner("their command"), host="elsewhere"))
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 300)
    with pytest.raises(Conflict, match="`their command` on"), claim(store, "mine"):
        pass
    assert numbers(store) == [1]


def test_the_start_of_a_process_is_the_kernels_number() -> None:
    """Of whatever user, and as claims have always recorded it."""
    for pid in (os.getpid(), os.getppid(), 1):
        stat = Path(f"/proc/{pid}/stat").read_text()
        assert module._process_start(pid) == stat.rpartition(")")[2].split()[19]
    assert module._process_start(2**22 + 1) == ""
    assert module._process_start(-1) == ""


@pytest.mark.parametrize("ticks", [1, 99, 123_456_789, 10**11 + 1])
def test_the_start_of_a_process_does_not_move_with_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ticks: int
) -> None:
    """A clock that is set by hours moves the time of the boot; a living process must not look like another one."""
    (tmp_path / "77").mkdir()
    (tmp_path / "77/stat").write_text(f"77 (a ) b) S {' '.join(['0'] * 18)} {ticks} {' '.join(['0'] * 30)}\n")
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    for boot_s in (1_800_000_000, 1_800_007_201, 0):
        (tmp_path / "stat").write_text(f"btime {boot_s}\n")
        assert module._process_start(77) == str(ticks)


def test_a_clock_that_is_set_meanwhile_leaves_the_start_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((1_800_000_000.0, 1_800_000_001.0))
    monkeypatch.setattr(psutil, "boot_time", lambda: next(times))
    assert module._process_start(os.getpid()) == ""


def test_a_higher_link_that_appears_while_the_own_is_made_holds(
    store: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process so slow that others have passed its number and deleted that link: a conflict at once."""
    real = LocalStorage.create

    def slow(self: LocalStorage, path: str, body: bytes) -> None:
        link(store, 3, current_owner("theirs"))
        real(self, path, body)

    monkeypatch.setattr(LocalStorage, "create", slow)
    link(store, 1, current_owner("before"), released=True)
    with pytest.raises(Conflict, match=r"taken over the table \(claim 3\)"), claim(store, "slow"):
        pytest.fail("held beside another")
    assert json.loads(store.read(f"{FOLDER}/claim-3"))["command"] == "theirs"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"{}", b'{"released": false, "who": 1}', b"\xff", b"null", b"[" * 100_000]
)
def test_an_unreadable_claim_is_never_taken_over(store: LocalStorage, body: bytes) -> None:
    """Made by a hand or by another version: a conflict that names the file, however old it is."""
    path = link(store, 1, current_owner("x"))
    path.write_bytes(body)
    os.utime(path, (0, 0))
    with pytest.raises(Conflict, match="claim-1 cannot be read") as caught, claim(store, "mine"):
        pass
    assert caught.value.fields["file"] == f"{FOLDER}/claim-1"
    assert numbers(store) == [1]


@pytest.mark.parametrize(
    "change", [{"pid": "7"}, {"pid": None}, {"host": None}, {"released": "no"}, {"more": 1}], ids=str
)
def test_a_claim_of_other_types_is_never_taken_over(store: LocalStorage, change: dict[str, Any]) -> None:
    path = link(store, 1, current_owner("x"))
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(Conflict, match="claim-1 cannot be read"), claim(store, "mine"):
        pass


def test_a_claim_is_stored_as_it_always_was(store: LocalStorage) -> None:
    """An earlier build must be able to read it."""
    with claim(store, "mine"):
        keys = list(json.loads(store.read(f"{FOLDER}/claim-1")))
    assert keys == ["uuid", "host", "boot_id", "pid_namespace", "pid", "process_start", "command", "released"]


def attempt(root: str, start: Barrier, end: Barrier, answers: "multiprocessing.Queue[str]") -> None:
    store = LocalStorage(root, f"{FOLDER}/tmp")
    start.wait()
    try:
        with claim(store, "raced") as held:
            held.check()
            answers.put("held")
            end.wait()
    except Conflict:
        answers.put("conflict")
        end.wait()
    except Exception as error:
        answers.put(repr(error))
        end.wait()


@pytest.mark.slow
@pytest.mark.parametrize("before", ["nothing", "a dead one"])
def test_raced_by_processes(store: LocalStorage, tmp_path: Path, before: str) -> None:
    """Exactly one of four holds it, the others are told so."""
    if before == "a dead one":
        link(store, 1, replace(current_owner("dead"), pid=2**22 + 1))
    context = multiprocessing.get_context("fork")
    start, end = context.Barrier(4), context.Barrier(4)
    answers: multiprocessing.Queue[str] = context.Queue()
    processes = [context.Process(target=attempt, args=(str(tmp_path), start, end, answers)) for _ in range(4)]
    for process in processes:
        process.start()
    found = sorted(answers.get(timeout=300) for _ in processes)
    for process in processes:
        process.join()
    assert found == ["conflict"] * 3 + ["held"]


def test_the_winner_clears_the_scratch_while_the_loser_is_at_it(
    store: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loser's own file on its way to the name goes with it: still a conflict, not a crash."""
    real, winner = os.link, LocalStorage(str(tmp_path), f"{FOLDER}/tmp")

    def late(source: str, target: str, **folders: int) -> None:
        monkeypatch.setattr(local.os, "link", real)
        with claim(winner, "winner"):
            real(source, target, **folders)

    monkeypatch.setattr(local.os, "link", late)
    with pytest.raises(Conflict), claim(store, "loser"):
        pass


def test_raced_by_threads(store: LocalStorage) -> None:
    """The same within one process."""
    barrier, told, held, others = threading.Barrier(5), threading.Barrier(5), [], []

    def run() -> None:
        barrier.wait()
        try:
            with claim(store, "raced") as mine:
                held.append(mine.number)
                told.wait(60)
        except Exception as error:
            others.append(type(error))
            told.wait(60)

    threads = [threading.Thread(target=run) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (held, others) == ([1], [Conflict] * 4)


def test_a_holder_that_was_taken_over_stops(store: LocalStorage) -> None:
    """It had been suspended for longer than a minute: its next check ends it, and the other's link is untouched."""
    with claim(store, "slow") as held:
        other = link(store, held.number + 1, current_owner("quick"))
        before = other.read_bytes()
        with pytest.raises(Conflict, match=r"taken over the table \(claim 2\)"):
            held.check()
    assert other.read_bytes() == before


@pytest.mark.parametrize(("skew_s", "refused"), [(0, False), (0.5, False), (5, True), (-5, True)])
def test_clock_skew(store: LocalStorage, monkeypatch: pytest.MonkeyPatch, skew_s: float, refused: bool) -> None:
    """More than a second between this host's clock and the storage's: refused (13), and the claim is released."""
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + skew_s)
    if not refused:
        with claim(store, "x"):
            return
    with pytest.raises(Refused, match="clock differs") as caught, claim(store, "x"):
        pass
    # What is certain of it: a busy host takes its time between its two looks at the clock.
    assert 1_000 < caught.value.fields["skew_ms"] / skew_s * 5 <= 5_020
    monkeypatch.undo()
    assert json.loads(store.read(f"{FOLDER}/claim-1"))["released"]


@pytest.mark.parametrize(
    ("skew_ms", "refused"), [(0, False), (900, False), (-900, False), (-2_500, True), (2_500, True)]
)
def test_clock_skew_where_the_storage_tells_whole_seconds(
    store: LocalStorage, monkeypatch: pytest.MonkeyPatch, skew_ms: int, refused: bool
) -> None:
    """As object stores do: the part of a second that they leave out is no skew of theirs."""
    real = LocalStorage.stat
    # At the end of a second, where the most is left out.
    now_ms = 1_800_000_000_950

    def stat(self: LocalStorage, path: str) -> FileStatus | None:
        found = real(self, path)
        return found and found._replace(modified_ms=(now_ms + skew_ms) // 1000 * 1000)

    monkeypatch.setattr(LocalStorage, "stat", stat)
    monkeypatch.setattr(time, "time", lambda: now_ms / 1000)
    if not refused:
        with claim(store, "x"):
            return
    with pytest.raises(Refused, match="clock differs"), claim(store, "x"):
        pass


def test_a_store_that_does_not_create_exclusively(store: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unsupported, with the way out; the claim, which the proof has overwritten, is released."""
    monkeypatch.setattr(LocalStorage, "create", LocalStorage.replace)
    (Path(store.root) / FOLDER).mkdir(parents=True)
    with pytest.raises(Unsupported, match="exclusive creation") as caught, claim(store, "x"):
        pass
    assert "--single-operator" in caught.value.hint
    monkeypatch.undo()
    with claim(store, "next") as held:
        assert held.number == 2


@pytest.mark.slow
def test_no_beat_comes_after_the_release(store: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an object store a beat puts the whole link: one under way would take the release back."""
    beating = threading.Event()

    def slow(self: LocalStorage, path: str) -> None:
        body = self.read(path)
        beating.set()
        time.sleep(0.2)
        self.replace(path, body)

    monkeypatch.setattr(LocalStorage, "touch", slow)
    monkeypatch.setattr(beat, "BEAT_SECONDS", 0.01)
    with claim(store, "x"):
        assert beating.wait(60)
        monkeypatch.setattr(beat, "BEAT_SECONDS", 10)
    time.sleep(0.4)
    assert json.loads(store.read(f"{FOLDER}/claim-1"))["released"]


@pytest.mark.slow
def test_it_beats_while_it_is_held(store: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The link's modification time goes on; after the release it stands still, and a failing beat is no harm."""
    monkeypatch.setattr(beat, "BEAT_SECONDS", 0.02)
    real, failures = LocalStorage.touch, [1, 1]

    def flaky(self: LocalStorage, path: str) -> None:
        if failures:
            failures.pop()
            raise StorageFailed("no connection")
        real(self, path)

    monkeypatch.setattr(LocalStorage, "touch", flaky)
    path = Path(store.absolute(f"{FOLDER}/claim-1"))
    with claim(store, "x"):
        os.utime(path, (0, 0))
        deadline = time.time() + 60
        while path.stat().st_mtime == 0 and time.time() < deadline:
            time.sleep(0.01)
        assert path.stat().st_mtime > 0
        assert not failures
    os.utime(path, (0, 0))
    time.sleep(0.1)
    assert path.stat().st_mtime == 0


def test_leftovers_of_a_dead_process_are_cleared(store: LocalStorage) -> None:
    """Files on their way to a name; a young one may be another process's claim to be."""
    leftover = Path(store.absolute(f"{FOLDER}/tmp/leftover"))
    young = leftover.with_name("young")
    leftover.parent.mkdir(parents=True)
    leftover.write_bytes(b"half")
    young.write_bytes(b"half")
    os.utime(leftover, (time.time() - 61, time.time() - 61))
    with claim(store, "x"):
        assert young.exists()
        assert not leftover.exists()


def test_a_full_disk_does_not_hide_the_error_of_the_work(store: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The release fails too; what is told is what went wrong first."""

    def full(*_: Any) -> None:
        raise StorageFailed("disk full")

    def work() -> None:
        monkeypatch.setattr(LocalStorage, "replace", full)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), claim(store, "x"):
        work()


def test_a_claim_that_could_not_be_released_does_not_hold_its_own_process(
    store: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook gets new credentials, and goes on. A claim that its other thread holds is one all the same."""

    def expired(*_: Any) -> None:
        raise StorageFailed("the token has expired")

    with monkeypatch.context() as patch, claim(store, "first"):
        patch.setattr(LocalStorage, "replace", expired)
    assert not json.loads(store.read(f"{FOLDER}/claim-1"))["released"]
    assert living_owner(store, int(time.time() * 1000)) is None
    with claim(store, "second") as held:
        assert held.number == 2
        with pytest.raises(Conflict, match="`second`"), claim(store, "third"):
            pass
