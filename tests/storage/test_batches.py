"""Deletions of many files in one request to Google and Azure: what is told of each, by the drivers themselves."""

import email
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pytest

from hudictl.storage import Storage
from hudictl.storage.batches import has_no_batches, in_batches
from hudictl.storage.guard import Guard
from hudictl.storage.open import open_storage
from hudictl.storage.patience import Kept

KEY = "a2V5"


@dataclass
class Store:
    """A store that answers as it is told, by the names of files: their next status codes, else that they are gone."""

    codes: dict[str, list[int]] = field(default_factory=dict)
    refuses: int = 0
    batches: list[list[str]] = field(default_factory=list)
    single: list[str] = field(default_factory=list)

    def code(self, name: str) -> int:
        left = self.codes.get(name)
        return left.pop(0) if left else 202

    def answer(self, body: bytes, kind: str) -> bytes:
        """The answer to a request of several parts, the last one first."""
        parts = email.message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body).get_payload()
        answers, names = [], []
        for part in parts:
            assert isinstance(part, email.message.Message)
            request = part.get_payload(decode=True)
            assert isinstance(request, bytes)
            method, path, version = request.partition(b"\r\n")[0].decode().split(" ")
            assert (method, version) == ("DELETE", "HTTP/1.1")
            name = unquote(path.partition("?")[0]).rpartition("/")[2]
            names.append(name)
            code = self.code(name)
            if not code:
                continue
            number = part["Content-ID"].replace("<", "<response-")
            said = (
                '{"error": {"message": "not so"}}'
                if "<" in number
                else "<Error><Message>not so\nId:1</Message></Error>"
            )
            top = f"--b\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n\r\n"
            answers.append(f"{top}HTTP/1.1 {code} As told\r\nx: y\r\n\r\n{said}\r\n")
        self.batches.append(names)
        return "".join([*reversed(answers), "--b--"]).encode()


@pytest.fixture
def asked() -> Store:
    return Store()


