"""Guards: each refuses before the first write, names what is in the way, and leaves every byte as it was."""

import json
import os
import time
from collections.abc import Callable

import pytest

from hudictl.errors import HudictlError, Refused, Unsupported
from hudictl.formats.restore import StoredRestorePlan, encode_plan
from hudictl.formats.rollback import InstantInfo
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.state import facts
from tests import records
from tests.fixtures import Unpack
from tests.helpers import Copy, drop, plan, put, required, restore, rollback_plan, savepoint, straddle, tree

LATER = "20261121040000000"


def refused(copy: Copy, code: int, named: str, options: RestoreOptions | None = None) -> HudictlError:
    """Plans a restore to the table's savepoint, which must fail and change nothing."""
    before = tree(copy.path)
    with pytest.raises(HudictlError) as caught:
        plan(copy, copy.savepoints[-1], options)
    assert caught.value.exit_code == code
    assert named in caught.value.message
    assert "\n" not in caught.value.message
    assert tree(copy.path) == before
    return caught.value


# Pitfalls 1: pending cleans.


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
@pytest.mark.parametrize("whole", [False, True], ids=["files", "partition"])
def test_a_pending_clean_of_needed_files_is_discarded(unpack: Unpack, version: str, whole: bool) -> None:
    """It would take the files of the savepoint as soon as a writer cleans again."""
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    needed = sorted(required(copy.table, plan(copy, target).undo.case))
    body = records.clean_plan([]) if whole else records.clean_plan(needed[:1])
    if whole:
        body = records.clean_plan([], partitions=[needed[0].rpartition("/")[0]])
    copy.write(f"{LATER}.clean.requested", body)
    copy.write(f"{LATER}.clean.inflight", body)
    made = plan(copy, target)
    assert dict(made.undo.cleans_discarded) == {
        LATER: sum(path.startswith(needed[0].rpartition("/")[0]) for path in needed) or 1
    }
    restore(copy, target)
    assert copy.having("clean") == []


