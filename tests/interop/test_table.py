"""``table properties`` and ``table schema``, and what hudictl knows of Hudi's properties, against each Hudi."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudictl.reports.schemas import KEEPERS, fields_of, schema_changes, table_schema_as_of
from hudictl.reports.table_properties import property_rows
from hudictl.table.open import open_table
from hudictl.table.properties_known import known_properties
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.interop.judge import RELEASES, Judge

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
IN_THE_FILE = {"ZERO": "0", "EIGHT": "8", "NINE": "9"}
"""Table versions, which HoodieTableConfig has as an enumeration."""


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", RELEASES)
def test_the_properties_and_defaults_of_each_release(judge: Judges, version: str) -> None:
    known = {name: default for name, (_, default) in known_properties(int(version[1:])).items()}
    theirs = judge(version).call("table_config")
    assert known == {name: IN_THE_FILE.get(str(default), default) for name, default in theirs.items()}


@pytest.mark.short("v8-mor_part")
@pytest.mark.parametrize("name", ["cow_part", "mor_part", "cow_flat_nomdt"])
@pytest.mark.parametrize("version", RELEASES)
def test_table_properties(judge: Judges, tmp_path: Path, version: str, name: str) -> None:
    base = support.unpack(version, name, tmp_path)
    theirs = judge(version).sql(base, ["call show_table_properties(table => 'judged', limit => 1000)"])
    # Read behind it: that the table is registered in a catalog adds properties.
    rows = property_rows(open_table(str(base)), unset=False)
    assert {row.name: row.value for row in rows} == {key: value for key, value, *_ in theirs}


@pytest.mark.short("v6-mor_part", "v9-cow_cluster")
@pytest.mark.parametrize("name", ["mor_part", "cow_cluster", "cow_flat_nomdt"])
@pytest.mark.parametrize("version", RELEASES)
def test_the_schema_now_and_at_each_write(judge: Judges, tmp_path: Path, version: str, name: str) -> None:
    hudi, base = judge(version), support.unpack(version, name, tmp_path)
    table = open_table(str(base))
    assert schema_of(table) == hudi.call("table_schema", path=base)
    for write in load_timeline(table).completed_writes():
        assert schema_of(table, write.time) == hudi.call("table_schema", path=base, instant=write.time), write.time


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", RELEASES)
def test_columns_that_are_added_and_widened(judge: Judges, tmp_path: Path, version: str) -> None:
    """By Spark SQL: each change is a write of its own."""
    hudi, base = judge(version), support.unpack(version, "mor_part", tmp_path)
    before = load_timeline(open_table(str(base))).last_write
    hudi.sql(base, ["ALTER TABLE judged ADD COLUMNS (more INT COMMENT 'what it is', day DATE)"])
    hudi.sql(base, ["ALTER TABLE judged ADD COLUMNS (tree STRUCT<a: STRING, b: ARRAY<DECIMAL(10, 2)>>)"])
    table = open_table(str(base))
    now = schema_of(table)
    assert now == hudi.call("table_schema", path=base)
    assert schema_of(table, before) != now
    tree, more = schema_changes(table)
    assert (more.added, tree.added) == (("more", "day"), ("tree",))
    assert [row.removed + row.changed for row in (tree, more)] == [(), ()]
    fields = {field.name: (field.type, field.nullable) for field in fields_of(now)}
    assert fields["day"] == ("date", True)
    assert fields["tree"] == ("record<a: string?, b: array<decimal(10, 2)?>?>", True)


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", RELEASES)
def test_partition_columns_that_data_files_lack(judge: Judges, tmp_path: Path, version: str) -> None:
    hudi, base = judge(version), tmp_path / "dropped" / "table"
    rows = [[1, 1, "v", "a"], [2, 1, "v", "b"]]
    hudi.create(base, rows, options={"hoodie.datasource.write.drop.partition.columns": "true"})
    table = open_table(str(base))
    assert schema_of(table) == hudi.call("table_schema", path=base)
    assert [field.name for field in fields_of(schema_of(table))] == ["id", "ts", "val", "p"]


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", RELEASES)
def test_the_operations_that_change_no_schema(judge: Judges, version: str) -> None:
    assert set(judge(version).call("schema_keepers")) == set(KEEPERS)


def schema_of(table: Table, time: str | None = None) -> Any:
    found = table_schema_as_of(table, time)
    return found and found.schema
