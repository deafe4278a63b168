"""Merge-on-read tables that are copy on write now: the property was changed, and a writer has gone on since."""

import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import fastavro

from hudictl.formats.layouts import METADATA_TABLE, PARTITION_KEYS
from hudictl.table.open import open_table
from hudictl.table.properties import update_properties
from hudictl.table.table import COPY_ON_WRITE, TYPE
from hudictl.table.timeline.active import load_timeline
from tests.helpers import put

LATER = "20261121110000000"
"""The commit of the copy-on-write writer."""


def retype(base: Path, kind: str) -> None:
    """Changes the property alone, as an operator does."""
    update_properties(open_table(str(base)).storage, {TYPE: kind})


def retyped(base: Path) -> str:
    """Makes a table with compactions copy on write, and writes all file groups again as readers see them now: as the
    last compaction has left them. It has no metadata table then. Returns the last delta commit."""
    table = open_table(str(base))
    shutil.rmtree(base / METADATA_TABLE, ignore_errors=True)
    update_properties(table.storage, {TYPE: COPY_ON_WRITE, **dict.fromkeys(PARTITION_KEYS, "")})
    timeline, folder = load_timeline(table), base / table.layout.timeline
    compaction = max((entry for entry in timeline.having("commit") if entry.completed), key=lambda entry: entry.time)
    stats: dict[str, list[dict[str, object]]] = {}
    for path in sorted(base.rglob(f"*_{compaction.time}.parquet")):
        new = put(path.with_name(path.name.replace(compaction.time, LATER)), path.read_bytes())
        name = new.relative_to(base).as_posix()
        stat = {"fileId": path.name.partition("_")[0], "path": name, "prevCommit": compaction.time, "numWrites": 1}
        stats.setdefault(name.rpartition("/")[0], []).append({**stat, "fileSizeInBytes": new.stat().st_size})
    told = _metadata(folder / compaction.files[-1].name)
    body = {"partitionToWriteStats": stats, "operationType": "UPSERT", "extraMetadata": told["extraMetadata"]}
    done = f"{LATER}.commit" if table.version == 6 else f"{LATER}_{int(LATER) + 1000}.commit"
    last = max(timeline.modified_ms.values()) / 1000 + 0.01
    for name, content in ((f"{LATER}.commit.requested", ""), (f"{LATER}.inflight", ""), (done, json.dumps(body))):
        os.utime(put(folder / name, content), (last, last))
    return max(entry.time for entry in timeline.having("deltacommit") if entry.completed)


def _metadata(path: Path) -> dict[str, Any]:
    body = path.read_bytes()
    found: Any = next(iter(fastavro.reader(io.BytesIO(body)))) if body.startswith(b"Obj") else json.loads(body)
    return dict(found)
