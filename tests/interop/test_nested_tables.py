"""A table below another one: whose rows the real Hudi reads, and what `check` says."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import ERROR
from hudictl.table.open import open_table
from tests import support
from tests.interop import product
from tests.interop.judge import Judge
from tests.interop.scenarios import batch

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]


@pytest.mark.short("v6-other-cow_part", "v9-other-cow_flat_nomdt", "v9-a/other-cow_part")
@pytest.mark.parametrize("name", ["cow_flat_nomdt", "cow_part"])
@pytest.mark.parametrize("place", ["other", "a/other"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_it_is_an_error_where_listings_read_its_rows(
    judge: Judges, version: str, place: str, name: str, tmp_path: Path
) -> None:
    """Its instants are older than the timeline of the table above it: they count as committed."""
    hudi, base = judge(version), tmp_path / "outer" / "table"
    hudi.create(base, batch(range(30), 1))
    shutil.copytree(support.unpack(version, name, tmp_path), base / place / name)
    assert hudi.rows(base, metadata=True)["count"] == 30
    more = hudi.rows(base, metadata=False)["count"] > 30
    (found,) = [
        row for row in check_table(open_table(str(base)), product.ENGINE, 0).findings if row.finding == "other-table"
    ]
    assert (found.severity == ERROR) == more == (place == "other")
