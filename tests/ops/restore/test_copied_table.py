"""Version 6, copied without the times of its files: the copy's times decide nothing."""

import os
import random
from pathlib import Path

import pytest

from hudictl.errors import Refused
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.reports.health.check import check_table
from hudictl.table.timeline.active import load_timeline
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, plan, restore, roll_back, tree

# Before the tests run, and after the samples were made.
COPIED = 1_795_000_000
SEEDS = pytest.mark.parametrize("seed", range(6))


def copied(copy: Copy, seed: int) -> Copy:
    """All files get another time, in any order, 20 ms apart."""
    paths = sorted(path for path in copy.path.rglob("*") if path.is_file())
    random.Random(seed).shuffle(paths)
    for number, path in enumerate(paths):
        at_ns = COPIED * 10**9 + number * 20 * 10**6
        os.utime(path, ns=(at_ns, at_ns))
    return copy


def findings(copy: Copy) -> list[str]:
    return [entry.finding for entry in check_table(copy.table, ENGINE, 0).findings]


@SEEDS
def test_what_is_refused_on_the_original_is_refused_on_the_copy(unpack: Unpack, seed: int) -> None:
    """A clean has taken the files. By the copy's times, commits in the middle of the history were removed."""
    copy = copied(unpack("v6", "cow_cleaned"), seed)
    before = tree(copy.path)
    with pytest.raises(Refused, match="required file"):
        restore(copy, copy.commits[0], options=RestoreOptions(to_instant=True))
    assert tree(copy.path) == before


@SEEDS
@pytest.mark.parametrize("name", ["cow_part", "mor_part"])
def test_a_restore_removes_all_that_was_requested_later(unpack: Unpack, name: str, seed: int) -> None:
    original = plan(unpack("v6", name), unpack("v6", name).commits[2], RestoreOptions(to_instant=True))
    copy = copied(unpack("v6", name), seed)
    made = plan(copy, copy.commits[2], RestoreOptions(to_instant=True))
    assert [entry.time for entry in made.undo.removals] == [entry.time for entry in original.undo.removals]
    assert made.overlaps == ()


@SEEDS
def test_the_newest_commit_can_be_rolled_back(unpack: Unpack, seed: int) -> None:
    copy = copied(unpack("v6", "cow_cleaned"), seed)
    newest = copy.commits[-1]
    with pytest.raises(Refused, match="later commits may build on"):
        roll_back(copy, copy.commits[-2])
    roll_back(copy, newest)
    assert newest not in copy.commits


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_check_says_it_of_the_version_whose_names_have_no_completion_times(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    assert "times-not-kept" not in findings(copy)
    copied(copy, 1)
    assert ("times-not-kept" in findings(copy)) is (version == "v6")


def test_one_instant_whose_file_was_put_back(unpack: Unpack, tmp_path: Path) -> None:
    """Only its own completion time is lost."""
    copy = unpack("v6", "cow_part")
    honest = {entry.time: entry.completion_time for entry in load_timeline(copy.table).completed_writes()}
    early = copy.commits[1]
    for file in copy.timeline.glob(f"{early}.*"):
        os.utime(file, (COPIED, COPIED))
    found = {entry.time: entry.completion_time for entry in load_timeline(copy.table).completed_writes()}
    assert found == honest | {early: early}
