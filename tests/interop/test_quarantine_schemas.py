"""Writes that bring columns, made again or refused: Hudi finds the columns and the rows that it has found before."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import support
from tests.damage.harms import do_harm
from tests.interop.judge import Judge
from tests.interop.log_samples import Writer, rows
from tests.interop.product import command, newest

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
TYPE = "hoodie.datasource.write.table.type"
EVOLUTION = "hoodie.schema.on.read.enable"
DROPS = "hoodie.datasource.write.schema.allow.auto.evolution.column.drop"
REFUSED = 13


def quarantine(base: Path, end: str) -> int:
    """Of the newest write, which is cut."""
    file = newest(base, end)
    assert file is not None
    do_harm(base, str(file.relative_to(base)), "cut")
    return command(base, "timeline", "quarantine", file.name[:17], idle="0s")


def values(hudi: Judge, base: Path) -> Any:
    """Columns and rows without Hudi's own."""
    state = hudi.state(base)
    return state["columns"][5:], sorted(row[5:] for row in state["rows"])


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", ["v8", "v9"])
def test_a_partial_update_keeps_all_columns(judge: Judges, version: str, tmp_path: Path) -> None:
    hudi, base = judge(version), support.unpack_logs(version, "partial", tmp_path)
    before = values(hudi, base)
    assert quarantine(base, "deltacommit") == 0
    assert values(hudi, base) == before
    hudi.compact(base, options={"hoodie.compact.inline.max.delta.commits": "1"})
    assert values(hudi, base) == before


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_bulk_insert_with_a_new_column_is_refused(judge: Judges, version: str, tmp_path: Path) -> None:
    hudi, base = judge(version), tmp_path / "table"
    writer = Writer(hudi, base, {TYPE: "COPY_ON_WRITE"})
    writer.write(rows("'a', 1L, 'v'"), "bulk_insert")
    writer.write(rows("'b', 1L, 'v'"), "bulk_insert")
    before = values(hudi, base)
    assert quarantine(base, "commit") == 0
    assert values(hudi, base) == before
    writer.write(
        "SELECT *, IF(id = 'z', NULL, 'new') extra FROM VALUES ('c', 1L, 'v') AS t(id, ts, val)", "bulk_insert"
    )
    assert quarantine(base, "commit") == REFUSED


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_change_of_the_schema_is_refused(judge: Judges, version: str, tmp_path: Path) -> None:
    hudi, base = judge(version), tmp_path / "table"
    Writer(hudi, base, {TYPE: "MERGE_ON_READ"}).write(rows("'a', 1L, 'v'"), "insert")
    hudi.sql(base, ["ALTER TABLE judged ADD COLUMNS (extra string)"])
    assert quarantine(base, "deltacommit") == REFUSED


@pytest.mark.short("v8")
@pytest.mark.parametrize("version", ["v6", "v8"])
def test_a_renamed_column_keeps_its_values(judge: Judges, version: str, tmp_path: Path) -> None:
    """On 1.2.0 a write to such a table fails."""
    hudi, base = judge(version), tmp_path / "table"
    writer = Writer(hudi, base, {TYPE: "MERGE_ON_READ", EVOLUTION: "true", DROPS: "true"})
    writer.write(rows("'a', 1L, 'v'", "'b', 1L, 'v'"), "insert")
    allowed = [f"SET {EVOLUTION}=true", f"SET {DROPS}=true"]
    hudi.sql(base, [*allowed, "ALTER TABLE judged RENAME COLUMN val TO val2"])
    writer.write(rows("'a', 2L, 'w'", columns="id, ts, val2"), "upsert")
    before = values(hudi, base)
    assert quarantine(base, "deltacommit") == 0
    assert values(hudi, base) == before
    writer.write(rows("'b', 3L, 'x'", columns="id, ts, val2"), "upsert")
    assert values(hudi, base) == (["id", "ts", "val2"], [["a", "2", "w"], ["b", "3", "x"]])
