"""Records of logs, and of file slices as queries read them, against what the real Hudi read in the same tables."""

import contextlib
import hashlib
import json
import random
from collections.abc import Iterable
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from hudictl.errors import HudictlError, NotFound, Unreadable, Unsupported, UsageError
from hudictl.formats.log_blocks import AVRO_DATA, INSTANT_TIME, PARQUET_DATA, SCHEMA, encode_block
from hudictl.formats.log_contents import encode_avro, encode_parquet
from hudictl.render.json import row_line
from hudictl.reports.logs.blocks import BlockRow, inspect_logs
from hudictl.reports.logs.merged import merged_rows, slices_of
from hudictl.reports.logs.records import RecordRow, Wanted, record_rows
from hudictl.table.logs.paths import find_logs
from tests import support
from tests.fixtures import Unpack
from tests.reports.logs.records_support import queried, text

SAMPLES = [(version, name) for version in support.VERSIONS for name in support.log_names(version)]
# The merge of payload classes that 1.1 and later have their own modes for; before they are code of somebody's.
REFUSED = [
    (version, name)
    for version, name in SAMPLES
    if name == "custom" or (name.startswith("payload_") and version != "v9")
]
MERGED = [
    (version, name)
    for version, name in SAMPLES
    if "rows" in support.log_facts(version)[name]["state"] and (version, name) not in REFUSED
]
# Spark shows a union as a struct of its branches, and in old releases local times as numbers; 1.0.2 takes milliseconds
# for microseconds.
SHOWN_OTHERWISE = {
    ("v6", "types"): {"local_millis", "local_micros"},
    ("v8", "types"): {"local_millis", "local_micros", "timestamp_millis"},
    ("v6", "types_union"): {"several"},
    ("v8", "types_union"): {"several"},
}


@pytest.mark.parametrize(("version", "name"), MERGED)
def test_merged_records_are_those_of_a_query(tmp_path: Path, version: str, name: str) -> None:
    """All columns of all rows: orderings, deletes, partial updates, log compactions, rollbacks, failed writes, added
    columns and promoted ones, in Avro, HFile and Parquet blocks."""
    state = support.log_facts(version)[name]["state"]
    rows = queried(support.unpack_logs(version, name, tmp_path))
    assert {tuple(row.record) for row in rows} == {tuple(state["columns"])}
    otherwise = SHOWN_OTHERWISE.get((version, name), set())
    compared = [number for number, column in enumerate(state["columns"]) if column not in otherwise]
    found = [[text(value) for value in row.record.values()] for row in rows]
    assert picked(found, compared) == picked(state["rows"], compared)


def picked(rows: list[list[str | None]], columns: list[int]) -> list[list[str | None]]:
    return sorted(([row[number] for number in columns] for row in rows), key=str)


def digest(rows: Iterable[RecordRow]) -> dict[str, Any]:
    """As the judge makes it of a query's rows."""
    found = sorted(tuple(row.record[column] for column in ("id", "ts", "val")) for row in rows)
    return {"count": len(found), "digest": hashlib.sha256(repr(found).encode()).hexdigest()[:16]}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mor_part", "mor_pending_compaction", "mor_savepoints", "mor_failed_lazy"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_as_of_each_instant_they_are_those_of_a_query_after_it(unpack: Unpack, version: str, name: str) -> None:
    """Also where a compaction opened a slice and has not written its base file, and over a failed write."""
    base = unpack(version, name).path
    for instant, seen in support.facts(version, name)["rows"].items():
        assert digest(queried(base, instant)) == seen


@pytest.mark.parametrize("version", support.VERSIONS)
def test_as_of_an_instant_before_the_timeline(tmp_path: Path, version: str) -> None:
    """Its files tell no more, but its blocks do."""
    base = support.unpack_logs(version, "ordering_commit", tmp_path)
    timeline = base / ".hoodie" / ("" if version == "v6" else "timeline")
    times = sorted({path.name[:17] for path in timeline.glob("2*")})
    found = {time: [(row.instant, row.record) for row in queried(base, time)] for time in times}
    for path in (path for time in times[:2] for path in timeline.glob(f"{time}*")):
        path.unlink()
    assert found == {time: [(row.instant, row.record) for row in queried(base, time)] for time in times}
    assert len({len(rows) for rows in found.values()}) > 1


