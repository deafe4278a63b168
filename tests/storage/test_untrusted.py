"""Local files of a table that somebody else can write into: links, odd files, and paths that lead out of it."""

import itertools
import multiprocessing
import os
import socket
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from hudictl.errors import HudictlError, StorageFailed, Unreadable
from hudictl.storage import local as module
from hudictl.storage.local import LocalStorage

NOBODY = 65534


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "table"


@pytest.fixture
def store(base: Path) -> LocalStorage:
    base.mkdir()
    return LocalStorage(str(base), ".hoodie/.hudictl/tmp")


def test_create_does_not_follow_a_link_to_nowhere(store: LocalStorage, base: Path) -> None:
    (base / "f").symlink_to(base / "elsewhere")
    with pytest.raises(FileExistsError):
        store.create("f", b"new")
    assert not (base / "elsewhere").exists()


def test_a_folder_that_is_a_link_goes_without_what_it_points_to(store: LocalStorage, base: Path) -> None:
    """A table's writer could point it anywhere."""
    store.create("elsewhere/f", b"x")
    (base / "a").symlink_to(base / "elsewhere")
    store.delete_folder("a")
    assert not (base / "a").is_symlink()
    assert (base / "elsewhere" / "f").read_bytes() == b"x"


@pytest.mark.parametrize("kind", ["pipe", "device", "socket", "loop", "folder"])
def test_only_regular_files_are_read(
    store: LocalStorage, base: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe would never end, and a device fill the memory."""
    monkeypatch.chdir(base)
    store.create("f", b"x")
    match kind:
        case "pipe":
            os.mkfifo("odd")
        case "device":
            os.symlink("/dev/zero", "odd")
        case "socket":
            with socket.socket(socket.AF_UNIX) as server:
                server.bind("odd")
        case "loop":
            os.symlink("odd", "odd")
        case "folder":
            os.mkdir("odd")
    with pytest.raises(StorageFailed, match="cannot read odd"):
        store.read("odd")
    assert "f" in {entry.name for entry in store.list("")}


def test_nothing_behind_a_link_is_changed(store: LocalStorage, base: Path) -> None:
    store.create("elsewhere/sub/f", b"x")
    (base / "a").symlink_to(base / "elsewhere")
    assert [outcome.error for outcome in store.delete(["a/sub/f"])] == ["behind a symbolic link"]
    for change in (store.create, store.replace):
        with pytest.raises(StorageFailed, match="behind a symbolic link"):
            change("a/sub/f2", b"y")
    with pytest.raises(StorageFailed, match="behind a symbolic link"):
        store.delete_folder("a/sub")
    assert {path.name: path.read_bytes() for path in (base / "elsewhere").rglob("f*")} == {"f": b"x"}


def test_no_link_in_the_tables_own_folder_is_read(store: LocalStorage, base: Path) -> None:
    """Else a file that only the operator may read gets into the table. Data behind a link is read."""
    store.create("elsewhere/f", b"secret")
    for link, target in ((".hoodie/file", "../elsewhere/f"), (".hoodie/folder", "../elsewhere"), ("data", "elsewhere")):
        (base / link).symlink_to(target)
    for path in (".hoodie/file", ".hoodie/folder/f"):
        with pytest.raises(StorageFailed, match="behind a symbolic link"):
            store.read(path)
    for look in (store.list, store.below(".hoodie").below("folder").list):
        with pytest.raises(StorageFailed, match="behind a symbolic link"):
            look(".hoodie/folder" if look == store.list else "")
    assert not store.has_folder(".hoodie/folder")
    assert [entry.name for entry in store.list(".hoodie") if not entry.is_dir] == ["file", "folder"]
    assert store.read("data/f") == store.below("data").read("f") == b"secret"


def test_a_folder_in_the_place_of_a_new_one_gets_no_rights(
    store: LocalStorage, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner of the table's folder may put another one of root's there."""
    base.chmod(0o777)
    store.create("f", b"")
    (base / "private").mkdir(mode=0o700)
    (base / "private/f").write_bytes(b"x")
    real = os.mkdir

    def mkdir(name: str, **folder: int) -> None:
        real(name, **folder)
        (base / name).rmdir()
        (base / "private").rename(base / name)

    monkeypatch.setattr(module.os, "mkdir", mkdir)
    store.create("new/g", b"y")
    assert (base / "new").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("path", ["../f", "a/../../f", "a//f", "./f", "/etc/f", "f\0", "a/", "\ud800"])
def test_a_path_stays_in_the_table(store: LocalStorage, path: str) -> None:
    for use in (store.read, store.stat, store.list, store.delete_folder, lambda path: store.delete([path])):
        with pytest.raises(Unreadable, match="no path inside the table"):
            use(path)


def test_nothing_is_made_where_a_file_is_in_the_place_of_a_folder(store: LocalStorage, base: Path) -> None:
    os.mkfifo(base / "a")
    for change in (store.create, store.replace):
        with pytest.raises(StorageFailed, match=r"cannot (create|replace) a/f: Not a directory"):
            change("a/f", b"x")


def test_an_empty_folder_below_a_file_is_gone_already(store: LocalStorage, base: Path) -> None:
    (base / "a").touch()
    store.remove_empty("a/b")
    store.delete_folder("a/b")
    assert (base / "a").is_file()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be tricked into giving a folder of root's away")
def test_the_owner_of_a_folder_wins_no_race_against_root(base: Path, tmp_path: Path) -> None:
    """They put a link in the place of a folder again and again, while root makes, fills and deletes it: 200 times."""
    private = tmp_path / "private"
    (private / "b").mkdir(parents=True, mode=0o700)
    (private / "b/f").write_text("root's")
    base.mkdir()
    os.chown(base, NOBODY, NOBODY)
    before = facts(private)
    attacker = multiprocessing.get_context("fork").Process(target=swap, args=(base, private), daemon=True)
    attacker.start()
    store = LocalStorage(str(base), ".hoodie/.hudictl/tmp")
    try:
        for _ in range(200):
            for change in (
                partial(store.create, "a/b/f", b"x"),
                partial(store.replace, "a/b/g", b"x"),
                partial(store.delete, ["a/b/f", "a/b/g"]),
                partial(store.remove_empty, "a/b"),
                partial(store.delete_folder, "a"),
            ):
                with suppress(HudictlError, OSError):
                    change()
    finally:
        attacker.kill()
        attacker.join()
    assert facts(private) == before


def facts(folder: Path) -> list[tuple[str, int, int, int]]:
    found = [(str(path), path.lstat()) for path in [folder, *sorted(folder.rglob("*"))]]
    return [(name, status.st_mode, status.st_uid, status.st_size) for name, status in found]


def swap(base: Path, private: Path) -> None:
    """What the owner of a folder can do in it, for ever."""
    os.chdir(base)
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    for number in itertools.count():
        for step in (
            partial(os.rename, "a", f"away-{number}"),
            partial(os.symlink, private, "a"),
            partial(os.unlink, "a"),
        ):
            with suppress(OSError):
                step()
