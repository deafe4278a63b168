"""Pending rollbacks: which go on, and which were requested and refused."""

import pytest

from hudictl.errors import Conflict, Refused
from hudictl.ops.rollback.discard import execute_discard, plan_discard
from hudictl.reports.health.check import check_table
from hudictl.state.facts import read_signs
from hudictl.state.pending import RollbacksToEnd, rollbacks_to_end
from hudictl.state.timeline.unfinished import rollback_unfinished
from hudictl.table.operations import operation_instants, read_operation
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import (
    ENGINE,
    OWN,
    At,
    Copy,
    die,
    drop,
    first_command,
    put,
    restore,
    roll_back,
    rollback_plan,
    session,
    tree,
)
from tests.ops.rollback.discard_support import discard
from tests.ops.rollback.execute_support import died, newest
from tests.ops.undo.untouched_support import arm

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
LATER, LATEST = "20261121040000000", "20261121050000000"


def found(copy: Copy) -> RollbacksToEnd:
    return rollbacks_to_end(copy.table, read_signs(copy.table).live_rollbacks)


def unwanted(copy: Copy) -> list[str]:
    return [entry.instant.time for entry in found(copy).unwanted]


def meaning(copy: Copy) -> str:
    return rollback_unfinished(copy.table, read_signs(copy.table), found(copy).unwanted[0], 0).meaning


def refused(copy: Copy, named: str, idle_ms: int = 0) -> None:
    before = tree(copy.path)
    with pytest.raises((Refused, Conflict), match=named):
        plan_discard(session(copy.table), idle_ms)
    assert tree(copy.path) == before


@VERSIONS
def test_nothing_is_pending(unpack: Unpack, version: str) -> None:
    assert found(unpack(version, "cow_part")) == RollbacksToEnd((), ())


@VERSIONS
@pytest.mark.parametrize("step", ["prepare", "delete files", "publish the rollback"])
def test_its_own_goes_on_also_where_the_instant_is_still_completed(unpack: Unpack, version: str, step: str) -> None:
    copy = unpack(version, "cow_part")
    target = newest(copy)
    died(copy, target, step)
    assert found(copy) == RollbacksToEnd((target,), ())
    roll_back(copy, target)
    assert found(copy) == RollbacksToEnd((), ())


@VERSIONS
@pytest.mark.parametrize("target", ["", "..", "../hoodie.properties", "x/y", "a\n\x1b[31mb"])
def test_one_whose_plan_names_no_instant_is_discarded(unpack: Unpack, version: str, target: str) -> None:
    """It cannot be finished: there is nothing that it could be the end of."""
    copy = unpack(version, "cow_part")
    before = tree(copy.path, OWN)
    copy.write(f"{LATER}.rollback.requested", rollback_plan(target))
    assert (unwanted(copy), found(copy).finish) == ([LATER], ())
    assert meaning(copy) == "a rollback was requested without a readable plan, and has not started"
    assert discard(copy) == (LATER,)
    assert tree(copy.path, OWN) == before


@VERSIONS
def test_hudis_own_of_a_completed_instant_is_unwanted(unpack: Unpack, version: str) -> None:
    """It looks the same whether Hudi refused it, or died."""
    copy = unpack(version, "cow_part")
    target = newest(copy)
    arm(copy, target, inflight=True)
    assert (found(copy).finish, unwanted(copy)) == ((), [LATER])
    said = meaning(copy)
    assert said.startswith(f"a rollback of the completed commit {target} has not ended, but readers still see")
    assert said.endswith("the next writer rolls the commit back")
    drop(copy.file(target, "commit"))
    assert (found(copy).finish, unwanted(copy)) == ((target,), [])


@VERSIONS
def test_hudis_own_of_instants_that_are_pending_or_gone(unpack: Unpack, version: str) -> None:
    """Newest first, as they build on each other."""
    copy = unpack(version, "cow_failed_direct")
    failed, gone = newest(copy), "20261121030000000"
    copy.write(f"{LATER}.rollback.requested", rollback_plan(gone))
    copy.write(f"{LATEST}.rollback.requested", rollback_plan(failed))
    assert found(copy) == RollbacksToEnd(tuple(sorted((failed, gone), reverse=True)), ())


