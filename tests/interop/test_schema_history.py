"""The history of schemas (.hoodie/.schema) that removed instants leave: Hudi does not take it for valid."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.ops.restore.plan import RestoreOptions
from tests import support
from tests.interop import product
from tests.interop.judge import Judge

pytestmark = pytest.mark.hudi

EVOLVING = {"hoodie.schema.on.read.enable": "true"}
WRITER = {
    **EVOLVING,
    "hoodie.datasource.write.reconcile.schema": "true",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}


def rows(ts: int) -> list[list[object]]:
    return [[one, ts, f"v{ts}", "ab"[one % 2]] for one in range(10)]


def columns(hudi: Judge, base: Path) -> list[str]:
    return [row[0] for row in hudi.sql(base, ["describe judged"], EVOLVING) if not row[0].startswith(("_", "#", "p"))]


def alter(hudi: Judge, base: Path, column: str) -> None:
    hudi.sql(base, [f"alter table judged add columns ({column} string)"], EVOLVING)


@pytest.mark.full
@pytest.mark.short("v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_after_a_restore_the_schema_is_that_of_the_target(
    judge: Callable[[str], Judge], version: str, tmp_path: Path
) -> None:
    hudi, base = judge(version), tmp_path / "table"
    hudi.create(base, rows(1), WRITER)
    alter(hudi, base, "x")
    target = hudi.upsert(base, rows(2), options=WRITER)
    then = columns(hudi, base)
    alter(hudi, base, "z")
    gone = hudi.upsert(base, rows(3), options=WRITER)
    assert [name for name in columns(hudi, base) if name not in then] == ["z"]

    product.restore(base, target, RestoreOptions(to_instant=True))
    assert columns(hudi, base) == then
    assert [row[1] for row in hudi.read(base)] == [2] * 10
    hudi.upsert(base, rows(4), options=WRITER)
    assert columns(hudi, base) == then
    # Its next write takes away what is left.
    assert not list((base / ".hoodie/.schema").glob(f"{gone}*"))
    alter(hudi, base, "w")
    hudi.upsert(base, rows(5), options=WRITER)
    assert [name for name in columns(hudi, base) if name not in then] == ["w"]
    assert hudi.both_rows(base)["count"] == 10
