"""A completed commit of the future: told, and rolled back with a time of now."""

import os
import shutil

import pytest

from hudictl.errors import Refused
from hudictl.ops.metadata.drop import DropOptions, drop_metadata, plan_metadata_drop
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.planning import done_already
from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.ops.savepoint.planning import plan_savepoint
from hudictl.reports.health.check import check_table
from hudictl.reports.table import describe_table
from hudictl.state.timeline.ahead import commits_ahead
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.ahead import move_in_time
from tests.crash.inject import Crash, dying
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, plan, restore, roll_back, rollback_of, session, tree

FUTURE, COMPLETED = "20520101000000000", "20520101000005000"
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def ahead(unpack: Unpack, version: str, name: str) -> Copy:
    copy = unpack(version, name)
    move_in_time(copy, copy.commits[-1], FUTURE, COMPLETED)
    return copy


@pytest.mark.parametrize(
    ("version", "name"),
    [(version, "cow_flat_nomdt") for version in support.VERSIONS]
    + [("v8", "mor_flat_nomdt"), ("v9", "mor_flat_nomdt")],
)
def test_it_is_an_error_and_goes(unpack: Unpack, version: str, name: str) -> None:
    before = unpack(version, name)
    earlier, newest = before.commits[:-1], before.commits[-1]
    roll_back(before, newest)
    left = before.data()
    shutil.rmtree(before.path)
    copy = ahead(unpack, version, name)
    assert "its time is in the future" in describe_table(copy.table).verdict
    found = {entry.finding: entry for entry in check_table(copy.table, ENGINE, 0).findings}
    assert [way.command for way in found["commit-ahead"].remedy] == [f"hudictl rollback {FUTURE}"]
    assert FUTURE in plan_savepoint(session(copy.table), earlier[0], SavepointOptions(idle_ms=0)).warnings[0]
    done = roll_back(copy, FUTURE)
    assert done.rollback < FUTURE
    assert (copy.commits, copy.data()) == (earlier, left)
    assert commits_ahead(copy.table, load_timeline(copy.table)) == []
    assert done_already(copy.table, FUTURE) == done.rollback
    roll_back(copy, earlier[-1])


@VERSIONS
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_rollback_that_died_is_finished(unpack: Unpack, version: str, share: float) -> None:
    copy = ahead(unpack, version, "cow_flat_nomdt")
    earlier = copy.commits[:-1]
    trial = Copy(version, copy.name, copy.path.parent / "trial")
    shutil.copytree(copy.path, trial.path)
    with dying(None) as system:
        roll_back(trial, FUTURE)
    with dying(int(system.count * share)), pytest.raises(Crash):
        roll_back(copy, FUTURE)
    roll_back(copy, FUTURE)
    assert (copy.commits, copy.data()) == (earlier, trial.data())


@VERSIONS
def test_writes_after_a_clock_that_was_ahead_are_counted(unpack: Unpack, version: str) -> None:
    """Its hour has passed: the times of the files tell which writes began after it had ended."""
    copy = unpack(version, "cow_flat_nomdt")
    second, hidden = copy.commits[1], copy.commits[2:]
    hour = f"{int(second[8:10]) + 1:02d}"
    other = second[:8] + hour + second[10:]
    moved = move_in_time(copy, second, other, f"{other[:10]}5959000")
    times = [copy.commits[0], moved, *hidden]
    for path in sorted(copy.timeline.glob("[0-9]*")):
        # The samples were written within seconds, on a store of whole seconds.
        number = next(place for place, time in enumerate(times) if path.name.startswith(time))
        status = path.stat()
        os.utime(path, (status.st_mtime + 2.4 * number, status.st_mtime + 2.4 * number))
    (found,) = commits_ahead(copy.table, load_timeline(copy.table))
    assert (found.instant.time, found.hidden, found.future) == (other, tuple(hidden), False)
    assert f"{len(hidden)} writes began after it" in describe_table(copy.table).verdict


@pytest.mark.parametrize("whole_seconds", [False, True])
def test_a_write_that_began_at_once_is_counted_where_times_are_exact(unpack: Unpack, whole_seconds: bool) -> None:
    """Where a store has whole seconds, it may have begun before the end."""
    copy = unpack("v9", "cow_flat_nomdt")
    second, *hidden = copy.commits[1:]
    other = second[:8] + f"{int(second[8:10]) + 1:02d}" + second[10:]
    moved = move_in_time(copy, second, other, f"{other[:10]}5959000")
    times = [copy.commits[0], moved, *hidden]
    paths = sorted(copy.timeline.glob("[0-9]*"))
    first = int(min(path.stat().st_mtime for path in paths)) + (0 if whole_seconds else 0.1)
    for path in paths:
        moment = first + next(place for place, time in enumerate(times) if path.name.startswith(time))
        os.utime(path, (moment, moment))
    found = commits_ahead(copy.table, load_timeline(copy.table))
    assert (hidden[0] in {time for entry in found for time in entry.hidden}) is not whole_seconds


