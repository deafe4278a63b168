"""Local files: the read contract, and what changes promise."""

import errno
import fcntl
import multiprocessing
import os
import signal
import tracemalloc
from collections.abc import Callable, Mapping
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import pytest

from hudictl.errors import StorageFailed
from hudictl.storage import Storage, read_whole
from hudictl.storage import local as module
from hudictl.storage.local import LocalStorage
from tests.helpers import disk_log
from tests.storage.contract import ExclusiveContract, ReadContract

SCRATCH = ".hoodie/.hudictl/tmp"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "table"


@pytest.fixture
def store(base: Path) -> LocalStorage:
    base.mkdir()
    return LocalStorage(str(base), SCRATCH)


def scratch(base: Path) -> list[str]:
    folder = base / SCRATCH
    return [path.name for path in folder.iterdir()] if folder.is_dir() else []


def with_sidecar(base: Path, name: str, body: bytes = b"old") -> Path:
    (base / name).write_bytes(body)
    sidecar = base / f".{name}.crc"
    sidecar.write_bytes(b"crc\0")
    return sidecar


class TestReads(ReadContract):
    """The read contract on a folder."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def storage(self, files: Mapping[str, bytes]) -> Storage:
        for path, body in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_bytes(body)
        return LocalStorage(str(self.folder), SCRATCH)

    def test_modification_time(self, store: Storage) -> None:
        os.utime(self.folder / "a", ns=(0, 1_700_000_000_123_999_999))
        found = store.stat("a")
        assert found is not None
        assert found.modified_ms == 1_700_000_000_123

    def test_a_link_to_nowhere_is_not_listed(self, store: Storage) -> None:
        """Like a file that vanishes between the listing and the look."""
        (self.folder / "broken").symlink_to("nowhere")
        assert [entry.name for entry in store.list("")] == ["a", "folder"]


class TestWrites(ExclusiveContract):
    """The write contract on a folder."""

    @pytest.fixture
    def empty(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> Storage:
        self.folder = base
        base.mkdir()
        monkeypatch.setattr(module.os, "fsync", lambda descriptor: None)
        return LocalStorage(str(base), SCRATCH)

    def put_behind(self, path: str, body: bytes) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(body)

    def drop_behind(self, path: str) -> None:
        (self.folder / path).unlink()

    def set_time(self, path: str, moment: float) -> None:
        os.utime(self.folder / path, (moment, moment))

    def protect(self, path: str) -> None:
        # The tests may run as root, to whom a mode is no obstacle: a folder is.
        (self.folder / path).unlink()
        (self.folder / path).mkdir()


def test_a_file_of_more_bytes_than_its_kind_has(store: LocalStorage, base: Path) -> None:
    store.create("a", b"")
    os.truncate(base / "a", 2**32)
    with pytest.raises(StorageFailed, match="a has 4,294,967,296 bytes: of such a file hudictl reads at most 2,147"):
        read_whole(store, "a", 2**31 - 1)


def test_a_small_file_takes_little_memory_whatever_the_limit(store: LocalStorage) -> None:
    store.create("a", b"x")
    tracemalloc.start()
    try:
        assert store.read("a", 0, 2**31) == b"x"
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_create(store: LocalStorage, base: Path) -> None:
    """Whole, in a folder that need not be there, and nothing else is left."""
    store.create("p/q/f", b"body")
    assert (base / "p/q/f").read_bytes() == b"body"
    assert os.listdir(base / "p/q") == ["f"]
    assert scratch(base) == []


def test_create_is_exclusive(store: LocalStorage, base: Path) -> None:
    """The file that is there stays, with its sidecar, and no attempt is left behind."""
    sidecar = with_sidecar(base, "f")
    with pytest.raises(FileExistsError):
        store.create("f", b"new")
    assert (base / "f").read_bytes() == b"old"
    assert sidecar.exists()
    assert scratch(base) == []


def test_the_loser_of_a_race_does_not_take_the_winners_place(
    store: LocalStorage, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that appears after the look and before the link wins."""
    link = os.link

    def late(source: str, target: str, **folders: int) -> None:
        (base / target).write_bytes(b"theirs")
        link(source, target, **folders)

    monkeypatch.setattr(module.os, "link", late)
    with pytest.raises(FileExistsError):
        store.create("f", b"mine")
    assert (base / "f").read_bytes() == b"theirs"
    assert scratch(base) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.replace("f", b"new"),
        lambda store: store.delete(["f"]),
    ],
)
def test_a_sidecar_goes_before_its_file_changes(
    store: LocalStorage, base: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Storage], Any]
) -> None:
    """At no moment does a checksum stand beside bytes that it does not belong to: Hadoop would fail on them."""
    sidecar = with_sidecar(base, "f")
    for name in ("replace", "unlink"):
        real = getattr(os, name)

        def checked(*names: str, real: Callable[..., None] = real, **folders: int) -> None:
            if "f" in names:
                assert not sidecar.exists()
            real(*names, **folders)

        monkeypatch.setattr(module.os, name, checked)
    change(store)
    assert not sidecar.exists()


