"""What check says of writers that died, and of what they have left."""

import json

import pytest

from hudictl.reports.health.finding import ERROR, WARNING
from hudictl.reports.table import describe_table
from hudictl.table.timeline.active import load_timeline
from tests.fixtures import Unpack
from tests.helpers import drop, first_command, pending_restore, put, rollback_plan
from tests.reports.health.check_support import VERSIONS, brief, check, one
from tests.state.orphans.find_support import LATER


@VERSIONS
def test_a_failed_write_that_a_rollback_takes_back_is_its_to_tell(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_failed_direct")
    (failed,) = [entry.time for entry in load_timeline(copy.table).writes() if entry.pending]
    copy.write(f"{LATER}.rollback.requested", rollback_plan(failed))
    assert brief(one(copy)) == ("pending-rollback", WARNING, f"{LATER} rollback REQUESTED")


@VERSIONS
def test_a_write_that_a_restore_takes_back_is_its_to_tell(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    pending_restore(copy, LATER, copy.commits[0], begun=True)
    copy.file(copy.commits[-1], "commit").unlink()
    found = {entry.finding for entry in check(copy, idle_ms=0)}
    assert "pending-restore" in found
    assert "failed-write" not in found


@VERSIONS
def test_a_write_that_the_metadata_table_was_compacted_over_stops_writers(unpack: Unpack, version: str) -> None:
    """The completed file of a compaction was lost: Hudi cannot roll it back (0.15.0, 1.0.2, 1.2.0)."""
    copy = unpack(version, "mor_part")
    *_, compaction = (entry for entry in load_timeline(copy.table).completed_writes() if entry.action == "commit")
    drop(copy.timeline / compaction.files[-1].name)
    found = one(copy)
    assert brief(found) == ("failed-write", ERROR, f"{compaction.time} compaction INFLIGHT")
    assert "Hudi cannot roll it back" in found.meaning
    assert "its next run rolls it back" not in found.meaning
    described = describe_table(copy.table)
    assert described.verdict.startswith(f"no writer can start: {compaction.time} compaction INFLIGHT: ")
    assert described.remedy == found.remedy
    assert not described.writers_can_start


@VERSIONS
def test_an_overwrite_with_a_torn_request_stops_writers(unpack: Unpack, version: str) -> None:
    """ "Error reading clustering plan" (0.15.0, 1.0.2, 1.2.0)."""
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.replacecommit.requested", b"Obj\x01half")
    (found,) = [entry for entry in check(copy) if entry.finding == "failed-write"]
    assert brief(found) == ("failed-write", ERROR, f"{LATER} replacecommit REQUESTED")
    described = describe_table(copy.table)
    assert described.verdict.startswith(f"no writer can start: {LATER} replacecommit REQUESTED: ")
    assert described.remedy == found.remedy
    assert not described.writers_can_start


@VERSIONS
def test_a_writer_that_died_after_its_request_has_failed(unpack: Unpack, version: str) -> None:
    """Only a table service may be scheduled, and left for later."""
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.commit.requested")
    found = one(copy)
    assert brief(found) == ("failed-write", WARNING, f"{LATER} commit REQUESTED")
    assert first_command(found) == "hudictl failed-writes clean --policy eager"


@VERSIONS
@pytest.mark.parametrize("expired", [True, False])
def test_a_lock_that_is_free_is_no_finding(unpack: Unpack, version: str, expired: bool) -> None:
    copy = unpack(version, "cow_part")
    until = 1 if expired else 9_999_999_999_999
    put(copy.meta / ".locks/table_lock.json", json.dumps({"owner": "a", "expired": False, "validUntil": until}))
    assert [entry.finding for entry in check(copy)] == ([] if expired else ["lock-held"])


@VERSIONS
def test_the_heartbeat_of_a_pending_restore_is_not_stale(unpack: Unpack, version: str) -> None:
    """Nor are its markers: whoever resumes it removes both."""
    copy = unpack(version, "cow_part")
    pending_restore(copy, LATER, copy.commits[0], begun=True)
    put(copy.meta / ".heartbeat" / LATER)
    put(copy.meta / ".temp" / LATER / "part-1/x.parquet.marker.CREATE")
    assert {entry.finding for entry in check(copy)} == {"pending-restore"}
