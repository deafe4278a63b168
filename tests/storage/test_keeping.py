"""A storage that keeps what it deletes or replaces: whatever is done, what is kept and noted leads back."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.storage import FileStatus, delete_all
from hudictl.storage.keeping import Keeping, drop_contents, kept_files, kept_path, made_files, made_path
from hudictl.storage.local import LocalStorage

OWN = ".own"
ROOM = f"{OWN}/undo/1"
SCRATCH = f"{OWN}/tmp"
BEGINNING = {"a/1": b"first", "a/b/2": b"second", "3": b"third", f"{OWN}/claim": b"claim"}
PATHS = ("a/1", "a/b/2", "3", "a/new", "n/new", f"{OWN}/claim", f"{OWN}/record")
WORK = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.sampled_from(PATHS), st.binary(max_size=3)),
        st.tuples(st.just("replace"), st.sampled_from(PATHS), st.binary(max_size=3)),
        st.tuples(st.just("delete"), st.sampled_from(PATHS), st.just(b"")),
        st.tuples(st.just("delete_folder"), st.sampled_from(["a", "a/b", "n"]), st.just(b"")),
    ),
    max_size=12,
)


def written(path: Path) -> LocalStorage:
    """A storage with the files of the beginning."""
    storage = LocalStorage(str(path), SCRATCH)
    for name, body in BEGINNING.items():
        storage.create(name, body)
    return storage


@pytest.fixture
def local(tmp_path: Path) -> LocalStorage:
    return written(tmp_path)


@pytest.fixture
def keeping(local: LocalStorage) -> Keeping:
    return Keeping(local, ROOM, OWN)


def outside(storage: LocalStorage) -> dict[str, tuple[bytes, int]]:
    """All files that are not hudictl's own, with their modification times."""
    base = Path(storage.uri.removeprefix("file://"))
    files = (path for path in base.rglob("*") if path.is_file() and path.relative_to(base).parts[0] != OWN)
    return {path.relative_to(base).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def bring_back(storage: LocalStorage) -> None:
    """As an undo does it."""
    moves = [(kept_path(ROOM, path), path) for path in kept_files(storage, ROOM)]
    delete_all(storage, sorted(made_files(storage, ROOM)))
    assert not [entry for entry in storage.move_files(moves, over=True) if entry.error is not None]


def do(storage: Keeping, work: list[tuple[str, str, bytes]]) -> None:
    for action, path, body in work:
        if action == "create":
            with suppress(FileExistsError):
                storage.create(path, body)
        elif action == "replace":
            storage.replace(path, body)
        elif action == "delete":
            delete_all(storage, [path])
        else:
            storage.delete_folder(path)


@pytest.mark.slow
@given(WORK, st.sampled_from(["", "a"]))
def test_whatever_is_done_all_comes_back(work: list[tuple[str, str, bytes]], inner: str) -> None:
    """Content of all files; also times, but of files that were replaced: those of the copy count there."""
    folder = Path(tempfile.mkdtemp())
    try:
        local = written(folder)
        before = outside(local)
        # Below a folder of the table all paths are this folder's.
        storage = Keeping(local, ROOM, OWN)
        do(storage, work)
        within = [(action, path.removeprefix("a/"), body) for action, path, body in work if path.startswith("a/")]
        do(storage.below(inner) if inner else storage, within if inner else work)
        bring_back(local)
        assert {path: body for path, (body, _) in outside(local).items()} == {
            path: body for path, (body, _) in before.items()
        }
        replaced = {path for action, path, _ in work if action == "replace"}
        assert [path for path, seen in outside(local).items() if seen != before[path] and path not in replaced] == []
    finally:
        shutil.rmtree(folder)


def test_what_is_kept_and_noted(local: LocalStorage, keeping: Keeping) -> None:
    do(keeping, [("delete", "a/1", b""), ("create", "a/new", b"x"), ("replace", "3", b"y"), ("create", "a/1", b"z")])
    assert kept_files(local, ROOM).keys() == {"a/1", "3"}
    assert made_files(local, ROOM) == {"a/new"}
    assert local.read(kept_path(ROOM, "3")) == b"third"


def test_a_file_that_is_touched_gets_its_time_back(local: LocalStorage, keeping: Keeping) -> None:
    local.replace("3", b"third")
    os.utime(f"{local.root}/3", (1, 1))
    before = outside(local)
    for _ in range(2):
        keeping.below("").touch("3")
    assert outside(local) != before
    bring_back(local)
    assert outside(local) == before
    with pytest.raises(FileNotFoundError):
        keeping.touch("absent")
    assert made_files(local, ROOM) == frozenset()
    keeping.create("a/new", b"x")
    keeping.touch("a/new")
    keeping.touch(f"{OWN}/claim")
    assert made_files(local, ROOM) == {"a/new"}
    assert kept_files(local, ROOM) == {}


def test_of_a_file_that_was_made_nothing_is_kept(local: LocalStorage, keeping: Keeping) -> None:
    do(keeping, [("create", "a/new", b"x"), ("replace", "a/new", b"y"), ("delete", "a/new", b"")])
    assert kept_files(local, ROOM) == {}
    assert made_files(local, ROOM) == {"a/new"}


def test_what_is_replaced_and_was_not_there_is_noted(local: LocalStorage, keeping: Keeping) -> None:
    keeping.replace("n/new", b"x")
    assert (kept_files(local, ROOM), made_files(local, ROOM)) == ({}, {"n/new"})


def test_the_sidecar_of_a_file_that_was_not_there_is_kept(local: LocalStorage, keeping: Keeping) -> None:
    local.create("a/.new.crc", b"crc")
    keeping.replace("a/new", b"x")
    keeping.replace("a/new", b"y")
    assert local.stat("a/.new.crc") is None
    assert (kept_files(local, ROOM).keys(), made_files(local, ROOM)) == ({"a/.new.crc"}, {"a/new"})
    assert local.read(kept_path(ROOM, "a/.new.crc")) == b"crc"


def test_hudictls_own_files_are_not_kept(local: LocalStorage, keeping: Keeping) -> None:
    do(keeping, [("create", f"{OWN}/x", b"x"), ("replace", f"{OWN}/claim", b"y"), ("delete", f"{OWN}/claim", b"")])
    assert (kept_files(local, ROOM), made_files(local, ROOM)) == ({}, frozenset())
    assert local.stat(f"{OWN}/claim") is None


def test_of_a_folder_all_files_are_kept(local: LocalStorage, keeping: Keeping) -> None:
    keeping.delete_folder("a")
    assert kept_files(local, ROOM).keys() == {"a/1", "a/b/2"}
    assert not local.has_folder("a")


def test_a_folder_behind_a_link_is_not_emptied(local: LocalStorage, keeping: Keeping, tmp_path: Path) -> None:
    """Only the link goes, as without keeping."""
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_bytes(b"another's")
    (tmp_path / "link").symlink_to(elsewhere)
    keeping.delete_folder("link")
    assert (elsewhere / "file").read_bytes() == b"another's"
    assert kept_files(local, ROOM) == {}


class Dies(LocalStorage):
    """Dies before a change of a file of the table."""

    def create(self, path: str, body: bytes) -> None:
        self._die(path)
        super().create(path, body)

    def replace(self, path: str, body: bytes) -> None:
        self._die(path)
        super().replace(path, body)

    def _die(self, path: str) -> None:
        if not path.startswith(f"{OWN}/"):
            raise KeyboardInterrupt


def test_a_file_is_noted_before_it_is_created(local: LocalStorage, tmp_path: Path) -> None:
    """After a death it is known that it may be there."""
    with pytest.raises(KeyboardInterrupt):
        Keeping(Dies(str(tmp_path), SCRATCH), ROOM, OWN).create("a/new", b"x")
    assert made_files(local, ROOM) == {"a/new"}


def test_a_file_is_kept_before_it_is_replaced(local: LocalStorage, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        Keeping(Dies(str(tmp_path), SCRATCH), ROOM, OWN).replace("3", b"x")
    assert local.read(kept_path(ROOM, "3")) == b"third"


class Overtaken(LocalStorage):
    """Another process makes the file after the look."""

    def stat(self, path: str) -> FileStatus | None:
        found = super().stat(path)
        if found is None and path == "a/new":
            LocalStorage.create(self, path, b"another's")
        return found


def test_a_file_of_another_process_is_not_noted(local: LocalStorage, tmp_path: Path) -> None:
    """An undo would delete it."""
    with pytest.raises(FileExistsError):
        Keeping(Overtaken(str(tmp_path), SCRATCH), ROOM, OWN).create("a/new", b"x")
    assert made_files(local, ROOM) == frozenset()
    assert local.read("a/new") == b"another's"


def test_of_a_room_what_is_kept_goes_first(
    local: LocalStorage, keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notes alone bring nothing back, and what is kept without them would not be all."""
    do(keeping, [("delete", "3", b""), ("create", "n/new", b"x")])
    gone: list[str] = []
    monkeypatch.setattr(LocalStorage, "delete_folder", lambda _self, folder: gone.append(folder))
    drop_contents(local, ROOM)
    assert gone == [kept_path(ROOM, "").rstrip("/"), made_path(ROOM, "").rstrip("/")]
