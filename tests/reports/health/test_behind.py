"""``check`` on table services, by the writers' settings."""

import os

import pytest

from hudictl.phrases import count_of
from hudictl.reports.health.behind import HUGE_PLAN_BYTES
from hudictl.reports.health.check import Found, check_table
from hudictl.reports.health.finding import Finding
from hudictl.table.settings import Settings
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, drop, put
from tests.reports.health.check_support import VERSIONS

SMALL = {
    "hoodie.keep.min.commits": "1",
    "hoodie.keep.max.commits": "2",
    "hoodie.clean.commits.retained": "1",
    "hoodie.compact.inline.max.delta.commits": "2",
    "hoodie.metadata.enable": "false",
}
MINE = (
    *("archiving-behind", "savepoint-old", "cleaning-behind", "compaction-behind", "metadata-compaction-behind"),
    *("rollbacks-piled-up", "huge-plan"),
)
METADATA_COMMITS = "hoodie.metadata.compact.max.delta.commits"


def checked(copy: Copy, given: dict[str, str] | None = None, *, assume: bool = False) -> Found:
    return check_table(copy.table, ENGINE, 0, settings=Settings(given or {}, assume))


def found(copy: Copy, given: dict[str, str]) -> dict[str, Finding]:
    return {entry.finding: entry for entry in checked(copy, given).findings if entry.finding in MINE}


def test_what_is_not_given_is_skipped_by_name(unpack: Unpack) -> None:
    skipped = {entry.finding: entry.because for entry in checked(unpack("v9", "mor_part")).skipped}
    assert list(skipped) == [name for name in MINE if name != "huge-plan"]
    assert skipped["archiving-behind"] == "not given: hoodie.keep.min.commits, hoodie.keep.max.commits"
    assert skipped["cleaning-behind"] == "not given: hoodie.clean.commits.retained"
    assert checked(unpack("v9", "mor_part"), assume=True).skipped == ()


def test_a_table_that_copies_on_write_needs_no_compaction(unpack: Unpack) -> None:
    skipped = [entry.finding for entry in checked(unpack("v9", "cow_part")).skipped]
    assert "compaction-behind" not in skipped


def test_a_savepoint_that_archiving_is_to_pass(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    named = found(copy, SMALL)
    oldest = copy.savepoints[0]
    assert named["savepoint-old"].subject == oldest
    assert [way.command for way in named["savepoint-old"].remedy] == [f"hudictl savepoint delete {oldest}"]
    assert f"blocked by {oldest}, the oldest savepoint" in named["archiving-behind"].meaning
    assert named["archiving-behind"].severity == "warning"
    assert "savepoint-old" not in found(copy, SMALL | {"hoodie.archive.beyond.savepoint": "true"})


def test_files_that_no_clean_took(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    named = found(copy, SMALL)["cleaning-behind"]
    assert "completed commits, no clean yet" in named.meaning
    assert "that the settings no longer keep" in named.meaning
    assert "nothing blocks the next run" in named.meaning
    assert "cleaning-behind" not in found(copy, SMALL | {"hoodie.clean.commits.retained": "100"})


def test_delta_commits_that_nobody_compacts(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_pending_compaction")
    named = found(copy, SMALL)["compaction-behind"]
    (pending,) = [entry.name.split(".")[0] for entry in copy.timeline.glob("*.compaction.requested")]
    assert f"blocked by {pending}, a pending compaction" in named.meaning
    assert "compaction-behind" not in found(copy, SMALL | {"hoodie.compact.inline.max.delta.commits": "50"})


@VERSIONS
def test_a_metadata_table_that_nobody_compacts(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    deltas = len(list(copy.path.glob(".hoodie/metadata/.hoodie/**/*.deltacommit")))
    assert "metadata-compaction-behind" not in found(copy, {METADATA_COMMITS: str((deltas + 1) // 2)})
    named = found(copy, {METADATA_COMMITS: str((deltas - 1) // 2)})["metadata-compaction-behind"]
    assert named.meaning.startswith(f"{count_of(deltas, 'delta commit')} of the metadata table since its last")
    assert "nothing blocks the next run" in named.meaning


def test_what_a_compaction_of_the_metadata_table_waits_for(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    pending = copy.commits[0]
    for path in copy.timeline.glob(f"{pending}_*"):
        drop(path)
    named = found(copy, {METADATA_COMMITS: "1"})["metadata-compaction-behind"]
    assert f"blocked by {pending}, a pending commit" in named.meaning
    assert [way.command for way in named.remedy] == ["hudictl failed-writes clean --policy eager"]


@pytest.mark.slow
def test_a_job_that_fails_again_and_again(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    for number in range(3):
        assert "rollbacks-piled-up" not in found(copy, SMALL)
        time = f"2026122100000000{number}"
        for name in (f"{time}.rollback.requested", f"{time}.rollback.inflight", f"{time}_{time}.rollback"):
            put(copy.timeline / name, b"no Avro")
    named = found(copy, SMALL | {"hoodie.keep.max.commits": "9"})["rollbacks-piled-up"]
    assert "3 rollbacks since the last commit" in named.meaning
    piled = [entry.meaning for entry in checked(copy, SMALL).findings if entry.finding == "rollbacks-piled-up"]
    told = checked(copy)
    assert [entry.finding for entry in told.findings].count("rollbacks-piled-up") == 1
    assert "rollbacks-piled-up" not in {entry.finding for entry in told.skipped}
    assert ["3 rollbacks on the active timeline (hoodie.keep.max.commits=2)" in meaning for meaning in piled] == [
        False,
        True,
    ]


@pytest.mark.slow
def test_rollbacks_of_a_pending_restore_are_no_job_that_fails(unpack: Unpack) -> None:
    """Its own, which are not completed; and completed ones of before, whose commits it has taken from the timeline."""
    copy = unpack("v9", "cow_part")
    for number in range(6):
        time = f"2026122100000000{number}"
        put(copy.timeline / f"{time}.rollback.requested", b"no Avro")
        if number < 3:
            put(copy.timeline / f"{time}_{time}.rollback", b"no Avro")
    assert "3 rollbacks since" in found(copy, SMALL | {"hoodie.keep.max.commits": "9"})["rollbacks-piled-up"].meaning
    put(copy.timeline / "20261221000000009.restore.requested", b"no Avro")
    assert "rollbacks-piled-up" not in found(copy, SMALL | {"hoodie.keep.max.commits": "3"})


@pytest.mark.slow
def test_a_plan_that_is_a_risk_to_whoever_reads_it(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_pending_compaction")
    (plan,) = copy.timeline.glob("*.compaction.requested")
    body = plan.read_bytes()
    for size, expected in ((HUGE_PLAN_BYTES - 1, False), (HUGE_PLAN_BYTES, True)):
        put(plan, body)
        os.truncate(plan, size)
        assert ("huge-plan" in found(copy, {})) is expected
