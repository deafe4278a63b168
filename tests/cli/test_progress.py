"""Progress on stderr, and signals that stop the work."""

import io
import json
import os
import signal
import sys
import time

import pytest

from hudictl.cli.progress import NDJSON, NONE, Progress, stoppable
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
    stderr = io.TextIOWrapper(io.BufferedWriter(Signalled()), write_through=True)
    monkeypatch.setattr(sys, "stderr", stderr)
    progress = Progress()
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


def spoken(capfd: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capfd.readouterr().err.splitlines()]


def test_scripts_get_a_row_for_each_step_and_count(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = Progress(NDJSON)
    progress.step("delete files")
    moments = iter(float(number) for number in range(100))
    monkeypatch.setattr(time, "monotonic", lambda: next(moments))
    counter = progress.counter(90_000)
    assert counter is not None
    counter(0.25)
    counter(0.5)
    progress.end()
    begun, first, second, ended = spoken(capfd)
    assert begun == {"step": "delete files"}
    assert (first["done"], second["done"], second["total"]) == (22_500, 45_000, 90_000)
    assert ended.keys() == {"step", "seconds"}


def test_a_row_controls_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    Progress(NDJSON).step("read \x1b\x7f\u202e\n")
    (line,) = capfd.readouterr().err.splitlines()
    assert line.isprintable()


def test_without_a_terminal_and_when_quiet_nothing_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    for progress in (Progress(), Progress(NONE)):
        progress.step("delete files")
        assert progress.counter(5) is None
        progress.end()
    assert capfd.readouterr().err == ""


def test_a_terminal_gets_the_count_the_rate_and_each_steps_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shown(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", Shown())
    moments = iter([0.0, 10.0, 20.0, 25.0, 100.0, 101.5])
    monkeypatch.setattr(time, "monotonic", lambda: next(moments))
    progress = Progress()
    progress.step("delete files")
    counter = progress.counter(90_000)
    assert counter is not None
    counter(0.5)
    progress.end()
    progress.step("verify\x1b")
    progress.end()
    said = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "delete files ... 45,000 of 90,000, 4,500 a second, 10 s left" in said
    assert [line.split() for line in said.replace("\r", "\n").splitlines() if line.rstrip().endswith(" s")] == [
        ["delete", "files", "...", "25.0", "s"],
        ["verify\\x1b", "...", "1.5", "s"],
    ]
