"""JSON out of a table: its values are not nested deep, and their text can be encoded."""

import json
from collections.abc import Callable
from typing import Any

_fast_loads: Callable[[bytes | str], Any] | None
try:
    from orjson import loads as _fast_loads
except ImportError:
    # An executor of Spark may not have it.
    _fast_loads = None

_MOST_LEVELS = 100
"""Hudi nests six. Whatever encodes or compares values in Python ends at some hundreds."""


def parse_json(body: bytes | str) -> Any:
    """The value of a JSON text. Raises ValueError."""
    try:
        value = _parsed(body)
    except RecursionError:
        raise ValueError(f"it is nested more than {_MOST_LEVELS} times") from None
    brackets = (b"{", b"[") if isinstance(body, bytes) else ("{", "[")
    if sum(map(body.count, brackets)) <= _MOST_LEVELS:  # type: ignore[arg-type]
        # Most commits are small, and timelines have very many.
        return value
    level = [value]
    for _ in range(_MOST_LEVELS):
        # A commit has very many values: no calls of functions here.
        level = [
            below
            for entry in level
            for below in (entry.values() if type(entry) is dict else entry if type(entry) is list else ())
            if type(below) is dict or type(below) is list
        ]
        if not level:
            return value
    raise ValueError(f"it is nested more than {_MOST_LEVELS} times")


def parse_first(body: bytes) -> Any:
    """The first value of a JSON text. As for Hudi's reader, anything may follow. Raises ValueError."""
    text = body.decode().lstrip()
    try:
        end = json.JSONDecoder().raw_decode(text)[1]
    except RecursionError:
        raise ValueError(f"it is nested more than {_MOST_LEVELS} times") from None
    return parse_json(text[:end])


def _parsed(body: bytes | str) -> Any:
    """With orjson, which takes a third of the time. What it refuses can still be JSON for Hudi's reader."""
    if _fast_loads is not None:
        try:
            return _fast_loads(body)
        except ValueError:
            pass
    value = json.loads(body)
    # A half of a surrogate pair is no character: no path, and no terminal, takes it.
    json.dumps(value, ensure_ascii=False).encode()
    return value
