"""Copies of Azure's, which may end after the service's answer, or never: an empty blob stands for them meanwhile."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import pytest

from hudictl.storage import Storage
from hudictl.storage.keeping import Keeping, kept_files, kept_path, put_back
from hudictl.storage.open import open_storage

pytest.importorskip("adlfs", reason="the extra azure is not installed: pip install 'hudictl[azure]'")
azure = pytest.importorskip("hudictl.storage.azure")

ROOM = ".own/room"
KEPT = kept_path(ROOM, "p/f")


@dataclass
class Container:
    """Blobs by their paths in the table, what each tells of the copy that has made it, and how the next copies go on:
    the status after the answer, and those at each later look."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    states: dict[str, list[str]] = field(default_factory=dict)
    next: list[list[str]] = field(default_factory=list)

    def copy(self, source: str, target: str) -> int:
        if self.states.get(target, [""])[0] == "pending":
            return 409
        self.states[target] = [*(self.next.pop(0) if self.next else ["success"])]
        self.blobs[target] = self.blobs[source] if self.states[target][0] == "success" else b""
        return 202

    def look(self, path: str) -> dict[str, str]:
        states = self.states.get(path, [])
        if len(states) > 1:
            states.pop(0)
            if states[0] == "success":
                self.blobs[path] = self.blobs["p/f" if path == KEPT else KEPT]
        return {"x-ms-copy-status": states[0], "x-ms-copy-status-description": "500 in words"} if states else {}

    def listing(self, folder: str) -> bytes:
        below = {name.removeprefix(folder): body for name, body in self.blobs.items() if name.startswith(folder)}
        folders = {name.partition("/")[0] for name in below if "/" in name}
        files = "".join(
            f"<Blob><Name>t/{folder}{name}</Name><Properties><BlobType>BlockBlob</BlobType>"
            f"<Content-Length>{len(body)}</Content-Length></Properties></Blob>"
            for name, body in below.items()
            if "/" not in name
        )
        inner = "".join(f"<BlobPrefix><Name>t/{folder}{name}/</Name></BlobPrefix>" for name in folders)
        return f"<EnumerationResults><Blobs>{files}{inner}</Blobs></EnumerationResults>".encode()


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    container: Container

    @property
    def blob(self) -> str:
        return unquote(urlsplit(self.path).path).partition("/lake/t/")[2]

    def do_HEAD(self) -> None:
        path = self.blob
        told = self.container.look(path)
        if path in self.container.blobs:
            self.tell(200, told | {"x-ms-blob-type": "BlockBlob"}, len(self.container.blobs[path]))
        else:
            self.tell(404, {"x-ms-error-code": "BlobNotFound"})

    def do_PUT(self) -> None:
        status = self.container.copy(unquote(self.headers["x-ms-copy-source"]).partition("/lake/t/")[2], self.blob)
        self.tell(status, {"x-ms-error-code": "PendingCopyOperation"} if status == 409 else {})

    def do_DELETE(self) -> None:
        self.tell(202 if self.container.blobs.pop(self.blob, None) is not None else 404, {})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.tell(400, {})

    def do_GET(self) -> None:
        prefix = unquote(self.path.partition("prefix=")[2].partition("&")[0])
        self.tell(200, {}, 0, self.container.listing(prefix.removeprefix("t/")))

    def tell(self, status: int, headers: dict[str, str], size: int = 0, body: bytes = b"") -> None:
        self.send_response(status)
        for key, value in {"Content-Type": "application/xml", **headers}.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body) or size))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return None


@pytest.fixture
def container() -> Container:
    return Container({"p/f": b"rows"})


@pytest.fixture
def store(container: Container, monkeypatch: pytest.MonkeyPatch) -> Iterator[Storage]:
    handler = type("Handler", (Answering,), {"container": container})
    monkeypatch.setattr(azure, "_COPY_SECONDS", 0.2)
    monkeypatch.setattr(azure, "_POLL_SECONDS", 0.05)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        blobs = f"BlobEndpoint=http://127.0.0.1:{server.server_port}/me;"
        options = {"connection_string": f"DefaultEndpointsProtocol=http;AccountName=me;AccountKey=a2V5;{blobs}"}
        yield open_storage("abfs://lake@me.dfs.core.windows.net/t", ".tmp", options)
        server.shutdown()


def delete(store: Storage) -> str | None:
    (outcome,) = Keeping(store, ROOM, ".own").delete(["p/f"])
    return outcome.error


def test_a_copy_that_ends_later_is_waited_for(container: Container, store: Storage) -> None:
    container.next = [["pending", "pending", "success"]]
    assert delete(store) is None
    assert container.blobs == {KEPT: b"rows"}


def test_what_is_not_copied_stays_however_often_it_is_tried(container: Container, store: Storage) -> None:
    """And it is copied as soon as the store can."""
    container.next = [["failed"], ["failed"]]
    for _ in range(2):
        assert "has failed: 500 in words" in str(delete(store))
        assert container.blobs == {"p/f": b"rows", KEPT: b""}
    assert delete(store) is None
    assert container.blobs == {KEPT: b"rows"}


def test_a_copy_without_end_is_not_begun_again(container: Container, store: Storage) -> None:
    container.next = [["pending"]]
    for _ in range(2):
        assert "goes on" in str(delete(store))
        assert container.blobs == {"p/f": b"rows", KEPT: b""}
    container.states[KEPT] = ["pending", "success"]
    assert delete(store) is None
    assert container.blobs == {KEPT: b"rows"}


@pytest.mark.parametrize("state", ["pending", "failed", "aborted"])
def test_an_undo_leaves_what_was_not_copied(container: Container, store: Storage, state: str) -> None:
    container.next = [[state]]
    assert delete(store) is not None
    assert kept_files(store, ROOM) == {}


def test_a_file_that_comes_back_is_kept_until_it_is_whole(container: Container, store: Storage) -> None:
    assert delete(store) is None
    container.next = [["failed"]]
    assert [entry.path for entry in put_back(store, ROOM, ["p/f"])] == [KEPT]
    assert container.blobs == {KEPT: b"rows", "p/f": b""}
    assert [*kept_files(store, ROOM)] == ["p/f"]
    assert put_back(store, ROOM, ["p/f"]) == []
    assert container.blobs == {"p/f": b"rows"}