def shown(
    base: Path, *paths: str, wanted: Wanted | None = None
) -> tuple[list[RecordRow], list[str], list[Unreadable | Unsupported]]:
    """The records of logs below a table, the notes on them, and what could not be decoded."""
    logs, notes = find_logs([str(base / path) for path in paths or ("",)])
    damaged: list[Unreadable | Unsupported] = []
    return list(record_rows(logs, wanted or Wanted(), notes, damaged)), notes, damaged


@pytest.mark.parametrize(("name", "fate"), [("failed", "uncommitted"), ("rolled_back", "rolled back")])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_records_that_no_query_sees_say_so(tmp_path: Path, version: str, name: str, fate: str) -> None:
    rows, _, damaged = shown(support.unpack_logs(version, name, tmp_path))
    facts = support.log_facts(version)[name]
    in_blocks = [(block["header"]["INSTANT_TIME"], record) for log in facts["logs"].values() for block in log
                 for record in block["records"] or ()]  # fmt: skip
    assert sorted((row.instant, row.record_key) for row in rows) == sorted(
        (instant, record["_hoodie_record_key"]) for instant, record in in_blocks
    )
    dead = {row.instant for row in rows if row.fate == fate}
    assert len(dead) == 1
    assert {row.fate for row in rows if row.instant not in dead} == {"valid"}
    queried_at = facts["state"]["columns"].index("_hoodie_commit_time")
    assert not dead & {row[queried_at] for row in facts["state"]["rows"]}
    assert damaged == []


@pytest.mark.parametrize("version", support.VERSIONS)
def test_deletes_are_hudis_delete_records(tmp_path: Path, version: str) -> None:
    rows, _, _ = shown(support.unpack_logs(version, "ordering_event", tmp_path), wanted=Wanted(frozenset({"k3"})))
    assert [(row.index, row.block_type) for row in rows] == [(1, "DELETE_BLOCK"), (0, "AVRO_DATA_BLOCK")]
    assert rows[0].record == {"recordKey": "k3", "partitionPath": "", "orderingVal": 60}
    assert (rows[1].record["ts"], rows[1].record["val"]) == (55, "before its delete")


def test_changes_tell_their_keys(tmp_path: Path) -> None:
    for name in ("cdc_op_key_only", "cdc_data_before", "cdc_data_before_after"):
        rows, _, _ = shown(support.unpack_logs("v9", name, tmp_path))
        assert [row.record_key for row in rows] == ["3", "4", "5", "6", "7", "5", "6"]


def test_columns_of_every_schema_may_be_chosen(tmp_path: Path) -> None:
    """A column that came later is null in older records; what no block has is refused, with what there is."""
    base = support.unpack_logs("v9", "evolution", tmp_path)
    rows, _, _ = shown(base, wanted=Wanted(frozenset({"k2"}), ("more", "ts")))
    assert [row.record for row in rows] == [{"more": None, "ts": 2}, {"more": "added", "ts": 3}]
    with pytest.raises(UsageError, match="there is no column less") as caught:
        shown(base, wanted=Wanted(columns=("less",)))
    assert caught.value.hint.endswith("_hoodie_file_name, id, ts, number, more, deep")


@pytest.mark.parametrize("columns", [(), ("id",)])
def test_a_log_of_another_format_is_named(tmp_path: Path, columns: tuple[str, ...]) -> None:
    base = support.unpack_logs("v9", "several_blocks", tmp_path)
    log = next(path for path in base.glob(".*.log.*") if path.suffix != ".crc")
    body = log.read_bytes()
    log.write_bytes(body[:14] + (99).to_bytes(4, "big") + body[18:])
    rows, notes, (error,) = shown(base, wanted=Wanted(columns=columns))
    assert (rows, isinstance(error, Unsupported)) == ([], True)
    assert f"{log.name}: byte 0: log format version 99" in error.message
    assert not any("belong to no block" in note for note in notes)


