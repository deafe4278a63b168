"""Pending writes: what they left, and whether they failed."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.errors import Unreadable
from hudictl.state.writers import failed_writes
from hudictl.state.writers.failed_writes import PendingWrite, pending_writes
from hudictl.table.beat_rule import HeartbeatRule
from hudictl.table.clock import StorageClock
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline
from hudictl.table.writers import heartbeats
from hudictl.table.writers.heartbeats import Heartbeat
from tests.bootstrap import bootstrapped
from tests.fixtures import Unpack
from tests.helpers import Copy, appended_log, pending_restore, put, rollback_plan, tree

VERSIONS = pytest.mark.parametrize("version", ["v6", "v8", "v9"])
FAILED = ["cow_failed_direct", "cow_failed_tls", "mor_failed_direct", "mor_failed_lazy"]
IDLE_MS = 600_000
NEW = "20271121000000000"
HOST_CLOCK = StorageClock(0, 0)


def rows(copy: Copy, rule: HeartbeatRule | None = None, idle_ms: int = IDLE_MS) -> list[PendingWrite]:
    """The rows, from which nothing has changed on storage."""
    before = tree(copy.path)
    found = pending_writes(replace(copy, rule=rule or copy.rule).table, idle_ms, HOST_CLOCK)
    assert tree(copy.path) == before
    return found


def only(copy: Copy, rule: HeartbeatRule | None = None, idle_ms: int = IDLE_MS) -> PendingWrite:
    (row,) = rows(copy, rule, idle_ms)
    return row


def pending_time(copy: Copy) -> str:
    (found,) = [entry.time for entry in load_timeline(copy.table).writes() if entry.pending]
    return found


@VERSIONS
@pytest.mark.parametrize("name", FAILED)
def test_a_killed_write(unpack: Unpack, version: str, name: str) -> None:
    """What it left is counted; only an expired heartbeat says that it failed."""
    copy = unpack(version, name)
    row = only(copy)
    lazy = name.endswith("lazy")
    assert (row.instant, row.state, row.operation, row.clustering) == (pending_time(copy), "INFLIGHT", "UPSERT", False)
    assert row.action == ("commit" if name.startswith("cow") else "deltacommit")
    assert (row.verdict, row.heartbeat) == (("failed", "expired") if lazy else ("unknown", "none"))
    assert (row.heartbeat_age_ms is not None) is lazy
    assert row.age_ms >= row.idle_ms > IDLE_MS
    assert row.rollback is None
    assert row.marker_type == ("TIMELINE_SERVER_BASED" if name.endswith("tls") else "DIRECT")
    assert row.markers > 0
    assert row.markers_partial == ""
    own = [path for path in copy.data() if row.instant in path.rpartition("/")[2]]
    assert (row.files, row.bytes) == (len(own), sum((copy.path / path).stat().st_size for path in own))
    appends = version == "v6" and name.startswith("mor")
    assert (row.files, row.appended_logs) == ((0, row.markers) if appends else (row.markers, 0))


@VERSIONS
def test_the_sum_says_what_is_known(unpack: Unpack, version: str) -> None:
    reasons = {name: only(unpack(version, name)).reason for name in FAILED}
    assert reasons["mor_failed_lazy"].startswith("its heartbeat expired: the last one was ")
    assert reasons["cow_failed_direct"].startswith(
        "no heartbeat (eager cleaning, or the writer died before its first one); no activity for "
    )


@pytest.mark.parametrize("name", FAILED)
def test_a_live_heartbeat_is_a_running_write(unpack: Unpack, name: str) -> None:
    """Whatever else is silent, or pending."""
    copy = unpack("v9", name)
    instant = pending_time(copy)
    put(copy.meta / ".heartbeat" / instant, old=False)
    row = only(copy)
    assert (row.verdict, row.heartbeat) == ("running", "live")
    assert row.heartbeat_age_ms is not None
    pending_restore(copy, NEW, copy.commits[0], begun=True)
    assert only(copy).verdict == "running"


def test_the_rule_is_the_writers(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    beat = put(copy.meta / ".heartbeat" / pending_time(copy), old=False)
    moment = time.time() - 10
    os.utime(beat, (moment, moment))
    assert only(copy).verdict == "running"
    assert only(copy, HeartbeatRule(1_000, 2, False)).verdict == "failed"
    assert only(copy, HeartbeatRule(1_000, 60, False)).verdict == "running"


@pytest.mark.parametrize("skew_ms", [-3_600_000, 3_600_000])
def test_ages_are_by_the_storages_clock(unpack: Unpack, skew_ms: int) -> None:
    """A beat of the storage's now is live, though this host's clock be an hour off."""
    copy = unpack("v9", "mor_failed_lazy")
    beat = put(copy.meta / ".heartbeat" / pending_time(copy), old=False)
    moment = time.time() + skew_ms / 1000
    os.utime(beat, (moment, moment))
    (row,) = pending_writes(copy.table, IDLE_MS, StorageClock(skew_ms, 20))
    assert row.verdict == "running"
    assert row.heartbeat_age_ms is not None
    assert 0 <= row.heartbeat_age_ms < 30_000
    moment -= 300
    os.utime(beat, (moment, moment))
    (row,) = pending_writes(copy.table, IDLE_MS, StorageClock(skew_ms, 20))
    assert row.verdict == "failed"


@pytest.mark.parametrize("what", ["timeline", "marker", "file", "appended log"])
def test_a_write_without_heartbeat_that_did_something_just_now(unpack: Unpack, what: str) -> None:
    """Any of its files may tell."""
    copy = unpack("v6", "mor_failed_direct" if what == "appended log" else "cow_failed_direct")
    instant = pending_time(copy)
    assert only(copy).idle_ms > IDLE_MS
    if what == "timeline":
        touched = next(copy.timeline.glob(f"{instant}*inflight"))
    elif what == "marker":
        touched = next((copy.meta / ".temp" / instant).rglob("*.marker.*"))
    elif what == "file":
        touched = next(copy.path / path for path in copy.data() if instant in path)
    else:
        touched = appended_log(copy, instant)
    touched.touch()
    row = only(copy)
    assert row.verdict == "unknown"
    assert row.idle_ms < 60_000
    assert row.reason.startswith("no heartbeat, but activity ")
    assert only(copy, idle_ms=0).reason.startswith("no heartbeat (eager cleaning")


@VERSIONS
def test_no_pending_write(unpack: Unpack, version: str) -> None:
    """Scheduled table services have not begun to fail."""
    assert rows(unpack(version, "cow_part")) == []
    assert rows(unpack(version, "mor_pending_compaction")) == []


@VERSIONS
def test_a_compaction_that_began(unpack: Unpack, version: str) -> None:
    """No verdict but that of its next run; below version 8 the logs over its slice are those of later writes."""
    copy = unpack(version, "mor_pending_compaction")
    (compaction,) = load_timeline(copy.table).having("compaction")
    copy.write(f"{compaction.time}.compaction.inflight")
    row = only(copy)
    assert (row.instant, row.action, row.operation, row.verdict) == (
        compaction.time, "compaction", "COMPACT", "unknown",
    )  # fmt: skip
    assert row.reason.startswith("a table service: its next run rolls it back")
    assert row.files == 0
    put(copy.meta / ".heartbeat" / compaction.time, old=False)
    assert only(copy).verdict == "running"


def unpublish(copy: Copy, time: str) -> None:
    for path in [*copy.timeline.glob(f"{time}.replacecommit"), *copy.timeline.glob(f"{time}_*.replacecommit")]:
        path.unlink()


@VERSIONS
def test_a_pending_clustering(unpack: Unpack, version: str) -> None:
    """Known by its request where the action does not say it; scheduled only, it is no write."""
    copy = unpack(version, "cow_cluster")
    last = [entry.time for entry in load_timeline(copy.table).having("replacecommit")][-1]
    unpublish(copy, last)
    row = only(copy)
    assert (row.clustering, row.operation, row.verdict) == (True, "CLUSTER", "unknown")
    assert row.action == ("replacecommit" if version == "v6" else "clustering")
    assert row.files > 0
    for path in copy.timeline.glob(f"{last}.*.inflight"):
        path.unlink()
    assert rows(copy) == []


@VERSIONS
@pytest.mark.parametrize("body", [b"", b"Obj\x01half"], ids=["empty", "torn"])
def test_a_replacecommit_that_is_only_requested(unpack: Unpack, version: str, body: bytes) -> None:
    """Empty, it is an ordinary write. Where the request cannot be read, Hudi's readers and writers fail (0.15.0 to
    1.2.0); below version 8, only it would tell whether it is a clustering."""
    copy = unpack(version, "cow_part")
    copy.write(f"{NEW}.replacecommit.requested", body)
    put(copy.meta / ".heartbeat" / NEW)
    row = only(copy)
    assert (row.state, row.operation, row.clustering) == ("REQUESTED", "UNKNOWN", False)
    assert row.verdict == ("unknown" if body and version == "v6" else "failed")
    assert ("cannot be read" in row.reason) is bool(body)
    assert row.writers_can_start is not bool(body)
    (way,) = row.remedy
    alone = body and version == "v6"
    assert way.command == (f"hudictl rollback {NEW}" if alone else "hudictl failed-writes clean")


@VERSIONS
def test_damage_elsewhere_does_not_hide_a_failed_write(unpack: Unpack, version: str) -> None:
    """A profile that its writer had not written whole, markers of a type to come."""
    copy = unpack(version, "mor_failed_lazy")
    instant = pending_time(copy)
    copy.write(f"{instant}.deltacommit.inflight", b"{")
    put(copy.meta / ".temp" / instant / "MARKERS.type", "BROADCAST")
    row = only(copy)
    assert (row.verdict, row.operation, row.marker_type, row.markers) == ("failed", "UNKNOWN", "unknown", 0)
    assert "BROADCAST" in row.markers_partial


@VERSIONS
def test_what_a_pending_restore_takes_back_is_no_failed_write(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_failed_lazy")
    newest = copy.commits[-1]
    pending_restore(copy, NEW, copy.commits[0], begun=True)
    copy.file(newest, "deltacommit").unlink()
    found = {row.instant: row for row in rows(copy)}
    assert found[newest].verdict == "unknown"
    assert found[newest].reason == f"not a failed write: the pending restore {NEW} removes it"


def test_its_pending_rollback_is_named(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_failed_direct")
    instant = pending_time(copy)
    copy.write(f"{NEW}.rollback.requested", rollback_plan(instant))
    row = only(copy)
    assert row.rollback == NEW
    assert row.reason.endswith(f"; its rollback {NEW} is pending")


def test_oldest_first(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_failed_direct")
    first, killed, last = "20200101000000000", pending_time(copy), NEW
    for instant in (last, first):
        copy.write(f"{instant}.commit.requested")
    assert [row.instant for row in rows(copy)] == [first, killed, last]


@VERSIONS
def test_a_write_that_completes_while_it_is_looked_at_is_in_no_row(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its heartbeat is gone, for it is done: it must not be called failed, or unknown."""
    copy = unpack(version, "mor_failed_lazy")
    instant = pending_time(copy)
    real = heartbeats.list_heartbeats

    def completes(table: Table, now_ms: int) -> list[Heartbeat]:
        name = f"{instant}.deltacommit" if version == "v6" else f"{instant}_{NEW}.deltacommit"
        copy.write(name, b"{}")
        (copy.meta / ".heartbeat" / instant).unlink()
        return real(table, now_ms)

    monkeypatch.setattr("hudictl.state.writers.failed_writes.list_heartbeats", completes)
    assert pending_writes(copy.table, IDLE_MS, None) == []


