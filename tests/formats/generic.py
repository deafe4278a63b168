"""Somebody else's reading of an Avro file: fastavro's generic reader with the schema in the file."""

import io
import json
from typing import Any

import fastavro


def read(body: bytes) -> dict[str, Any]:
    """The one record of a container."""
    (record,) = fastavro.reader(io.BytesIO(body))
    assert isinstance(record, dict)
    return record


def schema(body: bytes) -> Any:
    """The schema as its JSON text stands in the file."""
    return json.loads(fastavro.reader(io.BytesIO(body)).metadata["avro.schema"])
