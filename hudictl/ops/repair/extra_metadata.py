"""The ``extraMetadata`` of a write that is made again: what its files and the writes beside it prove of its schema."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NoReturn

from hudictl.errors import Refused
from hudictl.formats.commit_metadata import CHECKPOINTS, COMPACT, LOG_COMPACT
from hudictl.formats.json_values import parse_json
from hudictl.formats.layouts import SCHEMAS, SCHEMAS_END
from hudictl.formats.limits import INSTANT_BYTES
from hudictl.formats.parquet_footers import HUDIS, avro_columns
from hudictl.phrases import command_of
from hudictl.repair_workers import Written
from hudictl.state.timeline.damaged import Damaged
from hudictl.storage import entries_of, read_whole
from hudictl.table.table import Table

SCHEMA = "schema"
_EVOLVED = "latest_schema"
_ALTERS = "ALTER_SCHEMA"
SERVICES = (COMPACT, LOG_COMPACT, "CLUSTER", "INDEX")
"""Operations that change no schema, as Hudi has it (0.15.0 to 1.2.0)."""
Extra = Mapping[str, str]


@dataclass(frozen=True)
class Others:
    """Other completed writes. ``like`` is the body of one: it shows the format; ``checkpoint`` is the write before with
    one. ``before`` and ``after`` are what the nearest ones that may change the schema have as ``extraMetadata``."""

    like: bytes
    before: Extra | None
    after: Extra | None
    checkpoint: str | None

    @property
    def near(self) -> Extra:
        return self.before or self.after or {}


def extra_again(
    table: Table, found: Damaged, written: Collection[Written], others: Others, operation: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The extra metadata of a write, and what of it is a guess.

    Raises Refused: nothing proves it; StorageFailed.
    """
    if operation.startswith(_ALTERS):
        refuse(found, "it has changed the schema, and only its own file says how")
    history = _history(table, found.file.time)
    try:
        if history is not None or any(_EVOLVED in (extra or ()) for extra in (others.before, others.after)):
            return _evolved(found, history, others.near), ()
        schema, proven = _schema(found, written, others, operation)
    except (ValueError, TypeError, KeyError, AttributeError):
        refuse(found, "a schema in its files, or in the write beside it, is none")
    return {SCHEMA: schema}, () if proven else ("its schema: that of the write beside it is written",)


def lost_extra(others: Others) -> tuple[str, ...]:
    """What only the file itself has said, where the writes beside it have such entries."""
    keys = sorted({*(others.before or ()), *(others.after or ())} - {SCHEMA, _EVOLVED, *CHECKPOINTS})
    return (f"its extra metadata, as the writes beside it have: {', '.join(keys)}",) if keys else ()


def _history(table: Table, time: str) -> object | None:
    """The newest schema that a write with schema evolution has kept; None: it has kept none; "": it cannot be read."""
    for entry in entries_of(table.storage, SCHEMAS):
        if entry.name.startswith(time) and entry.name.endswith(SCHEMAS_END):
            try:
                schemas = parse_json(read_whole(table.storage, f"{SCHEMAS}/{entry.name}", INSTANT_BYTES))["schemas"]
                return max(schemas, key=lambda schema: int(schema["version_id"]), default="")
            except (ValueError, TypeError, KeyError):
                return ""
    return None


def _evolved(found: Damaged, history: object | None, near: Extra) -> dict[str, str]:
    """As Hudi has it (0.15.0 to 1.2.0): of the same evolved schema each write makes the same Avro schema."""
    if not near.get(_EVOLVED) or not near.get(SCHEMA) or parse_json(near[_EVOLVED]) != history:
        refuse(found, f"nothing proves its evolved schema ({_EVOLVED})")
    return {SCHEMA: near[SCHEMA], _EVOLVED: near[_EVOLVED]}


def _schema(found: Damaged, written: Collection[Written], others: Others, operation: str) -> tuple[str, bool]:
    """The schema without Hudi's columns, and whether the write's own files name it whole; else it is that of the write
    beside it, and they do not contradict."""
    schema, proven = others.near.get(SCHEMA, ""), False
    own = {json.dumps(_fields(text), sort_keys=True): text for entry in written for text in entry.schemas}
    # The files that a bootstrap has made for those of its source have no columns but Hudi's.
    own.pop("[]", None)
    if len(own) > 1:
        refuse(found, "its files have several schemas")
    for fields, text in own.items():
        proven = True
        if not schema or json.dumps(_fields(schema), sort_keys=True) != fields:
            schema = json.dumps(json.loads(text) | {"fields": _fields(text)})
    parts = [avro_columns(json.loads(text)) for entry in written for text in entry.parts]
    tables = [entry.columns for entry in written if entry.columns]
    if not proven and not any(parts) and not tables:
        before, after = ((extra or {}).get(SCHEMA) for extra in (others.before, others.after))
        if before is None or after is None or _fields(before) != _fields(after):
            refuse(found, "no file of it names its schema")
    columns = avro_columns(json.loads(schema)) if schema else {}
    fits = all(_same(table, columns, operation) for table in tables)
    if not fits or any(part.items() - columns.items() for part in parts):
        refuse(found, "its files have other columns than the schema of the write beside it")
    return schema, proven


def _same(table: Mapping[str, str], columns: Mapping[str, str], operation: str) -> bool:
    """Whether a file has the columns of a schema. They may be not null there; a table service changes no
    schema, and 0.15.0's clustering writes each column as one that may be null."""
    if operation in SERVICES:
        table, columns = ({name: text.replace("?", "") for name, text in of.items()} for of in (table, columns))
    return table.keys() == columns.keys() and all(columns[name] in (text, f"{text}?") for name, text in table.items())


def _fields(schema: str) -> list[object]:
    return [entry for entry in json.loads(schema)["fields"] if entry["name"] not in HUDIS]


def refuse(found: Damaged, why: str) -> NoReturn:
    """Raises Refused."""
    raise Refused(
        f"{found.problem}; it cannot be made again: {why}",
        hint=f"put {found.file.name} back from a backup, or go back: `{command_of('restore')}` to a commit before it",
        file=found.file.name,
    )
