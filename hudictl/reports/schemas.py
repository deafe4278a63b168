"""``table schema``: the fields of a table's records, now or then, and the writes that changed them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hudictl.errors import Unreadable
from hudictl.formats.avro_schemas import parse_schema
from hudictl.formats.instants import WRITE_ACTIONS
from hudictl.formats.json_values import parse_json
from hudictl.formats.schema_evolution import columns_in_millis
from hudictl.reports.records import Recorded, records_of, schema_of
from hudictl.reports.timeline import Entry, TimelineFilter, instants_readable, instants_shown, tell_damaged
from hudictl.table.table import Table
from hudictl.table.timeline.archive import at_one_time

KEEPERS = ("COMPACT", "CLUSTER", "LOG_COMPACT", "INDEX")
"""Operations that do not change the schema (``WriteOperationType.canUpdateSchema`` of 0.15.0 to 1.2.0)."""
_PATH_COLUMN = {"type": ["null", "string"], "doc": "", "default": None}  # as Hudi adds columns that only paths have
_CREATED = "hoodie.table.create.schema"
_NULL = ("null", {"type": "null"})


@dataclass(frozen=True)
class TableSchema:
    """The schema of a table without Hudi's own columns. ``instant`` is the write that has it; null: it is the one with
    which the table was created (hoodie.table.create.schema). ``schema`` is the Avro schema."""

    instant: str | None
    schema: dict[str, Any]


@dataclass(frozen=True)
class SchemaField:
    """A field of a table's records. ``type`` is Avro's type or logical type; within it, ``?`` stands behind what may be
    null."""

    name: str
    type: str
    nullable: bool
    doc: str | None


@dataclass(frozen=True)
class SchemaChange:
    """A completed write with another schema than the write before it. ``changed`` has names with both types. Without
    any field, only documentation, defaults, order or names of records differ."""

    time: str
    action: str
    timeline: str
    completed_utc: str | None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    made_nullable: tuple[str, ...] = ()
    made_required: tuple[str, ...] = ()
    problem: str | None = None


def table_schema_as_of(table: Table, time: str | None) -> TableSchema | None:
    """The schema of the newest completed write, or of the newest up to an instant; None if none has one. Raises
    Unreadable: the write, its schema, or the archive is damaged."""
    # The newest write is never archived. Of those up to an instant, one that is can be newer than a savepointed one.
    found = newest_schema(table, "~") if time is None else None
    instant, text = found or newest_schema(table, time or "~", archived=True) or (None, table.properties.get(_CREATED))
    schema = _parsed(text, instant or _CREATED) if text else None
    if schema and table.properties.get("hoodie.datasource.write.drop.partition.columns") == "true":
        known = {field["name"] for field in schema["fields"]}
        schema["fields"] += [_PATH_COLUMN | {"name": name} for name in table.partition_fields if name not in known]
    return TableSchema(instant, schema) if schema else None


def newest_schema(table: Table, until: str, *, archived: bool = False) -> tuple[str, str] | None:
    """The newest completed write with a schema, up to an instant, and its schema as text. Raises Unreadable."""
    # A damaged file of the archive may have the newest one.
    for row, text in _writes(table, at_one_time(lambda: instants_shown(table, _writing(until, archived=archived)))):
        if row.problem is not None:
            raise Unreadable(row.problem, hint="`hudictl timeline inspect` shows the instant's other files")
        if text:
            return row.time, text
    return None


def newest_millis(table: Table, until: str) -> frozenset[str]:
    """The columns in milliseconds of this schema. Raises Unreadable."""
    found = newest_schema(table, until)
    return columns_in_millis(parse_schema(found[1])) if found else frozenset()


def schema_changes(table: Table) -> Iterator[SchemaChange]:
    """The writes that changed the schema, newest first, of both timelines. Raises Unreadable: see ``tell_damaged``."""
    newer: tuple[SchemaChange, str] | None = None
    damaged: list[SchemaChange] = []
    shown, unread = instants_readable(table, _writing("~", archived=True))
    for row, text in _writes(table, shown):
        if row.problem is not None:
            damaged.append(row)
        elif text:
            if newer and newer[1] != text:
                yield from _changes(*newer, text)
            yield from damaged
            newer, damaged = (row, text), []
    yield from damaged
    tell_damaged(unread)


def fields_of(schema: Any) -> list[SchemaField]:
    """The fields of a parsed schema of a record."""
    return [
        SchemaField(
            field["name"], _type(field["type"]), _is_nullable(field["type"]), str(field.get("doc") or "") or None
        )
        for field in schema["fields"]
    ]


def _writing(until: str, *, archived: bool) -> TimelineFilter:
    return TimelineFilter(WRITE_ACTIONS, ("completed",), until=until, descending=True, archived=archived)


def _writes(table: Table, shown: Sequence[tuple[Entry, str]]) -> Iterator[tuple[SchemaChange, str | None]]:
    """The writes that can change the schema, each as a row without a change, and with its schema."""
    return filter(None, records_of(table, TimelineFilter(), _written, listed=shown))


def _written(entry: Recorded) -> tuple[SchemaChange, str | None] | None:
    if (entry.done or {}).get("operationType") in KEEPERS:
        return None
    row = SchemaChange(entry.time, entry.action, entry.timeline, entry.completed_utc, problem=entry.problem)
    return row, schema_of(entry)


def _parsed(text: str, of: str) -> dict[str, Any]:
    try:
        parse_schema(text)
        found: dict[str, Any] = parse_json(text)
    except (Unreadable, ValueError) as error:
        raise Unreadable(f"the schema of {of} cannot be used: {error}") from error
    return found


def _changes(row: SchemaChange, newer: str, older: str) -> Iterator[SchemaChange]:
    try:
        schemas = _parsed(older, "the write before"), _parsed(newer, row.time)
    except Unreadable as error:
        yield replace(row, problem=error.message)
        return
    before, after = ({field.name: field for field in fields_of(schema)} for schema in schemas)
    both = [(before[name], field) for name, field in after.items() if name in before]
    found: dict[str, Any] = {
        "added": tuple(name for name in after if name not in before),
        "removed": tuple(name for name in before if name not in after),
        "changed": tuple(f"{one.name}: {one.type} to {other.type}" for one, other in both if one.type != other.type),
        "made_nullable": tuple(one.name for one, other in both if other.nullable and not one.nullable),
        "made_required": tuple(one.name for one, other in both if one.nullable and not other.nullable),
    }
    if schemas[0] != schemas[1]:
        yield replace(row, **found)


def _is_nullable(kind: Any) -> bool:
    return kind in _NULL or (isinstance(kind, list) and any(branch in _NULL for branch in kind))


def _type(kind: Any) -> str:
    """A type in a few words, without whether it may be null."""
    if isinstance(kind, list):
        return " or ".join(_type(branch) for branch in kind if branch not in _NULL) or "null"
    if not isinstance(kind, dict):
        return str(kind)
    name, logical = kind["type"], kind.get("logicalType")
    if logical == "decimal":
        return f"decimal({kind.get('precision')}, {kind.get('scale', 0)})"
    if isinstance(logical, str):
        return logical
    if name == "record":
        fields = (f"{field['name']}: {_inner(field['type'])}" for field in kind["fields"])
        return f"record<{', '.join(fields)}>"
    if name in ("array", "map"):
        return f"{name}<{_inner(kind['items' if name == 'array' else 'values'])}>"
    return _type(name)


def _inner(kind: Any) -> str:
    return _type(kind) + ("?" if _is_nullable(kind) else "")
