"""The servers' programs: out of Go's and npm's registries, made once, in the judge's cache folder."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

VERSITYGW = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
FAKE_GCS = "github.com/fsouza/fake-gcs-server@v1.56.1"
AZURITE = "azurite@3.35.0"
BUILD_SECONDS = 1200


def go_program(module: str) -> Path:
    """A program of a Go module. Skips the test where Go is missing, or cannot build it."""
    path, _, version = module.partition("@")
    name = path.rpartition("/")[2]
    with _made(f"{name}-{version}") as (folder, partial):
        if partial:
            environment = {"GOBIN": str(partial), "CGO_ENABLED": "0", "GOFLAGS": "-trimpath"}
            _run(["go", "install", "-ldflags=-s -w", module], environment)
    return folder / name


def npm_program(package: str, program: str) -> Path:
    """A program of an npm package. Skips the test where npm is missing, or cannot install it."""
    name, _, version = package.partition("@")
    with _made(f"{name}-{version}") as (folder, partial):
        if partial:
            _run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(partial), package], {})
    return folder / "node_modules" / ".bin" / program


def _run(command: list[str], environment: dict[str, str]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not on the PATH: no {command[-1]}")
    try:
        done = subprocess.run(
            command,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=BUILD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{' '.join(command)} takes more than {BUILD_SECONDS} s")
    if done.returncode:
        pytest.skip(f"{' '.join(command)} fails: {done.stdout[-1000:]}")


@contextmanager
def _made(name: str) -> Iterator[tuple[Path, Path | None]]:
    """A folder in the cache; where it is not there, also the one that becomes it when the body has filled it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hudictl-judge" / "stores"
    cache.mkdir(parents=True, exist_ok=True)
    folder, partial = cache / name, cache / f"partial-{name}"
    with (cache / f"lock-{name}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # pytest-xdist starts several at once
        if folder.exists():
            yield folder, None
        else:
            shutil.rmtree(partial, ignore_errors=True)  # what an interrupted attempt left
            partial.mkdir()
            yield folder, partial
            partial.rename(folder)
