"""The archived timeline: log files with Avro blocks (layouts 0 and 1), Parquet files under a manifest (layout 2)."""

import io
import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import fastavro

from hudictl.errors import Unreadable
from hudictl.formats.log_blocks import AVRO_DATA, SCHEMA, read_blocks

_LOG_NAME = re.compile(r"^\.commits_\.archive\.(\d+)(?:_.*)?$")
_MANIFEST_NAME = re.compile(r"^manifest_(\d+)$")
_LSM_NAME = re.compile(r"^(\d+)_(\d+)_(\d)\.parquet$")
VERSION_FILE = "_version_"


@dataclass(frozen=True, slots=True)
class ArchivedInstant:
    """An instant of the archive, in its archived state (REQUESTED, INFLIGHT or COMPLETED)."""

    time: str
    action: str
    state: str


def is_archive_log(name: str) -> bool:
    """Whether a file of the archive folder is one of layout 1's log files."""
    return _LOG_NAME.match(name) is not None


def decode_log(body: bytes, what: str) -> Iterator[ArchivedInstant]:
    """The instants of one archive log file of layout 1, one per archived instant file. Raises Unreadable."""

    def read_at(offset: int, length: int) -> bytes:
        return body[offset : offset + length]

    for block in read_blocks(read_at, len(body)):
        if block.block_type != AVRO_DATA:
            # Hudi reads on behind a torn tail; but what stood there may be younger than the savepoint.
            raise Unreadable(f"{what} is damaged at byte {block.offset}", file=what, offset=block.offset)
        content = body[block.content_offset : block.content_offset + block.content_length]
        try:
            yield from _decode_content(content, json.loads(block.header[SCHEMA]))
        except Exception as error:  # fastavro raises whatever the damaged bytes lead to
            raise Unreadable(f"{what} cannot be decoded: {error}", file=what, offset=block.offset) from error


def _decode_content(content: bytes, schema: Any) -> Iterator[ArchivedInstant]:
    parsed = fastavro.parse_schema(schema)
    _, count = struct.unpack_from(">ii", content)
    position = 8
    for _ in range(count):
        (length,) = struct.unpack_from(">i", content, position)
        position += 4
        entry: Any = fastavro.schemaless_reader(io.BytesIO(content[position : position + length]), parsed, None)
        position += length
        # Very old records have no state: they were completed.
        yield ArchivedInstant(entry["commitTime"] or "", entry["actionType"] or "", entry["actionState"] or "COMPLETED")


def manifest_version(name: str) -> int | None:
    """The version of a manifest file of layout 2, by its name."""
    match = _MANIFEST_NAME.match(name)
    return int(match[1]) if match else None


def decode_manifest(body: bytes, what: str) -> list[str]:
    """The names of the live Parquet files of a manifest. Raises Unreadable."""
    try:
        return [str(entry["fileName"]) for entry in json.loads(body).get("files", [])]
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise Unreadable(f"{what} is no manifest: {error}", file=what) from error


def lsm_range(name: str) -> tuple[str, str] | None:
    """The smallest and the largest requested time in a Parquet file of layout 2, by its name."""
    match = _LSM_NAME.match(name)
    return (match[1], match[2]) if match else None


def decode_lsm(body: bytes, what: str) -> list[ArchivedInstant]:
    """The instants of one Parquet file of layout 2; all of them are completed. Raises Unreadable."""
    from pyarrow import ArrowException, parquet

    try:
        columns = parquet.read_table(io.BytesIO(body), columns=["instantTime", "action"]).to_pydict()
    except (ArrowException, OSError, ValueError) as error:
        raise Unreadable(f"{what} cannot be read as Parquet: {error}", file=what) from error
    return [
        ArchivedInstant(time, action, "COMPLETED")
        for time, action in zip(columns["instantTime"], columns["action"], strict=True)
    ]
