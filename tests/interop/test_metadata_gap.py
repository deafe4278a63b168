"""What readers see without the metadata table is what they saw through it: the real Hudi reads the same."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.formats.instants import time_plus_ms
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.reports.health.check import check_table
from hudictl.table.open import open_table
from tests import support
from tests.crash.inject import copy
from tests.helpers import attempt, drop, put
from tests.interop import product
from tests.interop.judge import Judge
from tests.interop.needed_support import BY_HAND, keep
from tests.interop.scenarios import batch, digest

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
ANY = RestoreOptions(to_instant=True)
METAFILE = ".hoodie_partition_metadata"


def rows(newest: int) -> list[list[object]]:
    """What ``archived`` has after the commit of a time: partition c is as it was at first."""
    return [row for ts in (1, newest) for row in batch(range(30), ts) if (row[0] % 3 == 2) == (ts == 1)]


def archived(hudi: Judge, base: Path) -> list[str]:
    """A table of which the archive has the commit that wrote partition c; returns its commits, in turn of their time.

    The metadata table comes after the archival, which waits for its compactions.
    """
    made = [hudi.create(base, batch(range(30), 1), BY_HAND)]
    for ts in range(2, 8):
        if ts == 6:
            hudi.archive(base, keep(2, 3))
        options = BY_HAND if ts < 6 else {}
        made.append(hudi.upsert(base, [row for row in batch(range(30), ts) if row[0] % 3 != 2], options=options))
    assert made[0] not in [entry[0] for entry in hudi.timeline(base)]
    assert hudi.both_rows(base) == digest(rows(7))
    return made


@pytest.mark.full
@VERSIONS
def test_a_partition_that_has_lost_its_metafile(judge: Judges, version: str, tmp_path: Path) -> None:
    hudi, base = judge(version), tmp_path / "table"
    made = archived(hudi, base)
    drop(base / "c" / METAFILE)
    assert hudi.rows(base, metadata=True) == digest(rows(7))
    assert hudi.rows(base, metadata=False)["count"] == 20
    assert "partition-without-metafile" in [
        found.finding for found in check_table(open_table(str(base)), product.ENGINE, 0).findings
    ]

    rolled_back = copy(base, tmp_path / "rolled back")
    assert product.rollback(rolled_back, made[-1]) == 0
    assert hudi.rows(rolled_back, metadata=True) == digest(rows(6))
    product.restore(base, made[-2], ANY)
    assert hudi.both_rows(base) == digest(rows(6))
    product.upsert(hudi, base)


@pytest.mark.short("v6")
@VERSIONS
def test_a_partition_below_another_one(judge: Judges, version: str, tmp_path: Path) -> None:
    """Hudi's own restore loses it on all three releases, its rollback does not."""
    hudi, base = judge(version), tmp_path / "table"
    nested = (("toys",), ("toys/lego",), ("b",))
    target = hudi.create(base, batch(range(30), 1, nested))
    last = hudi.upsert(base, batch(range(30), 2, nested))
    hudi.savepoint(base, target)
    before = digest(batch(range(30), 1, nested))
    assert hudi.rows(base, metadata=True) == digest(batch(range(30), 2, nested))
    assert hudi.rows(base, metadata=False)["count"] == 20
    error = attempt(lambda: product.restore(base, target))
    assert error is not None
    assert (error.exit_code, error.fields["partitions"]) == (13, ["toys/lego"])

    by_hudi = copy(base, tmp_path / "by hudi")
    hudi.restore(by_hudi, target)
    assert hudi.rows(by_hudi, metadata=True)["count"] == 20
    rolled_back = copy(base, tmp_path / "rolled back")
    if version == "v6":
        assert product.rollback(rolled_back, last) == 13
        assert hudi.rollback(rolled_back, last)
    else:
        assert product.rollback(rolled_back, last) == 0
    assert hudi.rows(rolled_back, metadata=True) == before


@pytest.mark.full
@pytest.mark.short("v9")
@VERSIONS
def test_a_file_that_the_metadata_table_keeps_from_readers(judge: Judges, version: str, tmp_path: Path) -> None:
    hudi, base = judge(version), tmp_path / "table"
    made = archived(hudi, base)
    like = min((base / "c").glob("*.parquet"))
    name = f"deadbeef-0000-4000-8000-000000000000-0_0-1-1_{time_plus_ms(made[0], 1)}.parquet"
    put(base / "c" / name, like.read_bytes())
    assert hudi.rows(base, metadata=True) == digest(rows(7))
    assert hudi.rows(base, metadata=False)["count"] == 40
    error = attempt(lambda: product.restore(base, made[-2], ANY))
    assert error is not None
    assert (error.exit_code, error.fields["files"]) == (13, [f"c/{name}"])
    drop(base / "c" / name)
    assert hudi.both_rows(base) == digest(rows(7))
    product.restore(base, made[-2], ANY)
    assert hudi.both_rows(base) == digest(rows(6))