@VERSIONS
@pytest.mark.parametrize("names", [("requested",), ("requested", "inflight"), ("inflight",)])
def test_one_without_readable_plan(unpack: Unpack, version: str, names: tuple[str, ...]) -> None:
    """Hudi cannot finish it, and ignores one that has begun: its files lay there for ever."""
    copy = unpack(version, "mor_part")
    for name in names:
        copy.write(f"{LATER}.rollback.{name}", b"garbage")
    assert unwanted(copy) == [LATER]
    assert "without a readable plan" in meaning(copy)
    (told,) = [entry for entry in check_table(copy.table, ENGINE, 0).findings if entry.finding == "pending-rollback"]
    assert first_command(told) == "hudictl resume --discard-rollbacks"
    data = copy.data()
    assert discard(copy) == (LATER,)
    assert (copy.having("rollback"), copy.data()) == ([], data)


@VERSIONS
@pytest.mark.parametrize("inflight", [False, True])
@pytest.mark.parametrize("which", [0, -1])
def test_an_untouched_one_is_discarded(unpack: Unpack, version: str, inflight: bool, which: int) -> None:
    """Of any commit: the newest, and one that others build on. The record tells who did it."""
    copy = unpack(version, "mor_part")
    target = copy.commits[which]
    arm(copy, target, inflight=inflight)
    data, commits = copy.data(), copy.commits
    assert discard(copy) == (LATER,)
    assert (copy.having("rollback"), copy.data(), copy.commits) == ([], data, commits)
    (time,) = operation_instants(copy.table.storage)
    record = read_operation(copy.table.storage, time)
    assert record is not None
    assert (record.operation, record.target, record.last.exit_code) == ("discard rollbacks", LATER, 0)


@VERSIONS
def test_all_or_none(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    first, second = copy.commits[-2:]
    arm(copy, second)
    arm(copy, first, time=LATEST)
    assert plan_discard(session(copy.table), 0).rollbacks == (LATEST, LATER)
    lost = next(path for path in copy.data() if first in path)
    drop(copy.path / lost)
    refused(copy, LATEST)
    assert unwanted(copy) == [LATER, LATEST]


@VERSIONS
def test_what_may_be_running(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    arm(copy, newest(copy))
    requested = copy.file(LATER, "rollback.requested")
    put(requested, requested.read_bytes(), old=False)
    refused(copy, "may be running", 600_000)
    assert plan_discard(session(copy.table), 0).rollbacks == (LATER,)
    put(copy.meta / ".heartbeat" / LATER, old=False)
    refused(copy, LATER)


@VERSIONS
@pytest.mark.parametrize("what", ["begun", "another", "ended"])
def test_the_table_has_moved_since(unpack: Unpack, version: str, what: str) -> None:
    copy = unpack(version, "cow_part")
    target = newest(copy)
    arm(copy, target)

    def move() -> None:
        if what == "begun":
            drop(copy.file(target, "commit"))
        elif what == "another":
            arm(copy, target, time=LATEST)
        else:
            drop(copy.file(LATER, "rollback.requested"))

    with pytest.raises(Conflict, match="changed"):
        discard(copy, At("check again", move))
    assert len(copy.having("rollback")) == {"begun": 1, "another": 2, "ended": 0}[what]


@VERSIONS
def test_a_rollback_that_begins_after_the_look_is_not_taken_away(unpack: Unpack, version: str) -> None:
    """Its heartbeat, or its files' times, tell under the claim."""
    copy = unpack(version, "cow_part")
    target = newest(copy)
    arm(copy, target)
    made = plan_discard(session(copy.table), 600000)
    copy.write(f"{LATER}.rollback.inflight", old=False)
    with pytest.raises(Conflict, match=LATER):
        execute_discard(session(copy.table), made, 600000)
    assert unwanted(copy) == [LATER]


@VERSIONS
def test_of_a_restore_that_is_pending_none_is_found_to_go_on_alone(unpack: Unpack, version: str) -> None:
    """Those that a restore has made are part of it: `resume` asks for the restore first."""
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    die(copy, target, "delete files")
    signs = read_signs(copy.table)
    assert signs.restores
    restore(copy, target)
    assert found(copy) == RollbacksToEnd((), ())
    assert [entry.time for entry in load_timeline(copy.table).having("rollback")] == []


def test_a_claim_that_was_taken_over_discards_nothing(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    arm(copy, copy.commits[-2])
    take_over = At("discard rollbacks", lambda: put(copy.path / OWN / "claim-2", "{}"))
    with pytest.raises(Conflict, match="taken over"):
        discard(copy, take_over)
    assert copy.having("rollback") == [f"{LATER}.rollback.requested"]
