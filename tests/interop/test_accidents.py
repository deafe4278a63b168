"""What operators do to a table by accident, beside the real Hudi: what changes rows is found, and has a way out."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.errors import Refused, Unreadable
from hudictl.reports.health.check import check_table
from hudictl.table.open import open_table
from tests import support
from tests.interop import product
from tests.interop.judge import Judge, JudgeError, Rows
from tests.interop.scenarios import MERGE_ON_READ, batch, digest

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
PROPERTIES = ".hoodie/hoodie.properties"
LOGS = {**MERGE_ON_READ, "hoodie.compact.inline": "false"}
ARCHIVE = {
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
}


def errors(base: Path) -> set[str]:
    found = check_table(open_table(str(base)), product.ENGINE, 0).findings
    return {entry.finding for entry in found if entry.severity == "error"}


def seen(hudi: Judge, base: Path) -> Rows:
    """The rows; none where Hudi fails, as 0.15.0 with a file format that merge on read does not have."""
    try:
        return hudi.rows(base)
    except JudgeError:
        return {}


def changed(base: Path, line: str, other: str) -> None:
    """The properties with another line."""
    path = base / PROPERTIES
    body = path.read_text()
    assert line in body
    path.write_text(body.replace(line, other))
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_lines_of_the_properties_without_which_rows_are_not_read(judge: Judges, version: str, tmp_path: Path) -> None:
    """Hudi reads other rows, or none; only once does one release fail."""
    hudi, base = judge(version), tmp_path / "lines" / "table"
    hudi.create(base, batch(range(30), 1), LOGS)
    hudi.upsert(base, batch(range(0, 30, 2), 2), options=LOGS)
    right = hudi.both_rows(base)
    assert errors(base) == set()
    for line, other, finding in (
        ("hoodie.table.type=MERGE_ON_READ", "hoodie.table.type=COPY_ON_WRITE", "table-type-wrong"),
        ("hoodie.table.base.file.format=PARQUET", "hoodie.table.base.file.format=ORC", "properties-wrong"),
        ("hoodie.table.partition.fields=p", "hoodie.table.partition.fields=", "properties-wrong"),
    ):
        changed(base, line, other)
        assert seen(hudi, base) != right
        assert errors(base) == {finding}
        if finding == "table-type-wrong":
            with pytest.raises(Unreadable, match="merge-on-read"):
                product.savepoint(base)
            key = "hoodie.table.type"
            assert product.command(base, "table", "set-property", line, "--dangerous", key, idle="0s") == 0
        else:
            changed(base, other, line)
        assert (hudi.both_rows(base), errors(base)) == (right, set())


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_delta_commit_that_is_lost_in_the_middle(judge: Judges, version: str, tmp_path: Path) -> None:
    hudi, base = judge(version), tmp_path / "middle" / "table"
    hudi.create(base, batch(range(30), 1), LOGS)
    lost = hudi.upsert(base, batch(range(0, 30, 3), 2), options=LOGS)
    hudi.upsert(base, batch(range(0, 30, 2), 3), options=LOGS)
    right = hudi.both_rows(base)
    timeline = base / ".hoodie" / ("" if version == "v6" else "timeline")
    for path in [*timeline.glob(f"{lost}*"), *timeline.glob(f".{lost}*")]:
        path.unlink()
    assert hudi.both_rows(base) != right
    found = check_table(open_table(str(base)), product.ENGINE, 0).findings
    assert ("instant-lost", lost) in {(entry.finding, entry.subject) for entry in found}


@pytest.mark.full
@pytest.mark.short("v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_files_of_a_rolled_back_write_that_appear_again(judge: Judges, version: str, tmp_path: Path) -> None:
    """Older than the timeline they are read; a savepoint would keep them for ever (hudi#14200)."""
    hudi, base = judge(version), tmp_path / "again" / "table"
    rows = batch(range(30), 1)
    hudi.create(base, rows, ARCHIVE)
    quiet = ARCHIVE | {"hoodie.archive.automatic": "false", "hoodie.clean.automatic": "false"}
    undone = hudi.upsert(base, batch(range(100, 130), 2), "bulk_insert", quiet)
    shutil.copytree(base, tmp_path / "then")
    hudi.rollback(base, undone, ARCHIVE)
    for ts in range(3, 9):
        rows = batch(range(30), ts)
        hudi.upsert(base, rows, options=ARCHIVE)
    for path in (tmp_path / "then").glob(f"*/*_{undone}.parquet"):
        shutil.copy2(path, base / path.parent.name)
    assert hudi.rows(base, metadata=False)["count"] == 60
    assert "orphans" in errors(base)
    with pytest.raises(Refused, match="rolled-back"):
        product.savepoint(base)
    assert product.command(base, "orphans", "delete", idle="0s") == 0
    assert (hudi.both_rows(base), errors(base)) == (digest(rows), set())
    product.savepoint(base)