def test_damage_in_a_block_costs_its_own_records_alone(tmp_path: Path) -> None:
    """A content that cannot be decoded is told at the end, a corrupt range in a note; all other records come."""
    base = support.unpack_logs("v9", "several_blocks", tmp_path)
    whole, _, _ = shown(base)
    log = base / whole[0].file
    body = bytearray(log.read_bytes())
    facts = support.log_facts("v9")["several_blocks"]["logs"][log.name]
    body[facts[1]["content_offset"] + 7] += 1  # one record more than there are
    log.write_bytes(bytes(body) + b"#HUDI#rest")
    rows, notes, (error,) = shown(base)
    assert rows == whole
    assert f"{log.name}: block 1: " in error.message
    assert error.message in notes
    assert any(note.startswith(f"{log.name}: 10 bytes at {len(body):,} are corrupt: ") for note in notes)


@pytest.mark.parametrize("columns", [(), ("id",)])
def test_a_log_of_another_format_hides_no_other_log(tmp_path: Path, columns: tuple[str, ...]) -> None:
    base = support.unpack_logs("v9", "failed", tmp_path)
    log = min(base.glob(".*.log.*[0-9]"))
    before, _, _ = shown(base, wanted=Wanted(columns=columns))
    log.write_bytes(log.read_bytes()[:17] + b"\2" + log.read_bytes()[18:])
    rows, _, damaged = shown(base, wanted=Wanted(columns=columns))
    assert rows == [row for row in before if row.file != log.name] != []
    assert [f"{log.name}: byte 0: log format version 2" in error.message for error in damaged] == [True]
    blocks: list[BlockRow] = []
    with pytest.raises(Unsupported, match=f"{log.name}: byte 0: log format version 2"):
        blocks.extend(inspect_logs(find_logs([str(base)])[0], []))
    assert {row.file for row in blocks} >= {row.file for row in rows}


def test_a_base_file_is_in_a_slice_but_no_log(tmp_path: Path) -> None:
    base = support.unpack_logs("v9", "failed", tmp_path)
    file = next(base.glob("*.parquet"))
    with pytest.raises(UsageError, match="is a base file") as caught:
        shown(base, file.name)
    assert "--merged" in caught.value.hint


@pytest.mark.parametrize(("version", "name"), REFUSED)
def test_merging_by_what_is_not_known_is_refused_by_name(tmp_path: Path, version: str, name: str) -> None:
    with pytest.raises(
        Unsupported, match=r"does not know how to merge by \S+ ?\(?org\.apache\.hudi\.common\.model\.\w+"
    ):
        queried(support.unpack_logs(version, name, tmp_path))


def test_files_that_no_query_reads_are_in_no_slice(tmp_path: Path) -> None:
    """Logs of a write that has not completed, change logs, and files that are newer than the instant asked for."""
    base = support.unpack_logs("v9", "failed", tmp_path)
    logs = {log.name: log for log in find_logs([str(base)])[0]}
    uncommitted = {row.file for row in shown(base)[0] if row.fate == "uncommitted"}
    with pytest.raises(NotFound, match="is in no file slice that queries read") as caught:
        slices_of([logs[name] for name in uncommitted], (), None, [])
    assert "file slices" in caught.value.hint
    committed = next(log for name, log in logs.items() if name not in uncommitted)
    notes: list[str] = []
    assert len(slices_of(logs.values(), (), None, notes)) == 1
    assert notes == [f"{logs[name].uri} is in no file slice that queries read" for name in sorted(uncommitted)]
    with pytest.raises(NotFound, match="as of 2020"):
        slices_of([committed], (), "2020", [])
    changes, _ = find_logs([str(support.unpack_logs("v9", "cdc_op_key_only", tmp_path))])
    with pytest.raises(NotFound, match=r"\.cdc is in no file slice"):
        slices_of(changes, (), None, [])