def test_create_removes_an_orphaned_sidecar(store: LocalStorage, base: Path) -> None:
    """Left by somebody who deleted the file alone."""
    sidecar = with_sidecar(base, "f")
    (base / "f").unlink()
    store.create("f", b"new")
    assert not sidecar.exists()


def test_delete(store: LocalStorage, base: Path) -> None:
    """One answer for each path, in order; an absent file is no error, and a folder is no file."""
    store.create("f", b"")
    store.create("folder/g", b"")
    outcomes = store.delete(["f", "absent", "no/folder/f", "folder"])
    assert [outcome.path for outcome in outcomes] == ["f", "absent", "no/folder/f", "folder"]
    assert [outcome.error is None for outcome in outcomes] == [True, True, True, False]
    assert (base / "folder/g").exists()
    assert not (base / "f").exists()


def test_one_failing_delete_does_not_stop_the_others(store: LocalStorage, base: Path, monkeypatch: Any) -> None:
    for name in "abc":
        store.create(name, b"")
    real = os.unlink

    def unlink(name: str, **folder: int) -> None:
        if name == "b":
            raise PermissionError(errno.EACCES, "Permission denied")
        real(name, **folder)

    monkeypatch.setattr(module.os, "unlink", unlink)
    assert [outcome.error for outcome in store.delete(["a", "b", "c"])] == [None, "Permission denied", None]
    assert [path.name for path in base.iterdir() if path.is_file()] == ["b"]


CHANGES: dict[str, Callable[[Storage], Any]] = {
    "create": lambda store: store.create("new", b"body"),
    "replace": lambda store: store.replace("f", b"body"),
    "touch": lambda store: store.touch("f"),
    "move": lambda store: store.move("folder", "other"),
    "delete folder": lambda store: store.delete_folder("folder"),
    "list": lambda store: store.list(""),
    "stat": lambda store: store.stat("f"),
    "sync": lambda store: store.sync(""),
}
FAULTS = [
    *(("create", call) for call in ("open", "write", "fsync", "link", "chmod")),
    *(("replace", call) for call in ("open", "write", "fsync", "replace", "unlink")),
    *(("touch", "utime"), ("move", "rename"), ("list", "scandir"), ("stat", "stat"), ("sync", "fsync")),
]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EIO])
@pytest.mark.parametrize(("change", "call"), FAULTS)
def test_faults(
    store: LocalStorage, base: Path, monkeypatch: pytest.MonkeyPatch, change: str, call: str, code: int
) -> None:
    """A full disk or a refused call is StorageFailed (15) with path and number; the old file stands, and no scratch.

    (A folder's fsync comes after the link or rename, so what it fails on may have happened; it is whole even then.)
    """
    (base / "f").write_bytes(b"old")
    store.create("folder/g", b"")
    real, fails = getattr(os, call), [True]

    def fault(*args: Any, **kwargs: Any) -> Any:
        if fails and fails.pop():
            raise OSError(code, os.strerror(code))
        return real(*args, **kwargs)

    monkeypatch.setattr(module.os, call, fault)
    with pytest.raises(StorageFailed, match=os.strerror(code)) as caught:
        CHANGES[change](store)
    assert (caught.value.exit_code, caught.value.fields["errno"]) == (15, code)
    assert caught.value.hint
    assert not fails, "the fault was injected"
    monkeypatch.undo()
    assert (base / "f").read_bytes() == b"old"
    assert not (base / "new").exists()
    assert scratch(base) == []


