"""The contents of log blocks, decoded to records and encoded again."""

import io
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import fastavro

from hudictl.errors import Conflict, HudictlError, StorageFailed, Unreadable, Unsupported
from hudictl.formats import hfile, kryo
from hudictl.formats.avro import read_datum
from hudictl.formats.avro_schemas import Schema, parse_schema
from hudictl.formats.delete_records import DeleteRecord, decode_delete_list, encode_delete_list
from hudictl.formats.log_blocks import AVRO_DATA, CDC_DATA, COMMAND, DELETE, HFILE_DATA, PARQUET_DATA, SCHEMA, Block
from hudictl.formats.ranges import ReadAt, as_file, part

if TYPE_CHECKING:
    import pyarrow

CONTENT_VERSION = 3
"""The version in Avro, CDC and delete contents of every release since 0.14."""
KRYO_VERSIONS = (1, 2)
"""Of delete contents, up to 0.13."""
DATA_BLOCKS = (AVRO_DATA, HFILE_DATA, PARQUET_DATA, CDC_DATA)
HFILE_KEY = "key"
"""The field that Hudi leaves empty in the values of an HFile block, if the schema has it: it is in the row key."""

Row = dict[str, Any]

_LENGTH = struct.Struct(">i")
_WINDOW = 4 * 1024 * 1024
_BATCH_ROWS = 4096
_COUNT_BYTES = 16
"""At the beginning of a content; they have its count, if it has one."""


def base_block(read_at: ReadAt, size: int) -> Block:
    """An HFile base file as if it were one block of a log. Raises Unreadable, Unsupported."""
    schema = hfile.file_info(read_at, size).get(b"schema", b"").decode(errors="replace")
    return Block(HFILE_DATA, 0, size, 0, size, {SCHEMA: schema})


def record_count(block: Block, read_at: ReadAt) -> int | None:
    """The number of records by a block's header or the head of its content; None if it is not there.

    Of Parquet and HFile the end of the content is read. Raises Unreadable, Unsupported.
    """
    if block.block_type == COMMAND:
        return 0
    with decoding(_place(block), block.offset):
        content = part(read_at, block.content_offset, block.content_length)
        if block.block_type == HFILE_DATA:
            return hfile.entry_count(content, block.content_length)
        if block.block_type == PARQUET_DATA:
            from pyarrow import parquet

            return int(parquet.read_metadata(as_file(content, block.content_length)).num_rows)
        head = block.content_head
        if len(head) < min(_COUNT_BYTES, block.content_length):
            head = content(0, _COUNT_BYTES)
        if block.block_type in (AVRO_DATA, CDC_DATA):
            (count,) = struct.unpack_from(">i", head, 4)
            return int(count) if count >= 0 else None
        if block.block_type == DELETE and struct.unpack_from(">i", head)[0] == CONTENT_VERSION:
            # Avro's first count of the array; the only one, unless a writer splits arrays.
            count = fastavro.schemaless_reader(io.BytesIO(head[8:]), "long", None)
            return int(count) if isinstance(count, int) and count >= 0 else None
    return None


def read_records(
    block: Block, read_at: ReadAt, *, raw: bool = False, named: bool = False, only: hfile.Only | None = None
) -> Iterator[Row]:
    """The records of a data block, in its order, a few megabytes of it at a time.

    Args:
        block: of type Avro, CDC, Parquet or HFile. read_at: gives the file's bytes. raw: keep Avro's logical types as
        on disk. Otherwise they are returned as datetime, Decimal and so on, but as on disk where they are out of range.
        named: in an HFile, a value of a union of several records is a pair of the record's name and its fields.
        only: a part of an HFile, or keys: then only the blocks are read that can hold them.

    Raises:
        Unreadable: damaged; the records before the damage have come.
        Unsupported: an HFile of a kind that Hudi does not write.
    """
    with decoding(_place(block), block.offset):
        content = part(read_at, block.content_offset, block.content_length)
        if block.block_type == PARQUET_DATA:
            yield from _parquet_rows(content, block.content_length)
            return
        schema = parse_schema(_schema_text(block))
        if block.block_type == HFILE_DATA:
            size = block.content_length
            if isinstance(only, frozenset):
                entries = iter(hfile.lookup(content, size, only).items())
            else:
                entries = hfile.read_entries(content, size) if only is None else hfile.read_part(content, size, only)
            for key, value in entries:
                row = read_datum(io.BytesIO(value), schema, len(value), logical=not raw, named=named)
                yield row | {HFILE_KEY: key.decode()} if HFILE_KEY in row else row
            return
        yield from _avro_rows(content, block.content_length, schema, raw)


