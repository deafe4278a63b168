"""Progress on stderr, and the operator's wish to stop."""

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import click

from hudictl.errors import Interrupted

_log = logging.getLogger(__name__)
_BAR_STEPS = 1000
_STDERR = 2


class Progress:
    """Steps as lines on stderr where it is a terminal; everything in the log of --verbose."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._stop = False
        self._step = ""

    def step(self, name: str) -> None:
        self._refuse_stopped(f"interrupted before: {name}", name)
        self._step = name
        _log.debug("step: %s", name)
        if sys.stderr.isatty():
            _say(f"{time.monotonic() - self._begun:6.1f} s  {name}")

    def check(self) -> None:
        self._refuse_stopped(f"interrupted: {self._step}", self._step)

    def _refuse_stopped(self, message: str, step: str) -> None:
        if self._stop:
            raise Interrupted(message, hint="run the same command again, or `hudictl resume`", step=step)

    def note(self, text: str) -> None:
        _log.debug("%s", text)

    def stop(self, number: int, frame: FrameType | None) -> None:
        """A second signal does not wait for the step to end."""
        if self._stop:
            raise KeyboardInterrupt
        self._stop = True
        # Past Python's buffer: the signal may have come while a line was being written into it, which cannot be entered
        # twice. A terminal that has gone is no reason to stop in the middle.
        with suppress(OSError):
            os.write(_STDERR, b"stopping after this step; again to stop at once\n")


def _say(text: str) -> None:
    # A terminal that has gone is no reason to stop in the middle.
    with suppress(OSError):
        click.echo(text, err=True)


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[float], None] | None]:
    """A bar on stderr that is told which share is done, from 0 to 1; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=_BAR_STEPS, label=label, file=sys.stderr) as shown:
        yield lambda share: shown.update(round(share * _BAR_STEPS) - shown.pos)
        shown.update(_BAR_STEPS - shown.pos)


@contextmanager
def stoppable(progress: Progress) -> Iterator[None]:
    """SIGINT and SIGTERM stop between steps while work is being done."""
    saved = {number: signal.signal(number, progress.stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in saved.items():
            signal.signal(number, handler)
