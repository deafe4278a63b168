"""``log records``: the records of some logs, block by block."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from hudictl.errors import Unreadable, Unsupported, UsageError
from hudictl.formats.avro_schemas import Schema, parse_schema
from hudictl.formats.base_rows import RECORD_KEY
from hudictl.formats.delete_records import DeleteRecord
from hudictl.formats.log_blocks import CDC_DATA, CORRUPT, DELETE, HFILE_DATA, PARQUET_DATA, SCHEMA, Block
from hudictl.formats.log_contents import DATA_BLOCKS, HFILE_KEY, read_deletes, read_records
from hudictl.formats.record_merge import comparable, ordering_value, value_of
from hudictl.formats.schema_evolution import columns_in_millis, float_text, reader
from hudictl.phrases import quoted
from hudictl.reports.logs.blocks import judged_logs
from hudictl.table.logs.reader import LogFile, logs_alone
from hudictl.table.logs.scan import Judged, numbered_blocks
from hudictl.table.table import Table

_CDC_KEY = "record_key"
_CDC_IMAGES = ("after", "before")
# What a key of several fields has for a null, and for an empty text.
_NULL_IN_KEY, _EMPTY_IN_KEY = "__null__", "__empty__"
_GENERATORS = ("hoodie.table.keygenerator.type", "hoodie.table.keygenerator.class")
_FLOAT = '"float"'

Row = Mapping[str, Any]
KeyOf = Callable[[Row], str | None]


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A record of a block; or, merged, of a file slice, with the block that decided it.

    ``file`` is below the table, or the complete path if the logs belong to several tables. ``index`` and ``block_type``
    are None for a record of a base file. ``record`` has a delete block's fields with Hudi's names.
    """

    file: str
    index: int | None
    block_type: str | None
    instant: str | None
    fate: str
    record_key: str | None
    record: Row


@dataclass(frozen=True)
class Wanted:
    """Which records (all without ``keys``), and which of their columns (all without ``columns``)."""

    keys: frozenset[str] = frozenset()
    columns: tuple[str, ...] = ()

    def has(self, key: str | None) -> bool:
        return not self.keys or key in self.keys

    def cut(self, record: Row) -> Row:
        return {column: record.get(column) for column in self.columns} if self.columns else record


def record_rows(
    logs: Sequence[LogFile], wanted: Wanted, notes: list[str], damaged: list[Unreadable | Unsupported]
) -> Iterator[RecordRow]:
    """The records of some logs' blocks, in the order in which Hudi reads the blocks, each with its block's fate.

    Args:
        notes: gets additional messages.
        damaged: gets an error for each block that cannot be decoded, and for each log of another format version; the
            records before that are returned.

    Raises:
        UsageError: a column that no block has; a base file among the logs.
        Conflict: a log disappeared meanwhile.
        StorageFailed.
    """
    logs_alone(logs)
    if wanted.columns:
        # Nobody knows the columns of a log of another format version.
        with suppress(Unsupported):
            check_columns(wanted.columns, [field for log in logs for field in _columns(log)])

    several = len({log.table.uri if log.table else None for log in logs}) > 1
    for found in judged_logs(logs, notes, damaged.append):
        file = found.log.uri if several or found.log.table is None else found.log.path
        block = found.block
        if block.block_type == CORRUPT:
            size = block.end - block.offset
            notes.append(f"{file}: {size:,} bytes at {block.offset:,} are corrupt: {block.damage}")

        try:
            for key, record in block_records(found.log.table, found):
                if wanted.has(key):
                    cut = record if block.block_type == DELETE else wanted.cut(record)
                    yield RecordRow(file, found.index, block.block_type, block.instant, found.fate.name, key, cut)
        except (Unreadable, Unsupported) as error:
            message = f"{file}: block {found.index}: {error.message}"
            notes.append(message)
            damaged.append(type(error)(message, hint="all readable records are shown", file=found.log.path))


def check_columns(columns: Collection[str], known: Collection[str]) -> None:
    """Raises UsageError: a column that is not known."""
    unknown = [column for column in columns if column not in known]
    if unknown:
        there = ", ".join(map(quoted, dict.fromkeys(known))) or "none"
        raise UsageError(f"there is no column {', '.join(unknown)}", hint=f"the columns are: {there}")


