"""`log records --merged` reads what a query of the real Hudi reads: all shared tables, and histories made by chance."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from hudictl.errors import Unsupported
from hudictl.formats.base_rows import RECORD_KEY
from hudictl.formats.delete_records import DeleteRecord, OrderingValue
from hudictl.formats.log_blocks import (
    AVRO_DATA,
    COMPACTED_BLOCK_TIMES,
    DELETE,
    INSTANT_TIME,
    IS_PARTIAL,
    SCHEMA,
    encode_block,
    read_blocks,
)
from hudictl.formats.log_contents import encode_avro, encode_deletes
from tests import support
from tests.interop.judge import RELEASES, Judge
from tests.interop.log_records_support import assert_as_queried
from tests.interop.log_samples import BUCKET, PREFIX, Writer, event_time, rows
from tests.reports.logs.records_support import queried

pytestmark = pytest.mark.hudi

KEYS = 400
ORDERED = (40, 50, 60)
NO_ORDERING = OrderingValue("IntWrapper", 0)
# 1.0.2 fails at a later record of a key that was deleted without an ordering value, where it orders by event time.
FAILS_AT_PLAIN_DELETES = {("v8", "ordering_event"), ("v8", "log_compacted")}


@pytest.mark.short(
    "v6-mor_part",
    "v6-mor_failed_lazy",
    "v9-mor_parquet_logs",
    "v9-mor_pending_compaction",
)
@pytest.mark.parametrize("name", [name for name in support.names("v9") if name.startswith("mor_")])
@pytest.mark.parametrize("version", RELEASES)
def test_merged_records_of_shared_tables(
    judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str
) -> None:
    """All columns of tables after failed writes and restores, and with compactions pending."""
    assert assert_as_queried(judge(version), support.unpack(version, name, tmp_path)) > 0


@pytest.mark.short("v6-ordering_event", "v9-ordering_commit", "v9-log_compacted")
@pytest.mark.parametrize("name", ["ordering_event", "ordering_commit", "log_compacted"])
@pytest.mark.parametrize("version", RELEASES)
def test_merged_records_of_histories_by_chance(
    judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str
) -> None:
    """Records and deletes with greater, smaller, equal and no ordering values, in every order, over a base file; blocks
    of log compactions among them, which say something else than those that they replace."""
    base = support.unpack_logs(version, name, tmp_path)
    write_history(base, random.Random(f"{version} {name}"), plain=(version, name) not in FAILS_AT_PLAIN_DELETES)
    assert assert_as_queried(judge(version), base) > KEYS / 10


def test_merged_records_of_event_time_payloads_by_chance(judge: Callable[[str], Judge], tmp_path: Path) -> None:
    """0.15.0 has two, which differ at rows that say that they are deleted."""
    base = support.unpack_logs("v6", "ordering_event", tmp_path)
    properties = base / ".hoodie/hoodie.properties"
    properties.write_text(properties.read_text().replace("DefaultHoodieRecordPayload", "EventTimeAvroPayload"))
    write_history(base, random.Random("event time"))
    assert assert_as_queried(judge("v6"), base) > KEYS / 10


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", ["v8", "v9"])
def test_merged_records_of_partial_updates_by_chance(
    judge: Callable[[str], Judge], tmp_path: Path, version: str
) -> None:
    """Rows of some columns over others, over whole rows and over deletes."""
    base = support.unpack_logs(version, "partial", tmp_path)
    write_history(base, random.Random(version), partial=True)
    assert assert_as_queried(judge(version), base) > KEYS / 10


@pytest.mark.parametrize("version", ["v9"])
@pytest.mark.parametrize(
    ("payload", "ordering"),
    [
        ("PartialUpdateAvroPayload", "ts"),
        ("OverwriteNonDefaultsWithLatestAvroPayload", "ts"),
        ("debezium.PostgresDebeziumAvroPayload", "_event_lsn"),
    ],
)
def test_merged_records_in_the_modes_of_partial_updates(
    judge: Callable[[str], Judge], tmp_path: Path, version: str, payload: str, ordering: str
) -> None:
    """1.2.0 writes them into the table's properties for these payload classes."""
    hudi, base = judge(version), tmp_path / "table"
    options = {
        f"{PREFIX}payload.class": f"org.apache.hudi.common.model.{payload}",
        f"{PREFIX}precombine.field": ordering,
    }
    table = Writer(hudi, base, BUCKET | options)
    columns = f"id, {ordering}, val, number, _change_operation_type"
    unavailable = "'__debezium_unavailable_value'"
    table.write(rows(*(f"'k{one}', 50L, 'first', 1, 'c'" for one in range(8)), columns=columns), "insert")
    later = (f"'k0', 60L, {unavailable}, 2, 'u'", "'k1', 40L, 'low', NULL, 'u'", "'k2', 60L, NULL, 9, 'u'")
    gone = ("'k3', 60L, 'gone', 9, 'd'", "'k4', 40L, 'not gone', 9, 'd'", f"'k9', 50L, {unavailable}, 9, 'c'")
    table.write(rows(*later, *gone, columns=columns))
    again = ("'k0', 55L, 'between', NULL, 'u'", f"'k1', 70L, {unavailable}, NULL, 'u'", "'k2', 70L, NULL, NULL, 'u'")
    table.write(rows(*again, "'k3', 70L, NULL, 5, 'u'", "'k9', 40L, 'nine', NULL, 'u'", columns=columns))
    assert assert_as_queried(hudi, base) > 6


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", RELEASES)
def test_merged_records_ordered_by_a_field_within_a_column(
    judge: Callable[[str], Judge], tmp_path: Path, version: str
) -> None:
    """Among logs 0.15.0 does not find it."""
    hudi, base = judge(version), tmp_path / "table"
    table = Writer(hudi, base, BUCKET | event_time(version) | {f"{PREFIX}precombine.field": "at.ts"})

    def write(ts: int, val: str, keys: int, operation: str = "upsert") -> None:
        values = (f"'k{one}', named_struct('ts', {ts}L), '{val}'" for one in range(keys))
        table.write(rows(*values, columns="id, at, val"), operation)

    write(50, "first", 4, "insert")
    write(40, "not over the base file", 3)
    write(70, "new", 2)
    write(60, "newer than the base file", 1)
    found = {row.record["val"] for row in queried(base)}
    assert assert_as_queried(hudi, base) == 4
    assert found == {"first", "new"} | ({"newer than the base file"} if version == "v6" else set())


