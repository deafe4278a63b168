"""The .hoodie of yesterday over the data of today: nothing goes on from there unless the operator says so."""

from dataclasses import replace

import pytest

from hudictl.errors import Refused
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.ops.savepoint.planning import plan_savepoint
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, in_the_middle, restore, roll_back, savepoint, session, tree
from tests.ops.rollback.together_support import OPTIONS, assert_gone, clean, many
from tests.state.orphans.find_support import LATER, lose, orphan, stray

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
LOST = "newest instants of the timeline seem to be missing"
RESTORE = RestoreOptions(to_instant=True, idle_ms=0)
ROLLBACK = RollbackOptions(idle_ms=0)
SAVEPOINT = SavepointOptions(idle_ms=0)


def refused(copy: Copy, *, known: str) -> None:
    """``known`` is the newest write that is on the timeline."""
    before = tree(copy.path)
    for act in (
        lambda: restore(copy, copy.commits[0], options=RESTORE),
        lambda: roll_back(copy, known, options=ROLLBACK),
        lambda: savepoint(copy, known, SAVEPOINT),
    ):
        with pytest.raises(Refused, match=LOST) as refusal:
            act()
        assert "--accept-lost-instants" in refusal.value.hint
    assert tree(copy.path) == before


@VERSIONS
@pytest.mark.parametrize("name", ["cow_flat_nomdt", "cow_part"])
def test_a_timeline_without_its_end_is_refused(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    lose(copy, copy.commits[-1])
    refused(copy, known=copy.commits[-1])


@VERSIONS
def test_the_operator_can_go_on_and_the_files_stay(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    files = lose(copy, copy.commits[-1])
    target, known = copy.commits[1], copy.commits[-1]
    savepoint(copy, target, replace(SAVEPOINT, accept_lost_instants=True))
    roll_back(copy, known, options=replace(ROLLBACK, accept_lost_instants=True))
    restore(copy, target, options=replace(RESTORE, accept_lost_instants=True))
    assert copy.commits[-1] == target
    assert files
    assert all((copy.path / path).exists() for path in files)


def test_version_6_rows_in_logs_alone_are_refused(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_part")
    lose(copy, copy.commits[-1])
    refused(copy, known=copy.commits[-1])


@VERSIONS
@pytest.mark.parametrize("count", [1, 3])
def test_pending_writes_of_such_a_timeline_are_not_rolled_back(unpack: Unpack, version: str, count: int) -> None:
    """They may have been completed since: then their rows would go. One by one, and together."""
    copy = unpack(version, "cow_part")
    times = many(copy, count)
    path = stray(copy, time_plus_ms(times[-1], 1000))
    before = tree(copy.path)
    outcomes = clean(copy)
    assert [LOST in outcome.message for outcome in outcomes] == [True] * count
    assert tree(copy.path) == before
    clean(copy, replace(OPTIONS, accept_lost_instants=True))
    assert_gone(copy, times)
    assert path in copy.data()


@VERSIONS
def test_a_write_that_begins_beside_the_plan_is_no_lost_end(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """The facts have its file, and not yet its request. Nor is one that was rolled back."""
    copy = unpack(version, "cow_flat_nomdt")
    orphan(copy, LATER)
    running = time_plus_ms(LATER, 10)
    stray(copy, running, old=False)
    in_the_middle(
        monkeypatch,
        "hudictl.ops.savepoint.planning.read_facts",
        lambda: copy.write(f"{running}.commit.requested", old=False),
    )
    assert plan_savepoint(session(copy.table), copy.commits[-1], SAVEPOINT).files
