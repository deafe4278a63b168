"""The pages say what the program does: generated files are up to date, and the README's examples run as shown."""

import difflib
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from hudictl.cli.main import hudictl, run
from hudictl.reports.health.families import NAMES
from tests import support

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/safety.md",
    "docs/rollback.md",
    "docs/logs.md",
    "docs/check.md",
    "docs/engines.md",
    "docs/exit-codes.md",
]
RUNS = re.compile(r"<!-- runs(?: on (?P<table>\S+))? -->\n```console\n(?P<text>.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A command line, and the output that the README shows; ``...`` stands for lines that are left out."""

    command: str
    shown: str


def stories() -> dict[str, list[Example]]:
    """The marked examples, in the order in which they run, by the table that they run on."""
    found: dict[str, list[Example]] = {}
    table = ""
    for block in RUNS.finditer(README):
        table = block["table"] or table
        for part in block["text"].split("$ hudictl ")[1:]:
            command, _, shown = part.partition("\n")
            found.setdefault(table, []).append(Example(command, shown))
    return found


def commands(text: str) -> Iterator[list[str]]:
    """Every ``hudictl ...`` in code, as words."""
    spans = re.findall(r"```.*?\n(.*?)```", text, re.DOTALL) + re.findall(r"`([^`\n]+)`", text)
    for span in spans:
        for match in re.finditer(r"(?:^|[\s/])hudictl ([a-z][^|&;)\n]*)", span):
            yield shlex.split(match[1])


def options(command: click.Command) -> set[str]:
    return {name for parameter in command.params for name in parameter.opts} | {"--help", "--version"}


def every_command(command: click.Command) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from every_command(inner)


def test_generated_files_are_up_to_date() -> None:
    """After a change of an exception or a click: python docs/generate.py."""
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_options_exist(page: str) -> None:
    """A page names no command and no option that the program does not have."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for words in commands(text):
        command: click.Command = hudictl
        while isinstance(command, click.Group) and words:
            assert words[0] in command.commands, f"{page}: hudictl {' '.join(words)}"
            command = command.commands[words.pop(0)]
        unknown = {word.partition("=")[0] for word in words if word.startswith("-")} - options(command)
        assert not unknown, f"{page}: {command.name} has no {unknown}"
    known = {name for command in every_command(hudictl) for name in options(command)}
    named = {
        option
        for span in re.findall(r"`(-[^`\n]+)`", text)
        for option in re.findall(r"(?<!\S)--[a-z-]+", span)
        if "pytest" not in span
    }
    assert named - known <= {"--all", "--dry-run", "--check", "--basetemp", "--shorten"}, page


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    source = ROOT / page
    for link in re.findall(r"\]\(([^)#\s]+)", source.read_text(encoding="utf-8")):
        assert link.startswith("https://") or (source.parent / link).exists(), f"{page}: {link}"


@pytest.mark.parametrize("table", stories())
def test_examples_of_the_readme(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One after the other, on the table that they were made with; on threads, as Spark is tested elsewhere."""
    version, name = table.split("/")
    monkeypatch.setenv("HUDICTL_TABLE", str(support.unpack(version, name, tmp_path)))
    monkeypatch.delenv("HUDICTL_OUTPUT", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(time, "sleep", support.short_sleep)
    for example in stories()[table]:
        words = shlex.split(example.command)
        code = run([*words, "--engine", "local"] if _has_engine(words) else words)
        said = capsys.readouterr()
        assert code == 0, said.err
        _compare(example, said.out)


def _has_engine(words: list[str]) -> bool:
    command: click.Command = hudictl
    for word in words:
        if isinstance(command, click.Group):
            command = command.commands[word]
    return "--engine" in options(command)


def _compare(example: Example, output: str) -> None:
    pattern = re.escape(_constant(example.shown)).replace(re.escape("...\n"), "(?s:.*)")
    if not re.fullmatch(pattern, _constant(output)):
        shown, said = example.shown.splitlines(), output.splitlines()
        difference = "\n".join(difflib.unified_diff(shown, said, "README.md", "output", lineterm=""))
        pytest.fail(f"hudictl {example.command}\n{difference}", pytrace=False)


def _constant(text: str) -> str:
    """Without what differs from run to run: durations and ages, new instants, moments, who ran it, space that pads."""
    text = re.sub(r"\d+\.\d s", "N s", text)
    text = re.sub(r"\d+ ms", "N ms", text)
    text = re.sub(r"(20\d\d-\d\d-\d\dT\S+)(\s+)\S+", "MOMENT USER", text)
    text = re.sub(r"\d+ (s|min|h|d) old", "N old", text)
    text = re.sub(r"(expired +)[\d,]+", r"\1AGE", text)
    text = re.sub(r"(rolled back +)\d{17}", r"\1ROLLBACK", text)
    text = re.sub(r"[ ]+$", "", text, flags=re.MULTILINE)
    return re.sub(r" {2,}", "  ", text).strip() + "\n"


def test_the_page_of_checks_has_every_finding_once() -> None:
    text = (ROOT / "docs/check.md").read_text(encoding="utf-8").partition("## The findings")[2]
    named = [
        name for row in re.findall(r"^\| (`[a-z-]+`.*?) \|", text, re.MULTILINE) for name in re.findall(r"[a-z-]+", row)
    ]
    assert sorted(named) == sorted(NAMES)


def test_the_readme_shows_every_command_of_the_main_job() -> None:
    shown = {" ".join(words[:2]) for words in commands(README)}
    assert {"timeline show", "savepoint create", "savepoint show", "savepoint list", "savepoint delete"} <= shown
    assert {"demo", "restore 20261121030258116", "resume --yes"} <= shown


def test_the_readme_is_quick_to_read() -> None:
    assert len(README.splitlines()) < 200
