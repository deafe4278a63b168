"""What is said of a time that is not the instant that was meant."""

import pytest

from hudictl.errors import Refused
from hudictl.state.savepoints import find_savepoint
from hudictl.state.targets import find_commit, find_target
from hudictl.table.timeline import load_timeline
from tests import support
from tests.fixtures import Unpack

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_a_completion_time_names_its_instant(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    timeline = load_timeline(copy.table)
    last = timeline.completed_writes()[-1]
    for find in (lambda time: find_target(timeline, time, ()), lambda time: find_commit(timeline, time)):
        with pytest.raises(Refused) as refused:
            find(last.completion_time)
        assert f"is the completion time of {last}: give its instant time, {last.time}" in refused.value.hint


@VERSIONS
def test_a_typo_names_the_neighbours(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    before, after = copy.commits[:2]
    with pytest.raises(Refused) as refused:
        find_commit(load_timeline(copy.table), f"{before[:-1]}x")
    assert f"the nearest instants are {before} and {after}" in refused.value.hint
    with pytest.raises(Refused) as refused:
        find_commit(load_timeline(copy.table), "1")
    assert f"the nearest instants are {before}; " in refused.value.hint


@VERSIONS
def test_a_commit_without_savepoint_names_the_way_to_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    time = copy.commits[-1]
    with pytest.raises(Refused) as refused:
        find_savepoint(copy.table, load_timeline(copy.table), time)
    assert refused.value.hint.endswith(f"`hudictl restore --to-instant {time}` restores to it")
