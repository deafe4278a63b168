"""The real Hudi runs a clustering whose input was overwritten, and fails at a bucket with two file groups."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import Finding
from hudictl.table.open import open_table
from tests import support
from tests.interop import product
from tests.interop.judge import Judge, JudgeError
from tests.interop.scenarios import batch

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
BY_HAND = {"hoodie.clean.automatic": "false"}
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2", "hoodie.metadata.enable": "false"}


def found(base: Path, name: str) -> list[Finding]:
    return [row for row in check_table(open_table(str(base)), product.ENGINE, 0).findings if row.finding == name]


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_clustering_brings_overwritten_rows_back(judge: Judges, version: str, tmp_path: Path) -> None:
    """Without an error; the command that `check` names keeps them away."""
    hudi, base = judge(version), tmp_path / "overwritten" / "table"
    hudi.create(base, batch(range(30), 1), BY_HAND)
    hudi.cluster(base, "schedule", BY_HAND)
    assert found(base, "clustering-overwritten") == []
    hudi.upsert(base, [row for row in batch(range(30), 2) if "a" in map(str, row)][:2], "insert_overwrite", BY_HAND)
    before = hudi.both_rows(base)
    (finding,) = found(base, "clustering-overwritten")
    # The plan has whole paths: it must be mended at the place where it was made.
    kept = tmp_path / "kept"
    shutil.copytree(base, kept)

    hudi.cluster(base, "execute", BY_HAND)
    assert hudi.rows(base)["count"] > before["count"], "Hudi leaves them out: then this finding is wrong"

    shutil.rmtree(base)
    shutil.move(kept, base)
    assert product.command(base, *finding.remedy[0].command.split()[1:], idle="0s") == 0
    assert found(base, "clustering-overwritten") == []
    hudi.cluster(base, "execute", BY_HAND)
    assert hudi.both_rows(base) == before


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_two_file_groups_of_a_bucket(judge: Judges, version: str, tmp_path: Path) -> None:
    hudi, base = judge(version), tmp_path / "bucket" / "table"
    hudi.create(base, batch(range(30), 1), BUCKETS)
    assert found(base, "bucket-twice") == []
    file = sorted((base / "a").glob("00000000-*.parquet"))[0]
    shutil.copy2(file, file.with_name(f"00000000-1111{file.name[13:]}"))
    assert hudi.rows(base, metadata=False)["count"] > 30
    with pytest.raises(JudgeError):
        hudi.upsert(base, batch(range(30), 2), options=BUCKETS)
    assert len(found(base, "bucket-twice")) == 1
