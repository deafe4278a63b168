"""Timeline files that the real Hudi has not written whole, because its disk was full or it died: hudictl takes the
writes back, and Hudi goes on with the rows of before."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.reports.health.check import check_table
from hudictl.table.open import open_table
from tests import support
from tests.interop import product
from tests.interop.judge import Judge, JudgeError
from tests.interop.killed import DATA, LAZY, data_files
from tests.interop.scenarios import MERGE_ON_READ, batch

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def cut(base: Path, end: str, count: int) -> None:
    """The newest files of the timeline with an end are only half there."""
    folder = base / ".hoodie" / ("timeline" if (base / ".hoodie/timeline").is_dir() else "")
    for path in sorted(folder.glob(f"[0-9]*{end}"))[-count:]:
        body = path.read_bytes()
        assert body
        path.write_bytes(body[: len(body) // 2])
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


@pytest.mark.short("v6-cow", "v9-mor")
@VERSIONS
@pytest.mark.parametrize("kind", [{}, MERGE_ON_READ], ids=["cow", "mor"])
def test_two_writes_with_torn_profiles(judge: Judges, version: str, kind: dict[str, str], tmp_path: Path) -> None:
    hudi, base = judge(version), tmp_path / "torn" / "table"
    hudi.create(base, batch(range(30), 1), kind)
    hudi.upsert(base, batch(range(0, 30, 2), 2), options=kind)
    rows, files = hudi.both_rows(base), data_files(base)
    for ts in (3, 4):
        with hudi.dying(base, f"create {DATA}", number=2, after=True):
            hudi.upsert(base, batch(range(30), ts), options={**kind, **LAZY})
    shutil.rmtree(base / ".hoodie/.heartbeat")
    cut(base, "inflight", 2)
    assert product.clean_failed(base) == 0
    assert hudi.both_rows(base) == rows
    # Below version 8 the blocks of a rollback are in the logs.
    assert files <= data_files(base) if version == "v6" else files == data_files(base)
    product.upsert(hudi, base)


@pytest.mark.short("v6", "v9")
@VERSIONS
def test_an_overwrite_with_a_torn_request(judge: Judges, version: str, tmp_path: Path) -> None:
    """Until it is taken back, Hudi neither reads nor writes, and cannot take it back itself."""
    hudi, base = judge(version), tmp_path / "torn" / "table"
    hudi.create(base, batch(range(30), 1), {})
    hudi.upsert(base, batch(range(0, 30, 2), 2))
    rows, files = hudi.both_rows(base), data_files(base)
    with hudi.dying(base, f"create {DATA}", number=2):
        hudi.upsert(base, batch(range(30), 3), "insert_overwrite")
    cut(base, "replacecommit.requested", 1)
    for act in (hudi.rows, hudi.rollback_failed):
        with pytest.raises(JudgeError, match="Error reading clustering plan"):
            act(base)
    found = check_table(open_table(str(base)), product.ENGINE, 0).findings
    assert {entry.finding for entry in found if entry.severity == "error"} == {"unreadable", "failed-write"}
    assert product.clean_failed(base) == 0
    assert (hudi.both_rows(base), data_files(base)) == (rows, files)
    product.upsert(hudi, base)
