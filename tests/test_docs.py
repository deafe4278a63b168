"""The pages say what the program does: generated files are up to date, and marked examples run as shown."""

import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from hudictl.cli.main import hudictl, run
from hudictl.cli.tree import every_command
from hudictl.ops.restore import execute
from hudictl.reports.health.families import NAMES
from tests import support
from tests.emergencies import emergency

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs/runbooks.md",
    "docs/restore-order.md",
    "docs/restore-order.md",
    "docs/metadata-table.md",
    "docs/situations.md",
    "docs/beside-hudi-cli.md",
    "docs/hudi-cli.md",
    "docs/restore-in-ten-steps.md",
    "docs/report.md",
    "docs/rollback.md",
    "docs/locks.md",
    "docs/logs.md",
    "docs/check.md",
    "docs/engines.md",
    "docs/library.md",
    "docs/reference.md",
    "docs/mcp.md",
    "docs/profiles.md",
    "docs/exit-codes.md",
    "docs/commands.md",
    "docs/json.md",
]
HEADING = re.compile(r"^##+ (.+)$", re.MULTILINE)
DELETING = re.compile(
    r"hudictl (restore (?!show|list)|rollback|resume|failed-writes clean|orphans delete|metadata drop"
    r"|savepoint (prune|delete))"
)
RUNS = re.compile(
    r"<!-- runs(?: on (?P<table>[^\s,]+))?(?:, (?P<emergency>[^>]+))? -->\n```(?P<kind>console|sh)\n(?P<text>.*?)```",
    re.DOTALL,
)
LONGEST_LINE = 140


@dataclass(frozen=True)
class Example:
    """A command line, and the output that the page shows; ``...`` stands for lines that are left out.

    ``code`` is the exit code that ``echo $?`` shows behind it, else 0: only then is standard error shown, too. A script
    has no ``shown``. ``emergency``: see there.
    """

    command: str
    shown: str | None
    code: int = 0
    emergency: str = ""


