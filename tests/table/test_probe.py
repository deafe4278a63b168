"""A probe file, and what is left of it: nothing."""

from pathlib import Path

import pytest

from hudictl.errors import StorageFailed
from hudictl.formats.layouts import OWN, SCRATCH
from hudictl.storage.local import LocalStorage
from hudictl.table.probe import leaving_nothing, probe_create
from tests.helpers import replace_function


def names(base: Path) -> set[str]:
    return {str(path.relative_to(base)) for path in base.rglob("*")}


def test_a_store_that_creates_exclusively(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path), SCRATCH)
    with leaving_nothing(storage):
        assert probe_create(storage)
        assert names(tmp_path) == {".hoodie", OWN, SCRATCH}
    assert names(tmp_path) == {".hoodie"}


def test_a_store_for_which_the_same_bytes_count_as_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As object stores do where a reply may be lost."""
    real = LocalStorage.create

    def create(storage: LocalStorage, path: str, body: bytes) -> None:
        if storage.stat(path) is None or storage.read(path) != body:
            real(storage, path, body)

    monkeypatch.setattr(LocalStorage, "create", create)
    assert probe_create(LocalStorage(str(tmp_path), SCRATCH))


def test_a_store_that_creates_a_file_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalStorage, "create", LocalStorage.replace)
    storage = LocalStorage(str(tmp_path), SCRATCH)
    assert not probe_create(storage)
    assert not any("probe" in name for name in names(tmp_path))


def test_folders_that_were_there_or_that_another_uses_stay(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path), SCRATCH)
    with leaving_nothing(storage):
        probe_create(storage)
        storage.create(f"{OWN}/claim-1", b"")
    assert (tmp_path / SCRATCH).is_dir()
    storage.delete([f"{OWN}/claim-1"])
    with leaving_nothing(storage):
        probe_create(storage)
    assert (tmp_path / SCRATCH).is_dir()


def test_another_that_begins_at_the_last_moment_keeps_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = LocalStorage(str(tmp_path), SCRATCH)

    def late(real: object, *given: object) -> bool:
        found: bool = real(*given)  # type: ignore[operator]
        (tmp_path / SCRATCH / "theirs").touch()
        return found

    replace_function(monkeypatch, "hudictl.table.probe._unused", late)
    with leaving_nothing(storage):
        probe_create(storage)
    assert (tmp_path / SCRATCH / "theirs").exists()


def test_a_store_that_cannot_be_written_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise StorageFailed("cannot create: no space")

    monkeypatch.setattr(LocalStorage, "create", full)
    with leaving_nothing(LocalStorage(str(tmp_path), SCRATCH)), pytest.raises(StorageFailed, match="no space"):
        probe_create(LocalStorage(str(tmp_path), SCRATCH))
