"""Bars of instants: none is lost, and none lies over another."""

from datetime import timezone
from itertools import groupby, pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.formats.instants import Instant, State
from hudictl.reports.timeline import TimelineFilter, instants_shown
from hudictl.reports.timeline_bars import Bars, metadata_bars, timeline_bars
from tests import support
from tests.fixtures import Unpack

ALL = TimelineFilter()
TABLE: Any = SimpleNamespace(zone=timezone.utc)
"""All that a bar needs of a table."""


def counted(bars: Bars) -> int:
    return len(bars.undated) + sum(len(lane.bars) for lane in bars.lanes)


def time_of(second: int) -> str:
    return f"202611210{second // 3600}{second // 60 % 60:02d}{second % 60:02d}000"


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_each_instant_is_a_bar(unpack: Unpack, version: str, name: str) -> None:
    table = unpack(version, name).table
    shown = instants_shown(table, ALL)
    bars = timeline_bars(table, shown)
    found = {(bar.time, lane.action, bar.state) for lane in bars.lanes for bar in lane.bars}
    assert found == {(entry.time, entry.action, entry.state.name) for entry, _ in shown}
    assert counted(bars) == len(shown)
    for lane in bars.lanes:
        assert not lane.metadata
        assert [bar.end_ms is None for bar in lane.bars] == [bar.state != "COMPLETED" for bar in lane.bars]
        assert all(bar.end_ms is None or bar.end_ms >= bar.begin_ms for bar in lane.bars)
        assert {bar.row for bar in lane.bars} == set(range(lane.rows))


def test_the_metadata_table_has_lanes_of_its_own(unpack: Unpack) -> None:
    bars = metadata_bars(unpack("v9", "mor_part").table, ALL)
    assert bars.lanes
    assert all(lane.metadata for lane in bars.lanes)
    # Its first instants have times that are no dates.
    assert bars.undated
    assert all(entry.startswith("0000000000000000") for entry in bars.undated)
    assert metadata_bars(unpack("v9", "mor_flat_nomdt").table, ALL) == Bars((), ())


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 300), st.none() | st.integers(0, 100)), min_size=1, max_size=8))
def test_what_is_at_work_together_is_in_rows(spans: list[tuple[int, int | None]]) -> None:
    """Completed ones fill the rows from above, and those that have not ended are below them."""
    shown = []
    for number, (begin, length) in enumerate(spans):
        time = f"{time_of(begin)[:-3]}{number:03d}"
        state = State.INFLIGHT if length is None else State.COMPLETED
        end = None if length is None else time_of(begin + 1 + length)
        shown.append((Instant(time, "commit", state, end, ()), "active"))
    (lane,) = timeline_bars(TABLE, shown).lanes
    assert counted(timeline_bars(TABLE, shown)) == len(spans)
    for _, members in groupby(sorted(lane.bars, key=lambda bar: (bar.row, bar.begin_ms)), key=lambda bar: bar.row):
        for earlier, later in pairwise(list(members)):
            assert earlier.end_ms is not None
            assert earlier.end_ms <= later.begin_ms
    done, left = ([bar.row for bar in lane.bars if (bar.end_ms is None) is open_] for open_ in (False, True))
    assert max(done, default=-1) < min(left, default=8)


def test_more_writers_than_rows_share_the_last_one() -> None:
    shown = [
        (Instant(time, "deltacommit", State.INFLIGHT, None, ()), "active") for time in map(time_of, range(0, 200, 10))
    ]
    (lane,) = timeline_bars(TABLE, shown).lanes
    assert [bar.row for bar in lane.bars] == [*range(8), *[7] * 12]
    assert lane.rows == 8


def test_order_of_lanes_and_what_has_no_date() -> None:
    """Writes, services, what goes back, and what hudictl does not know."""
    entries = [
        Instant(time_of(number), action, State.COMPLETED, time_of(number), ())
        for number, action in enumerate(("restore", "x", "savepoint", "clean", "compaction", "commit"))
    ]
    bars = timeline_bars(
        TABLE, [(entry, "active") for entry in [*entries, Instant("001", "commit", State.COMPLETED, None, ())]]
    )
    assert [lane.action for lane in bars.lanes] == ["commit", "compaction", "clean", "savepoint", "restore", "x"]
    assert bars.undated == ("001 commit",)
