"""An object store with a latency, a rate and throttling. It speaks as much of S3's protocol as s3fs and boto3 ask.

``python -m benchmarks.slow_store FOLDER`` serves the folder's files from memory, prints its port, and runs until its
input ends. It is Python's own HTTP server, with a thread for each connection.

- Each request takes the latency, and does not wait for others.
- A share of the requests is answered with 503 SlowDown and does nothing.
- Deleted keys have a rate: in a bulk delete those above it are answered with SlowDown, each by itself, as by S3.
"""

import argparse
import html
import json
import os
import random
import re
import sys
import threading
import time
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

BUCKET = "lake"
PREFIX = "table"
DATA = ".parquet"
KEYS_A_PAGE = 1000
SLOW_DOWN = "<Code>SlowDown</Code><Message>Please reduce your request rate.</Message>"
LAST = "\U0010ffff"
"""Behind all other characters."""
Objects = dict[str, tuple[bytes, float]]
_CHUNK = re.compile(rb"([0-9a-fA-F]+)[^\r]*\r\n")


@dataclass
class Deletion:
    """The bulk deletes of data files: when they ran, in seconds of a monotonic clock, and the keys refused."""

    calls: int = 0
    busy_s: float = 0.0
    first: float | None = None
    last: float = 0.0
    keys_slowed: int = 0


