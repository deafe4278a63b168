"""What check says of operations that have not ended, and of files of the timeline that say nothing."""

import pytest

from hudictl.formats.instants import time_plus_ms
from hudictl.formats.savepoint import SavepointMetadata, encode
from hudictl.reports.health.finding import ERROR, WARNING
from tests import records
from tests.fixtures import Unpack
from tests.helpers import Copy, pending_restore, put, rollback_plan
from tests.reports.health.check_support import VERSIONS, brief, check, one
from tests.state.orphans.find_support import LATER, between_commits


def finished(copy: Copy, time: str, action: str, body: bytes = b"") -> str:
    """The completed file of an instant; returns its name."""
    return copy.write(f"{time}.{action}" if copy.version == "v6" else f"{time}_{time}.{action}", body).name


@VERSIONS
def test_a_restore_that_ended_without_result_is_told_once(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    pending_restore(copy, LATER, copy.commits[0], begun=True)
    name = finished(copy, LATER, "restore")
    assert brief(one(copy)) == ("empty-result", ERROR, name)


@VERSIONS
def test_a_rollback_that_ended_without_result_is_told_once(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.rollback.requested", rollback_plan(between_commits(copy)))
    copy.write(f"{LATER}.rollback.inflight")
    name = finished(copy, LATER, "rollback")
    assert brief(one(copy)) == ("empty-result", ERROR, name)


@VERSIONS
def test_rollbacks_of_each_of_several_pending_restores_are_theirs(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    for number in (0, 20):
        pending_restore(copy, time_plus_ms(LATER, number), copy.commits[number // 20], begun=True)
    copy.write(f"{time_plus_ms(LATER, 10)}.rollback.requested", rollback_plan(copy.commits[-1]))
    assert {entry.finding for entry in check(copy)} == {"pending-restore"}


@VERSIONS
def test_who_takes_back_a_commit_without_savepoint_is_the_next_writer(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.rollback.requested", rollback_plan(copy.commits[-1]))
    found = one(copy)
    assert brief(found) == ("armed-rollback", ERROR, f"{LATER} rollback REQUESTED")
    assert found.meaning.endswith("the next writer rolls the commit back")


@VERSIONS
def test_a_rollback_without_plan_says_so(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.rollback.requested")
    found = one(copy)
    assert brief(found) == ("pending-rollback", WARNING, f"{LATER} rollback REQUESTED")
    assert found.meaning == "a rollback was requested without a readable plan, and has not started"


@VERSIONS
@pytest.mark.parametrize(("name", "end"), [("mor_part", "compaction.requested"), ("cow_cleaned", "clean.requested")])
def test_what_has_ended_needs_a_plan_for_the_archiving_of_old_tables(
    unpack: Unpack, version: str, name: str, end: str
) -> None:
    copy = unpack(version, name)
    plan = max(copy.timeline.glob(f"[0-9]*.{end}"))
    put(plan)
    found = [entry for entry in check(copy) if entry.finding == "empty-plan"]
    assert [entry.subject for entry in found] == [plan.name] * (version == "v6")
    assert all("timeline quarantine" in remedy.command for entry in found for remedy in entry.remedy)


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_a_log_compaction_without_plan(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    name = f"{LATER}.logcompaction.requested"
    copy.write(name)
    assert ("empty-plan", ERROR, name) in map(brief, check(copy))


def test_a_commit_that_holds_another_record_is_damaged(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    done = put(copy.file(copy.commits[0], "commit"), records.stranger())
    assert ("unreadable", ERROR, done.name) in map(brief, check(copy))


def test_locks_are_told_beside_a_restore_that_cannot_be_read(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    damaged = copy.write(f"{LATER}.restore.requested", b"garbage")
    put(copy.meta / "lock", b"{}")
    found = set(map(brief, check(copy)))
    assert found == {("unreadable", ERROR, damaged.name), ("lock-held", WARNING, ".hoodie/lock")}


def test_the_partitions_of_all_savepoints_are_looked_at(unpack: Unpack) -> None:
    """Also one that no commit of the timeline names, and that has lost its metafile."""
    copy = unpack("v9", "cow_part")
    like = min((copy.path / "part-1").glob(f"*_{copy.commits[0]}.parquet"))
    for number, time in enumerate(copy.commits[:2]):
        file = put(copy.path / f"old-{number}" / like.name, like.read_bytes())
        copy.write(f"{time}.savepoint.inflight")
        body = encode(SavepointMetadata("operator", 1, "", {f"old-{number}": (file.name,)}))
        finished(copy, time, "savepoint", body)
    broken = [entry.meaning for entry in check(copy) if entry.finding == "savepoint-broken"]
    assert not [meaning for meaning in broken if like.name in meaning]
