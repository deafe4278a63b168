"""Pending table services that Hudi fails at, or never ends: it goes on once they are gone."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.errors import Refused
from hudictl.formats.file_names import data_path
from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import Finding
from hudictl.reports.table import describe_table
from hudictl.state.timeline.service_plans import service_files
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.helpers import Copy, drop, first_command
from tests.interop import product
from tests.interop.judge import Judge, JudgeError
from tests.interop.scenarios import batch
from tests.interop.services_support import BLOOM, INDEXER, assert_indexes_again
from tests.ops.clean_up.service_support import DAMAGES, broken_clean, left
from tests.ops.rollback.harmful_clean_support import harmful, newest

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
    found = check_table(open_table(str(base)), product.ENGINE, 0).findings
    (finding,) = [entry for entry in found if entry.finding == "plan-names-missing-file"]
    assert pending(base) in first_command(finding)
    assert product.command(base, *first_command(finding).split()[1:], idle="0s") == 0


@pytest.mark.short("v6")
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


@pytest.mark.full
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


CLEANS = {"hoodie.cleaner.commits.retained": "1"}


@pytest.mark.full
@pytest.mark.short("v9-empty")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_clean_without_plan(judge: Judges, version: str, damage: str, tmp_path: Path) -> None:
    """Hudi fails at it each time, but for one without content, which 0.15.0 and 1.0.2 remove; a writer's commit is
    there before its clean fails. Without it Hudi cleans again."""
    hudi, copy = judge(version), Copy(version, "cow_cleaned", support.unpack(version, "cow_cleaned", tmp_path))
    broken_clean(copy, damage, begun=False)
    stuck = version == "v9" or damage != "empty"
    (found,) = check_table(copy.table, product.ENGINE, 0).findings
    assert (found.finding, found.severity) == ("clean-without-plan", "error" if stuck else "info")
    if not stuck:
        hudi.clean(copy.path, CLEANS)
        assert left(copy) == []
        return
    with pytest.raises(JudgeError):
        hudi.clean(copy.path, CLEANS)
    before, rows = copy.commits, hudi.read(copy.path, columns=("id", "ts", "val", "p"))
    with pytest.raises(JudgeError):
        hudi.upsert(copy.path, rows[:5], options=CLEANS | {"hoodie.clean.automatic": "true"})
    assert len(copy.commits) == len(before) + 1
    assert product.command(copy.path, *first_command(found).split()[1:], idle="0s") == 0
    cleans = len(copy.having("clean.requested"))
    product.upsert(hudi, copy.path, CLEANS | {"hoodie.clean.automatic": "true"})
    assert len(copy.having("clean.requested")) > cleans


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_clean_that_deletes_what_is_needed(judge: Judges, version: str, tmp_path: Path) -> None:
    """Hudi finishes it, and the file is gone; without it Hudi writes and cleans, and all are there."""
    hudi = judge(version)
    other, copy = (Copy(version, "cow_part", support.unpack(version, "cow_part", tmp_path / at)) for at in "ab")
    rows = hudi.read(copy.path, columns=("id", "ts", "val", "p"))
    taken = newest(copy)
    for each in (other, copy):
        harmful(each)
    hudi.clean(other.path, CLEANS)
    assert not (other.path / taken).exists()

    (found,) = check_table(copy.table, product.ENGINE, 0).findings
    assert found.finding == "clean-in-the-way"
    assert product.command(copy.path, *first_command(found).split()[1:], idle="0s") == 0
    hudi.clean(copy.path, CLEANS)
    assert hudi.read(copy.path, columns=("id", "ts", "val", "p")) == rows
    product.upsert(hudi, copy.path, CLEANS | {"hoodie.clean.automatic": "true"})


def pending_indexing(base: Path) -> Finding:
    (found,) = [
        e for e in check_table(open_table(str(base)), product.ENGINE, 0).findings if e.finding == "pending-indexing"
    ]
    return found


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("died", ["requested", "building"])
def test_an_indexing_that_died(judge: Judges, version: str, died: str, tmp_path: Path) -> None:
    """Hudi schedules beside one that is requested; one that has begun is in its way (1.0.2), and it removes what that
    has made, not the instant."""
    hudi, base = judge(version), support.unpack(version, "cow_part", tmp_path)
    time = hudi.index(base, "schedule", BLOOM, INDEXER)
    if died == "building":
        with hudi.dying(base, r"(create|rename) \.hoodie/metadata/bloom_filters/"):
            hudi.index(base, "run", time, INDEXER)
        assert pending_indexing(base).remedy == ()
        assert product.rollback(base, time) == Refused.exit_code
        hudi.index(base, "drop", BLOOM, INDEXER | {"hoodie.metadata.index.bloom.filter.enable": "false"})
    assert first_command(pending_indexing(base)) == f"hudictl rollback {time}"
    assert product.rollback(base, time) == 0
    assert check_table(open_table(str(base)), product.ENGINE, 0).findings == ()
    assert_indexes_again(hudi, base)


@pytest.mark.short
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("whole", [True, False])
def test_a_metadata_table_that_is_missing(judge: Judges, version: str, whole: bool, tmp_path: Path) -> None:
    """Each write fails, and goes on behind the way out that check and table show name."""
    hudi, copy = judge(version), Copy(version, "cow_part", support.unpack(version, "cow_part", tmp_path))
    if whole:
        shutil.rmtree(copy.meta / "metadata")
    else:
        drop(copy.meta / "metadata/.hoodie/hoodie.properties")
    (found,) = [e for e in check_table(copy.table, product.ENGINE, 0).findings if e.finding == "metadata-table-absent"]
    shown = describe_table(copy.table)
    assert (found.severity, shown.writers_can_start, shown.advice in found.meaning) == ("error", False, True)
    for _ in range(2):
        with pytest.raises(JudgeError):
            product.upsert(hudi, copy.path)
    assert "hudictl metadata drop" in shown.advice
    # The failed writes have left a rollback.
    assert product.command(copy.path, "metadata", "drop", idle="0s") in (0, Refused.exit_code)
    assert product.resume(copy.path) == 0
    assert product.command(copy.path, "metadata", "drop", idle="0s") == 0
    product.upsert(hudi, copy.path)
