"""Parquet files of a table's history, judged before they are decoded: few bytes can be very many rows, or long ones.

pyarrow takes as much memory as a page says that it needs, and a dictionary makes one long value that of each row.
"""

import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hudictl.formats.limits import DECOMPRESSED_BYTES
from hudictl.formats.ranges import ReadAt, as_file
from hudictl.formats.thrift import COLUMNS, GROUPS, METADATA, Struct, read_struct

if TYPE_CHECKING:
    from pyarrow import parquet

TEXT, BYTES = "string", "binary"
Bounds = Mapping[str, tuple[str, str]]
"""The smallest and the largest text in a column of a row group, by its name: only of columns of which the footer tells
them, and in which no value is missing."""

_MOST_PARTS = 1000
"""Of a footer: row groups, columns, levels of columns in columns."""
_LEAST_ROW_BYTES = 8
"""Each instant has its own time, and the marker of its Avro file: 16 random bytes, which cannot be compressed."""
_MOST_RATIO = 300
"""Of the bytes after decompression to those before. Real histories reach 80: their instants have the same schemas."""
_MOST_CHARACTERS = 100
_BATCH_BYTES = 16 * 1024 * 1024
_BATCH_ROWS = 4096
# Most such files are this small: they are read in one request, instead of several for single columns.
_READ_WHOLE_BYTES = 1024 * 1024
_END_BYTES = 64 * 1024
"""Of a file, which pyarrow, too, reads first."""
# The numbers of more fields: in a row group, in the metadata of a column, and in the header of a page.
_ROWS = 3
_PATH, _CHUNK_BYTES, _DATA, _DICTIONARY = 3, 7, 9, 11
_UNCOMPRESSED, _COMPRESSED = 2, 3
_STATISTICS, _NULLS, _LARGEST, _SMALLEST = 12, 3, 5, 6


