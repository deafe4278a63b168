"""Some walks, always the same: the rest is for ``python -m tests.walks``."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import support
from tests.interop.judge import Judge
from tests.walks.walk import take, walk_of

pytestmark = pytest.mark.hudi


@pytest.mark.full
@pytest.mark.short("v6-1", "v9-1")
@pytest.mark.parametrize("seed", range(1, 8))
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_walk_finds_nothing_wrong(judge: Callable[[str], Judge], version: str, seed: int, tmp_path: Path) -> None:
    report = take(judge(version), walk_of(seed), tmp_path / "walk")
    assert not report.problems, report.walk
