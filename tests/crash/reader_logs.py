"""What the reader model reads inside files: Parquet base files, log files, and how their records merge.

Decoded files are kept by (name, size, modification time): a crash test looks at copies of one table thousands of times.
"""

import io
import json
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import fastavro
import pyarrow.parquet as pq

MAGIC = b"#HUDI#"
COMMAND, DELETE, CORRUPT, AVRO, PARQUET = 0, 1, 2, 3, 5
INSTANT_TIME, TARGET_INSTANT_TIME, SCHEMA, COMPACTED_BLOCK_TIMES, IS_PARTIAL = 0, 1, 2, 4, 7
ROW = ("id", "ts", "val")

Row = tuple[Any, ...]
FileKey = tuple[str, int, int]


class Unreadable(Exception):
    """Hudi's reader would fail on this table, or this model does not know how to read it."""


@dataclass(frozen=True)
class Record:
    """One record of a base file or log block; ``order`` is None for a delete without an ordering value."""

    key: str
    order: Any
    row: Row | None  # None is a delete
    comparable: bool = True  # a delete's ordering value of another Java type than the column's compares with nothing


@dataclass(frozen=True)
class Block:
    """One log block: its kind, the instants in its header and its records."""

    kind: int
    instant: str
    target: str = ""
    records: tuple[Record, ...] = ()


@dataclass(frozen=True)
class Scan:
    """Which log blocks count, and by which rule records merge."""

    cutoff: str
    committed: Callable[[str], bool]
    event_time: bool
    version6: bool  # read by 0.15, whose scan stops at the first block later than the cut-off; 1.x leaves it out


_decoded: dict[tuple[FileKey, tuple[str, ...]], Any] = {}
_schemas: dict[str, Any] = {}


def base_records(path: str, key: FileKey, ordering: tuple[str, ...]) -> tuple[Record, ...]:
    """The records of a base file, kept once decoded."""
    found = _decoded.get((key, ordering))
    if found is None:
        with open(path, "rb") as file:
            found = _decoded[key, ordering] = _parquet_records(file, ordering)
    return found


def log_blocks(path: str, key: FileKey, ordering: tuple[str, ...]) -> tuple[Block, ...]:
    """The blocks of a log file, kept once decoded."""
    found = _decoded.get((key, ordering))
    if found is None:
        with open(path, "rb") as file:
            found = _decoded[key, ordering] = tuple(_blocks(file.read(), path, ordering))
    return found


def merged(base: Iterable[Record], blocks: Iterable[Block], scan: Scan) -> list[Row]:
    """The rows of a file slice: its log blocks merged oldest first, then over the base records."""
    log: dict[str, Record] = {}
    for record in (record for block in _counting(blocks, scan) for record in block.records):
        old = log.get(record.key)
        if old is None or _wins(record, old, scan):
            log[record.key] = record
    rows = []
    seen = set()
    for record in base:
        new = log.get(record.key)
        seen.add(record.key)
        if new is not None:
            # in 0.15 a delete that the log scan left standing is final, whatever its ordering value
            final = new.row is None and scan.version6
            record = new if final or _wins(new, record, scan) else record
        if record.row is not None:
            rows.append(record.row)
    rows += [record.row for key, record in log.items() if key not in seen and record.row is not None]
    return rows


def _counting(blocks: Iterable[Block], scan: Scan) -> list[Block]:
    """The blocks whose records count; a rollback block takes back what was read before it, never what follows."""
    queue: list[Block] = []
    for block in blocks:
        if block.kind == CORRUPT:
            continue
        later = block.instant > scan.cutoff
        if later and scan.version6:
            break
        if block.kind == COMMAND:
            queue = [kept for kept in queue if kept.instant != block.target]
        elif not later and scan.committed(block.instant):
            queue.append(block)
    return queue


def _wins(new: Record, old: Record, scan: Scan) -> bool:
    """Whether the later record replaces the earlier one; 0.15 compares a delete's ordering value under any rule."""
    ordered = scan.event_time or (new.row is None and scan.version6)
    if not ordered or new.order is None or old.order is None or not (new.comparable and old.comparable):
        return True
    return bool(new.order >= old.order)


def _record(fields: dict[str, Any], ordering: tuple[str, ...]) -> Record:
    values = tuple(fields.get(name) for name in ordering)
    order = None if not values or any(value is None for value in values) else values if len(values) > 1 else values[0]
    deleted = fields.get("_hoodie_is_deleted") is True or fields.get("_hoodie_operation") == "D"
    return Record(fields["_hoodie_record_key"], order, None if deleted else tuple(fields[name] for name in ROW))


def _parquet_records(file: Any, ordering: tuple[str, ...]) -> tuple[Record, ...]:
    wanted = {"_hoodie_record_key", "_hoodie_is_deleted", "_hoodie_operation", *ROW, *ordering}
    try:
        parquet = pq.ParquetFile(file)
        columns = [name for name in parquet.schema_arrow.names if name in wanted]
        return tuple(_record(fields, ordering) for fields in parquet.read(columns=columns).to_pylist())
    except (OSError, ValueError) as error:
        raise Unreadable(f"{getattr(file, 'name', 'Parquet block')}: {error}") from error


