"""Stores behind fsspec: read, never changed, never cached."""

import uuid
from collections.abc import Callable, Mapping
from typing import Any

import fsspec
import pytest

from hudictl.errors import StorageFailed, Unsupported
from hudictl.storage import Storage, open_storage
from tests.storage.contract import ReadContract


class TestMemory(ReadContract):
    """The read contract on fsspec's memory store."""

    def storage(self, files: Mapping[str, bytes]) -> Storage:
        base = f"memory://{uuid.uuid4()}/table"
        for path, body in files.items():
            fsspec.filesystem("memory").pipe_file(f"{base}/{path}", body)
        return open_storage(base, ".tmp")

    @pytest.mark.parametrize(
        "change",
        [
            lambda store: store.create("new", b""),
            lambda store: store.replace("a", b""),
            lambda store: store.touch("a"),
            lambda store: store.delete(["a"]),
            lambda store: store.sync(""),
            lambda store: store.move_folder("folder", "other"),
            lambda store: store.delete_folder("folder"),
        ],
    )
    def test_nothing_is_changed(self, store: Storage, change: Callable[[Storage], Any]) -> None:
        """Two operators would both succeed there: refused, with the reason."""
        assert not store.writable
        with pytest.raises(Unsupported, match="local file systems only"):
            change(store)
        assert store.read("a") == b"0123456789"
        assert [entry.name for entry in store.list("")] == ["a", "folder"]

    def test_a_writers_new_file_is_seen(self, store: Storage) -> None:
        """No answer comes from a cache."""
        assert store.stat("new") is None
        assert len(store.list("")) == 2
        fsspec.filesystem("memory").pipe_file(f"{store.uri}/new", b"1")
        assert store.stat("new") is not None
        assert [entry.name for entry in store.list("")] == ["a", "folder", "new"]

    def test_modification_time(self, store: Storage) -> None:
        """From whatever field the store has it in."""
        found = store.stat("a")
        assert found is not None
        assert found.modified_ms > 1_700_000_000_000


def test_an_unknown_scheme_is_storage_failed() -> None:
    """No package for it: an answer, no traceback."""
    with pytest.raises(StorageFailed, match="gopher"):
        open_storage("gopher://host/table", ".tmp")


def test_a_store_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of the store are StorageFailed with the path; an absent file is none."""
    store = open_storage(f"memory://{uuid.uuid4()}/table", ".tmp")

    def broken(*_: Any, **__: Any) -> Any:
        raise PermissionError("access denied")

    for method in ("ls", "info", "cat_file"):
        monkeypatch.setattr(store.filesystem, method, broken, raising=True)  # type: ignore[attr-defined]
    for call in (lambda: store.list("p"), lambda: store.stat("p"), lambda: store.read("p")):
        with pytest.raises(StorageFailed, match="access denied") as caught:
            call()
        assert caught.value.fields["path"] == "p"
