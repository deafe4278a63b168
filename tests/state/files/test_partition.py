"""What becomes of a partition: on made-up histories, by the hundred, no plan takes what the result needs."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudictl.formats.file_names import parse_data_file
from hudictl.state.files.partition import PackedRecords, Records, Verdict, View, judge
from hudictl.table.files.saved import SavedNames
from hudictl.table.files.slices import Committed, StoredFile
from hudictl.table.files.written import Written
from hudictl.table.rules import rules_of
from tests.state.files.partition_support import (
    COMPACTION,
    GROUPS,
    LATE,
    MANY,
    OLD,
    PATH,
    START,
    TIMES,
    VERSIONS,
    History,
    base,
    histories,
    log,
    stored,
)


@pytest.mark.slow
@MANY
@given(histories())
def test_what_goes_is_a_removed_instants_own_and_nothing_else(history: History) -> None:
    """One reason: the name, and a record of the instant that names the partition. The rest with such a name stays."""
    verdict = history.judged()
    for file in verdict.removed:
        assert file.data.instant in history.view.removed
        assert file.data.instant in history.records.owners
    named = {file.path for file in history.files if file.data.instant in history.view.removed}
    assert {file.path for file in (*verdict.removed, *verdict.unproved)} == named


@pytest.mark.slow
@MANY
@given(histories())
def test_what_goes_and_is_needed_is_a_contradiction(history: History) -> None:
    """The other reason: no slice of the result, no kept commit, no pending plan needs it; else nothing is changed."""
    verdict = history.judged()
    contradicted = {entry.path for entry in verdict.contradictions}
    needed = {file.path for file in verdict.needed}
    for file in verdict.removed:
        told = file.data.name in history.records.written or file.data.name in history.records.planned
        assert (file.path in contradicted) is (file.path in needed or told)


@pytest.mark.slow
@MANY
@given(histories())
def test_the_planned_outcome_is_judged_as_the_plan_was(history: History) -> None:
    """Without the files that go, and without a contradiction, the same is needed, and nothing is left to go."""
    before = history.judged()
    if before.contradictions:
        return
    going = {file.path for file in before.removed}
    after = replace(history, files=tuple(file for file in history.files if file.path not in going)).judged()
    assert {file.path for file in after.needed} == {file.path for file in before.needed}
    assert set(after.missing) == set(before.missing)
    assert (after.removed, set(after.unproved)) == ((), set(before.unproved))


@pytest.mark.slow
@MANY
@given(histories(), st.randoms())
def test_it_does_not_depend_on_the_listings_order(history: History, order: object) -> None:
    shuffled = list(history.files)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    again = replace(history, files=tuple(shuffled)).judged()
    assert {file.path for file in again.needed} == {file.path for file in history.judged().needed}


@pytest.mark.slow
@MANY
@given(histories())
def test_readers_find_the_newest_committed_base_of_each_group(history: History) -> None:
    """A model of its own: whatever else is needed, the newest committed base file that is there is among it, unless a
    record knows of a newer one, or the group is replaced."""
    view, records = history.view, history.records
    needed = {file.path for file in history.judged().needed}
    known = {*records.written, *records.saved, *records.cleaned}
    for group in set(GROUPS) - records.replaced:
        bases = [file for file in history.files if file.data.is_base and file.data.file_id == group]
        seen = [file for file in bases if file.data.instant in view.committed]
        newest = max(seen, key=lambda file: file.data.instant, default=None)
        told = [data.instant for name in known if (data := parse_data_file(name)) and data.file_id == group]
        opened = records.compactions.get(group, "")
        logs = [file.data.instant for file in history.files if not file.data.is_base and file.data.file_id == group]
        if newest is not None and all(time <= newest.data.instant for time in (*told, *logs, opened)):
            assert newest.path in needed


def read_while_pending(history: History, group: str, gone: Collection[str]) -> set[str]:
    """A model of Hudi's from table version 8 on: the logs that readers take of a group while the removed instants are
    pending. Their files that are not ``gone`` begin slices, too."""
    committed = history.view.committed
    files = [file.data for file in history.files if file.data.file_id == group and file.path not in gone]
    slices: dict[str, list[str]] = {data.instant: [] for data in files if data.is_base}
    for data in sorted((data for data in files if not data.is_base), key=lambda data: data.log_order):
        key = data.instant
        if slices and key in committed:
            ended = committed.completion.get(key, key)
            key = max((other for other in slices if other <= ended), default=key)
        elif slices:
            key = max(slices)
        slices.setdefault(key, [])
        if data.instant in committed:
            slices[key].append(data.name)
    return set(slices[max(seen)]) if (seen := [key for key in slices if key in committed]) else set()


@pytest.mark.slow
@settings(MANY, max_examples=1000)
@given(histories())
def test_without_what_goes_first_readers_have_their_rows_while_the_rest_goes(history: History) -> None:
    """No file goes first without need; groups with a pending compaction are another matter."""
    verdict = history.judged()
    if not history.view.rules.has_completion_times:
        assert verdict.hiding == ()
        return
    going = {file.path for file in verdict.removed}
    first = {file.path for file in verdict.hiding}
    # The job that deletes the rest may take base files before logs.
    halves = (first, first | {file.path for file in verdict.removed if file.data.is_base})
    assert first <= going
    for group in set(GROUPS) - history.records.replaced - history.records.compactions.keys():
        strange = [f for f in history.files if f.data.instant not in history.view.committed and f.path not in going]
        if not any(file.data.file_id == group for file in strange):
            own = {file.path for file in verdict.hiding if file.data.file_id == group}
            whole = read_while_pending(history, group, going)
            assert all(read_while_pending(history, group, half) == whole for half in halves)
            for path in own if len(own) == 1 else ():
                assert any(read_while_pending(history, group, half - {path}) != whole for half in halves)


def view_without(*removed: str) -> View:
    done = {time: time for time in TIMES if time not in removed}
    return View(rules_of(9, 2), Committed(done, START), frozenset(removed))


def test_what_was_packed_is_what_is_unpacked() -> None:
    """Of a file that two commits name, the later one counts."""
    others, view = Records(cleaned=frozenset({"gone"})), view_without()
    assert PackedRecords(others).unpack(view) == others
    written = {"one": TIMES[1], "two": TIMES[2], "three": TIMES[2]}
    saved = frozenset({base("a-0", TIMES[1]), log("a-0", TIMES[2])})
    packed, named = PackedRecords(others, ((TIMES[1], "one/two"), (TIMES[2], "two/three"))), SavedNames("/".join(saved))
    assert packed.unpack(view, (), [named]) == replace(others, written=written, saved=saved)
    assert packed.unpack(view) == replace(others, written=written)
    assert PackedRecords(others).unpack(view, (), [named, SavedNames("")]) == replace(others, saved=saved)


def test_what_writes_name_is_added_by_whether_they_are_removed() -> None:
    """Whoever has it: the driver, or the engine. Of a file that two of them name, the later one counts."""
    others = Records(replaced=frozenset({"a"}), revived=frozenset({"b"}))
    first, second, third = (
        Written(TIMES[1], "one/two", replaced=("c",)),
        Written(TIMES[2], "two", replaced=("d",)),
        Written(TIMES[3], replaced=("e",)),
    )
    packed = PackedRecords(others, ((TIMES[0], "one/zero"),))
    assert packed.unpack(view_without(TIMES[3], TIMES[1]), [second, first, third]) == replace(
        others,
        written={"one": TIMES[0], "zero": TIMES[0], "two": TIMES[2]},
        replaced=frozenset({"a", "d"}),
        revived=frozenset({"b", "c", "e"}),
    )
    named = packed.unpack(view_without(), [second, first]).written
    assert named == {"zero": TIMES[0], "one": TIMES[1], "two": TIMES[2]}
    assert PackedRecords(others).unpack(view_without(TIMES[3]), [third]).revived == frozenset({"b", "e"})


def verdict(version: int, files: Mapping[str, int], records: Records, done: Mapping[str, str]) -> Verdict:
    view = View(rules_of(version, VERSIONS[version]), Committed(done, START), frozenset())
    return judge(PATH, [stored(name, size) for name, size in files.items()], records, view)


def lost(
    *, read: frozenset[str], there: Mapping[str, int], written: Mapping[str, str], cleaned: bool = True
) -> Verdict:
    """A file group whose compaction's base file is gone."""
    records = Records(
        written={base("a-0", COMPACTION): COMPACTION, **written},
        cleaned=frozenset({base("a-0", COMPACTION), log("a-0", COMPACTION)}) if cleaned else frozenset(),
        compacted={"a-0": {COMPACTION: read}},
    )
    done = {OLD: OLD, COMPACTION: LATE}
    return verdict(6, there, records, done)