def test_short_writes_are_continued(store: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write call may take less than it was given."""
    real = os.write
    monkeypatch.setattr(module.os, "write", lambda descriptor, view: real(descriptor, bytes(view[:7])))
    store.create("f", b"0123456789" * 10)
    assert store.read("f") == b"0123456789" * 10


def test_a_full_disk_in_the_middle_of_a_write(store: LocalStorage, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a file never gets its name."""
    real, room = os.write, [10]

    def write(descriptor: int, view: memoryview) -> int:
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, view[: room.pop()])

    monkeypatch.setattr(module.os, "write", write)
    with pytest.raises(StorageFailed, match="No space left"):
        store.create("f", b"x" * 100)
    assert not (base / "f").exists()
    assert scratch(base) == []


def test_a_file_is_on_disk_before_it_has_its_name(store: LocalStorage, base: Path, monkeypatch: Any) -> None:
    """fsync of the file, then the name, then fsync of the folder: the order that survives a power failure."""
    steps: list[str] = []
    for call in ("fsync", "link", "replace"):
        real = getattr(os, call)

        def traced(*args: Any, call: str = call, real: Callable[..., Any] = real, **folders: int) -> Any:
            steps.append(call)
            return real(*args, **folders)

        monkeypatch.setattr(module.os, call, traced)
    store.create("f", b"x")
    store.replace("f", b"y")
    assert steps == ["fsync", "link", "fsync", "fsync", "replace", "fsync"]


