"""Which savepoints the rules keep: as restic does, and whatever the times and the rules."""

import json
from dataclasses import asdict, replace
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.state.files.retention import PERIODS, Rules, reasons_to_keep
from tests.state.files.restic_support import GOLDEN

DAY_MS = 86_400_000
RULES = ("last", *PERIODS, "within_ms")


def kept(instants: list[str], rules: Rules) -> list[str]:
    return [time for time, reasons in reasons_to_keep(instants, rules, timezone.utc).items() if reasons]


def at(text: str) -> str:
    """An instant time, of a date and an hour as 2026-01-31T17."""
    return datetime.fromisoformat(f"{text}:00").strftime("%Y%m%d%H%M%S") + "000"


@pytest.mark.slow
def test_it_keeps_what_restic_keeps_and_for_the_same_rules() -> None:
    counted, fates = 0, set()
    for tried in json.loads(GOLDEN.read_text()):
        for entry in tried["judged"]:
            ours: dict[str, list[int]] = {}
            found = reasons_to_keep(tried["instants"], Rules(**entry["rules"]), timezone.utc)
            for time, reasons in found.items():
                for reason in reasons:
                    ours.setdefault(reason.split()[0], []).append(tried["instants"].index(time))
            assert ours == entry["kept"], entry
            counted += 1
            fates |= {*ours, all(found.values())}
    # Each rule, and both outcomes, were judged.
    assert fates == {"last", *PERIODS, "within", True, False}
    assert counted > 200


@pytest.mark.parametrize(
    ("times", "rules", "expected"),
    [
        (["2026-01-01T01", "2026-01-01T02", "2026-01-01T03"], Rules(last=2), [1, 2]),
        (["2026-01-01T01", "2026-01-01T23", "2026-01-03T05"], Rules(daily=2), [1, 2]),
        # Days without a savepoint do not count.
        (["2026-01-01T01", "2026-03-01T01", "2026-09-01T01"], Rules(daily=3), [0, 1, 2]),
        # The first week of 2026 begins in 2025.
        (["2025-12-28T12", "2025-12-29T12", "2026-01-04T12", "2026-01-05T12"], Rules(weekly=2), [2, 3]),
        (["2025-12-28T12", "2025-12-29T12", "2026-01-04T12", "2026-01-05T12"], Rules(weekly=3), [0, 2, 3]),
        (["2025-01-31T12", "2025-02-01T12", "2025-02-02T12", "2026-02-01T12"], Rules(monthly=2), [2, 3]),
        (["2024-01-31T12", "2025-02-01T12", "2025-02-02T12", "2026-02-01T12"], Rules(yearly=2), [2, 3]),
        # Not the oldest besides: it would hold archiving back.
        (["2026-01-01T01", "2026-01-01T02", "2026-01-01T03"], Rules(yearly=5), [2]),
        # So old that it is no longer within, to the millisecond.
        (["2026-01-01T12", "2026-01-01T13", "2026-01-02T12"], Rules(within_ms=DAY_MS), [1, 2]),
        (["2026-01-01T12", "2026-01-01T13", "2026-01-02T12"], Rules(within_ms=DAY_MS + 1), [0, 1, 2]),
        (["2026-01-01T12", "2026-01-02T12"], Rules(last=1, within_ms=2 * DAY_MS), [0, 1]),
        ([], Rules(last=1), []),
    ],
)
def test_the_rules(times: list[str], rules: Rules, expected: list[int]) -> None:
    instants = [at(time) for time in times]
    assert kept(instants, rules) == [instants[place] for place in reversed(expected)]


def test_one_whose_time_is_no_date_is_kept_and_does_not_count() -> None:
    times = ["00000000000001", at("2026-01-01T01"), at("2026-01-02T01")]
    assert reasons_to_keep(times, Rules(last=1), timezone.utc) == {
        times[2]: ("last",),
        times[1]: (),
        times[0]: ("its time is no date",),
    }


def test_the_reasons_are_named_in_the_order_of_the_options() -> None:
    time = at("2026-01-01T01")
    rules = Rules(last=1, hourly=1, daily=1, weekly=1, monthly=1, yearly=1, within_ms=30 * DAY_MS)
    assert reasons_to_keep([time], rules, timezone.utc) == {time: ("last", *PERIODS, "within 30 d")}


def test_ages_over_a_change_of_the_clock() -> None:
    """03:30 on the last Sunday of March is an hour and a half after 01:00; the days are those of the writers' clock."""
    times, berlin = ["20260328233000000", "20260329010000000", "20260329033000000"], ZoneInfo("Europe/Berlin")
    found = reasons_to_keep(times, Rules(within_ms=DAY_MS // 12), berlin)
    assert [time for time, reasons in found.items() if reasons] == times[:0:-1]
    assert [*reasons_to_keep(times, Rules(daily=3), berlin).values()] == [("daily",), (), ("daily",)]


MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1))
NEAR = st.builds(
    lambda start, gaps: [start + timedelta(minutes=gap) for gap in gaps],
    MOMENTS,
    st.lists(st.integers(0, 90_000), max_size=30),
)
INSTANTS = NEAR.map(lambda moments: sorted({moment.strftime("%Y%m%d%H%M%S000") for moment in moments}))
SOME_RULES = st.builds(
    Rules,
    *(st.integers(0, 5) for _ in ("last", *PERIODS)),
    st.sampled_from((0, 1, 3_600_000, DAY_MS, 30 * DAY_MS)),
).filter(lambda rules: rules.any)


@pytest.mark.slow
@given(INSTANTS, SOME_RULES, st.sampled_from(RULES), st.integers(1, 10))
def test_more_rules_never_keep_less(instants: list[str], rules: Rules, rule: str, more: int) -> None:
    wider = replace(rules, **{rule: getattr(rules, rule) + more})
    assert set(kept(instants, rules)) <= set(kept(instants, wider))
    alone = [Rules(**{name: value}) for name, value in asdict(rules).items() if value]
    assert set(kept(instants, rules)) == {time for one in alone for time in kept(instants, one)}


@pytest.mark.slow
@given(INSTANTS, SOME_RULES)
def test_the_newest_is_kept_by_any_rule(instants: list[str], rules: Rules) -> None:
    assert kept(instants, rules)[:1] == instants[-1:]


@pytest.mark.slow
@given(INSTANTS, SOME_RULES, st.data())
def test_a_deletion_that_died_is_finished_by_the_same_rules(
    instants: list[str], rules: Rules, data: st.DataObject
) -> None:
    """Whichever of the savepoints to delete are gone, the same ones are kept."""
    before = kept(instants, rules)
    going = [time for time in instants if time not in before]
    gone = data.draw(st.sets(st.sampled_from(going))) if going else set()
    assert kept([time for time in instants if time not in gone], rules) == before


@pytest.mark.slow
@given(INSTANTS, SOME_RULES, st.integers(1, 400))
def test_a_savepoint_that_is_added_later_saves_none_that_was_to_be_deleted(
    instants: list[str], rules: Rules, hours: int
) -> None:
    """The newest of its period stays the newest, and counts go on from there."""
    if not instants:
        return
    newest = datetime.strptime(instants[-1], "%Y%m%d%H%M%S000") + timedelta(hours=hours)
    later = [*instants, newest.strftime("%Y%m%d%H%M%S000")]
    assert set(kept(later, rules)) - {later[-1]} <= set(kept(instants, rules))