@pytest.fixture(params=["gcs", "azure"])
def store(request: pytest.FixtureRequest, asked: Store) -> Iterator[Storage]:
    """The storage of a table there, with the real driver."""

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if asked.refuses:
                asked.batches.append([])
                self.reply(asked.refuses, "text/plain", b"no")
            else:
                self.reply(202, "multipart/mixed; boundary=b", asked.answer(body, self.headers["Content-Type"]))

        def do_DELETE(self) -> None:
            name = unquote(self.path.partition("?")[0]).rpartition("/")[2]
            asked.single.append(name)
            self.reply(asked.code(name), "application/json", b"")

        def reply(self, code: int, kind: str, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return None

    pytest.importorskip({"gcs": "gcsfs", "azure": "adlfs"}[request.param])
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        if request.param == "gcs":
            options, uri = {"endpoint_url": endpoint, "token": "anon", "project": "p"}, "gs://lake/t"
        else:
            string = f"DefaultEndpointsProtocol=http;AccountName=me;AccountKey={KEY};BlobEndpoint={endpoint}/me;"
            options, uri = {"connection_string": string}, "abfs://lake@me.dfs.core.windows.net/t"
        yield open_storage(uri, ".tmp", options)
        server.shutdown()


def test_each_file_has_its_own_outcome(store: Storage, asked: Store) -> None:
    """Whatever the order of the answers is; what is not there is gone."""
    asked.codes = {"absent": [404], "kept": [403], "leased": [412]}
    names = ["kept", "a", "absent", "b", "leased", "c"]
    told = {outcome.path: outcome.error for outcome in store.delete(names)}
    assert told == {
        **dict.fromkeys(["a", "absent", "b", "c"]),
        "kept": "403 not so",
        "leased": "412 not so",
    }
    assert (asked.batches, asked.single) == ([names], [])


def test_names_with_signs(store: Storage, asked: Store) -> None:
    """Each is encoded, once."""
    names = ["a b", "100%25", "c%2Fd", "\u00fc\u6771", "a+b", "y&z?q#h;,'", "~!@$()*[]{}|^`<>:=\r\n--b"]
    assert [outcome.error for outcome in store.delete(names)] == [None] * len(names)
    assert (asked.batches, asked.single) == ([names], [])


@pytest.mark.slow
def test_what_the_store_puts_off_is_asked_for_again(
    store: Storage, asked: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a pause, and nothing else with it; at last it is its error."""
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    asked.codes = {"slow": [429, 503], "never": [503] * 99, "kept": [403]}
    told = {outcome.path: outcome.error for outcome in store.delete(["slow", "a", "never", "kept"])}
    assert told == {"slow": None, "a": None, "never": "503 not so", "kept": "403 not so"}
    assert asked.batches[:4] == [["slow", "a", "never", "kept"], ["slow", "never"], ["slow", "never"], ["never"]]
    assert len(asked.batches) == len(waited) + 1 < 12


def test_what_has_no_answer_gets_a_request_of_its_own(store: Storage, asked: Store) -> None:
    """As has a part that was not understood: only what a store says of a file is its outcome."""
    asked.codes = {"lost": [0], "odd": [400], "lost and kept": [0, 403]}
    told = {outcome.path: outcome.error for outcome in store.delete(["a", "lost", "odd", "lost and kept"])}
    assert [path for path, error in told.items() if error is not None] == ["lost and kept"]
    assert sorted(asked.single) == ["lost", "lost and kept", "odd"]
    assert [outcome.error for outcome in store.delete(["a", "b"])] == [None, None]
    assert len(asked.batches) == 2


@pytest.mark.parametrize("code", [400, 404, 405, 409])
def test_a_store_without_such_requests_is_asked_once(store: Storage, asked: Store, code: int) -> None:
    """Also for the folders below; its 404 says nothing of the files."""
    asked.refuses, asked.codes = code, {"kept": [403]}
    told = [[outcome.error is None for outcome in below.delete(["a", "kept", "b"])] for below in [store.below("p")] * 2]
    assert told == [[True, False, True], [True, True, True]]
    assert [outcome.error for outcome in store.delete(["c", "d"])] == [None, None]
    assert len(asked.batches) == 1
    assert sorted(asked.single) == ["a", "a", "b", "b", "c", "d", "kept", "kept"]


@pytest.mark.slow
def test_as_many_files_as_a_request_takes(store: Storage, asked: Store) -> None:
    size = {"gs": 100, "abfs": 256}[store.uri.partition(":")[0]]
    assert store.delete_batch == size
    store.delete([str(number) for number in range(2 * size + 1)])
    assert sorted(map(len, asked.batches)) == [1, size, size]
    assert asked.single == []


@pytest.mark.parametrize("error", [ConnectionError("reset"), TimeoutError("late"), OSError("503")])
def test_a_request_that_fails_tells_nothing_of_its_files(error: Exception) -> None:
    """Its driver has tried more than once: each file of it has the error, and those of the other request none."""

    def send(names: Sequence[str]) -> tuple[str, bytes]:
        if "a" in names:
            raise error
        parts = "".join(f"--b\r\nContent-ID: {number}\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" for number in range(len(names)))
        return "multipart/mixed; boundary=b", f"{parts}--b--".encode()

    def singly(names: Sequence[str]) -> dict[str, Kept]:
        assert not names
        return {}

    refused: list[str] = []
    assert in_batches(["a", "b", "c", "d"], 2, send, singly, lambda _: False, refused, Guard()) == {
        "a": str(error),
        "b": str(error),
    }
    assert refused == []


@pytest.mark.parametrize("answer", [("text/html", b"<html>"), ("multipart/mixed; boundary=b", b""), ("", b"")])
def test_an_answer_without_parts_is_no_success(answer: tuple[str, bytes]) -> None:
    """Each file gets a request of its own, then and later."""
    asked: list[Sequence[str]] = []

    def singly(names: Sequence[str]) -> dict[str, Kept]:
        asked.append(names)
        return {names[0]: Kept("kept")}

    refused: list[str] = []
    for _ in range(2):
        assert in_batches(["a", "b"], 2, lambda _: answer, singly, lambda _: False, refused, Guard()) == {"a": "kept"}
    assert (asked, len(refused)) == ([["a", "b"], ["a", "b"]], 1)


def test_which_codes_say_that_there_are_no_such_requests() -> None:
    """None that another try may not meet."""
    codes = (None, 200, 400, 403, 404, 405, 408, 429, 500, 501, 503)
    for name in ("code", "status_code"):
        errors = [type("OfTheDriver", (Exception,), {name: code})() for code in codes]
        assert [getattr(error, name) for error in errors if has_no_batches(error)] == [400, 403, 404, 405, 501]
    assert not has_no_batches(ConnectionError("reset"))
