"""Whether table services are due, and what stands in their way: tests/interop/test_why.py asks the real Hudi."""

import pytest

from hudictl.errors import UsageError
from hudictl.state.services.due import (
    Due,
    LastClean,
    archive_due,
    clean_due,
    compaction_due,
    deltas_since_compaction,
    kept_by_cleaning,
    thresholds,
)
from hudictl.state.services.overdue import overdue
from hudictl.table.files.saved import SavedNames
from hudictl.table.files.sweep import Partition
from hudictl.table.rules import Rules, rules_of
from hudictl.table.settings import Settings
from hudictl.table.timeline.active import Timeline
from hudictl.workers import Listing, pack
from tests.state.timelines import commits, time, timeline

V6, V9 = rules_of(6, 1), rules_of(9, 2)
SMALL = {"hoodie.keep.min.commits": "4", "hoodie.keep.max.commits": "6", "hoodie.clean.commits.retained": "2"}
KEEP_3 = {"hoodie.clean.commits.retained": "3"}
BY_VERSIONS = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "2"}
NOW = time(1000)


def named(settings: dict[str, str]) -> dict[str, str]:
    return {f"hoodie.{name.replace('_', '.')}": value for name, value in settings.items()}


def archiving(
    *instants: str,
    cleaned: LastClean | None = None,
    metadata: Timeline | None = None,
    merge_on_read: bool = False,
    **settings: str,
) -> Due:
    found = timeline(*instants)
    deltas = deltas_since_compaction(found, V9) if merge_on_read else None
    given = Settings(SMALL | named(settings))
    return archive_due(found, given, deltas=deltas, cleaned=cleaned, metadata=metadata)


def cleaning(*instants: str, cleaned: LastClean | None = None, **settings: str) -> Due:
    return clean_due(timeline(*instants), Settings(KEEP_3 | named(settings)), cleaned, NOW)


def compaction(*instants: str, rules: Rules | None = V9, now: int = 60, **settings: str) -> Due:
    given = Settings({"hoodie.compact.inline.max.delta.commits": "3"} | named(settings))
    return compaction_due(timeline(*instants), given, rules, time(now))


def kinds(found: Due) -> list[tuple[str, str]]:
    return [(block.kind, block.instant) for block in found.blocks]


def test_nothing_is_archived_up_to_the_maximum() -> None:
    found = archiving(*commits(6))
    assert (found.due, found.behind, found.blocks) == (False, False, ())
    assert (found.counted, found.threshold) == (6, 6)
    found = archiving(*commits(7))
    assert (found.due, found.behind, kinds(found)) == (True, False, [])


def test_archiving_that_missed_a_whole_round_is_behind() -> None:
    assert not archiving(*commits(8)).behind
    assert archiving(*commits(9)).behind


def test_a_savepoint_stops_it() -> None:
    found = archiving(*commits(8), "2 savepoint", "3 savepoint")
    assert (kinds(found), found.behind) == ([("savepoint", time(2))], True)
    assert kinds(archiving(*commits(8), "2 savepoint", archive_beyond_savepoint="true")) == []


def test_a_savepoint_that_is_younger_than_all_that_is_archived_stops_nothing() -> None:
    assert kinds(archiving(*commits(8), "5 savepoint")) == []


def test_archiving_that_leaves_little_enough_is_not_behind() -> None:
    found = archiving(*commits(8), "4 savepoint")
    assert (found.due, found.behind, kinds(found)) == (True, False, [("savepoint", time(4))])


@pytest.mark.parametrize("pending", ["deltacommit INFLIGHT", "compaction REQUESTED", "clustering REQUESTED"])
def test_the_oldest_pending_write_stops_it_a_commit_before(pending: str) -> None:
    instants = [entry for entry in commits(9) if entry != "3 commit"]
    found = archiving(*instants, f"3 {pending}", clean_policy="KEEP_LATEST_FILE_VERSIONS")
    assert kinds(found)[0] == ("pending", time(3))


def test_a_pending_write_before_all_commits_stops_all() -> None:
    found = archiving("0 commit REQUESTED", *commits(9))
    assert (kinds(found), found.behind) == ([("pending", time(0))], True)


def test_as_many_delta_commits_stay_as_a_compaction_waits_for() -> None:
    def found(**settings: str) -> list[tuple[str, str]]:
        return kinds(archiving(*commits(9, "deltacommit"), merge_on_read=True, **settings))

    assert found(compact_inline_max_delta_commits="7") == [("uncompacted", time(3))]
    assert found(compact_inline_max_delta_commits="10") == [("uncompacted", time(1))]
    assert found(compact_inline_trigger_strategy="TIME_ELAPSED") == []


