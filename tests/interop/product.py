"""hudictl's own operations, and Hudi's end of them, as the interop tests call them."""

import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.cli.main import run
from hudictl.engine.local import LocalEngine
from hudictl.ops.restore.execute import RestoreResult, execute_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.ops.savepoint.execute import create_savepoint
from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.ops.savepoint.planning import plan_savepoint
from hudictl.table.locks.config import NOTHING_SAID, Locking
from hudictl.table.open import open_table
from tests import support
from tests.helpers import HUDIS_OWN, session
from tests.interop.judge import Judge, JudgeError
from tests.interop.scenarios import digest

ENGINE = LocalEngine(parallelism=2)


def savepoint(base: Path, instant: str | None = None) -> str:
    """Creates a savepoint, or finds it there; returns its instant."""
    table = open_table(str(base), rule=HUDIS_OWN)
    plan = plan_savepoint(session(table), instant, SavepointOptions(idle_ms=0))
    create_savepoint(session(table), plan)
    return plan.target


def restore(
    base: Path, target: str, options: RestoreOptions | None = None, locking: Locking = NOTHING_SAID
) -> RestoreResult | None:
    """Restores, or resumes; None where nothing was to do."""
    table = open_table(str(base), rule=HUDIS_OWN)
    plan = plan_restore(session(table, locking=locking), target, replace(options or RestoreOptions(), settle_s=0.0))
    if plan.nothing_to_do:
        return None
    return execute_restore(session(table, locking=locking), plan)


def newest(base: Path, end: str) -> Path | None:
    """The newest file of the timeline with an end."""
    folder = base / ".hoodie/timeline"
    return max((folder if folder.is_dir() else base / ".hoodie").glob(f"[0-9]*.{end}"), default=None)


def rollback(base: Path, instant: str, *flags: str, **options: str) -> int:
    """Rolls back one instant; returns the exit code, as the next two do."""
    return command(base, "rollback", instant, *flags, **({"idle": "0s"} | options))


def clean_failed(base: Path, policy: str = "eager", hurry: bool = True, **options: str) -> int:
    """Rolls back failed writes."""
    if policy == "eager":
        options = {"idle": "0s"} | options
    return command(base, "failed-writes", "clean", hurry=hurry, policy=policy, **options)


def resume(base: Path, *flags: str) -> int:
    """Finishes what is pending."""
    return command(base, "resume", *flags, idle="0s")


def command(base: Path, *words: str, hurry: bool = True, **options: str) -> int:
    """A command that changes a table, as its user types it. In a ``hurry`` it waits for nobody."""
    given = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", value)]
    with pytest.MonkeyPatch.context() as patch:
        if hurry:
            patch.setattr(time, "sleep", support.short_sleep)
        return run([*words, "--table", str(base), "--engine", "local", "--yes", *given])


def finish(hudi: Judge, table: Path, target: str, options: Mapping[str, str] | None = None) -> None:
    """Hudi's own restore. Between two of hudictl's steps a compaction is completed and a pending commit at once: Hudi
    takes the one back, then stops at the other with its sequence guard, and its second run takes that back too."""
    try:
        hudi.restore(table, target, options)
    except JudgeError as error:
        if "Found in-flight commits after time" not in str(error):
            raise
        hudi.restore(table, target, options)


def upsert(hudi: Judge, table: Path, options: Mapping[str, str] | None = None) -> None:
    """Hudi changes seven rows, and reads all of them back."""
    rows = hudi.read(table, columns=("id", "ts", "val", "p"))
    changed = [[row[0], 9_999_999, "after the restore", row[3]] for row in rows[:7]]
    hudi.upsert(table, changed, options=options)
    kept = {row[0]: row for row in rows} | {row[0]: row for row in changed}
    assert hudi.both_rows(table) == digest(kept.values())


def hold_and_die(base: Path, settings: Mapping[str, str]) -> None:
    """A hudictl that holds the writers' lock is killed."""
    program = f"""
import time
from hudictl.ops.session import Silent
from hudictl.table.locks.config import Locking
from hudictl.table.locks.hold import hold
from hudictl.table.locks.providers import contender_of
from hudictl.table.open import open_table
with hold(open_table({str(base)!r}), "the killed one", Silent(), Locking({dict(settings)!r}), contender_of):
    print("held", flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        process.kill()
