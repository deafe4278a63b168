"""Two writes side by side: rolled back alone, where each has file groups of its own."""

import os
import re

import pytest

from hudictl.errors import Refused
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.state.facts import read_signs
from hudictl.state.timeline.unfinished import find_unfinished
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, plan, put, roll_back, rollback_of, rollback_plan, savepoint

ARMED = "20261130040000000"
TO_INSTANT = RestoreOptions(to_instant=True)


def without_last(overlap: Unpack, version: str, name: str) -> tuple[Copy, dict[str, str]]:
    """S was requested after T, and completed before it; what came after both is rolled back."""
    copy, instants = overlap(version, name), support.overlap_facts(version, name)["instants"]
    for later in sorted((time for time in copy.commits if time > instants["S"]), reverse=True):
        roll_back(copy, later)
    return copy, instants


def remedies(copy: Copy) -> list[str]:
    (found,) = find_unfinished(copy.table, read_signs(copy.table), 0)
    return [remedy.command for remedy in found.remedy]


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", ["cow_writer", "mor_writer", "cow_clustering"])
@pytest.mark.parametrize("which", ["S", "T"])
def test_either_goes(overlap: Unpack, version: str, name: str, which: str) -> None:
    copy, instants = without_last(overlap, version, name)
    put(copy.timeline / f"{ARMED}.rollback.requested", rollback_plan(instants[which]))
    # Hudi's own rollback of T fails at S, which was requested later: nobody is to begin it.
    assert (f"hudictl rollback {instants[which]}" in remedies(copy)) is (which == "S")
    (copy.timeline / f"{ARMED}.rollback.requested").unlink()
    roll_back(copy, instants[which])
    assert instants[which] not in copy.commits


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("which", ["S", "T"])
def test_neither_goes_where_both_have_changed_a_file_group(overlap: Unpack, version: str, which: str) -> None:
    copy, instants = without_last(overlap, version, "mor_compaction")
    other = instants["T" if which == "S" else "S"]
    with pytest.raises(Refused, match=f"later commits may build on {instants[which]}: {other}") as caught:
        rollback_of(copy, instants[which])
    assert "neither of two commits" in caught.value.hint
    (before,) = re.findall(r"hudictl restore --to-instant=(\d+)", caught.value.hint)
    assert {instants["S"], instants["T"]} <= {*plan(copy, before, TO_INSTANT).undo.removed}
    assert "roll these commits back first" not in caught.value.hint
    put(copy.timeline / f"{ARMED}.rollback.requested", rollback_plan(instants[which]))
    assert not any("hudictl rollback" in command for command in remedies(copy))


@pytest.mark.parametrize("version", support.VERSIONS)
def test_an_older_one_does_not_go_by_the_newest_of_two_side_by_side(overlap: Unpack, version: str) -> None:
    copy, instants = without_last(overlap, version, "mor_compaction")
    older = max(time for time in copy.commits if time < min(instants["S"], instants["T"]))
    with pytest.raises(Refused, match=f"later commits may build on {older}") as caught:
        rollback_of(copy, older)
    assert "roll these commits back first" not in caught.value.hint


@pytest.mark.parametrize("version", support.VERSIONS)
def test_the_one_restore_is_not_to_a_write_that_ended_later(overlap: Unpack, version: str) -> None:
    copy, instants = overlap(version, "cow_writer"), support.overlap_facts(version, "cow_writer")["instants"]
    with pytest.raises(Refused, match=f"later commits may build on {instants['S']}") as caught:
        rollback_of(copy, instants["S"])
    (before,) = re.findall(r"hudictl restore --to-instant=(\d+)", caught.value.hint)
    assert instants["S"] in plan(copy, before, TO_INSTANT).undo.removed


def test_completed_in_the_same_moment_is_later(overlap: Unpack) -> None:
    """Some stores keep times in seconds: then only the requested times tell them apart."""
    copy, instants = without_last(overlap, "v6", "cow_writer")
    done = copy.file(instants["T"], "commit").stat()
    os.utime(copy.file(instants["S"], "commit"), ns=(done.st_atime_ns, done.st_mtime_ns))
    with pytest.raises(Refused, match="later commits may build on"):
        rollback_of(copy, instants["T"])
    assert rollback_of(copy, instants["S"]).target == instants["S"]


def test_no_rollback_of_a_savepointed_commit_is_named(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    savepoint(copy, copy.commits[-1])
    put(copy.timeline / f"{ARMED}.rollback.requested", rollback_plan(copy.commits[-1]))
    assert remedies(copy) == ["hudictl resume --discard-rollbacks"]
