"""Rollback of one instant: what is there afterwards, and how pending rollbacks are finished, whoever began them."""

import os
import shutil
import time
from collections.abc import Callable

import pytest

from hudictl.errors import Incomplete, Refused
from hudictl.formats import instants as fmt
from hudictl.formats import log_blocks, rollback
from hudictl.formats.rollback import InstantInfo, RollbackRequest
from hudictl.formats.rollback import StoredRollbackPlan as StoredPlan
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.rollback.planning import done_already
from hudictl.ops.session import Silent
from hudictl.table.operations import read_operation
from hudictl.table.timeline.active import load_timeline, pending_rollbacks
from tests import support
from tests.crash import reader
from tests.fixtures import Unpack
from tests.formats import generic
from tests.helpers import At, Copy, FailDeletion, attempt, drop, put, roll_back, rollback_of, tree
from tests.ops.rollback.execute_support import STEPS, died, newest, own_files

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
LATER = "20261121040000000"
KEEP_PLAN = RollbackOptions(keep_plan=True)
FAILED = ["cow_failed_direct", "cow_failed_tls", "mor_failed_direct", "mor_failed_lazy"]
COMPLETED = [
    "cow_cdc", "cow_cluster", "cow_flat_nomdt", "cow_part", "cow_record_index", "cow_savepoints", "mor_flat_nomdt",
    "mor_parquet_logs", "mor_part", "mor_pending_compaction", "mor_savepoints",
]  # fmt: skip


def seen(copy: Copy) -> tuple[object, ...]:
    found = reader.snapshot(copy.path)
    assert not reader.missing(copy.path)
    return found.rows


def assert_gone(copy: Copy, target: str, rollback_time: str) -> None:
    """Nothing of the instant is left, and its rollback says so, in Hudi's words."""
    timeline = load_timeline(copy.table)
    assert [str(entry) for entry in timeline.instants if entry.time == target] == []
    assert pending_rollbacks(copy.table, timeline) == []
    assert own_files(copy, target) == set()
    assert not (copy.meta / ".temp" / target).exists()
    assert not (copy.meta / ".heartbeat" / target).exists()
    assert not (copy.meta / ".heartbeat" / rollback_time).exists()
    assert done_already(copy.table, target) == rollback_time
    record = generic.read(copy.file(rollback_time, "rollback").read_bytes())
    assert (record["startRollbackTime"], record["commitsRollback"]) == (rollback_time, [target])
    assert read_operation(copy.table.storage, rollback_time).last.exit_code == 0  # type: ignore[union-attr]


# Every table, in every version.


@VERSIONS
@pytest.mark.parametrize("name", COMPLETED)
def test_the_newest_commit(unpack: Unpack, version: str, name: str) -> None:
    """Readers see what they saw before it, and all its files are gone, and no others."""
    copy = unpack(version, name)
    target, before = newest(copy), copy.data()
    files, expected = own_files(copy, target), reader.as_of(copy.path, copy.commits[-2])
    # Log files of version 6 carry the name of their slice.
    done = roll_back(copy, target)
    assert_gone(copy, target, done.rollback)
    assert reader.snapshot(copy.path).digest == expected.digest
    assert not reader.missing(copy.path)
    assert before - copy.data() == files
    assert (done.files_deleted, len(copy.data() - before)) == (len(files), done.rollback_blocks)
    assert bool(done.rollback_blocks) is (version == "v6" and name.startswith("mor"))


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "mor_part", "cow_cluster", "mor_savepoints"])
def test_all_commits_back_to_the_first_savepoint_one_after_the_other(unpack: Unpack, version: str, name: str) -> None:
    """Insert overwrites, delete partitions, clusterings and compactions among them."""
    copy = unpack(version, name)
    views = {time: reader.as_of(copy.path, time).digest for time in copy.commits}
    floor = copy.savepoints[0] if copy.savepoints else copy.commits[0]
    while (target := newest(copy)) > floor:
        done = roll_back(copy, target)
        assert_gone(copy, target, done.rollback)
        assert reader.snapshot(copy.path).digest == views[copy.commits[-1]]
        assert not reader.missing(copy.path)
    assert copy.commits[-1] == floor


