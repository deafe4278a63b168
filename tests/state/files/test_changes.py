"""A partition as a plan needs it: judged as by ``judge``, though its plain file groups are counted without objects."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import given

from hudictl.formats import file_names
from hudictl.formats.file_names import PARTITION_METAFILE
from hudictl.state.files.changes import Future, Judged, Weighed, tallied, weigh
from hudictl.state.files.partition import PackedRecords, Records, View
from hudictl.table.files.listed import ListedNames
from hudictl.table.files.slices import Committed, StoredFile
from hudictl.table.files.sweep import Partition
from hudictl.table.rules import rules_of
from hudictl.workers import Listing, Packed, pack
from tests.state.files.partition_support import (
    LATE,
    MANY,
    OLD,
    PATH,
    START,
    TIMES,
    History,
    base,
    histories,
    log,
    stored,
)

NEW, OPEN = TIMES[4], TIMES[8]
ARCHIVED = TIMES[0]
FIRST, SECOND = base("a-0", OLD), base("a-0", NEW)


def listing_of(files: Iterable[tuple[str, int]], *, metafile: bool = True, linked: bool = False) -> Packed:
    names = [*files, (PARTITION_METAFILE, 9)] if metafile else [*files]
    return pack(Listing(PATH, tuple((name, size, 0) for name, size in names), (), linked=linked))


def weighed(
    files: Mapping[str, int],
    records: Records | None = None,
    *,
    removed: Iterable[str] = (),
    known: Iterable[str] | None = None,
    future: Future | None = None,
    metafile: bool = True,
) -> Weighed:
    """On version 9; OPEN has not completed."""
    done = {time: time for time in (OLD, NEW, LATE) if time not in removed}
    view = View(rules_of(9, 2), Committed(done, START), frozenset(removed))
    names = None if known is None else frozenset(known)
    listing = listing_of(files.items(), metafile=metafile)
    listed = [] if names is None else [ListedNames("/".join(names))]
    given = Judged(PackedRecords(records or Records()), future)
    found = weigh(view, known is not None, False, Partition(PATH, listing, listed=listed, given=given))
    assert found is not None
    return found


def alone(*names: str) -> Weighed:
    """A partition that has only these files."""
    return weighed(dict.fromkeys(names, 7))


def paths(files: Iterable[StoredFile]) -> set[str]:
    return {file.data.name for file in files}


@pytest.fixture(autouse=True, params=[10, 1_000_000], ids=["parts", "whole"])
def part_characters(request: pytest.FixtureRequest) -> Iterator[None]:
    """A listing is looked at in parts: as small as can be, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_names, "_PART_CHARACTERS", request.param)
        yield


@pytest.mark.slow
@MANY
@given(histories())
def test_the_verdict_is_that_of_all_groups(history: History) -> None:
    """Also where half of the files are gone, and records name them."""
    for files in (history.files, history.files[::2]):
        expected = replace(history, files=files).judged()
        listing = listing_of((file.data.name, file.size or 0) for file in files)
        tally = tallied(Partition(PATH, listing), history.records, history.view)
        found = tally.weighed(listing, {})
        assert tally.needed == {file.data.name: file.size for file in expected.needed}
        assert sorted(found.missing) == sorted(expected.missing)
        assert {(time, file.path) for time, file in found.removed} == {
            (file.data.instant, file.path) for file in expected.removed
        }
        assert paths(found.unproved) == paths(expected.unproved)
        assert set(found.contradictions) == set(expected.contradictions)
        assert found.undated == set(expected.undated)


# Plain file groups.


def test_of_a_plain_group_the_newest_committed_file_is_needed() -> None:
    """In whatever order the store lists."""
    files = {FIRST: 7, base("b-0", OLD): 7, base("a-0", OPEN): 7, SECOND: 7}
    assert weighed(files).needed == alone(SECOND, base("b-0", OLD)).needed


def test_an_older_file_that_a_savepoint_names_is_needed_too() -> None:
    found = weighed({FIRST: 7, SECOND: 7}, Records(saved=frozenset({FIRST}))).needed
    assert found is not None
    assert (found.count, found.size) == (2, 14)


def test_a_file_of_a_removed_instant_goes_from_a_plain_group() -> None:
    found = weighed({FIRST: 7, SECOND: 7}, Records(owners=frozenset({NEW})), removed=[NEW])
    assert [(time, file.data.name) for time, file in found.removed] == [(NEW, SECOND)]
    assert found.needed == alone(FIRST).needed


def test_a_file_of_a_removed_instant_is_refused_where_a_kept_commit_or_plan_names_it() -> None:
    """Also in a plain group. A file that the instant's own records do not name stays."""
    files = {FIRST: 7, SECOND: 7}
    own = Records(owners=frozenset({NEW}))
    for named in (replace(own, written={SECOND: OLD}), replace(own, planned={SECOND: OPEN})):
        (contradiction,) = weighed(files, named, removed=[NEW]).contradictions
        assert contradiction.path == f"{PATH}/{SECOND}"
    foreign = weighed(files, removed=[NEW])
    assert (foreign.removed, paths(foreign.unproved)) == ((), {SECOND})


def test_an_empty_base_file_of_a_plain_group_is_missing() -> None:
    assert weighed({FIRST: 7, SECOND: 0}).missing == (f"{PATH}/{SECOND}",)