def test_a_pending_clean_of_other_files_stays(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    other = sorted(copy.data() - set(required(copy.table, plan(copy, target).undo.case)))[:1]
    copy.write(f"{LATER}.clean.requested", records.clean_plan(other))
    assert dict(plan(copy, target).undo.cleans_discarded) == {}
    restore(copy, target)
    assert copy.having("clean") == [f"{LATER}.clean.requested"]


def test_a_clean_that_may_be_running_is_not_discarded(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    needed = sorted(required(copy.table, plan(copy, copy.savepoints[-1]).undo.case))
    copy.write(f"{LATER}.clean.requested", records.clean_plan(needed[:1]), old=False)
    refused(copy, 12, LATER)
    assert dict(plan(copy, copy.savepoints[-1], RestoreOptions(idle_ms=0)).undo.cleans_discarded) == {LATER: 1}


@pytest.mark.parametrize("body", [b"garbage", b"Obj\x01", records.stranger(), records.nameless("HoodieCleanerPlan")])
def test_a_clean_without_readable_plan_could_name_anything(unpack: Unpack, body: bytes) -> None:
    copy = unpack("v9", "cow_savepoints")
    copy.write(f"{LATER}.clean.requested", body)
    refused(copy, 14, LATER)


# Pitfalls 15: which instants are later.


@pytest.mark.parametrize(("version", "removed"), [("v6", False), ("v8", False), ("v9", True)])
def test_where_hudis_releases_disagree_the_tables_own_decides(unpack: Unpack, version: str, removed: bool) -> None:
    """The plan names the instant, and whether its rows stay; the operator may choose the other rule."""
    copy = unpack(version, "cow_savepoints")
    earlier, target = straddle(copy)
    made = plan(copy, target)
    assert [(entry.time, entry.removed) for entry in made.overlaps] == [(earlier, removed)]
    assert (earlier in made.undo.removed) is removed
    assert earlier not in plan(copy, target, RestoreOptions(rule="requested")).undo.removed
    assert earlier in plan(copy, target, RestoreOptions(rule="completion")).undo.removed


def test_a_pending_write_older_than_the_savepoint_stays_or_goes_by_the_rule(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    older = f"{target[:-3]}000"
    copy.write(f"{older}.commit.requested")
    copy.write(f"{older}.inflight")
    assert [entry.time for entry in plan(copy, target).overlaps] == [older]
    assert plan(copy, target, RestoreOptions(rule="requested")).pending_writes_that_stay == (older,)
    assert older in plan(copy, target, RestoreOptions(rule="completion")).undo.removed


@pytest.mark.parametrize("rule", ["requested", "completion"])
def test_newest_first_is_by_the_rules_own_order(unpack: Unpack, rule: str) -> None:
    copy = unpack("v9", "cow_part")
    first, second = copy.commits[-2:]
    target = savepoint(copy, copy.commits[0])
    ends = [copy.file(time, "commit").name[18:35] for time in (first, second)]
    os.rename(copy.file(first, "commit"), copy.timeline / f"{first}_{ends[1]}.commit")
    os.rename(copy.file(second, "commit"), copy.timeline / f"{second}_{ends[0]}.commit")
    order = [removal.time for removal in plan(copy, target, RestoreOptions(rule=rule)).undo.removals[:2]]
    assert order == ([second, first] if rule == "requested" else [first, second])


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_a_compaction_begun_before_the_savepoint_stays(unpack: Unpack, version: str) -> None:
    """Pitfalls 21: it owns the slices that the savepoint's logs lie on, also where it completed later."""
    copy = unpack(version, "mor_savepoints")
    (compaction,) = [file.partition(".")[0] for file in copy.having("compaction.requested")]
    (earlier,) = copy.savepoints
    drop(copy.file(earlier, "savepoint"))
    drop(copy.file(earlier, "savepoint.inflight"))
    target = savepoint(copy, copy.commits[-2])
    done = copy.file(compaction, "commit")
    if version == "v6":
        moment = copy.file(target, "deltacommit").stat().st_mtime + 0.1
        os.utime(done, (moment, moment))
    else:
        end = copy.file(target, "deltacommit").name[18:32]
        os.rename(done, copy.timeline / f"{compaction}_{end}999.commit")
    assert plan(copy, target).undo.removed == {copy.commits[-1]}


# Pitfalls 17 and 18: what is pending already.


@pytest.mark.parametrize("state", ["requested", "inflight"])
@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_pending_rollback_of_what_stays_is_in_the_way(unpack: Unpack, version: str, state: str) -> None:
    copy = unpack(version, "cow_savepoints")
    for target in (copy.savepoints[-1], copy.commits[0]):
        copy.write(f"{LATER}.rollback.requested", rollback_plan(target))
        if state == "inflight":
            copy.write(f"{LATER}.rollback.inflight")
        refused(copy, 13, target)


def test_a_pending_rollback_without_readable_plan_is_in_the_way(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    copy.write(f"{LATER}.rollback.requested", b"garbage")
    refused(copy, 13, LATER)


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_a_pending_rollback_of_what_goes_is_absorbed(unpack: Unpack, version: str) -> None:
    """It ends with its target. Its plan names the table's old place, so the restore makes one of its own."""
    copy = unpack(version, "cow_rollback_interrupted")
    (requested,) = copy.having("rollback.requested")
    made = plan(copy, copy.savepoints[0])
    assert {removal.rollback for removal in made.undo.removals} == {None}
    assert requested.partition(".")[0] in made.rollbacks_removed
    restore(copy, copy.savepoints[0])
    assert copy.having("rollback") == []


def test_a_restore_to_another_savepoint_is_pending(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    other = copy.commits[0]
    infos = tuple(InstantInfo(time, "commit") for time in reversed(copy.commits[1:]))
    copy.write(f"{LATER}.restore.requested", encode_plan(StoredRestorePlan(infos, other)))
    assert "resume" in refused(copy, 13, other).hint


@pytest.mark.parametrize("body", [b"garbage", records.stranger(), records.nameless("HoodieRestorePlan")])
def test_a_pending_restore_without_readable_plan(unpack: Unpack, body: bytes) -> None:
    copy = unpack("v9", "cow_savepoints")
    copy.write(f"{LATER}.restore.requested", body)
    refused(copy, 14, LATER)


def test_an_instant_that_is_completed_twice(unpack: Unpack) -> None:
    """Pitfalls 25: names of version 8 on carry the completion time, so that exclusive creation cannot prevent it."""
    copy = unpack("v9", "cow_savepoints")
    restore(copy, copy.savepoints[-1])
    done = next(path for path in copy.timeline.glob("*.restore"))
    again = f"{done.name[:18]}{int(done.name[18:35]) + 1}.restore"
    copy.write(again, done.read_bytes())
    refused(copy, 14, again)


# Pitfalls 23, 34 and 36: somebody is alive.


def lock_json(valid_until_ms: float, expired: bool) -> str:
    return json.dumps({"owner": "writer-7", "expired": expired, "validUntil": int(valid_until_ms)})


# Counted when the tests are collected, and far away: on a busy host it takes long until this one's turn.
TOMORROW_MS = time.time() * 1000 + 86_400_000


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (".hoodie/lock", '{"lockCreateTime": "2026-11-21", "lockThreadName": "main"}'),
        (".hoodie/.aux/lock", ""),
        (".hoodie/.locks/table_lock.json", lock_json(TOMORROW_MS, False)),
        (".hoodie/.locks/table_lock.json", "damaged"),
    ],
    ids=["file", "aux", "storage", "damaged"],
)
def test_a_lock_of_the_writers_is_respected_and_never_deleted(unpack: Unpack, path: str, body: str) -> None:
    copy = unpack("v9", "cow_savepoints")
    put(copy.path / path, body)
    refused(copy, 12, path)
    assert (copy.path / path).read_text() == body


@pytest.mark.parametrize("expired", [True, False])
def test_an_expired_lock_is_none(unpack: Unpack, expired: bool) -> None:
    copy = unpack("v9", "cow_savepoints")
    until = time.time() * 1000 + (600_000 if expired else -600_000)
    lock = put(copy.meta / ".locks" / "table_lock.json", lock_json(until, expired))
    restore(copy, copy.savepoints[-1])
    assert lock.exists()


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
@pytest.mark.parametrize("name", ["mor_failed_lazy", "cow_failed_direct"])
def test_a_live_heartbeat_proves_a_writer(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, name: str
) -> None:
    """As long as Hudi takes it for one: two minutes, on a clock that stands still."""
    copy = unpack(version, name)
    savepoint(copy, copy.commits[-1])
    (pending,) = plan(copy, copy.savepoints[0]).undo.removed
    beat = put(copy.meta / ".heartbeat" / pending, old=False)
    now_ms = beat.stat().st_mtime_ns // 10**6 + 120_000
    monkeypatch.setattr(facts, "storage_now_ms", lambda clock: now_ms)
    refused(copy, 12, pending)
    refused(copy, 12, pending, RestoreOptions(idle_ms=0))
    put(copy.meta / ".heartbeat" / pending)
    assert plan(copy, copy.savepoints[0]).undo.removed == {pending}


def touch_timeline(copy: Copy, pending: str) -> None:
    copy.file(pending, "inflight" if copy.name.startswith("cow") else "deltacommit.inflight").touch()


def touch_marker(copy: Copy, pending: str) -> None:
    next((copy.meta / ".temp" / pending).rglob("*.marker.MERGE")).touch()


def touch_data(copy: Copy, pending: str) -> None:
    next(path for path in copy.path.glob(f"part-*/*_{pending}.parquet")).touch()


@pytest.mark.parametrize("touch", [touch_timeline, touch_marker, touch_data])
def test_a_pending_write_that_did_something_just_now_may_be_running(
    unpack: Unpack, touch: Callable[[Copy, str], None]
) -> None:
    copy = unpack("v9", "cow_failed_direct")
    savepoint(copy, copy.commits[-1])
    (pending,) = plan(copy, copy.savepoints[0]).undo.removed
    touch(copy, pending)
    refused(copy, 12, pending)
    assert plan(copy, copy.savepoints[0], RestoreOptions(idle_ms=0)).undo.removed == {pending}


# Pitfalls 20, 29 and 31: what the savepoint needs.


@pytest.mark.slow
@pytest.mark.parametrize("emptied", [False, True], ids=["missing", "empty"])
@pytest.mark.parametrize(("version", "name"), [("v6", "mor_savepoints"), ("v8", "mor_savepoints"), ("v9", "cow_part")])
def test_a_missing_file_is_named(unpack: Unpack, version: str, name: str, emptied: bool) -> None:
    copy = unpack(version, name)
    target = savepoint(copy, copy.savepoints[0] if copy.savepoints else copy.commits[1])
    # An empty log is what a writer leaves that died at once: readers skip it.
    files = required(copy.table, plan(copy, target).undo.case)
    needed = [path for path, file in files.items() if file.data.is_base or not emptied]
    for path in needed[:2]:
        body = (copy.path / path).read_bytes()
        put(copy.path / path) if emptied else drop(copy.path / path)
        assert refused(copy, 13, path).fields["missing"] == [path]
        put(copy.path / path, body)
    plan(copy, target)


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_the_base_below_a_pending_compaction_is_needed_though_not_in_the_map(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    (compaction,) = [file.partition(".")[0] for file in copy.having("compaction.requested")]
    target = savepoint(copy, next(time for time in copy.commits if time > compaction))
    base = next(path for path in required(copy.table, plan(copy, target).undo.case) if path.endswith(".parquet"))
    drop(copy.path / base)
    refused(copy, 13, base)


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_a_savepoint_is_restorable_twice(unpack: Unpack, version: str) -> None:
    """Its map also names logs of later instants, which the first restore takes."""
    copy = unpack(version, "mor_part")
    target = savepoint(copy, copy.commits[0])
    restore(copy, target)
    assert plan(copy, target).nothing_to_do


@pytest.mark.parametrize("name", ["cow_part", "cow_flat_nomdt"])
def test_a_partition_without_metafile_gets_one(unpack: Unpack, name: str) -> None:
    """Hudi's listings do not see the partition without it."""
    copy = unpack("v9", name)
    target = savepoint(copy, copy.commits[1])
    metafile = sorted([*copy.path.glob(".hoodie_part*"), *copy.path.glob("part-*/.hoodie_part*")])[0]
    partition = metafile.parent.relative_to(copy.path).as_posix().removeprefix(".")
    drop(metafile)
    assert plan(copy, target).undo.partition_metafiles_made == (partition,)
    restore(copy, target)
    depth = 1 if partition else 0
    assert {f"commitTime={target}", f"partitionDepth={depth}"} <= set(metafile.read_text().splitlines())


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_an_unreadable_archive_could_hold_anything(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    made = records.archive(copy, LATER)
    put(made, made.read_bytes()[:-10])
    refused(copy, 14, made.name)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_later_savepoint_is_in_the_way(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    later = savepoint(copy, copy.commits[-1])
    before = tree(copy.path)
    with pytest.raises(Refused, match=later):
        plan(copy, copy.savepoints[0])
    assert tree(copy.path) == before


def test_the_timeline_is_ahead_of_the_clock(unpack: Unpack) -> None:
    """An instant time of now would order before what is there, and hide later commits."""
    copy = unpack("v9", "cow_savepoints")
    copy.write("29991231000000000.clean.requested")
    before = tree(copy.path, ".hoodie/.hudictl")
    with pytest.raises(Refused, match="29991231000000000"):
        restore(copy, copy.savepoints[-1])
    assert tree(copy.path, ".hoodie/.hudictl") == before


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_a_log_on_the_slice_of_a_pending_compaction_is_not_the_compactions(unpack: Unpack, version: str) -> None:
    """Below version 8 it has the compaction's time in its name; a commit of just now, or the restore, wrote it."""
    copy = unpack(version, "mor_pending_compaction")
    target = savepoint(copy, copy.commits[-2])
    for path in copy.data():
        if ".log." in path:
            (copy.path / path).touch()
    restore(copy, target)
    assert plan(copy, target).nothing_to_do


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_a_base_file_of_a_pending_compaction_tells_that_it_runs(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    (compaction,) = [file.partition(".")[0] for file in copy.having("compaction.requested")]
    savepoint(copy, copy.commits[-2])
    base = next(path for path in sorted(copy.data()) if path.endswith(".parquet"))
    put(copy.path / f"{base.rpartition('_')[0]}_{compaction}.parquet", b"", old=False)
    refused(copy, 12, compaction)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_file_that_goes_and_that_a_kept_commit_has_written_is_a_contradiction(unpack: Unpack, version: str) -> None:
    """Both sides are named, and nothing is changed."""
    copy = unpack(version, "cow_savepoints")
    last = copy.commits[-1]
    path = next(entry for entry in sorted(copy.data()) if f"_{last}." in entry)
    stat = {"fileId": path.rpartition("/")[2].partition("_")[0], "path": path}
    body = json.dumps({"partitionToWriteStats": {path.rpartition("/")[0]: [stat]}, "operationType": "UPSERT"})
    put(copy.file(copy.commits[0], "commit"), body)
    error = refused(copy, 13, path)
    assert copy.commits[0] in error.message
    assert last in error.message


def test_rows_in_a_log_of_another_commit_stop_it(unpack: Unpack) -> None:
    """Of before an upgrade to version 8: such a log can neither be deleted nor be marked, and the rows would stay.
    Where that commit goes, too, its log goes with it."""
    copy = unpack("v9", "mor_part")
    newest = copy.commits[-1]
    log = next(path for path in sorted(copy.data()) if ".log." in path and newest not in path)
    (other,) = [time for time in copy.commits if time in log]
    stats = {log.rpartition("/")[0]: [{"fileId": "f", "path": log}]}
    (done,) = copy.timeline.glob(f"{newest}_*commit")
    put(done, json.dumps({"partitionToWriteStats": stats, "operationType": "UPSERT"}))
    before = tree(copy.path)
    with pytest.raises(Unsupported, match=f"a log of {other}: this log cannot be deleted"):
        plan(copy, other, RestoreOptions(to_instant=True))
    assert tree(copy.path) == before
    earlier = max(time for time in copy.commits if time < other)
    assert log in {file.path for file in plan(copy, earlier, RestoreOptions(to_instant=True)).undo.files}
