"""`log slices` shows what Hudi's own file system view does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudictl.formats.layouts import METADATA_TABLE
from hudictl.reports.logs.slices import SliceRow, files_of_table, slice_rows
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.interop.judge import RELEASES, Judge
from tests.interop.product import ENGINE

pytestmark = pytest.mark.hudi


def rows(base: Path) -> list[SliceRow]:
    table = open_table(str(base))
    timeline = load_timeline(table)
    return slice_rows(table, files_of_table(table, timeline, ENGINE), timeline, None)


@pytest.mark.short(
    "v6-cow_cleaned",
    "v6-mor_failed_lazy",
    "v6-mor_pending_compaction",
    "v9-cow_cluster",
    "v9-cow_flat_nomdt",
    "v9-cow_rollback_interrupted",
    "v9-mor_parquet_logs",
    "v9-mor_restore_interrupted",
    "v9-mor_savepoints",
)
@pytest.mark.parametrize("name", support.names("v9"))
@pytest.mark.parametrize("version", RELEASES)
def test_slices_are_those_of_hudi(judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str) -> None:
    """All of each table, also those that queries do not read any more. From table version 8 on Hudi's list has the logs
    of pending writes, which its queries leave out."""
    hudi, base = judge(version), support.unpack(version, name, tmp_path)
    for path in (base, base / METADATA_TABLE):
        if path.exists():
            found = [
                [row.partition, row.file_id, row.base_instant, row.base_file, sorted(log.name for log in row.logs)]
                for row in rows(path)
            ]
            assert sorted(found, key=lambda entry: entry[:3]) == committed(version, hudi, path)


def committed(version: str, hudi: Judge, path: Path) -> list[list[Any]]:
    """Hudi's slices without the logs of pending writes."""
    instants = [] if version == "v6" else hudi.timeline(path)
    pending = [f"_{time}.log." for time, _, state, _ in instants if state != "COMPLETED"]
    return [
        [*entry[:4], [log for log in entry[4] if not any(instant in log for instant in pending)]]
        for entry in hudi.slices(path)
    ]


@pytest.mark.short("v6", "v9")
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


@pytest.mark.short("v6-mor_pending_compaction", "v9-cow_cluster", "v9-mor_savepoints")
@pytest.mark.parametrize("name", ["cow_cluster", "mor_flat_nomdt", "mor_pending_compaction", "mor_savepoints"])
@pytest.mark.parametrize("version", RELEASES)
def test_columns_are_those_of_the_procedures(
    judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str
) -> None:
    """They do not show a slice that a pending compaction has opened: its logs are in none of their rows. They do show
    replaced file groups (1.0.2, 1.2.0), which no query reads, and Hudi's own view does not have."""
    base = support.unpack(version, name, tmp_path)
    hudi = judge(version)
    found = [row for row in rows(base) if not row.opened_by_compaction]

    def ours(row: SliceRow) -> list[Any]:
        return [row.partition, row.file_id, row.base_instant, row.base_bytes, row.log_files, row.log_bytes]

    def theirs(row: list[Any]) -> list[Any]:
        partition, file_id, instant, file, size, logs, log_bytes, *_ = row
        assert file.rpartition("/")[2] in {row.base_file for row in found}
        return [partition, file_id, instant, size, logs, log_bytes]

    view = {group for _, group, *_ in hudi.slices(base)}
    every = hudi.sql(base, ["call show_fsview_all(table => 'judged', limit => 1000)"])
    assert sorted(theirs(row) for row in every if row[1] in view) == sorted(map(ours, found))
    partition = found[0].partition
    latest = hudi.sql(base, [f"call show_fsview_latest(table => 'judged', partition_path => '{partition}')"])
    latest = [row for row in latest if row[1] in view]
    newest = {row.file_id: row for row in reversed(found) if row.partition == partition}
    assert sorted(map(theirs, latest)) == sorted(map(ours, newest.values()))
    # Theirs is in two columns: of the logs with the slice's instant in their names, and of the others.
    assert {row[1]: round(row[9] + row[10], 2) for row in latest} == {
        file_id: row.log_ratio for file_id, row in newest.items()
    }