def test_a_writer_that_beats_again_while_it_is_looked_at_is_running(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that paused: the beat that counts is the one after the long listing."""
    copy = unpack("v9", "mor_failed_lazy")
    instant = pending_time(copy)
    sweep = failed_writes.sweep

    def slow(*arguments: object) -> object:
        put(copy.meta / ".heartbeat" / instant, old=False)
        return sweep(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(failed_writes, "sweep", slow)
    (row,) = pending_writes(copy.table, IDLE_MS, HOST_CLOCK)
    assert row.verdict == "running"


def test_a_restore_without_a_plan_is_unreadable(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    copy.write(f"{NEW}.restore.inflight")
    with pytest.raises(Unreadable, match="has no request"):
        rows(copy)


def way_out(row: PendingWrite) -> str:
    (way,) = row.remedy
    return way.command


@VERSIONS
def test_the_remedy_is_the_command_that_works(unpack: Unpack, version: str) -> None:
    """Lazy cleaning takes what has beaten; of what has not, eager cleaning takes what was silent."""
    assert way_out(only(unpack(version, "mor_failed_lazy"))) == "hudictl failed-writes clean"
    copy = unpack(version, "cow_failed_direct")
    assert way_out(only(copy)) == "hudictl failed-writes clean --policy eager"
    assert only(copy, idle_ms=10**12).remedy == ()


def test_beside_a_live_heartbeat_the_remedy_is_a_rollback(unpack: Unpack) -> None:
    """Eager cleaning is refused there."""
    copy = unpack("v9", "cow_failed_direct")
    put(copy.meta / ".heartbeat" / NEW, old=False)
    assert way_out(only(copy)) == f"hudictl rollback {pending_time(copy)}"


def test_a_log_compaction_cannot_keep_its_plan(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_pending_compaction")
    (compaction,) = load_timeline(copy.table).having("compaction")
    body = copy.file(compaction.time, "compaction.requested").read_bytes()
    copy.write(f"{NEW}.logcompaction.requested", body)
    copy.write(f"{NEW}.logcompaction.inflight")
    assert way_out(only(copy)) == f"hudictl rollback {NEW}"


@VERSIONS
def test_a_bootstrap_that_died(version: str, tmp_path: Path) -> None:
    """No command ends it, and it is an error all the same."""
    copy = bootstrapped(version, "cow_full", tmp_path)
    full, *later = copy.commits
    for file in [file for after in later for file in copy.timeline.glob(f"{after}*")]:
        file.unlink()
    copy.file(full, "commit").unlink()
    row = only(copy, idle_ms=0)
    assert (row.verdict, row.remedy, row.abandoned) == ("failed", (), True)
    assert "bootstrap it again from the source" in row.reason
    assert row.writers_can_start == (version == "v6")
    busy = only(copy, idle_ms=10**12)
    assert (busy.verdict, busy.abandoned) == ("unknown", False)
