"""Guards of rollback: each refuses before the first write, names what is in the way, and leaves every byte alone."""

import os
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from hudictl.errors import HudictlError
from hudictl.formats.clean import decode_plan
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.table.beat_rule import ASSUMED, HeartbeatRule
from hudictl.table.timeline.active import load_timeline
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import (
    Copy,
    appended_log,
    drop,
    pending_restore,
    put,
    required,
    restore,
    roll_back,
    rollback_of,
    rollback_plan,
    savepoint,
    tree,
)

LATER = "20261121040000000"
OTHER = "20261121040000001"
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
KEEP_PLAN = RollbackOptions(keep_plan=True)


def refused(
    copy: Copy, target: str, code: int, named: str, options: RollbackOptions | None = None, hint: str = ""
) -> HudictlError:
    """Plans a rollback, which must fail and change nothing."""
    before = tree(copy.path)
    with pytest.raises(HudictlError) as caught:
        rollback_of(copy, target, options)
    assert caught.value.exit_code == code
    assert named in caught.value.message
    assert hint in caught.value.hint
    assert "\n" not in caught.value.message
    assert tree(copy.path) == before
    return caught.value


def pending(copy: Copy) -> str:
    """The one pending write."""
    (found,) = [entry.time for entry in load_timeline(copy.table).writes() if entry.pending]
    return found


# What the target is.


@pytest.mark.parametrize("instant", [LATER, "x", ""])
def test_no_such_instant(unpack: Unpack, instant: str) -> None:
    refused(unpack("v9", "cow_part"), instant, 13, "not on the active timeline", hint="archived")


