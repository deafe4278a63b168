"""What the next archiving takes, and what stops it: tests/interop/test_why.py has the real Hudi do the same."""

from dataclasses import replace

import pytest

from hudictl.errors import UsageError
from hudictl.state.services.due.archiving import Archivable, archive_due
from hudictl.state.services.due.counted import Due, LastClean
from hudictl.table.rules import Rules, rules_of
from hudictl.table.settings import Settings
from hudictl.table.timeline.active import Timeline
from tests.state.timelines import commits, time, timeline

V6, V9 = rules_of(6, 1), rules_of(9, 2)
SMALL = {"hoodie.keep.min.commits": "4", "hoodie.keep.max.commits": "6", "hoodie.clean.commits.retained": "2"}


def look(found: Timeline, **facts: object) -> Archivable:
    plain = Archivable(found, V9, merge_on_read=False, metadata_used=False, compacted=None, cleaned=None)
    return replace(plain, **facts)  # type: ignore[arg-type]


def due(seen: Archivable, **settings: str) -> Due:
    named = {f"hoodie.{name.replace('_', '.')}": value for name, value in settings.items()}
    return archive_due(seen, Settings(SMALL | named))


def numbers(found: Due) -> list[str]:
    """What is archived, by the minute that the time has."""
    return [f"{int(text[8:10]) * 60 + int(text[10:12])} {text.split()[1]}" for text in found.instants]


def kinds(found: Due) -> list[tuple[str, str]]:
    return [(block.kind, block.instant) for block in found.blocks]


def test_nothing_goes_up_to_the_greatest_number() -> None:
    found = due(look(timeline(*commits(6))))
    assert (found.due, found.behind, found.instants, found.blocks) == (False, False, (), ())
    assert (found.counted, found.threshold) == (6, 6)


def test_beyond_it_the_oldest_go_until_the_least_number_stays() -> None:
    found = due(look(timeline(*commits(7))))
    assert numbers(found) == ["1 commit", "2 commit", "3 commit"]
    assert (found.due, found.behind, kinds(found)) == (True, False, [])


def test_archiving_that_missed_a_whole_round_is_behind() -> None:
    assert not due(look(timeline(*commits(8)))).behind
    assert due(look(timeline(*commits(9)))).behind


def test_a_savepoint_stops_it() -> None:
    found = due(look(timeline(*commits(8), "2 savepoint", "3 savepoint")))
    assert numbers(found) == ["1 commit"]
    assert kinds(found) == [("savepoint", time(2))]
    assert found.behind


def test_a_savepoint_that_is_younger_than_all_that_goes_stops_nothing() -> None:
    assert kinds(due(look(timeline(*commits(8), "5 savepoint")))) == []


def test_archiving_beyond_savepoints_leaves_their_commits() -> None:
    found = due(look(timeline(*commits(8), "2 savepoint")), archive_beyond_savepoint="true")
    assert numbers(found) == ["1 commit", "3 commit", "4 commit", "5 commit"]
    assert kinds(found) == []


@pytest.mark.parametrize("pending", ["deltacommit INFLIGHT", "compaction REQUESTED", "clustering REQUESTED"])
def test_the_oldest_pending_write_stops_it_a_commit_before(pending: str) -> None:
    instants = [entry for entry in commits(9) if entry != "3 commit"]
    found = due(look(timeline(*instants, f"3 {pending}")), clean_policy="KEEP_LATEST_FILE_VERSIONS")
    assert numbers(found) == ["1 commit"]
    assert kinds(found)[0] == ("pending", time(3))


def test_a_pending_write_before_all_commits_stops_all() -> None:
    found = due(look(timeline("0 commit REQUESTED", *commits(9))))
    assert (found.instants, kinds(found)) == ((), [("pending", time(0))])


def test_as_many_delta_commits_stay_as_a_compaction_waits_for() -> None:
    seen = look(timeline(*commits(9, "deltacommit")), merge_on_read=True)
    assert kinds(due(seen, compact_inline_max_delta_commits="7")) == [("uncompacted", time(3))]
    assert numbers(due(seen, compact_inline_max_delta_commits="7")) == ["1 deltacommit", "2 deltacommit"]
    assert kinds(due(seen, compact_inline_max_delta_commits="10")) == [("uncompacted", time(1))]
    assert kinds(due(seen, compact_inline_trigger_strategy="TIME_ELAPSED")) == []


def test_the_last_compaction_stays_until_the_next_is_due() -> None:
    instants = [*commits(3, "deltacommit"), "4 commit", "5 deltacommit", *(f"{n} replacecommit" for n in range(6, 10))]
    cleaned = LastClean(time(30), time(30), (), "")
    found = due(look(timeline(*instants), merge_on_read=True, cleaned=cleaned), compact_inline_max_delta_commits="2")
    assert kinds(found) == [("uncompacted", time(4))]