def test_what_is_no_tables_file_cannot_be_merged(tmp_path: Path, unpack: Unpack) -> None:
    (tmp_path / ".f_1.log.1_0-0-0").write_bytes(b"")
    with pytest.raises(UsageError, match="not a log or base file of a table"):
        slices_of(find_logs([str(tmp_path / ".f_1.log.1_0-0-0")])[0], (), None, [])
    metadata, _ = find_logs([str(unpack("v9", "mor_part").path / ".hoodie/metadata/files")])
    with pytest.raises(Unsupported, match="is a metadata table") as caught:
        slices_of(metadata, (), None, [])
    assert "metadata files" in caught.value.hint


def test_a_later_table_version_is_refused(tmp_path: Path) -> None:
    base = support.unpack_logs("v9", "failed", tmp_path)
    properties = base / ".hoodie/hoodie.properties"
    properties.write_text(properties.read_text().replace("hoodie.table.version=9", "hoodie.table.version=10"))
    with pytest.raises(Unsupported, match="table version 10"):
        slices_of(find_logs([str(next(base.glob("*.parquet")))])[0], (), None, [])


def test_paths_of_one_slice_are_one_slice(tmp_path: Path) -> None:
    base = support.unpack_logs("v9", "evolution", tmp_path)
    files = find_logs([str(base), str(next(base.glob("*.parquet")))])[0]
    assert len(files) == 5
    (found,) = slices_of(files, (), None, [])
    assert len(found.logs) == 4
    notes: list[str] = []
    rows = list(merged_rows(found, Wanted(frozenset({"k1", "none"}), ("number",)), notes))
    assert [(row.record_key, row.record) for row in rows] == [("k1", {"number": "3000000000"})]
    assert notes[0].startswith("merged as Hudi 1.2.0 reads file://")
    assert "by EVENT_TIME_ORDERING of ts: " in notes[0]
    with pytest.raises(UsageError, match="no column nothing"):
        list(merged_rows(found, Wanted(columns=("nothing",)), []))


def test_without_a_schema_in_the_timeline_the_newest_block_has_it(tmp_path: Path) -> None:
    base = support.unpack_logs("v6", "evolution", tmp_path)
    before = [row.record for row in queried(base)]
    for commit in base.glob(".hoodie/*.deltacommit"):
        said = json.loads(commit.read_text())
        del said["extraMetadata"]["schema"]
        commit.write_text(json.dumps(said))
    assert [{name: row.record[name] for name in before[0] if name in row.record} for row in queried(base)] == before


MOMENT = datetime(1969, 7, 20, 20, 17, 40, 500_000, timezone.utc)
MICROS = {"type": "long", "logicalType": "timestamp-micros"}


@pytest.mark.parametrize(
    ("kind", "value", "key"),
    [
        ("string", "a", "a"),
        ("string", "", "__empty__"),
        (["null", "string"], None, "__null__"),
        ("boolean", True, "true"),
        ("long", 2**40, str(2**40)),
        ("float", 0.1, "0.1"),
        ("double", 1e10, "1.0E10"),
        ("double", 2.0**-13, "1.220703125E-4"),
        ("bytes", b"\xab\x00", "ab00"),
        (["null", MICROS], MOMENT, "-14182939500000"),
        (MICROS | {"logicalType": "timestamp-millis"}, MOMENT, "-14182939500"),
        (MICROS | {"logicalType": "local-timestamp-micros"}, MOMENT.replace(tzinfo=None), "-14182939500000"),
        ({"type": "int", "logicalType": "date"}, MOMENT.date(), "1969-07-20"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 10}, Decimal("0E-10"), "0E-10"),
    ],
)
def test_keys_of_several_fields_are_as_hudi_makes_them(tmp_path: Path, kind: Any, value: object, key: str) -> None:
    """The texts are those that the real Hudi wrote into delete blocks."""
    nested: Any = {"type": "record", "name": "N", "fields": [{"name": "id", "type": "int"}]}
    fields = [{"name": "n", "type": nested}, {"name": "f", "type": kind}]
    schema = json.dumps({"type": "record", "name": "R", "fields": fields})
    content = encode_avro([{"n": {"id": 7}, "f": value}], schema)
    log = tmp_path / ".f-0_20260101000000000.log.1_0-0-0"
    log.write_bytes(encode_block(AVRO_DATA, {INSTANT_TIME: "20260101000000000", SCHEMA: schema}, content))
    assert keys_of(tmp_path, "n.id,f") == [f"n.id:7,f:{key}"]
    if key not in ("__null__", "__empty__"):
        assert keys_of(tmp_path, "f") == [key]
        assert keys_of(tmp_path, "f", "COMPLEX") == [f"f:{key}"]


