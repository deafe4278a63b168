"""Table services whose plan names a file that is gone: Hudi fails at each run, and goes on once the plan is gone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.formats.file_names import data_path
from hudictl.reports.health.check import check_table
from hudictl.state.services import service_files
from hudictl.table.table import open_table
from hudictl.table.timeline import load_timeline
from tests import support
from tests.helpers import drop, first_command
from tests.interop import product
from tests.interop.judge import Judge, JudgeError
from tests.interop.scenarios import batch

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]


def pending(base: Path) -> str:
    """The time of the one write that is pending."""
    (instant,) = [entry for entry in load_timeline(open_table(str(base))).writes() if entry.pending]
    return instant.time


def planned(base: Path) -> list[str]:
    table = open_table(str(base))
    instant = load_timeline(table).at(pending(base))
    assert instant is not None
    return sorted(data_path(partition, name) for partition, name in service_files(table, instant))


def follow(base: Path) -> None:
    """The one finding on the plan names the command that takes it away."""
    found = check_table(open_table(str(base)), product.ENGINE, 0)
    (finding,) = [entry for entry in found if entry.finding == "plan-names-missing-file"]
    assert first_command(finding) == f"hudictl rollback {pending(base)}"
    assert product.rollback(base, pending(base)) == 0


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_clustering_whose_file_is_gone(judge: Judges, version: str, tmp_path: Path) -> None:
    hudi, base = judge(version), support.unpack(version, "cow_flat_nomdt", tmp_path)
    hudi.cluster(base, "schedule")
    drop(base / planned(base)[0])
    for _ in range(2):
        with pytest.raises(JudgeError):
            hudi.cluster(base, "execute")
    follow(base)
    hudi.cluster(base)
    hudi.upsert(base, batch(range(5), 999))


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_a_compaction_whose_log_hudi_itself_has_rolled_back(judge: Judges, version: str, tmp_path: Path) -> None:
    """Hudi rolls a completed deltacommit back although a plan names its logs."""
    hudi, base = judge(version), support.unpack(version, "mor_part", tmp_path)
    product.upsert(hudi, base)
    last = load_timeline(open_table(str(base))).completed_writes()[-1].time
    hudi.compact(base, "schedule", {"hoodie.compact.inline.max.delta.commits": "1"})
    hudi.rollback(base, last)
    for _ in range(2):
        with pytest.raises(JudgeError):
            hudi.compact(base, "run")
    follow(base)
    hudi.compact(base, options={"hoodie.compact.inline.max.delta.commits": "1"})
    product.upsert(hudi, base)
