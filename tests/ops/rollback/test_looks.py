"""What comes in between two looks of a rollback: the second look meets it."""

import os
import time
from collections.abc import Callable

import pytest

from hudictl.errors import Conflict, Incomplete
from hudictl.ops.rollback.execute import execute_rollback
from hudictl.ops.rollback.planning import done_already
from hudictl.state.facts import Signs
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline
from tests.fixtures import Unpack
from tests.helpers import (
    HUDIS_OWN,
    At,
    Copy,
    Last,
    drop,
    in_the_middle,
    put,
    replace_function,
    required,
    roll_back,
    rollback_of,
    rollback_plan,
    session,
)
from tests.ops.rollback.execute_support import died, newest, own_files

LATEST = "20261121050000000"
EXECUTE = "hudictl.ops.rollback.execute."


def complete(copy: Copy, target: str) -> None:
    copy.write(f"{target}_{LATEST}.commit", copy.file(copy.commits[-1], "commit").read_bytes())


def conflict(copy: Copy, target: str, named: str, monitor: object = None) -> None:
    with pytest.raises(Conflict, match=named):
        roll_back(copy, target, monitor)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_writer_that_beats_some_seconds_late(unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a host under load. One interval more than the rule says is waited for."""
    copy = unpack(version, "cow_failed_direct")
    target = newest(copy)
    files = own_files(copy, target)
    beat = put(copy.meta / ".heartbeat" / target)
    late = time.time() - HUDIS_OWN.limit_ms / 1000 - 5
    os.utime(beat, (late, late))
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if sum(slept) > HUDIS_OWN.interval_ms / 1000 - 10:
            beat.touch()

    monkeypatch.setattr(time, "sleep", sleep)
    conflict(copy, target, f"the writer of {target} is alive|its writer may be alive")
    assert sum(slept) > HUDIS_OWN.interval_ms / 1000 - 10
    assert (own_files(copy, target), copy.having("rollback")) == (files, [])


@pytest.mark.parametrize("name", ["cow_part", "cow_failed_direct"])
def test_a_second_request_while_a_rollback_that_died_is_looked_at_again(unpack: Unpack, name: str) -> None:
    copy = unpack("v9", name)
    target, data = newest(copy), copy.data()
    died(copy, target, "delete files")

    def request() -> None:
        copy.write(f"{LATEST}.rollback.requested", rollback_plan(target), old=False)

    conflict(copy, target, "changed since planning", At("check again", request))
    assert copy.data() == data


def test_nothing_is_requested_after_a_sign_of_life(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_failed_direct")
    target = newest(copy)
    monitor = Last("check again", lambda: put(copy.meta / ".temp" / target / "part-0" / "MARKERS0", old=False))
    conflict(copy, target, f"the writer of {target} is alive", monitor)
    assert monitor.last == "check again"


def test_a_lock_that_a_writer_takes_before_the_request_is_met(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    monitor = Last("check again", lambda: put(copy.meta / "lock", "{}"))
    conflict(copy, newest(copy), r"\.hoodie/lock", monitor)
    assert monitor.last == "check again"


def test_a_metadata_table_that_begins_before_the_request_is_met(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    anew = copy.meta / "metadata/.hoodie/hoodie.properties"
    monitor = Last("check again", lambda: put(anew, "hoodie.table.name=t_metadata\n"))
    conflict(copy, newest(copy), "is building a new metadata table", monitor)
    assert monitor.last == "check again"


def test_a_write_that_another_has_rolled_back_since_planning(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_failed_direct")
    target = newest(copy)

    def go() -> None:
        for name in [name for name in copy.instants() if name.startswith(target)]:
            drop(copy.timeline / name)

    conflict(copy, target, f"{target} has changed since planning", At("check again", go))
    assert copy.having("rollback") == []


def test_a_request_is_withdrawn_where_the_writer_shows_itself_at_the_end_of_the_wait(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v9", "cow_failed_direct")
    target = newest(copy)
    mark = copy.meta / ".temp" / target / "part-0" / "MARKERS0"
    in_the_middle(monkeypatch, f"{EXECUTE}_wait", lambda: put(mark, old=False))
    conflict(copy, target, f"the writer of {target} is alive")
    assert copy.having("rollback") == []


def test_a_write_that_its_writer_completes_is_alive_whatever_its_time_says(unpack: Unpack) -> None:
    """On a store whose clock is behind."""
    copy = unpack("v9", "cow_failed_direct")
    target, data = newest(copy), copy.data()
    conflict(copy, target, "it has completed the instant", At("delete files", lambda: complete(copy, target)))
    assert copy.data() == data


def test_what_is_rolled_back_is_not_done_while_another_request_is_armed(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    target = newest(copy)
    done = roll_back(copy, target)
    assert done_already(copy.table, target) == done.rollback
    copy.write(f"{LATEST}.rollback.requested", rollback_plan(target))
    assert done_already(copy.table, target) is None


def test_a_sign_of_life_while_a_request_of_its_own_settles_again(unpack: Unpack) -> None:
    """The rollback died after it was requested."""
    copy = unpack("v9", "cow_failed_direct")
    target, data = newest(copy), copy.data()
    died(copy, target, "begin the rollback")
    beat = At("request the rollback", lambda: put(copy.meta / ".heartbeat" / target, old=False))
    conflict(copy, target, target, beat)
    assert [name for name in copy.having("rollback") if name.endswith(".inflight")] == []
    assert copy.data() == data


def test_heartbeats_are_judged_by_the_storages_clock(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """This host's clock is behind: the last beat of a writer that died looks young."""
    copy = unpack("v9", "cow_failed_direct")
    target = newest(copy)
    plan = rollback_of(copy, target)
    asked: list[object] = []

    def look(real: Callable[..., Signs], table: Table, clock: object, *before: object) -> Signs:
        asked.append(clock)
        return real(table, clock, *before)

    replace_function(monkeypatch, f"{EXECUTE}read_signs", look)
    execute_rollback(session(copy.table), plan)
    assert asked[0] is not None


# What goes wrong in between.


def test_properties_that_a_crash_left_half_written_are_made_whole(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    whole = (copy.meta / "hoodie.properties").read_bytes()
    put(copy.meta / "hoodie.properties.backup", whole)
    put(copy.meta / "hoodie.properties", whole[:100])
    roll_back(copy, newest(copy))
    assert (copy.meta / "hoodie.properties").read_bytes() == whole
    assert not (copy.meta / "hoodie.properties.backup").exists()


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_needed_file_that_goes_meanwhile_is_found(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = newest(copy)
    needed = sorted(required(copy.table, rollback_of(copy, target).undo.case))[0]
    with pytest.raises(Incomplete, match=needed):
        roll_back(copy, target, At("verify", lambda: drop(copy.path / needed)))
    assert [entry.pending for entry in load_timeline(copy.table).having("rollback")] == [True]


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_rollback_whose_result_has_no_content_goes_on(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = newest(copy)
    died(copy, target, "publish the rollback")
    time = copy.having("rollback")[0].partition(".")[0]
    copy.write(f"{time}.rollback" if version == "v6" else f"{time}_{time}.rollback")
    done = roll_back(copy, target)
    assert done.rollback == time
    assert copy.file(time, "rollback").stat().st_size


def test_a_rollback_completes_after_its_request(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    done = roll_back(copy, newest(copy))
    (found,) = load_timeline(copy.table).having("rollback")
    assert found.time == done.rollback
    assert (found.completion_time or "") > found.time


@pytest.mark.parametrize("what", ["the instant", "its markers"])
def test_what_is_back_when_the_rollback_is_published_is_told(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    copy = unpack("v9", "cow_part")
    target = newest(copy)

    def back() -> None:
        if what == "the instant":
            copy.write(f"{target}.inflight")
        else:
            put(copy.meta / ".temp" / target / "part-0" / f"a-0_0-1-1_{target}.parquet.marker.CREATE")

    in_the_middle(monkeypatch, "hudictl.ops.rollback.publish.completion_now", back)
    with pytest.raises(Incomplete, match=f"is published, but .*{target}"):
        roll_back(copy, target)


def test_the_rest_of_a_rollback_tells_what_the_instant_had_written(unpack: Unpack) -> None:
    """Un-publishing took its statistics away: the copy has them."""
    copy = unpack("v9", "cow_part")
    target = newest(copy)
    before = rollback_of(copy, target).removal
    died(copy, target, "delete files")
    after = rollback_of(copy, target).removal
    assert before.records
    assert (after.records, after.operation, after.files) == (before.records, before.operation, before.files)


def test_a_rollback_of_a_wrong_time_is_superseded(unpack: Unpack) -> None:
    """It is hours ahead of the clock, and its plan takes less back than there is."""
    copy = unpack("v9", "cow_failed_direct")
    target = newest(copy)
    copy.write("20991231000000000.rollback.requested", rollback_plan(target))
    done = roll_back(copy, target)
    assert done.rollback < "20991231000000000"
    assert [name for name in copy.having("rollback") if name.startswith("2099")] == []
