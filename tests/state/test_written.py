"""Commits that are read as a whole, and those whose names stay where they are decoded: the same decisions."""

import shutil
from itertools import product

import pytest

from hudictl.errors import Conflict, Unreadable
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.state.facts import Facts, read_facts, read_signs
from hudictl.state.files.instant_files import known_partitions, partitions_of
from hudictl.state.files.needed import Outcome, judged
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.open import open_table
from hudictl.table.timeline.commits import LazyCommits, raise_unreadable
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy
from tests.state.files.needed_records_support import SILENT, at, base, done, made, wrote
from tests.table.conftest import Small
from tests.table.conftest import small as small

TABLES = [("v6", "cow_cluster"), ("v6", "mor_part"), ("v8", "cow_part"), ("v9", "cow_cluster"), ("v9", "mor_part")]


def facts_of(copy: Copy, whole: tuple[str, ...] = ()) -> Facts:
    table = copy.table
    return read_facts(table, ENGINE, read_signs(table), removed=whole)


def outcome(facts: Facts, removed: tuple[str, ...]) -> Outcome:
    instants = {time: facts.timeline.at(time) for time in removed}
    return judged(facts, removed, NOTHING_SAVED, partitions_of(facts, instants, {}))[1]


@pytest.mark.parametrize(("version", "table"), TABLES)
def test_who_reads_a_commit_decides_nothing(unpack: Unpack, version: str, table: str) -> None:
    """Another way to a target may keep what the first one removes, and the reverse."""
    copy = unpack(version, table)
    writes = tuple(entry.time for entry in read_signs(copy.table).timeline.completed_writes())
    ends = [(), writes[-1:], writes[2:], writes]
    for removed in ends[:-1]:
        found = [outcome(facts_of(copy, whole), removed) for whole in ends]
        assert found[0].needed
        assert found[1:] == found[:-1]


@pytest.mark.parametrize(("version", "table"), TABLES)
def test_the_partitions_of_all_writes_are_known(unpack: Unpack, version: str, table: str) -> None:
    copy = unpack(version, table)
    facts = facts_of(copy)
    commits = [facts.commits[entry.time] for entry in facts.timeline.writes()]
    for whole, without in product(((), (copy.commits[0],)), ((), (copy.commits[-1],))):
        found = read_facts(copy.table, ENGINE, read_signs(copy.table), removed=whole, without=without)
        assert found.partitions == {path for commit in commits for path in commit.stats}
        assert known_partitions(found) >= {path for commit in commits for path in commit.replaced}
        assert found.sweep.partitions == facts.sweep.partitions


def test_a_commit_is_read_when_it_is_used_and_once(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_part")
    signs = read_signs(copy.table)
    commits = LazyCommits(copy.table, signs.timeline)
    assert len(commits) == len(copy.commits)
    assert [*commits] == sorted(copy.commits)
    assert "20000101000000000" not in commits
    time, *others = copy.commits
    for other in others:
        (copy.meta / f"{other}.commit").unlink()
    first = commits[time]
    assert first.stats
    (copy.meta / f"{time}.commit").unlink()
    assert commits[time] is first
    assert commits.get("20000101000000000", CommitMetadata()) == CommitMetadata()


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("whole", [(), (2,)])
def test_a_group_that_is_replaced_or_comes_back_whoever_reads_its_commit(
    small: Small, version: int, whole: tuple[int, ...]
) -> None:
    """In a partition where no commit has written, and the same where nothing is left of it."""
    files = {done(version, 1): SILENT, done(version, 2, "replacecommit"): wrote(replaced={"p": ["f-0"]})}
    folder = made(small, version, files, f"p/{base(1)}", f"p/{base(1, 'g-0')}")
    table = open_table(str(folder))

    def found(removed: tuple[str, ...], without: tuple[str, ...] = ()) -> Outcome:
        facts = read_facts(table, ENGINE, read_signs(table), removed=[at(number) for number in whole], without=without)
        return outcome(facts, removed)

    assert (found(()).files_needed, found((at(2),)).files_needed) == (1, 2)
    shutil.rmtree(folder / "p")
    # Though its files do not matter, because every way removes it.
    assert found((at(2),), (at(2),)).missing == ("p/f-0",)
    assert (found(()).missing, found((at(2),)).missing) == ((), ("p/f-0",))


def test_removed_and_pending_writes_have_partitions_too(small: Small) -> None:
    files = {done(6, 1): wrote(f"p/{base(1)}"), done(6, 2): wrote(f"q/{base(2)}"), f"{at(3)}.inflight": wrote("r/x")}
    table = open_table(str(made(small, 6, files, f"p/{base(1)}", f"q/{base(2)}")))
    for whole in ((), (at(2),), (at(1), at(2))):
        assert read_facts(table, ENGINE, read_signs(table), removed=whole).partitions == {"p", "q", "r"}


def test_a_commit_that_cannot_be_read_ends_planning(unpack: Unpack) -> None:
    """Only a check goes on: it tells of the commit by itself."""
    copy = unpack("v6", "cow_part")
    copy.write(f"{copy.commits[0]}.commit", b"{")
    signs = read_signs(copy.table)
    with pytest.raises(Unreadable, match=f"{copy.commits[0]}.commit"):
        read_facts(copy.table, ENGINE, signs)
    found = read_facts(copy.table, ENGINE, signs, damaged_ok=True)
    assert found.commits[copy.commits[0]] == CommitMetadata()


def test_a_commit_that_can_be_read_at_last_is_no_reason_to_go_on(unpack: Unpack) -> None:
    """Its names are not known: the engine could not read it."""
    copy = unpack("v6", "cow_part")
    commits = LazyCommits(copy.table, read_signs(copy.table).timeline)
    with pytest.raises(Conflict, match="could not be read, and then it could"):
        raise_unreadable(commits, copy.commits[:1])


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("whole", [(), (1,)])
def test_a_partition_that_is_gone_is_missed_whoever_reads_its_commit(
    small: Small, version: int, whole: tuple[int, ...]
) -> None:
    folder = made(small, version, {done(version, 1): wrote(f"p/{base(1)}")}, f"p/{base(1)}")
    shutil.rmtree(folder / "p")
    table = open_table(str(folder))
    facts = read_facts(table, ENGINE, read_signs(table), removed=[at(number) for number in whole])
    assert outcome(facts, ()).missing == (f"p/{base(1)}",)
