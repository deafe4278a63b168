"""The contracts of storages on servers of S3, Google Cloud Storage and Azure."""

import uuid
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import pytest

from hudictl.storage import Storage
from hudictl.storage.open import open_storage
from hudictl.storage.remote import RemoteStorage
from tests.storage.contract import ExclusiveContract, ReadContract
from tests.stores import versity
from tests.stores.azurite import Container
from tests.stores.server import Server

pytestmark = pytest.mark.stores


class TestS3Reads(ReadContract):
    """The read contract on S3."""

    @pytest.fixture(autouse=True)
    def _server(self, versitygw: Server) -> None:
        self.server = versitygw

    def storage(self, files: Mapping[str, bytes]) -> Storage:
        prefix = f"reads/{uuid.uuid4()}"
        self.server.put({f"{prefix}/{path}": body for path, body in files.items()})
        return open_storage(f"{self.server.root}/{prefix}", ".tmp", self.server.options)


class TestGcsReads(TestS3Reads):
    """The read contract on Google Cloud Storage."""

    @pytest.fixture(autouse=True)
    def _server(self, gcs: Server) -> None:
        self.server = gcs


class TestAzureReads(TestS3Reads):
    """The read contract on Azure."""

    @pytest.fixture(autouse=True)
    def _server(self, azure: Server) -> None:
        self.server = azure


class TestS3Writes(ExclusiveContract):
    """The write contract on S3."""

    @pytest.fixture
    def server(self, versitygw: Server) -> Iterator[Server]:
        yield versitygw
        versity.allow(versitygw.endpoint)

    @pytest.fixture
    def empty(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> Storage:
        self.server, self.monkeypatch = server, monkeypatch
        self.prefix = f"writes/{uuid.uuid4()}/a table"
        self.opened = open_storage(f"{server.root}/{self.prefix}", ".tmp", server.options)
        return self.opened

    def put_behind(self, path: str, body: bytes) -> None:
        self.server.put({f"{self.prefix}/{path}": body})

    def drop_behind(self, path: str) -> None:
        self.server.behind.delete(f"{self.prefix}/{path}")

    def set_time(self, path: str, moment: float) -> None:
        self.server.set_time(f"{self.prefix}/{path}", moment)

    def protect(self, path: str) -> None:
        versity.allow(self.server.endpoint, DeleteObject=f"{self.prefix}/{path}")


class TestGcsWrites(TestS3Writes):
    """The write contract on Google Cloud Storage. The server knows no rights: the driver stands for it."""

    @pytest.fixture
    def server(self, gcs: Server) -> Server:
        return gcs

    def protect(self, path: str) -> None:
        assert isinstance(self.opened, RemoteStorage)
        driver = self.opened.filesystem
        real, real_call = driver.rm_file, driver.call
        url = quote(f"{self.prefix}/{path}", safe="").encode()

        def refuse(name: str) -> Any:
            if name.endswith(path):
                raise OSError("Forbidden")
            return real(name)

        def call(method: str, *args: Any, data: bytes = b"", **kwargs: Any) -> Any:
            # The part of the request that is about this object has a generation that the server refuses.
            odd = data.replace(url + b" HTTP", url + b"?generation=none HTTP")
            return real_call(method, *args, **({"data": odd} if data else {}), **kwargs)

        self.monkeypatch.setattr(driver, "rm_file", refuse)
        self.monkeypatch.setattr(driver, "call", call)


class TestAzureWrites(TestS3Writes):
    """The write contract on Azure."""

    @pytest.fixture
    def server(self, azure: Server) -> Server:
        return azure

    def protect(self, path: str) -> None:
        assert isinstance(self.server.behind, Container)
        self.server.behind.protect(f"{self.prefix}/{path}")


@pytest.mark.short("azure")
def test_names_with_signs_are_deleted_and_no_others(server: Server) -> None:
    """Many in a request: what such a name would be, decoded or not, is another file."""
    wanted = ["a b.parquet", "100%25.parquet", "c%2Fd", "\u00fc\u6771", "a+b", "x=1/y&z?q#h;,'", "~!@$()*[]{}|^`<>:"]
    others = ["a+b.parquet", "100%.parquet", "c/d", "a b", "u\u6771", "x=1/y&z", "x=1/y&z?q"]
    prefix = f"signs+here/{uuid.uuid4()}"
    server.put({f"{prefix}/p 1/{name}": b"x" for name in wanted + others})
    store = open_storage(f"{server.root}/{prefix}", ".tmp", server.options)
    outcomes = store.delete([f"p 1/{name}" for name in [*wanted, "absent"]])
    assert [outcome for outcome in outcomes if outcome.error is not None] == []
    assert server.names(f"{prefix}/p 1") == set(others)
    assert not getattr(store, "_refused", [])


@pytest.mark.short("azure")
@pytest.mark.parametrize("name", ["a?", "a?b#c", "a?versionid=1", "a#1", "a b?c=d"])
def test_one_file_whose_name_has_signs_of_a_url(server: Server, name: str) -> None:
    """Drivers take a path for a URL, and would ask for the file ``a``, or for an old version of it."""
    prefix = f"signs/{uuid.uuid4()}"
    server.put({f"{prefix}/p/a": b"other"})
    store = open_storage(f"{server.root}/{prefix}", ".tmp", server.options)
    store.create(f"p/{name}", b"one")
    store.replace(f"p/{name}", b"two")
    assert server.names(f"{prefix}/p") == {"a", name}
    assert (store.read(f"p/{name}"), store.stat(f"p/{name}") is None) == (b"two", False)
    assert [entry.name for entry in store.list("p")] == ["a", name]
    assert [outcome.error for outcome in store.delete([f"p/{name}"])] == [None]
    assert (store.stat(f"p/{name}"), server.names(f"{prefix}/p")) == (None, {"a"})
    assert server.behind.read(f"{prefix}/p/a") == b"other"
