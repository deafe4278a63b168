"""The records of delete blocks; of version 3, which every release since 0.14 writes, decoded and encoded."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import fastavro

from hudictl.formats.avro import NAMESPACE, array
from hudictl.formats.wrappers import LOCAL_DATE, WRAPPERS

INT = "IntWrapper"
ARRAY = "ArrayWrapper"


@dataclass(frozen=True, slots=True)
class OrderingValue:
    """``type`` is Hudi's wrapper record; ``value`` is as in Avro: days, micros, unscaled decimal bytes; in an
    ``ArrayWrapper`` a tuple of ordering values, one for each ordering field."""

    type: str
    value: Any


@dataclass(frozen=True, slots=True)
class DeleteRecord:
    """A record that is deleted."""

    record_key: str | None
    partition_path: str | None
    ordering: OrderingValue | None

    @property
    def has_ordering(self) -> bool:
        """Whether its ordering value counts: the int 0 stands for none (0.15.0 to 1.2.0)."""
        return self.ordering is not None and self.ordering != OrderingValue(INT, 0)


def decode_delete_list(payload: bytes) -> list[DeleteRecord]:
    """Decodes a ``HoodieDeleteRecordList``. Raises ValueError, or what fastavro makes of damaged bytes."""
    body = io.BytesIO(payload)
    # Wrappers with the same fields differ by their names alone.
    found: Any = fastavro.schemaless_reader(body, _SCHEMA, None, return_record_name=True)
    if body.tell() != len(payload):
        raise ValueError(f"{len(payload) - body.tell()} extra bytes after the last delete record")
    return [
        DeleteRecord(entry["recordKey"], entry["partitionPath"], _ordering(entry["orderingVal"]))
        for entry in found["deleteRecordList"]
    ]


def encode_delete_list(records: Sequence[DeleteRecord]) -> bytes:
    """Encodes a ``HoodieDeleteRecordList`` as Hudi does, byte for byte."""
    entries = [
        {
            "recordKey": record.record_key,
            "partitionPath": record.partition_path,
            "orderingVal": _wrapped(record.ordering),
        }
        for record in records
    ]
    out = io.BytesIO()
    fastavro.schemaless_writer(out, _SCHEMA, {"deleteRecordList": entries})
    return out.getvalue()


def _ordering(wrapped: Any) -> OrderingValue | None:
    if wrapped is None:
        return None
    name, fields = wrapped
    kind = name.rpartition(".")[2]
    if kind == ARRAY:
        return OrderingValue(kind, tuple(_ordering(entry) for entry in fields["wrappedValues"] or ()))
    return OrderingValue(kind, fields["value"])


def _wrapped(ordering: OrderingValue | None) -> Any:
    if ordering is None:
        return None
    name = f"{NAMESPACE}.{ordering.type}"
    if ordering.type == ARRAY:
        return name, {"wrappedValues": [_wrapped(entry) for entry in ordering.value]}
    return name, {"value": ordering.value}


def _wrapper(name: str, kind: str) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": "value", "type": kind}]}


# Raw values: logical types would not come back as the same bytes. Branches are only ever appended, so that the schema
# of 1.1 and 1.2 reads what every release has written; it is in no block.
_ITEMS = ["null", *WRAPPERS, _wrapper(LOCAL_DATE, "int")]
_ARRAY = {
    "type": "record",
    "name": ARRAY,
    "fields": [{"name": "wrappedValues", "type": ["null", array(_ITEMS)]}],
}
_DELETE = {
    "type": "record",
    "name": "HoodieDeleteRecord",
    "fields": [
        {"name": "recordKey", "type": ["null", "string"]},
        {"name": "partitionPath", "type": ["null", "string"]},
        {
            "name": "orderingVal",
            "type": ["null", *(_wrapper(name, kind) for name, kind in WRAPPERS.items()), _ARRAY],
        },
    ],
}
_SCHEMA = fastavro.parse_schema(
    {
        "type": "record",
        "name": "HoodieDeleteRecordList",
        "namespace": NAMESPACE,
        "fields": [{"name": "deleteRecordList", "type": array(_DELETE)}],
    }
)