@VERSIONS
def test_beside_a_metadata_table_it_is_dropped_first(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    body = copy.file(copy.commits[-1], "commit").read_bytes()
    for name in (
        f"{FUTURE}.commit.requested",
        f"{FUTURE}.inflight" if version == "v6" else f"{FUTURE}.commit.inflight",
    ):
        copy.write(name)
    copy.write(f"{FUTURE}.commit" if version == "v6" else f"{FUTURE}_{COMPLETED}.commit", body)
    with pytest.raises(Refused, match="is ahead of the clock") as refused:
        rollback_of(copy, FUTURE)
    assert "`hudictl metadata drop`" in refused.value.hint
    assert plan_metadata_drop(session(copy.table), DropOptions(idle_ms=0))


def test_version_6_where_its_rows_are_in_logs_that_stay(unpack: Unpack) -> None:
    """0.15.0 stops at a block that is newer than the last commit: what is appended behind it is never read."""
    copy = unpack("v6", "mor_part")
    working, newest = session(copy.table), copy.commits[-1]
    drop_metadata(working, plan_metadata_drop(working, DropOptions(idle_ms=0)))
    move_in_time(copy, newest, FUTURE)
    before = tree(copy.path)
    with pytest.raises(Refused, match="rows behind them would not be read"):
        rollback_of(copy, FUTURE)
    assert tree(copy.path) == before


@pytest.mark.slow
@VERSIONS
def test_no_sample_is_ahead(unpack: Unpack, version: str) -> None:
    for name in support.names(version):
        copy = unpack(version, name)
        assert commits_ahead(copy.table, load_timeline(copy.table)) == []
        shutil.rmtree(copy.path)


# A restore before it.

TO_INSTANT = RestoreOptions(to_instant=True)


@VERSIONS
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, None])
def test_a_restore_before_it_removes_it_also_after_a_death(unpack: Unpack, version: str, share: float | None) -> None:
    before = unpack(version, "cow_flat_nomdt")
    first = before.commits[0]
    restore(before, first, options=TO_INSTANT)
    left = before.data()
    shutil.rmtree(before.path)
    copy = ahead(unpack, version, "cow_flat_nomdt")
    if share is not None:
        trial = Copy(version, copy.name, copy.path.parent / "trial")
        shutil.copytree(copy.path, trial.path)
        with dying(None) as system:
            restore(trial, first, options=TO_INSTANT)
        with dying(int(system.count * share)), pytest.raises(Crash):
            restore(copy, first, options=TO_INSTANT)
    restore(copy, first, options=TO_INSTANT)
    assert (copy.commits, copy.data()) == ([first], left)
    assert load_timeline(copy.table).last_time() < FUTURE
    assert plan(copy, first, TO_INSTANT).nothing_to_do


@VERSIONS
def test_a_restore_before_it_drops_the_metadata_table(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    before, last = copy.commits[-2:]
    assert plan(copy, before, TO_INSTANT).undo.metadata_table.keeps
    for file in copy.timeline.glob(f"{last}*"):
        done = f"_{COMPLETED}.commit" if version != "v6" else ".commit"
        name = f"{FUTURE}{done}" if file.suffix == ".commit" else f"{FUTURE}{file.name[17:]}"
        copy.write(name, file.read_bytes().replace(last.encode(), FUTURE.encode()))
        file.unlink()
    for path in copy.data():
        if last in path:
            (copy.path / path).rename(copy.path / path.replace(last, FUTURE))
    made = plan(copy, before, TO_INSTANT).undo.metadata_table
    assert (made.keeps, "ahead of the clock" in str(made)) == (False, True)


def test_version_6_a_restore_before_it_leaves_no_log_with_its_rows(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_part")
    working = session(copy.table)
    drop_metadata(working, plan_metadata_drop(working, DropOptions(idle_ms=0)))
    older, before, newest = copy.commits[0], *copy.commits[-2:]
    move_in_time(copy, newest, FUTURE)
    with pytest.raises(Refused, match="rows behind them would not be read") as refused:
        plan(copy, before, TO_INSTANT)
    assert "before the compactions" in refused.value.hint
    restore(copy, older, options=TO_INSTANT)
    assert copy.commits[-1] == older
