"""What the servers have in common: a bucket, hudictl's options for it, and what is stored there behind its back."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

START_SECONDS = 60


class Behind(Protocol):
    """The objects of a bucket, without hudictl and fsspec. Times are epoch seconds."""

    def put(self, key: str, body: bytes, moment: float | None = None) -> None:
        """Writes an object, as of now or of a moment."""

    def read(self, key: str) -> bytes:
        """An object's bytes. Raises LookupError."""

    def times(self, prefix: str) -> Mapping[str, float]:
        """The modification times of all keys that begin so."""

    def delete(self, key: str) -> None:
        """Deletes an object that is there."""


@dataclass(frozen=True)
class Server:
    """A running server with one bucket, whose URI is ``root``, as hudictl and Hudi's writers open it."""

    root: str
    endpoint: str
    options: Mapping[str, str]
    behind: Behind

    @property
    def arguments(self) -> list[str]:
        """The options on a command line."""
        return [part for key, value in self.options.items() for part in ("--storage-option", f"{key}={value}")]

    def put(self, files: Mapping[str, bytes]) -> None:
        for key, body in files.items():
            self.behind.put(key, body)

    def set_time(self, key: str, moment: float) -> None:
        """Sets an object's time, by writing it again."""
        self.behind.put(key, self.behind.read(key), moment)

    def upload(self, folder: Path, prefix: str) -> str:
        """A local table as a copy that keeps modification times would leave it; its URI."""
        for path in folder.rglob("*"):
            # Hadoop's sidecars are those of local file systems alone.
            if path.is_file() and not path.name.endswith(".crc"):
                key = f"{prefix}/{path.relative_to(folder).as_posix()}"
                self.behind.put(key, path.read_bytes(), path.stat().st_mtime)
        return f"{self.root}/{prefix}"

    def download(self, prefix: str, folder: Path) -> Path:
        """The copy back, with times."""
        for key, moment in self.behind.times(f"{prefix}/").items():
            path = folder / key.removeprefix(f"{prefix}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.behind.read(key))
            os.utime(path, (moment, moment))
        return folder

    def names(self, prefix: str) -> set[str]:
        """The keys below a prefix, without it."""
        return {key.removeprefix(f"{prefix}/") for key in self.behind.times(f"{prefix}/")}

    def drop(self, prefix: str) -> None:
        for key in self.behind.times(f"{prefix}/"):
            self.behind.delete(key)


@contextmanager
def running(command: Sequence[str], port: int, log: Path) -> Iterator[None]:
    """A server as a process of its own, from when it answers to the end of the body."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=log.parent, start_new_session=True
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{command[0]} does not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def _answers(port: int) -> bool:
    with socket.socket() as asking:
        asking.settimeout(1)
        return asking.connect_ex(("127.0.0.1", port)) == 0