def test_the_last_compaction_stays_until_the_next_is_due() -> None:
    instants = [*commits(3, "deltacommit"), "4 commit", "5 deltacommit", *(f"{n} replacecommit" for n in range(6, 10))]
    cleaned = LastClean(time(30), time(30), "")
    found = archiving(*instants, merge_on_read=True, cleaned=cleaned, compact_inline_max_delta_commits="2")
    assert kinds(found) == [("uncompacted", time(4))]


def test_what_was_replaced_must_be_cleaned_before() -> None:
    instants = ["1 commit", "2 replacecommit", *(f"{number} commit" for number in range(3, 9))]
    assert kinds(archiving(*instants)) == [("uncleaned", time(2))]
    assert kinds(archiving(*instants, cleaned=LastClean(time(9), time(3), ""))) == []
    assert kinds(archiving(*instants, cleaned=LastClean(time(9), time(2), ""))) == [("uncleaned", time(2))]
    # A clean that counts file versions names no commit: it has taken all that was replaced before it.
    assert kinds(archiving(*instants, cleaned=LastClean(time(9), "", ""))) == []


def test_the_metadata_tables_compaction_comes_first() -> None:
    compacted = timeline("2 commit", "3 deltacommit")
    found = archiving(*commits(8), metadata=compacted)
    assert kinds(found) == [("metadata-table", time(2))]
    never = archiving(*commits(8), metadata=timeline("3 deltacommit"))
    assert (kinds(never), never.behind) == ([("metadata-table", "")], True)
    assert kinds(archiving(*commits(8), metadata=compacted, metadata_enable="false")) == []


def test_the_instant_for_which_the_metadata_table_waits_is_named() -> None:
    found = archiving(*commits(8), "3 clean REQUESTED", metadata=timeline("2 commit", "5 deltacommit"))
    assert kinds(found) == [("metadata-table", time(3))]


def test_what_cleaning_keeps_stays_and_two_more() -> None:
    assert archiving(*commits(12), clean_commits_retained="8").threshold == 11
    assert archiving(*commits(12), clean_policy="KEEP_LATEST_BY_HOURS", clean_hours_retained="1").threshold == 15
    assert archiving(*commits(12), clean_policy="KEEP_LATEST_FILE_VERSIONS").threshold == 6


def test_numbers_that_hudi_refuses() -> None:
    with pytest.raises(UsageError, match="is not greater"):
        archiving(keep_max_commits="4")


def test_a_clean_is_due_by_the_commits_since_the_last_one() -> None:
    found = cleaning(*commits(5))
    assert (found.due, found.counted, found.threshold, found.blocks) == (True, 5, 1, ())
    found = cleaning(*commits(5), cleaned=LastClean(time(9), time(1), time(4)), clean_trigger_max_commits="2")
    assert (found.due, found.counted) == (False, 1)


@pytest.mark.parametrize("pending", ["commit INFLIGHT", "clustering REQUESTED", "compaction REQUESTED"])
def test_a_pending_write_keeps_all_from_the_commit_before_it(pending: str) -> None:
    found = cleaning("1 commit", "2 commit", f"3 {pending}", *(f"{number} commit" for number in range(4, 9)))
    assert kinds(found) == [("pending", time(3))]
    assert f"from {time(6)} on" in found.blocks[0].because
    assert kinds(cleaning(*commits(5), f"6 {pending}")) == []


def test_a_savepoint_keeps_its_files() -> None:
    assert kinds(cleaning(*commits(5), "2 savepoint", "4 savepoint")) == [("savepoint", time(2))]


def test_hours_count_back_from_now() -> None:
    instants = ("930 commit", "950 commit", "990 commit", "930 savepoint", "950 savepoint")
    found = cleaning(*instants, clean_policy="KEEP_LATEST_BY_HOURS", clean_hours_retained="1")
    assert kinds(found) == [("savepoint", time(930))]


def test_a_pending_clean_is_finished_first() -> None:
    found = cleaning(*commits(5), "6 clean REQUESTED", clean_trigger_max_commits="9")
    assert (found.due, kinds(found)) == (True, [("pending", time(6))])


def test_thresholds_are_those_of_the_policy_and_of_the_strategy() -> None:
    def names(service: str, setting: str, value: str) -> list[str]:
        return [entry.key for entry in thresholds(service, Settings({setting: value}))]

    for policy, key in (("COMMITS", "commits"), ("BY_HOURS", "hours"), ("FILE_VERSIONS", "fileversions")):
        assert names("clean", "hoodie.cleaner.policy", f"KEEP_LATEST_{policy}") == [f"hoodie.clean.{key}.retained"]
    commits_, seconds = (f"hoodie.compact.inline.max.delta.{unit}" for unit in ("commits", "seconds"))
    expected = {"num_commits": [commits_], "TIME_ELAPSED": [seconds], "NUM_OR_TIME": [commits_, seconds]}
    for strategy, keys in expected.items():
        assert names("compaction", "hoodie.compact.inline.trigger.strategy", strategy) == keys


