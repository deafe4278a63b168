"""What eyes see: the screens of the commands that matter most, on real tables, at the widths of real terminals.

``screens/`` has a file for each command. WRITE_SCREENS=1 pytest -n0 tests/cli/test_screens.py writes them.
"""

import io
import os
import re
import shlex
import shutil
import socket
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pexpect
import pytest

from hudictl.cli.main import run
from hudictl.table import operations
from tests import support
from tests.cli.terminal_support import LOCAL, ROOT
from tests.helpers import Copy, drop

SCREENS = Path(__file__).parent / "screens"
WIDTHS = (60, 80, 120, 200)
IN_COLOR = 80
PIPE = "a pipe"
AGE_S = 22.5 * 3600
NEW_INSTANT = "2" * 17
NEW_MOMENT = "2222-22-22T22:22:22.222"
ESCAPE = re.compile("\x1b\\[[0-9;]*m")


def pending(copy: Copy) -> str:
    return copy.having("deltacommit.requested")[-1].partition(".")[0]


def a_file(copy: Copy) -> str:
    """The newest base file of a partition."""
    paths = sorted((copy.path / "part-0").glob("*.parquet"), key=lambda path: path.stem[-17:])
    return paths[-1].name


def explained(copy: Copy) -> list[str]:
    """A file whose time of change is always the same."""
    path = f"part-0/{a_file(copy)}"
    os.utime(copy.path / path, (1_795_230_000,) * 2)
    return ["file", "explain", path]


def damaged(copy: Copy) -> list[str]:
    """A base file that readers need is lost, and a writer has died."""
    drop(copy.path / min(path for path in copy.data() if path.endswith(".parquet")))
    return ["check"]


def changed(copy: Copy) -> list[str]:
    """Two operations are recorded."""
    target, later = copy.savepoints
    for change in (["savepoint", "delete", later], ["restore", target, *LOCAL]):
        sys.argv = ["hudictl", *change, "-t", str(copy.path), "--yes"]
        assert run(sys.argv[1:]) == 0
    return ["history"]


COMMANDS: dict[str, tuple[str, Callable[[Copy], list[str]]]] = {
    "timeline-show": ("mor_part", lambda copy: ["timeline", "show"]),
    "timeline-graph": (
        "mor_restore_interrupted",
        lambda copy: ["timeline", "show", "--graph", "--with-metadata-table", "--timezone", "UTC"],
    ),
    "table-show": ("mor_failed_lazy", lambda copy: ["table", "show"]),
    "check": ("mor_failed_lazy", damaged),
    "failed-writes-list": ("mor_failed_lazy", lambda copy: ["failed-writes", "list"]),
    "savepoint-list": ("cow_savepoints", lambda copy: ["savepoint", "list"]),
    "restore-plan": (
        "cow_savepoints",
        lambda copy: ["restore", copy.savepoints[0], "--plan", "--delete-later-savepoints"],
    ),
    "rollback-plan": ("mor_failed_lazy", lambda copy: ["rollback", pending(copy), "--plan"]),
    "history": ("cow_savepoints", changed),
    "file-slices": ("mor_part", lambda copy: ["file", "slices"]),
    "log-inspect": ("mor_failed_lazy", lambda copy: ["log", "inspect", "--partition", "part-4"]),
    "commit-list": ("mor_part", lambda copy: ["commit", "list"]),
    "commit-show": ("mor_part", lambda copy: ["commit", "show", copy.commits[-2], "--by", "file"]),
    "clean-list": ("cow_cleaned", lambda copy: ["clean", "list", "--archived"]),
    "compaction-list": ("mor_pending_compaction", lambda copy: ["compaction", "list"]),
    "compaction-show": ("mor_pending_compaction", lambda copy: ["compaction", "show", "20261121030402687"]),
    "clustering-list": ("cow_cluster", lambda copy: ["clustering", "list"]),
    "rollback-list": ("cow_rollback_interrupted", lambda copy: ["rollback", "list"]),
    "restore-list": ("mor_restore_interrupted", lambda copy: ["restore", "list"]),
    "file-history": ("cow_cleaned", lambda copy: ["file", "history", a_file(copy).partition("_")[0], "--archived"]),
    "file-explain": ("cow_savepoints", explained),
    "record-find": ("cow_record_index", lambda copy: ["record", "find", "3"]),
    "partition-list": ("mor_part", lambda copy: ["partition", "list"]),
    "stats-sizes": ("mor_part", lambda copy: ["stats", "sizes"]),
    "stats-skew": ("mor_part", lambda copy: ["stats", "skew"]),
    "stats-amplification": ("cow_part", lambda copy: ["stats", "amplification"]),
    "stats-phases": ("mor_part", lambda copy: ["stats", "phases"]),
    "table-properties": ("cow_part", lambda copy: ["table", "properties"]),
    "table-schema": ("cow_part", lambda copy: ["table", "schema"]),
    "metadata-partitions": ("cow_record_index", lambda copy: ["metadata", "partitions"]),
    "metadata-files": ("cow_part", lambda copy: ["metadata", "files", "part-0"]),
    "metadata-columns": ("cow_savepoints", lambda copy: ["metadata", "columns", f"part-0/{a_file(copy)}"]),
    "metadata-lookup": ("cow_record_index", lambda copy: ["metadata", "lookup", "3", "no-such-key"]),
    "timeline-with-metadata-table": ("mor_part", lambda copy: ["timeline", "show", "--with-metadata-table"]),
}
"""Each with its table, and how its arguments are made."""
WITHOUT_ENGINE = (
    "timeline-",
    "table-",
    "failed-writes-list",
    "history",
    "commit-",
    "metadata-",
    "file-history",
    "stats-am",
    "stats-phases",
)


