"""Avro object containers of one record: the bodies of Hudi's instant files."""

import io
import json
from typing import Any

import fastavro

from hudictl.errors import Unreadable

MAGIC = b"Obj\x01"
NAMESPACE = "org.apache.hudi.avro.model"

STRING = {"type": "string", "avro.java.string": "String"}


def string_map(values: Any) -> dict[str, Any]:
    """The schema of a map as Hudi's own files have it."""
    return {"type": "map", "values": values, "avro.java.string": "String"}


def record(name: str, *fields: dict[str, Any], top: bool = False) -> dict[str, Any]:
    """The schema of a record; only the outermost one names the namespace, as in Hudi's own files."""
    schema: dict[str, Any] = {"type": "record", "name": name}
    if top:
        schema["namespace"] = NAMESPACE
    return schema | {"fields": list(fields)}


def decode(body: bytes, name: str, what: str) -> dict[str, Any]:
    """Decodes the first record of a container, with the schema that was written into it.

    Args:
        body: the whole file.
        name: the record's name without namespace.
        what: what to call the file in an error.

    Raises:
        Unreadable: empty, truncated, no Avro, or an Avro file of another record.
    """
    if not body:
        raise Unreadable(f"{what} is empty: expected the Avro record {name}", file=what)
    try:
        reader = fastavro.reader(io.BytesIO(body))
        found = json.loads(reader.metadata["avro.schema"]).get("name", "").rpartition(".")[2]
        value = next(reader, None) if found == name else None
    except Exception as error:  # fastavro raises whatever the damaged bytes lead to
        raise Unreadable(
            f"{what} cannot be read as Avro record {name}: {error or type(error).__name__}", file=what
        ) from error
    if found != name:
        raise Unreadable(f"{what} holds the Avro record {found}, expected {name}", file=what)
    if not isinstance(value, dict):
        raise Unreadable(f"{what} holds no record {name}", file=what)
    return value


def encode(value: dict[str, Any], schema: dict[str, Any]) -> bytes:
    """Encodes one record as a container. The schema stays unparsed: so fastavro keeps its names as Hudi writes them."""
    out = io.BytesIO()
    fastavro.writer(out, schema, [value])
    return out.getvalue()