@pytest.mark.parametrize("several", [False, True])
def test_merged_records_with_virtual_keys_of_any_type(
    judge: Callable[[str], Judge], tmp_path: Path, several: bool
) -> None:
    """Deletes have the keys as text; the rows have the fields alone."""
    hudi, base = judge("v9"), tmp_path / "table"
    virtual = {"hoodie.populate.meta.fields": "false", "hoodie.index.type": "SIMPLE"}
    kinds = {"yes": "BOOLEAN", "at": "TIMESTAMP", "day": "DATE", "raw": "BINARY", "real": "FLOAT", "wide": "DOUBLE"}
    kinds |= {"sum": "DECIMAL(20,10)", "word": "STRING", "local": "TIMESTAMP_NTZ"}
    named = f"n.id,{','.join(kinds)}" if several else "at"
    table = Writer(hudi, base, virtual | {f"{PREFIX}recordkey.field": named})
    filled = "'true', '1969-07-20 20:17:40.5', '1969-07-20', X'AB', '0.1', '1e10', '0', '', '1969-07-20 20:17:40.5'"
    cast = ", ".join(f"CAST({name} AS {kind}) {name}" for name, kind in kinds.items())

    def write(ts: int, keys: int, operation: str = "upsert") -> None:
        values = (f"'k0', {filled}", f"'k1'{', NULL' * len(kinds) if several else ', ' + filled}", f"'k2', {filled}")
        source = rows(*values[:keys], columns=f"id, {', '.join(kinds)}")
        at = "at + make_interval(0, 0, 0, int(substr(id, 2)))"
        shifted = f"SELECT *, {at} moved FROM (SELECT id, {cast} FROM ({source}))"
        columns = ", ".join("moved at" if name == "at" else name for name in kinds)
        table.write(f"SELECT named_struct('id', id) n, {columns}, {ts}L ts, id val FROM ({shifted})", operation)

    write(1, 3, "insert")
    write(2, 2)
    write(3, 2, "delete")
    assert [row.record["val"] for row in queried(base)] == ["k2"]
    assert_as_queried(hudi, base)