def test_what_was_replaced_must_be_cleaned_before() -> None:
    instants = ["1 commit", "2 replacecommit", *(f"{number} commit" for number in range(3, 9))]
    seen = look(timeline(*instants))
    assert kinds(due(seen)) == [("uncleaned", time(2))]
    assert kinds(due(replace(seen, cleaned=LastClean(time(9), time(3), (), "")))) == []
    assert kinds(due(replace(seen, cleaned=LastClean(time(9), time(2), (), "")))) == [("uncleaned", time(2))]
    # A clean that counts file versions names no commit: it has taken all that was replaced before it.
    assert kinds(due(replace(seen, cleaned=LastClean(time(9), "", (), "")))) == []


def test_what_a_clean_spared_for_a_savepoint_is_not_cleaned() -> None:
    instants = ["1 commit", "2 replacecommit", *(f"{number} commit" for number in range(3, 9))]
    seen = look(timeline(*instants), cleaned=LastClean(time(9), time(5), (time(1),), ""))
    assert kinds(due(seen)) == [("uncleaned", time(2))]
    assert kinds(due(seen, clean_policy="KEEP_LATEST_FILE_VERSIONS")) == []
    assert kinds(due(replace(seen, rules=V6))) == []


@pytest.mark.parametrize(("rules", "slow"), [(V6, ["1 commit", "2 commit"]), (V9, [])])
def test_the_metadata_tables_compaction_comes_first(rules: Rules, slow: list[str]) -> None:
    """With completion times what was completed before it goes, else what was requested before it."""
    compacted = f"{time(2)[:12]}45000"
    seen = look(timeline(*commits(8)), rules=rules, metadata_used=True, compacted=compacted)
    assert numbers(due(seen)) == ["1 commit", "2 commit"]
    assert kinds(due(seen)) == [("metadata-table", compacted)]
    assert numbers(due(replace(seen, timeline=timeline(*commits(8), after=5)))) == slow
    never = due(replace(seen, compacted=None))
    assert (never.instants, kinds(never), never.behind) == ((), [("metadata-table", "")], True)


def test_the_instant_for_which_the_metadata_table_waits_is_named() -> None:
    waits = timeline("2 clean REQUESTED").instants[0]
    seen = look(timeline(*commits(8)), rules=V6, metadata_used=True, compacted=None, waits_for=waits)
    assert kinds(due(seen)) == [("metadata-table", time(2))]


def test_writers_without_metadata_table_do_not_wait_for_it() -> None:
    seen = look(timeline(*commits(8)), metadata_used=True)
    assert kinds(due(seen, metadata_enable="false")) == []


def test_cleans_and_rollbacks_go_with_the_commits_around_them() -> None:
    """Of later releases; 0.15.0 counts them by themselves."""
    beside = [f"{number} {action}" for number in range(20, 27) for action in ("clean", "rollback")]
    early = timeline("0 clean", *commits(8), "9 rollback", *beside)
    assert numbers(due(look(early))) == ["0 clean", "1 commit", "2 commit", "3 commit", "4 commit"]
    found = due(look(early, rules=V6))
    assert [text for text in numbers(found) if "commit" not in text] == [
        "0 clean",
        "9 rollback",
        *(f"{number} {action}" for number in (20, 21, 22) for action in ("clean", "rollback")),
    ]
    assert due(look(early, rules=V6, metadata_used=True, compacted=time(5))).instants[0] == f"{time(0)} clean"


def test_what_cleaning_keeps_stays_and_two_more() -> None:
    found = due(look(timeline(*commits(12))), clean_commits_retained="8")
    assert (found.threshold, numbers(found)) == (11, ["1 commit", "2 commit", "3 commit"])
    hours = {"clean_policy": "KEEP_LATEST_BY_HOURS", "clean_hours_retained": "1"}
    assert due(look(timeline(*commits(12))), **hours).threshold == 15
    assert due(look(timeline(*commits(12))), clean_policy="KEEP_LATEST_FILE_VERSIONS").threshold == 6


def test_a_pending_write_that_moves_what_cleaning_keeps_stops_archiving() -> None:
    """By number it would not be due then, however long the timeline grows."""
    instants = [entry for entry in commits(10) if entry != "4 commit"]
    found = due(look(timeline(*instants, "4 commit INFLIGHT")), clean_commits_retained="2")
    assert (found.threshold, found.due, found.behind, found.instants) == (6, True, True, ())
    assert kinds(found) == [("pending", time(4))]
    # Cleaning keeps all from the commit 3 on: archiving those and two more, at least eight, and begins beyond ten.
    assert "starts with more than 10" in found.would
    assert f"cleaning keeps all commits from {time(3)} on" in found.blocks[0].because
    instants = [entry for entry in commits(12) if entry != "4 commit"]
    found = due(look(timeline(*instants, "4 commit INFLIGHT")), clean_commits_retained="2")
    assert (numbers(found), kinds(found)) == ([], [("pending", time(4))])


def test_numbers_that_hudi_refuses() -> None:
    with pytest.raises(UsageError, match="is not greater"):
        due(look(timeline()), keep_max_commits="4")