def read_parquet(read_at: ReadAt, size: int, columns: Sequence[str] | None = None) -> Iterator[Row]:
    """The rows of a Parquet base file, some thousands at a time; maps come as pairs. Raises Unreadable.

    Args:
        columns: read only these, as far as the file has them.
    """
    with decoding("the Parquet file"):
        yield from _parquet_rows(read_at, size, columns)


def count_records(block: Block, read_at: ReadAt) -> int:
    """Decodes everything in a block, and counts its records. Raises as ``read_records`` and ``read_deletes``."""
    if block.block_type == COMMAND:
        return 0
    if block.block_type == DELETE:
        return len(read_deletes(block, read_at))
    if block.block_type == PARQUET_DATA:
        with decoding(_place(block), block.offset):
            return _count_parquet(part(read_at, block.content_offset, block.content_length), block.content_length)
    count = 0
    try:
        for _ in read_records(block, read_at, raw=True):
            count += 1
    except Unreadable as error:
        raise Unreadable(f"{error.message}, after {count} readable records", **error.fields) from error
    return count


def read_deletes(block: Block, read_at: ReadAt) -> list[DeleteRecord]:
    """The records of a delete block. Raises Unreadable; Unsupported: a content version that no release has."""
    with decoding(_place(block), block.offset):
        content = read_at(block.content_offset, block.content_length)
        version, length = struct.unpack_from(">ii", content)
        payload = content[8:]
        if length != len(payload):
            raise ValueError(f"its payload has {len(payload)} bytes, not {length}")
        if version == CONTENT_VERSION:
            return decode_delete_list(payload)
        if version in KRYO_VERSIONS:
            return kryo.decode_deletes(payload, version)
        raise Unsupported(f"content version {version} of a delete block is not known")


def encode_avro(rows: Sequence[Row], schema: str) -> bytes:
    """The content of an Avro or CDC block; the schema goes into the block's header. Raises ValueError: a row that the
    schema does not fit."""
    parsed = parse_schema(schema).parsed
    out = io.BytesIO()
    out.write(struct.pack(">ii", CONTENT_VERSION, len(rows)))
    for row in rows:
        datum = _encoded(row, parsed)
        out.write(struct.pack(">i", len(datum)) + datum)
    return out.getvalue()


def encode_hfile(rows: Sequence[tuple[str, Row]], schema: str) -> bytes:
    """The content of an HFile block: record keys with their rows, in any order. Raises ValueError."""
    from hudictl.formats import hfile_writer

    known = parse_schema(schema)
    blank = {HFILE_KEY: ""} if HFILE_KEY in known.fields else {}
    entries = sorted((key.encode(), _encoded(row | blank, known.parsed)) for key, row in rows)
    return hfile_writer.encode_hfile(entries, info={b"schema": schema.encode()})


def encode_parquet(rows: "pyarrow.Table", codec: str = "gzip") -> bytes:
    """The content of a Parquet block; its columns are those of the schema in the block's header, and no more nullable:
    0.15.0 reads no others."""
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(rows, out, compression=codec)
    return out.getvalue()


def encode_deletes(records: Sequence[DeleteRecord]) -> bytes:
    """The content of a delete block, in version 3."""
    payload = encode_delete_list(records)
    return struct.pack(">ii", CONTENT_VERSION, len(payload)) + payload


