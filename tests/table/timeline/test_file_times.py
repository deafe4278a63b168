"""Times of files that are not those of their writers."""

import random
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.formats import instants as fmt
from hudictl.table.timeline.file_times import NotKept, not_kept

NOON = datetime(2026, 3, 20, 12, tzinfo=timezone.utc)
DAY_MS = 24 * 3600 * 1000


def judged(requests: list[tuple[datetime, int, int]], zone_min: int = 0) -> NotKept | None:
    """Commits requested at some moments, with the moments at which their first and last files were made, in epoch
    milliseconds."""
    files, modified_ms = [], {}
    for moment, asked_ms, ended_ms in requests:
        text = time_of(moment, zone_min)
        for state, at_ms in ((fmt.State.REQUESTED, asked_ms), (fmt.State.COMPLETED, ended_ms)):
            name = fmt.instant_file_name(text, fmt.COMMIT, state, 1, None)
            files.append(fmt.InstantFile(name, text, fmt.COMMIT, state, None))
            modified_ms[name] = at_ms
    return not_kept(fmt.group_instants(files), modified_ms)


def time_of(moment: datetime, zone_min: int = 0) -> str:
    return fmt.format_time(moment.astimezone(timezone(timedelta(minutes=zone_min))))


def ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


@pytest.mark.slow
@given(
    st.integers(-14 * 4, 14 * 4),
    st.lists(st.tuples(st.integers(1, 10**5), st.integers(0, 8000), st.integers(0, 10**7)), min_size=1, max_size=30),
    st.booleans(),
)
def test_times_of_writers_are_believed_in_every_zone(
    quarters: int, writes: list[tuple[int, int, int]], whole_seconds: bool
) -> None:
    """However long they wrote, and on stores that keep whole seconds."""
    moment, requests = NOON, []
    for gap_s, late_ms, took_ms in writes:
        moment += timedelta(seconds=gap_s)
        asked, ended = (ms(moment) + late_ms, ms(moment) + late_ms + took_ms)
        unit = 1000 if whole_seconds else 1
        requests.append((moment, asked // unit * unit, ended // unit * unit))
    assert judged(requests, quarters * 15) is None


# Of four in three minutes, a day later to the minute, two may look right by chance.
@pytest.mark.slow
@given(st.integers(5, 40), st.integers(60, 86400), st.integers(1, 400), st.randoms(use_true_random=False))
def test_a_copy_of_one_moment_is_seen(count: int, gap_s: int, days: int, chance: random.Random) -> None:
    """In any order, within a minute, days later."""
    moments = [NOON + timedelta(seconds=gap_s * number) for number in range(count)]
    copied = ms(moments[-1]) + days * DAY_MS
    found = judged(
        [(moment, copied + chance.randrange(60_000), copied + chance.randrange(60_000)) for moment in moments]
    )
    assert found is not None
    assert len(found.times) == count


def test_a_table_of_hours_that_was_copied_at_once() -> None:
    """Each in the zone of the writers, but for its minutes: the files tell of other times."""
    moments = [NOON + timedelta(minutes=7 * number) for number in range(9)]
    copied = ms(moments[-1]) + 60_000
    found = judged([(moment, copied + number, copied + number) for number, moment in enumerate(moments)])
    assert found is not None
    assert "of 9 requests are of other times than their names" in found.because


@pytest.mark.parametrize("count", [3, 4, 9])
def test_hourly_commits_that_were_copied_on_the_hour(count: int) -> None:
    """Each of them alone fits a zone, and each another one."""
    moments = [NOON + timedelta(hours=number) for number in range(count)]
    copied = ms(moments[-1]) + DAY_MS + 5000
    found = judged([(moment, copied, copied) for moment in moments])
    assert found is not None
    assert len(found.times) == count


def test_daylight_saving_time_is_no_copy() -> None:
    moments = [NOON + timedelta(hours=number) for number in range(8)]
    requests = [(moment, ms(moment) + 300 + (number > 3) * 3600 * 1000) for number, moment in enumerate(moments)]
    assert judged([(moment, at_ms, at_ms + 60_000) for moment, at_ms in requests]) is None


def test_a_quick_history_is_not_taken_for_what_it_was() -> None:
    """Ten commits in 90 seconds, copied an hour later: another zone would explain each of them alone."""
    moments = [NOON + timedelta(seconds=10 * number) for number in range(10)]
    copied = ms(moments[0]) + 3600 * 1000 + 95_000
    found = judged([(moment, copied, copied) for moment in moments])
    assert found is not None
    assert "at one moment" in found.because


def test_requests_that_waited_for_the_rollback_of_failed_writes_are_no_copy() -> None:
    """Hudi gives the time first, rolls forty failed writes back, and makes the request then."""
    moments = [NOON, NOON + timedelta(seconds=8), NOON + timedelta(seconds=60)]
    delays = (300, 45_000, 300)
    requests = [
        (moment, ms(moment) + late, ms(moment) + late + 5000) for moment, late in zip(moments, delays, strict=True)
    ]
    assert judged(requests) is None


@pytest.mark.parametrize("off_ms", [3 * DAY_MS, -3 * DAY_MS])
def test_the_older_part_was_copied_or_one_file_put_back(off_ms: int) -> None:
    moments = [NOON + timedelta(hours=number) for number in range(8)]
    requests = [(moment, ms(moment) + 300, ms(moment) + 60_000) for moment in moments]
    requests[2] = (moments[2], ms(moments[2]) + off_ms, ms(moments[2]) + off_ms)
    found = judged(requests)
    assert found is not None
    assert found.times == {time_of(moments[2])}


def test_a_completed_file_that_is_older_than_its_request() -> None:
    moments = [NOON + timedelta(hours=number) for number in range(4)]
    requests = [(moment, ms(moment) + 300, ms(moment) + 60_000) for moment in moments]
    requests[1] = (moments[1], requests[1][2], requests[1][1])
    found = judged(requests)
    assert found is not None
    assert found.times == {time_of(moments[1])}


def test_times_that_are_no_dates_tell_nothing() -> None:
    assert not_kept((), {}) is None


def test_a_clock_that_was_ahead_makes_no_copy_of_a_table_that_waited() -> None:
    """A write that waited for rollbacks, and one an hour ahead by its name, within one minute."""
    moments = [NOON, NOON + timedelta(seconds=12), NOON + timedelta(hours=1, seconds=62)]
    made = [ms(NOON) + 100, ms(NOON) + 47_000, ms(NOON) + 62_000]
    assert judged([(moment, at_ms, at_ms + 1000) for moment, at_ms in zip(moments, made, strict=True)]) is None


@pytest.mark.parametrize("minutes", [60, 90])
def test_two_commits_that_were_copied_at_once(minutes: int) -> None:
    """Each of another zone, if they are asked alone."""
    moments = [NOON, NOON + timedelta(minutes=minutes)]
    copied = ms(NOON) + (2 * 3600 + 90) * 1000
    assert judged([(moment, copied, copied) for moment in moments]) is not None
