"""Which files a savepoint must name, and which of them no name protects."""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import pytest

from hudictl.errors import Unreadable
from hudictl.formats.file_names import PARTITION_METAFILE, parse_data_file
from hudictl.state.facts import Facts, read_facts, read_signs
from hudictl.state.files import savepoint_files as protection
from hudictl.state.files.needed import Names, Outcome, judged
from hudictl.state.files.partition import NO_RECORDS, PackedRecords, Records, View
from hudictl.state.files.protected import outside, protect
from hudictl.state.files.savepoint_files import WayBack, savepoint_map, unprotected, ways_back
from hudictl.state.timeline.targets import find_commit
from hudictl.table.files.saved import NOTHING_SAVED, SavedNames, kept_saved
from hudictl.table.files.slices import Committed
from hudictl.table.files.sweep import Partition
from hudictl.table.rules import Rules, rules_of
from hudictl.workers import Listing, pack
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, drop, files_of, put, required

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
    named, _ = savepoint_map(facts, commit, ways_back(facts, commit, NOTHING_SAVED))
    return {f"{partition}/{name}" for partition, names in named.items() for name in names}


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


def test_of_a_group_with_logs_it_names_the_slice_of_its_commit_alone() -> None:
    """Whatever slices came later."""
    first, later = ("20261121000000100", "20261121000000300")
    names = [f"f-0_0-1-1_{first}.parquet", f".f-0_{first}.log.1_0-1-1", f"f-0_0-1-1_{later}.parquet"]
    listing = pack(Listing("p", tuple((name, 7, 0) for name in (PARTITION_METAFILE, *names)), ()))
    for rules in (V6, V9):
        view = View(rules, Committed({first: first, later: later}, first), frozenset())
        found = {target: protect([], view, target, Partition("p", listing)) for target in (first, later)}
        assert [entry.names.split("/") for entry in found.values() if entry] == [sorted(names[:2]), names[2:]]
        assert [entry.size for entry in found.values() if entry] == [14, 7]


def lacking(
    rules: Rules,
    names: Iterable[str],
    protected: Names,
    records: PackedRecords = NO_RECORDS,
    committed: Committed = Committed({}, "3"),  # noqa: B008  (frozen)
) -> list[str]:
    """What is not protected of a partition of which readers need some files."""
    listing = pack(Listing("p", tuple((name, 7, 0) for name in (PARTITION_METAFILE, *names)), ()))
    view = View(rules, committed, frozenset())
    named = protected.get("p")
    saved = [SavedNames("/".join(named))] if named else []
    place = Partition("p", listing, saved=saved, given=records)
    return sorted(outside(view, place) or ())


def test_a_name_protects_its_whole_slice_below_version_8_and_itself_from_then_on() -> None:
    names = [BASE, LOG, OTHER]
    assert lacking(V6, names, {"p": (BASE,)}) == []
    assert lacking(V6, names, {"p": (OTHER,)}) == []
    assert lacking(V6, names, {"q": (BASE,)}) == [f"p/{LOG}", f"p/{OTHER}", f"p/{BASE}"]
    assert lacking(V9, names, {"p": (BASE, OTHER)}) == [f"p/{LOG}"]


SECOND = "20261121000000300"
COMPACTED = f"f-0_0-1-1_{SECOND}.parquet"
READ = PackedRecords(Records(compacted={"f-0": {SECOND: {BASE, LOG}}}))


@pytest.mark.parametrize("rules", [V6, V9], ids=["v6", "v9"])
def test_the_slice_before_a_compaction_protects_its_rows(rules: Rules) -> None:
    """A clean may take the compaction's slice: readers use the one before then. Not where a file that it has read is
    not protected, or not there, nor where rows of a kept commit are in the compaction's slice."""
    first = LOG.split("_")[1].split(".")[0]
    committed = Committed({first: first, SECOND: SECOND}, first)
    lack = partial(lacking, rules, committed=committed)
    both = {"p": (BASE, LOG)}
    assert lack([BASE, LOG, COMPACTED], both, READ) == []
    assert lack([BASE, LOG, COMPACTED], both) == [f"p/{COMPACTED}"]
    assert lack([BASE, COMPACTED], {"p": (BASE,)}, READ) == [f"p/{COMPACTED}"]
    assert lack([BASE, LOG, COMPACTED], {"q": both["p"]}, READ) == [f"p/{COMPACTED}"]


def test_logs_of_later_commits_are_not_called_required_below_version_8() -> None:
    """Their names are those of the compaction's slice, whoever wrote them; a record tells those with rows."""
    log = f".f-0_{SECOND}.log.1_0-1-1"
    lack = partial(lacking, V6, committed=Committed({SECOND: SECOND}, SECOND))
    assert lack([BASE, LOG, COMPACTED, log], {"p": (BASE, LOG)}, READ) == []
    assert lack([COMPACTED, log], {"q": ()}) == [f"p/{COMPACTED}"]
    told = replace(READ, written=((SECOND, log),))
    assert lack([BASE, LOG, COMPACTED, log], {"p": (BASE, LOG)}, told) == [f"p/{log}", f"p/{COMPACTED}"]


