"""All commands on one table, each in a process of its own: what hangs is killed, and counts as a fault."""

import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hudictl.cli.main import run
from hudictl.reports.services import SERVICES
from tests import support
from tests.helpers import Copy

LONGEST_S = 10
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__])
_NO_INSTANT = "20200101000000000"
_SCAN = ("--engine", "local")
_CHANGE = (*_SCAN, "--idle", "0s", "--yes")


@dataclass(frozen=True)
class Command:
    """A command line without the table, and whether it changes one."""

    words: tuple[str, ...]
    changes: bool = False

    def __str__(self) -> str:
        return " ".join(self.words)


def looks(copy: Copy) -> list[Command]:
    """All commands that only show; the names of instants are taken from the sound table."""
    done, failed = first(copy), pending(copy)
    log = f"{copy.path}/part-0/.*.log.*"
    return [
        Command(words)
        for words in (
            ("table", "show"),
            ("table", "properties", "--all"),
            ("table", "schema", "--as-of", done),
            ("table", "schema", "--history"),
            ("timeline", "show", "--archived"),
            ("timeline", "inspect", done),
            ("timeline", "report", "--html", "-", *_SCAN),
            ("commit", "list", "--archived"),
            ("checkpoint", "list", "--archived"),
            *((service, "list", "--archived") for service in SERVICES),
            *((service, "show", done, *_SCAN) for service in SERVICES),
            ("compaction", "validate", failed, *_SCAN),
            ("commit", "show", done, "--by", "file"),
            ("commit", "diff", str(copy.path)),
            ("savepoint", "list"),
            ("savepoint", "show", done, "--verify", "--idle", "0s", *_SCAN),
            ("failed-writes", "list"),
            ("wait", "--for", "no-writers", "--for", f"instant={done}", "--timeout", "0", "--idle", "0s", *_SCAN),
            ("heartbeat", "list"),
            ("marker", "list"),
            ("marker", "list", failed),
            ("orphans", "list", *_SCAN),
            ("file", "slices", *_SCAN),
            ("file", "explain", "part-0/x-0_0-1-2_20261121.parquet", *_SCAN),
            ("file", "history", "part-0/x-0_0-1-2_20261121.parquet", "--archived"),
            ("record", "find", "17", *_SCAN),
            ("record", "history", "17", "--archived", *_SCAN),
            ("record", "duplicates", "--global", *_SCAN),
            ("partition", "list", *_SCAN),
            ("stats", "sizes", "--by", "commit", *_SCAN),
            ("stats", "skew", *_SCAN),
            ("stats", "amplification", "--archived"),
            ("stats", "phases", "--archived"),
            ("log", "verify", *_SCAN),
            ("log", "inspect", "--partition", "part-0"),
            ("log", "records", "--limit", "5", log),
            ("metadata", "files", "part-0"),
            ("metadata", "partitions"),
            ("metadata", "columns", "part-0/a.parquet"),
            ("metadata", "lookup", "17"),
            ("metadata", "verify", "--indexes", *_SCAN),
            ("lock", "show"),
            ("check", "--assume-defaults", *_SCAN),
            *(("why", service, "--assume-defaults") for service in ("archive", "clean", "compaction")),
            ("undo", "list"),
            ("copy", "--as-of", done, "--to", f"{copy.path}-copied", "--plan", *_SCAN),
            ("history",),
            ("history", "show", done),
            ("doctor", "--no-spark"),
        )
    ]


def changes(copy: Copy) -> list[Command]:
    """All commands that change a table."""
    done, failed = first(copy), pending(copy)
    return [
        Command(words, changes=True)
        for words in (
            ("savepoint", "create", done, *_CHANGE),
            ("savepoint", "delete", done, "--yes"),
            ("savepoint", "prune", "--all", "--keep-last", "1", *_SCAN, "--yes"),
            ("restore", done, "--keep-backup", "--delete-later-savepoints", "--discard-rollbacks", *_CHANGE),
            ("rollback", failed, *_CHANGE),
            ("resume", *_CHANGE),
            ("failed-writes", "clean", "--policy", "eager", *_CHANGE),
            ("heartbeat", "delete", failed, "--yes"),
            ("marker", "delete", failed, "--yes"),
            ("orphans", "delete", *_CHANGE),
            ("undo", done, *_CHANGE),
            ("undo", "drop", "--older-than", "1d", "--yes"),
            ("metadata", "drop", "--idle", "0s", "--yes"),
            ("lock", "break", "--yes"),
            ("partition", "repair", *_SCAN, "--yes"),
            ("archive", "repair", "--idle", "0s", *_SCAN, "--yes"),
            ("timeline", "quarantine", copy.commits[-1], "--idle", "0s", *_SCAN, "--yes"),
            ("table", "repair-properties", "--idle", "0s", *_SCAN, "--yes"),
            ("clean", "discard", failed, *_CHANGE),
            ("compaction", "unschedule", failed, "--group", "part-0/x", *_CHANGE),
            ("compaction", "unschedule", failed, *_CHANGE),
            ("compaction", "rebuild-plan", failed, *_CHANGE),
            ("clustering", "prune", failed, *_CHANGE),
            ("table", "set-property", "hoodie.database.name=lake", "--idle", "0s", *_SCAN, "--yes"),
        )
    ]


def first(copy: Copy) -> str:
    """The oldest completed write; where there is none, an instant that no table has."""
    return (copy.commits or [_NO_INSTANT])[0]


def pending(copy: Copy) -> str:
    """The newest instant that has not completed; where all have, one that is not there."""
    done = {name.split(".")[0] for name in copy.instants() if name.count(".") == 1}
    return max((name.split(".")[0] for name in copy.instants() if name.split(".")[0] not in done), default="20271121")


@dataclass(frozen=True)
class Answer:
    """How a command ended: None where it had to be killed."""

    code: int | None
    said: str

    @property
    def fault(self) -> str | None:
        """What no command does on any table."""
        if self.code is None:
            return f"no end in {LONGEST_S} s"
        if self.code < 0 or self.code == 1 or "Traceback" in self.said:
            return f"exit code {self.code}: {self.said[-500:]}"
        return None


def answer(command: Command, table: Path, said: Path, *more: str) -> Answer:
    """Runs a command line on a table; ``said`` is a file for what it says."""
    at = () if command.words[:2] == ("log", "records") else ("-t", str(table))
    process = _PROCESSES.Process(target=_run, args=((*command.words, *at, *more), str(said)))
    process.start()
    process.join(LONGEST_S)
    if process.exitcode is None:
        process.kill()
        process.join()
        return Answer(None, "")
    return Answer(process.exitcode, said.read_text(errors="replace"))


def _run(words: Sequence[str], said: str) -> None:
    file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    os.fsync = lambda descriptor: None
    time.sleep = support.short_sleep
    os.environ["XDG_CONFIG_HOME"] = "/nonexistent"
    try:
        code = run(words)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