def test_a_file_system_without_folder_sync(store: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some network file systems refuse the call with EINVAL; that alone is no error."""
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.EINVAL, "Invalid argument")
        real(descriptor)

    monkeypatch.setattr(module.os, "fsync", fsync)
    store.create("f", b"x")
    assert store.read("f") == b"x"


def test_a_file_with_both_names_is_moved_back_with_its_sidecar(store: LocalStorage, base: Path) -> None:
    """A move died after it had linked the file. Moving it back twice, as after another death, takes no sidecar away."""
    (base / "kept").mkdir()
    for name in ("a", ".a.crc"):
        (base / name).write_bytes(name.encode())
        (base / "kept" / name).hardlink_to(base / name)
    for _ in range(2):
        assert list(store.move_files([("kept/a", "a")], over=True)) == []
    assert ((base / "a").read_bytes(), (base / ".a.crc").read_bytes()) == (b"a", b".a.crc")
    assert [*(base / "kept").iterdir()] == []


def test_move_folder(store: LocalStorage, base: Path) -> None:
    """One step; no source is an answer, and a target that is in use is kept."""
    store.create("a/f", b"x")
    store.create("c/g", b"y")
    assert store.move("a", "b")
    assert not store.move("a", "b")
    assert (base / "b/f").read_bytes() == b"x"
    with pytest.raises(StorageFailed):
        store.move("b", "c")
    assert (base / "c/g").exists()


def test_one_at_a_time_is_alone_in_a_folder(store: LocalStorage, base: Path) -> None:
    """Threads as processes, of which a killed one keeps nobody out; nothing of it stays in the folder."""
    with store.alone("", wait=False) as first, store.alone("", wait=False) as second:
        assert (first, second) == (True, False)
    inside = multiprocessing.get_context("fork").Event()
    process = multiprocessing.get_context("fork").Process(target=stay_alone, args=(store, inside))
    process.start()
    assert inside.wait(60)
    with store.alone("", wait=False) as alone:
        assert not alone
    process.kill()
    with store.alone("", wait=True) as alone:
        assert alone
    process.join()
    assert list(base.iterdir()) == []


def test_whoever_is_alone_can_work(store: LocalStorage) -> None:
    for wait in (False, True):
        with store.alone("", wait=wait) as alone:
            assert alone
            store.create("f", b"")
            store.delete(["f"])
        assert store.stat("f") is None


def stay_alone(store: LocalStorage, inside: Event) -> None:
    with store.alone("", wait=True):
        inside.set()
        signal.pause()


@pytest.mark.parametrize("number", [errno.EBADF, errno.ENOLCK])
def test_a_file_system_that_locks_no_folders(store: LocalStorage, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """As NFS: nobody is kept out, nor where the folder has gone."""

    def flock(descriptor: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    for folder in ("", "absent"):
        with store.alone(folder, wait=False) as first, store.alone(folder, wait=True) as second:
            assert (first, second) == (True, True)


def test_a_move_is_on_the_disk_when_it_is_told(
    store: LocalStorage, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power failure the old name would be back: of a metadata table that lists files that are gone."""
    store.create("a/m/f", b"x")
    log = disk_log(monkeypatch)
    assert store.move("a/m", "a/n")
    assert log == [f"rename {base}/a/m", f"sync {base}/a"]


def test_delete_folder(store: LocalStorage, base: Path) -> None:
    """With all that is in it; an absent one is no error, and what a link points to stays."""
    store.create("a/b/f", b"x")
    store.create("kept/f", b"x")
    (base / "a/link").symlink_to(base / "kept")
    store.delete_folder("a")
    store.delete_folder("a")
    assert not (base / "a").exists()
    assert (base / "kept/f").exists()


@pytest.mark.parametrize("call", ["unlink", "rmdir"])
def test_a_folder_that_cannot_be_deleted(store: LocalStorage, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """Is no silent success."""
    store.create("a/f", b"x")

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(module.os, call, refuse)
    with pytest.raises(StorageFailed, match=r"cannot delete a: .*Permission denied"):
        store.delete_folder("a")


def test_sync_absent_folder(store: LocalStorage) -> None:
    with pytest.raises(FileNotFoundError):
        store.sync("nowhere")


@pytest.mark.parametrize("act", ["create", "replace", "move", "sync"])
def test_what_is_done_is_on_the_disk(
    store: LocalStorage, base: Path, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes before the file has its name, and the name before the call returns."""
    (base / "p").mkdir()
    (base / "p/old").write_bytes(b"old")
    log: list[str] = []

    def named(call: str) -> Callable[..., None]:
        real = getattr(os, call)

        def wrapped(*given: str, **folders: int) -> None:
            log.append(call)
            real(*given, **folders)

        return wrapped

    for call in ("link", "replace", "rename"):
        monkeypatch.setattr(module.os, call, named(call))
    monkeypatch.setattr(module.os, "fsync", lambda descriptor: log.append(os.readlink(f"/proc/self/fd/{descriptor}")))
    if act == "create":
        store.create("p/new", b"new")
    elif act == "replace":
        store.replace("p/old", b"new")
    elif act == "move":
        assert store.move("p/old", "p/new")
    else:
        store.sync("p")
    done = {"create": ["link"], "replace": ["replace"], "move": ["rename"], "sync": []}[act]
    written = [entry for entry in log if SCRATCH in entry]
    assert log == [*written, *done, str(base / "p")]
    assert len(written) == (1 if act in ("create", "replace") else 0)


def test_a_body_is_written_whole_where_the_system_takes_less_at_a_time(
    store: LocalStorage, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(module.os, "write", lambda descriptor, body: real(descriptor, bytes(body)[:3]))
    store.create("f", b"0123456789")
    assert (base / "f").read_bytes() == b"0123456789"