def read_rows(
    read_at: ReadAt,
    size: int,
    columns: Mapping[str, str],
    wanted: Collection[str] | None = None,
    choose: Callable[[Sequence[Bounds]], Collection[int]] | None = None,
) -> Iterator[tuple[Any, ...]]:
    """The rows of a file, a few megabytes of it at a time. Raises whatever damaged bytes lead to; what the storage
    raises.

    Args:
        columns: those to read, with their types.
        wanted: only the rows with one of these values in the first column.
        choose: the numbers of the row groups to read, by what the footer tells of each.
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

    start = max(0, size - _END_BYTES)
    chunks[start] = read_at(start, size - start)
    file = parquet.ParquetFile(as_file(read_judged, size), thrift_container_size_limit=_MOST_PARTS, pre_buffer=False)
    length = int.from_bytes(read_judged(size - 8, 4), "little")
    # Not from pyarrow, which ends the process where a column is damaged.
    footer = read_struct(io.BytesIO(read_judged(size - 8 - length, length)))
    groups: list[Struct] = footer.get(GROUPS, [])
    _judge_footer(file, groups, size, columns)
    key = next(iter(columns))
    chosen = range(len(groups)) if choose is None else choose([_bounds(group) for group in groups])
    for number in sorted(chosen):
        group = groups[number]
        chunks.clear()
        if wanted is not None:
            batches = _batches(file, number, group, {key: columns[key]}, chunks, read_at, size)
            if not any(value in wanted for rows in batches for (value,) in rows):
                continue
        for rows in _batches(file, number, group, columns, chunks, read_at, size):
            yield from (row for row in rows if wanted is None or row[0] in wanted)


def read_bounds(read_at: ReadAt, size: int) -> list[Bounds]:
    """What the footer of a file tells of each row group: one read, if it is not very long. Raises as ``read_rows``."""
    start = max(0, size - _END_BYTES)
    end = read_at(start, size - start)
    length = int.from_bytes(end[-8:-4], "little")
    if length + 8 > size:
        raise ValueError(f"{size:,} bytes cannot have a footer of {length:,}")
    footer = end[-8 - length : -8] if length + 8 <= len(end) else read_at(size - 8 - length, length)
    return [_bounds(group) for group in read_struct(io.BytesIO(footer)).get(GROUPS, [])]


def filtered(body: bytes, columns: Mapping[str, str], number: str, keeps: Callable[[tuple[Any, ...]], bool]) -> bytes:
    """A file with some of its rows, in their order; the same bytes where it keeps all. Its schema, compression and
    metadata are as before. Raises as ``read_rows``; ValueError: it has other columns.

    Args:
        columns: all of its columns but the last, with their types.
        number: the last one, of whole numbers.
        keeps: whether a row stays, by its values in these columns.
    """
    import pyarrow
    from pyarrow import parquet

    rows = list(read_rows(lambda offset, length: body[offset : offset + length], len(body), columns))
    file = parquet.ParquetFile(io.BytesIO(body))
    schema = file.schema_arrow
    if schema.names != [*columns, number]:
        raise ValueError(f"its columns are {', '.join(schema.names)}")
    numbers = file.read(columns=[number]).column(0).to_pylist()
    kept = [(*row, value) for row, value in zip(rows, numbers, strict=True) if keeps(row)]
    if len(kept) == len(rows):
        return body
    values = zip(*kept, strict=True) if kept else [()] * len(schema)
    arrays = [pyarrow.array(list(column), field.type) for column, field in zip(values, schema, strict=True)]
    compression, out = file.metadata.row_group(0).column(0).compression, io.BytesIO()
    with parquet.ParquetWriter(out, schema, compression=compression, store_schema=False) as writer:
        writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
        # Among them is the schema by which Avro's readers go.
        writer.add_key_value_metadata(file.metadata.metadata or {})
    return out.getvalue()


def _judge_footer(file: "parquet.ParquetFile", groups: list[Struct], size: int, columns: Mapping[str, str]) -> None:
    counts = [group[_ROWS] for group in groups]
    if len(counts) != file.num_row_groups or min(counts, default=0) < 0 or sum(counts) * _LEAST_ROW_BYTES > size:
        raise ValueError(f"{size:,} bytes cannot have {sum(counts):,} rows")
    found = {field.name: str(field.type) for field in file.schema_arrow}
    if missing := [name for name, kind in columns.items() if found.get(name) != kind]:
        raise ValueError(f"there is no column {missing[0]} of the type {columns[missing[0]]}")


def _bounds(group: Struct) -> Bounds:
    found: dict[str, tuple[str, str]] = {}
    for column in group[COLUMNS]:
        told = column[METADATA]
        statistics = told.get(_STATISTICS, {})
        if statistics.get(_NULLS) == 0 and _SMALLEST in statistics and _LARGEST in statistics:
            ends = (statistics[end].decode(errors="replace") for end in (_SMALLEST, _LARGEST))
            found[told[_PATH][0].decode()] = (next(ends), next(ends))
    return found


def _batches(
    file: "parquet.ParquetFile",
    number: int,
    group: Struct,
    columns: Mapping[str, str],
    chunks: dict[int, bytes],
    read_at: ReadAt,
    size: int,
) -> Iterator[list[tuple[Any, ...]]]:
    """Some columns of a row group, whose bytes are added to the chunks after they are judged."""
    largest = 1
    for column in group[COLUMNS]:
        told = column[METADATA]
        if told[_PATH][0].decode() in columns:
            start = min(filter(None, (told.get(_DICTIONARY), told[_DATA])))
            length = told[_CHUNK_BYTES]
            if not 0 <= length <= size - start or start < 0:
                raise ValueError(f"a column of {length:,} bytes does not fit")
            body = chunks.get(start, b"")[:length]
            if len(body) != length:
                # No shorter one of another column remains in its place.
                body = chunks[start] = read_at(start, length)
            largest = max(largest, _largest_page(body))
    total, most = 0, _most_bytes(sum(map(len, chunks.values())))
    # A value is not longer than its page.
    count = max(1, min(_BATCH_ROWS, _BATCH_BYTES // largest))
    for batch in file.iter_batches(count, row_groups=[number], columns=list(columns), use_threads=False):
        values = {name: batch.column(name).to_pylist() for name in columns}
        for name, kind in columns.items():
            longest = max((len(value or "") for value in values[name]), default=0)
            if kind == TEXT and longest > _MOST_CHARACTERS:
                raise ValueError(f"there is a text of {longest:,} characters")
            total += sum(len(value or "") for value in values[name])
        if total > most:
            raise ValueError(f"{most:,} bytes are not enough for its rows")
        yield list(zip(*values.values(), strict=True))


def _most_bytes(compressed: int) -> int:
    return DECOMPRESSED_BYTES + _MOST_RATIO * compressed


def _largest_page(chunk: bytes) -> int:
    """The bytes of the largest page of a column, after decompression. Raises ValueError: they are too many, or those of
    all pages."""
    source, largest, total = io.BytesIO(chunk), 0, 0
    while source.tell() < len(chunk):
        header = read_struct(source)
        size, compressed = header[_UNCOMPRESSED], header[_COMPRESSED]
        if size < 0 or not 0 <= compressed <= len(chunk) - source.tell():
            raise ValueError(f"a page of {compressed:,} bytes does not fit")
        largest, total = max(largest, size), total + size
        if size > _most_bytes(compressed) or total > _most_bytes(len(chunk)):
            raise ValueError(f"pages of {compressed:,} bytes cannot have {size:,} bytes")
        source.seek(compressed, io.SEEK_CUR)
    return largest
