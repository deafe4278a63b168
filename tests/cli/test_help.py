"""--help: the examples run, and variables and defaults are shown."""

import re
import shlex
from pathlib import Path

import click
import pytest

from hudictl.cli.environment import NEVER
from hudictl.cli.examples import EXAMPLES
from tests.cli.conftest import Said, Tell, Unpack
from tests.cli.help_support import COMMANDS
from tests.helpers import Copy
from tests.ops.clean_up.service_support import broken_clean, indexing
from tests.ops.repair.services_support import clustering

FAILED = ("failed-writes", "heartbeat", "marker", "log")
TABLES = {
    "resume": "mor_restore_interrupted",
    "restore list": "mor_restore_interrupted",
    "restore show": "mor_restore_interrupted",
    "rollback list": "cow_rollback_interrupted",
    "rollback show": "cow_rollback_interrupted",
    "clean show": "cow_cleaned",
    "clean discard": "cow_cleaned",
    **{f"compaction {word}": "mor_pending_compaction" for word in ("show", "validate", "unschedule", "rebuild-plan")},
    "clustering prune": "cow_cluster",
    "clustering show": "cow_cluster",
    "metadata lookup": "cow_record_index",
    **{name: "mor_failed_lazy" for name in EXAMPLES if name.startswith(FAILED)},
}
"""The tables on which examples run; the others on cow_savepoints."""


def test_every_command_has_examples() -> None:
    # These two have them in their texts: they run on in a shell, and in a client.
    assert EXAMPLES.keys() == COMMANDS.keys() - {"completion", "mcp"}


def typed(tell: Tell, copy: Copy, line: str) -> Said:
    """Runs what follows ``hudictl``; on threads, as Spark is tested elsewhere."""
    line, _, target = line.replace("/lake/trips", str(copy.path)).partition(" > ")
    words = shlex.split(line)
    name = next(" ".join(words[:length]) for length in (2, 1) if " ".join(words[:length]) in COMMANDS)
    takes_engine = any("--engine" in parameter.opts for parameter in COMMANDS[name].params)
    said = tell(*words, *(("--engine", "local") if takes_engine and "--engine" not in words else ()))
    if target:
        Path(target).write_text(said.out)
    return said


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_run(
    name: str, unpack: Unpack, tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v9", TABLES.get(name, "cow_savepoints"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HUDICTL_TABLE", str(copy.path))
    if name == "indexing show":
        indexing(copy, begun=False)
    if name == "clean discard":
        broken_clean(copy, "cut", begun=False)
    if name == "clustering prune":
        clustering(copy)
    if name == "rollback":
        tell("savepoint", "delete", "20261121030414313", "--yes")
    for line in EXAMPLES[name]:
        if name == "history show":
            tell("savepoint", "create", "--yes", "--engine", "local")
            (made,) = tell("history", "-o", "json").json["rows"]
            line = re.sub(r"\d{17}", made["instant"], line)
        if line.startswith("undo 2"):
            (made,) = tell("undo", "list", "-o", "json").json["rows"]
            line = re.sub(r"\d{17}", made["undo"], line)
        said = typed(tell, copy, line)
        assert (line, said.code, said.err) == (line, 0, "")
    shown = tell(*name.split(), "--help").out
    assert all(f"  hudictl {line}" in shown for line in EXAMPLES[name])


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_has_a_variable_that_the_help_shows(name: str, tell: Tell) -> None:
    shown = " ".join(tell(*name.split(), "--help").out.split())
    for option in COMMANDS[name].params:
        if isinstance(option, click.Option) and option.name not in NEVER and option.envvar and not option.hidden:
            assert f"env var: {option.envvar}" in shown, option.name


def test_what_accepts_a_loss_has_none(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    monkeypatch.setenv("HUDICTL_YES", "1")
    assert tell("savepoint", "delete", copy.savepoints[0], "-t", copy.path).code == 4


def test_a_variable_says_what_its_option_would(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    monkeypatch.setenv("HUDICTL_LIMIT", "1")
    monkeypatch.setenv("HUDICTL_OUTPUT", "json")
    assert len(tell("timeline", "show", "-t", copy.path).json["rows"]) == 1
    assert len(tell("timeline", "show", "-t", copy.path, "--limit", "2").json["rows"]) == 2


def test_a_plan_tells_by_its_code_whether_something_would_change(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    asked = ("-t", copy.path, "--engine", "local", "--dry-run", "--detailed-exitcode")
    assert tell("restore", copy.savepoints[-1], *asked).code == 20
    assert tell("resume", *asked).code == 0
    assert tell("restore", copy.savepoints[-1], "-t", copy.path, "--detailed-exitcode").code == 2


def test_a_name_that_was_changed_still_works_and_is_not_shown(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_savepoints")
    asked = ("--partition", "part-0", "-t", copy.path)
    assert tell("log", "slices", *asked).out == tell("file", "slices", *asked).out
    assert "slices" not in tell("log", "--help").out


def test_since_takes_an_age_and_limit_the_newest(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    shown = ("timeline", "show", "-t", copy.path, "-o", "json")
    assert tell(*shown, "--since", "36500d").json["rows"]
    assert not tell(*shown, "--since", "1s").json["rows"]
    too_long = tell(*shown, "--since", "99999999d")
    assert (too_long.code, "so long ago" in too_long.err) == (2, True)
    rows = tell(*shown).json["rows"]
    assert tell(*shown, "--limit", "2").json["rows"] == rows[:2]


@pytest.mark.parametrize(
    "name", [name for name, command in COMMANDS.items() if "uri" in {p.name for p in command.params}]
)
def test_one_set_of_engine_options_fits_every_command(name: str) -> None:
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert {"--engine", "--master", "--conf", "--shared-filesystem"} <= options


def test_a_command_without_engine_takes_its_options(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    plain = tell("savepoint", "list", "-t", copy.path)
    for options in (("--engine", "local"), ("--engine", "spark", "--master", "local[1]", "--conf", "a=b")):
        assert tell("savepoint", "list", "-t", copy.path, *options).out == plain.out
    assert tell("savepoint", "list", "-t", copy.path, "--engine", "fast").code == 2
