"""Pending clusterings that nobody runs, and those of a table that was moved."""

import pytest

from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import WARNING, Finding
from hudictl.table.settings import CLUSTERING_UPDATES, Settings
from tests import records
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, first_command
from tests.reports.health.check_support import VERSIONS, brief
from tests.reports.health.services_support import follow
from tests.state.orphans.find_support import LATER

WAITS, ELSEWHERE = "clustering-waits", "clustering-elsewhere"


def planned(copy: Copy, base: str, *, state: str = "requested") -> str:
    """A clustering that was planned where the table was; its name on the timeline."""
    file = max(path for path in copy.data() if copy.commits[-1] in path)
    partition, _, name = file.rpartition("/")
    entry = {"partitionPath": partition, "fileId": name.partition("_")[0], "dataFilePath": f"{base}/{file}"}
    action = "replacecommit" if copy.version == "v6" else "clustering"
    copy.write(f"{LATER}.{action}.requested", records.clustering_plan([entry]))
    if state != "requested":
        copy.write(f"{LATER}.{action}.{state}")
    return f"{LATER} {action} {state.upper()}"


def told(copy: Copy, idle_ms: int = 0, strategy: str = "") -> list[Finding]:
    settings = Settings({CLUSTERING_UPDATES.key: strategy} if strategy else {})
    found = check_table(copy.table, ENGINE, idle_ms, settings=settings).findings
    return [row for row in found if row.finding in (WAITS, ELSEWHERE)]


@pytest.mark.slow
@VERSIONS
def test_one_that_nobody_runs(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    name = planned(copy, f"file:{copy.path}")
    (found,) = told(copy)
    assert brief(found) == (WAITS, WARNING, name)
    assert "Hudi refuses each update of its 1 file group" in found.meaning
    assert told(copy, idle_ms=10**15) == []
    assert told(copy, strategy="org.apache.hudi.client.clustering.update.strategy.SparkAllowUpdateStrategy") == []
    assert follow(copy, first_command(found)) == 0
    assert told(copy) == []


@VERSIONS
@pytest.mark.parametrize("state", ["requested", "inflight"])
def test_one_of_a_table_that_was_moved(unpack: Unpack, version: str, state: str) -> None:
    copy = unpack(version, "cow_part")
    name = planned(copy, "file:/lake/former", state=state)
    (found,) = told(copy, idle_ms=10**15)
    assert brief(found) == (ELSEWHERE, WARNING, name)
    assert "files below file:/lake/former, where the table is no longer" in found.meaning
    assert follow(copy, first_command(found)) == 0
    assert told(copy) == []
