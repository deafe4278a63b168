"""``HoodieSavepointMetadata``, the body of a completed savepoint (schema of Hudi 0.15.0 to 1.2.0)."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hudictl.formats import avro
from hudictl.formats.savepoint_names import SYNC_BYTES, Head, block_head, head_bytes, record_bytes

NAME = "HoodieSavepointMetadata"
SCHEMA = avro.record(
    NAME,
    {"name": "savepointedBy", "type": avro.STRING},
    {"name": "savepointedAt", "type": "long"},
    {"name": "comments", "type": avro.STRING},
    {
        "name": "partitionMetadata",
        "type": avro.string_map(
            avro.record(
                "HoodieSavepointPartitionMetadata",
                {"name": "partitionPath", "type": avro.STRING},
                {"name": "savepointDataFile", "type": avro.array(avro.STRING)},
            )
        ),
    },
    {"name": "version", "type": ["int", "null"], "default": 1},
    top=True,
)


_WITHOUT_FILES = {"savepointedBy": "", "savepointedAt": 0, "comments": "", "partitionMetadata": {}, "version": 1}


@dataclass(frozen=True, slots=True)
class SavepointMetadata:
    """``saved_at_ms`` is epoch milliseconds; ``files`` maps a partition path to file names."""

    saved_by: str
    saved_at_ms: int
    comment: str
    files: Mapping[str, tuple[str, ...]]


def decode(body: avro.Body, what: str) -> SavepointMetadata:
    """Raises Unreadable."""
    return avro.decode(body, NAME, what, _build)


def _build(value: dict[str, Any]) -> SavepointMetadata:
    files = {path: tuple(entry["savepointDataFile"]) for path, entry in sorted(value["partitionMetadata"].items())}
    return SavepointMetadata(value["savepointedBy"], value["savepointedAt"], value["comments"], files)


def encode(metadata: SavepointMetadata) -> bytes:
    """The body of a completed savepoint file: in memory it is there once, however many files it names."""
    head = Head(metadata.saved_by, metadata.saved_at_ms, metadata.comment)
    begin = head_bytes(avro.encode(_WITHOUT_FILES, SCHEMA))
    length = sum(map(len, record_bytes(head, metadata.files)))
    out = io.BytesIO()
    out.write(begin + block_head(length))
    for piece in record_bytes(head, metadata.files):
        out.write(piece)
    out.write(begin[-SYNC_BYTES:])
    return out.getvalue()