def keys_of(base: Path, fields: str, generator: str = "SIMPLE") -> list[str | None]:
    """The keys in the logs of a table without Hudi's own columns."""
    properties = {"hoodie.table.name": "t", "hoodie.table.version": "9", "hoodie.populate.meta.fields": "false"}
    properties |= {"hoodie.table.recordkey.fields": fields, "hoodie.table.keygenerator.type": generator}
    (base / ".hoodie/timeline").mkdir(parents=True, exist_ok=True)
    text = "".join(f"{key}={value}\n" for key, value in properties.items())
    (base / ".hoodie/hoodie.properties").write_text(text)
    return [row.record_key for row in shown(base)[0]]


@pytest.mark.parametrize("block_type", [AVRO_DATA, PARQUET_DATA])
def test_numbers_of_32_bits_are_shown_as_hudi_shows_them(tmp_path: Path, block_type: str) -> None:
    schema = '{"type": "record", "name": "R", "fields": [{"name": "f", "type": ["null", "float"]}]}'
    rows: list[dict[str, Any]] = [{"f": 0.1}, {"f": None}, {"f": 2.1}]
    table = pyarrow.table({"f": pyarrow.array([row["f"] for row in rows], pyarrow.float32())})
    content = encode_avro(rows, schema) if block_type == AVRO_DATA else encode_parquet(table)
    log = tmp_path / ".f-0_20260101000000000.log.1_0-0-0"
    log.write_bytes(encode_block(block_type, {INSTANT_TIME: "20260101000000000", SCHEMA: schema}, content))
    assert [row.record for row in shown(tmp_path)[0]] == rows


def test_a_record_key_of_a_type_that_hudictl_does_not_know_is_refused(tmp_path: Path) -> None:
    schema = '{"type": "record", "name": "R", "fields": [{"name": "f", "type": {"type": "array", "items": "int"}}]}'
    log = tmp_path / ".f-0_20260101000000000.log.1_0-0-0"
    content = encode_avro([{"f": [1]}], schema)
    log.write_bytes(encode_block(AVRO_DATA, {INSTANT_TIME: "20260101000000000", SCHEMA: schema}, content))
    assert keys_of(tmp_path, "f") == []
    _, _, damaged = shown(tmp_path)
    assert [type(error) for error in damaged] == [Unsupported]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["types", "deletes_decimal", "hfile_blocks", "parquet_blocks"])
def test_damage_anywhere_is_an_error_that_hudictl_knows(tmp_path: Path, name: str) -> None:
    """Of the records and of the merge; and what is read can be shown."""
    base = support.unpack_logs("v9", name, tmp_path)
    bodies = {path: path.read_bytes() for path in base.iterdir() if ".log." in path.name}
    chance = random.Random(name)
    for _ in range(15):
        for path, body in bodies.items():
            damaged = bytearray(body)
            damaged[chance.randrange(len(body))] = chance.randrange(256)
            path.write_bytes(damaged)
        with contextlib.suppress(HudictlError):
            assert all(json.loads(row_line(row)) for row in shown(base)[0])
        with contextlib.suppress(HudictlError):
            assert all(json.loads(row_line(row)) for row in queried(base))
