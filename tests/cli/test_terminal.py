"""With a terminal: what is asked, what an answer does, and what Ctrl-C does."""

import json
import os
import signal
import subprocess
import sys
import time

import pexpect
import psutil
import pytest

from hudictl.cli.main import run
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.cli.conftest import Unpack
from tests.cli.terminal_support import LOCAL, PATIENCE_S, ROOT, ended, spawn
from tests.helpers import Copy, plan, required, tree

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processes take their time."""
    monkeypatch.undo()


def asked(child: "pexpect.spawn[str]", question: str) -> None:
    """It has asked, and sleeps until it is answered: a signal that comes between the two waits for the answer, too."""
    child.expect(question)
    process = psutil.Process(child.pid)
    while process.status() in (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP):
        time.sleep(0.01)


def restorable(copy: Copy, target: str) -> bool:
    """The same command again finishes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", support.short_sleep)
        code = run(["restore", target, "-t", str(copy.path), *LOCAL, "--yes"])
    timeline = load_timeline(copy.table)
    return code == 0 and [entry.time for entry in timeline.completed_writes() if entry.time > target] == []


@pytest.mark.short("no", "20261121", "wrong {}")
@pytest.mark.parametrize("answer", ["no", "", "y", "20261121", "wrong {}"])
def test_something_else_was_typed(unpack: Unpack, answer: str) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    before = tree(copy.path)
    child = spawn("restore", target, "-t", copy.path, *LOCAL)
    child.expect(f"Type {target} to go on")
    child.sendline(answer.format(target))
    code, last = ended(child)
    assert code == 4
    assert "not confirmed" in last
    assert tree(copy.path) == before


def test_the_plan_is_shown_and_the_savepoint_is_typed(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    removed = plan(copy, target).undo.removed
    child = spawn("restore", target, "-t", copy.path, *LOCAL)
    child.expect(f"Type {target} to go on")
    assert all(instant in child.before for instant in removed)
    child.sendline(target)
    child.expect("un-publish instants")
    code, _ = ended(child)
    assert code == 0
    assert f"restored to {target}" in child.before


@pytest.mark.short("-4", "y-0")
@pytest.mark.parametrize(("answer", "code"), [("n", 4), ("", 4), ("y", 0)])
def test_a_savepoint_is_asked_for_by_yes_or_no(unpack: Unpack, answer: str, code: int) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    child = spawn("savepoint", "delete", target, "-t", copy.path)
    child.expect(r"\[y/N\]")
    child.sendline(answer)
    assert ended(child)[0] == code
    assert (target in copy.savepoints) == (code != 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_the_prompt(unpack: Unpack, number: signal.Signals) -> None:
    copy = unpack("v9", "cow_savepoints")
    before = tree(copy.path)
    child = spawn("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL)
    asked(child, "to go on")
    child.kill(number)
    assert ended(child)[0] == 130
    assert tree(copy.path) == before


def test_the_end_of_input_at_the_prompt(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    before = tree(copy.path)
    child = spawn("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL)
    child.expect("to go on")
    child.sendeof()
    assert ended(child)[0] in (4, 130)
    assert tree(copy.path) == before


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.full)])
def test_a_signal_while_the_restore_settles(unpack: Unpack, number: signal.Signals) -> None:
    copy = unpack("v9", "mor_savepoints")
    target = copy.savepoints[-1]
    child = spawn("restore", target, "-t", copy.path, *LOCAL, "--yes")
    child.expect("request the restore")
    child.kill(number)
    child.expect("stopping after this step")
    code, last = ended(child)
    assert code == 130
    assert "(nothing was changed)" in last
    assert restorable(copy, target)


def test_colours_are_there_on_a_terminal_and_lines_fit(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "500"}
    environment.pop("NO_COLOR", None)
    arguments = ["-m", "hudictl", "timeline", "show", "-t", str(copy.path)]
    shown = pexpect.run(" ".join([sys.executable, *arguments]), cwd=ROOT, env=environment, encoding="utf-8")
    assert "\x1b[1mstate" in shown
    plain = pexpect.run(
        " ".join([sys.executable, *arguments, "--no-color"]), cwd=ROOT, env=environment, encoding="utf-8"
    )
    assert "\x1b" not in plain


# Two processes.


def start(*arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "hudictl", *(str(argument) for argument in arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def claimed_by(copy: Copy) -> int:
    """The process that has claimed the table, as soon as one has."""
    until = time.monotonic() + PATIENCE_S
    while not (claim := copy.meta / ".hudictl" / "claim-1").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    return int(json.loads(claim.read_bytes())["pid"])


def test_two_restores_at_once(unpack: Unpack) -> None:
    """One does it, the other one says so and keeps away."""
    copy = unpack("v9", "mor_savepoints")
    target = copy.savepoints[-1]
    needed = set(required(copy.table, plan(copy, target).undo.case))
    command = ("restore", target, "-t", copy.path, *LOCAL, "--yes")
    both = [start(*command), start(*command)]
    winner = psutil.Process(claimed_by(copy))
    winner.suspend()
    # The one that has it goes on when the other has been told: on a busy host it could be done before the other looks.
    (other,) = (process for process in both if process.pid != winner.pid)
    other.wait(PATIENCE_S)
    winner.resume()
    said = [process.communicate(timeout=PATIENCE_S) for process in both]
    codes = sorted(process.returncode for process in both)
    assert codes == [0, 12], said
    loser = next(err for process, (_, err) in zip(both, said, strict=True) if process.returncode)
    assert len(loser.splitlines()) == 1
    assert needed == {path for path in copy.data() if path in needed}
    assert len(list(copy.timeline.glob("*.restore"))) == 1
    assert [str(entry) for entry in load_timeline(copy.table).having("rollback")] == []


def test_a_process_that_was_killed_holds_nothing(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_savepoints")
    target = copy.savepoints[-1]
    process = start("restore", target, "-t", copy.path, *LOCAL, "--yes", "--settle", "600s")
    until = time.monotonic() + PATIENCE_S
    while not copy.having("restore.requested") and time.monotonic() < until:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    assert copy.having("restore.requested")
    assert (copy.meta / ".hudictl" / "claim-1").exists()
    assert restorable(copy, target)
    # What was only requested is withdrawn: nothing of it had been done.
    assert len(copy.having("restore.requested")) == 1


@pytest.mark.cluster
def test_spark_does_the_same(unpack: Unpack) -> None:
    """Listing, deleting and verifying as Spark jobs, and nothing of Spark's talk on stderr."""
    copy = unpack("v6", "mor_savepoints")
    target = copy.savepoints[-1]
    gone = {file.path for removal in plan(copy, target).undo.removals for file in removal.files}
    process = start("restore", target, "-t", copy.path, "--master", "local[1]", "--yes", "-o", "json")
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    assert f'"files_deleted": {len(gone)}' in out
    assert not gone & copy.data()
