"""docs/schemas: what all commands print, and no change of it that readers would notice."""

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hudictl.render.documents import DOCUMENTS
from hudictl.render.schema import schema_of
from tests.schema_support import check_printed

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "schemas"
Edit = Callable[[Any], Any]


@pytest.fixture
def makers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    from makers import schemas  # type: ignore[import-not-found]

    return schemas


@pytest.fixture
def generate(makers: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """docs/generate.py, which writes the schemas alone, below a folder of the test."""
    import generate as script  # type: ignore[import-not-found]

    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "generated", makers.schema_files)
    monkeypatch.setattr(sys, "argv", ["generate.py"])
    return script


@pytest.mark.slow
def test_each_is_a_schema(makers: ModuleType) -> None:
    files = makers.schema_files()
    assert {f"docs/schemas/{path.name}" for path in FOLDER.iterdir()} == set(files)
    for text in files.values():
        Draft202012Validator.check_schema(json.loads(text))


def rows(schema: Any) -> Any:
    return schema["$defs"]["SavepointRow"]["properties"]


def set_to(name: str, hint: Any) -> Edit:
    return lambda schema: rows(schema).update({name: hint})


def rename(schema: Any) -> None:
    rows(schema)["owner"] = rows(schema).pop("user")


def other_class(schema: Any) -> None:
    schema["$defs"]["Row"] = schema["$defs"].pop("SavepointRow")
    schema["properties"]["rows"]["items"] = {"$ref": "#/$defs/Row"}


def without_result(schema: Any) -> None:
    schema["properties"]["result"]["anyOf"] = schema["properties"]["result"]["anyOf"][:1]


def either(schema: Any) -> None:
    schema["properties"]["result"] = {"type": "string"}
    schema["required"].remove("rows")
    schema["oneOf"] = [{"required": ["rows"]}, {"required": ["result"]}]


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
LOSSES = [
    ("savepoint list", lambda schema: rows(schema).pop("user"), [".rows[].user is gone"]),
    ("savepoint list", rename, [".rows[].user is gone"]),
    ("savepoint list", set_to("instant", NUMBER), [".rows[].instant: was string, can be integer"]),
    ("savepoint list", set_to("files", TEXT), [".rows[].files: was integer or null, can be string"]),
    ("savepoint list", set_to("instant", {"type": ["string", "null"]}), [".rows[].instant: was string, can be null"]),
    ("savepoint list", set_to("instant", {}), [".rows[].instant: was string, can be any value"]),
    (
        "savepoint list",
        set_to("instant", {"type": "array", "items": TEXT}),
        [".rows[].instant: was string, can be array"],
    ),
    (
        "savepoint list",
        lambda schema: schema["$defs"]["SavepointRow"]["required"].remove("user"),
        [".rows[].user can be missing"],
    ),
    ("savepoint list", lambda schema: schema["required"].remove("notes"), [".notes can be missing"]),
    ("savepoint list", lambda schema: schema["properties"].pop("rows"), [".rows is gone"]),
    (
        "savepoint list",
        lambda schema: schema["properties"]["rows"].update(items=TEXT),
        [".rows[]: was SavepointRow, can be string", ".rows[]: SavepointRow is gone"],
    ),
    (
        "check",
        lambda schema: schema["$defs"]["Remedy"]["properties"].pop("command"),
        [".rows[].remedy[].command is gone"],
    ),
    (
        "error",
        lambda schema: schema["$defs"]["ErrorObject"]["properties"].update(fields=TEXT),
        [".fields: was object, can be string", ".fields: object is gone"],
    ),
    (
        "restore",
        lambda schema: schema["properties"]["outcome"]["enum"].append("half done"),
        [".outcome: was one of some values, can be one of some values"],
    ),
    (
        "restore",
        lambda schema: schema["$defs"]["RestorePlan"]["properties"]["fingerprint"].update(additionalProperties=NUMBER),
        [".result.fingerprint.*: was string, can be integer"],
    ),
    ("stats sizes", lambda schema: schema["$defs"]["SizeRow"]["properties"].update(skew=TEXT), None),
    ("savepoint prune", without_result, None),
]
KEPT = [
    ("savepoint list", set_to("more", TEXT)),
    ("savepoint list", set_to("files", NUMBER)),
    ("savepoint list", lambda schema: rows(schema)["state"].update(description="another")),
    ("savepoint list", lambda schema: schema["properties"].update(more=TEXT)),
    ("savepoint list", other_class),
    ("savepoint list", either),
    ("stats sizes", lambda schema: schema["$defs"]["SizeRow"]["properties"].update(skew=NUMBER)),
    ("restore", lambda schema: schema["properties"]["result"]["anyOf"].append({"$ref": "#/$defs/CatalogGap"})),
]


def edited(command: str, edit: Edit) -> tuple[Any, Any]:
    """The schema of a command, and a copy with a change."""
    old = schema_of(command)
    new = copy.deepcopy(old)
    edit(new)
    assert new != old
    return old, new


@pytest.mark.parametrize(("command", "edit", "expected"), LOSSES)
def test_what_readers_would_lose_is_found(
    command: str, edit: Edit, expected: list[str] | None, makers: ModuleType
) -> None:
    found = list(makers.lost(*edited(command, edit)))
    assert found
    assert expected is None or found == expected


@pytest.mark.parametrize(("command", "edit"), KEPT)
def test_what_they_would_not_notice_is_none(command: str, edit: Edit, makers: ModuleType) -> None:
    assert list(makers.lost(*edited(command, edit))) == []


@pytest.mark.slow
def test_such_a_change_is_not_written(generate: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Here the present file has a key that the program does not print any more."""
    assert generate.main() == 0
    path = tmp_path / "docs/schemas/savepoint-list.json"
    before = json.loads(path.read_text())
    rows(before)["gone"] = TEXT
    path.write_text(json.dumps(before))
    capsys.readouterr()
    assert generate.main() == 1
    assert capsys.readouterr().out.startswith("docs/schemas/savepoint-list.json: .rows[].gone is gone: ")
    assert json.loads(path.read_text()) == before

    path.write_text(json.dumps(before | {"$comment": "schema_version 0"}))
    assert generate.main() == 0
    assert "gone" not in rows(json.loads(path.read_text()))


@pytest.mark.slow
def test_a_command_that_is_gone_is_one(generate: ModuleType, makers: ModuleType, tmp_path: Path) -> None:
    assert generate.main() == 0
    path = tmp_path / "docs/schemas/savepoint-list.json"
    path.rename(path.with_name("savepoint-show-all.json"))
    assert list(makers.losses(tmp_path, makers.schema_files())) == [
        "docs/schemas/savepoint-show-all.json: the command is gone"
    ]


@pytest.mark.slow
def test_the_documents_of_the_page_are_valid(makers: ModuleType) -> None:
    from makers.json_runs import printed  # type: ignore[import-not-found]

    found = printed(DOCUMENTS)
    assert len(found) > 70
    for document in found.values():
        check_printed((), json.dumps(document))
