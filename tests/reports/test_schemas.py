"""The schema of a table, now and at each instant, and which writes changed it."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from hudictl.errors import Unreadable
from hudictl.reports.commits import CommitRow, commit_rows
from hudictl.reports.schemas import (
    SchemaField,
    TableSchema,
    fields_of,
    schema_changes,
    table_schema_as_of,
)
from hudictl.reports.timeline import TimelineFilter
from hudictl.table.properties import update_properties
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
FIELDS = [["id", "long"], ["ts", "long"], ["val", "string"], ["p", ["null", "string"]]]


def commits(copy: Copy) -> list[CommitRow]:
    return list(commit_rows(copy.table, TimelineFilter(archived=True, descending=True)))


def say(copy: Copy, schemas: Sequence[str | None]) -> list[str]:
    """Gives the writes of a table of version 6 these schemas, the oldest first; returns their times."""
    times = [entry.time for entry in load_timeline(copy.table).completed_writes()][: len(schemas)]
    assert len(times) == len(schemas)
    for time, schema in zip(times, schemas, strict=True):
        path = copy.path / ".hoodie" / f"{time}.commit"
        body = json.loads(path.read_bytes())
        body["extraMetadata"]["schema"] = schema or ""
        path.write_text(json.dumps(body))
    return times


def schema(*fields: Sequence[Any], **more: Any) -> str:
    return json.dumps(
        {"type": "record", "name": "r", "fields": [{"name": name, "type": kind} for name, kind in fields]} | more
    )


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_the_schema_of_every_table_now_and_at_each_instant(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    found = table_schema_as_of(copy.table, None)
    assert list(schema_changes(copy.table)) == []
    assert (found is None) is (not commits(copy))
    writes = [row.time for row in commits(copy) if row.operation not in ("COMPACT", "CLUSTER")]
    for number, time in enumerate(writes):
        then = table_schema_as_of(copy.table, time)
        assert then is not None
        assert (then.instant, found and found.schema) == (time, then.schema)
        assert found is not None
        assert number or found.instant == time


@VERSIONS
def test_of_an_archived_write_the_archive_has_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "archived_beyond_savepoint")
    archived = [row.time for row in commits(copy) if row.timeline == "archived"]
    assert archived
    for time in archived:
        found = table_schema_as_of(copy.table, time)
        assert found is not None
        assert found.instant == time
    assert table_schema_as_of(copy.table, "2020") is None


def test_each_change_is_a_row(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_part")
    said = [
        schema(*FIELDS),
        schema(*FIELDS, ["more", ["null", "int"]]),
        schema(["ts", "string"], ["id", ["null", "long"]], ["val", "string"], ["p", "string"]),
        schema(["ts", "string"], ["id", ["null", "long"]], ["val", "string"], ["p", "string"], doc="as before"),
    ]
    times = say(copy, said)
    rows = list(schema_changes(copy.table))
    newest = [entry.time for entry in load_timeline(copy.table).completed_writes()][len(said) :][:1]
    assert [row.time for row in rows] == [*newest, *reversed(times[1:])]
    details, removed, added = rows[-3:]
    assert (added.added, added.removed, added.changed) == (("more",), (), ())
    assert (removed.added, removed.removed, removed.changed) == ((), ("more",), ("ts: long to string",))
    assert (removed.made_nullable, removed.made_required) == (("id",), ("p",))
    assert not any((details.added, details.removed, details.changed, details.made_nullable, details.made_required))
    for time, text in zip(times, said, strict=True):
        assert table_schema_as_of(copy.table, time) == TableSchema(time, json.loads(text))


def test_a_write_without_a_schema_changes_nothing(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_part")
    first, without, last = say(copy, [schema(*FIELDS), None, schema(*FIELDS)])
    assert {first, without, last}.isdisjoint(row.time for row in schema_changes(copy.table))
    found = table_schema_as_of(copy.table, without)
    assert found is not None
    assert found.instant == first


def test_a_compaction_changes_no_schema(unpack: Unpack) -> None:
    """Hudi does not ask it."""
    copy = unpack("v6", "mor_part")
    compaction = max((copy.path / ".hoodie").glob("*.commit"))
    compaction.write_text(compaction.read_text().replace('\\"val\\"', '\\"other\\"'))
    assert "other" in compaction.read_text()
    found = table_schema_as_of(copy.table, compaction.name.partition(".")[0])
    assert found is not None
    assert found.instant is not None
    assert found.instant < compaction.name
    assert list(schema_changes(copy.table)) == []


@VERSIONS
def test_where_no_write_has_one_that_of_the_creation_counts(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    for path in (copy.path / copy.table.layout.timeline).glob("2*commit*"):
        path.unlink()
    assert table_schema_as_of(copy.table, None) is None
    update_properties(copy.table.storage, {"hoodie.table.create.schema": schema(*FIELDS)})
    found = table_schema_as_of(copy.table, None)
    assert found == TableSchema(None, json.loads(schema(*FIELDS)))
    update_properties(copy.table.storage, {"hoodie.table.create.schema": "{"})
    with pytest.raises(Unreadable, match=r"hoodie\.table\.create\.schema cannot be used"):
        table_schema_as_of(copy.table, None)


def test_partition_columns_that_data_files_lack_are_added(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_part")
    (time,) = say(copy, [schema(*FIELDS[:3])])
    plain = table_schema_as_of(copy.table, time)
    update_properties(copy.table.storage, {"hoodie.datasource.write.drop.partition.columns": "true"})
    found = table_schema_as_of(copy.table, time)
    assert plain is not None
    assert found is not None
    assert [field.name for field in fields_of(plain.schema)] == ["id", "ts", "val"]
    assert fields_of(found.schema) == [*fields_of(plain.schema), SchemaField("p", "string", True, None)]
    say(copy, [schema(*FIELDS)])
    assert table_schema_as_of(copy.table, time) == TableSchema(time, json.loads(schema(*FIELDS)))


@VERSIONS
def test_a_damaged_write_is_a_row_and_no_older_schema_is_taken_for_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    *_, older, newest = load_timeline(copy.table).completed_writes()
    (file,) = newest.completed_files
    (copy.path / copy.table.layout.timeline / file.name).write_bytes(b"{ no commit")
    with pytest.raises(Unreadable, match=file.name):
        table_schema_as_of(copy.table, None)
    assert table_schema_as_of(copy.table, older.time) is not None
    (row,) = schema_changes(copy.table)
    assert (row.time, file.name in str(row.problem)) == (newest.time, True)


@pytest.mark.parametrize("text", ["[", '"string"', schema(["a", "nothing"]), schema(["a b", "int"]), "[" * 150])
def test_a_schema_that_is_none(unpack: Unpack, text: str) -> None:
    copy = unpack("v6", "cow_part")
    times = say(copy, [schema(*FIELDS), text])
    with pytest.raises(Unreadable, match=f"the schema of {times[1]} cannot be used"):
        table_schema_as_of(copy.table, times[1])
    rows = list(schema_changes(copy.table))
    assert [row.time for row in rows if row.problem][-1] == times[1]


def test_a_schema_nested_deeper_than_json_may_be_is_refused(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_part")
    kind: Any = "int"
    for _ in range(120):
        kind = {"type": "array", "items": kind}
    (time,) = say(copy, [schema(["a", kind])])
    with pytest.raises(Unreadable, match="nested"):
        table_schema_as_of(copy.table, time)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("long", "long"),
        ({"type": "long"}, "long"),
        ({"type": "long", "logicalType": "timestamp-micros"}, "timestamp-micros"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}, "decimal(10, 2)"),
        ({"type": "fixed", "name": "f", "size": 12}, "fixed"),
        ({"type": "enum", "name": "e", "symbols": ["A", "B"]}, "enum"),
        ({"type": "array", "items": ["null", "string"]}, "array<string?>"),
        ({"type": "map", "values": {"type": "array", "items": "int"}}, "map<array<int>>"),
        (json.loads(schema(["a", "int"], ["b", ["null", "string"]])), "record<a: int, b: string?>"),
        (["int", "string"], "int or string"),
        (["null", {"type": "array", "items": ["null"]}], "array<null?>"),
        ("null", "null"),
    ],
)
def test_types_in_words(kind: Any, said: str) -> None:
    field = {"name": "a", "type": kind, "doc": "what it is"}
    nullable = kind == "null" or (isinstance(kind, list) and "null" in kind)
    assert fields_of({"fields": [field]}) == [SchemaField("a", said, nullable, "what it is")]
    assert fields_of({"fields": [field | {"doc": 5}]})[0].doc == "5"
