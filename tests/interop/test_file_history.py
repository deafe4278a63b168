"""``file history`` has what Hudi's procedures and readers find in the records of the same instants."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.formats.file_names import parse_data_file
from hudictl.reports.file_history import FileEvent, file_history, wanted_file
from hudictl.reports.timeline import TimelineFilter
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.interop.judge import RELEASES, Judge

pytestmark = pytest.mark.hudi
COMPLETED = "COMPLETED"


@pytest.mark.short("v6-cow_cleaned", "v6-mor_part", "v9-mor_savepoints", "v9-cow_cluster")
@pytest.mark.parametrize("name", ["cow_cleaned", "cow_cluster", "mor_part", "mor_savepoints"])
@pytest.mark.parametrize("version", RELEASES)
def test_every_event_is_in_hudis_records(
    judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str
) -> None:
    """No bundle has ``show_file_group_history``: the commits by ``show_commit_files``, the others as Hudi decodes their
    files."""
    base = support.unpack(version, name, tmp_path)
    table, hudi = open_table(str(base)), judge(version)
    timeline = load_timeline(table)
    written: set[tuple[object, ...]] = set()
    for instant in timeline.completed_writes():
        call = f"call show_commit_files(table => 'judged', limit => 1000, instant_time => '{instant.time}')"
        # Action, partition, file id, previous commit, updated, written, bytes.
        written |= {(instant.time, row[1], row[2], row[3] == "null", row[5], row[6]) for row in hudi.sql(base, [call])}
    others: set[tuple[object, ...]] = set()
    for instant in timeline.instants:
        for file in instant.files:
            path = base / table.layout.timeline / file.name
            if file.action == "clean" and file.state.name == COMPLETED:
                for partition, part in hudi.decode(path, "HoodieCleanMetadata")["partitionMetadata"].items():
                    others |= {(file.time, "deleted", partition, tail(name)) for name in part["successDeleteFiles"]}
            elif file.action == "savepoint" and file.state.name == COMPLETED:
                for partition, part in hudi.decode(path, "HoodieSavepointMetadata")["partitionMetadata"].items():
                    others |= {(file.time, "saved", partition, name) for name in part["savepointDataFile"]}
            elif file.action == "compaction" and file.state.name == "REQUESTED":
                for one in hudi.decode(path, "HoodieCompactionPlan")["operations"]:
                    read = [one["dataFilePath"], *one["deltaFilePaths"]]
                    others |= {(file.time, "read", one["partitionPath"], tail(name)) for name in read if name}
    assert written

    groups = {str(row[2]) for row in written} | {group_of(str(row[3])) for row in others}
    rows = [row for group in groups for row in history(base, group)]
    assert {
        (row.time, row.partition, group_of(str(row.file)), row.begins, row.records, row.bytes)
        for row in rows
        if row.event == "written"
    } == written
    kinds = {"deleted", "saved"} | ({"read"} if name.startswith("mor") else set())
    assert {(row.time, row.event, row.partition, row.file) for row in rows if row.event in kinds} == others


def history(base: Path, group: str) -> list[FileEvent]:
    table = open_table(str(base))
    return [*file_history(table, wanted_file(table, group, None), TimelineFilter(descending=True), [])]


def group_of(name: str) -> str:
    data = parse_data_file(name)
    assert data is not None
    return data.file_id


def tail(path: str) -> str:
    return path.rpartition("/")[2]
