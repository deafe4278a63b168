"""How far restores and rollbacks that are not completed have come."""

import pytest

from hudictl.errors import Unreadable
from hudictl.formats.restore import StoredRestorePlan
from hudictl.state.facts import read_signs
from hudictl.state.pending import Condition, find_restores
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, drop, pending_restore, rollback_plan

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
FIRST, SECOND = "20991231000000000", "20991231000000001"


def restores(copy: Copy) -> dict[str, Condition]:
    return {entry.instant.time: entry.condition for entry in read_signs(copy.table).restores}


def rollbacks(copy: Copy) -> dict[str, Condition]:
    return {entry.instant.time: entry.condition for entry in read_signs(copy.table).rollbacks}


@VERSIONS
def test_conditions_of_a_restore(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    name = f"{FIRST}.restore" if version == "v6" else f"{FIRST}_{SECOND}.restore"
    copy.write(f"{FIRST}.restore.requested")
    assert restores(copy) == {FIRST: Condition.NO_PLAN}
    pending_restore(copy, FIRST, copy.commits[0], begun=False)
    assert restores(copy) == {FIRST: Condition.REQUESTED}
    copy.write(f"{FIRST}.restore.inflight")
    assert restores(copy) == {FIRST: Condition.INFLIGHT}
    copy.write(name)
    assert restores(copy) == {FIRST: Condition.EMPTY_RESULT}
    copy.write(name, b"{}")
    assert restores(copy) == {}


@VERSIONS
def test_conditions_of_a_rollback(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[-1]
    name = f"{FIRST}.rollback" if version == "v6" else f"{FIRST}_{SECOND}.rollback"
    copy.write(f"{FIRST}.rollback.requested")
    assert rollbacks(copy) == {FIRST: Condition.NO_PLAN}
    copy.write(f"{FIRST}.rollback.requested", rollback_plan(target))
    assert rollbacks(copy) == {FIRST: Condition.TARGET_COMPLETED}
    copy.write(f"{FIRST}.rollback.inflight")
    assert rollbacks(copy) == {FIRST: Condition.TARGET_COMPLETED}
    drop(copy.file(target, "commit"))
    assert rollbacks(copy) == {FIRST: Condition.INFLIGHT}
    drop(copy.timeline / f"{FIRST}.rollback.inflight")
    assert rollbacks(copy) == {FIRST: Condition.REQUESTED}
    copy.write(name)
    assert rollbacks(copy) == {FIRST: Condition.EMPTY_RESULT}
    copy.write(name, b"{}")
    assert rollbacks(copy) == {}


def test_an_empty_result_hides_no_commit_that_readers_see(unpack: Unpack) -> None:
    """To finish such a rollback takes that commit from them: it is asked for by itself."""
    copy = unpack("v9", "cow_part")
    copy.write(f"{FIRST}.rollback.requested", rollback_plan(copy.commits[-1]))
    copy.write(f"{FIRST}_{SECOND}.rollback")
    assert rollbacks(copy) == {FIRST: Condition.TARGET_COMPLETED}


def test_a_restore_without_a_plan_names_nothing_and_has_not_begun(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    copy.write(f"{FIRST}.restore.requested")
    (found,) = find_restores(copy.table, load_timeline(copy.table))
    assert (found.plan, found.instants, found.begun) == (StoredRestorePlan((), None), frozenset(), False)
    signs = read_signs(copy.table)
    assert (signs.planned_restores, signs.unplanned_restores) == ((), (found,))


def test_restores_with_a_plan_come_first(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    copy.write(f"{FIRST}.restore.requested")
    pending_restore(copy, SECOND, copy.commits[0], begun=True)
    assert list(restores(copy)) == [SECOND, FIRST]


def test_a_restore_without_a_request_is_unreadable(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    copy.write(f"{FIRST}.restore.inflight")
    with pytest.raises(Unreadable, match="has no request"):
        read_signs(copy.table)
