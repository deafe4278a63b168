"""Local files of a table that somebody else can write into: links, odd files, and paths that lead out of it."""

import os
import socket
from pathlib import Path

import pytest

from hudictl.errors import StorageFailed, Unreadable
from hudictl.storage import local as module
from hudictl.storage.local import LocalStorage


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


@pytest.mark.parametrize("path", ["../f", "a/../../f", "a//f", "./f", "/etc/f", "f\0", "a/"])
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
