"""Something of a commit is pending, and the archive has it as completed: its rows are the table's, and stay."""

import pytest

from hudictl.errors import Refused
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.discard import execute_discard, plan_discard
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.rollback.planning import done_already, plan_rollback
from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import ERROR
from hudictl.state.facts import read_signs
from hudictl.state.pending import Condition, rollbacks_to_end
from hudictl.table.timeline.active import load_timeline
from hudictl.table.timeline.archive import archived_after
from hudictl.table.timeline.archived_writes import archived_as_completed
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, attempt, plan, rollback_plan, session
from tests.state.orphans.find_support import rolled_back

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
LATER = "20261121050000000"


def newest_archived(copy: Copy) -> str:
    return max(entry.time for entry in archived_after(copy.table, "") if entry.action == "commit")


@VERSIONS
@pytest.mark.parametrize("state", ["requested", "inflight"])
def test_a_rollback_that_is_left_of_it_can_only_be_discarded(unpack: Unpack, version: str, state: str) -> None:
    """Hudi refused it, kept its request, and has archived the commit since."""
    copy = unpack(version, "cow_cleaned")
    target = newest_archived(copy)
    copy.write(f"{LATER}.rollback.requested", rollback_plan(target))
    if state == "inflight":
        copy.write(f"{LATER}.rollback.inflight")
    before = copy.data()
    (found,) = read_signs(copy.table).live_rollbacks
    assert (found.condition, found.visible) == (Condition.TARGET_ARCHIVED, True)
    assert rollbacks_to_end(copy.table, [found]).finish == ()
    with pytest.raises(Refused, match=f"{target} is archived as completed"):
        plan_rollback(session(copy.table), target, RollbackOptions(idle_ms=0))
    (told,) = [one for one in check_table(copy.table, ENGINE, 0).findings if target in one.meaning]
    assert (told.severity, [one.command for one in told.remedy]) == (ERROR, ["hudictl resume --discard-rollbacks"])
    discard = plan_discard(session(copy.table), 0)
    execute_discard(session(copy.table), discard, 0)
    assert (copy.having("rollback"), copy.data()) == ([], before)


def test_also_one_that_was_asked_for(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_cleaned")
    target = newest_archived(copy)
    copy.write(f"{LATER}.rollback.requested", rollback_plan(target))
    monkeypatch.setattr("hudictl.state.pending.is_asked_for", lambda *_: True)
    assert rollbacks_to_end(copy.table, read_signs(copy.table).live_rollbacks).finish == ()


def test_one_that_ran_again_after_its_rollback_is_not_rolled_back(unpack: Unpack) -> None:
    """A compaction whose plan was kept: later it has run, and is archived."""
    copy = unpack("v9", "cow_cleaned")
    target = newest_archived(copy)
    rolled_back(copy, target, "commit")
    assert done_already(copy.table, target) is None


@VERSIONS
def test_pending_files_that_are_left_of_it_are_no_failed_write(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    target = newest_archived(copy)
    copy.write(f"{target}.commit.requested")
    copy.write(f"{target}.inflight")
    before = copy.data()
    with pytest.raises(Refused, match=f"{target} is archived as completed"):
        plan_rollback(session(copy.table), target, RollbackOptions(idle_ms=0))
    options = RestoreOptions(to_instant=True, rule="completion", idle_ms=0)
    error = attempt(lambda: plan(copy, copy.commits[-2], options))
    assert isinstance(error, Refused)
    assert f"{target} is archived as completed" in error.message
    assert copy.data() == before


def test_the_archive_is_read_only_where_a_write_can_be_in_it(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_cleaned")
    timeline = load_timeline(copy.table)
    monkeypatch.setattr("hudictl.table.timeline.archived_writes.archived_among", lambda *_: pytest.fail("is read"))
    assert archived_as_completed(copy.table, timeline, {copy.commits[1], LATER}) == frozenset()