def _avro_records(content: bytes, schema: str, ordering: tuple[str, ...]) -> tuple[Record, ...]:
    if schema not in _schemas:
        _schemas[schema] = fastavro.parse_schema(json.loads(schema))
    _, count = struct.unpack_from(">ii", content)
    at = 8
    records = []
    for _ in range(count):
        (size,) = struct.unpack_from(">i", content, at)
        fields: Any = fastavro.schemaless_reader(io.BytesIO(content[at + 4 : at + 4 + size]), _schemas[schema], None)
        records.append(_record(fields, ordering))
        at += 4 + size
    return tuple(records)


def _wrapper(name: str, kind: Any) -> dict[str, Any]:
    return {"type": "record", "name": f"{name}Wrapper", "fields": [{"name": "value", "type": kind}]}


_SIMPLE = [
    *(_wrapper(name.capitalize(), name) for name in ("boolean", "int", "long", "float", "double", "bytes", "string")),
    _wrapper("Date", "int"),
    _wrapper("Decimal", {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15}),
    _wrapper("TimeMicros", {"type": "long", "logicalType": "time-micros"}),
    _wrapper("TimestampMicros", "long"),
]
_NAMES = [kind["name"] for kind in _SIMPLE]
_ARRAY = {
    "type": "record",
    "name": "ArrayWrapper",
    "fields": [
        {
            "name": "wrappedValues",
            "type": ["null", {"type": "array", "items": ["null", *_NAMES, _wrapper("LocalDate", "int")]}],
        }
    ],
}
_DELETES = fastavro.parse_schema(
    {
        "type": "record",
        "name": "HoodieDeleteRecordList",
        "fields": [
            {
                "name": "deleteRecordList",
                "type": {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "HoodieDeleteRecord",
                        "fields": [
                            {"name": "recordKey", "type": ["null", "string"]},
                            {"name": "partitionPath", "type": ["null", "string"]},
                            {"name": "orderingVal", "type": ["null", *_SIMPLE, _ARRAY]},
                        ],
                    },
                },
            }
        ],
    }
)


def _deletes(content: bytes) -> tuple[Record, ...]:
    version, size = struct.unpack_from(">ii", content)
    if version != 3:
        raise Unreadable(f"delete block of content version {version}")
    payload: Any = fastavro.schemaless_reader(
        io.BytesIO(content[8 : 8 + size]),
        _DELETES,
        None,
        return_record_name=True,
    )
    return tuple(_delete(record["recordKey"], record["orderingVal"]) for record in payload["deleteRecordList"])


def _delete(key: str, ordering: Any) -> Record:
    if ordering is None:
        return Record(key, None, None)
    name, value = ordering
    if name == "ArrayWrapper":
        return Record(key, tuple(item[1]["value"] for item in value["wrappedValues"]), None)
    if name == "IntWrapper":
        # int 0 means "no ordering value"; any other int is not the Long that the tables' ordering column holds
        return Record(key, value["value"] or None, None, comparable=False)
    return Record(key, value["value"], None)


def _blocks(data: bytes, path: str, ordering: tuple[str, ...]) -> Iterator[Block]:
    """The blocks of a log file; a damaged one is a corrupt block up to the next magic."""
    at = 0
    while len(data) - at >= len(MAGIC):
        if data[at : at + 6] != MAGIC:
            raise Unreadable(f"{path}: no block starts at {at}")
        end = _block_end(data, at)
        if end is None:
            found = data.find(MAGIC, at + 6)
            at = len(data) if found < 0 else found
            yield Block(CORRUPT, "")
        else:
            yield _block(data[at:end], path, ordering)
            at = end


def _block_end(data: bytes, at: int) -> int | None:
    """Where a block ends; None for a corrupt one."""
    if len(data) - at < 14:
        return None
    (size,) = struct.unpack_from(">q", data, at + 6)
    end = at + 14 + int(size)
    if not 30 <= size <= len(data) - at - 14 or struct.unpack_from(">q", data, end - 8)[0] != size + 6:
        return None
    return end if len(data) - end < 6 or data[end : end + 6] == MAGIC else None


def _block(data: bytes, path: str, ordering: tuple[str, ...]) -> Block:
    version, kind, count = struct.unpack_from(">iii", data, 14)
    at = 26
    header: dict[int, str] = {}
    for _ in range(count):
        key, size = struct.unpack_from(">ii", data, at)
        header[key] = data[at + 8 : at + 8 + size].decode()
        at += 8 + size
    (size,) = struct.unpack_from(">q", data, at)
    content = data[at + 8 : at + 8 + size]
    if version != 1 or {COMPACTED_BLOCK_TIMES, IS_PARTIAL} & header.keys():
        raise Unreadable(f"{path}: a block this model does not know (version {version}, header keys {sorted(header)})")
    instant = header.get(INSTANT_TIME, "")
    if kind == COMMAND:
        return Block(kind, instant, header[TARGET_INSTANT_TIME])
    if kind == DELETE:
        return Block(kind, instant, records=_deletes(content))
    if kind == AVRO:
        return Block(kind, instant, records=_avro_records(content, header[SCHEMA], ordering))
    if kind == PARQUET:
        return Block(kind, instant, records=_parquet_records(io.BytesIO(content), ordering))
    raise Unreadable(f"{path}: block of type {kind}")
