"""A server of Google Cloud Storage's JSON API over a folder of this host."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

import requests

from tests.stores.build import FAKE_GCS, go_program
from tests.stores.server import Server, free_port, running

BUCKET = "lake"
FACTS = "user.metadata"
"""The extended attribute in which the server keeps what it knows of an object, as JSON."""


@dataclass(frozen=True)
class Folder:
    """The objects are files; they are written over HTTP, as each needs the server's own facts."""

    endpoint: str
    top: Path

    def put(self, key: str, body: bytes, moment: float | None = None) -> None:
        url = f"{self.endpoint}/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={quote(key, safe='')}"
        requests.post(url, data=body, timeout=30).raise_for_status()
        if moment is not None:
            facts = json.loads(os.getxattr(self.top / key, FACTS))
            utc = datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            facts |= {"Created": utc, "Updated": utc}
            os.setxattr(self.top / key, FACTS, json.dumps(facts).encode())

    def read(self, key: str) -> bytes:
        return (self.top / key).read_bytes()

    def times(self, prefix: str) -> Mapping[str, float]:
        below = self.top / prefix.rpartition("/")[0]
        files = (path for path in below.rglob("*") if path.is_file())
        found = {path.relative_to(self.top).as_posix(): _updated(path) for path in files}
        return {key: moment for key, moment in found.items() if key.startswith(prefix)}

    def delete(self, key: str) -> None:
        (self.top / key).unlink()


@contextmanager
def start(folder: Path, backend: str = "filesystem") -> Iterator[Server]:
    """A server that lets all in. ``memory`` keeps versions, too."""
    program, port = go_program(FAKE_GCS), free_port()
    folder.mkdir(parents=True, exist_ok=True)
    endpoint = f"http://127.0.0.1:{port}"
    command = [str(program), "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-external-url", endpoint]
    command += ["-backend", backend, "-filesystem-root", str(folder / "data"), "-log-level", "error"]
    with running(command, port, folder / "log"):
        url = f"{endpoint}/storage/v1/b?project=tests"
        requests.post(url, json={"name": BUCKET}, timeout=30).raise_for_status()
        options = {"endpoint_url": endpoint, "token": "anon", "project": "tests"}
        yield Server(f"gs://{BUCKET}", endpoint, options, Folder(endpoint, folder / "data" / BUCKET))
    shutil.rmtree(folder)


def _updated(path: Path) -> float:
    return datetime.fromisoformat(json.loads(os.getxattr(path, FACTS))["Updated"].replace("Z", "+00:00")).timestamp()
