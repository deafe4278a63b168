"""A name node in this process, over a folder: for answers that a real one gives rarely, and for many tables at once."""

import json
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

ROOT = "/webhdfs/v1"
STANDBY = "org.apache.hadoop.ipc.StandbyException"


@dataclass(frozen=True)
class Request:
    """``path`` is the file's; a data node is a second address of the same server."""

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


LOST = Answer(None)
DONE = Answer(body={"boolean": True})
NOT_DONE = Answer(body={"boolean": False})


def refusal(java_class: str, message: str, status: int = 403) -> Answer:
    """How HDFS tells an exception."""
    told = {"exception": java_class.rpartition(".")[2], "javaClassName": java_class, "message": message}
    return Answer(status, {"RemoteException": told})


@dataclass
class NameNode:
    """A path is one below ``folder``. ``before`` and ``after`` see each request, and what they return is the answer:
    with ``after`` the change is made. A ``gateway`` is HttpFS: it sends nobody to a data node, and does not know how to
    replace a file. ``open_files`` have a living writer."""

    folder: Path
    requests: list[Request] = field(default_factory=list)
    open_files: set[str] = field(default_factory=set)
    gateway: bool = False
    before: Callable[[Request], Answer | None] = lambda _: None
    after: Callable[[Request], Answer | None] = lambda _: None
    address: str = ""

    def local(self, path: str) -> Path:
        return self.folder / path.lstrip("/")

    def put(self, path: str, body: bytes) -> None:
        self.local(path).parent.mkdir(parents=True, exist_ok=True)
        self.local(path).write_bytes(body)

    @property
    def files(self) -> dict[str, bytes]:
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {f"/{path.relative_to(self.folder)}": path.read_bytes() for path in found}

    def asked(self, op: str) -> list[Request]:
        return [request for request in self.requests if request.op == op]

    def answer(self, request: Request, body: bytes) -> Answer:
        self.requests.append(request)
        early = self.before(request)
        if early is not None:
            return early
        answer = self._done(request, self.local(request.path), body)
        return self.after(request) or answer

    def _done(self, request: Request, path: Path, body: bytes) -> Answer:
        if request.op in ("OPEN", "CREATE", "APPEND"):
            return self._data(request, path, body)
        if request.op == "MKDIRS":
            path.mkdir(parents=True, exist_ok=True)
            return DONE
        if request.op == "RENAME":
            target = self.local(request.query["destination"])
            if self.gateway:
                return _renamed_by_gateway(path, target)
            return _renamed(path, target, request.query["renameoptions"] == "OVERWRITE")
        if not path.exists():
            return NOT_DONE if request.op == "DELETE" else _missing(path)
        if request.op == "DELETE":
            return _deleted(path, request.query["recursive"] == "true")
        if request.op == "SETTIMES":
            os.utime(path, (int(request.query["modificationtime"]) / 1000,) * 2)
            return Answer()
        if request.op == "SETOWNER":
            return Answer()
        return self._told(request, path)

    def _told(self, request: Request, path: Path) -> Answer:
        is_open = request.path in self.open_files
        if request.op == "GET_BLOCK_LOCATIONS" and not self.gateway:
            return Answer(body={"LocatedBlocks": {"isUnderConstruction": is_open}})
        if request.op == "GET_BLOCK_LOCATIONS":
            return refusal("com.sun.jersey.api.ParamException$QueryParamException", "No enum constant", 500)
        if request.op == "GETFILECHECKSUM":
            said = refusal("java.io.IOException", f"Fail to get checksum, since file {path} is under construction.")
            return said if is_open else Answer(body={"FileChecksum": {}})
        if request.op == "GETFILESTATUS":
            return Answer(body={"FileStatus": _status(path, "")})
        assert request.op == "LISTSTATUS", request
        found = [_status(entry, entry.name) for entry in path.iterdir()] if path.is_dir() else [_status(path, "")]
        return Answer(body={"FileStatuses": {"FileStatus": found}})

    def _data(self, request: Request, path: Path, body: bytes) -> Answer:
        if request.op != "CREATE" and not path.is_file():
            return _missing(path)
        if not request.to_data_node and not (self.gateway and (request.op == "OPEN" or "data" in request.query)):
            asked = "&".join(f"{key}={value}" for key, value in request.query.items())
            place = f"{ROOT}{request.path}?{asked}&data=true" if self.gateway else f"/data{request.path}?{asked}"
            return Answer(307, location=f"{self.address}{place}")
        if request.op == "CREATE":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
            return Answer(201)
        if request.op == "APPEND" and request.path in self.open_files:
            said = f"Failed to APPEND_FILE {path} because this file lease is currently owned by DFSClient_1"
            return refusal("org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException", said)
        if request.op == "APPEND":
            path.write_bytes(path.read_bytes() + body)
            return Answer()
        start, length = int(request.query.get("offset", 0)), int(request.query.get("length", 1 << 40))
        return Answer(body=path.read_bytes()[start : start + length])


def _renamed(source: Path, target: Path, overwrite: bool) -> Answer:
    if not source.exists() or not target.parent.is_dir():
        return _missing(source)
    if target.exists() and not (overwrite and target.is_file()):
        return refusal("org.apache.hadoop.fs.FileAlreadyExistsException", f"{target} exists")
    source.rename(target)
    return Answer()


def _renamed_by_gateway(source: Path, target: Path) -> Answer:
    inside = target / source.name if target.is_dir() else target
    if not source.exists() or inside.exists() or not inside.parent.is_dir():
        return NOT_DONE
    source.rename(inside)
    return DONE


def _deleted(path: Path, recursive: bool) -> Answer:
    if path.is_file():
        path.unlink()
    elif recursive or not any(path.iterdir()):
        shutil.rmtree(path)
    else:
        return refusal("org.apache.hadoop.fs.PathIsNotEmptyDirectoryException", f"{path} is non empty")
    return DONE


def _status(path: Path, name: str) -> dict[str, Any]:
    found = path.stat()
    return {
        "type": "DIRECTORY" if stat.S_ISDIR(found.st_mode) else "FILE",
        "length": 0 if stat.S_ISDIR(found.st_mode) else found.st_size,
        "pathSuffix": name,
        "permission": f"{stat.S_IMODE(found.st_mode):o}",
        "owner": "hudi",
        "group": "lake",
        "modificationTime": found.st_mtime_ns // 1_000_000,
    }


def _missing(path: Path) -> Answer:
    return refusal("java.io.FileNotFoundException", f"File does not exist: {path}", 404)


@contextmanager
def serving(node: NameNode) -> Iterator[NameNode]:
    """The node on a port of this host."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # one packet an answer: a second one waits for the acknowledgement of the first

        def handle_one(self) -> None:
            url = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            query = {key: values[0] for key, values in parse_qs(url.query).items()}
            path = unquote(url.path.removeprefix("/data").removeprefix(ROOT))
            request = Request(self.command, query["op"], path, query, url.path.startswith("/data/"))
            found = node.answer(request, body)
            if found.status is None:
                self.close_connection = True
                return
            is_json = found.body is not None and not isinstance(found.body, bytes)
            content = json.dumps(found.body).encode() if is_json else found.body or b""
            self.send_response(found.status)
            self.send_header("Content-Type", "application/json" if is_json else "application/octet-stream")
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
