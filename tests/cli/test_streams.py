"""Standard streams that are closed, full, or gone: their own code and a clear line, and never a wrong file."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from hudictl.cli.streams import Terminal, say
from tests.cli.conftest import Unpack
from tests.cli.terminal_support import LOCAL, PATIENCE_S, ROOT, ended, spawn
from tests.helpers import OWN, Copy, put, tree

pytestmark = pytest.mark.slow

FULL = Path("/dev/full")


def run(line: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """hudictl by a shell, with redirections behind it."""
    command = f'exec "{sys.executable}" -m hudictl "$@" {line}'
    return subprocess.run(
        ["sh", "-c", command, "sh", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


@pytest.mark.parametrize("output", ["text", "json"])
@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
def test_15_a_full_disk(unpack: Unpack, output: str) -> None:
    said = run(f"> {FULL}", "table", "show", "-t", unpack("v9", "cow_part").path, "-o", output)
    assert said.returncode == 15
    assert "standard output: No space left on device" in said.stderr
    assert len(said.stderr.splitlines()) == 1


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
def test_15_what_was_done_is_told_where_its_report_is_lost(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    said = run(f"> {FULL}", "savepoint", "delete", copy.savepoints[0], "-t", copy.path, "--yes")
    assert said.returncode == 15
    assert "only its output was lost: deleted the savepoint" in said.stderr


def test_15_standard_output_is_closed(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    before = tree(copy.path)
    said = run(">&-", "savepoint", "delete", copy.savepoints[0], "-t", copy.path, "--yes")
    assert said.returncode == 15
    assert said.stderr.startswith("hudictl: storage (15): standard output is closed (nothing was changed")
    assert tree(copy.path) == before


def test_4_there_is_no_standard_input_to_ask_on(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    said = run("<&-", "savepoint", "delete", copy.savepoints[0], "-t", copy.path)
    assert said.returncode == 4
    assert "no terminal for the question" in said.stderr


def test_14_a_plan_from_a_closed_standard_input() -> None:
    assert run("<&-", "apply", "-").returncode == 14


@pytest.mark.parametrize("line", ["2>&-", f"2> {FULL}"])
def test_errors_that_nobody_reads_keep_their_code(line: str) -> None:
    assert run(line, "table", "show", "-t", "/nowhere").returncode == 10


def test_nothing_for_the_operator_is_written_into_a_file(unpack: Unpack) -> None:
    """A file that is opened gets the number of a stream that is closed: its writer's messages would go into it."""
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    said = run("2>&- <&- > /dev/null", "restore", target, "-t", copy.path, *LOCAL, "--yes", "-v")
    assert said.returncode == 0
    for file in copy.path.rglob("*"):
        assert not file.is_file() or b"step: " not in file.read_bytes()


# The terminal.


def test_what_was_typed_before_the_question_is_no_answer(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    before = tree(copy.path)
    child = spawn("restore", target, "-t", copy.path, *LOCAL)
    child.sendline(target)
    child.expect(f"Type {target} to go on")
    # It would have gone on by itself.
    with pytest.raises(pexpect.TIMEOUT):
        child.expect("request the restore", timeout=2)
    assert tree(copy.path) == before
    child.sendline(target)
    assert ended(child)[0] == 0


def begun(copy: Copy, *flags: str) -> "pexpect.spawn[str]":
    """A restore that has begun, and settles."""
    child = spawn("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL, *flags)
    if not flags:
        child.expect("to go on")
        child.sendline(copy.savepoints[-1])
    child.expect("request the restore")
    return child


def test_a_terminal_that_goes_stops_after_the_step(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    child = begun(copy)
    child.kill(signal.SIGHUP)
    child.kill(signal.SIGHUP)
    code, last = ended(child)
    assert (code, "(nothing was changed)" in last) == (130, True)
    assert copy.having("restore") == []


def test_with_yes_it_goes_on_without_the_terminal(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    child = begun(copy, "--yes")
    # The kernel tells the whole session, as where an ssh is lost.
    os.close(child.child_fd)
    child.wait()
    assert (child.exitstatus, child.signalstatus) == (0, None)
    assert copy.commits[-1] == target
    assert copy.having("restore")


def test_a_bar_and_a_line_survive_a_terminal_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def write(self, *_: object) -> int:
            raise OSError(5, "Input/output error")

        flush = isatty = fileno = write

    monkeypatch.setattr(sys, "stderr", Gone())
    Terminal().write("x")
    Terminal().flush()
    say("x")


def test_failed_writes_are_shown_before_they_are_asked_for(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    before = tree(copy.path, OWN)
    child = spawn("failed-writes", "clean", "-t", copy.path, *LOCAL)
    child.expect(r"would be rolled back")
    child.expect(r"\[y/N\]")
    child.sendline("n")
    assert ended(child)[0] == 4
    assert tree(copy.path, OWN) == before
    child = spawn("failed-writes", "clean", "-t", copy.path, *LOCAL)
    child.expect(r"\[y/N\]")
    child.sendline("y")
    assert ended(child)[0] == 0
    assert copy.having("rollback")


def test_no_more_is_rolled_back_than_was_shown(unpack: Unpack) -> None:
    """A file of the writer came while the operator was asked."""
    copy = unpack("v9", "mor_failed_lazy")
    child = spawn("failed-writes", "clean", "-t", copy.path, *LOCAL)
    child.expect(r"\[y/N\]")
    like = next(path for path in sorted(copy.data()) if copy.having("inflight")[-1][:17] in path)
    token = like.rpartition("_")[2]
    put(copy.path / like.replace(token, "9-9-9"), b"late")
    child.sendline("y")
    code, last = ended(child)
    assert (code, "not in the plan" in last) == (3, True)
    assert (copy.path / like).exists()
