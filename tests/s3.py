"""An S3 in this process (moto's), which s3fs speaks to over HTTP: from here, from other processes, from Spark's."""

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import S3Backend, s3_backends
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

Environment = dict[str, Any]
Start = Callable[..., Any]
Application = Callable[[Environment, Start], Iterable[bytes]]
Interference = Callable[[Environment, Start, Application], "Iterable[bytes] | None"]

SECRET = "the-secret-of-these-tests"
BUCKET = "lake"
ONE_TRY = {"config_kwargs": '{"retries": {"total_max_attempts": 1}}'}
"""An option of a client that does not try again by itself. s3fs does so above it: ``filesystem.retries``."""


@dataclass(frozen=True)
class S3:
    """A running server with one bucket. Interferences see every request; what one returns is the answer."""

    endpoint: str
    interferences: list[Interference] = field(default_factory=list)

    @property
    def root(self) -> str:
        """The bucket's URI."""
        return f"s3a://{BUCKET}"

    @property
    def options(self) -> dict[str, str]:
        return {
            "key": "the-key",
            "secret": SECRET,
            "endpoint_url": self.endpoint,
            "client_kwargs": '{"region_name": "us-east-1"}',
        }

    @property
    def arguments(self) -> list[str]:
        """The options on a command line."""
        return [part for key, value in self.options.items() for part in ("--storage-option", f"{key}={value}")]

    @property
    def backend(self) -> S3Backend:
        """What is stored, behind every client's back."""
        return s3_backends[DEFAULT_ACCOUNT_ID]["aws"]

    def put(self, files: Mapping[str, bytes]) -> None:
        for key, body in files.items():
            self.backend.put_object(BUCKET, key, body)

    def set_time(self, key: str, moment: float) -> None:
        """Sets an object's time, epoch seconds; it is told without the fraction, as by S3."""
        utc = datetime.fromtimestamp(moment, timezone.utc).replace(tzinfo=None)
        self.backend.buckets[BUCKET].keys[key].last_modified = utc

    def upload(self, folder: Path, prefix: str) -> str:
        """A local table as a copy that keeps modification times would leave it; its URI."""
        for path in folder.rglob("*"):
            # Hadoop's sidecars are those of local file systems alone.
            if path.is_file() and not path.name.endswith(".crc"):
                key = f"{prefix}/{path.relative_to(folder).as_posix()}"
                self.put({key: path.read_bytes()})
                self.set_time(key, path.stat().st_mtime)
        return f"{self.root}/{prefix}"

    def download(self, prefix: str, folder: Path) -> Path:
        """The copy back, with times."""
        for name in self.names(prefix):
            found = self.backend.buckets[BUCKET].keys[f"{prefix}/{name}"]
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(found.value)
            moment = found.last_modified.replace(tzinfo=timezone.utc, microsecond=0).timestamp()
            os.utime(path, (moment, moment))
        return folder

    def names(self, prefix: str) -> set[str]:
        """The keys below a prefix, without it."""
        keys = list(self.backend.buckets[BUCKET].keys.keys())
        return {key.removeprefix(f"{prefix}/") for key in keys if key.startswith(f"{prefix}/")}

    def drop(self, prefix: str) -> None:
        for name in self.names(prefix):
            self.backend.delete_object(BUCKET, f"{prefix}/{name}")

    def protect(self, key: str) -> None:
        """Nobody may delete one object."""
        statement = {
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:DeleteObject",
            "Resource": f"arn:aws:s3:::{BUCKET}/{key}",
        }
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        self.backend.put_bucket_policy(BUCKET, policy.encode())

    def unprotect(self) -> None:
        self.backend.delete_bucket_policy(BUCKET)

    @contextmanager
    def interfering(self, interference: Interference) -> Iterator[None]:
        self.interferences.append(interference)
        try:
            yield
        finally:
            self.interferences.remove(interference)


@contextmanager
def serve() -> Iterator[S3]:
    """Runs a server on a free port."""
    application: Application = DomainDispatcherApplication(create_backend_app)
    interferences: list[Interference] = []
    lock = threading.Lock()

    def serial(environment: Environment, start: Start) -> Iterable[bytes]:
        # S3 decides between two conditional puts of a key; moto alone would let both look before either puts.
        with lock:
            for interference in list(interferences):
                answer = interference(environment, start, application)
                if answer is not None:
                    return answer
            return application(environment, start)

    server = make_server("127.0.0.1", 0, serial, threaded=True, request_handler=_Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    s3 = S3(f"http://127.0.0.1:{server.server_port}", interferences)
    s3.backend.create_bucket(BUCKET, "us-east-1")
    try:
        yield s3
    finally:
        server.shutdown()
        thread.join()


def fail_with(status: str, code: str, method: str = "") -> Interference:
    """Answers each request, or those of one method, with an error; nothing is done."""

    def answer(environment: Environment, start: Start, application: Application) -> Iterable[bytes] | None:
        if method not in ("", environment["REQUEST_METHOD"]):
            return None
        start(status, [("Content-Type", "application/xml")])
        return [f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()]

    return answer


class _Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:
        return None
