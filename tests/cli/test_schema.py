"""``hudictl schema``: the schemas of docs/schemas; and what any command prints is held against them."""

import json
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from hudictl.cli.main import hudictl, run
from hudictl.formats.instants import State
from hudictl.render import documents
from hudictl.render.documents import CHANGING, SchemaRow, schema_rows
from hudictl.table.timeline.active import load_timeline
from tests.cli.conftest import Tell, Unpack
from tests.cli.help_support import COMMANDS
from tests.crash.inject import Crash, dying
from tests.helpers import Copy, put
from tests.ops.clean_up.service_support import indexing

FILES = sorted((Path(__file__).parents[2] / "docs" / "schemas").glob("*.json"))


@pytest.mark.slow
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


def written_by_streamer(copy: Copy) -> None:
    """The newest commit has a checkpoint, and another schema than those before it."""
    path = max(copy.meta.glob("*.commit"))
    found = json.loads(path.read_bytes())
    schema = json.loads(found["extraMetadata"]["schema"])
    schema["fields"].append({"name": "more", "type": ["null", "int"]})
    found["extraMetadata"] |= {"schema": json.dumps(schema), "deltastreamer.checkpoint.key": "topic,0:5"}
    put(path, json.dumps(found))


def indexed_later(copy: Copy) -> None:
    indexing(copy, begun=False)


def ahead_of_another(copy: Copy) -> None:
    shutil.copytree(copy.path, copy.path.with_name("other"))
    for file in copy.path.with_name("other").glob(f".hoodie/timeline/{copy.commits[-1]}*"):
        file.unlink()


def killed_restore(copy: Copy) -> None:
    """Killed when its plan is on the timeline."""
    deaths = count(5)
    while not any(entry.state is State.INFLIGHT for entry in load_timeline(copy.table).having("restore")):
        with dying(next(deaths)), pytest.raises(Crash):
            run(["restore", copy.savepoints[-1], "-t", str(copy.path), "--engine", "local", "--yes"])


RARE = [
    ("v6", "cow_part", written_by_streamer, "checkpoint list"),
    ("v6", "cow_part", written_by_streamer, "table schema --history"),
    ("v9", "cow_cleaned", None, "clean show 20261121030339253"),
    ("v9", "cow_cluster", None, "clustering show 20261121030319187"),
    ("v9", "cow_savepoints", indexed_later, "indexing show 20261121235959000"),
    ("v9", "cow_savepoints", ahead_of_another, "commit diff {path}/../other"),
    ("v9", "cow_savepoints", killed_restore, "resume --withdraw --plan"),
    ("v9", "cow_savepoints", killed_restore, "resume --withdraw --yes"),
    ("v9", "cow_savepoints", None, "copy --as-of 20261121030412254 --to {path}/../other --yes"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name", "prepare", "line"), RARE)
def test_what_no_other_test_prints(
    tell: Tell, unpack: Unpack, version: str, name: str, prepare: Callable[[Copy], None] | None, line: str
) -> None:
    copy = unpack(version, name)
    if prepare is not None:
        prepare(copy)
    said = tell(*line.format(path=copy.path).split(), "-t", copy.path, "-o", "json")
    assert said.code == 0, said.err
    assert said.json.get("rows") or said.json.get("result")


@pytest.mark.parametrize(
    "line", ["savepoint create 20261121030415374", "savepoint delete 20261121030414313", "metadata drop"]
)
def test_what_apply_prints(tell: Tell, unpack: Unpack, tmp_path: Path, line: str) -> None:
    """Of other plans another test does."""
    file = tmp_path / "plan.json"
    file.write_text(tell(*line.split(), "-t", unpack("v9", "cow_savepoints").path, "--plan", "-o", "json").out)
    assert tell("apply", file, "-o", "json").json["outcome"] == "done"


def test_of_chosen_columns_no_other_is_missed(tell: Tell, unpack: Unpack) -> None:
    path = unpack("v9", "cow_part").path
    assert list(tell("timeline", "show", "--columns", "time", "-t", path, "-o", "json").json["rows"][0]) == ["time"]
