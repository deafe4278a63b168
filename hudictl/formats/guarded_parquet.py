"""Parquet files of a table's history, judged before they are decoded: few bytes can be very many rows, or long ones.

pyarrow takes as much memory as a page says that it needs, and a dictionary makes one long value that of each row.
"""

import io
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hudictl.formats.limits import DECOMPRESSED_BYTES
from hudictl.formats.ranges import ReadAt, as_file

if TYPE_CHECKING:
    from pyarrow import parquet

TEXT, BYTES = "string", "binary"

_MOST_PARTS = 1000
"""Of a footer: row groups, columns, levels of columns in columns."""
_LEAST_ROW_BYTES = 8
"""Each instant has its own time, and the marker of its Avro file: 16 random bytes, which cannot be compressed."""
_MOST_RATIO = 300
"""Of the bytes after decompression to those before. Real histories reach 80: their instants have the same schemas."""
_MOST_CHARACTERS = 100
_BATCH_BYTES = 64 * 1024 * 1024
_BATCH_ROWS = 4096
# Most such files are this small: they are read in one request, instead of several for single columns.
_READ_WHOLE_BYTES = 1024 * 1024
# The types of Thrift's compact protocol.
_BOOLEANS, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, 12
_UNCOMPRESSED, _COMPRESSED = 2, 3
"""The numbers of two fields in the header of a page."""


def read_rows(
    read_at: ReadAt, size: int, columns: Mapping[str, str], wanted: Collection[str] | None = None
) -> Iterator[tuple[Any, ...]]:
    """The rows of a file, a few megabytes of it at a time. Raises whatever damaged bytes lead to; what the storage
    raises.

    Args:
        columns: those to read, with their types.
        wanted: only the rows with one of these values in the first column.
    """
    from pyarrow import parquet

    if size <= _READ_WHOLE_BYTES:
        whole = read_at(0, size)
        read_at = lambda offset, length: whole[offset : offset + length]  # noqa: E731
    chunks: dict[int, bytes] = {}

    def read_judged(offset: int, length: int) -> bytes:
        for start, chunk in chunks.items():
            if start <= offset < start + len(chunk):
                return chunk[offset - start :][:length]
        return read_at(offset, length)

    source = as_file(read_judged, size)
    file = parquet.ParquetFile(source, thrift_container_size_limit=_MOST_PARTS, pre_buffer=False)
    _judge_footer(file, size, columns)
    key = next(iter(columns))
    for group in range(file.num_row_groups):
        chunks.clear()
        if wanted is not None and not any(
            value in wanted for (value,) in _rows(file, group, {key: columns[key]}, chunks, read_at)
        ):
            continue
        rows = _rows(file, group, columns, chunks, read_at)
        yield from (row for row in rows if wanted is None or row[0] in wanted)


def _judge_footer(file: "parquet.ParquetFile", size: int, columns: Mapping[str, str]) -> None:
    counts = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    if min(counts, default=0) < 0 or sum(counts) * _LEAST_ROW_BYTES > size:
        raise ValueError(f"{size:,} bytes cannot have {sum(counts):,} rows")
    found = {field.name: str(field.type) for field in file.schema_arrow}
    if missing := [name for name, kind in columns.items() if found.get(name) != kind]:
        raise ValueError(f"there is no column {missing[0]} of the type {columns[missing[0]]}")


def _rows(
    file: "parquet.ParquetFile", group: int, columns: Mapping[str, str], chunks: dict[int, bytes], read_at: ReadAt
) -> Iterator[tuple[Any, ...]]:
    """Some columns of a row group, whose bytes are added to the chunks after they are judged."""
    largest = 1
    for number in range(file.metadata.num_columns):
        chunk = file.metadata.row_group(group).column(number)
        if chunk.path_in_schema in columns:
            start = min(filter(None, (chunk.dictionary_page_offset, chunk.data_page_offset)))
            body = chunks.get(start, b"")[: chunk.total_compressed_size]
            if len(body) != chunk.total_compressed_size:
                # No shorter one of another column remains in its place.
                body = chunks[start] = read_at(start, max(0, chunk.total_compressed_size))
            largest = max(largest, _largest_page(body))
    total, most = 0, _most_bytes(sum(map(len, chunks.values())))
    # A value is not longer than its page.
    count = max(1, min(_BATCH_ROWS, _BATCH_BYTES // largest))
    for batch in file.iter_batches(count, row_groups=[group], columns=list(columns), use_threads=False):
        for row in zip(*(batch.column(name).to_pylist() for name in columns), strict=True):
            for value, kind in zip(row, columns.values(), strict=True):
                if kind == TEXT and len(value or "") > _MOST_CHARACTERS:
                    raise ValueError(f"there is a text of {len(value):,} characters")
                total += len(value or "")
            if total > most:
                raise ValueError(f"{most:,} bytes are not enough for its rows")
            yield row


def _most_bytes(compressed: int) -> int:
    return DECOMPRESSED_BYTES + _MOST_RATIO * compressed


def _largest_page(chunk: bytes) -> int:
    """The bytes of the largest page of a column, after decompression. Raises ValueError: they are too many, or those of
    all pages."""
    source, largest, total = io.BytesIO(chunk), 0, 0
    while source.tell() < len(chunk):
        header = _integers(source)
        size, compressed = header[_UNCOMPRESSED], header[_COMPRESSED]
        if size < 0 or not 0 <= compressed <= len(chunk) - source.tell():
            raise ValueError(f"a page of {compressed:,} bytes does not fit")
        largest, total = max(largest, size), total + size
        if size > _most_bytes(compressed) or total > _most_bytes(len(chunk)):
            raise ValueError(f"pages of {compressed:,} bytes cannot have {size:,} bytes")
        source.seek(compressed, io.SEEK_CUR)
    return largest


def _integers(source: io.BytesIO, levels: int = 10) -> dict[int, int]:
    """A struct of Thrift's compact protocol, of which only the integers are kept, by the numbers of their fields."""
    found: dict[int, int] = {}
    number = 0
    while head := _byte(source):
        number = number + (head >> 4) if head >> 4 else _integer(source)
        value = _value(source, head & 15, levels)
        if value is not None:
            found[number] = value
    return found


def _value(source: io.BytesIO, kind: int, levels: int) -> int | None:
    if kind in _INTEGERS:
        return _integer(source)
    if kind == _STRUCT and levels:
        _integers(source, levels - 1)
    elif kind == _BINARY:
        source.seek(_varint(source), io.SEEK_CUR)
    elif kind in (_BYTE, _DOUBLE):
        source.seek(1 if kind == _BYTE else 8, io.SEEK_CUR)
    elif kind not in _BOOLEANS:
        raise ValueError(f"the header of a page has a value of the type {kind}")
    return None


def _integer(source: io.BytesIO) -> int:
    value = _varint(source)
    return (value >> 1) ^ -(value & 1)


def _varint(source: io.BytesIO) -> int:
    value = shift = 0
    while (byte := _byte(source)) & 128:
        value |= (byte & 127) << shift
        shift += 7
        if shift > 63:
            raise ValueError("an integer of more than 64 bits")
    return value | byte << shift


def _byte(source: io.BytesIO) -> int:
    return source.read(1)[0]
