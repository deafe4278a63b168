"""Avro data: single records, and containers of one record, which are the bodies of Hudi's instant files.

No file is trusted: its schema has been judged, and no length or number in it is believed before the bytes are there."""

import hashlib
import io
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import fastavro

from hudictl.errors import HudictlError, Unreadable
from hudictl.formats.avro_schemas import Schema, parse_schema
from hudictl.formats.file_names import no_utf_8
from hudictl.formats.limits import DECOMPRESSED_BYTES

Value = TypeVar("Value")

MAGIC = b"Obj\x01"
NAMESPACE = "org.apache.hudi.avro.model"


@dataclass(frozen=True, slots=True)
class Record:
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


def array(items: Any, **more: Any) -> dict[str, Any]:
    """The schema of an array, and what Hudi's own files have behind it."""
    return {"type": "array", "items": items, **more}


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
        source = io.BytesIO(body)
        header = _header(source)
        schema = parse_schema(header["meta"]["avro.schema"].decode())
        # Reading to the end verifies the marker after the record: a file that is cut there is incomplete.
        records = _records(source, len(body), header, schema)
        fields = next(records, None)
        for _ in records:
            pass
    except Exception as error:  # fastavro raises whatever the damaged bytes lead to
        reason = error.message if isinstance(error, HudictlError) else error or type(error).__name__
        raise Unreadable(f"{what} cannot be read as Avro: {reason}", file=what) from error
    name = record_name(schema.raw)
    if fields is None:
        raise Unreadable(f"{what} holds no record {name}", file=what)
    return Record(name, fields)


def _header(source: io.BytesIO) -> Any:
    header: Any = fastavro.schemaless_reader(source, _HEADER, None)
    if header["magic"] != MAGIC:
        raise ValueError("no Avro file begins so")
    return header


def _records(source: io.BytesIO, size: int, header: Any, schema: Schema) -> Iterator[dict[str, Any]]:
    """The records of a container behind its header; Hudi writes one block of one record, not compressed."""
    codec = header["meta"].get("avro.codec", b"null")
    if codec not in (b"null", b"deflate"):
        raise ValueError(f"hudictl does not know the codec {codec!r}")
    while source.tell() < size:
        count, length = _long(source), _long(source)
        end = source.tell() + length
        if length < 0 or end + _SYNC_BYTES > size:
            raise ValueError(f"a block of {length} bytes does not fit")
        block, last = (source, end) if codec == b"null" else _inflated(source.read(length))
        if not 0 <= count <= max(1, last - block.tell()):
            raise ValueError(f"a block of {length} bytes cannot have {count} records")
        for _ in range(count):
            yield read_datum(block, schema)
        if block.tell() != last:
            raise ValueError(f"{last - block.tell()} extra bytes after the last record")
        source.seek(end)
        if source.read(_SYNC_BYTES) != header["sync"]:
            raise ValueError("the marker after a block is another one")


def _long(source: io.BytesIO) -> int:
    number: Any = fastavro.schemaless_reader(source, "long", None)
    return int(number)


def _inflated(block: bytes) -> tuple[io.BytesIO, int]:
    """A compressed block, and its length."""
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    data = inflate.decompress(block, DECOMPRESSED_BYTES)
    if not inflate.eof:
        raise ValueError(f"a compressed block is damaged, or has more than {DECOMPRESSED_BYTES:,} bytes")
    return io.BytesIO(data), len(data)


def read_datum(
    source: io.BytesIO, schema: Schema, length: int | None = None, *, logical: bool = False, named: bool = False
) -> dict[str, Any]:
    """The record at the position of a source. Raises what fastavro makes of damaged bytes.

    Args:
        source: the bytes.
        schema: the record's.
        length: the bytes that it must take.
        logical: values of logical types as datetime, Decimal and so on; as on disk what is out of their range.
        named: a value of a union of several records is a pair of the record's name and its fields.
    """
    start = source.tell()
    names: dict[str, Any] = {"return_record_name": named, "return_record_name_override": named}
    try:
        row: Any = fastavro.schemaless_reader(source, schema.parsed if logical else schema.raw, None, **names)
    except Exception:
        if not logical:
            raise
        # A value out of range; a damaged record fails again.
        source.seek(start)
        row = fastavro.schemaless_reader(source, schema.lenient, None, **names)
    if length is not None and source.tell() != start + length:
        raise ValueError(f"a record of {length} bytes ends after {source.tell() - start}")
    return row  # type: ignore[no-any-return]


def encode_like(body: bytes, value: dict[str, Any]) -> bytes:
    """Encodes one record as a container, with the schema that another container has, which was read before."""
    return encode(value, schema_of(body))


def schema_of(body: bytes) -> dict[str, Any]:
    """The schema of a container that was read before."""
    return dict(json.loads(_header(io.BytesIO(body))["meta"]["avro.schema"]))


def record_name(schema: Mapping[str, Any]) -> str:
    """The name, without namespace, of the record that a schema declares."""
    return str(schema.get("name", "")).rpartition(".")[2]


def encode(value: dict[str, Any], schema: dict[str, Any]) -> bytes:
    """Encodes one record as a container: equal records have equal bytes. With an unparsed schema, fastavro keeps the
    names as Hudi writes them.

    Raises Unreadable: a name is no UTF-8, as those of files may be.
    """
    out = io.BytesIO()
    marker = hashlib.sha256(repr(value).encode(errors="backslashreplace")).digest()[:_SYNC_BYTES]
    try:
        fastavro.writer(out, schema, [value], sync_marker=marker)
    except UnicodeEncodeError as error:
        raise no_utf_8(error.object) from error
    return out.getvalue()
