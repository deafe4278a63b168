"""What the tests of needed records share with others."""

import json
import os
from collections.abc import Mapping
from datetime import timezone
from pathlib import Path

import pytest

from hudictl.formats.instants import parse_time
from tests.helpers import put
from tests.table.conftest import Small, base_of
from tests.table.conftest import small as small

VERSIONS = pytest.mark.parametrize("version", [6, 9])


SILENT = json.dumps({"partitionToWriteStats": {}, "operationType": "UPSERT"}).encode()


def at(number: int) -> str:
    return f"20261121000000{number:03}"


def base(number: int, group: str = "f-0") -> str:
    return f"{group}_0-1-1_{at(number)}.parquet"


def wrote(*paths: str, replaced: Mapping[str, list[str]] | None = None) -> bytes:
    """A commit's metadata."""
    stats: dict[str, list[dict[str, str]]] = {}
    for path in paths:
        stats.setdefault(path.rpartition("/")[0], []).append({"path": path})
    body = {"partitionToWriteStats": stats, "partitionToReplaceFileIds": replaced or {}, "operationType": "UPSERT"}
    return json.dumps(body).encode()


def done(version: int, number: int, action: str = "commit", end: int = 0) -> str:
    """The name of a completed instant's file."""
    return f"{at(number)}.{action}" if version == 6 else f"{at(number)}_{at(end or number)}.{action}"


def made(small: Small, version: int, files: dict[str, bytes], *stored: str, kind: str = "COPY_ON_WRITE") -> Path:
    """A table with a timeline, and data files in partitions that have their metafile. Returns its folder."""
    folder = base_of(small(version, files, table_type=kind))
    for path in stored:
        put(folder / path, b"x")
        put(folder / path.rpartition("/")[0] / ".hoodie_partition_metadata", b"x")
    return folder


def stamp(folder: Path, files: Mapping[str, bytes]) -> None:
    """In layout 1 the modification time is the completion time: here each completed when it was requested."""
    for name in files:
        path = next(folder.glob(f".hoodie/**/{name}"))
        moment = parse_time(name[:17], timezone.utc)
        assert moment is not None
        seconds = moment.timestamp()
        os.utime(path, (seconds, seconds))
