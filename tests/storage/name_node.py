"""A name node in this process, for the answers that a real one gives rarely: none, late ones, and those of another."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

ROOT = "/webhdfs/v1"
NOT_ACTIVE = "org.apache.hadoop.ipc.StandbyException"


@dataclass(frozen=True)
class Request:
    """``path`` is the file's; ``after`` is whether the change is made already, and only the answer is left."""

    method: str
    op: str
    path: str
    query: dict[str, str]
    to_data_node: bool


@dataclass
class Answer:
    """JSON, or bytes; no status is no answer at all, and ``cut`` is how much of the body comes."""

    status: int | None = 200
    body: Any = None
    location: str = ""
    cut: int | None = None


def refusal(java_class: str, message: str, status: int = 403) -> Answer:
    """How HDFS tells an exception."""
    told = {"exception": java_class.rpartition(".")[2], "javaClassName": java_class, "message": message}
    return Answer(status, {"RemoteException": told})


LOST = Answer(None)


@dataclass
class NameNode:
    """Files by path. ``before`` and ``after`` see each request, and what they return is the answer: with ``after`` the
    change is made."""

    files: dict[str, bytes] = field(default_factory=dict)
    folders: set[str] = field(default_factory=lambda: {"/"})
    requests: list[Request] = field(default_factory=list)
    before: Callable[[Request], Answer | None] = lambda _: None
    after: Callable[[Request], Answer | None] = lambda _: None
    address: str = ""

    def answer(self, request: Request, body: bytes) -> Answer:
        self.requests.append(request)
        early = self.before(request)
        if early is not None:
            return early
        answer = self._done(request, body)
        return self.after(request) or answer

    def _done(self, request: Request, body: bytes) -> Answer:
        path = request.path
        if request.op in ("OPEN", "CREATE") and not request.to_data_node:
            if request.op == "OPEN" and path not in self.files:
                return _missing(path)
            return Answer(307, location=f"{self.address}/data{path}?op={request.op}&datanode=1")
        if request.op == "OPEN":
            return Answer(body=self.files[path])
        if request.op == "CREATE":
            self.files[path] = body
            self._make(path.rpartition("/")[0])
            return Answer(201)
        if request.op == "GETFILESTATUS":
            found = self._status(path)
            return _missing(path) if found is None else Answer(body={"FileStatus": found})
        if request.op == "MKDIRS":
            self._make(path)
            return Answer(body={"boolean": True})
        if request.op == "DELETE":
            return Answer(body={"boolean": self.files.pop(path, None) is not None})
        assert request.op == "RENAME", request
        target = request.query["destination"]
        if path not in self.files:
            return _missing(path)
        if target in self.files and request.query["renameoptions"] != "OVERWRITE":
            return refusal("org.apache.hadoop.fs.FileAlreadyExistsException", f"{target} exists")
        self.files[target] = self.files.pop(path)
        return Answer()

    def _make(self, folder: str) -> None:
        while folder:
            self.folders.add(folder)
            folder = folder.rpartition("/")[0]

    def _status(self, path: str) -> dict[str, Any] | None:
        if path not in self.files and path not in self.folders:
            return None
        kind = "FILE" if path in self.files else "DIRECTORY"
        size = len(self.files.get(path, b""))
        common = {"permission": "755", "owner": "hudi", "group": "lake", "modificationTime": 1}
        return {"type": kind, "length": size, "pathSuffix": "", **common}


def _missing(path: str) -> Answer:
    return refusal("java.io.FileNotFoundException", f"File does not exist: {path}", 404)


@contextmanager
def serving(node: NameNode) -> Iterator[NameNode]:
    """The node on a port of this host; its data node is the same server."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            url = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            query = {key: values[0] for key, values in parse_qs(url.query).items()}
            to_data_node = url.path.startswith("/data/")
            path = unquote(url.path.removeprefix("/data").removeprefix(ROOT))
            found = node.answer(Request(self.command, query["op"], path, query, to_data_node), body)
            if found.status is None:
                self.close_connection = True
                return
            content = found.body if isinstance(found.body, bytes) else json.dumps(found.body).encode()
            kind = "application/octet-stream" if found.body is None or content is found.body else "application/json"
            content = b"" if found.body is None else content
            self.send_response(found.status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            if found.location:
                self.send_header("Location", found.location)
            self.end_headers()
            self.wfile.write(content[: found.cut])
            self.close_connection = found.cut is not None

        do_GET = do_PUT = do_DELETE = do_POST = handle_one

        def log_message(self, *_: object) -> None:
            """Nothing on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    node.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield node
    finally:
        server.shutdown()
        server.server_close()
