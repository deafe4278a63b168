"""Listings of Azure's: what is asked, and what is made of the answers, by its own client."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from hudictl.storage import FileStatus, Storage
from hudictl.storage.open import open_storage

TIME = "Sun, 29 Nov 2026 00:30:00 GMT"
AT_MS = 1_795_912_200_000


def blob(name: str, size: int = 3, more: str = "") -> str:
    told = f"<Last-Modified>{TIME}</Last-Modified><Content-Length>{size}</Content-Length><BlobType>BlockBlob</BlobType>"
    return f"<Blob><Name>{name}</Name><Properties>{told}</Properties>{more}</Blob>"


def prefix(name: str) -> str:
    return f"<BlobPrefix><Name>{name}</Name></BlobPrefix>"


@dataclass
class Container:
    """Its answers in turn; and the beginnings of names that were asked for."""

    pages: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def answer(self, query: dict[str, list[str]]) -> bytes:
        if query.get("comp") != ["list"]:
            return b""
        self.asked.append(query.get("prefix", [""])[0])
        page = self.pages.pop(0) if self.pages else ""
        following = f"<NextMarker>{len(self.pages)}</NextMarker>" if self.pages else "<NextMarker/>"
        asked = f"<Prefix>{self.asked[-1]}</Prefix>"
        return f"<EnumerationResults>{asked}<Blobs>{page}</Blobs>{following}</EnumerationResults>".encode()


@pytest.fixture
def container() -> Container:
    return Container()


@pytest.fixture
def store(container: Container) -> Iterator[Storage]:
    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = container.answer(parse_qs(urlsplit(self.path).query))
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "application/xml")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            return None

    pytest.importorskip("adlfs")
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        blobs = f"BlobEndpoint=http://127.0.0.1:{server.server_port}/me;"
        options = {"connection_string": f"DefaultEndpointsProtocol=http;AccountName=me;AccountKey=a2V5;{blobs}"}
        yield open_storage("abfs://lake@me.dfs.core.windows.net/t", ".tmp", options)
        server.shutdown()


def test_a_folder_is_one_request_a_page(container: Container, store: Storage) -> None:
    """Nothing is asked of the folders whose names begin as this one's."""
    container.pages = [blob("t/p/b") + prefix("t/p/c/"), blob("t/p/a")]
    assert store.list("p") == [
        FileStatus("a", False, 3, AT_MS),
        FileStatus("b", False, 3, AT_MS),
        FileStatus("c", True, 0, 0),
    ]
    assert container.asked == ["t/p/", "t/p/"]


def test_folders_that_are_objects(container: Container, store: Storage) -> None:
    """Of a storage account with real folders, and those of Hadoop's older connector."""
    folder = "<Metadata><hdi_isfolder>true</hdi_isfolder></Metadata>"
    container.pages = [blob("t/p/", 0) + prefix("t/p/c/") + blob("t/p/c", 0, folder) + blob("t/p/d", 0, folder)]
    assert store.list("p") == [FileStatus("c", True, 0, 0), FileStatus("d", True, 0, 0)]


def test_a_folder_that_is_not_there(container: Container, store: Storage) -> None:
    with pytest.raises(FileNotFoundError):
        store.list("p")
    assert container.asked[0] == "t/p/"
