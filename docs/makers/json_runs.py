"""Runs the command lines of the documents on sample tables, and makes what changes from run to run constant."""

import io
import json
import os
import re
import shlex
import sys
import tarfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from hudictl.cli.main import run
from hudictl.render.documents import Document
from makers.json_documents import Example, example_of

_TABLES = Path(__file__).resolve().parents[2] / "tests" / "tables" / "v9"
_SHOWN = "/lake/trips"
_LAST = "LAST"
_NEW = "20261121040000000"
# On threads: Spark prints the same.
_VARIABLES = {"HUDICTL_OUTPUT": "json", "HUDICTL_ENGINE": "local", "TZ": "UTC"}
_VARYING = {
    "user": "ops",
    "host": "edge-1",
    "pid": 4711,
    "started_at": "2026-11-21T04:00:00.000+00:00",
    "begun_at": "2026-11-21T04:00:00.000+00:00",
    "begun_utc": "2026-11-21T04:00:00.000+00:00",
    "ended_at": "2026-11-21T04:00:04.700+00:00",
    "age_ms": 135_000,
    "heartbeat_age_ms": 135_000,
    "misses": 2,
    "idle_ms": 120_000,
    "duration_ms": 4_700,
    "waited_ms": 20_000,
    "readers_back_ms": 27,
}
"""By key: clocks, and who runs it."""


@dataclass(frozen=True)
class Copy:
    """A sample table, and its newest instant: those that are made here are newer."""

    path: Path
    newest: str


def printed(documents: Iterable[Document]) -> dict[Document, Any]:
    """What the lines of the documents print, with constant values."""
    copies: dict[Any, Copy] = {}
    found = {}
    with TemporaryDirectory() as folder, _as_scripted():
        for document in documents:
            example = example_of(document)
            if example.line is None:
                continue
            # What only looks shares a copy.
            changes = example.line.endswith("--yes")
            kind = example.table, example.breaks, example.before, changes and document
            if kind not in copies:
                copies[kind] = _unpack(Path(folder) / str(len(copies)), example)
            found[document] = _constant(_run(f"{document.command} {example.line}", copies[kind].path), copies[kind])
    return found


@contextmanager
def _as_scripted() -> Iterator[None]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HUDICTL_")}
    with patch.dict(os.environ, kept | _VARIABLES, clear=True), patch.object(time, "sleep", lambda _seconds: None):
        time.tzset()
        yield
    time.tzset()


def _unpack(folder: Path, example: Example) -> Copy:
    with tarfile.open(_TABLES / f"{example.table}.tar.gz") as archive:
        # Python 3.11 has filters only from its fourth release on.
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    path = folder / example.table / "table"
    newest = max(re.findall(r"\d{17}", " ".join(file.name for file in path.glob(".hoodie/timeline/*"))))
    for file in path.glob(example.breaks) if example.breaks else ():
        file.unlink()
    if example.before:
        _run(example.before, path)
    return Copy(path, newest)


def _run(line: str, path: Path) -> Any:
    if _LAST in line:
        line = line.replace(_LAST, _run("history", path)["rows"][-1]["instant"])
    words = [word.replace(_SHOWN, str(path)) for word in shlex.split(line)]
    out, err = io.StringIO(), io.StringIO()
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(sys, "argv", ["hudictl", *words]),
        patch.dict(os.environ, HUDICTL_TABLE=str(path)),
    ):
        code = run(words)
    assert out.getvalue(), f"hudictl {line}: {code} {err.getvalue()}"
    return json.loads(out.getvalue())


def _constant(value: Any, copy: Copy, key: str = "") -> Any:
    if key in _VARYING and value is not None:
        return _VARYING[key]
    if isinstance(value, Mapping):
        return {name: _constant(entry, copy, name) for name, entry in value.items()}
    if isinstance(value, list):
        return [_constant(entry, copy) for entry in value]
    if not isinstance(value, str):
        return value
    value = value.replace(str(copy.path), _SHOWN)
    value = re.sub(r"\b\d{17}\b", lambda found: _NEW if found[0] > copy.newest else found[0], value)
    value = re.sub(r"(no activity for) \d+ (?:s|min|h|d)\b", r"\1 15 h", value)
    return re.sub(r"\d+ (?:s|min|h|d) (ago|old)", r"15 h \1", value)
