"""A rollback that is pending is finished whatever the clock says: it keeps its time."""

import pytest

from hudictl.errors import Refused
from hudictl.table.timeline.active import instant_now, load_timeline
from tests.fixtures import Unpack
from tests.helpers import At, Copy, attempt, host_in, roll_back, rollback_of, without_zone

VERSIONS = pytest.mark.parametrize("version", ["v6", "v8", "v9"])
CASES = pytest.mark.parametrize("name", ["cow_part", "mor_part"])


class Dies(Exception):
    pass


def dead_in_tokyo(copy: Copy, step: str) -> tuple[str, str]:
    """A rollback of an operator in Tokyo, on a table that does not tell its writers' zone, died at a step; and its
    target."""
    target = copy.commits[-1]

    def dies() -> None:
        raise Dies

    with host_in("Asia/Tokyo"), pytest.raises(Dies):
        roll_back(without_zone(copy), target, At(step, dies))
    (found,) = load_timeline(copy.table).having("rollback")
    assert found.time > instant_now(copy.table)
    return found.time, target


@pytest.mark.slow
@VERSIONS
@CASES
@pytest.mark.short("v6-UTC", "v9-America/New_York")
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize("step", ["prepare", "delete files", "publish the rollback"])
def test_a_rollback_with_a_time_that_is_hours_ahead_is_resumed(
    unpack: Unpack, version: str, name: str, zone: str, step: str
) -> None:
    copy = unpack(version, name)
    began, target = dead_in_tokyo(copy, step)
    with host_in(zone):
        assert rollback_of(copy, target).resumes == began
        assert roll_back(copy, target).rollback == began
    timeline = load_timeline(copy.table)
    (done,) = timeline.having("rollback")
    assert done.completed
    if version != "v6":
        assert done.completion_time == began
    assert timeline.find(target, "commit", "deltacommit") is None


@VERSIONS
def test_a_new_rollback_waits_for_the_clock(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    began, target = dead_in_tokyo(copy, "prepare")
    roll_back(copy, target)
    error = attempt(lambda: rollback_of(copy, copy.commits[-1]))
    assert isinstance(error, Refused)
    assert error.fields["last_time"] == began
