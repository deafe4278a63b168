"""The real Hudi deletes the folder of a dropped partition, with the files of a savepoint: said in time, and mended."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.reports.health.check import check_table
from hudictl.table.open import open_table
from tests import support
from tests.interop import product
from tests.interop.judge import Judge
from tests.interop.scenarios import MERGE_ON_READ, batch

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
FINDING = "savepoint-partition-dropped"
COMPACTED = {**MERGE_ON_READ, "hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "2"}
ONE = {"hoodie.cleaner.commits.retained": "1", "hoodie.clean.commits.retained": "1"}


def findings(base: Path) -> set[str]:
    return {found.finding for found in check_table(open_table(str(base)), product.ENGINE, 600_000).findings}


@pytest.mark.full
@pytest.mark.short("v9-mor")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", [{}, COMPACTED], ids=["cow", "mor"])
def test_until_the_clean_it_is_said_and_a_restore_saves_it(
    judge: Judges, version: str, kind: dict[str, str], tmp_path: Path
) -> None:
    hudi, base = judge(version), tmp_path / "dropped" / "table"
    options = {**kind, "hoodie.clean.automatic": "false"}
    hudi.create(base, batch(range(30), 1), options)
    saved = product.savepoint(base)
    before = hudi.both_rows(base)
    partition = sorted(path.name for path in base.iterdir() if path.is_dir() and not path.name.startswith("."))[0]
    assert FINDING not in findings(base)
    hudi.delete_partitions(base, [partition], options)
    assert FINDING in findings(base)
    saved_copy = tmp_path / "copy" / "dropped" / "table"
    shutil.copytree(base, saved_copy)

    for ts in range(3, 9):
        rest = [row for row in batch(range(30), ts) if partition not in map(str, row)]
        hudi.upsert(base, rest, options={**kind, **ONE})
    assert not (base / partition).exists(), "Hudi keeps it: then this finding is wrong"
    assert "savepoint-broken" in findings(base)

    product.restore(saved_copy, saved)
    assert FINDING not in findings(saved_copy)
    assert hudi.both_rows(saved_copy) == before


@pytest.mark.full
@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_row_in_the_partition_keeps_the_folder(judge: Judges, version: str, tmp_path: Path) -> None:
    """Then it is not said, and the savepoint's files stay."""
    hudi, base = judge(version), tmp_path / "again" / "table"
    options = {"hoodie.clean.automatic": "false"}
    rows = batch(range(30), 1)
    hudi.create(base, rows, options)
    saved = product.savepoint(base)
    partition = sorted(path.name for path in base.iterdir() if path.is_dir() and not path.name.startswith("."))[0]
    files = {path.name for path in (base / partition).glob("*.parquet")}
    hudi.delete_partitions(base, [partition], options)
    hudi.upsert(base, [row for row in rows if partition in map(str, row)][:1], options=options)
    assert FINDING not in findings(base)
    for ts in (3, 4, 5):
        hudi.upsert(base, [row for row in batch(range(30), ts) if partition not in map(str, row)], options=ONE)
    assert files <= {path.name for path in (base / partition).glob("*.parquet")}
    product.restore(base, saved)
    assert hudi.both_rows(base)["count"] == 30
