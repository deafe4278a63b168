"""One command of hudictl's on a copy of a walk's table, and the ways on after its death."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.interop.judge import JudgeError
from tests.walks.kept import Outcome
from tests.walks.product import Answer, ask
from tests.walks.table import Table

AT_ONCE = ("--idle", "0s")
# A restore of a small table makes about so many changes.
CHANGES = 150


@dataclass
class Probe:
    """One command on a copy of the table, and what it came to. ``hudis`` are problems that Hudi had before it, too;
    ``strays`` are the files that are not the table's, as they were: Hudi's own clean takes those of a nested table.
    ``light``: Hudi reads the result, and does not write into it. ``broken``: what keeps Hudi from working was
    there before it."""

    before: Table
    table: Table
    chance: Random
    folder: Path
    light: bool = False
    broken: bool = False
    commands: int = 0
    undone: int = 0
    refusals: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    hudis: list[str] = field(default_factory=list)
    strays: dict[str, bytes] = field(default_factory=dict)
    adopted: Table | None = None
    outcome: Outcome | None = None
    outcomes: list[Outcome] = field(default_factory=list)

    def ask(self, *words: str, kill_at: int | None = None) -> Answer:
        self.commands += 1
        return ask(self.table.base, *words, kill_at=kill_at)

    def problem(self, text: str) -> None:
        self.problems.append(text)


def way_on(probe: Probe, words: list[str], way: str, what: str, finish: Callable[[], object] | None) -> bool:
    """Ends what a dead hudictl has begun; whether it could be."""
    show = probe.ask("table", "show")
    if show.code != 0:
        probe.problem(f"{what}: {show}")
    if way == "hudi" and finish is not None:
        try:
            finish()
        except JudgeError as error:
            if any(probe.ask("resume", *AT_ONCE, "--yes").code == 0 for _ in range(3)):
                return True
            probe.problem(f"{what}: neither Hudi nor `resume` ends it: {error}")
            return False
        return True
    tries = {"again": [words], "resume": [["resume", *AT_ONCE]], "withdraw": [["resume", "--withdraw", *AT_ONCE]]}[way]
    if way == "withdraw":
        tries.append(["resume", *AT_ONCE])
    answer = None
    for again in tries:
        for _ in range(3):
            answer = probe.ask(*again, "--yes")
            if answer.code != 3:
                break
        if answer is not None and answer.code == 0:
            return True
    probe.problem(f"{what}: no way on by {way}: {answer}")
    return False
