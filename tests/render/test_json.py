"""JSON: one envelope, keys from the dataclasses, none omitted."""

import json
from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest

from hudictl.errors import Refused
from hudictl.formats.savepoint_names import JoinedNames
from hudictl.render.json import envelope, error_object, plain, row_line


class Colour(Enum):
    RED = 1


@dataclass(frozen=True)
class Row:
    name: str
    size: int | None = None
    tags: tuple[str, ...] = ()
    colour: Colour = Colour.RED


def test_no_key_is_omitted() -> None:
    found = json.loads(envelope("table show", "file:///t", rows=[Row("a"), Row("b", 0, ("x",))]))
    assert list(found) == ["schema_version", "command", "table", "rows", "notes"]
    assert found["rows"] == [
        {"name": "a", "size": None, "tags": [], "colour": "RED"},
        {"name": "b", "size": 0, "tags": ["x"], "colour": "RED"},
    ]
    assert json.loads(envelope("resume", None, result=None, notes=["n"])) == {
        "schema_version": 1,
        "command": "resume",
        "table": None,
        "result": None,
        "notes": ["n"],
    }


def test_it_is_one_line_whatever_stands_in_it() -> None:
    text = 'two\nlines, a "quote", a tab\t, \x1b[31m, é and 表'
    body = envelope("c", "t", result=Row(text))
    assert "\n" not in body
    assert body.isascii()
    assert json.loads(body)["result"]["name"] == text


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