@dataclass
class Store:
    """The objects, and what was asked. ``rate``: deleted keys a second, 0 for any number; ``throttled``: a share."""

    objects: Objects
    latency_s: float
    throttled: float
    rate: float
    lock: threading.Lock = field(default_factory=threading.Lock)
    chance: random.Random = field(default_factory=lambda: random.Random(20))
    requests: Counter[str] = field(default_factory=Counter)
    deletion: Deletion = field(default_factory=Deletion)
    allowance: float = 0.0
    asked: float | None = None
    ordered: list[str] | None = None

    def keys(self) -> list[str]:
        """All keys in order."""
        if self.ordered is None:
            self.ordered = sorted(self.objects)
        return self.ordered

    def put(self, key: str, body: bytes) -> None:
        self.ordered = None
        self.objects[key] = (body, time.time())

    def delete(self, keys: list[str]) -> list[str]:
        """Deletes keys as far as the rate goes; returns those above it."""
        now = time.monotonic()
        # Nothing is saved up before the first one.
        self.allowance = min(self.rate, self.allowance + (now - (self.asked or now)) * self.rate)
        self.asked = now
        allowed = min(len(keys), int(self.allowance)) if self.rate else len(keys)
        self.allowance -= allowed
        for key in keys[:allowed]:
            self.objects.pop(key, None)
        self.ordered = None
        return keys[allowed:]

    def told(self) -> dict[str, object]:
        """What was asked so far, and what is left."""
        ran = self.deletion
        wall = ran.last - (ran.first or 0.0) if ran.first is not None else 0.0
        return {
            "requests": dict(self.requests),
            "calls": ran.calls,
            "wall_s": wall,
            "in_flight": ran.busy_s / wall if wall else 0.0,
            "keys_slowed": ran.keys_slowed,
            "data_files": sum(key.endswith(DATA) for key in self.objects),
            "restored": any(key.endswith(".restore") for key in self.objects),
        }


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    store: Store

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def do_GET(self) -> None:
        self.serve()

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the requests are counted."""

    def serve(self) -> None:
        began = time.monotonic()
        url = urlsplit(self.path)
        query = {key: found[0] for key, found in parse_qs(url.query, keep_blank_values=True).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "told" in query:
            with self.store.lock:
                self.answer(200, json.dumps(self.store.told()).encode())
            return

        time.sleep(self.store.latency_s)
        _, _, key = unquote(url.path).lstrip("/").partition("/")
        kind = "LIST" if self.command == "GET" and "list-type" in query else self.command
        kind = "DELETE" if kind == "POST" else kind
        with self.store.lock:
            self.store.requests[kind] += 1
            slow = self.store.chance.random() < self.store.throttled
            self.store.requests["503"] += slow
            status, found, headers = (
                (503, f"<Error>{SLOW_DOWN}</Error>".encode(), {}) if slow else self.result(kind, key, query, body)
            )
            if self.command == "POST" and f"{DATA}</Key>".encode() in body:
                self.count_deletion(began)
        self.answer(status, found, headers)

    def result(self, kind: str, key: str, query: dict[str, str], body: bytes) -> tuple[int, bytes, dict[str, str]]:
        """Status, body and headers."""
        store = self.store
        if kind == "LIST":
            return 200, listing(store, query), {}
        if self.command == "POST":
            keys = [html.unescape(name) for name in re.findall(r"<Key>(.*?)</Key>", body.decode())]
            left = store.delete(keys)
            store.deletion.keys_slowed += len(left)
            errors = "".join(f"<Error><Key>{html.escape(name)}</Key>{SLOW_DOWN}</Error>" for name in left)
            return 200, f"<DeleteResult>{errors}</DeleteResult>".encode(), {}
        if kind == "PUT":
            if self.headers.get("If-None-Match") == "*" and key in store.objects:
                return 412, b"<Error><Code>PreconditionFailed</Code><Message>It is there.</Message></Error>", {}
            store.put(key, unchunked(body) if "aws-chunked" in self.headers.get("Content-Encoding", "") else body)
            return 200, b"", {"ETag": '"0"'}
        if kind == "DELETE":
            store.objects.pop(key, None)
            store.ordered = None
            return 204, b"", {}
        if key not in store.objects:
            return 404, b"<Error><Code>NoSuchKey</Code><Message>It is not there.</Message></Error>", {}
        return part(*store.objects[key], self.headers.get("Range"))

    def count_deletion(self, began: float) -> None:
        ran = self.store.deletion
        ran.calls += 1
        ran.first = began if ran.first is None else min(ran.first, began)
        ran.last = time.monotonic()
        ran.busy_s += ran.last - began

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/xml", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def part(body: bytes, modified: float, wanted: str | None) -> tuple[int, bytes, dict[str, str]]:
    """An object, or a range of it."""
    headers = {"Last-Modified": formatdate(modified, usegmt=True), "ETag": '"0"'}
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", wanted or "")
    if match is None:
        return 200, body, headers
    start, end = int(match[1]), int(match[2] or len(body) - 1)
    if start >= len(body):
        return 416, b"<Error><Code>InvalidRange</Code><Message>Behind the end.</Message></Error>", {}
    end = min(end, len(body) - 1)
    return 206, body[start : end + 1], {**headers, "Content-Range": f"bytes {start}-{end}/{len(body)}"}


def listing(store: Store, query: dict[str, str]) -> bytes:
    """A page of ListObjectsV2; a continuation token is the first key of the next page."""
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    most, keys = int(query.get("max-keys", KEYS_A_PAGE)), store.keys()
    entries: list[str] = []
    after = query.get("start-after", "")
    begin = query.get("continuation-token") or max(prefix, f"{after}\0" if after else "")
    number = bisect_left(keys, begin)
    while number < len(keys) and keys[number].startswith(prefix) and len(entries) < most:
        key = keys[number]
        cut = key.find(delimiter, len(prefix)) if delimiter else -1
        if cut < 0:
            entries.append(content(key, *store.objects[key]))
            number += 1
        else:
            folder = key[: cut + 1]
            entries.append(f"<CommonPrefixes><Prefix>{html.escape(folder)}</Prefix></CommonPrefixes>")
            number = bisect_left(keys, f"{folder}{LAST}")
    more = number < len(keys) and keys[number].startswith(prefix)
    token = f"<NextContinuationToken>{html.escape(keys[number])}</NextContinuationToken>" if more else ""
    head = f"<KeyCount>{len(entries)}</KeyCount><IsTruncated>{str(more).lower()}</IsTruncated>{token}"
    return f"<ListBucketResult><Name>{BUCKET}</Name>{head}{''.join(entries)}</ListBucketResult>".encode()


def content(key: str, body: bytes, modified: float) -> str:
    """An object in a listing."""
    moment = datetime.fromtimestamp(int(modified), timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    size = f"<ETag>&quot;0&quot;</ETag><Size>{len(body)}</Size>"
    return f"<Contents><Key>{html.escape(key)}</Key><LastModified>{moment}</LastModified>{size}</Contents>"


def unchunked(body: bytes) -> bytes:
    """The content of a body in the chunks of AWS' own signature."""
    position, found = 0, b""
    while (head := _CHUNK.match(body, position)) and (length := int(head[1], 16)):
        found += body[head.end() : head.end() + length]
        position = head.end() + length + 2
    return found


def load(folder: str) -> Objects:
    """The files of a folder, with their modification times. Equal bodies are held once."""
    objects: Objects = {}
    known: dict[bytes, bytes] = {}
    for path, _, names in os.walk(folder):
        below = os.path.relpath(path, folder)
        for name in names:
            file = os.path.join(path, name)
            with open(file, "rb") as opened:
                body = opened.read()
            key = "/".join(part for part in (PREFIX, below, name) if part != ".")
            objects[key] = (known.setdefault(body, body), os.stat(file).st_mtime)
    return objects


class Server(ThreadingHTTPServer):
    """With room for many new connections at once."""

    request_queue_size = 128
    daemon_threads = True


def main() -> None:
    """Serves until its input ends."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.slow_store", description=__doc__)
    options.add_argument("folder")
    options.add_argument("--latency-ms", type=float, default=50)
    options.add_argument("--throttled", type=float, default=0, help="share of the requests, in percent")
    options.add_argument("--rate", type=float, default=0, help="deleted keys a second; 0: any number")
    args = options.parse_args()
    Handler.store = Store(load(args.folder), args.latency_ms / 1000, args.throttled / 100, args.rate)
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