class Terminal(io.StringIO):
    """Standard output and error at once, as on a screen; COLUMNS says how wide."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose path has always the same length: it is part of what is shown."""
    monkeypatch.setattr(operations, "current_user", lambda: "ops")
    monkeypatch.setattr(socket, "gethostname", lambda: "host-1")
    monkeypatch.setattr(sys, "argv", ["hudictl"])
    folder = Path("/tmp") / f"lake-{uuid.uuid4().hex[:8]}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


@dataclass(frozen=True)
class Screen:
    """A command, ready to be run; ``newest`` is the last time on the timeline that it came with."""

    arguments: list[str]
    table: Path
    newest: str

    def constant(self, text: str) -> str:
        """Without what differs from run to run: the folder, new instants and moments, how well clocks agree."""
        text = text.replace(str(self.table), "/tmp/lake-0000000a/table")
        # A narrow column has the path in pieces.
        text = re.sub(r"\blake-[0-9a-f]{8}\b", "lake-0000000a", text)
        text = re.sub(r"\b20\d{15}\b", lambda time: time[0] if time[0] <= self.newest else NEW_INSTANT, text)
        text = re.sub(r"\b(?!2026-11-21T03:)20\d\d-\d\d-\d\dT[\d:.]{12}", NEW_MOMENT, text)
        return re.sub(r"within \d+ ms", "within N ms", text)


def prepared(name: str, lake: Path) -> Screen:
    """The command on its table, which is nearly a day old."""
    table, make = COMMANDS[name]
    copy = Copy("v9", table, support.unpack("v9", table, lake))
    newest = max(re.findall(r"\d{17}", " ".join(os.listdir(copy.timeline))))
    then = time.time() - AGE_S
    for path in copy.path.rglob("*"):
        os.utime(path, (then, then))
    arguments = [*make(copy), "-t", str(copy.path), "-q", *([] if name.startswith(WITHOUT_ENGINE) else LOCAL)]
    return Screen(arguments, copy.path, newest)


def shown(arguments: list[str], monkeypatch: pytest.MonkeyPatch, width: int | None, **environment: str) -> str:
    """What a command shows on a terminal, or in a pipe."""
    out = io.StringIO() if width is None else Terminal()
    with monkeypatch.context() as patch:
        for key, value in {"TERM": "xterm", "COLUMNS": str(width), **environment}.items():
            patch.setenv(key, value)
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", out)
        run(arguments)
    return out.getvalue()


def visible(text: str) -> str:
    return text.replace("\x1b", "\N{SYMBOL FOR ESCAPE}")


def sections(name: str) -> dict[str, str]:
    parts = re.split(r"^==== (.*)\n", (SCREENS / f"{name}.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_screens_are_as_they_were(name: str, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = prepared(name, lake)
    found = {PIPE: screen.constant(shown(screen.arguments, monkeypatch, None))}
    for width in WIDTHS:
        found[f"{width} columns"] = screen.constant(shown(screen.arguments, monkeypatch, width, NO_COLOR="1"))
    colored = screen.constant(shown(screen.arguments, monkeypatch, IN_COLOR))

    # Colours say nothing that the words do not say.
    assert not any(ESCAPE.search(text) for text in found.values())
    assert ESCAPE.search(colored)
    assert ESCAPE.sub("", colored) == found[f"{IN_COLOR} columns"]
    assert "not shown" not in found[PIPE]

    found[f"{IN_COLOR} columns in colour"] = visible(colored)
    if os.environ.get("WRITE_SCREENS"):
        text = "".join(f"==== {title}\n{text}" for title, text in found.items())
        (SCREENS / f"{name}.txt").write_text(text, encoding="utf-8")
    assert found == sections(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "width", "color"), [("timeline-show", 60, False), ("file-slices", 200, False), ("check", IN_COLOR, True)]
)
def test_a_terminal_of_its_own_shows_the_same(name: str, width: int, color: bool, lake: Path) -> None:
    """Another process, a pseudo-terminal, and its size in the kernel."""
    screen = prepared(name, lake)
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "LINES")}
    environment |= {"TERM": "xterm", **({} if color else {"NO_COLOR": "1"})}
    command = shlex.join([sys.executable, "-m", "hudictl", *screen.arguments])
    seen = pexpect.run(command, cwd=ROOT, env=environment, encoding="utf-8", dimensions=(24, width))
    title = f"{width} columns{' in colour' if color else ''}"
    assert visible(screen.constant(seen.replace("\r\n", "\n"))) == sections(name)[title]


@pytest.mark.parametrize("plain", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}], ids=["NO_COLOR", "dumb", "--no-color"])
def test_colours_can_be_refused(plain: dict[str, str], lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = prepared("failed-writes-list", lake).arguments
    refused = ["savepoint", "show", "1", *arguments[2:]]
    for command in (arguments, refused):
        assert ESCAPE.search(shown(command, monkeypatch, IN_COLOR))
        seen = shown(command if plain else [*command, "--no-color"], monkeypatch, IN_COLOR, **plain)
        assert not ESCAPE.search(seen)


def test_there_is_no_other_screen() -> None:
    assert {path.stem for path in SCREENS.iterdir()} == set(COMMANDS)