@VERSIONS
def test_the_first_commit_of_all(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    while copy.commits:
        roll_back(copy, copy.commits[-1])
    assert (copy.data(), seen(copy)) == (set(), ())


@VERSIONS
@pytest.mark.parametrize("name", FAILED)
def test_a_failed_write(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    target, rows = newest(copy), seen(copy)
    done = roll_back(copy, target)
    assert_gone(copy, target, done.rollback)
    assert seen(copy) == rows


@VERSIONS
@pytest.mark.parametrize("name", FAILED)
def test_a_failed_write_without_its_markers(unpack: Unpack, version: str, name: str) -> None:
    """Hudi plans nothing then, and the files stay as orphans; here the listing tells, and the logs themselves."""
    copy = unpack(version, name)
    target, rows = newest(copy), seen(copy)
    planned = rollback_of(copy, target)
    copy.table.storage.delete_folder(f".hoodie/.temp/{target}")
    without = rollback_of(copy, target)
    assert {file.path for file in without.removal.files} == {file.path for file in planned.removal.files}
    assert {block.slice for block in without.removal.blocks} == {block.slice for block in planned.removal.blocks}
    assert_gone(copy, target, roll_back(copy, target).rollback)
    assert seen(copy) == rows


@VERSIONS
def test_a_write_that_died_before_it_began(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    rows, data = seen(copy), copy.data()
    copy.write(f"{LATER}.commit.requested")
    done = roll_back(copy, LATER)
    assert_gone(copy, LATER, done.rollback)
    assert (done.files_deleted, seen(copy), copy.data()) == (0, rows, data)


def test_version_6_the_rollback_block_takes_the_targets_rows_and_no_later_ones(unpack: Unpack) -> None:
    """Pitfalls 8: the block's own instant is the target's, so that the rows of later commits behind it count."""
    copy = unpack("v6", "mor_part")
    target, before = newest(copy), copy.data()
    roll_back(copy, target)
    for path in copy.data() - before:
        body = (copy.path / path).read_bytes()
        (block,) = log_blocks.read_blocks(lambda offset, length, body=body: body[offset : offset + length], len(body))
        assert block.header[log_blocks.INSTANT_TIME] == block.header[log_blocks.TARGET_INSTANT_TIME] == target


# Table services that are pending.


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("options", [None, KEEP_PLAN], ids=["away", "requested again"])
def test_a_clustering_that_died(unpack: Unpack, version: str, options: RollbackOptions | None) -> None:
    copy = unpack(version, "cow_cluster")
    roll_back(copy, newest(copy))
    target = newest(copy)
    drop(copy.file(target, "replacecommit"))
    for file in copy.timeline.glob(f"{target}.*"):
        os.utime(file, (1_700_000_000, 1_700_000_000))
    rows, files = seen(copy), own_files(copy, target)
    for path in files:
        os.utime(copy.path / path, (1_700_000_000, 1_700_000_000))
    done = roll_back(copy, target, options=options)
    assert (own_files(copy, target), done.files_deleted) == (set(), len(files))
    assert seen(copy) == rows
    left = [name.partition(".")[2] for name in copy.instants() if name.startswith(target)]
    assert left == (
        [] if options is None else ["replacecommit.requested" if version == "v6" else "clustering.requested"]
    )
    if options is not None:
        assert rollback_of(copy, target, options).nothing_to_do


@VERSIONS
def test_a_compaction_goes_back_to_requested(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    (compaction,) = load_timeline(copy.table).having("compaction")
    rows, data = seen(copy), copy.data()
    assert rollback_of(copy, compaction.time, KEEP_PLAN).nothing_to_do
    copy.write(f"{compaction.time}.compaction.inflight")
    older = next(path for path in sorted(data) if path.endswith(".parquet"))
    made = f"{older.rpartition('_')[0]}_{compaction.time}.parquet"
    put(copy.path / made, (copy.path / older).read_bytes())
    done = roll_back(copy, compaction.time, options=KEEP_PLAN)
    assert (done.files_deleted, done.plan_kept) == (1, True)
    assert (copy.data(), seen(copy)) == (data, rows)
    assert copy.having("compaction") == [f"{compaction.time}.compaction.requested"]
    again = rollback_of(copy, compaction.time, KEEP_PLAN)
    assert again.nothing_to_do


# Pending rollbacks.


@VERSIONS
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", ["cow_part", "mor_failed_direct"])
def test_the_same_command_finishes_its_own(unpack: Unpack, version: str, name: str, step: str) -> None:
    copy = unpack(version, name)
    target = newest(copy)
    died(copy, target, step)
    (pending,) = pending_rollbacks(copy.table, load_timeline(copy.table))
    plan = rollback_of(copy, target)
    assert (plan.resumes, plan.begun, plan.rollbacks_superseded) == (pending[0].time, True, ())
    done = roll_back(copy, target)
    assert done.rollback == pending[0].time
    assert_gone(copy, target, done.rollback)


def hudis(copy: Copy, target: str, *, inflight: bool) -> set[str]:
    """A rollback as Hudi requests it, with every file of the target."""
    files = own_files(copy, target)
    found = load_timeline(copy.table).find(target, "commit", "deltacommit", "replacecommit")
    assert found is not None
    requests = tuple(RollbackRequest(path.rpartition("/")[0], (f"{copy.path}/{path}",)) for path in sorted(files))
    copy.write(
        f"{LATER}.rollback.requested", rollback.encode_plan(StoredPlan(InstantInfo(target, found.action), requests))
    )
    if inflight:
        copy.write(f"{LATER}.rollback.inflight")
    return files


@VERSIONS
@pytest.mark.parametrize("state", ["requested", "inflight", "un-published", "half deleted", "inflight gone", "gone"])
def test_hudis_own_is_finished_in_every_state(unpack: Unpack, version: str, state: str) -> None:
    copy = unpack(version, "cow_part")
    target = newest(copy)
    expected = reader.as_of(copy.path, copy.commits[-2]).rows
    files = hudis(copy, target, inflight=state != "requested")
    if state not in ("requested", "inflight"):
        drop(copy.file(target, "commit"))
    if state == "half deleted":
        drop(copy.path / sorted(files)[0])
    if state in ("inflight gone", "gone"):
        for path in files:
            drop(copy.path / path)
        drop(copy.timeline / f"{target}.inflight")
    if state == "gone":
        drop(copy.timeline / f"{target}.commit.requested")
    done = roll_back(copy, target)
    assert done.rollback == LATER
    assert_gone(copy, target, LATER)
    assert seen(copy) == expected
    record = generic.read(copy.file(LATER, "rollback").read_bytes())
    assert record["totalFilesDeleted"] == len(files)


@VERSIONS
def test_hudis_own_that_names_another_place_is_superseded(unpack: Unpack, version: str) -> None:
    """The table was copied: its paths are the other's, and no writer would delete anything here. Its traces go, too."""
    copy = unpack(version, "cow_rollback_interrupted")
    target = newest(copy)
    (old,) = copy.having("rollback.requested")
    for trace in (".heartbeat/{}", ".temp/{}/part-0/x.marker.APPEND"):
        put(copy.meta / trace.format(old.partition(".")[0]))
    plan = rollback_of(copy, target)
    assert (plan.resumes, plan.rollbacks_superseded) == (None, (old.partition(".")[0],))
    done = roll_back(copy, target)
    assert_gone(copy, target, done.rollback)
    assert copy.having("rollback") == sorted(
        f"{done.rollback}.rollback{state}" for state in ("", ".inflight", ".requested")
    )
    assert [path for folder in (".heartbeat", ".temp") for path in (copy.meta / folder).glob("2*")] == []


@VERSIONS
def test_two_pending_rollbacks_of_one_instant(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = newest(copy)
    hudis(copy, target, inflight=True)
    other = f"{LATER[:-1]}1"
    copy.write(f"{other}.rollback.requested", copy.file(LATER, "rollback.requested").read_bytes())
    plan = rollback_of(copy, target)
    assert {plan.resumes, *plan.rollbacks_superseded} == {LATER, other}
    assert_gone(copy, target, roll_back(copy, target).rollback)


@VERSIONS
def test_whether_the_plan_stays_is_as_it_was_asked_for_at_first(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    (compaction,) = load_timeline(copy.table).having("compaction")
    copy.write(f"{compaction.time}.compaction.inflight")
    died(copy, compaction.time, "delete files", KEEP_PLAN)
    assert roll_back(copy, compaction.time).plan_kept
    assert copy.having("compaction") == [f"{compaction.time}.compaction.requested"]


@VERSIONS
def test_hudis_own_rollback_of_a_compaction_leaves_it_requested(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    (compaction,) = load_timeline(copy.table).having("compaction")
    copy.write(f"{compaction.time}.compaction.inflight")
    plan = StoredPlan(InstantInfo(compaction.time, "compaction"), ())
    copy.write(f"{LATER}.rollback.requested", rollback.encode_plan(plan))
    copy.write(f"{LATER}.rollback.inflight")
    assert roll_back(copy, compaction.time).plan_kept
    assert copy.having("compaction") == [f"{compaction.time}.compaction.requested"]


# What goes wrong.


@VERSIONS
def test_a_file_that_cannot_be_deleted_leaves_the_rollback_pending(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, "cow_part")
    target = newest(copy)
    expected = reader.as_of(copy.path, copy.commits[-2]).rows
    stuck = sorted(own_files(copy, target))[0]
    with monkeypatch.context() as patch:
        FailDeletion(stuck).install(patch)
        error = attempt(lambda: roll_back(copy, target))
    assert isinstance(error, Incomplete)
    assert (stuck in error.message, error.fields["failed"]) == (True, [stuck])
    # Readers are back all the same.
    assert seen(copy) == expected
    assert own_files(copy, target) == {stuck}
    assert_gone(copy, target, roll_back(copy, target).rollback)


@VERSIONS
def test_a_file_that_was_written_meanwhile_is_found_before_the_instant_goes(unpack: Unpack, version: str) -> None:
    """Pitfalls 4: it would come back as rows once the archive passes it."""
    copy = unpack(version, "cow_failed_direct")
    target = newest(copy)
    late = sorted(own_files(copy, target))[0]
    body = (copy.path / late).read_bytes()
    name = f"ffffffff-{late.rpartition('/')[2].partition('-')[2]}"
    path = copy.path / late.rpartition("/")[0] / name
    error = attempt(lambda: roll_back(copy, target, At("verify", lambda: put(path, body))))
    assert isinstance(error, Incomplete)
    assert name in error.message
    assert newest(copy) == target
    assert_gone(copy, target, roll_back(copy, target).rollback)
    assert not path.exists()


@VERSIONS
def test_the_backup_of_a_commit_is_kept_when_asked(unpack: Unpack, version: str) -> None:
    for keep in (False, True):
        copy = unpack(version, "cow_part")
        target = newest(copy)
        names = {path.name for path in copy.timeline.glob(f"{target}*")}
        body = copy.file(target, "commit").read_bytes()
        roll_back(copy, target, options=RollbackOptions(keep_backup=keep))
        kept = {path.name: path.read_bytes() for path in (copy.meta / ".rollback_backup").glob("[0-9]*")}
        assert set(kept) == (names if keep else set())
        assert not keep or body in kept.values()
        shutil.rmtree(copy.path)


@VERSIONS
@pytest.mark.parametrize("act", [rollback_of, roll_back])
def test_what_is_rolled_back_already(unpack: Unpack, version: str, act: Callable[[Copy, str], object]) -> None:
    copy = unpack(version, "cow_part")
    target = newest(copy)
    assert done_already(copy.table, target) is None
    done = roll_back(copy, target)
    before = tree(copy.path)
    assert done_already(copy.table, target) == done.rollback
    assert done_already(copy.table, LATER) is None
    with pytest.raises(Refused, match="not on the active timeline"):
        act(copy, target)
    assert tree(copy.path) == before


@pytest.mark.slow
@VERSIONS
def test_queries_that_run_have_their_grace(unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers are back before the wait, and the files are there until its end."""
    copy = unpack(version, "cow_part")
    target, before = newest(copy), copy.data()
    looks: list[bool] = []

    class Look(Silent):
        def check(self) -> None:
            looks.append(copy.data() == before and target not in copy.commits)

    monkeypatch.setattr(time, "sleep", support.short_sleep)
    roll_back(copy, target, Look(), RollbackOptions(grace_s=0.2))
    assert looks
    assert all(looks)
    assert own_files(copy, target) == set()


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_what_would_hide_rows_of_others_goes_before_queries_have_their_grace(unpack: Unpack, version: str) -> None:
    """A write that began before a compaction and ended while it ran: its log lies behind the compaction's base file.
    Uncommitted, this one takes it from readers (1.0.2, 1.2.0)."""
    copy = unpack(version, "mor_savepoints")
    for later in copy.commits[:-3:-1]:
        roll_back(copy, later)
    *_, beside, compaction = copy.commits
    file = copy.file(beside, "deltacommit")
    file.rename(file.with_name(f"{beside}_{fmt.time_plus_ms(compaction, 1)}.deltacommit"))
    before, rows, bases = copy.data(), seen(copy), own_files(copy, compaction)
    looks: list[bool] = []

    def look() -> None:
        looks.append(seen(copy) == rows and copy.data() == before - bases)

    roll_back(copy, compaction, At("wait 0.01 s for running queries", look), RollbackOptions(grace_s=0.01))
    assert looks == [True]
    assert seen(copy) == rows


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_the_base_file_of_a_compaction_that_died_hides_nothing(unpack: Unpack, version: str) -> None:
    """With its plan, readers take the slices before and after it."""
    copy = unpack(version, "mor_pending_compaction")
    time = max(name.partition(".")[0] for name in copy.having("compaction.requested"))
    copy.write(f"{time}.compaction.inflight")
    log = max(path for path in copy.path.glob("part-*/.*.log.*") if not path.name.endswith(".crc"))
    base = put(log.with_name(f"{log.name[1:].partition('_')[0]}_0-1-2_{time}.parquet"))
    made = rollback_of(copy, time, KEEP_PLAN)
    assert [row.path for row in made.undo.files] == [str(base.relative_to(copy.path))]
    assert made.undo.files_deleted_first == ()
