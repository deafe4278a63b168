"""Heartbeats: listed with their instants, and deleted where nobody beats."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hudictl.errors import Conflict, StorageFailed, Unsupported
from hudictl.ops.clean_up import litter as heartbeats
from hudictl.ops.clean_up.litter import HeartbeatDeletion, delete_heartbeat, plan_heartbeat_deletion
from hudictl.state.writers.heartbeats import HeartbeatRow, heartbeat_rows
from hudictl.storage.base import FileStatus
from hudictl.storage.local import LocalStorage
from hudictl.table.beat_rule import ASSUMED, HeartbeatRule
from hudictl.table.clock import StorageClock
from hudictl.table.locks.claim import claim
from hudictl.table.operations import operation_instants, read_operation
from tests.fixtures import Unpack
from tests.helpers import HUDIS_OWN, OWN, Copy, FailDeletion, put, rollback_plan, session, tree

VERSIONS = pytest.mark.parametrize("version", ["v6", "v8", "v9"])
GONE = "20201121000000000"
NEW = "20271121000000000"


def beat(copy: Copy, instant: str, *, old: bool = True) -> Path:
    return put(copy.meta / ".heartbeat" / instant, old=old)


def row(copy: Copy, instant: str, rule: HeartbeatRule = HUDIS_OWN) -> HeartbeatRow:
    return {found.instant: found for found in heartbeat_rows(replace(copy, rule=rule).table, StorageClock(0, 0))}[
        instant
    ]


@VERSIONS
def test_the_beat_of_a_killed_writer_is_expired(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_failed_lazy")
    (found,) = heartbeat_rows(copy.table, StorageClock(0, 0))
    assert (found.state, found.action, found.instant_state) == ("expired", "deltacommit", "INFLIGHT")
    assert found.misses == found.age_ms // 60_000 > 2
    assert found.last_beat_utc is not None
    assert found.last_beat_utc.startswith(f"{found.instant[:4]}-{found.instant[4:6]}-{found.instant[6:8]}T")


@VERSIONS
def test_states(unpack: Unpack, version: str) -> None:
    """Stale needs an instant that is completed or gone, and no beat; Hudi 1.2.0's rollbacks beat, too."""
    copy = unpack(version, "cow_savepoints")
    completed = copy.commits[-1]
    copy.write(f"{NEW}.rollback.requested", rollback_plan(completed))
    for instant in (GONE, completed, NEW):
        beat(copy, instant)
    assert [(row(copy, one).state, row(copy, one).action) for one in (GONE, completed, NEW)] == [
        ("stale", None), ("stale", "commit"), ("expired", "rollback"),
    ]  # fmt: skip
    for instant in (GONE, completed, NEW):
        beat(copy, instant, old=False)
        assert row(copy, instant).state == "live"


