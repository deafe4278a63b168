"""Bars in signs: where they begin and end, and what has not ended."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.render.graph import ASCII, BLOCKS, graph, signs_for
from hudictl.reports.timeline_bars import Bar, Bars, Lane

BEGIN = 1_795_230_000_000


def bar(begin: int, end: int | None, row: int = 0) -> Bar:
    state = "INFLIGHT" if end is None else "COMPLETED"
    return Bar(f"2026{begin:013d}", state, BEGIN + begin, None if end is None else BEGIN + end, row)


def lane(action: str, *bars: Bar, metadata: bool = False) -> Lane:
    return Lane(action, metadata, max(one.row for one in bars) + 1, bars)


def drawn(*lanes: Lane, width: int = 30, **more: object) -> list[str]:
    found = graph(Bars(lanes, ()), width, more.get("signs", BLOCKS), zone_known=True)  # type: ignore[arg-type]
    assert found is not None
    return [row.cells for row in found.rows]


def test_bars_are_as_long_as_they_took() -> None:
    """22 columns, of which the last two are left for what goes on: one is 100 ms."""
    name = "commit"
    cells = drawn(lane(name, bar(0, 400), bar(500, 550), bar(1000, 2000)))
    assert cells == ["████ ▌    ██████████  "]
    assert drawn(lane(name, bar(0, 400), bar(500, 540), bar(1000, 2000)), signs=ASCII) == ["#### -    ##########  "]
    # Several in a column are as busy as they are together.
    assert drawn(lane(name, bar(0, 20), bar(50, 80), bar(2000, 2000)))[0][0] == "▌"


def test_what_is_pending_goes_on_in_its_own_row() -> None:
    assert drawn(lane("commit", bar(0, 1000), bar(500, None, 1), bar(2000, None, 2))) == [
        "██████████            ",
        "     ░░░░░░░░░░░░░░░░▶",
        "                    ░▶",
    ]


def test_a_savepoint_is_a_moment() -> None:
    assert drawn(lane("commit", bar(0, 2000)), lane("savepoint", bar(900, 900)), width=33) == [
        "████████████████████  ",
        "         ◆            ",
    ]


def test_head_names_and_sentences() -> None:
    lanes = (
        lane("deltacommit", bar(0, 5000), bar(6000, None, 1)),
        lane("deltacommit", bar(0, 60_000), metadata=True),
        lane("an-action-with-a-long-name\x1b", bar(0, 1)),
    )
    found = graph(Bars(lanes, ("001 commit",)), 90, BLOCKS, zone_known=False)
    assert found is not None
    assert [row.name for row in found.rows] == ["deltacommit", "", "deltacommit (metadata)", "an-action-with-a-..."]
    assert [row.pending for row in found.rows] == [False, True, False, False]
    assert found.head == "2026-11-21 03:00:00" + " " * 24 + "2026-11-21 03:01:00 UTC"
    assert found.notes == (
        "█ busy (▏ hardly), ░▶ pending, ◆ savepoint; a column is 968ms",
        "UTC if the writers' zone is this host's (--timezone)",
        "pending: 20260000000006000 deltacommit INFLIGHT",
        "without a date, not drawn: 1",
    )
    narrow = graph(Bars(lanes, ()), 40, BLOCKS, zone_known=True)
    assert narrow is not None
    assert narrow.head == "2026-11-21 03:00:00"
    assert narrow.notes[0].endswith("; up to 2026-11-21 03:01:00 UTC")


def test_many_pending_ones_are_counted() -> None:
    found = graph(Bars((lane("commit", *(bar(number, None) for number in range(9))),), ()), 60, BLOCKS, zone_known=True)
    assert found is not None
    assert found.notes[-1] == "pending: 4 more"
    assert len(found.notes) == 7


def test_without_instants_there_is_nothing_to_draw() -> None:
    assert graph(Bars((), ()), 80, BLOCKS, zone_known=True) is None


@pytest.mark.parametrize(
    ("encoding", "signs"), [("utf-8", BLOCKS), (None, BLOCKS), ("ascii", ASCII), ("latin-1", ASCII), ("unknown", ASCII)]
)
def test_signs_that_the_output_has(encoding: str | None, signs: object) -> None:
    assert signs_for(encoding) is signs


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 10**9), st.none() | st.integers(0, 10**9)), min_size=1, max_size=20),
    st.integers(1, 300),
)
def test_every_bar_has_a_sign_and_all_rows_are_as_wide(spans: list[tuple[int, int | None]], width: int) -> None:
    for begin, length in spans:
        one = bar(begin, None if length is None else begin + length)
        others = [bar(at, None if long is None else at + long) for at, long in spans]
        cells = drawn(lane("x", one), lane("clean", *others), width=width)
        assert cells[0].strip()
        assert {len(row) for row in cells} == {max(width - len("clean") - 2, 20)}
