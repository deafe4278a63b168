"""Whether a compaction would be scheduled."""

import pytest

from hudictl.state.services.due.compaction import Compactable, compaction_due, compaction_thresholds
from hudictl.state.services.due.counted import Due
from hudictl.table.rules import Rules, rules_of
from hudictl.table.settings import Settings
from tests.state.timelines import commits, time, timeline

V6, V8, V9 = rules_of(6, 1), rules_of(8, 2), rules_of(9, 2)


def due(*instants: str, rules: Rules = V9, now: int = 60, **settings: str) -> Due:
    named = {f"hoodie.compact.inline.{name.replace('_', '.')}": value for name, value in settings.items()}
    named |= {"hoodie.compact.inline.max.delta.commits": "3"} if "max_delta_commits" not in settings else {}
    return compaction_due(Compactable(timeline(*instants), rules, True, time(now)), Settings(named))


def kinds(found: Due) -> list[tuple[str, str]]:
    return [(block.kind, block.instant) for block in found.blocks]


def test_delta_commits_count_from_the_last_compaction_on() -> None:
    found = due("1 deltacommit", "2 commit", "3 deltacommit", "4 deltacommit")
    assert (found.due, found.counted, found.threshold, found.would) == (False, 2, 3, "schedule no compaction")
    found = due("1 deltacommit", "2 commit", *(f"{number} deltacommit" for number in (3, 4, 5)))
    assert (found.due, found.behind, found.counted) == (True, False, 3)
    assert due(*commits(6, "deltacommit")).behind


def test_nothing_is_due_without_delta_commits() -> None:
    assert not due(max_delta_commits="0").due


@pytest.mark.parametrize(("rules", "counted"), [(V6, 3), (V8, 2), (V9, 2)])
def test_pending_delta_commits_count_for_the_oldest_release_alone(rules: Rules, counted: int) -> None:
    assert due(*commits(2, "deltacommit"), "3 deltacommit INFLIGHT", rules=rules).counted == counted


def test_a_pending_write_stops_writers_that_are_alone_of_the_oldest_release() -> None:
    instants = (*commits(4, "deltacommit"), "5 deltacommit INFLIGHT")
    found = due(*instants, rules=V6)
    assert kinds(found) == [("pending", time(5))]
    assert "no compaction while" in found.would
    assert kinds(due(*instants, rules=V9)) == []


def test_a_compaction_that_is_pending_blocks_its_file_groups() -> None:
    instants = ("1 deltacommit", "2 compaction REQUESTED", *(f"{number} deltacommit" for number in (3, 4, 5, 6)))
    assert kinds(due(*instants)) == [("pending", time(2))]
    assert due(*instants, trigger_strategy="NUM_COMMITS_AFTER_LAST_REQUEST").counted == 4


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
    instants = commits(2, "deltacommit")
    assert due(*instants, now=10, trigger_strategy=strategy).due == at_10
    assert due(*instants, now=100, trigger_strategy=strategy).due == at_100
    assert due(*commits(3, "deltacommit"), now=100, trigger_strategy=strategy).due


def test_what_is_counted_by_time_are_seconds() -> None:
    found = due(*commits(2, "deltacommit"), now=31, trigger_strategy="TIME_ELAPSED")
    assert (found.counts, found.counted, found.threshold) == ("seconds since the last compaction", 1800, 3600)
    assert "the last compaction is 1,800 s old" in found.would


def test_thresholds_are_those_of_the_strategy() -> None:
    def names(strategy: str) -> list[str]:
        found = compaction_thresholds(Settings({"hoodie.compact.inline.trigger.strategy": strategy}))
        return [entry.key.removeprefix("hoodie.compact.inline.max.delta.") for entry in found]

    assert names("num_commits") == ["commits"]
    assert names("TIME_ELAPSED") == ["seconds"]
    assert names("NUM_OR_TIME") == ["commits", "seconds"]


def test_a_table_that_copies_on_write_has_none() -> None:
    found = compaction_due(Compactable(timeline(*commits(9)), V9, False, time(60)), Settings())
    assert (found.due, found.blocks) == (False, ())
    assert "no compactions" in found.would
