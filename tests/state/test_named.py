"""What the records that count name: pending plans, completed writes, savepoints."""

import json

import pytest

from hudictl.formats import savepoint
from hudictl.formats.rollback import InstantInfo, RollbackPlan, RollbackRequest, encode_plan
from hudictl.state.named import Named, read_named
from hudictl.table.commits import load_commits
from hudictl.table.table import Table
from hudictl.table.timeline import load_timeline
from tests import records
from tests.table.conftest import Small
from tests.table.conftest import small as small

FIRST, SECOND, THIRD = (f"20261121000000{number}00" for number in (1, 2, 3))
NAME = f"f-0_0-1-1_{FIRST}.parquet"
LOG = f".f-0_{FIRST}.log.1_0-1-1"
READ = {"partitionPath": "p", "fileId": "f-0"}
VERSIONS = pytest.mark.parametrize("version", [6, 9])


def named(table: Table) -> Named:
    timeline = load_timeline(table)
    return read_named(table, timeline, load_commits(table, timeline))


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
    body = encode_plan(RollbackPlan(InstantInfo(FIRST, "deltacommit"), requests))
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
def test_a_commit_that_was_not_read_names_nothing(small: Small, version: int) -> None:
    """A restore does not read the metadata of what it removes."""
    table = small(version, {completed(version, THIRD, "commit"): b"garbage"})
    assert read_named(table, load_timeline(table), {}) == Named({}, frozenset(), frozenset())
