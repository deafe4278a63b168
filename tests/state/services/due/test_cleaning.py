"""What the next clean keeps, and which files are overdue."""

import pytest

from hudictl.state.services.due.cleaning import Cleanable, clean_due, clean_thresholds, kept_by_cleaning
from hudictl.state.services.due.counted import Due, LastClean
from hudictl.state.services.overdue import overdue
from hudictl.table.settings import Settings
from hudictl.workers import Listing, pack
from tests.state.timelines import commits, time, timeline

NOW = time(1000)
KEEP_3 = {"hoodie.clean.commits.retained": "3"}
BY_VERSIONS = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "2"}


def due(*instants: str, cleaned: LastClean | None = None, **settings: str) -> Due:
    named = {f"hoodie.clean.{name.replace('_', '.')}": value for name, value in settings.items()}
    return clean_due(Cleanable(timeline(*instants), cleaned, NOW), Settings(KEEP_3 | named))


def kinds(found: Due) -> list[tuple[str, str]]:
    return [(block.kind, block.instant) for block in found.blocks]


def base(number: int) -> str:
    return f"f-0_0-0-0_{time(number)}.parquet"


def overdue_of(settings: dict[str, str], *instants: str, bases: range, spared: tuple[str, ...] = ()) -> list[str]:
    kept = kept_by_cleaning(Cleanable(timeline(*instants), None, NOW), Settings(settings))
    listing = pack(Listing("p", tuple((base(number), 1, 0) for number in bases), ()))
    found = overdue(kept, "p", listing, [[spared]]) if kept else None
    return sorted(found.elements()) if found else []


def test_the_last_commits_are_kept() -> None:
    found = due(*commits(5))
    assert (found.due, found.counted, found.threshold, found.retains) == (True, 5, 1, time(3))
    assert found.blocks == ()
    assert due(*commits(3)).retains == ""


def test_commits_count_from_the_last_clean_on() -> None:
    found = due(*commits(5), cleaned=LastClean(time(9), time(1), (), time(4)), trigger_max_commits="2")
    assert (found.due, found.counted) == (False, 1)
    assert "too few commits" in found.would


def test_hours_count_back_from_now() -> None:
    found = due("930 commit", "950 commit", "990 commit", policy="KEEP_LATEST_BY_HOURS", hours_retained="1")
    assert found.retains == time(950)


@pytest.mark.parametrize("pending", ["commit INFLIGHT", "clustering REQUESTED", "compaction REQUESTED"])
def test_a_pending_write_keeps_all_from_the_commit_before_it(pending: str) -> None:
    found = due("1 commit", "2 commit", f"3 {pending}", *(f"{number} commit" for number in range(4, 9)))
    assert (found.retains, kinds(found)) == (time(2), [("pending", time(3))])
    assert f"from {time(6)} on" in found.blocks[0].because


def test_a_savepoint_keeps_its_files() -> None:
    assert kinds(due(*commits(5), "2 savepoint", "4 savepoint")) == [("savepoint", time(2))]


def test_a_pending_clean_is_finished_first() -> None:
    found = due(*commits(5), "6 clean REQUESTED")
    assert (found.due, kinds(found)) == (True, [("pending", time(6))])
    assert found.would == f"finish the pending clean {time(6)}"


def test_versions_are_counted_by_no_commit() -> None:
    found = due(*commits(5), policy="KEEP_LATEST_FILE_VERSIONS")
    assert (found.retains, "3 versions of each file group" in found.would) == ("", True)


def test_the_threshold_is_that_of_the_policy() -> None:
    for policy, key in (("COMMITS", "commits"), ("BY_HOURS", "hours"), ("FILE_VERSIONS", "fileversions")):
        (found,) = clean_thresholds(Settings({"hoodie.cleaner.policy": f"KEEP_LATEST_{policy}"}))
        assert found.key == f"hoodie.clean.{key}.retained"


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
