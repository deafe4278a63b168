"""What the tests of terminal share with others."""

import os
import sys
from pathlib import Path

import pexpect

from tests import support

ROOT = Path(__file__).parents[2]


LOCAL = ("--engine", "local")


# Nothing waits for it but a test that fails: a busy host takes its time.
PATIENCE_S = 300


def spawn(*arguments: object) -> "pexpect.spawn[str]":
    """A command on a terminal of its own, wide enough for each line to be one."""
    command = ["-m", "hudictl", *(str(argument) for argument in arguments)]
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "400"}
    return pexpect.spawn(
        sys.executable,
        command,
        cwd=ROOT,
        env=environment,
        encoding="utf-8",
        timeout=PATIENCE_S,
        preexec_fn=support.interruptible,
    )


def ended(child: "pexpect.spawn[str]") -> tuple[int, str]:
    """Its exit code, and the last thing that it said."""
    child.expect(pexpect.EOF)
    child.close()
    lines = child.before.strip().splitlines()
    assert "Traceback" not in child.before
    return child.exitstatus, lines[-1] if lines else ""