def test_a_group_is_not_plain_where_records_say_more_of_it() -> None:
    one = {FIRST: 7}
    assert weighed(one, Records(replaced=frozenset({"a-0"}))).needed is None
    assert weighed(one, Records(revived=frozenset({"a-0"}))).missing == ()
    begun = weighed({FIRST: 7, base("a-0", OPEN): 7}, Records(compactions={"a-0": OPEN}))
    assert begun.needed == alone(FIRST).needed
    told = weighed({SECOND: 7}, Records(written={FIRST: OLD}))
    assert (told.needed, told.missing) == (alone(SECOND).needed, ())
    assert weighed(one, Records(written={FIRST: OLD})).missing == ()


def test_a_group_of_which_only_a_clean_tells_is_not_missed() -> None:
    """It was replaced, and that commit may be archived."""
    found = weighed({}, Records(cleaned=frozenset({FIRST})))
    assert (found.needed, found.missing) == (None, ())


def test_a_group_that_comes_back_is_missed_once() -> None:
    """By a file's name, if a record has one."""
    revived = Records(revived=frozenset({"a-0"}))
    assert weighed({}, revived).missing == (f"{PATH}/a-0",)
    assert weighed({}, replace(revived, cleaned=frozenset({FIRST}))).missing == (f"{PATH}/{FIRST}",)


# What is told of a partition.


def test_the_digest_is_of_names_and_sizes() -> None:
    other = base("b-0", OLD)
    first, second = weighed({FIRST: 3, other: 4}).needed, weighed({FIRST: 4, other: 3}).needed
    assert first is not None
    assert second is not None
    assert (first.count, first.size) == (second.count, second.size)
    assert first.digest != second.digest
    assert alone(FIRST).needed != alone(other).needed


def test_needed_files_that_the_metadata_table_does_not_list_are_told() -> None:
    """Of plain groups and of others; of none where it is not asked."""
    files = {FIRST: 7, SECOND: 7, base("b-0", OLD): 7, log("b-0", LATE): 7, base("c-0", OLD): 7}
    listed = {base("c-0", OLD), base("b-0", OLD)}
    assert paths(weighed(files, known=listed).unlisted) == {SECOND, log("b-0", LATE)}
    assert paths(weighed(files, known=()).unlisted) == files.keys() - {FIRST}
    assert weighed(files).unlisted == ()


def test_a_partition_without_metafile_is_bare_where_it_has_needed_files() -> None:
    assert weighed({FIRST: 7}, metafile=False).bare
    assert not weighed({FIRST: 7}).bare
    assert not weighed({base("a-0", OPEN): 7}, metafile=False).bare
    assert not weighed({}, Records(written={FIRST: OLD}), metafile=False).bare


def test_a_pending_clean_is_told_with_the_needed_files_that_it_would_delete() -> None:
    files = {FIRST: 7, SECOND: 7, base("b-0", OLD): 7}
    going = {"1": frozenset({FIRST}), "2": frozenset({FIRST, SECOND}), "3": None}
    assert weighed(files, Records(cleans=going)).cleans == {"2": 1, "3": 2}


def test_an_archived_write_is_undated_where_its_completion_decides_the_slice_of_its_log() -> None:
    assert weighed({FIRST: 7, log("a-0", ARCHIVED): 7}).undated == {ARCHIVED}
    assert weighed({log("a-0", ARCHIVED): 7}).undated == set()


# What is to change.


def test_without_the_files_that_go_a_partition_is_as_it_will_be() -> None:
    """Base files and logs; also where a record names them."""
    stay, go = [FIRST, log("a-0", OLD), log("c-0", OLD)], [SECOND, base("b-0", OLD), log("c-0", LATE)]
    files = dict.fromkeys([*stay, *go], 7)
    future = Future(frozenset(go))
    assert weighed(files, future=future).needed == alone(*stay).needed
    named = Records(written={base("b-0", OLD): OLD})
    assert weighed(files, named, future=future).missing == (f"{PATH}/{base('b-0', OLD)}",)


def test_a_log_of_rollback_blocks_is_no_change_and_any_other_log_is_one() -> None:
    """Below version 8 it is in the slice whose rows it takes back; before it is written, and afterwards."""
    view = View(rules_of(6, 1), Committed({OLD: OLD}, START), frozenset())
    before = [FIRST, log("a-0", OLD, 1)]
    block = log("a-0", OLD, 2)
    marked = {("a-0", OLD): frozenset(before)}

    def needed(names: Iterable[str], future: Future | None) -> object:
        listing = listing_of((name, 7) for name in names)
        found = weigh(view, False, False, Partition(PATH, listing, given=Judged(future=future)))
        assert found is not None
        return found.needed

    plan = needed(before, None)
    assert needed(before, Future(blocks=(stored(block, 1),), marked=marked)) == plan
    assert needed([*before, block], Future(marked=marked)) == plan
    assert needed([*before, block], None) != plan
    assert needed([FIRST, block], Future(marked=marked)) != plan


def test_a_log_that_is_to_be_written_is_judged() -> None:
    """It would belong to a removed instant."""
    records = Records(owners=frozenset({NEW}))
    future = Future(blocks=(stored(log("a-0", NEW), 1),))
    assert [file.data.name for _, file in weighed({FIRST: 7}, records, removed=[NEW], future=future).removed] == [
        log("a-0", NEW)
    ]


def test_where_only_changes_are_asked_for_no_other_partition_is_judged() -> None:
    view = View(rules_of(9, 2), Committed({OLD: OLD}, START), frozenset())
    listing = listing_of([(FIRST, 7)])
    assert weigh(view, False, True, Partition(PATH, listing)) is None
    assert weigh(view, False, True, Partition(PATH, listing, given=Judged(future=Future()))) == weighed({FIRST: 7})
