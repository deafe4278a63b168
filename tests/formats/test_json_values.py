"""JSON that Hudi would write, and JSON that nobody would."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.formats import json_values
from hudictl.formats.json_values import parse_json


@pytest.fixture(params=["orjson", "json"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The library that parses: an executor may have the slow one only."""
    if request.param == "json":
        monkeypatch.setattr(json_values, "_fast_loads", None)
    return str(request.param)


@pytest.mark.slow
@pytest.mark.parametrize("levels", [101, 500, 1020, 100_000, 2_000_000])
@pytest.mark.parametrize("each", [b"[%s]", b'{"a":%s}', b'[1,"]]]]",{"b":%s}]'])
def test_deep_json_is_refused(library: str, levels: int, each: bytes) -> None:
    """Also where a parser goes on, but whatever encodes the value would not; and with brackets in texts."""
    before, after = each.split(b"%s")
    with pytest.raises(ValueError, match=r"nested more than 100 times|line 1"):
        parse_json(before * levels + b"1" + after * levels)


def test_json_of_as_many_levels_as_allowed(library: str) -> None:
    value = parse_json(b"[" * 100 + b"]" * 100)
    for _ in range(99):
        (value,) = value
    assert value == []


@pytest.mark.parametrize("text", ['"\\ud800"', '{"\\udfff": 1}', b'"\xed\xa0\x80"', "9" * 5000, "{", b"\xff"])
def test_no_json(library: str, text: str | bytes) -> None:
    """Half a character, a number of thousands of digits, and no JSON at all."""
    with pytest.raises(ValueError, match=r".") as caught:
        parse_json(text)
    assert "\n" not in str(caught.value)


JSON = st.recursive(st.none() | st.integers(-(2**63), 2**63 - 1) | st.text(), lambda below: st.lists(below, max_size=3))


@pytest.mark.slow
@given(JSON)
def test_what_is_not_deep_is_read(value: Any) -> None:

    assert parse_json(json.dumps(value)) == parse_json(json.dumps(value).encode()) == value
    assert parse_json('{"a": NaN, "b": "\\ud83d\\ude00"}')["b"] == "\U0001f600"
