"""Avro object containers of one record: the bodies of Hudi's instant files."""

import io
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import fastavro

from hudictl.errors import Unreadable

Value = TypeVar("Value")

MAGIC = b"Obj\x01"
NAMESPACE = "org.apache.hudi.avro.model"


class Record(NamedTuple):
    """A decoded record, as from the archive of layout 1: its name without namespace, and its fields."""

    name: str
    fields: dict[str, Any]


Body = bytes | Record
"""The body of an instant file: its bytes, or its record from an archive."""

_SYNC_BYTES = 16
_HEADER = fastavro.parse_schema(
    {
        "type": "record",
        "name": "org.apache.avro.file.Header",
        "fields": [
            {"name": "magic", "type": {"type": "fixed", "name": "Magic", "size": len(MAGIC)}},
            {"name": "meta", "type": {"type": "map", "values": "bytes"}},
            {"name": "sync", "type": {"type": "fixed", "name": "Sync", "size": _SYNC_BYTES}},
        ],
    }
)

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


def decode(body: Body, names: str | tuple[str, ...], what: str, build: Callable[[dict[str, Any]], Value]) -> Value:
    """Decodes the one record of a container, with the schema that was written into it.

    Args:
        body: the whole file, or the record in it.
        names: the accepted names of the record, without namespace.
        what: what to call the file in an error.
        build: makes the value out of the record's fields.

    Raises:
        Unreadable: empty, truncated, no Avro, or an Avro file of another record.
    """
    expected = (names,) if isinstance(names, str) else names
    name = " or ".join(expected)
    if not body:
        raise Unreadable(f"{what} is empty: expected the Avro record {name}", file=what)
    record = body if isinstance(body, Record) else read_record(body, what)
    if record.name not in expected:
        raise Unreadable(f"{what} holds the Avro record {record.name}, expected {name}", file=what)
    try:
        return build(record.fields)
    except (KeyError, TypeError, AttributeError) as error:
        raise Unreadable(f"{what} holds no complete record {name}: {error!r}", file=what) from error


def read_record(body: bytes, what: str) -> Record:
    """Reads the one record of a container, whatever it is. Raises Unreadable."""
    try:
        if record := _plain_record(body):
            return record
        reader = fastavro.reader(io.BytesIO(body))
        name = record_name(json.loads(reader.metadata["avro.schema"]))
        # Reading to the end verifies the marker after the record: a file that is cut there is incomplete.
        records = list(reader)
    except Exception as error:  # fastavro raises whatever the damaged bytes lead to
        raise Unreadable(f"{what} cannot be read as Avro: {error or type(error).__name__}", file=what) from error
    if not records or not isinstance(records[0], dict):
        raise Unreadable(f"{what} holds no record {name}", file=what)
    return Record(name, records[0])


def _plain_record(body: bytes) -> Record | None:
    """The record of a container as Hudi writes it: one block of one record, not compressed. A timeline has thousands
    of them with the same schema, which is parsed once; most of fastavro's time for such a file is its schema.

    Returns:
        None if the container is another one, or damaged.
    """
    rest: Any = io.BytesIO(body)
    try:
        header: Any = fastavro.schemaless_reader(rest, _HEADER, None)
        name, schema = _parsed(header["meta"]["avro.schema"])
        count, length = (fastavro.schemaless_reader(rest, "long", None) for _ in range(2))
        end = rest.tell() + length
        if count != 1 or header["meta"].get("avro.codec", b"null") != b"null" or body[end:] != header["sync"]:
            return None
        fields: Any = fastavro.schemaless_reader(rest, schema, None)
    except Exception:  # fastavro raises whatever the damaged bytes lead to, and says more when it reads the container
        return None
    return Record(name, fields) if rest.tell() == end and isinstance(fields, dict) else None


@lru_cache(maxsize=64)
def _parsed(schema: bytes) -> tuple[str, Any]:
    """The name of a schema's record, without namespace, and the schema as fastavro reads with it."""
    found = json.loads(schema)
    return record_name(found), fastavro.parse_schema(found)


def encode_like(body: bytes, value: dict[str, Any]) -> bytes:
    """Encodes one record as a container, with the schema that another container has."""
    return encode(value, json.loads(fastavro.reader(io.BytesIO(body)).metadata["avro.schema"]))


def record_name(schema: Mapping[str, Any]) -> str:
    """The name, without namespace, of the record that a schema declares."""
    return str(schema.get("name", "")).rpartition(".")[2]


def encode(value: dict[str, Any], schema: dict[str, Any]) -> bytes:
    """Encodes one record as a container. With an unparsed schema, fastavro keeps the names as Hudi writes them."""
    out = io.BytesIO()
    fastavro.writer(out, schema, [value])
    return out.getvalue()
