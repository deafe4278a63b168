"""JSON Schema of the types of documents: of what JSON shows of a type, not of its fields."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from jsonschema import Draft202012Validator

from hudictl.errors import Refused
from hudictl.render import documents
from hudictl.render.documents import DOCUMENTS, Document, documents_of, schema_rows
from hudictl.render.json import envelope, error_object
from hudictl.render.schema import ERROR, schema_of
from tests.schema_support import validator


@dataclass(frozen=True)
class Part:
    """A part. ``size``: its bytes; None if not known."""

    size: int | None
    ratio: float = 0.5


@dataclass(frozen=True)
class Plan:
    """A plan, with what JSON shows of it."""

    shown: ClassVar = ("operation", "part.size", "names", "parts", "facts", "more", "either", "kept")
    operation: ClassVar = "restore"
    part: Part
    parts: tuple[Part, ...] = (Part(None), Part(2))
    facts: Mapping[str, int] = field(default_factory=lambda: {"a": 1})
    more: Any = None
    either: Part | str | None = None
    kept: frozenset[str] = frozenset({"b", "a"})

    @property
    def names(self) -> Iterator[str]:
        return iter(("x", "y"))


@dataclass(frozen=True)
class Odd:
    """A type with a value that JSON does not have."""

    key: complex


@pytest.fixture
def one(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Of a command that prints one document of a type: ``one(Plan)``."""

    def schema(kind: type[Any], **more: Any) -> Any:
        monkeypatch.setattr(documents, "DOCUMENTS", (Document("look", "result", kind, **more),))
        return schema_of("look")

    return schema


def test_the_keys_are_those_of_json(one: Any) -> None:
    found = one(Plan)["$defs"]
    assert found["Part"] == {
        "type": "object",
        "description": "A part.",
        "properties": {
            "size": {"type": ["integer", "null"], "description": "Its bytes; null if not known."},
            "ratio": {"type": "number"},
        },
        "required": ["size", "ratio"],
    }
    assert found["Plan"]["properties"] == {
        "operation": {"type": "string"},
        "size": {"type": ["integer", "null"], "description": "Its bytes; null if not known."},
        "names": {"type": "array", "items": {"type": "string"}},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
        "facts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "more": {},
        "either": {"anyOf": [{"$ref": "#/$defs/Part"}, {"type": "string"}, {"type": "null"}]},
        "kept": {"type": "array", "items": {"type": "string"}},
    }


@pytest.mark.parametrize(
    "plan", [Plan(Part(1)), Plan(Part(None), (), {}, [1, {"a": None}], Part(3)), Plan(Part(1), either="x")]
)
def test_what_is_printed_is_valid(one: Any, plan: Plan) -> None:
    document = json.loads("".join(envelope("look", None, result=plan)))
    Draft202012Validator(one(Plan)).validate(document)


def test_more_keys_are_allowed_and_none_is_missed(one: Any) -> None:
    document = json.loads("".join(envelope("look", None, result=Part(1))))
    valid = Draft202012Validator(one(Part)).is_valid
    assert valid(document | {"more": 1, "result": document["result"] | {"more": 1}})
    for wrong in ({"size": 1}, {"size": "1", "ratio": 1}, {"size": 1, "ratio": None}, None):
        assert not valid(document | {"result": wrong})
    for key in document:
        assert not valid({name: value for name, value in document.items() if name != key})
    assert not valid(document | {"schema_version": 2})
    assert Draft202012Validator(one(Part, or_null=True)).is_valid(document | {"result": None})


def test_a_key_that_the_command_adds(one: Any) -> None:
    properties = one(Part, besides={"table": str})["properties"]["result"]["properties"]
    assert list(properties) == ["size", "ratio", "table"]


def test_a_type_that_is_not_known(one: Any) -> None:
    with pytest.raises(TypeError, match="complex"):
        one(Odd)


def test_one_of_rows_and_result() -> None:
    schema = schema_of("savepoint show")
    schema["$defs"]["Restorable"] = {}
    document = {"schema_version": 1, "command": "savepoint show", "table": None, "notes": []}
    valid = Draft202012Validator(schema).is_valid
    assert valid(document | {"rows": []})
    assert valid(document | {"result": {}})
    assert not valid(document)
    assert not valid(document | {"rows": [], "result": {}})


def test_an_error() -> None:
    found = json.loads(error_object(Refused("no", hint="go", file="x")))
    assert validator(ERROR).is_valid(found)
    assert not validator(ERROR).is_valid(found | {"exit_code": "13"})
    assert not validator(ERROR).is_valid(found | {"more": 1})


def test_a_saved_plan_has_the_documents_of_its_command() -> None:
    assert {document.command for document in documents_of("apply")} > {"restore", "orphans delete"}
    assert schema_of("apply")["properties"]["command"] == {"const": "apply"}


@pytest.mark.slow
def test_no_two_types_have_one_name() -> None:
    """They share the definitions of a schema."""
    seen: dict[str, Any] = {}
    for row in schema_rows():
        for name, kind in schema_of(row.command)["$defs"].items():
            assert seen.setdefault(name, kind) == kind
    assert len(seen) > 100
    assert all(document.of.__name__ in seen or document.besides for document in DOCUMENTS)
