"""The real Hudi on the .hoodie of yesterday over the data of today: what it reads, and what brings the rest back."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.ops.restore.plan import RestoreOptions
from tests import support
from tests.helpers import Copy, die
from tests.interop import product
from tests.interop.check_support import slugs
from tests.interop.judge import Judge
from tests.interop.scenarios import MERGE_ON_READ, Row, batch, digest

pytestmark = [pytest.mark.hudi, pytest.mark.parametrize("version", support.VERSIONS)]

Judges = Callable[[str], Judge]
OPTIONS = {
    **MERGE_ON_READ,
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.compact.inline": "false",
}
FIRST = batch(range(30), 1)
LOST = "timeline-without-end"


def over(rows: list[Row], later: list[Row]) -> list[Row]:
    return list(({row[0]: row for row in rows} | {row[0]: row for row in later}).values())


def put_back(base: Path, folder: Path) -> None:
    shutil.rmtree(base / ".hoodie")
    shutil.copytree(folder, base / ".hoodie")


def copied(base: Path, folder: Path) -> Path:
    """The .hoodie of a table, with the times of its files."""
    return shutil.copytree(base / ".hoodie", folder)


@pytest.mark.full
@pytest.mark.short("v6", "v9")
def test_delta_commits_that_have_only_appended_to_logs(judge: Judges, version: str, tmp_path: Path) -> None:
    """Hudi does not read them, and says nothing; nothing of them is touched until the newer .hoodie is back."""
    hudi, base = judge(version), tmp_path / "lost" / "table"
    hudi.create(base, FIRST, OPTIONS)
    known = hudi.upsert(base, batch(range(10), 2), options=OPTIONS)
    yesterday, seen = copied(base, tmp_path / "yesterday"), hudi.both_rows(base)
    bases = {*base.rglob("*.parquet")}
    for ts in (3, 4):
        hudi.upsert(base, batch(range(10), ts), options=OPTIONS)
    today, rows = copied(base, tmp_path / "today"), hudi.both_rows(base)
    assert {*base.rglob("*.parquet")} == bases
    assert LOST not in slugs(base)

    put_back(base, yesterday)
    assert hudi.both_rows(base) == seen == digest(over(FIRST, batch(range(10), 2)))
    assert LOST in slugs(base)
    for command in (
        ("savepoint", "create", known),
        ("rollback", known),
        ("restore", f"--to-instant={min(entry[0] for entry in hudi.timeline(base))}"),
    ):
        assert product.command(base, *command, idle="0s") == 13
    assert hudi.both_rows(base) == seen

    put_back(base, today)
    assert hudi.both_rows(base) == rows == digest(over(FIRST, batch(range(10), 4)))
    assert LOST not in slugs(base)


@pytest.mark.full
@pytest.mark.short("v6", "v9")
def test_a_resume_beside_it(judge: Judges, version: str, tmp_path: Path) -> None:
    """Yesterday's restore was not ended yet. It is ended again, and the newer .hoodie still finds all that it needs."""
    hudi, base = judge(version), tmp_path / "lost" / "table"
    hudi.create(base, FIRST, OPTIONS)
    target = hudi.upsert(base, batch(range(10), 2), options=OPTIONS)
    seen = hudi.both_rows(base)
    hudi.upsert(base, batch(range(20), 3), options=OPTIONS)
    die(Copy(version, "table", base), target, "delete files", RestoreOptions(to_instant=True, idle_ms=0))
    yesterday = copied(base, tmp_path / "yesterday")
    assert product.resume(base) == 0
    assert hudi.both_rows(base) == seen
    for ts in (4, 5):
        hudi.upsert(base, batch(range(10), ts), options=OPTIONS)
    today, rows = copied(base, tmp_path / "today"), hudi.both_rows(base)

    put_back(base, yesterday)
    assert LOST in slugs(base)
    assert product.resume(base) == 0
    assert hudi.both_rows(base) == seen
    assert LOST in slugs(base)
    put_back(base, today)
    assert hudi.both_rows(base) == rows == digest(over(FIRST, batch(range(10), 5)))
