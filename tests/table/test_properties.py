"""Reading and changing hoodie.properties, with every state that a crash leaves."""

import os
from pathlib import Path
from typing import Any

import pytest

from hudictl.errors import Conflict, NotFound, StorageFailed, Unreadable
from hudictl.formats import properties as fmt
from hudictl.formats.layouts import PROPERTIES, PROPERTIES_BACKUP
from hudictl.storage import DeleteOutcome
from hudictl.storage.local import LocalStorage
from hudictl.storage.open import open_storage
from hudictl.table.properties import read_properties, recover_properties, update_properties


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / ".hoodie").mkdir()
    return tmp_path


@pytest.fixture
def store(base: Path) -> LocalStorage:
    return LocalStorage(str(base), ".hoodie/.hudictl/tmp")


def good() -> bytes:
    sum_ = fmt.checksum({"hoodie.table.name": "t"})
    return f"hoodie.table.name=t\nhoodie.table.checksum={sum_}\nunknown.key=kept \\u00e9\n".encode()


def test_neither_file(store: LocalStorage) -> None:
    with pytest.raises(NotFound, match="not a Hudi table") as caught:
        read_properties(store)
    assert caught.value.exit_code == 10


@pytest.mark.parametrize("file", ["20261121030250364.commit", "timeline/20261121030250364_20261121030251364.commit"])
def test_a_timeline_without_either_file_is_a_table_that_lost_them(store: LocalStorage, base: Path, file: str) -> None:
    """Not a wrong path: the message does not send to look for another one."""
    path = base / ".hoodie" / file
    path.parent.mkdir(exist_ok=True)
    path.touch()
    with pytest.raises(Unreadable, match=f"{PROPERTIES} is lost") as caught:
        read_properties(store)
    assert (caught.value.exit_code, caught.value.fields["file"]) == (14, PROPERTIES)


def test_a_path_that_is_a_file(base: Path) -> None:
    """Named by mistake: no table either, not a storage failure."""
    (base / "f.parquet").write_bytes(b"")
    with pytest.raises(NotFound):
        read_properties(open_storage(str(base / "f.parquet"), "x"))


@pytest.mark.parametrize("damaged", [None, b"", b"hoodie.table.version=6\n", b"hoodie.table.name=t\nx=\\u12", "sum"])
def test_a_reader_finds_the_backup_of_an_interrupted_update(
    store: LocalStorage, base: Path, damaged: bytes | str | None
) -> None:
    """Missing, cut, or with another table's checksum."""
    body = good().replace(b"name=t", b"name=u") if damaged == "sum" else damaged
    if isinstance(body, bytes):
        (base / PROPERTIES).write_bytes(body)
    (base / PROPERTIES_BACKUP).write_bytes(good())
    assert read_properties(store)["unknown.key"] == "kept é"
    recover_properties(store)
    assert (base / PROPERTIES).read_bytes() == good()
    assert not (base / PROPERTIES_BACKUP).exists()


def test_a_good_file_wins_over_a_backup(store: LocalStorage, base: Path) -> None:
    """The update was done but for the backup's deletion."""
    (base / PROPERTIES).write_bytes(good())
    (base / PROPERTIES_BACKUP).write_bytes(b"hoodie.table.name=before\n")
    assert read_properties(store)["hoodie.table.name"] == "t"
    recover_properties(store)
    assert (base / PROPERTIES).read_bytes() == good()
    assert not (base / PROPERTIES_BACKUP).exists()


@pytest.mark.parametrize("backup", [None, b"", b"x=1\n"])
def test_nothing_good(store: LocalStorage, base: Path, backup: bytes | None) -> None:
    """Unreadable (14), and no file is touched by the attempt to recover."""
    (base / PROPERTIES).write_bytes(b"x=1\n")
    if backup is not None:
        (base / PROPERTIES_BACKUP).write_bytes(backup)
    before = sorted(path.name for path in (base / ".hoodie").iterdir())
    with pytest.raises(Unreadable) as caught:
        update_properties(store, {"a": "b"})
    assert caught.value.exit_code == 14
    assert sorted(path.name for path in (base / ".hoodie").iterdir()) == before
    assert (base / PROPERTIES).read_bytes() == b"x=1\n"


def test_update_keeps_everything_else(store: LocalStorage, base: Path) -> None:
    """Unknown keys and their values too; sidecars and the backup are gone."""
    (base / PROPERTIES).write_bytes(good())
    (base / ".hoodie/.hoodie.properties.crc").write_bytes(b"crc")
    before = read_properties(store)
    update_properties(store, {"hoodie.table.metadata.partitions": "", "new": "1"})
    assert read_properties(store) == before | {"hoodie.table.metadata.partitions": "", "new": "1"}
    assert [path.name for path in (base / ".hoodie").iterdir() if path.is_file()] == ["hoodie.properties"]


def test_a_new_name_gets_a_new_checksum(store: LocalStorage, base: Path) -> None:
    (base / PROPERTIES).write_bytes(good())
    update_properties(store, {"hoodie.table.name": "u"})
    values = read_properties(store)
    assert values["hoodie.table.checksum"] == fmt.checksum({"hoodie.table.name": "u"})


def test_no_change_writes_nothing(store: LocalStorage, base: Path) -> None:
    (base / PROPERTIES).write_bytes(good())
    os.utime(base / PROPERTIES, (1, 1))
    update_properties(store, {"unknown.key": "kept é"})
    assert (base / PROPERTIES).stat().st_mtime == 1


@pytest.mark.parametrize("stop", ["create", "replace", "delete"])
def test_a_crash_at_any_step(store: LocalStorage, base: Path, monkeypatch: pytest.MonkeyPatch, stop: str) -> None:
    """A reader finds the old values or the new ones, never none; the same update again finishes."""
    (base / PROPERTIES).write_bytes(good())
    before = read_properties(store)

    def crash(*_: Any) -> Any:
        raise StorageFailed("crash")

    monkeypatch.setattr(LocalStorage, stop, crash)
    with pytest.raises(StorageFailed):
        update_properties(store, {"a": "b"})
    monkeypatch.undo()
    assert read_properties(store) in (before, before | {"a": "b"})
    update_properties(store, {"a": "b"})
    assert read_properties(store) == before | {"a": "b"}
    assert not (base / PROPERTIES_BACKUP).exists()


def test_two_updates_at_once(store: LocalStorage, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hudi's own protocol: the backup's exclusive creation decides."""
    (base / PROPERTIES).write_bytes(good())
    real = LocalStorage.create

    def late(self: LocalStorage, path: str, body: bytes) -> None:
        (base / PROPERTIES_BACKUP).write_bytes(body)
        real(self, path, body)

    monkeypatch.setattr(LocalStorage, "create", late)
    with pytest.raises(Conflict):
        update_properties(store, {"a": "b"})
    assert (base / PROPERTIES).read_bytes() == good()


def test_a_backup_that_stays_is_no_success(store: LocalStorage, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next update deletes it."""
    (base / PROPERTIES).write_bytes(good())
    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "delete", lambda _, paths: [DeleteOutcome(path, "denied") for path in paths])
        with pytest.raises(StorageFailed, match=r"cannot delete \.hoodie/hoodie\.properties\.backup: denied"):
            update_properties(store, {"hoodie.table.metadata.partitions": ""})
    assert read_properties(store)["hoodie.table.metadata.partitions"] == ""
    update_properties(store, {"hoodie.table.metadata.partitions": ""})
    assert not (base / PROPERTIES_BACKUP).exists()
