"""``hudictl schema``: the schemas of docs/schemas; and what any command prints is held against them."""

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from hudictl.cli.main import hudictl
from hudictl.render import documents
from hudictl.render.documents import CHANGING, SchemaRow, schema_rows
from tests.cli.conftest import Tell, Unpack
from tests.cli.help_support import COMMANDS

FILES = sorted((Path(__file__).parents[2] / "docs" / "schemas").glob("*.json"))


def test_it_prints_the_files_of_the_docs(tell: Tell) -> None:
    for command in (*(row.command for row in schema_rows()), "error"):
        said = tell("schema", *command.split())
        assert (said.code, said.err) == (0, "")
        file = next(file for file in FILES if file.stem == command.replace(" ", "-"))
        assert said.out == file.read_text(encoding="utf-8"), "run `python docs/generate.py`"
    assert tell("schema", "savepoint list", "-o", "json").out == tell("schema", "savepoint", "list").out


def test_without_a_command_it_lists_them(tell: Tell) -> None:
    rows = tell("schema", "-o", "json").json["rows"]
    assert {"command": "savepoint show", "keys": ["rows", "result"], "changes": False} in rows
    assert len(rows) == len(FILES) - 1
    assert "savepoint show" in tell("schema").out


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("savepoint", "lst"), "did you mean `savepoint list`"),
        (("why",), "did you mean `why archive` or `why clean` or `why compaction`?"),
        (("demo",), "`hudictl schema` lists them"),
    ],
)
def test_2_what_prints_no_json(tell: Tell, words: tuple[str, ...], hint: str) -> None:
    said = tell("schema", *words)
    assert said.code == 2
    assert hint in said.line


@pytest.mark.parametrize(
    ("line", "expected"), [("schema sav", ["savepoint"]), ("schema savepoint s", ["show"]), ("schema x y", [])]
)
def test_the_shell_completes_commands(line: str, expected: list[str]) -> None:
    *words, begun = line.split()
    found = ShellComplete(hudictl, {}, "hudictl", "_HUDICTL_COMPLETE").get_completions(words, begun)
    assert [item.value for item in found] == expected


def test_what_changes_a_table_has_a_plan() -> None:
    assert {
        name for name, command in COMMANDS.items() if any(each.name == "plan" for each in command.params)
    } == CHANGING


def test_what_has_another_type_than_it_says_is_found(tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    """By each test that runs a command with JSON."""
    monkeypatch.setattr(documents, "schema_rows", lambda: [SchemaRow("savepoint show", "rows", False)])  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match=r"schema: \$.rows\[0\].keys: 'rows' is not of type 'array'"):
        tell("schema", "-o", "json")


def test_of_chosen_columns_no_other_is_missed(tell: Tell, unpack: Unpack) -> None:
    path = unpack("v9", "cow_part").path
    assert list(tell("timeline", "show", "--columns", "time", "-t", path, "-o", "json").json["rows"][0]) == ["time"]
