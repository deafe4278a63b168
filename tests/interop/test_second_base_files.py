"""A second base file of a slice, deleted by ``orphans delete --duplicates``; judged by the real Hudi."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from hudictl.reports.health.check import check_table
from hudictl.table.open import open_table
from tests import damage, support
from tests.helpers import OWN, put, tree
from tests.interop import product
from tests.interop.judge import Judge
from tests.interop.scenarios import MERGE_ON_READ, batch, digest

pytestmark = pytest.mark.hudi


def other_rows(file: Path) -> None:
    """As a task's attempt that has read its input in another order, or twice."""
    rows = parquet.read_table(file, partitioning=None)
    at = rows.schema.get_field_index("val")
    file.chmod(0o644)
    parquet.write_table(rows.set_column(at, "val", pyarrow.array(["other"] * rows.num_rows)), file)
    put(file, file.read_bytes())


@pytest.mark.full
@pytest.mark.short("v6-cow-same", "v9-mor-other", "v9-cow-torn")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", [{}, MERGE_ON_READ], ids=["cow", "mor"])
@pytest.mark.parametrize("content", ["same", "other", "torn"])
def test_rows_are_as_before(
    judge: Callable[[str], Judge], version: str, kind: dict[str, str], content: str, tmp_path: Path
) -> None:
    hudi, base = judge(version), tmp_path / "second" / "table"
    hudi.create(base, batch(range(30), 1), kind)
    hudi.upsert(base, batch(range(30), 2), options=kind)
    before = hudi.both_rows(base)
    wrong = base / damage.second_base_file(base)
    if content == "other":
        other_rows(wrong)
    if content == "torn":
        put(wrong, wrong.read_bytes()[:900])
    damaged = tree(base, OWN)
    found = {entry.finding: entry for entry in check_table(open_table(str(base)), product.ENGINE, 0).findings}
    (way,) = found["second-base-file"].remedy
    assert way.command == "hudictl orphans delete --duplicates"
    words = (*shlex.split(way.command)[1:], "--idle", "0s")

    assert product.command(base, *words, "--keep-files") == 0
    assert hudi.both_rows(base) == before
    (record,) = (base / ".hoodie/.hudictl/undo").glob("*.json")
    assert product.command(base, "undo", record.stem, "--idle", "0s") == 0
    assert tree(base, OWN) == damaged
    assert product.command(base, *words) == 0
    assert not wrong.exists()
    assert check_table(open_table(str(base)), product.ENGINE, 0).findings == ()
    assert hudi.both_rows(base) == before
    hudi.upsert(base, batch(range(30), 3), options=kind)
    if kind:
        hudi.compact(base, options=kind | {"hoodie.compact.inline.max.delta.commits": "1"})
    hudi.clean(base, {"hoodie.clean.commits.retained": "1"})
    assert hudi.both_rows(base) == digest(batch(range(30), 3))
