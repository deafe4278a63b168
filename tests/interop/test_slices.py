"""`log slices` shows what Hudi's own file system view does."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.ops.slices import SliceRow, files_of_table, slice_rows
from hudictl.table.table import open_table
from hudictl.table.timeline import load_timeline
from tests import support
from tests.interop.judge import RELEASES, Judge
from tests.interop.product import ENGINE

pytestmark = pytest.mark.hudi


def rows(base: Path) -> list[SliceRow]:
    table = open_table(str(base))
    timeline = load_timeline(table)
    return slice_rows(table, files_of_table(table, timeline, ENGINE), timeline, None)


def newest(found: list[SliceRow]) -> set[str]:
    """The files that a query reads: a pending compaction's slice is merged with the one before."""
    paths = set()
    merging: set[tuple[str, str]] = set()
    for row in found:
        group = (row.partition, row.file_id)
        if row.newest or group in merging:
            names = [log.name for log in row.logs] + ([row.base_file] if row.base_file else [])
            paths |= {f"{row.partition}/{name}" if row.partition else name for name in names}
        merging = {group} if row.newest and row.pending_compaction else set()
    return paths


@pytest.mark.parametrize("name", support.names("v9"))
@pytest.mark.parametrize("version", RELEASES)
def test_the_newest_slices_are_those_that_hudi_reads(
    judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str
) -> None:
    base = support.unpack(version, name, tmp_path)
    found = rows(base)
    assert newest(found) == set(judge(version).files(base, metadata=False))
    assert all(row.newest for row in found) or version != "v6" or "cleaned" in name or found


@pytest.mark.parametrize("version", RELEASES)
def test_a_compaction_reads_what_is_said(judge: Callable[[str], Judge], tmp_path: Path, version: str) -> None:
    """Hudi's plan names the same files, before it runs and while it is pending."""
    base = support.unpack(version, "mor_part", tmp_path)
    hudi = judge(version)
    before = {(row.partition, row.file_id): row for row in rows(base) if row.compaction == "next"}
    assert before
    hudi.compact(base, "schedule", {"hoodie.compact.inline.max.delta.commits": "1"})
    (requested,) = [entry[0] for entry in hudi.timeline(base) if entry[1:3] == ["compaction", "REQUESTED"]]
    folder = base / ".hoodie" if version == "v6" else base / ".hoodie" / "timeline"
    plan = hudi.decode(folder / f"{requested}.compaction.requested", "HoodieCompactionPlan")
    planned = {(operation["partitionPath"], operation["fileId"]): operation for operation in plan["operations"]}
    assert planned.keys() == before.keys()
    for group, operation in planned.items():
        row = before[group]
        assert sorted(path.rpartition("/")[2] for path in operation["deltaFilePaths"]) == sorted(
            log.name for log in row.logs
        )
        assert (operation["dataFilePath"] or "").rpartition("/")[2] == (row.base_file or "")
        assert row.compaction_bytes == (row.base_bytes or 0) + row.log_bytes
    pending = {(row.partition, row.file_id): row for row in rows(base) if row.compaction == requested}
    assert {group: row.compaction_bytes for group, row in pending.items()} == {
        group: row.compaction_bytes for group, row in before.items()
    }
