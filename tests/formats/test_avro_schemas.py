"""Schemas out of headers: parsed once, and refused where no data could end them."""

import json
from typing import Any

import pytest

from hudictl.errors import Unreadable
from hudictl.formats.avro_schemas import parse_schema

LONG = {"name": "id", "type": "long"}


def text(*fields: Any, name: str = "R") -> str:
    return json.dumps({"type": "record", "name": name, "fields": list(fields)})


def test_a_schema_is_parsed_once_with_and_without_logical_types() -> None:
    day = {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}], "default": None}
    schema = parse_schema(text(LONG, day))
    assert (schema.name, schema.fields) == ("R", ("id", "day"))
    assert "logicalType" in json.dumps(schema.parsed["fields"])
    assert "logicalType" not in json.dumps(schema.raw["fields"])
    assert parse_schema(text(LONG, day)) is schema


def test_an_invalid_default_of_an_old_release_does_no_harm() -> None:
    assert parse_schema(text({"name": "id", "type": "long", "default": "none"})).fields == ("id",)


def test_a_field_may_be_called_default_or_logical_type() -> None:
    assert parse_schema(text({"name": "default", "type": "int"}, {"name": "logicalType", "type": "int"})).fields == (
        "default",
        "logicalType",
    )


@pytest.mark.parametrize("name", ["posi\ufffdion", "1st", "a b", "", "n."])
@pytest.mark.parametrize("of_field", [True, False])
def test_a_name_that_avro_does_not_take_is_damage(name: str, of_field: bool) -> None:
    """Hudi's readers end at it: a byte was flipped."""
    with pytest.raises(Unreadable, match="cannot be used"):
        parse_schema(text({"name": name, "type": "int"}) if of_field else text(LONG, name=name))


def test_a_name_may_have_a_namespace_or_letters_of_any_script_and_a_default_is_no_name() -> None:
    whole = {"name": "größe", "type": "long", "default": {"name": "a b"}}
    assert parse_schema(text(whole, name="hoodie.trips-1.R")).fields == ("größe",)


def nested(levels: int) -> Any:
    return {"type": "array", "items": nested(levels - 1)} if levels else "int"


def stairs(levels: int) -> str:
    """Flat as a text, but each record may have the one before it in it."""
    kinds = [{"type": "record", "name": "R0", "fields": [LONG]}]
    for level in range(1, levels):
        below = {"name": "below", "type": ["null", f"R{level - 1}"]}
        kinds.append({"type": "record", "name": f"R{level}", "fields": [below]})
    return text(*({"name": f"f{level}", "type": ["null", kind]} for level, kind in enumerate(kinds)))


def fixed(size: Any) -> Any:
    return {"name": "a", "type": {"type": "array", "items": {"type": "fixed", "name": "F", "size": size}}}


def doubled(levels: int, *innermost: Any) -> str:
    """Records of two records each."""
    inner: Any = {"type": "record", "name": "R0", "fields": list(innermost)}
    for level in range(1, levels + 1):
        fields = [{"name": "a", "type": inner}, {"name": "b", "type": f"R{level - 1}"}]
        inner = {"type": "record", "name": f"R{level}", "fields": fields}
    return json.dumps(inner)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("", "Expecting value"),
        ("{}", "type"),
        ('"int"', "does not describe a record"),
        ('["null", "int"]', "does not describe a record"),
        (text({"name": "a", "type": "of nobody"}), "of nobody"),
        (text({"name": "again", "type": "R"}), "contains itself"),
        (text({"name": "again", "type": ["null", "R"]}), "contains itself"),
        (text({"name": "again", "type": {"type": "array", "items": "R"}}), "contains itself"),
        (text({"name": "a", "type": {"type": "array", "items": "null"}}), "an array whose elements take 0 bytes"),
        (
            text({"name": "a", "type": {"type": "array", "items": {"type": "record", "name": "E", "fields": []}}}),
            "an array whose elements take 0 bytes",
        ),
        (text({"name": "a", "type": nested(300)}), "nested more than 200 times"),
        ("[" * 100_000, "RecursionError|recursion"),
        (doubled(40, LONG), "more than 100000 fields"),
        (doubled(40), "a record of 255 values in 0 bytes"),
        (text({"name": 5, "type": "int"}), "5 is not a valid field name"),
        (stairs(20_000), "nested more than 200 times"),
        (text(*[LONG | {"name": f"f{number}"} for number in range(100_001)]), "more than 100000 names"),
        (text(fixed(-1)), "-1 is not a number of bytes"),
        (text(fixed(0)), "an array whose elements take 0 bytes"),
        (text({"name": "a", "type": ["null", json.loads(doubled(9))]}), "values in 0 bytes"),
    ],
    ids=range(20),
)
def test_what_cannot_be_used_is_refused(schema: str, reason: str) -> None:
    """Among it what would keep a decoder busy for ever, or overflow its stack, with no data at all."""
    with pytest.raises(Unreadable, match=reason) as caught:
        parse_schema(schema)
    assert "its Avro schema cannot be used" in caught.value.message


def test_a_record_may_be_used_in_two_places() -> None:
    inner = {"type": "record", "name": "I", "fields": [LONG]}
    assert parse_schema(text({"name": "a", "type": inner}, {"name": "b", "type": ["null", "I"]})).fields == ("a", "b")
