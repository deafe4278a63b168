"""JSON: one envelope, keys from the dataclasses, none omitted."""

import json
from dataclasses import dataclass
from enum import Enum

from hudictl.errors import Refused
from hudictl.render.json import envelope, error_object, plain


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
