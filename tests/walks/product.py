"""hudictl's commands, as an operator types them: in this process, whole or killed at one of their changes."""

import io
import json
import re
import time
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hudictl.cli.main import run
from tests import support
from tests.crash.inject import Crash, dying
from tests.schema_support import check_printed

REFUSALS = (11, 12, 13, 14)
# Those that start no job take no engine.
_WITHOUT_ENGINE = ("table", "timeline", "heartbeat", "marker", "savepoint list", "failed-writes list")


@dataclass(frozen=True)
class Answer:
    """What a command has said; ``code`` is None where it was killed."""

    words: tuple[str, ...]
    code: int | None
    said: str
    complaint: str

    @property
    def refused(self) -> bool:
        return self.code in REFUSALS

    @property
    def reason(self) -> str:
        """The error's slug and message, without what differs from table to table."""
        try:
            error = json.loads(self.complaint.splitlines()[-1])
        except (ValueError, IndexError):
            return self.complaint[-300:]
        message = re.sub(r"file:\S+|\S*/\S*|\d{17}|\d+", "_", error["message"])
        return f"{error['slug']}: {message[:200]}"

    @property
    def result(self) -> Any:
        """What JSON has of a plan, or of what was done."""
        found = json.loads(self.said)
        return found.get("result", found.get("rows"))

    def __str__(self) -> str:
        return f"`{' '.join(self.words)}` -> {self.code} {self.complaint.strip()[-600:]}"


def ask(base: Path, *words: str, kill_at: int | None = None) -> Answer:
    """Runs a command with JSON as its output, which is valid by its schema."""
    line = [*words, "--table", str(base), "-o", "json"]
    if not " ".join(words).startswith(_WITHOUT_ENGINE):
        line += ["--engine", "local"]
    said, complaint = io.StringIO(), io.StringIO()
    mortal = dying(kill_at) if kill_at is not None else nullcontext()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(complaint):
        patch.setattr(time, "sleep", support.short_sleep)
        try:
            with mortal:
                code: int | None = run(line)
            check_printed(line, said.getvalue(), complaint.getvalue())
        except Crash:
            code = None
    return Answer(words, code, said.getvalue(), complaint.getvalue())


def changes(base: Path, without: Sequence[str] = (".hoodie/.hudictl",)) -> dict[str, tuple[int, int]]:
    """All files with their sizes and times: what must be the same where nothing has changed."""
    found = {}
    for path in base.rglob("*"):
        name = str(path.relative_to(base))
        if path.is_file() and not name.startswith(tuple(without)):
            stat = path.stat()
            found[name] = (stat.st_size, stat.st_mtime_ns)
    return found