def base(number: int) -> str:
    return f"f-0_0-0-0_{time(number)}.parquet"


def overdue_of(settings: dict[str, str], *instants: str, bases: range, spared: tuple[str, ...] = ()) -> list[str]:
    kept = kept_by_cleaning(timeline(*instants), Settings(settings), NOW)
    listing = pack(Listing("p", tuple((base(number), 1, 0) for number in bases), ()))
    found = overdue(kept, Partition("p", listing, saved=[SavedNames("/".join(spared))])) if kept else None
    return sorted(found.elements()) if found else []


def test_files_that_cleaning_was_to_take() -> None:
    """The newest before the oldest commit that is kept stays: it is what that commit's readers see."""
    assert overdue_of(KEEP_3, *commits(8), bases=range(1, 9)) == [time(number) for number in (1, 2, 3, 4)]
    assert overdue_of(KEEP_3, *commits(8), bases=range(1, 3)) == [time(1)]
    assert overdue_of(KEEP_3, *commits(8), bases=range(7, 9)) == []
    assert overdue_of(KEEP_3, *commits(3), bases=range(1, 4)) == []
    assert overdue_of(BY_VERSIONS, *commits(4), bases=range(1, 5)) == [time(1), time(2)]


def test_files_of_savepoints_and_of_pending_writes_are_not_overdue() -> None:
    spared = (base(2),)
    assert overdue_of(KEEP_3, *commits(8), bases=range(1, 5), spared=spared) == [time(1), time(3)]
    instants = [*commits(2), "3 commit INFLIGHT", *(f"{number} commit" for number in range(4, 9))]
    assert overdue_of(KEEP_3, *instants, bases=range(1, 5)) == [time(1), time(2)]


def test_delta_commits_count_from_the_last_compaction_on() -> None:
    found = compaction("1 deltacommit", "2 commit", "3 deltacommit", "4 deltacommit", "5 deltacommit INFLIGHT")
    assert (found.due, found.counted, found.threshold) == (False, 2, 3)
    found = compaction("1 deltacommit", "2 commit", *(f"{number} deltacommit" for number in (3, 4, 5)))
    assert (found.due, found.behind, found.counted) == (True, False, 3)
    assert compaction(*commits(6, "deltacommit")).behind


def test_nothing_is_due_without_delta_commits() -> None:
    assert not compaction(compact_inline_max_delta_commits="0").due


def test_a_pending_write_stops_writers_that_are_alone_of_the_oldest_release() -> None:
    instants = (*commits(4, "deltacommit"), "5 deltacommit INFLIGHT")
    assert kinds(compaction(*instants, rules=V6)) == [("pending", time(5))]
    assert kinds(compaction(*instants, rules=V6, cleaner_policy_failed_writes="LAZY")) == []
    assert kinds(compaction(*instants, rules=V9)) == []


def test_a_compaction_that_is_pending_blocks_its_file_groups() -> None:
    instants = ("1 deltacommit", "2 compaction REQUESTED", *(f"{number} deltacommit" for number in (3, 4, 5, 6)))
    assert kinds(compaction(*instants)) == [("pending", time(2))]
    assert compaction(*instants, compact_inline_trigger_strategy="NUM_COMMITS_AFTER_LAST_REQUEST").counted == 4


@pytest.mark.parametrize(
    ("strategy", "at_10", "at_100"),
    [
        ("NUM_COMMITS", False, False),
        ("TIME_ELAPSED", False, True),
        ("NUM_OR_TIME", False, True),
        ("NUM_AND_TIME", False, False),
    ],
)
def test_strategies_by_time(strategy: str, at_10: bool, at_100: bool) -> None:
    """An hour since the first delta commit; there are two, of three."""
    by = {"compact_inline_trigger_strategy": strategy}
    assert compaction(*commits(2, "deltacommit"), now=10, **by).due == at_10
    assert compaction(*commits(2, "deltacommit"), now=100, **by).due == at_100
    assert compaction(*commits(3, "deltacommit"), now=100, **by).due


def test_what_is_counted_by_time_are_seconds() -> None:
    found = compaction(*commits(2, "deltacommit"), now=31, compact_inline_trigger_strategy="TIME_ELAPSED")
    assert (found.counts, found.counted, found.threshold) == ("seconds since the last compaction", 1800, 3600)


def test_a_table_that_copies_on_write_has_none() -> None:
    found = compaction(*commits(9), rules=None)
    assert (found.due, found.counted, found.blocks) == (False, 0, ())
    assert "no compactions" in found.counts
