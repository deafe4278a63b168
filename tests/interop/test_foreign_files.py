"""Which names of files in a partition the real Hudi fails at, and what `check` says of them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import ERROR
from hudictl.table.table import open_table
from tests import support
from tests.interop import product
from tests.interop.judge import Judge, JudgeError
from tests.interop.scenarios import MERGE_ON_READ, batch

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
NAMES = (
    *("copy-of-file.parquet", "part-00000-1f-c000.snappy.parquet", ".hidden.parquet", "a_b.parquet", "a_b_c.parquet"),
    *("_x.parquet", "some_file_of (1).parquet", "x.tmp", "_SUCCESS", "x.parquet.bak", "X.PARQUET", "x.orc"),
)


@pytest.mark.short("v6-cow", "v9-mor")
@pytest.mark.parametrize("kind", [{}, MERGE_ON_READ], ids=["cow", "mor"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_readers_fail_at_those_that_are_errors(
    judge: Judges, version: str, kind: dict[str, str], tmp_path: Path
) -> None:
    """Nothing that fails, or changes rows, is silent."""
    hudi, base = judge(version), tmp_path / "foreign" / "table"
    hudi.create(base, batch(range(30), 1), kind)
    file = sorted((base / "a").glob("*.parquet"))[0]
    for name in NAMES:
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