@VERSIONS
def test_what_is_no_write(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    refused(copy, copy.having("clean")[0].partition(".")[0], 13, "a clean, not a write")


@VERSIONS
def test_a_savepoint(unpack: Unpack, version: str) -> None:
    """On the newest commit: else a later commit is in the way, too. A savepoint that is being made counts."""
    copy = unpack(version, "cow_part")
    target = savepoint(copy, copy.commits[-1])
    refused(copy, target, 13, f"{target} has a savepoint", hint=f"savepoint delete {target}")
    drop(copy.file(target, "savepoint"))
    refused(copy, target, 13, "savepoint")
    drop(copy.file(target, "savepoint.inflight"))
    assert rollback_of(copy, target).target == target


@VERSIONS
def test_a_commit_that_was_requested_later(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    last, target = copy.commits[-1], copy.commits[-2]
    assert refused(copy, target, 13, last, hint="newest first").fields["instants"] == [last]


@VERSIONS
def test_a_commit_that_began_earlier_and_completed_later(unpack: Unpack, version: str) -> None:
    """Hudi asks for the requested time alone, though that commit has read the target."""
    copy = unpack(version, "cow_part")
    earlier, target = copy.commits[-2:]
    done = copy.file(earlier, "commit")
    if version == "v6":
        moment = copy.file(target, "commit").stat().st_mtime + 1
        os.utime(done, (moment, moment))
    else:
        os.rename(done, done.with_name(f"{earlier}_{copy.file(target, 'commit').name[18:32]}999.commit"))
    refused(copy, target, 13, earlier)


@VERSIONS
def test_an_archived_commit_that_is_newer(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    records.archive(copy, LATER)
    refused(copy, copy.commits[-1], 13, LATER)


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_an_instant_that_is_completed_twice(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[-1]
    again = copy.write(f"{target}_{LATER}.commit", copy.file(target, "commit").read_bytes())
    refused(copy, target, 14, again.name)


@VERSIONS
@pytest.mark.parametrize("state", ["completed", "pending"])
def test_two_writes_of_one_time(unpack: Unpack, version: str, state: str) -> None:
    """Their files carry the same name: those of the other would go, too."""
    copy = unpack(version, "cow_part")
    target = copy.commits[-1]
    suffix = "replacecommit" if state == "completed" else "deltacommit.inflight"
    name = f"{target}_{LATER}.{suffix}" if state == "completed" and version != "v6" else f"{target}.{suffix}"
    copy.write(name, copy.file(target, "commit").read_bytes() if state == "completed" else b"")
    refused(copy, target, 14, "2 writes", hint="restore")


# Who else is at work, or died at it.


@VERSIONS
@pytest.mark.parametrize("state", ["requested", "inflight"])
def test_a_pending_write_beside_a_completed_target(unpack: Unpack, version: str, state: str) -> None:
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.commit.requested")
    if state == "inflight":
        copy.write(f"{LATER}.inflight")
    refused(copy, copy.commits[-1], 13, LATER, hint="failed-writes clean")


def test_a_pending_write_that_began_before_a_completed_target(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    earlier = time_plus_ms(copy.commits[-1], -1)
    copy.write(f"{earlier}.commit.requested")
    refused(copy, copy.commits[-1], 13, earlier, hint="failed-writes clean")


@VERSIONS
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("name", ["cow_part", "cow_failed_direct"])
def test_a_pending_restore(unpack: Unpack, version: str, name: str, begun: bool) -> None:
    copy = unpack(version, name)
    newest = load_timeline(copy.table).writes()[-1].time
    pending_restore(copy, LATER, copy.commits[0], begun=begun)
    refused(copy, newest, 13, LATER, hint="hudictl resume")


def test_a_restore_that_died_before_its_plan_was_written(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    copy.write(f"{LATER}.restore.requested")
    refused(copy, copy.commits[-1], 13, LATER)


@VERSIONS
@pytest.mark.parametrize("state", ["requested", "inflight"])
def test_the_pending_rollback_of_another_instant(unpack: Unpack, version: str, state: str) -> None:
    copy = unpack(version, "cow_part")
    copy.write(f"{LATER}.rollback.requested", rollback_plan(copy.commits[0]))
    if state == "inflight":
        copy.write(f"{LATER}.rollback.inflight")
    refused(copy, copy.commits[-1], 13, f"of {copy.commits[0]}", hint="hudictl resume")


def test_a_pending_rollback_without_readable_plan(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    copy.write(f"{LATER}.rollback.requested", b"garbage")
    refused(copy, copy.commits[-1], 13, "with an unreadable plan")


def test_a_pending_write_is_rolled_back_beside_the_rollback_of_another(unpack: Unpack) -> None:
    """Nothing builds on it."""
    copy = unpack("v9", "cow_failed_direct")
    copy.write(f"{LATER}.rollback.requested", rollback_plan(OTHER))
    assert rollback_of(copy, pending(copy)).rollbacks_superseded == ()


@VERSIONS
def test_hudis_rollback_of_the_target_that_may_be_running(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[-1]
    copy.write(f"{LATER}.rollback.requested", rollback_plan(target), old=False)
    refused(copy, target, 12, LATER, hint="--idle")
    assert rollback_of(copy, target, RollbackOptions(idle_ms=0)).rollbacks_superseded == (LATER,)
    put(copy.meta / ".heartbeat" / LATER, old=False)
    refused(copy, target, 12, LATER, RollbackOptions(idle_ms=0))


@VERSIONS
@pytest.mark.parametrize("name", ["mor_failed_lazy", "cow_failed_direct"])
def test_a_live_heartbeat(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    target = pending(copy)
    put(copy.meta / ".heartbeat" / target, old=False)
    refused(copy, target, 12, target)
    refused(copy, target, 12, target, RollbackOptions(idle_ms=0))
    put(copy.meta / ".heartbeat" / target)
    assert rollback_of(copy, target).target == target


def test_a_heartbeat_is_judged_by_the_interval_that_is_asked_for(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    target = pending(copy)
    beat = put(copy.meta / ".heartbeat" / target)
    moment = time.time() - 200
    os.utime(beat, (moment, moment))
    assert rollback_of(copy, target).target == target
    refused(replace(copy, rule=HeartbeatRule(200_000, 2, False)), target, 12, target)
    refused(replace(copy, rule=HeartbeatRule(60_000, 10, False)), target, 12, target)
    refused(replace(copy, rule=ASSUMED), target, 12, target, hint="--interval")


@VERSIONS
def test_the_live_heartbeat_of_a_completed_target_is_its_writers_last(unpack: Unpack, version: str) -> None:
    """It is deleted after the completion: a writer that died there, or is about to delete it."""
    copy = unpack(version, "cow_part")
    put(copy.meta / ".heartbeat" / copy.commits[-1], old=False)
    assert rollback_of(copy, copy.commits[-1]).completed


def touch_timeline(copy: Copy, target: str) -> None:
    copy.file(target, "inflight").touch()


def touch_marker(copy: Copy, target: str) -> None:
    next(path for path in (copy.meta / ".temp" / target).rglob("[!.]*") if path.is_file()).touch()


def touch_data(copy: Copy, target: str) -> None:
    next(copy.path.glob(f"part-*/*_{target}.parquet")).touch()


@pytest.mark.parametrize("touch", [touch_timeline, touch_marker, touch_data])
@pytest.mark.parametrize("name", ["cow_failed_direct", "cow_failed_tls"])
def test_without_heartbeat_only_silence_speaks(unpack: Unpack, touch: Callable[[Copy, str], None], name: str) -> None:
    copy = unpack("v9", name)
    target = pending(copy)
    assert rollback_of(copy, target).target == target
    touch(copy, target)
    refused(copy, target, 12, "may be running", hint="--idle")
    assert rollback_of(copy, target, RollbackOptions(idle_ms=0)).target == target


def test_a_log_that_its_markers_say_it_appends_to_speaks_too(unpack: Unpack) -> None:
    """Below table version 8 that log carries another instant's name."""
    copy = unpack("v6", "mor_failed_direct")
    target = pending(copy)
    assert rollback_of(copy, target).target == target
    appended_log(copy, target).touch()
    refused(copy, target, 12, "may be running", hint="--idle")
    assert rollback_of(copy, target, RollbackOptions(idle_ms=0)).target == target


@VERSIONS
def test_a_rollback_that_was_only_requested_says_nothing_of_the_writer(unpack: Unpack, version: str) -> None:
    """Of one that has begun, the rollback itself was the last to touch the target."""
    copy = unpack(version, "cow_failed_direct")
    target = pending(copy)
    copy.write(f"{LATER}.rollback.requested", rollback_plan(target))
    touch_timeline(copy, target)
    refused(copy, target, 12, "may be running")
    copy.write(f"{LATER}.rollback.inflight")
    assert rollback_of(copy, target).rollbacks_superseded == (LATER,)


def test_a_lock_in_use(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    put(copy.meta / "lock", '{"lockCreateTime": "2026-11-21", "lockThreadName": "main"}')
    refused(copy, copy.commits[-1], 12, ".hoodie/lock")


@pytest.mark.parametrize("name", ["cow_part", "cow_failed_direct"])
def test_a_timeline_that_is_ahead_of_the_clock(unpack: Unpack, name: str) -> None:
    copy = unpack("v9", name)
    newest = load_timeline(copy.table).writes()[-1].time
    copy.write("99991121000000000_99991121000000001.clean", records.clean_metadata([]))
    refused(copy, newest, 13, "99991121000000001", hint="--timezone")


# Table services.


def begin(copy: Copy, compaction: str) -> None:
    copy.write(f"{compaction}.compaction.inflight")


@pytest.mark.slow
@VERSIONS
def test_a_pending_compaction_that_has_planned_with_the_targets_files(unpack: Unpack, version: str) -> None:
    """Its plan names what goes: it would fail for ever."""
    copy = unpack(version, "mor_pending_compaction")
    compaction = pending(copy)
    for later in [later for later in reversed(copy.commits) if later > compaction]:
        assert rollback_of(copy, later).completed
        roll_back(copy, later)
    target = copy.commits[-1]
    assert target < compaction
    refused(copy, target, 13, compaction, hint=f"hudictl rollback {compaction}")
    if version == "v6":
        # The logs of the commits that were rolled back, and their rollback blocks: only a restore takes these.
        refused(copy, compaction, 13, "logs of later writes")
        restore(copy, copy.commits[-2], options=RestoreOptions(to_instant=True))
    else:
        roll_back(copy, compaction)
        roll_back(copy, target)
    assert target not in copy.commits
    assert copy.having("compaction") == []


@VERSIONS
def test_a_pending_clustering_that_has_planned_with_the_targets_files(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cluster")
    roll_back(copy, copy.commits[-1])
    clustering = copy.commits[-1]
    drop(copy.file(clustering, "replacecommit"))
    refused(copy, copy.commits[-1], 13, f"{clustering} ", hint=f"hudictl rollback {clustering}")


@VERSIONS
def test_a_pending_service_on_other_file_groups_is_not_in_the_way(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    assert rollback_of(copy, copy.commits[-1]).completed


def test_version_6_a_compaction_whose_slices_hold_the_logs_of_later_writes(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_pending_compaction")
    compaction = pending(copy)
    refused(copy, compaction, 13, "logs of later writes", hint=f"let Hudi run the compaction {compaction}")
    begin(copy, compaction)
    refused(copy, compaction, 13, "logs of later writes", hint="--keep-plan")
    assert rollback_of(copy, compaction, KEEP_PLAN).removal.files == ()


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_from_version_8_on_logs_carry_the_names_of_their_own_writes(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    compaction = pending(copy)
    roll_back(copy, compaction)
    assert copy.having("compaction") == []


@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "cow_failed_direct", "mor_savepoints"])
def test_keep_plan_of_what_has_none(unpack: Unpack, version: str, name: str) -> None:
    """Of a completed compaction, too: nobody else would know that it is to be done again."""
    copy = unpack(version, name)
    newest = load_timeline(copy.table).writes()[-1].time
    refused(copy, newest, 13, "no plan that can be kept", KEEP_PLAN, hint="--keep-plan")


# Files that are needed.


@VERSIONS
def test_a_file_that_a_clean_has_taken(unpack: Unpack, version: str) -> None:
    """Pitfalls 6: Hudi rolls back, and the file groups are gone."""
    copy = unpack(version, "cow_cleaned")
    target = copy.commits[-1]
    before = copy.data()
    plan = rollback_of(copy, target)
    lost = sorted(required(copy.table, plan.undo.case))[0]
    (copy.path / lost).unlink()
    records.archive(copy, LATER, "clean", records.clean_metadata([lost]))
    assert refused(copy, target, 13, lost).fields["missing"] == [lost]
    assert copy.data() == before - {lost}


@VERSIONS
@pytest.mark.parametrize("emptied", [False, True], ids=["missing", "empty"])
def test_a_file_that_is_missing(unpack: Unpack, version: str, emptied: bool) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[-1]
    lost = sorted(required(copy.table, rollback_of(copy, target).undo.case))[0]
    put(copy.path / lost) if emptied else drop(copy.path / lost)
    refused(copy, target, 13, lost, hint="lifecycle rule")


@VERSIONS
def test_a_pending_write_needs_nothing(unpack: Unpack, version: str) -> None:
    """Readers see the same with it and without."""
    copy = unpack(version, "cow_failed_direct")
    target = pending(copy)
    for path in [path for path in copy.data() if target not in path]:
        (copy.path / path).unlink()
    assert rollback_of(copy, target).undo.needed is None


@pytest.mark.slow
@VERSIONS
def test_a_pending_clean_of_needed_files_is_discarded(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[-1]
    needed = sorted(required(copy.table, rollback_of(copy, target).undo.case))
    copy.write(f"{LATER}.clean.requested", records.clean_plan(needed[:1]), old=False)
    refused(copy, target, 12, LATER)
    copy.write(f"{LATER}.clean.requested", records.clean_plan(needed[:1]))
    assert dict(rollback_of(copy, target).undo.cleans_discarded) == {LATER: 1}
    roll_back(copy, target)
    assert copy.having("clean") == []
    assert set(needed) <= copy.data()


@pytest.mark.slow
def test_a_pending_clean_of_other_files_stays(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    target = copy.commits[-1]
    other = sorted(
        path
        for path in copy.data()
        if path not in required(copy.table, rollback_of(copy, target).undo.case) and target not in path
    )
    copy.write(f"{LATER}.clean.requested", records.clean_plan(other[:1]))
    assert decode_plan(copy.file(LATER, "clean.requested").read_bytes(), "it").files
    roll_back(copy, target)
    assert copy.having("clean") == [f"{LATER}.clean.requested"]


# After a restore.


@VERSIONS
def test_what_a_restore_has_removed(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    gone = copy.commits[-1]
    restore(copy, copy.savepoints[-1])
    refused(copy, gone, 13, "not on the active timeline")


@pytest.mark.parametrize("pending", [False, True], ids=["new", "the rest of one"])
def test_a_metafile_that_hudictl_cannot_make(unpack: Unpack, pending: bool) -> None:
    """Of the base format: asked also where the rollback of a completed instant is pending already."""
    copy = unpack("v9", "cow_part")
    target = copy.commits[-1]
    with (copy.meta / "hoodie.properties").open("a") as properties:
        properties.write("hoodie.partition.metafile.use.base.format=true\n")
    (copy.meta / ".hoodie.properties.crc").unlink(missing_ok=True)
    drop(copy.path / "part-0" / ".hoodie_partition_metadata")
    if pending:
        copy.write(f"{LATER}.rollback.requested", rollback_plan(target))
    refused(copy, target, 13, "in the base file format")