BEFORE = frozenset({base("a-0", OLD), log("a-0", OLD)})


def test_where_a_compactions_slice_is_lost_and_the_one_before_is_whole_that_one_is_read() -> None:
    """As readers do after a restore beyond later compactions (seen on 0.15.0): it holds the same rows."""
    found = lost(read=BEFORE, there=dict.fromkeys(BEFORE, 7), written={})
    assert ({file.data.name for file in found.needed}, found.missing) == (BEFORE, ())


def test_not_where_no_clean_has_taken_it() -> None:
    """Something else has: the metadata table goes on listing the file."""
    found = lost(read=BEFORE, there=dict.fromkeys(BEFORE, 7), written={}, cleaned=False)
    assert f"{PATH}/{base('a-0', COMPACTION)}" in found.missing


def test_not_where_something_of_the_slice_before_is_gone_too() -> None:
    found = lost(read=BEFORE, there={base("a-0", OLD): 7}, written={})
    assert f"{PATH}/{base('a-0', COMPACTION)}" in found.missing


def test_not_where_a_commit_that_counts_has_written_to_the_lost_slice() -> None:
    found = lost(read=BEFORE, there=dict.fromkeys(BEFORE, 7), written={log("a-0", COMPACTION): LATE})
    assert f"{PATH}/{log('a-0', COMPACTION)}" in found.missing


