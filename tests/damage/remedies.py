"""Runs the commands that ``check`` names for a damaged table, until it finds nothing any more."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from hudictl.errors import HudictlError
from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import INFO
from hudictl.table.open import open_table
from tests.cli.options_support import takes
from tests.helpers import ENGINE

_TEN_MINUTES = 600_000
_MOST = 6
Run = Callable[..., tuple[int, str]]
"""Runs a command line without ``hudictl``; returns its exit code, and what it said on stderr."""
Found = tuple[str, str, str]
"""A finding: its name, its subject, and its first command."""


@dataclass(frozen=True)
class Mended:
    """What was run, with the exit codes, and what is found after it."""

    commands: tuple[tuple[str, int], ...]
    left: tuple[Found, ...]


def as_operator(words: Sequence[str], base: Path) -> list[str]:
    """The command line of an operator who agrees, keeps what is deleted, and knows that no writer runs."""
    given = [word for word in words if not word.startswith("--table=")]
    known = takes(given)
    more = (["--yes"], ["--idle", "0s"], ["--keep-files"])
    return [*given, *chain.from_iterable(option for option in more if option[0] in known), "-t", str(base)]


def findings(base: Path) -> list[Found]:
    """The errors and warnings; of a table that cannot be opened why, with the command in the hint."""
    try:
        found = check_table(open_table(str(base)), ENGINE, _TEN_MINUTES).findings
    except HudictlError as error:
        return [(error.slug, error.message, _command_in(error.hint))]
    return [
        (entry.finding, entry.subject, entry.remedy[0].command if entry.remedy else "")
        for entry in found
        if entry.severity != INFO
    ]


def _command_in(hint: str) -> str:
    return next(iter(re.findall(r"`(hudictl [^`]+)`", hint)), "")


def mended(run: Run, base: Path, before: set[tuple[str, str]]) -> Mended:
    """Runs the first command of the first finding that has one, then looks again. A refusal's own hint comes first.

    Args:
        before: findings (name and subject) that the sound table has, too.
    """
    done: list[tuple[str, int]] = []
    left: list[Found] = []
    following = ""
    for _ in range(_MOST):
        left = [entry for entry in findings(base) if entry[:2] not in before]
        tried = {command for command, _ in done}
        command = following or next((entry[2] for entry in left if entry[2] and entry[2] not in tried), "")
        if not left or not command:
            break
        code, said = run(*shlex.split(command)[1:], base=base)
        done.append((command, code))
        following = _command_in(said) if code else ""
        following = following if following not in {command for command, _ in done} else ""
        if not code and len(done) > 1 and done[-2][1]:
            # What was refused before may go now.
            following = done[-2][0]
    left = [entry for entry in findings(base) if entry[:2] not in before]
    return Mended(tuple(done), tuple(left))
