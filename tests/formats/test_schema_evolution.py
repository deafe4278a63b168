"""Rows of older schemas, read up to a newer one."""

import json
from typing import Any

import pytest

from hudictl.formats.avro_schemas import Schema, parse_schema
from hudictl.formats.schema_evolution import columns_in_millis, float_text, reader


def schema(**fields: Any) -> Schema:
    named = [{"name": name, "type": kind} for name, kind in fields.items()]
    return parse_schema(json.dumps({"type": "record", "name": "r", "fields": named}))


def nullable(kind: Any) -> list[Any]:
    return ["null", kind]


INNER = {"type": "record", "name": "inner", "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "string"}]}


def test_columns_are_those_of_the_schema_in_its_order() -> None:
    """What is new is null, what is gone is left out; Hudi's own columns come before, but for those it names."""
    read = reader(schema(b="int", a="long", own_1="string"), ("own_1", "own_2"))
    row = read({"a": 1, "gone": 2, "own_2": "o"})
    assert list(row.items()) == [("own_2", "o"), ("b", None), ("a", 1), ("own_1", None)]


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("long", 1, 1),
        ("double", 1, 1.0),
        ("float", 2**40, 1099511600000.0),
        ("float", 0.10000000149011612, 0.1),
        ("float", 0.1, 0.1),
        ("float", 16777216.0, 16777216.0),
        ("float", 3.4028234663852886e38, 3.4028235e38),
        ("float", 1e300, 1e300),
        ("float", float("-inf"), float("-inf")),
        ("float", None, None),
        ("float", "x", "x"),
        ("string", 12, "12"),
        ("string", 2.5, "2.5"),
        ("string", 1e10, "1.0E10"),
        ("string", b"ab", "ab"),
        ("string", None, None),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, b"A", "A"),
        ({"type": "array", "items": "double"}, [1, None], [1.0, None]),
        ({"type": "map", "values": "string"}, {"k": 1}, {"k": "1"}),
        ({"type": "map", "values": "string"}, [("k", "v")], {"k": "v"}),
        (INNER, {"a": 1}, {"a": 1, "b": None}),
        ({"type": "array", "items": INNER}, [{"a": 1, "b": 2}], [{"a": 1, "b": "2"}]),
        (["null", "string", "long"], 5, 5),
    ],
)
def test_promotions(kind: Any, old: Any, new: Any) -> None:
    for declared in (kind, kind if isinstance(kind, list) else nullable(kind)):
        found = reader(schema(x=declared))({"x": old})["x"]
        assert (found, type(found)) == (new, type(new))


def test_a_type_that_is_named_again_is_the_same() -> None:
    assert reader(schema(x=INNER, y=nullable("inner")))({"x": None, "y": {"a": 1}})["y"] == {"a": 1, "b": None}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (0.001, "0.001"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (-1.25e-5, "-1.25E-5"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_numbers_as_java_writes_them(value: float, text: str) -> None:
    assert float_text(value) == text


def test_columns_with_timestamps_in_milliseconds() -> None:
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    local = {"type": "long", "logicalType": "local-timestamp-millis"}
    micros = {"type": "long", "logicalType": "timestamp-micros"}
    assert columns_in_millis(schema(a=millis, b=nullable(local), c=micros, d="long")) == {"a", "b"}