def _schema_text(block: Block) -> str:
    text = block.header.get(SCHEMA)
    if text is None:
        raise ValueError("there is no SCHEMA in its header")
    return text


def _avro_rows(content: ReadAt, size: int, schema: Schema, raw: bool) -> Iterator[Row]:
    """The records of an Avro content, each of which stands behind its length and takes exactly so many bytes."""
    _, count = struct.unpack(">ii", content(0, 8))
    if count < 0:
        raise ValueError(f"it cannot have {count} records")
    position, start, window, source = 8, 0, b"", io.BytesIO()
    for _ in range(count):
        at = position - start
        if at + 4 > len(window):
            start, window, at = position, content(position, _WINDOW), 0
            source = io.BytesIO(window)
        (length,) = _LENGTH.unpack_from(window, at)
        if not 0 <= length <= size - position - 4:
            raise ValueError(f"a record of {length} bytes does not fit")
        if at + 4 + length > len(window):
            start, window, at = position, content(position, max(_WINDOW, 4 + length)), 0
            source = io.BytesIO(window)
        source.seek(at + 4)
        yield read_datum(source, schema, length, logical=not raw)
        position += 4 + length
    if position != size:
        raise ValueError(f"{size - position} extra bytes after the last record")


def _encoded(row: Row, schema: Any) -> bytes:
    out = io.BytesIO()
    try:
        fastavro.schemaless_writer(out, schema, row)
    except Exception as error:  # fastavro raises whatever a value leads to
        raise ValueError(f"the row does not fit the schema: {error}") from error
    return out.getvalue()


def _parquet_rows(content: ReadAt, size: int, columns: Sequence[str] | None = None) -> Iterator[Row]:
    from pyarrow import parquet

    for batch in parquet.ParquetFile(as_file(content, size)).iter_batches(_BATCH_ROWS, columns=columns):
        yield from batch_rows(batch)


def batch_rows(batch: "pyarrow.RecordBatch") -> list[Row]:
    """The rows of a batch; a time that Python's types cannot hold is the stored number."""
    try:
        return batch.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError):
        columns = [[_value(scalar) for scalar in column] for column in batch.columns]
        return [dict(zip(batch.schema.names, values, strict=True)) for values in zip(*columns, strict=True)]


def _value(scalar: "pyarrow.Scalar") -> Any:
    import pyarrow

    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        if isinstance(scalar, pyarrow.StructScalar):
            return {name: _value(part) for name, part in scalar.items()}
        if isinstance(scalar, pyarrow.MapScalar):
            return [(_value(pair["key"]), _value(pair["value"])) for pair in scalar.values]
        if isinstance(scalar, pyarrow.ListScalar):
            return [_value(part) for part in scalar.values]
        if not pyarrow.types.is_temporal(scalar.type):
            raise
        return scalar.value


def _count_parquet(content: ReadAt, size: int) -> int:
    """Decodes all columns, and makes no Python values of them."""
    from pyarrow import parquet

    file = parquet.ParquetFile(as_file(content, size), page_checksum_verification=True)
    count: int = sum(batch.num_rows for batch in file.iter_batches(_BATCH_ROWS))
    if count != file.metadata.num_rows:
        raise ValueError(f"its footer counts {file.metadata.num_rows} rows, but the file has {count}")
    return count


def _place(block: Block) -> str:
    return f"the {block.block_type} at byte {block.offset}"


@contextmanager
def decoding(what: str, offset: int = 0) -> Iterator[None]:
    """The libraries raise any kind of error on damaged bytes. The storage's own errors, and a missing library, are
    passed on."""
    try:
        yield
    except (Unsupported, Conflict, StorageFailed, FileNotFoundError, ImportError):
        raise
    except Exception as error:
        reason = error.message if isinstance(error, HudictlError) else error or type(error).__name__
        raise Unreadable(f"{what} cannot be decoded: {reason}", offset=offset) from error
