"""JSON: one envelope, keys from the dataclasses, none omitted."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from decimal import Decimal
from enum import Enum
from typing import Any, ClassVar
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.errors import Refused
from hudictl.formats.savepoint_names import JoinedNames
from hudictl.render.json import envelope, error_object, plain, row_line, stream_envelope


class Colour(Enum):
    RED = 1


@dataclass(frozen=True)
class Row:
    name: str
    size: int | None = None
    tags: tuple[str, ...] = ()
    colour: Colour = Colour.RED


@dataclass(frozen=True)
class Plan:
    """As plans of changes: what is shown is not all fields, and very many rows are not held."""

    shown: ClassVar = ("size", "names")
    size: int
    other: int = 0

    @property
    def names(self) -> Iterator[str]:
        return map(str, range(self.size))


def document(command: str, table: str | None, **content: Any) -> Any:
    return json.loads("".join(envelope(command, table, **content)))


def test_no_key_is_omitted() -> None:
    found = document("table show", "file:///t", rows=[Row("a"), Row("b", 0, ("x",))])
    assert list(found) == ["schema_version", "command", "table", "rows", "notes"]
    assert found["rows"] == [
        {"name": "a", "size": None, "tags": [], "colour": "RED"},
        {"name": "b", "size": 0, "tags": ["x"], "colour": "RED"},
    ]
    assert document("resume", None, result=None, notes=["n"]) == {
        "schema_version": 1,
        "command": "resume",
        "table": None,
        "result": None,
        "notes": ["n"],
    }


@pytest.mark.parametrize("count", [0, 1, 2, 2500])
def test_rows_go_out_as_they_come(count: int) -> None:
    """A plan can name very many files. What is said behind the rows may only be known when they have come."""
    made, notes = [], []

    def rows() -> Iterator[Row]:
        for number in range(count):
            made.append(number)
            yield Row(str(number), number)
        notes.append("the end")

    parts = envelope("c", "t", rows=rows(), result=Plan(count), notes=notes)
    written = [(len(made), part) for part in parts]
    assert [number for number, part in written if part.startswith('{"name"')] == list(range(1, count + 1))
    found = json.loads("".join(part for _, part in written))
    assert found["rows"] == [plain(Row(str(number), number)) for number in range(count)]
    assert (found["result"], found["notes"]) == ({"size": count, "names": [str(n) for n in range(count)]}, ["the end"])
    assert plain(Plan(count)) == found["result"]


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 250])
def test_a_stream_goes_out_a_hundred_rows_at_a_time(count: int) -> None:
    """As the same document, with the notes that came meanwhile."""
    made, notes = [], []

    def rows() -> Iterator[Row]:
        for number in range(count):
            made.append(number)
            yield Row(str(number), number)
        notes.append("the end")

    written = [(len(made), part) for part in stream_envelope("c", "t", rows(), notes)]
    sent = [number for number, part in written if part.startswith('{"name"')]
    assert sent == sorted({*range(100, count + 1, 100), count} - {0})
    assert [part for _, part in written].pop() == "}"
    expected = "".join(
        envelope("c", "t", rows=[Row(str(number), number) for number in range(count)], notes=["the end"])
    )
    assert "".join(part for _, part in written) == expected


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.sampled_from(["\ud800", "\x7f", "\u2028", "é"])
    | st.binary()
    | st.decimals()
    | st.dates()
    | st.times()
    | st.datetimes(timezones=st.none() | st.just(timezone.utc))
    | st.uuids(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=3), inside, max_size=4),
    max_leaves=10,
)


@pytest.mark.slow
@given(records=st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=5), max_size=5))
def test_a_stream_of_any_records_is_the_same_document(records: list[dict[str, Any]]) -> None:
    """Byte for byte: numbers that JSON does not have in one row change none of the others."""
    rows = [Row("r", None, (record,)) for record in records]  # type: ignore[arg-type]
    assert "".join(stream_envelope("c", None, rows, [])) == "".join(envelope("c", None, notes=[], rows=rows))


def test_it_is_one_line_whatever_stands_in_it() -> None:
    text = 'two\nlines, a "quote", a tab\t, \x1b[31m, \x7f\x9b\u202e\u2028\udcff, é and 表'
    rows = [Row(text)]
    error = Refused(text, hint=text, name={text: text})
    for body in (
        "".join(envelope(text, text, result=rows[0], notes=[text], more={text: text})),
        "".join(stream_envelope("c", "t", rows, [])),
        row_line(rows[0]),
        row_line(Row(text, tags=(text, {1}))),  # type: ignore[arg-type]
        error_object(error),
    ):
        assert body.isascii()
        assert body.isprintable()
        assert text in str(json.loads(body).values()) or repr(text) in str(json.loads(body))


def test_sets_are_sorted_so_that_plans_compare() -> None:
    assert plain({"a": frozenset({"c", "b"})}) == {"a": ["b", "c"]}
    assert plain([{2, 1}, (3,), {5: Row("x")}]) == [[1, 2], [3], {"5": plain(Row("x"))}]


def test_an_error_has_all_its_keys() -> None:
    found = json.loads(error_object(Refused("no", instants=("1", "2"))))
    assert found == {
        "slug": "refused",
        "exit_code": 13,
        "message": "no",
        "hint": "",
        "fields": {"instants": ["1", "2"]},
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"abc\xff", "YWJj/w=="),
        (datetime(2026, 11, 21, 3, 4, 5, 6, timezone.utc), "2026-11-21T03:04:05.000006+00:00"),
        (datetime(2026, 11, 21, 3, 4, 5), "2026-11-21T03:04:05"),
        (date(2026, 11, 21), "2026-11-21"),
        (time(3, 4, 5), "03:04:05"),
        (Decimal("0E-10"), "0.0000000000"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (2.5, 2.5),
    ],
)
def test_values_of_records(value: Any, text: Any) -> None:
    """Alone, nested, and in a row of a stream, beside others that JSON has no type for."""
    assert plain(value) == text
    for row in ({"x": value}, {"x": [{"y": value}], "number": float("nan")}):
        assert json.loads(row_line(row)) == plain(row)


def test_names_in_few_objects_are_shown_as_names() -> None:
    assert plain(JoinedNames({"p": "a/b", "": ""})) == {"p": ["a", "b"], "": []}