def test_not_where_a_part_of_the_slice_is_left() -> None:
    """Readers would take that part alone."""
    found = lost(read=BEFORE, there={**dict.fromkeys(BEFORE, 7), log("a-0", COMPACTION): 7}, written={})
    assert f"{PATH}/{base('a-0', COMPACTION)}" in found.missing


def test_of_a_compaction_whose_plan_stays_only_base_files_go() -> None:
    """Later writes lie in the logs under its name."""
    files = tuple(stored(name) for name in (base("a-0", OLD), base("a-0", COMPACTION), log("a-0", COMPACTION)))
    gone = frozenset({COMPACTION})
    view = View(rules_of(6, 1), Committed({OLD: OLD, LATE: LATE}, START), gone, bases_only=gone)
    for owners in (gone, frozenset[str]()):
        found = judge(PATH, files, Records(owners=owners), view)
        assert [file.data.name for file in (*found.removed, *found.unproved)] == [base("a-0", COMPACTION)]


def test_a_slice_without_its_base_file_is_misnamed_where_readers_use_it() -> None:
    """Below version 8; not of a group that is replaced, nor where a later base file is."""
    files = [stored(name) for name in (base("a-0", TIMES[1]), log("a-0", TIMES[2]))]
    later = stored(base("a-0", TIMES[3]))

    def misnamed(files: list[StoredFile], version: int = 6, **records: Any) -> int:
        view = View(rules_of(version, VERSIONS[version]), Committed({time: time for time in TIMES}, START), frozenset())
        return len(judge(PATH, files, Records(**records), view).misnamed)

    assert misnamed(files) == 1
    assert misnamed(files, replaced=frozenset({"a-0"})) == 0
    assert misnamed([*files, later]) == 0
    assert misnamed(files[1:]) == 0
    assert misnamed(files, version=8) == 0
    assert misnamed(files, compactions={"a-0": TIMES[2]}) == 0
