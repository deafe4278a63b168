"""A commit of the future, judged by the real Hudi: what it hides, and the table after its rollback."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.errors import Refused
from hudictl.ops.restore.plan import RestoreOptions
from tests import support
from tests.ahead import move_in_time
from tests.helpers import Copy
from tests.interop import product
from tests.interop.judge import Judge

pytestmark = pytest.mark.hudi

FUTURE, COMPLETED = "20520101000000000", "20520101000005000"


@pytest.mark.short("v6-cow_part", "v6-mor_part", "v9-mor_part")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", ["cow_part", "mor_part"])
def test_hudi_reads_and_writes_after_its_rollback(
    judge: Callable[[str], Judge], version: str, name: str, tmp_path: Path
) -> None:
    copy = Copy(version, name, support.unpack(version, name, tmp_path))
    hudi = judge(version)
    rows = support.facts(version, name)["rows"]
    last, before = sorted(rows)[-1], sorted(rows)[-2]
    assert product.command(copy.path, "metadata", "drop", "--yes") == 0
    move_in_time(copy, last, FUTURE, COMPLETED)
    if (version, name) == ("v6", "mor_part"):
        # Refused: its rows are in logs that stay, and hide what is appended behind them.
        assert product.rollback(copy.path, FUTURE) == 13
        return
    assert product.rollback(copy.path, FUTURE) == 0
    assert hudi.both_rows(copy.path) == rows[before]
    product.upsert(hudi, copy.path)


@pytest.mark.full
@pytest.mark.short("v6-mor_part-True", "v8-cow_part-True", "v9-mor_part-False")
@pytest.mark.parametrize("metadata", [False, True])
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", ["cow_part", "mor_part"])
def test_hudi_reads_and_writes_after_a_restore_before_it(
    judge: Callable[[str], Judge], version: str, name: str, metadata: bool, tmp_path: Path
) -> None:
    """Hudi has built the metadata table after it, by a write that goes with it. On version 6 no log with its rows may
    stay: the restore ends before the file slices with such logs began."""
    copy = Copy(version, name, support.unpack(version, name, tmp_path))
    hudi = judge(version)
    rows = support.facts(version, name)["rows"]
    older, *_, before, last = sorted(rows)
    assert product.command(copy.path, "metadata", "drop", "--yes") == 0
    move_in_time(copy, last, FUTURE, COMPLETED)
    if metadata:
        # 0.15.0 plans no compaction beside a later delta commit.
        by_hand = {"hoodie.compact.inline": "false"}
        hudi.upsert(copy.path, [[1, 9_999_999, "hidden", "part-0"]], options=by_hand)
        assert (copy.meta / "metadata").is_dir()
    options, target = RestoreOptions(to_instant=True), before
    if (version, name) == ("v6", "mor_part"):
        with pytest.raises(Refused, match="its rows are in logs that stay"):
            product.restore(copy.path, target, options)
        target = older
    assert product.restore(copy.path, target, options) is not None
    assert FUTURE not in copy.commits
    assert hudi.both_rows(copy.path) == rows[target]
    product.upsert(hudi, copy.path)