def block_records(table: Table | None, found: Judged) -> Iterator[tuple[str | None, Row]]:
    """The records of a block with their keys; none of other blocks. Raises Unreadable, Unsupported."""
    block = found.block
    if block.block_type == DELETE:
        for deleted in read_deletes(block, found.read_at):
            yield deleted.record_key, _delete_fields(deleted)
    elif block.block_type in DATA_BLOCKS:
        schema = block_schema(block)
        key_of = record_key(schema, block.block_type, table)
        records = read_records(block, found.read_at)
        read_up = block.block_type == PARQUET_DATA or _FLOAT in block.header[SCHEMA]
        for record in map(reader(schema), records) if read_up else records:
            yield key_of(record), record


def block_schema(block: Block) -> Schema:
    """The schema of a data block. Raises Unreadable."""
    return parse_schema(block.header.get(SCHEMA, ""))


def record_key(schema: Schema | None, block_type: str | None, table: Table | None, more: Collection[str] = ()) -> KeyOf:
    """How to get the keys of records with the columns of a schema, and some more."""
    fields = {*more, *(schema.fields if schema else ())}
    key_fields = table.record_key_fields if table else ()
    if block_type == CDC_DATA:
        return _key_of_change(key_fields, _keys_are_named(table))
    if block_type == HFILE_DATA and RECORD_KEY not in fields and HFILE_KEY in fields:
        return lambda record: record.get(HFILE_KEY)
    by_fields = _key_of_fields(key_fields, fields, _keys_are_named(table), schema)

    def key(record: Row) -> str | None:
        found = record.get(RECORD_KEY)
        return found if type(found) is str else by_fields(record)

    return key if RECORD_KEY in fields else by_fields


def _keys_are_named(table: Table | None) -> bool:
    """Whether keys have the names of the fields: where there are several, and by one generator also of one field."""
    properties = table.properties if table else {}
    return "complex" in "".join(properties.get(key, "") for key in _GENERATORS).lower()


def _key_of_fields(
    key_fields: tuple[str, ...], fields: Collection[str], named: bool, schema: Schema | None = None
) -> KeyOf:
    """The key that Hudi's key generators build from the record key's fields (1.2.0). It raises Unsupported: a field of
    a type that hudictl does not know in a key."""
    if not key_fields or not {name.partition(".")[0] for name in key_fields} <= set(fields):
        return lambda record: None
    millis = columns_in_millis(schema) if schema else frozenset()
    read_up = reader(schema) if schema else dict

    def texts(record: Row) -> list[str | None]:
        record = read_up(record)
        return [_key_text(comparable(value_of(record, name), name in millis)) for name in key_fields]

    if len(key_fields) == 1 and not named:
        return lambda record: texts(record)[0]
    return lambda record: ",".join(
        f"{name}:{_NULL_IN_KEY if text is None else text or _EMPTY_IN_KEY}"
        for name, text in zip(key_fields, texts(record), strict=True)
    )


def _key_text(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return float_text(value)
    if value is None or isinstance(value, (str, int, date, Decimal, UUID)):
        return None if value is None else str(value)
    raise Unsupported(f"hudictl does not know how Hudi makes a record key of a {type(value).__name__}")


def _key_of_change(key_fields: tuple[str, ...], named: bool) -> KeyOf:
    """A change record has a key field, or the key in one of its images."""

    def key(record: Row) -> str | None:
        if record.get(_CDC_KEY) is not None:
            return str(record[_CDC_KEY])
        image: Row = next((record[name] for name in _CDC_IMAGES if isinstance(record.get(name), Mapping)), {})
        return _key_of_fields(key_fields, image, named)(image)

    return key


def _delete_fields(deleted: DeleteRecord) -> Row:
    ordering = None if deleted.ordering is None else ordering_value(deleted.ordering)
    return {"recordKey": deleted.record_key, "partitionPath": deleted.partition_path, "orderingVal": ordering}


def _columns(log: LogFile) -> list[str]:
    """The columns of a log's data blocks, in order of appearance; blocks without schema are skipped."""
    found: list[str] = []
    for _, block in numbered_blocks(log, log.read_at):
        try:
            found += block_schema(block).fields if block.block_type in DATA_BLOCKS else ()
        except Unreadable:
            continue  # reading its records reports this
    return found
