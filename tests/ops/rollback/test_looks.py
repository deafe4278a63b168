"""What comes in between two looks of a rollback: the second look meets it."""

import os
import time
from collections.abc import Callable

import pytest

from hudictl.errors import Conflict
from hudictl.ops.rollback.execute import execute_rollback
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.table.heartbeats import DEFAULT_RULE
from tests.fixtures import Unpack
from tests.helpers import At, Copy, in_the_middle, put, roll_back, rollback_of, rollback_plan, session
from tests.ops.rollback.test_execute import died, newest, own_files

LATER, LATEST = "20261121040000000", "20261121050000000"
EXECUTE = "hudictl.ops.rollback.execute."


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
    late = time.time() - DEFAULT_RULE.limit_ms / 1000 - 5
    os.utime(beat, (late, late))
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if sum(slept) > DEFAULT_RULE.interval_ms / 1000 - 10:
            beat.touch()

    monkeypatch.setattr(time, "sleep", sleep)
    conflict(copy, target, f"the writer of {target} is alive|its writer is alive")
    assert sum(slept) > DEFAULT_RULE.interval_ms / 1000 - 10
    assert (own_files(copy, target), copy.having("rollback")) == (files, [])


@pytest.mark.parametrize("name", ["cow_part", "cow_failed_direct"])
def test_a_second_request_while_a_rollback_that_died_is_looked_at_again(unpack: Unpack, name: str) -> None:
    copy = unpack("v9", name)
    target, data = newest(copy), copy.data()
    died(copy, target, "delete files")

    def request() -> None:
        copy.write(f"{LATEST}.rollback.requested", rollback_plan(target), old=False)

    conflict(copy, target, "moved since planning", At("check again", request))
    assert copy.data() == data


def come_back(copy: Copy) -> None:
    """A writer makes a metadata table anew."""
    put(copy.meta / "metadata/.hoodie/hoodie.properties", "hoodie.table.name=t_metadata\n")


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_metadata_table_that_comes_while_the_instant_is_un_published(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may list the files that go next. It is met before running queries are waited for."""
    copy = unpack(version, "cow_flat_nomdt")
    target, data = newest(copy), copy.data()
    in_the_middle(monkeypatch, "hudictl.ops.undo.instants.unpublish", lambda: come_back(copy))
    waited: list[object] = []
    monkeypatch.setattr(f"{EXECUTE}wait_for_queries", lambda *given: waited.append(given))
    conflict(copy, target, "has come since planning")
    assert (copy.data(), waited) == (data, [])
