"""What the records that count name: pending plans, completed writes, savepoints."""

import json

import pytest

from hudictl.formats import savepoint
from hudictl.formats.file_names import DataFile
from hudictl.formats.rollback import InstantInfo, RollbackRequest, StoredRollbackPlan, encode_plan
from hudictl.state.files.named import Named, read_named
from hudictl.table.files.slices import StoredFile
from hudictl.table.files.written import gather_written
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline
from tests import records
from tests.helpers import ENGINE
from tests.table.conftest import Small
from tests.table.conftest import small as small

FIRST, SECOND, THIRD = (f"20261121000000{number}00" for number in (1, 2, 3))
NAME = f"f-0_0-1-1_{FIRST}.parquet"
LOG = f".f-0_{FIRST}.log.1_0-1-1"
READ = {"partitionPath": "p", "fileId": "f-0"}
VERSIONS = pytest.mark.parametrize("version", [6, 9])


ASKED = (*(("p", name) for name in (NAME, LOG, "0", "1", "2")), ("q", "3"), ("r", NAME))


def named(table: Table, asked: tuple[tuple[str, str], ...] = ASKED) -> Named:
    timeline = load_timeline(table)
    written = gather_written(table, timeline, ENGINE, {entry.time for entry in timeline.completed_writes()})
    times = (FIRST, SECOND, THIRD)
    files = [StoredFile(path, DataFile(name, "f-0", time), 1) for path, name in asked for time in times]
    return read_named(table, timeline, written, files)


def completed(version: int, time: str, action: str) -> str:
    return f"{time}.{action}" if version == 6 else f"{time}_{time}.{action}"


def service_plan(action: str) -> bytes:
    if "compaction" in action:
        return records.compaction_plan([READ | {"dataFilePath": NAME}])
    return records.clustering_plan([READ | {"dataFilePath": f"/lake/p/{NAME}"}])


@pytest.mark.parametrize(
    ("version", "action"),
    [
        *((version, action) for version in (6, 9) for action in ("compaction", "logcompaction", "replacecommit")),
        (9, "clustering"),
    ],
)
def test_a_pending_table_service_names_what_it_reads(small: Small, version: int, action: str) -> None:
    table = small(version, {f"{SECOND}.{action}.requested": service_plan(action)})
    assert named(table).files == {f"p/{NAME}": f"the pending {action} {SECOND}"}


@VERSIONS
def test_a_completed_clustering_names_what_it_has_read_no_more(small: Small, version: int) -> None:
    action = "replacecommit" if version == 6 else "clustering"
    body = json.dumps({"partitionToWriteStats": {}, "operationType": "CLUSTER"}).encode()
    files = {f"{SECOND}.{action}.requested": service_plan(action), completed(version, SECOND, "replacecommit"): body}
    assert named(small(version, files)).files == {}


@VERSIONS
def test_a_request_without_content_names_nothing_and_ends_nothing(small: Small, version: int) -> None:
    """A writer died as it made it; an overwrite of a table has no plan at all."""
    files = {f"{SECOND}.compaction.requested": b"", f"{THIRD}.replacecommit.requested": b""}
    assert named(small(version, files)).files == {}


@VERSIONS
def test_a_pending_rollback_names_its_files_and_logs(small: Small, version: int) -> None:
    requests = (
        RollbackRequest("p", files=(f"/lake/p/{NAME}",)),
        RollbackRequest("p", file_id="f-0", base_instant=FIRST, logs={f"/lake/p/{LOG}": 7}),
    )
    body = encode_plan(StoredRollbackPlan(InstantInfo(FIRST, "deltacommit"), requests))
    table = small(version, {f"{SECOND}.rollback.requested": body})
    by = f"the pending rollback {SECOND}"
    assert named(table).files == {f"p/{NAME}": by, f"p/{LOG}": by}


@VERSIONS
def test_a_completed_write_names_all_that_it_wrote_and_built_on(small: Small, version: int) -> None:
    """Of every partition every file: also a later one of many. Older writers say "null" where there was nothing."""
    stats = {
        "p": [{"path": f"p/{number}", "prevCommit": before} for number, before in enumerate((FIRST, "null", SECOND))],
        "q": [{"path": "q/3"}],
    }
    body = json.dumps({"partitionToWriteStats": stats, "operationType": "UPSERT"}).encode()
    files = {completed(version, THIRD, "commit"): body}
    saved = savepoint.encode(savepoint.SavepointMetadata("ann", 1, "", {"r": (NAME,)}))
    found = named(small(version, files | {completed(version, THIRD, "savepoint").replace(f"_{THIRD}", ""): saved}))
    by = dict.fromkeys(("p/0", "p/1", "p/2", "q/3"), f"the commit {THIRD}")
    assert found.files == by | {f"r/{NAME}": f"the savepoint {THIRD}"}
    assert (found.built_on, found.partitions) == ({FIRST, SECOND}, {"p", "q"})


@VERSIONS
def test_a_commit_that_cannot_be_read_names_nothing(small: Small, version: int) -> None:
    """``check`` tells of it by itself."""
    table = small(version, {completed(version, THIRD, "commit"): b"garbage"})
    assert named(table) == Named({}, frozenset(), frozenset())


@VERSIONS
def test_of_very_many_names_only_those_asked_for_are_told(small: Small, version: int) -> None:
    """Of several commits the newest; a savepoint before them all."""

    def body(*names: str) -> bytes:
        return json.dumps({"partitionToWriteStats": {"p": [{"path": f"p/{name}"} for name in names]}}).encode()

    files = {
        completed(version, FIRST, "commit"): body("0", "1"),
        completed(version, SECOND, "commit"): body("1", "2", "4"),
        f"{FIRST}.savepoint": savepoint.encode(savepoint.SavepointMetadata("ann", 1, "", {"p": ("0", "2"), "q": ()})),
    }
    found = named(small(version, files), (("p", "1"), ("p", "2"), ("p", "5"), ("r", "4")))
    assert found.files == {"p/1": f"the commit {SECOND}", "p/2": f"the savepoint {FIRST}"}
    assert (found.built_on, found.partitions) == (frozenset(), {"p"})
