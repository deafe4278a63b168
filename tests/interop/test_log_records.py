"""`log records --merged` reads what a query of the real Hudi reads: all shared tables, and histories made by chance."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from hudictl.formats.delete_records import DeleteRecord, OrderingValue
from hudictl.formats.log_blocks import AVRO_DATA, DELETE, INSTANT_TIME, IS_PARTIAL, SCHEMA, encode_block, read_blocks
from hudictl.formats.log_contents import encode_avro, encode_deletes
from tests import support
from tests.interop.judge import RELEASES, Judge
from tests.ops.test_log_records import queried, text

pytestmark = pytest.mark.hudi

KEYS = 400
NO_ORDERING = OrderingValue("IntWrapper", 0)
# 1.0.2 fails at a later record of a key that was deleted without an ordering value, where it orders by event time.
FAILS_AT_PLAIN_DELETES = {("v8", "ordering_event")}


def assert_as_queried(hudi: Judge, base: Path) -> int:
    """Returns how many rows there are."""
    state = hudi.state(base)
    rows = [[text(row.record.get(column)) for column in state["columns"]] for row in queried(base)]
    assert sorted(rows, key=str) == sorted(state["rows"], key=str)
    return len(rows)


@pytest.mark.parametrize("name", support.names("v9"))
@pytest.mark.parametrize("version", RELEASES)
def test_merged_records_of_shared_tables(
    judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str
) -> None:
    """Tables after failed writes, rollbacks, clusterings, and with compactions pending."""
    assert assert_as_queried(judge(version), support.unpack(version, name, tmp_path)) > 0


@pytest.mark.parametrize("name", ["ordering_event", "ordering_commit"])
@pytest.mark.parametrize("version", RELEASES)
def test_merged_records_of_histories_by_chance(
    judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str
) -> None:
    """Records and deletes with greater, smaller, equal and no ordering values, in every order, over a base file."""
    base = support.unpack_logs(version, name, tmp_path)
    chance = random.Random(f"{version} {name}")
    write_base(next(base.glob("*.parquet")))
    for log in sorted(base.glob(".*.log.*")):
        write_log(log, chance, plain_deletes=(version, name) not in FAILS_AT_PLAIN_DELETES)
    assert assert_as_queried(judge(version), base) > KEYS / 10


@pytest.mark.parametrize("name", ["ordering_event", "ordering_commit"])
@pytest.mark.parametrize("version", ["v8", "v9"])
def test_merged_records_of_partial_updates_by_chance(
    judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str
) -> None:
    """Partial rows over partial ones, whole ones and deletes; 1.0.2 and 1.2.0 write none to keys that are not there."""
    base = support.unpack_logs(version, name, tmp_path)
    chance = random.Random(f"{version} {name}")
    write_base(next(base.glob("*.parquet")))
    for log in sorted(base.glob(".*.log.*")):
        write_log(log, chance, plain_deletes=False, partial=True)
    assert assert_as_queried(judge(version), base) > KEYS / 10


def write_base(file: Path) -> None:
    """Half of the keys, each as the file's first row but for its key."""
    rows = parquet.read_table(file)
    (first,) = rows.slice(0, 1).to_pylist()
    named = [first | {"id": f"k{one}", "_hoodie_record_key": f"k{one}"} for one in range(0, KEYS, 2)]
    parquet.write_table(pyarrow.Table.from_pylist(named, rows.schema), file)


def write_log(log: Path, chance: random.Random, *, plain_deletes: bool, partial: bool = False) -> None:
    """Blocks of the log's own instant and schema, in place of those that are there.

    Args:
        plain_deletes: some deletes have no ordering value.
        partial: some rows lack columns; all are of keys in the base file.
    """
    body = log.read_bytes()
    header = next(block.header for block in read_blocks(lambda at, size: body[at : at + size], len(body)))
    common = {key: header[key] for key in (INSTANT_TIME, SCHEMA)}
    written = b""
    for number in range(3):
        rows = [row(one, chance, f"{log.name} {number}", common[INSTANT_TIME]) for one in some(chance, partial)]
        written += encode_block(AVRO_DATA, common, encode_avro(rows, common[SCHEMA]))
        if partial:
            lacking = common | {SCHEMA: without_values(common[SCHEMA]), IS_PARTIAL: "true"}
            rows = [row(one, chance, "", common[INSTANT_TIME]) for one in some(chance, partial)]
            written += encode_block(AVRO_DATA, lacking, encode_avro(rows, lacking[SCHEMA]))
        values = [OrderingValue("LongWrapper", value) for value in (40, 50, 60)] + [NO_ORDERING] * plain_deletes
        gone = [DeleteRecord(f"k{one}", "", chance.choice(values)) for one in some(chance, partial)]
        written += encode_block(DELETE, common, encode_deletes(gone))
    log.write_bytes(written)


def some(chance: random.Random, in_base: bool) -> list[int]:
    keys = range(0, KEYS, 2) if in_base else range(KEYS)
    return chance.sample(keys, len(keys) // 3)


def without_values(schema: str) -> str:
    """The schema of a MERGE INTO that sets the ordering value alone."""
    fields = json.loads(schema)
    kept = [field for field in fields["fields"] if field["name"] not in ("id", "val", "_hoodie_is_deleted")]
    return json.dumps(fields | {"fields": kept})


def row(number: int, chance: random.Random, value: str, instant: str) -> dict[str, Any]:
    return {
        "_hoodie_commit_time": instant,
        "_hoodie_record_key": f"k{number}",
        "_hoodie_partition_path": "",
        "id": f"k{number}",
        "ts": chance.choice([40, 50, 60]),
        "val": value,
        "_hoodie_is_deleted": chance.random() < 0.2,
    }
