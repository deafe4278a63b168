"""Which rows a list shows: conditions, order, limit, and that a row's problem is told behind all rows."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.cli.chosen import RowFilter, chosen, condition, known_columns
from hudictl.errors import Unreadable, UsageError
from hudictl.reports.timeline_pairs import TimelinePair


@dataclass(frozen=True)
class Row:
    name: str
    count: int | None = None
    sure: bool = False
    share: float | None = None
    tags: tuple[str, ...] = ()
    problem: str | None = None


ROWS = [Row("a", 3, True, 0.5, ("x", "y")), Row("b", None), Row("c", 10, share=2.0), Row("d", -1, True)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("name=a", "a"),
        ("name!=a", "bcd"),
        ("name>b", "cd"),
        ("count=3", "a"),
        ("count!=3", "bcd"),
        ("count>-2", "acd"),
        ("count<4", "ad"),
        ("count=", "b"),
        ("count!=", "acd"),
        ("count~1", "cd"),
        ("share>0.5", "c"),
        ("sure=yes", "ad"),
        ("sure!=TRUE", "bc"),
        ("tags~y", "a"),
        ("tags=x, y", "a"),
        ("name==", ""),
        ("name==a", "a"),
        ("name>=c", "cd"),
        ("name<=b", "ab"),
        ("name = b", "b"),
        ("name >= c", "cd"),
        ("tags ~ y ", "a"),
        ("tags>= ", "a"),
        ("count<=3", "ad"),
        ("count == 3", "a"),
        ("share>=0.5", "ac"),
    ],
)
def test_a_condition_chooses(text: str, names: str) -> None:
    assert "".join(row.name for row in chosen(ROWS, RowFilter([condition(text, Row)]))) == names


@dataclass(frozen=True)
class Word:
    name: str
    action: str = "commit"
    state: str = "COMPLETED"
    operation: str | None = None


@dataclass(frozen=True)
class HeartbeatRow:
    state: str


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("state=inflight", "b"),
        ("state=Inflight", "b"),
        ("state!=completed", "b"),
        ("state~FLIGHT", "b"),
        ("action=Restore", "b"),
        ("action=", ""),
        ("operation=upsert", "a"),
        ("operation!=UPSERT", "b"),
        ("operation=none of all", ""),
        ("name=A", ""),
    ],
)
def test_words_are_compared_in_any_letters_and_names_are_not(text: str, names: str) -> None:
    rows = [Word("a", operation="UPSERT"), Word("b", "restore", "INFLIGHT")]
    assert "".join(row.name for row in chosen(rows, RowFilter([condition(text, Word)]))) == names


@pytest.mark.parametrize(("text", "word"), [("action=restor", "restore"), ("state!=done", "completed")])
def test_an_action_or_state_that_there_is_not_is_refused_with_those_that_there_are(text: str, word: str) -> None:
    with pytest.raises(UsageError, match=text) as error:
        condition(text, Word)
    assert word in error.value.hint


def test_those_of_the_metadata_table_too() -> None:
    assert condition("metadata_state=Completed", TimelinePair).value == "completed"
    with pytest.raises(UsageError):
        condition("metadata_action=restor", TimelinePair)


def test_a_list_may_have_states_of_its_own() -> None:
    assert condition("state=LIVE", HeartbeatRow).holds(HeartbeatRow("live"))


@dataclass(frozen=True)
class Counted:
    name: str
    total: bool = False


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (RowFilter(totals=True), "abcT"),
        (RowFilter(limit=1, totals=True), "aT"),
        (RowFilter(limit=0, totals=True), "T"),
        (RowFilter(limit=2, turned=True, totals=True), "baT"),
        (RowFilter(descending=True, totals=True), "cbaT"),
        (RowFilter(sort="name", limit=2, totals=True), "abT"),
        (RowFilter([condition("name>a", Counted)], limit=1, totals=True), "bT"),
    ],
)
def test_the_total_stands_behind_the_rows_whatever_is_asked_for(wanted: RowFilter, names: str, last: bool) -> None:
    rows = [Counted("a"), Counted("b"), Counted("c")]
    rows.insert(3 if last else 0, Counted("T", total=True))
    for made in (rows, iter(rows)):
        assert "".join(row.name for row in chosen(made, wanted)) == names


@pytest.mark.parametrize("text", ["", "name", "=a", "nmae=a", "count=x", "count>", "sure=maybe", "share<much", "a b=c"])
def test_what_is_no_condition_is_refused_with_what_there_is(text: str) -> None:
    with pytest.raises(UsageError) as error:
        condition(text, Row)
    assert text in error.value.message or "no column" in error.value.message


def test_a_column_that_there_is_not_is_refused_with_all_that_there_are() -> None:
    assert known_columns(["share", "name"], Row, "--columns") == ("share", "name")
    with pytest.raises(UsageError, match="--sort: there is no column size") as error:
        known_columns(["size"], Row, "--sort")
    assert error.value.hint == "the columns are: name, count, sure, share, tags, problem"


COUNTS = st.lists(st.none() | st.integers(-3, 3))


@pytest.mark.slow
@given(COUNTS, st.booleans(), st.none() | st.integers(0, 5))
def test_sorted_by_a_column_what_is_missing_is_the_least(
    counts: list[int | None], descending: bool, limit: int | None
) -> None:
    rows = [Row(str(number), count) for number, count in enumerate(counts)]
    found = [row.count for row in chosen(rows, RowFilter((), "count", descending, limit))]
    least = [None] * counts.count(None) + sorted(count for count in counts if count is not None)
    assert found == (least[::-1] if descending else least)[:limit]


def test_rows_are_made_as_they_are_shown() -> None:
    """A list of thousands that is limited costs no more than it shows."""
    made = []

    def rows() -> Iterator[Row]:
        for row in ROWS:
            made.append(row)
            yield row

    found = chosen(rows(), RowFilter([condition("count>0", Row)], limit=2))
    assert next(found) == ROWS[0]
    assert made == ROWS[:1]
    assert [row.name for row in found] == ["c"]
    assert made == ROWS[:3]


@dataclass(frozen=True)
class Kept:
    """A row of ``undo list``."""

    undo: str
    problem: str


def test_a_damaged_record_of_hudictls_own_says_what_to_do() -> None:
    """The check does not read it."""
    problem = ".hoodie/.hudictl/undo/7.json is damaged: it is cut"
    drop = "`hudictl undo drop 7` frees all that it keeps"
    for row, hint in ((Row("a", problem=problem), "move this file out of the table"), (Kept("7", problem), drop)):
        with pytest.raises(Unreadable) as caught:
            list(chosen([row], RowFilter()))
        assert caught.value.hint == hint


def test_a_problem_is_told_when_all_rows_are_out() -> None:
    rows = [Row("a", problem="it is cut"), Row("b"), Row("c", problem="it is empty")]
    shown = []
    with pytest.raises(Unreadable, match="2 rows could not be read whole: it is cut"):
        shown += [shown.append(row) for row in chosen(rows, RowFilter())]
    assert shown == rows
    assert list(chosen(rows, RowFilter(limit=0))) == []
    assert [row.name for row in chosen(rows, RowFilter([condition("name=b", Row)]))] == ["b"]


@dataclass(frozen=True)
class OfTimeline:
    timeline: str
    problem: str | None = "cut"


@pytest.mark.parametrize(("timelines", "checked"), [(["archived"], False), (["archived", "active"], True)])
def test_the_check_is_named_where_it_shows_more(timelines: list[str], checked: bool) -> None:
    """It does not read what is archived."""
    with pytest.raises(Unreadable) as error:
        list(chosen([OfTimeline("active", None), *map(OfTimeline, timelines)], RowFilter()))
    assert ("hudictl check" in str(error.value.hint)) is checked
