"""Stores behind fsspec, never cached: the contracts on memory and on S3, and which stores are not written."""

import uuid
from collections.abc import Mapping
from typing import Any

import fsspec
import pytest

from hudictl.errors import StorageFailed, Unsupported
from hudictl.storage import Storage
from hudictl.storage.open import open_storage
from hudictl.storage.remote import RemoteStorage, errors
from tests.s3 import BUCKET
from tests.storage.contract import ReadContract, WriteContract


class TestMemoryReads(ReadContract):
    """The read contract on fsspec's memory store."""

    def storage(self, files: Mapping[str, bytes]) -> Storage:
        base = f"memory://{uuid.uuid4()}/table"
        for path, body in files.items():
            fsspec.filesystem("memory").pipe_file(f"{base}/{path}", body)
        return open_storage(base, ".tmp")

    def test_modification_time(self, store: Storage) -> None:
        """From whatever field the store has it in."""
        found = store.stat("a")
        assert found is not None
        assert found.modified_ms > 1_700_000_000_000


class TestMemoryWrites(WriteContract):
    """The write contract on fsspec's memory store, which creates exclusively for nobody."""

    @pytest.fixture
    def empty(self, monkeypatch: pytest.MonkeyPatch) -> Storage:
        self.base = f"memory://{uuid.uuid4()}/table"
        self.memory = fsspec.filesystem("memory")
        self.monkeypatch = monkeypatch
        return open_storage(self.base, ".tmp", single_operator=True)

    def put_behind(self, path: str, body: bytes) -> None:
        self.memory.pipe_file(f"{self.base}/{path}", body)

    def drop_behind(self, path: str) -> None:
        self.memory.rm_file(f"{self.base}/{path}")

    def set_time(self, path: str, moment: float) -> None:
        file = self.memory.store[self.memory._strip_protocol(f"{self.base}/{path}")]
        file.created = file.modified = file.created.fromtimestamp(moment, file.created.tzinfo)

    def protect(self, path: str) -> None:
        real = type(self.memory)._rm

        def rm(memory: Any, name: str) -> None:
            if name.endswith(path):
                raise PermissionError(f"{name} is protected")
            real(memory, name)

        self.monkeypatch.setattr(type(self.memory), "_rm", rm)


@pytest.mark.parametrize(
    ("uri", "single_operator", "reason"),
    [
        ("memory://x/t", False, "not known to support exclusive creation"),
        ("memory://x/t", True, None),
        ("github://x:y@main/t", False, "before they are complete"),
        ("github://x:y@main/t", True, "before they are complete"),
        (f"s3://{BUCKET}/t", False, None),
        ("file:///x/t", False, None),
    ],
)
def test_which_stores_are_written(uri: str, single_operator: bool, reason: str | None) -> None:
    """Known to put whole objects, and to create exclusively unless the operator is alone."""
    if uri.startswith("github:"):
        # Its driver asks the network when it is opened.
        store: Storage = RemoteStorage(uri, None, "", single_operator)
    else:
        store = open_storage(uri, ".tmp", single_operator=single_operator)
    if reason is None:
        store.require_writable()
        return
    with pytest.raises(Unsupported, match=reason) as caught:
        store.require_writable()
    assert caught.value.hint


def test_an_unknown_scheme_is_unsupported() -> None:
    """No package for it: an answer, no traceback."""
    with pytest.raises(Unsupported, match="gopher"):
        open_storage("gopher://host/table", ".tmp")


def test_a_store_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a driver raises is StorageFailed with the path, without the signature of a request; an absent file is
    none."""

    class OfTheDriver(Exception):
        pass

    def broken(*_: Any, **__: Any) -> Any:
        raise OfTheDriver("access denied: GET https://host/p?comp=list&sig=s3cr3t%3D")

    store = open_storage(f"memory://{uuid.uuid4()}/table", ".tmp")
    for method in ("ls", "info", "cat_file", "find"):
        monkeypatch.setattr(store.filesystem, method, broken, raising=True)  # type: ignore[attr-defined]
    calls = (store.list, store.stat, store.read, store.touch, store.delete_folder)
    for call in calls:
        with pytest.raises(StorageFailed, match="access denied") as caught:
            call("p")
        assert caught.value.fields["path"] == "p"
        assert "sig=***" in caught.value.message
        assert "s3cr3t" not in caught.value.message


@pytest.mark.parametrize("verb", ["replace", "touch"])
def test_a_write_that_is_refused_is_told_though_the_same_bytes_are_there(
    monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """As for each touch: a heartbeat would be taken for young."""
    store = open_storage(f"memory://{uuid.uuid4()}/table", ".tmp", single_operator=True)
    store.create("f", b"body")

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError("read-only credentials")

    monkeypatch.setattr(store.filesystem, "pipe_file", refuse)  # type: ignore[attr-defined]
    with pytest.raises(StorageFailed, match="read-only credentials"):
        store.replace("f", b"body") if verb == "replace" else store.touch("f")


@pytest.mark.parametrize("single_operator", [True, False])
def test_a_write_to_what_is_not_there_is_no_file_of_the_table_that_is_gone(
    monkeypatch: pytest.MonkeyPatch, single_operator: bool
) -> None:
    """A bucket that is absent, as drivers tell it."""
    store = open_storage(f"memory://{uuid.uuid4()}/table", ".tmp", single_operator=single_operator)

    def absent(*_: Any, **__: Any) -> None:
        raise FileNotFoundError("no such bucket")

    monkeypatch.setattr(store.filesystem, "pipe_file", absent)  # type: ignore[attr-defined]
    with pytest.raises(StorageFailed, match="cannot create f: no such bucket"):
        store.create("f", b"body")


@pytest.mark.parametrize(
    ("said", "cause", "told"),
    [
        ("b/no-such-bucket/o", None, "bucket"),
        ("http://localhost:1/upload/storage/v1/b/no-such-bucket/o", None, "bucket"),
        ("[Errno 2] No such file or directory: 'c/t'", "It does not exist.\nErrorCode:ContainerNotFound", "container"),
        ("lake/b/abc/o", None, ""),
        ("http://localhost:1/download/storage/v1/b/lake/o/b%2Fabc%2Fo?alt=media", None, ""),
        ("[Errno 2] No such file or directory: 'c/t'", "It does not exist.\nErrorCode:BlobNotFound", ""),
    ],
)
def test_a_bucket_that_is_not_there_is_told_by_the_words_of_each_driver(
    said: str, cause: str | None, told: str
) -> None:
    """gcsfs, and Azure's client: what is not found there is no file that is gone."""
    with pytest.raises(StorageFailed if told else FileNotFoundError) as caught, errors("read", "f"):
        raise FileNotFoundError(said) from (OSError(cause) if cause else None)
    if told:
        assert str(caught.value).startswith(f"cannot read f: the {told} does not exist")


def test_a_write_to_a_container_that_is_not_there_is_no_unknown_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Azure's client tells it, of the write and of the look that follows."""
    store = open_storage(f"memory://{uuid.uuid4()}/table", ".tmp", single_operator=True)

    def absent(*_: Any, **__: Any) -> None:
        raise OSError("It does not exist.\nErrorCode:ContainerNotFound")

    for name in ("pipe_file", "cat_file"):
        monkeypatch.setattr(store.filesystem, name, absent)  # type: ignore[attr-defined]
    with pytest.raises(StorageFailed, match=r"cannot replace f: the container does not exist") as caught:
        store.replace("f", b"body")
    assert type(caught.value) is StorageFailed