def test_the_way_back_of_which_most_is_protected_counts(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is not possible any more counts for nothing, however little it lacks."""
    facts = facts_of(unpack("v9", "cow_part"))
    case = judged(facts, (), NOTHING_SAVED)[0]
    most, least = WayBack(case, Outcome()), WayBack(replace(case, named=frozenset()), Outcome())
    impossible = WayBack(case, Outcome(missing=("p/lost",)))
    lacks = {id(most.case): [LOG], id(least.case): [LOG, OTHER]}
    monkeypatch.setattr(protection, "_outside", lambda facts, case: lacks[id(case)])
    for ways in ([most, least], [least, most]):
        assert unprotected(facts, ways) == [LOG]
    assert unprotected(facts, [impossible, least]) == [LOG, OTHER]
    assert unprotected(facts, [impossible]) == []


def test_without_the_plans_of_compactions_no_older_slice_is_enough(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is damaged ends neither `check` nor the completion of a savepoint."""
    facts = facts_of(unpack("v9", "cow_part"))
    case = judged(facts, (), NOTHING_SAVED)[0]

    def damaged(*_: object) -> None:
        raise Unreadable("a plan")

    monkeypatch.setattr(protection, "_looked_outside", lambda _facts, _case: [LOG])
    monkeypatch.setattr(protection, "with_compacted", damaged)
    assert unprotected(facts, [WayBack(case, Outcome())]) == [LOG]


@VERSIONS
def test_what_a_savepoint_names_is_missed_where_it_is_gone(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    older = next(path for path in sorted(copy.data()) if path.endswith(f"_{copy.commits[0]}.parquet"))
    partition, _, name = older.rpartition("/")
    drop(copy.path / older)
    facts = facts_of(copy)
    commit = find_commit(facts.table, facts.timeline, copy.commits[-1])
    assert [way.outcome.missing for way in ways_back(facts, commit, NOTHING_SAVED)] == [()]
    assert [way.outcome.missing for way in ways_back(facts, commit, kept_saved({partition: (name,)}))] == [(older,)]


@VERSIONS
def test_every_partition_has_an_entry_and_no_name_is_of_a_file_that_is_gone(unpack: Unpack, version: str) -> None:
    """Hudi reads an entry of each partition; a name that leads nowhere would be a promise."""
    copy = unpack(version, "cow_part")
    put(copy.path / "empty/.hoodie_partition_metadata", b"commitTime=1\n")
    lost = next(path for path in sorted(mapped(copy, copy.commits[-1])))
    drop(copy.path / lost)
    facts = facts_of(copy)
    commit = find_commit(facts.table, facts.timeline, copy.commits[-1])
    ways = ways_back(facts, commit, NOTHING_SAVED)
    assert [way.outcome.missing for way in ways] == [(lost,)]
    named, size = savepoint_map(facts, commit, ways)
    assert size == sum((copy.path / path / name).stat().st_size for path, names in named.items() for name in names)
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
        files = [required(copy.table, way.case).values() for way in ways_back(facts, commit, NOTHING_SAVED)]
        needs = [{file.path for file in found if file.size is not None} for found in files]
        differ += len(needs) > 1 and needs[0] != needs[1]
        assert set().union(*needs) <= mapped(copy, instant)
    assert differ


@VERSIONS
def test_what_the_target_has_replaced_is_not_named_and_what_was_replaced_later_is(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cluster")
    facts = facts_of(copy)
    replacing = next(entry for entry in facts.timeline.having("replacecommit") if entry.completed)
    groups = {(part, one) for part, ids in facts.commits[replacing.time].replaced.items() for one in ids}
    replaced = {file.path for file in files_of(facts.sweep) if file.group in groups}
    assert replaced
    assert not mapped(copy, replacing.time) & replaced
    before = max(time for time in copy.commits if time < replacing.time)
    newest = {max(path for path in replaced if path.startswith("/".join(group))) for group in groups}
    assert newest <= mapped(copy, before)
    # The same where the commit is read as a whole.
    table = copy.table
    whole = read_facts(table, ENGINE, read_signs(table), removed=[replacing.time])
    for time, there in ((replacing.time, False), (before, True)):
        commit = find_commit(table, whole.timeline, time)
        named, _ = savepoint_map(whole, commit, ways_back(whole, commit, NOTHING_SAVED))
        paths = {f"{partition}/{name}" for partition, names in named.items() for name in names}
        assert bool(paths & replaced) == there


def test_it_names_later_logs_of_a_slice_as_hudi_does(unpack: Unpack) -> None:
    """From version 8 on no way back needs them; Hudi's own savepoint holds the newest slice whole (1.0.2, 1.2.0)."""
    copy = unpack("v9", "mor_part")
    facts = facts_of(copy)
    later = 0
    for instant in copy.commits:
        commit = find_commit(facts.table, facts.timeline, instant)
        needed = {path for way in ways_back(facts, commit, NOTHING_SAVED) for path in required(copy.table, way.case)}
        more = mapped(copy, instant) - needed
        assert all(data is not None and data.instant > instant for data in map(parse_data_file, names_of(more)))
        later += len(more)
    assert later


def names_of(paths: Iterable[str]) -> list[str]:
    return [path.rpartition("/")[2] for path in paths]