def parts_of(page: str) -> dict[str, str]:
    """The text below each heading, until the next one."""
    _, *parts = re.split(r"^##+ (.+)$", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def deletes(text: str) -> bool:
    """Whether a command in a block of code deletes something."""
    lines = [line for block in re.findall(r"```.*?\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    return any(DELETING.search(line) and "--plan" not in line for line in lines)


RUNBOOKS = parts_of("docs/runbooks.md")
DELETING_PARTS = [heading for heading, text in RUNBOOKS.items() if deletes(text)]


def stories() -> dict[tuple[str, str, str], list[Example]]:
    """The marked examples, in the order in which they run: by page, heading, and the table that they run on."""
    found: dict[tuple[str, str, str], list[Example]] = {}
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        table = ""
        for block in RUNS.finditer(text):
            heading = HEADING.findall(text, 0, block.start())[-1]
            table = block["table"] or table
            found.setdefault((page, heading, table), []).extend(_examples(block))
    return found


def _examples(block: re.Match[str]) -> Iterator[Example]:
    words = block["emergency"] or ""
    if block["kind"] == "sh":
        yield Example(block["text"], None)
        return
    for number, part in enumerate(block["text"].split("$ hudictl ")[1:]):
        command, _, shown = part.partition("\n")
        shown, _, code = shown.partition("$ echo $?\n")
        # What is deleted is deleted once; a disk is full for all commands of a block.
        again = "" if number and words.startswith("without") else words
        yield Example(command, shown, int(code or 0), again)


def commands(text: str) -> Iterator[list[str]]:
    """Every ``hudictl ...`` in code, as words."""
    spans = re.findall(r"```.*?\n(.*?)```", text, re.DOTALL) + re.findall(r"`([^`\n]+)`", text)
    for span in spans:
        for match in re.finditer(r"(?:^|[\s/])hudictl ([a-z][^|&;)\n]*)", span):
            yield shlex.split(match[1])


def options(command: click.Command) -> set[str]:
    return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)} | {
        "--help",
        "--version",
    }


@pytest.mark.slow
def test_generated_files_are_up_to_date(tmp_path: Path) -> None:
    """After a change of a help, of what a command prints, of an exception or a click: python docs/generate.py."""
    check = [sys.executable, "docs/generate.py", "--check"]
    # Its copies of sample tables go there.
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run(check, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_options_exist(page: str) -> None:
    """A page names no command and no option that the program does not have."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for words in commands(text):
        command: click.Command = hudictl
        while isinstance(command, click.Group) and words and words[0] != "[OPTIONS]":
            if command.invoke_without_command and words[0] not in command.commands:
                break
            assert words[0] in command.commands, f"{page}: hudictl {' '.join(words)}"
            command = command.commands[words.pop(0)]
        unknown = {word.partition("=")[0] for word in words if word.startswith("-")} - options(command)
        assert not unknown, f"{page}: {command.name} has no {unknown}"
    known = {name for _, command in every_command(hudictl) for name in options(command)}
    named = {
        option
        for span in re.findall(r"`(-[^`\n]+)`", text)
        for option in re.findall(r"(?<!\S)--[a-z-]+", span)
        if "pytest" not in span
    }
    assert named - known <= {"--all", "--dry-run", "--check", "--basetemp", "--products", "--shorten"}, page


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    source = ROOT / page
    for link in re.findall(r"\]\(([^)#\s]+)", source.read_text(encoding="utf-8")):
        assert link.startswith("https://") or (source.parent / link).exists(), f"{page}: {link}"


@pytest.mark.parametrize("page", PAGES)
def test_links_within_a_page_lead_to_a_heading(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    headings = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}
    assert set(re.findall(r"\]\(#([^)\s]+)\)", text)) <= headings


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The man pages, as the build of the wheel makes them (hatch_build.py)."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    from makers.man import man_pages  # type: ignore[import-not-found]

    made: dict[str, str] = man_pages()
    return made


def test_each_command_has_a_man_page(pages: dict[str, str]) -> None:
    for name, command in every_command(hudictl):
        if command.hidden:
            continue
        text = pages[f"{'-'.join(['hudictl', *name.split()])}.1"]
        shown = [option.opts[0] for option in command.params if isinstance(option, click.Option) and not option.hidden]
        assert text.startswith(".TH ")
        assert all(option.replace("-", "\\-") in text for option in shown)


@pytest.mark.skipif(not shutil.which("mandoc"), reason="mandoc is not installed")
def test_man_pages_are_good_roff(pages: dict[str, str], tmp_path: Path) -> None:
    """No date: that of a release is not in the program."""
    for name, text in pages.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", *pages], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert [line for line in done.stdout.splitlines() if "missing date" not in line] == []


@pytest.mark.slow
@pytest.mark.parametrize(("page", "heading", "table"), stories())
def test_examples_run_as_shown(
    page: str,
    heading: str,
    table: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One after the other, on the table that they were made with; on threads, as Spark is tested elsewhere."""
    version, name = table.split("/")
    path = support.unpack(version, name, tmp_path)
    monkeypatch.setenv("HUDICTL_TABLE", str(path))
    monkeypatch.setenv("HUDICTL_ENGINE", "local")
    monkeypatch.delenv("HUDICTL_OUTPUT", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(time, "sleep", support.short_sleep)
    # --grace counts by the clock, not by its sleeps.
    monkeypatch.setattr(execute, "wait_for_queries", lambda monitor, grace_s: None)
    newest = max(re.findall(r"\d{17}", " ".join(os.listdir(path / ".hoodie") + os.listdir(_timeline(path)))))
    for example in stories()[page, heading, table]:
        if example.shown is None:
            _run_script(example.command, tmp_path)
            continue
        words = shlex.split(example.command)
        with emergency(example.emergency, path):
            code = run(words)
        said = capsys.readouterr()
        assert code == example.code, f"hudictl {example.command}: {said.err}"
        _compare(page, example, said.out + (said.err if code else ""), newest)


def _timeline(table: Path) -> Path:
    """From table version 8 on it is a folder of its own."""
    return folder if (folder := table / ".hoodie" / "timeline").exists() else table / ".hoodie"


def _run_script(script: str, folder: Path) -> None:
    """As cron runs it: with ``hudictl`` and jq on the path."""
    if not shutil.which("jq"):
        pytest.skip("the scripts of docs/runbooks.md need jq")
    program = folder / "bin" / "hudictl"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m hudictl "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _compare(page: str, example: Example, output: str, newest: str) -> None:
    shown = example.shown or ""
    pattern = re.escape(_constant(shown, newest)).replace(re.escape("...\n"), "(?s:.*)")
    if not re.fullmatch(pattern, _constant(output, newest)):
        difference = "\n".join(
            difflib.unified_diff(shown.splitlines(), output.splitlines(), page, "output", lineterm="")
        )
        pytest.fail(f"hudictl {example.command}\n{difference}", pytrace=False)


def _constant(text: str, newest: str) -> str:
    """Without what differs from run to run: durations and ages, instants that are newer than the table's, moments, who
    ran it, space that pads."""
    text = re.sub(r"\b\d{17}\b", lambda time: "NEW" if time[0] > newest else time[0], text)
    text = re.sub(r"\d+\.\d s", "N s", text)
    text = re.sub(r"\d+ ms", "N ms", text)
    text = re.sub(r"(20\d\d-\d\d-\d\dT\S+)(\s+)\S+", "MOMENT USER", text)
    text = re.sub(r"\d+ (s|min|h|d) (ago|old)", r"N \2", text)
    text = re.sub(r"(silent|activity) for \d+ (s|min|h|d)", r"\1 for N", text)
    text = re.sub(r"\b\d+(\.\d)?(ms|s|m|h|d)\b", "AGE", text)
    text = re.sub(r"[ ]+$", "", text, flags=re.MULTILINE)
    return re.sub(r" {2,}", "  ", text).strip() + "\n"


def test_the_page_of_checks_has_every_finding_once() -> None:
    text = (ROOT / "docs/check.md").read_text(encoding="utf-8").partition("## The findings")[2]
    named = [
        name for row in re.findall(r"^\| (`[a-z-]+`.*?) \|", text, re.MULTILINE) for name in re.findall(r"[a-z-]+", row)
    ]
    assert sorted(named) == sorted(NAMES)


@pytest.mark.parametrize("part", DELETING_PARTS)
def test_each_runbook_that_deletes_says_where_undo_helps(part: str) -> None:
    assert re.search(r"\bundo\b", RUNBOOKS[part]), f"{part}: say in one line whether `undo` brings back what it deletes"


def test_the_readme_shows_every_command_of_the_main_job() -> None:
    shown = {" ".join(words[:2]) for words in commands(README)}
    assert {"timeline show", "savepoint create", "savepoint show", "savepoint list", "savepoint delete"} <= shown
    assert {"demo", "restore 20261121030258116", "resume --yes"} <= shown


def test_the_readme_is_quick_to_read() -> None:
    assert len(README.splitlines()) < 200


@pytest.mark.parametrize("page", PAGES)
def test_lines_are_short(page: str) -> None:
    """Tables, code and comments apart: a paragraph is read in a terminal, too."""
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = re.sub(r"```.*?\n```", lambda code: "\n" * code[0].count("\n"), text, flags=re.DOTALL)
    long = [
        f"{page}:{number}: {len(line)}"
        for number, line in enumerate(prose.splitlines(), 1)
        if len(line) >= LONGEST_LINE and not line.startswith(("|", "<!--"))
    ]
    assert not long


def test_the_page_for_hudi_cli_names_what_the_help_names() -> None:
    """What a help says in its line "In hudi-cli: ..." stands in a row of the page that names this command, too."""
    rows = [line for line in (ROOT / "docs/hudi-cli.md").read_text(encoding="utf-8").splitlines() if line[0:1] == "|"]
    named = 0
    for name, command in every_command(hudictl):
        for line in re.findall(r"In (?:hudi-cli|SQL): .*", " ".join((command.help or "").split())):
            for other in re.findall(r"`([^`]+)`", line):
                if command.hidden or other.startswith(("hudictl", "--")):
                    continue
                named += 1
                assert any(f"`{other}`" in row and f"`hudictl {name}" in row for row in rows), (name, other)
    assert named > 20
