"""Dataclasses from JSON values."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from hudictl.formats.decode import decode


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    bytes: int | None = None


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    plan: Mapping[str, Any]
    wait_s: float = 2.0
    sure: bool = False
    rule: str | None = None


def test_what_is_written_is_read() -> None:
    """Nested ones too; defaults for what is missing; what is in a mapping stays as it was."""
    text = '{"parts": [{"name": "a"}, {"name": "b", "bytes": 7}], "plan": {"x": [{"y": null}]}, "rule": "z"}'
    found = decode(Whole, json.loads(text))
    assert found == Whole((Part("a"), Part("b", 7)), {"x": [{"y": None}]}, rule="z")
    assert hash(found.parts)


def test_a_whole_number_is_a_duration() -> None:
    assert decode(Whole, {"parts": [], "plan": {}, "wait_s": 5}).wait_s == 5


@pytest.mark.parametrize(
    "change",
    [
        *({"surprise": 1}, {"parts": [{"name": "a", "surprise": 1}]}, {"parts": [{}]}, {"parts": [7]}, {"parts": 7}),
        *({"parts": {"name": "a"}}, {"parts": [{"name": 7}]}, {"parts": [{"name": None}]}, {"parts": None}),
        *({"parts": [{"name": "a", "bytes": "7"}]}, {"parts": [{"name": "a", "bytes": 7.5}]}, {"parts": "abc"}),
        *({"plan": ["a"]}, {"plan": None}, {"sure": 1}, {"sure": "false"}, {"wait_s": "2"}, {"rule": 7}),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_in_one_line(change: dict[str, Any]) -> None:
    """Nothing is made to fit: "false" is not true, and 7 is no name."""
    with pytest.raises(ValueError, match=r"\S") as caught:
        decode(Whole, {"parts": [], "plan": {}} | change)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [None, [], [1], "a", 7, {}], ids=str)
def test_what_is_no_object_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        decode(Whole, value)
