"""A restore that has begun is finished whatever the clock says: it keeps its time, and waits for none."""

import time

import pytest

from hudictl.errors import Refused
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.state.timeline.zone import zone_seen
from hudictl.table.timeline.active import instant_now, load_timeline
from tests import records
from tests.fixtures import Unpack
from tests.helpers import Copy, assert_ended, attempt, die, drop, host_in, plan, restore, savepoint, without_zone

VERSIONS = pytest.mark.parametrize("version", ["v6", "v8", "v9"])
STEPS = (
    *("prepare", "write rollback plans", "un-publish instants", "delete files", "remove instants"),
    "publish the restore",
)


@pytest.fixture(autouse=True)
def _in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails who waits for hours."""
    until, nap = time.monotonic() + 30, time.sleep

    def sleep(seconds: float) -> None:
        assert time.monotonic() < until
        nap(min(seconds, 0.001))

    monkeypatch.setattr(time, "sleep", sleep)


def dead_in_tokyo(copy: Copy, target: str, step: str) -> str:
    """A restore of an operator in Tokyo, on a table that does not tell its writers' zone, died at a step."""
    with host_in("Asia/Tokyo"):
        die(without_zone(copy), target, step)
    assert zone_seen(load_timeline(copy.table), copy.table.zone) is None
    (found,) = load_timeline(copy.table).having("restore")
    assert found.pending
    assert found.time > instant_now(copy.table)
    return found.time


@pytest.mark.slow
@VERSIONS
@pytest.mark.short("v6-UTC", "v9-America/New_York")
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize("step", STEPS)
def test_a_restore_with_a_time_that_is_hours_ahead_is_resumed(
    unpack: Unpack, version: str, zone: str, step: str
) -> None:
    copy = unpack(version, "mor_savepoints")
    target = copy.savepoints[-1]
    began = dead_in_tokyo(copy, target, step)
    rollbacks = {entry.time for entry in load_timeline(copy.table).having("rollback")}
    assert all(entry > began for entry in rollbacks)
    with host_in(zone):
        assert plan(copy, target).resumes == began
        assert restore(copy, target).restore == began
    (done,) = load_timeline(copy.table).having("restore")
    assert done.completed
    if version != "v6":
        assert done.completion_time == began
    assert_ended(copy, target)


@VERSIONS
def test_a_restore_that_was_only_requested_is_planned_anew_at_the_writers_time(unpack: Unpack, version: str) -> None:
    """Nothing of it was done: its time goes with it."""
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    began = dead_in_tokyo(copy, target, "prepare")
    drop(copy.file(began, "restore.inflight"))
    assert plan(copy, target).withdrawn == began
    now = instant_now(copy.table)
    done = restore(copy, target).restore
    assert now <= done < began
    assert [entry.time for entry in load_timeline(copy.table).having("restore")] == [done]
    assert_ended(copy, target)


@VERSIONS
def test_an_instant_of_the_far_future_does_not_stop_a_restore_that_has_begun(unpack: Unpack, version: str) -> None:
    """It goes on under its own time; a new one is refused, by the plan."""
    copy = unpack(version, "cow_savepoints")
    target, spare = copy.savepoints[-1], copy.savepoints[0]
    die(copy, target, "delete files")
    (began,) = (entry.time for entry in load_timeline(copy.table).having("restore"))
    ahead = "99991121000000000"
    copy.write(f"{ahead}.clean.requested", records.clean_plan([]))
    copy.write(f"{ahead}.clean.inflight")
    done = f"{ahead}.clean" if version == "v6" else f"{ahead}_99991121000000001.clean"
    copy.write(done, records.clean_metadata([]))
    assert restore(copy, target).restore == began
    (done_at,) = (entry.completion_time for entry in load_timeline(copy.table).having("restore"))
    assert done_at is not None
    assert began < done_at <= instant_now(copy.table)
    assert_ended(copy, target)
    error = attempt(lambda: plan(copy, spare, RestoreOptions(delete_later_savepoints=True)))
    assert isinstance(error, Refused)
    assert "99991121000000001" in error.message or version == "v6"


def rollbacks_beside(copy: Copy, target: str, name: str) -> list[str]:
    """Those of a restore that died before them, and went on beside another file of the timeline."""
    die(copy, target, "write rollback plans")
    copy.write(name)
    die(copy, target, "delete files")
    rollbacks = [entry.time for entry in load_timeline(copy.table).having("rollback")]
    assert rollbacks
    return rollbacks


@VERSIONS
@pytest.mark.parametrize(
    "name",
    [
        *("9.clean.requested", "99999999999999999.savepoint.inflight", f"{'9' * 40}.indexing.requested"),
        *("99991231235959999.indexing.requested", "20991231235959999.clean.requested"),
    ],
)
def test_a_time_that_no_clock_shows_does_not_stop_a_restore_that_has_begun(
    unpack: Unpack, version: str, name: str
) -> None:
    """Nor are its rollbacks from then on in the future: they are later than the restore, and no later than need be."""
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    rollbacks = rollbacks_beside(copy, target, name)
    (began,) = (entry.time for entry in load_timeline(copy.table).having("restore"))
    assert all(began < time <= instant_now(copy.table) for time in rollbacks)
    assert restore(copy, target).restore == began
    (copy.timeline / name).unlink()
    assert_ended(copy, target)


@VERSIONS
def test_the_rollbacks_of_a_restore_that_goes_on_are_later_than_what_came_from_another_zone(
    unpack: Unpack, version: str
) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    ahead = time_plus_ms(instant_now(copy.table), 9 * 3_600_000)
    assert all(time > ahead for time in rollbacks_beside(copy, target, f"{ahead}.clean.requested"))


@VERSIONS
def test_the_protecting_savepoint_of_a_resumed_restore_is_not_completed_before_its_commit(
    unpack: Unpack, version: str
) -> None:
    """By an operator in the west: the commit is newer than the face of their clock."""
    copy = unpack(version, "cow_flat_nomdt")
    target = copy.commits[-2]
    options = RestoreOptions(to_instant=True)
    die(copy, target, "prepare", options)
    with host_in("Etc/GMT+12"):
        die(copy, target, "delete files", options)
        (saved,) = load_timeline(copy.table).savepoints()
        assert (saved.completion_time or "") >= target
        restore(copy, target, options=options)
    assert_ended(copy, target)


@VERSIONS
def test_nothing_to_do_is_said_whatever_the_clock_says(unpack: Unpack, version: str) -> None:
    """The same command again, after the operator in Tokyo has done it all."""
    copy = without_zone(unpack(version, "cow_savepoints"))
    target = savepoint(copy, copy.savepoints[-1])
    with host_in("Asia/Tokyo"):
        restore(copy, target)
    assert plan(copy, target).nothing_to_do