@pytest.mark.short("v8")
@pytest.mark.parametrize("version", RELEASES)
def test_columns_with_other_names_are_not_merged(judge: Callable[[str], Judge], tmp_path: Path, version: str) -> None:
    """Hudi finds them by their ids."""
    evolving = {"hoodie.schema.on.read.enable": "true", f"{PREFIX}reconcile.schema": "true"}
    hudi, base = judge(version), tmp_path / "table"
    Writer(hudi, base, evolving).write(rows("'a', 1L, 'v', 'w'", columns="id, ts, val, more"), "insert")
    dropping = {f"{PREFIX}schema.allow.auto.evolution.column.drop": "true"}
    settings = [f"SET {key}={value}" for key, value in (evolving | dropping).items()]

    def alter(change: str) -> None:
        hudi.sql(base, [*settings, f"ALTER TABLE judged {change}"])

    alter("ADD COLUMNS (added string)")
    alter("DROP COLUMN more")
    assert assert_as_queried(hudi, base) == 1
    alter("RENAME COLUMN val TO val2")
    state = hudi.state(base)
    assert dict(zip(state["columns"], state["rows"][0], strict=True))["val2"] == "v"
    with pytest.raises(Unsupported, match="the column val2"):
        queried(base)


def write_history(base: Path, chance: random.Random, *, plain: bool = True, partial: bool = False) -> None:
    """Other rows in the base file and in the logs of a table, whose files stay.

    Args:
        plain: some deletes have no ordering value.
        partial: some rows lack columns; all are of keys in the base file.
    """
    file = next(base.glob("*.parquet"))
    stored = parquet.read_table(file)
    (first,) = stored.slice(0, 1).to_pylist()
    whole = stored.schema.metadata[b"parquet.avro.schema"].decode()
    named = [first | {"ts": 50} | identity(first, number) for number in range(0, KEYS, 2)]
    parquet.write_table(pyarrow.Table.from_pylist(named, stored.schema), file)
    for log in sorted(base.glob(".*.log.*")):
        body = log.read_bytes()
        header = next(
            block.header for block in read_blocks(lambda at, size, body=body: body[at : at + size], len(body))
        )
        written = b""
        for number in range(3):
            for schema in [whole, some_columns(whole)] if partial else [whole]:
                common = {key: header[key] for key in (INSTANT_TIME, COMPACTED_BLOCK_TIMES) if key in header}
                common |= {SCHEMA: schema}
                more = {"_hoodie_commit_time": header[INSTANT_TIME], "val": f"{log.name} {number}"}
                data = [first | identity(first, one) | more | values(chance) for one in some(chance, partial)]
                is_partial = {} if schema == whole else {IS_PARTIAL: "true"}
                written += encode_block(AVRO_DATA, common | is_partial, encode_avro(data, schema))
            orderings = [OrderingValue("LongWrapper", value) for value in ORDERED] + [NO_ORDERING] * plain
            gone = [
                DeleteRecord(identity(first, one)[RECORD_KEY], "", chance.choice(orderings))
                for one in some(chance, partial)
            ]
            written += encode_block(DELETE, common, encode_deletes(gone))
        log.write_bytes(written)


def identity(like: dict[str, Any], number: int) -> dict[str, Any]:
    """The columns that tell a record."""
    key: str | int = number if isinstance(like["id"], int) else f"k{number}"
    return {"id": key, RECORD_KEY: str(key)}


def values(chance: random.Random) -> dict[str, Any]:
    return {"ts": chance.choice(ORDERED), "price": chance.random(), "_hoodie_is_deleted": chance.random() < 0.2}


def some(chance: random.Random, in_base: bool) -> list[int]:
    keys = range(0, KEYS, 2) if in_base else range(KEYS)
    return chance.sample(keys, len(keys) // 3)


def some_columns(schema: str) -> str:
    """The schema of a MERGE INTO that sets two columns."""
    fields = json.loads(schema)
    kept = [field for field in fields["fields"] if field["name"] not in ("id", "val", "other")]
    return json.dumps(fields | {"fields": kept})
