"""Which names of files in a partition the real Hudi fails at, and what `check` says of them."""

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import ERROR
from hudictl.table.open import open_table
from tests import support
from tests.interop import product
from tests.interop.judge import Judge, JudgeError
from tests.interop.scenarios import MERGE_ON_READ, batch

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
NAMES = (
    *("copy-of-file.parquet", "part-00000-1f-c000.snappy.parquet", ".hidden.parquet", "a_b.parquet", "a_b_c.parquet"),
    *("_x.parquet", "some_file_of (1).parquet", "x.tmp", "_SUCCESS", "x.parquet.bak", "X.PARQUET", "x.orc"),
    *("__.parquet", "_.parquet", ".parquet", "x_.parquet", "x__.parquet", "1( ._.parquet", "_._1a_(.parquet"),
    *("x y.parquet", "x%20y.parquet", "名.parquet", "x.parquet (1)", "x.parquet.gz", "x.parquet._COPYING_", "x.avro"),
    *("x.log.1", ".x.log.1", "x.log.1_1-0-1", ".log.1_1-0-1", "_metadata", "parquet", "x.Parquet", "~x.parquet"),
    *("x.parquet~", ".tmp.parquet", "-x.parquet", "2026.parquet", "1_2_3.parquet", f"{'a' * 240}.parquet"),
    *("_x_1_20200101000000000.parquet", "a_b_20200101000000000 (1).parquet", "a_b_c_20200101000000000.parquet"),
)
CHANGED = (
    *("Copy of {file}", "copy_of_{file}", "{file} (1)", "{file}.bak", ".{file}", "_{file}", "{id}_{time}.parquet"),
    *("{id}_{token}.parquet", "{id}_{token}_{time} (1).parquet", "{id}_{token}_{time}_x.parquet"),
    *("{id}_{token}_{time}.PARQUET", "{id}_{token}_abc.parquet", "{token}_{time}.parquet", "{id}_{token}_{time}.log.1"),
)
"""Names made of that of a file of the table."""


@pytest.mark.full
@pytest.mark.short("v9-mor")
@pytest.mark.parametrize("kind", [{}, MERGE_ON_READ], ids=["cow", "mor"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_readers_fail_at_those_that_are_errors(
    judge: Judges, version: str, kind: dict[str, str], tmp_path: Path
) -> None:
    """Nothing that fails, or changes rows, is silent."""
    hudi, base = judge(version), tmp_path / "foreign" / "table"
    hudi.create(base, batch(range(30), 1), kind)
    file = sorted((base / "a").glob("*.parquet"))[0]
    group, token, time = file.stem.split("_")
    changed = [name.format(file=file.name, id=group, token=token, time=time) for name in CHANGED]
    chance = Random(7)
    made = ["".join(chance.choices("_.-a1 (", k=chance.randrange(1, 9))) + ".parquet" for _ in range(40)]
    for name in (*NAMES, *changed, *made):
        other = base / "a" / name
        shutil.copy2(file, other)
        try:
            right = hudi.rows(base, metadata=False)["count"] == 30
        except JudgeError:
            right = False
        found = check_table(open_table(str(base)), product.ENGINE, 600_000).findings
        wrong = [row for row in found if row.severity == ERROR]
        assert (name, not wrong) == (name, right)
        assert {row.finding for row in wrong} <= {"foreign-file"}
        other.unlink()
