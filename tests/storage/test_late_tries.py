"""A store does not answer: before a request is sent again, somebody looks whether its operation still goes on."""

import pickle
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hudictl.errors import Conflict
from hudictl.storage import Storage
from hudictl.storage.hdfs import HdfsStorage
from hudictl.storage.open import open_storage
from hudictl.storage.webhdfs import Identity, WebHdfs

AZURE = "DefaultEndpointsProtocol=http;AccountName=me;AccountKey=a2V5;BlobEndpoint={}/me;"
LONG_SECONDS = 12
ANSWERS = {"s3": (200, b"<DeleteResult/>"), "gcs": (204, b""), "azure": (202, b""), "hdfs": (200, b'{"boolean": true}')}


@dataclass
class Store:
    """A server that loses some answers, each after a while."""

    kind: str
    asked: list[str] = field(default_factory=list)
    lost: int = 1
    late_s: float = 0

    @property
    def tries(self) -> int:
        """How often the first request came; a deletion of its own follows where there are none of several parts."""
        return self.asked.count(self.asked[0])

    def answer(self, request: str) -> tuple[int, bytes] | None:
        self.asked.append(request)
        if len(self.asked) <= self.lost:
            self.late_s += LONG_SECONDS
            return None
        # No requests of several parts.
        return (404, b"") if request == "POST" and self.kind in ("gcs", "azure") else ANSWERS[self.kind]


@pytest.fixture(params=list(ANSWERS))
def store(request: pytest.FixtureRequest) -> Store:
    pytest.importorskip({"s3": "s3fs", "gcs": "gcsfs", "azure": "adlfs", "hdfs": "requests"}[request.param])
    return Store(request.param)


@pytest.fixture
def sent(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Storage]:
    """A storage as another process gets it, whose time goes on as the store has it."""

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            answer = store.answer(self.command)
            if answer is None:
                # Where the connection is closed, aiohttp itself sends a PUT again, at once.
                threading.Event().wait(1.5 if store.kind == "s3" else 0)
                self.close_connection = True
                return
            self.send_response(answer[0])
            self.send_header("Content-Length", str(len(answer[1])))
            self.end_headers()
            self.wfile.write(answer[1])

        do_DELETE = do_PUT = do_POST

        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            return None

    begun, now = time.time(), time.monotonic
    since = now()
    monkeypatch.setattr("time.time", lambda: begun + now() - since + store.late_s)
    monkeypatch.setattr("time.sleep", lambda _: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield pickle.loads(pickle.dumps(opened(store.kind, f"http://127.0.0.1:{server.server_port}")))
        server.shutdown()


def opened(kind: str, endpoint: str) -> Storage:
    if kind == "hdfs":
        return HdfsStorage("hdfs://node", "/t", "/t/.tmp", WebHdfs((endpoint,), Identity("hudi")))
    if kind == "azure":
        uri = "abfs://lake@me.dfs.core.windows.net/t"
        return open_storage(uri, ".tmp", {"connection_string": AZURE.format(endpoint)})
    impatient = {"key": "k", "secret": "s", "config_kwargs": '{"read_timeout": 1}'}
    keys = impatient if kind == "s3" else {"token": "anon", "project": "p"}
    return open_storage(f"{kind.replace('gcs', 'gs')}://lake/t", ".tmp", {"endpoint_url": endpoint, **keys})


@dataclass
class Operation:
    """What a look shows of it: it may end once a request was sent."""

    store: Store
    ends: bool
    looks: list[float] = field(default_factory=list)

    def __call__(self) -> None:
        self.looks.append(self.store.late_s)
        if self.ends and self.store.asked:
            raise Conflict("the operation has ended")


@pytest.mark.slow
@pytest.mark.parametrize("names", [["a"], ["a", "b"]])
def test_nothing_is_deleted_once_the_operation_has_ended(store: Store, sent: Storage, names: list[str]) -> None:
    """Others may have written under the names since."""
    sent.guard.begin_task(Operation(store, ends=True))
    with pytest.raises(Conflict):
        sent.delete(names)
    assert len(store.asked) == 1


@pytest.mark.slow
def test_while_it_goes_on_it_is_tried_again(store: Store, sent: Storage) -> None:
    store.lost = 2
    operation = Operation(store, ends=False)
    sent.guard.begin_task(operation)
    assert [outcome.error for outcome in sent.delete(["a"])] == [None]
    assert (store.tries, operation.looks) == (3, [0, LONG_SECONDS, 2 * LONG_SECONDS])


@pytest.mark.slow
def test_what_is_repeated_at_once_needs_no_look(store: Store, sent: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.LONG_SECONDS", 0)
    operation = Operation(store, ends=False)
    sent.guard.begin_task(operation)
    assert [outcome.error for outcome in sent.delete(["a"])] == [None]
    assert (store.tries, operation.looks) == (2, [0])


@pytest.mark.slow
@pytest.mark.parametrize("store", ["s3"], indirect=True)
@pytest.mark.parametrize("ends", [False, True])
def test_a_file_is_written_once_more(store: Store, sent: Storage, ends: bool) -> None:
    """After a look: a store that is away for a while ends no operation, and others' files are not replaced."""
    operation = Operation(store, ends=ends)
    sent.guard.begin_task(operation)
    with pytest.raises(Conflict) if ends else nullcontext():
        sent.replace("a", b"new")
    assert (store.asked, operation.looks) == (["PUT"] * (1 if ends else 2), [0, LONG_SECONDS])


@pytest.mark.slow
def test_nobody_looks_where_nothing_is_held(store: Store, sent: Storage) -> None:
    assert [outcome.error for outcome in sent.delete(["a"])] == [None]
    assert store.tries == 2
