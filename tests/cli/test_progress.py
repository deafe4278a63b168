"""Progress on stderr, and signals that stop the work."""

import io
import os
import signal
import sys

import pytest

from hudictl.cli.progress import Progress, stoppable
from hudictl.errors import Interrupted


class Signalled(io.RawIOBase):
    """A stderr whose process gets a signal while the first line goes through its buffer."""

    come = False

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return True

    def write(self, body: object) -> int:
        if not self.come:
            self.come = True
            os.kill(os.getpid(), signal.SIGINT)
        return len(bytes(body))  # type: ignore[call-overload]


def test_a_signal_while_a_line_is_printed_stops_before_the_next_step(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The buffer cannot be entered twice: hudictl ended with a bug's exit code there, in the middle of a restore."""
    progress = Progress()
    stderr = io.TextIOWrapper(io.BufferedWriter(Signalled()), write_through=True)
    monkeypatch.setattr(sys, "stderr", stderr)
    with stoppable(progress):
        progress.step("delete files")
        with pytest.raises(Interrupted, match="interrupted before: verify"):
            progress.step("verify")
    assert "stopping after this step" in capfd.readouterr().err


def test_a_second_signal_stops_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    with stoppable(progress):
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    assert capfd.readouterr().err.count("stopping after this step") == 1
