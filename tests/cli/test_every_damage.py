"""Every command on damaged tables: one clear line and the right code, no traceback, and nothing is changed."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import support
from tests.cli.conftest import Said, Tell
from tests.damage.cases import Case, chosen
from tests.damage.harms import do_harm
from tests.helpers import OWN, Copy, tree

pytestmark = pytest.mark.slow

Command = tuple[str, ...]
LOCAL = ("--engine", "local")
LOOKS: tuple[Command, ...] = (
    ("table", "show"),
    ("timeline", "show", "--archived"),
    ("savepoint", "list"),
    ("history",),
    ("failed-writes", "list"),
    ("marker", "list"),
    ("heartbeat", "list"),
    ("lock", "show"),
    ("check", *LOCAL),
    ("orphans", "list", *LOCAL),
    ("metadata", "verify", *LOCAL),
    ("log", "slices", *LOCAL),
    ("log", "verify", *LOCAL),
)
PLAN = ("--plan", "--idle", "0s", *LOCAL)
ANSWERED = (0, 3)
REFUSED = (10, 11, 12, 13, 14)


def commands(copy: Copy) -> Iterator[Command]:
    """Every look, and plans on the sound table's own instants."""
    yield from LOOKS
    target = max(copy.savepoints, default=copy.commits[len(copy.commits) // 2])
    yield "restore", *(() if copy.savepoints else ("--to-instant",)), target, *PLAN
    yield "rollback", copy.commits[-1], *PLAN
    yield "savepoint", "create", *PLAN
    yield "savepoint", "prune", "--all", "--keep-last", "1", "--plan", *LOCAL
    yield "failed-writes", "clean", "--policy", "eager", *PLAN
    yield "orphans", "delete", *PLAN
    yield "resume", *PLAN


@pytest.mark.short("v6-mor_savepoints", "v9-cow_part", "v9-mor_restore_interrupted")
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_every_command(tell: Tell, tmp_path: Path, version: str, name: str) -> None:
    sound = Copy(version, name, support.unpack(version, name, tmp_path / "sound"))
    asked = list(commands(sound))
    codes = {command: answer(tell, sound.path, command).code for command in asked}
    wrong = []
    for case in (case for case in chosen(version) if case.table == name):
        base = support.unpack(version, name, tmp_path / "damaged")
        do_harm(base, case.path, case.harm)
        before = tree(base, OWN)
        for command in asked:
            said = answer(tell, base, command)
            wrong += [f"{case.words}: {' '.join(command)}: {what}" for what in faults(case, said, codes[command])]
        if tree(base, OWN) != before:
            wrong.append(f"{case.words}: the table is another")
        shutil.rmtree(tmp_path / "damaged")
    assert not wrong, "\n".join(wrong)


def answer(tell: Tell, base: Path, command: Command) -> Said:
    return tell(*command, "-t", base, "-o", "json")


def faults(case: Case, said: Said, sound: int) -> Iterator[str]:
    """What is not as it is to be in an answer about a damaged table."""
    if said.code not in (*ANSWERED, *REFUSED):
        yield f"exit code {said.code}: {said.err}"
    elif said.code in REFUSED:
        error = json.loads(said.err) if said.err.count("\n") == 1 else {}
        # Behind the rows of a list the error says that one of them has a problem.
        shown = json.loads(said.out).get("rows", ()) if said.out else ()
        unsaid = bool(said.out) and not any(row.get("problem") for row in shown)
        if not error.get("message") or "\n" in error["message"] or unsaid:
            yield f"not one error: {said.err}"
        elif said.code == 14 != sound and names(case).isdisjoint(parts(json.dumps(error))):
            yield f"does not name the file {case.path}: {error}"


def names(case: Case) -> set[str]:
    """By which the file may be named; one that is missing by its instant, too."""
    name = case.path.rpartition("/")[2]
    return {name, *([name[:17]] if case.harm == "missing" else [])}


def parts(text: str) -> set[str]:
    for separator in "\"/,:;()' ":
        text = text.replace(separator, "\n")
    return set(text.split("\n"))
