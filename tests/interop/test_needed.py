"""What Hudi's own cleans take is missed by a restore to an instant that no savepoint protects."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.errors import Refused
from hudictl.ops.guards.files import nothing_missing
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.files.needed import needed_files
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from hudictl.table.timeline.archive import archived_cleans
from hudictl.table.timeline.commits import load_commits
from tests.interop.judge import RELEASES, Judge
from tests.interop.needed_support import BY_HAND, ONE_COMMIT, keep
from tests.interop.product import ENGINE
from tests.interop.scenarios import batch

pytestmark = pytest.mark.hudi

ONE_VERSION = {"hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.cleaner.fileversions.retained": "1"}


def upsert(judge: Judge, base: Path, partition: int, ts: int) -> str:
    """Writes one partition of three."""
    return judge.upsert(base, [row for row in batch(range(30), ts) if row[0] % 3 == partition], options=BY_HAND)


def refusal(base: Path, target: str) -> str:
    """Why the table cannot go back to a commit; "" where it can."""
    table = open_table(str(base))
    facts = read_facts(table, ENGINE, read_signs(table))
    removed = {entry.time for entry in load_timeline(table).writes() if entry.time > target}
    try:
        nothing_missing(facts, needed_files(facts, removed, NOTHING_SAVED), target, "")
    except Refused as error:
        return error.message
    return ""


def data(base: Path, partition: str) -> set[str]:
    return {path.relative_to(base).as_posix() for path in (base / partition).glob("*.parquet")}


@pytest.mark.full
@pytest.mark.short("v9")
@pytest.mark.parametrize("version", RELEASES)
def test_a_clean_took_what_an_archived_commit_had_written(
    judge: Callable[[str], Judge], tmp_path: Path, version: str
) -> None:
    """Only the clean still names the file. Table version 6 archives cleans by their own number, so this one is archived
    before the commits that it cleaned for."""
    hudi, base = judge(version), tmp_path / "table"
    hudi.create(base, batch(range(30), 1), options=BY_HAND)
    for ts in (2, 3, 4):
        upsert(hudi, base, 0, ts)
        hudi.clean(base, {**ONE_VERSION, **BY_HAND})
    target = upsert(hudi, base, 0, 5)
    hudi.archive(base, keep(2, 3))
    assert refusal(base, target) == ""
    rows, before = hudi.read(base, metadata=False), data(base, "b")
    for partition, ts in ((1, 6), (2, 7), (1, 8)):
        upsert(hudi, base, partition, ts)
        hudi.clean(base, {**ONE_VERSION, **BY_HAND})
    hudi.archive(base, keep(2, 5))
    (taken,) = before - data(base, "b")
    table = open_table(str(base))
    archived = [names for names in archived_cleans(table, target) if taken.rpartition("/")[2] in names.get("b", ())]
    assert bool(archived) == (version == "v6")
    assert target in {entry.time for entry in load_timeline(table).completed_writes()}
    assert not any(taken in path for path in write_stats(base))
    assert taken in refusal(base, target)
    # Hudi reads the table at that instant all the same, without the rows.
    assert len(hudi.read(base, metadata=False, as_of=target)) < len(rows)


@pytest.mark.short("v6-savepointed")
@pytest.mark.parametrize("saved", [False, True], ids=["", "savepointed"])
@pytest.mark.parametrize("version", RELEASES)
def test_a_clean_took_a_whole_partition(
    judge: Callable[[str], Judge], tmp_path: Path, version: str, saved: bool
) -> None:
    """It was dropped after the instant, and the commit that had filled it is archived. Hudi's clean takes the folder
    with all in it, also what a savepoint protects, and then does not name it."""
    hudi, base = judge(version), tmp_path / "table"
    hudi.create(base, batch(range(30), 1), options=BY_HAND)
    for ts in (2, 3, 4):
        target = upsert(hudi, base, 0, ts)
    hudi.clean(base, {**ONE_VERSION, **BY_HAND})
    hudi.archive(base, keep(2, 3))
    (before,) = data(base, "b")
    assert refusal(base, target) == ""
    if saved:
        hudi.savepoint(base, target)
    hudi.delete_partitions(base, ["b"], BY_HAND)
    for ts in (5, 6, 7):
        upsert(hudi, base, 0, ts)
    hudi.clean(base, {**ONE_COMMIT, **BY_HAND})
    assert not (base / "b").exists()
    if saved:
        hudi.delete_savepoint(base, target)
    assert before.partition("_")[0] in refusal(base, target)
    assert (before in refusal(base, target)) == (not saved)


def write_stats(base: Path) -> set[str]:
    """Every file that a commit of the active timeline names."""
    table = open_table(str(base))
    commits = load_commits(table, load_timeline(table))
    return {str(stat.path) for commit in commits.values() for stats in commit.stats.values() for stat in stats}