def test_a_savepoint_is_not_the_instant_that_beats(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    beat(copy, copy.savepoints[-1])
    assert row(copy, copy.savepoints[-1]).action == "commit"


def test_misses_are_counted_by_the_rule(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    moment = time.time() - 45
    os.utime(beat(copy, GONE), (moment, moment))
    assert (row(copy, GONE).misses, row(copy, GONE).state) == (0, "live")
    found = row(copy, GONE, HeartbeatRule(20_000, 1))
    assert (found.misses, found.interval_ms, found.state) == (2, 20_000, "stale")


@VERSIONS
def test_an_expired_one_is_deleted_with_its_sidecar(unpack: Unpack, version: str) -> None:
    """And nothing else changes; the operation is recorded."""
    copy = unpack(version, "mor_failed_lazy")
    (found,) = heartbeat_rows(copy.table, None)
    before = tree(copy.path, OWN, ".hoodie/.heartbeat")
    assert plan_heartbeat_deletion(session(copy.table), found.instant).heartbeat is not None
    assert [path.name for path in (copy.meta / ".heartbeat").iterdir() if path.name == found.instant]
    delete_heartbeat(session(copy.table), plan_heartbeat_deletion(session(copy.table), found.instant))
    assert list((copy.meta / ".heartbeat").iterdir()) == []
    assert tree(copy.path, OWN, ".hoodie/.heartbeat") == before
    (operation,) = operation_instants(copy.table.storage)
    record = read_operation(copy.table.storage, operation)
    assert record is not None
    assert (record.operation, record.target, record.last.exit_code) == ("heartbeat delete", found.instant, 0)


@pytest.mark.parametrize("name", [GONE, "../hoodie.properties", "."])
def test_one_that_is_absent(unpack: Unpack, name: str) -> None:
    """Nothing is done, and nothing is recorded; a path is no instant."""
    copy = unpack("v9", "mor_failed_lazy")
    before = tree(copy.path, OWN)
    assert plan_heartbeat_deletion(session(copy.table), name).heartbeat is None
    delete_heartbeat(session(copy.table), plan_heartbeat_deletion(session(copy.table), name))
    assert operation_instants(copy.table.storage) == []
    assert tree(copy.path, OWN) == before


def test_a_live_one_stays(unpack: Unpack) -> None:
    """Also that of an instant that is not there yet: its writer beats first."""
    copy = unpack("v9", "mor_failed_lazy")
    beat(copy, NEW, old=False)
    with pytest.raises(Conflict, match=f"heartbeat of {NEW} is live"):
        plan_heartbeat_deletion(session(copy.table), NEW)


def test_one_that_beats_again_under_the_claim_stays(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    (found,) = heartbeat_rows(copy.table, None)
    made = plan_heartbeat_deletion(session(copy.table), found.instant)
    path = beat(copy, found.instant, old=False)
    with pytest.raises(Conflict, match="is live"):
        delete_heartbeat(session(copy.table), made)
    assert path.exists()


def test_another_beat_than_the_plan_has_shown_stays(unpack: Unpack) -> None:
    """It beat once more, and died since: what was shown is not what would go."""
    copy = unpack("v9", "mor_failed_lazy")
    (found,) = heartbeat_rows(copy.table, None)
    made = plan_heartbeat_deletion(session(copy.table), found.instant)
    path = beat(copy, found.instant)
    with pytest.raises(Conflict, match="has changed since planning"):
        delete_heartbeat(session(copy.table), made)
    assert path.exists()


def test_one_that_is_gone_under_the_claim_is_no_operation(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    (found,) = heartbeat_rows(copy.table, None)
    made = plan_heartbeat_deletion(session(copy.table), found.instant)
    (copy.meta / ".heartbeat" / found.instant).unlink()
    delete_heartbeat(session(copy.table), made)
    assert operation_instants(copy.table.storage) == []


def test_a_store_an_hour_behind_does_not_make_the_living_dead(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    beat(copy, NEW, old=False)
    real = LocalStorage.stat

    def stat(self: LocalStorage, path: str) -> FileStatus | None:
        found = real(self, path)
        return found and found._replace(modified_ms=found.modified_ms - 3_600_000)

    monkeypatch.setattr(LocalStorage, "stat", stat)
    moment = time.time() - 3_600
    os.utime(copy.meta / ".heartbeat" / NEW, (moment, moment))
    with pytest.raises(Conflict, match="is live"):
        plan_heartbeat_deletion(session(copy.table), NEW)


def test_another_hudictl_is_at_work(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    (found,) = heartbeat_rows(copy.table, None)
    made = plan_heartbeat_deletion(session(copy.table), found.instant)
    with claim(copy.table.storage, "restore"), pytest.raises(Conflict, match="another hudictl"):
        delete_heartbeat(session(copy.table), made)
    assert row(copy, found.instant)


def test_a_file_that_cannot_be_deleted(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    (found,) = heartbeat_rows(copy.table, None)
    FailDeletion(f".heartbeat/{found.instant}").install(monkeypatch)
    with pytest.raises(StorageFailed, match="Operation not permitted"):
        delete_heartbeat(session(copy.table), plan_heartbeat_deletion(session(copy.table), found.instant))


def test_one_that_is_deleted_stays_so(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a power failure a writer of lazy cleaning would count as expired again."""
    copy = unpack("v9", "cow_part")
    path = beat(copy, GONE)
    synced: list[str] = []
    monkeypatch.setattr(LocalStorage, "sync", lambda self, folder: synced.append(folder) if not path.exists() else None)
    delete_heartbeat(session(copy.table), plan_heartbeat_deletion(session(copy.table), GONE))
    assert ".hoodie/.heartbeat" in synced


def test_an_unknown_action_stops_it(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    copy.write(f"{NEW}.teleport.requested")
    with pytest.raises(Unsupported, match="teleport"):
        plan_heartbeat_deletion(session(copy.table), GONE)


def test_a_claim_that_was_taken_over_deletes_nothing(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    path = beat(copy, GONE)

    made = plan_heartbeat_deletion(session(copy.table), GONE)

    def late(*asked: Any) -> HeartbeatDeletion:
        put(copy.path / OWN / "claim-2", "{}")
        return plan_heartbeat_deletion(*asked)

    monkeypatch.setattr(heartbeats, "plan_heartbeat_deletion", late)
    with pytest.raises(Conflict, match="taken over"):
        delete_heartbeat(session(copy.table), made)
    assert path.exists()


def test_a_young_beat_of_unknown_settings_stays(unpack: Unpack) -> None:
    """Its writer may beat every ten minutes; with the writers' values it is clear."""
    copy = replace(unpack("v9", "mor_failed_lazy"), rule=ASSUMED)
    (found,) = heartbeat_rows(copy.table, None)
    beat = put(copy.meta / ".heartbeat" / found.instant)
    moment = time.time() - 200
    os.utime(beat, (moment, moment))
    (now,) = heartbeat_rows(copy.table, None)
    assert (now.state, now.assumed) == ("unknown", True)
    with pytest.raises(Conflict, match="may be live") as caught:
        plan_heartbeat_deletion(session(copy.table), found.instant)
    assert "--interval" in caught.value.hint
    known = replace(copy, rule=HUDIS_OWN)
    assert heartbeat_rows(known.table, None)[0].state == "expired"
    assert plan_heartbeat_deletion(session(known.table), found.instant).heartbeat is not None
