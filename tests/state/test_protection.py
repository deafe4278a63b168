"""Which files a savepoint must name, and which of them no name protects."""

import re
from collections.abc import Iterable

import pytest

from hudictl.formats.file_names import parse_data_file
from hudictl.state.facts import Facts, read_facts, read_signs
from hudictl.state.needed import Outcome
from hudictl.state.protection import outcomes_at, savepoint_map, unprotected
from hudictl.state.targets import find_commit
from hudictl.table.file_view import StoredFile
from hudictl.table.rules import rules_of
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, drop, put

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
V6, V9 = rules_of(6, 1), rules_of(9, 2)
BASE = "f-0_0-1-1_20261121000000100.parquet"
LOG = ".f-0_20261121000000100.log.1_0-1-1"
OTHER = ".f-0_20261121000000100.log.2_0-1-1"


def facts_of(copy: Copy) -> Facts:
    table = copy.table
    return read_facts(table, ENGINE, read_signs(table))


def mapped(copy: Copy, instant: str) -> set[str]:
    facts = facts_of(copy)
    commit = find_commit(facts.table, facts.timeline, instant)
    named = savepoint_map(facts, commit, outcomes_at(facts, commit, {}))
    return {f"{partition}/{name}" for partition, names in named.items() for name in names}


def needing(names: Iterable[str], missing: Iterable[str] = (), size: int | None = 7) -> Outcome:
    """A way back that needs some files of one partition."""
    parsed = [data for name in names if (data := parse_data_file(name)) is not None]
    files = [StoredFile("p", data, size) for data in parsed]
    return Outcome({file.path: file for file in files}, tuple(missing), ())


def test_an_empty_log_is_not_named(unpack: Unpack) -> None:
    """A restore deletes it then: with it no writer of 0.15.0 could make the metadata table anew."""
    copy = unpack("v6", "mor_part")
    commit = copy.commits[-1]
    log = max(path for path in mapped(copy, commit) if ".log." in path)
    empty = re.sub(r"\.log\.\d+_.*", ".log.99_7-7-7", log)
    before = mapped(copy, commit)
    put(copy.path / empty)
    assert mapped(copy, commit) == before
    put(copy.path / empty, b"a block")
    assert mapped(copy, commit) == before | {empty}


def test_a_name_protects_its_whole_slice_below_version_8_and_itself_from_then_on() -> None:
    way = needing([BASE, LOG, OTHER])
    assert unprotected(V6, [way], {"p": (BASE,)}) == []
    assert unprotected(V6, [way], {"p": (OTHER,)}) == []
    assert unprotected(V6, [way], {"q": (BASE,)}) == [f"p/{LOG}", f"p/{OTHER}", f"p/{BASE}"]
    assert unprotected(V9, [way], {"p": (BASE, OTHER)}) == [f"p/{LOG}"]


def test_the_way_back_of_which_most_is_protected_counts() -> None:
    """One that is not possible any more counts for nothing, however little it lacks."""
    most, least = needing([BASE, LOG]), needing([BASE, LOG, OTHER])
    for ways in ([most, least], [least, most]):
        assert unprotected(V9, ways, {"p": (BASE,)}) == [f"p/{LOG}"]
    impossible = needing([BASE], missing=["p/lost"])
    assert unprotected(V9, [impossible, most], {"p": (BASE,)}) == [f"p/{LOG}"]
    assert unprotected(V9, [impossible], {}) == []


@VERSIONS
def test_what_a_savepoint_names_is_missed_where_it_is_gone(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    older = next(path for path in sorted(copy.data()) if path.endswith(f"_{copy.commits[0]}.parquet"))
    partition, _, name = older.rpartition("/")
    drop(copy.path / older)
    facts = facts_of(copy)
    commit = find_commit(facts.table, facts.timeline, copy.commits[-1])
    assert [outcome.missing for outcome in outcomes_at(facts, commit, {})] == [()]
    assert [outcome.missing for outcome in outcomes_at(facts, commit, {partition: (name,)})] == [(older,)]


@VERSIONS
def test_every_partition_has_an_entry_and_no_name_is_of_a_file_that_is_gone(unpack: Unpack, version: str) -> None:
    """Hudi reads an entry of each partition; a name that leads nowhere would be a promise."""
    copy = unpack(version, "cow_part")
    put(copy.path / "empty/.hoodie_partition_metadata", b"commitTime=1\n")
    lost = next(path for path in sorted(mapped(copy, copy.commits[-1])))
    drop(copy.path / lost)
    facts = facts_of(copy)
    commit = find_commit(facts.table, facts.timeline, copy.commits[-1])
    outcomes = outcomes_at(facts, commit, {})
    assert [outcome.missing for outcome in outcomes] == [(lost,)]
    named = savepoint_map(facts, commit, outcomes)
    assert named["empty"] == ()
    partition, _, name = lost.rpartition("/")
    assert name not in named[partition]


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_it_names_what_each_way_back_needs(overlap: Unpack, version: str) -> None:
    """The ways differ by an instant that was requested on one side of the target and completed on the other."""
    copy = overlap(version, "cow_clustering")
    facts = facts_of(copy)
    differ = 0
    for instant in copy.commits:
        commit = find_commit(facts.table, facts.timeline, instant)
        outcomes = outcomes_at(facts, commit, {})
        needs = [{file.path for file in one.files.values() if file.size is not None} for one in outcomes]
        differ += len(needs) > 1 and needs[0] != needs[1]
        assert set().union(*needs) <= mapped(copy, instant)
    assert differ


@VERSIONS
def test_what_the_target_has_replaced_is_not_named_and_what_was_replaced_later_is(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cluster")
    facts = facts_of(copy)
    replacing = next(entry for entry in facts.timeline.having("replacecommit") if entry.completed)
    groups = {(part, one) for part, ids in facts.commits[replacing.time].replaced.items() for one in ids}
    replaced = {file.path for file in facts.sweep.files if file.group in groups}
    assert replaced
    assert not mapped(copy, replacing.time) & replaced
    before = max(time for time in copy.commits if time < replacing.time)
    newest = {max(path for path in replaced if path.startswith("/".join(group))) for group in groups}
    assert newest <= mapped(copy, before)


def test_it_names_later_logs_of_a_slice_as_hudi_does(unpack: Unpack) -> None:
    """From version 8 on no way back needs them; Hudi's own savepoint holds the newest slice whole (1.0.2, 1.2.0)."""
    copy = unpack("v9", "mor_part")
    facts = facts_of(copy)
    later = 0
    for instant in copy.commits:
        commit = find_commit(facts.table, facts.timeline, instant)
        needed = {path for outcome in outcomes_at(facts, commit, {}) for path in outcome.files}
        more = mapped(copy, instant) - needed
        assert all(data is not None and data.instant > instant for data in map(parse_data_file, names_of(more)))
        later += len(more)
    assert later


def names_of(paths: Iterable[str]) -> list[str]:
    return [path.rpartition("/")[2] for path in paths]
