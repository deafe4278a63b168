"""Rollbacks that keep their files, and die: those that ran together go on in the room that they share, and beside one
that is pending no other begins that keeps its own."""

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace

import pytest

from hudictl.errors import Refused, StorageFailed, Unreadable
from hudictl.ops.rollback.execute import execute_rollback, execute_rollbacks
from hudictl.ops.rollback.failed import planned, roll_back_all
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.rollback.planning import plan_rollback
from hudictl.ops.rollback.together import plan_together
from hudictl.reports.undo_list import undo_rows
from hudictl.state.facts import read_signs
from hudictl.state.pending import rollbacks_to_end
from hudictl.table.kept import room_times
from tests import support
from tests.fixtures import Unpack
from tests.helpers import OWN, At, Copy, roll_back, session
from tests.ops.put_back.undo_support import state, undo
from tests.ops.rollback.execute_support import died, newest
from tests.ops.rollback.together_support import OPTIONS, assert_gone, clean, many

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
KEEPING = replace(OPTIONS, keep_files=True, idle_ms=0)
PLAIN = replace(KEEPING, keep_files=False)


def dies_together(copy: Copy, times: Sequence[str]) -> None:
    def die() -> None:
        raise StorageFailed("the process dies here")

    plans = plan_together(session(copy.table), [(time, KEEPING) for time in reversed(times)])
    with pytest.raises(StorageFailed, match="dies here"):
        execute_rollbacks(session(copy.table, At("delete files", die)), plans)


def pending(copy: Copy) -> tuple[str, ...]:
    return rollbacks_to_end(copy.table, read_signs(copy.table).live_rollbacks).finish


def undo_all(copy: Copy) -> None:
    """As `undo list` shows them: newest first, and each is possible when its turn comes."""
    for time in sorted(room_times(copy.table), reverse=True):
        assert next(iter(undo_rows(copy.table))).possible
        undo(copy, time)


@VERSIONS
@pytest.mark.parametrize("options", [KEEPING, PLAIN], ids=["keep", "said nothing"])
def test_each_goes_on_in_the_room_that_they_share(unpack: Unpack, version: str, options: RollbackOptions) -> None:
    """Whatever the next command says: what has begun with it keeps its files."""
    copy = unpack(version, "cow_part")
    times = many(copy, 3)
    before = state(copy)
    dies_together(copy, times)
    (room,) = room_times(copy.table)
    assert len(pending(copy)) == len(times)
    for time in pending(copy):
        done = execute_rollback(session(copy.table), plan_rollback(session(copy.table), time, options))
        assert done.undo == room
    assert_gone(copy, times)
    undo_all(copy)
    assert state(copy) == before


@VERSIONS
def test_the_same_command_ends_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    times = many(copy, 3)
    before = state(copy)
    dies_together(copy, times)
    assert [one.exit_code for one in clean(copy, KEEPING)] == [0] * len(times)
    assert_gone(copy, times)
    undo_all(copy)
    assert state(copy) == before


def test_a_room_that_cannot_be_read_is_not_passed_over(unpack: Unpack) -> None:
    """Its files would be deleted for good."""
    copy = unpack("v9", "cow_part")
    times = many(copy, 3)
    dies_together(copy, times)
    (room,) = room_times(copy.table)
    (copy.path / OWN / f"undo/{room}.json").write_text("{")
    before = state(copy)
    made = plan_rollback(session(copy.table), times[0], PLAIN)
    with pytest.raises(Unreadable, match=f"{room}.json is damaged"):
        execute_rollback(session(copy.table), made)
    assert state(copy) == before


def test_beside_one_that_keeps_its_files_no_other_begins_that_does(unpack: Unpack) -> None:
    """Each would change what the other has left. One that keeps nothing may begin."""
    copy = unpack("v9", "cow_part")
    times = many(copy, 4)
    late = plan_rollback(session(copy.table), times[1], KEEPING)
    together = plan_together(session(copy.table), [(time, KEEPING) for time in times[2:]])
    died(copy, times[0], "delete files", KEEPING)
    before = state(copy)
    (rollback,) = room_times(copy.table)
    says = f"{rollback} rollback INFLIGHT is pending, and keeps its files"

    with pytest.raises(Refused, match=says) as caught:
        plan_rollback(session(copy.table), times[1], KEEPING)
    assert re.findall("`(hudictl [^`]*)`", caught.value.hint) == ["hudictl resume", f"hudictl undo {rollback}"]
    assert caught.value.hint.endswith("; then run the command again")
    with pytest.raises(Refused, match=says):
        plan_together(session(copy.table), [(time, KEEPING) for time in times[2:]])
    with pytest.raises(Refused, match=says):
        execute_rollback(session(copy.table), late)
    with pytest.raises(Refused, match=says):
        execute_rollbacks(session(copy.table), together)
    assert state(copy) == before
    assert [*room_times(copy.table)] == [rollback]
    assert plan_rollback(session(copy.table), times[1], PLAIN).resumes is None


@VERSIONS
def test_what_has_begun_is_ended_before_the_others_begin(unpack: Unpack, version: str) -> None:
    """One command does all, and its plan says so."""
    copy = unpack(version, "cow_part")
    times = many(copy, 4)
    before = state(copy)
    died(copy, times[0], "delete files", KEEPING)
    targets = [(time, KEEPING) for time in reversed(times)]
    shown = roll_back_all(session(copy.table), targets, lambda plans: [*map(planned, plans)])
    assert {one.exit_code for one in shown} == {0}

    done = clean(copy, KEEPING)
    assert [(one.instant, one.exit_code) for one in done] == [(time, 0) for time in (times[0], *times[:0:-1])]
    assert_gone(copy, times)
    assert len([*room_times(copy.table)]) == 2
    undo_all(copy)
    assert state(copy) == before


def test_one_that_supersedes_it_keeps_its_files_too(unpack: Unpack) -> None:
    """The table was moved: the paths in the first one's plan are others', so that another rollback covers it."""
    first = unpack("v9", "cow_part")
    target = newest(first)
    died(first, target, "delete files", KEEPING)
    copy = Copy("v9", "cow_part", first.path.parent / "moved")
    shutil.move(first.path, copy.path)
    before = state(copy)
    done = roll_back(copy, target, options=PLAIN)
    assert done.undo == done.rollback
    assert len([*room_times(copy.table)]) == 2
    undo(copy, done.rollback)
    assert state(copy) == before
