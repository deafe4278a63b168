"""Progress on stderr, and the operator's wish to stop."""

import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType

from hudictl.cli.streams import Terminal, say
from hudictl.errors import Interrupted
from hudictl.phrases import printable

Handler = Callable[[int, FrameType | None], object] | int | None
_log = logging.getLogger(__name__)
_STDERR = 2
_TOLD_EVERY_S = 0.5
_WIDTH = 60
_SHORT_S = 1.0
"""Of a shorter step no line stays."""

AUTO = "auto"
NDJSON = "ndjson"
NONE = "none"
PROGRESS = (AUTO, NDJSON, NONE)
"""How progress is shown: as text where stderr is a terminal, as JSON rows, not at all."""


class Progress:
    """The steps of a command, each with its own time, and how much of it is done. On stderr: as lines on a terminal, as
    JSON rows for scripts. Everything is in the log of --verbose. ``hangup``: the loss of the terminal stops the work.
    """

    def __init__(self, shown: str = AUTO, *, hangup: bool = False) -> None:
        self.hangup = hangup
        self._rows = shown == NDJSON
        self._lines = shown == AUTO and sys.stderr.isatty()
        self._stop = False
        self._step = ""
        self._begun = 0.0
        self._open = False

    def step(self, name: str) -> None:
        self._refuse_stopped(f"interrupted before: {name}", name)
        self.begin(name)

    def begin(self, name: str) -> None:
        """The same where a stop would be told elsewhere."""
        self.end()
        self._step, self._begun, self._open = printable(name), time.monotonic(), True
        _log.debug("step: %s", name)
        if self._lines:
            self._line("")
        self._row()

    def end(self) -> None:
        """The step that is open has ended, or a question follows: its time does not count."""
        if self._open:
            self._open = False
            seconds = round(time.monotonic() - self._begun, 1)
            if self._lines and seconds >= _SHORT_S:
                self._line(f"{seconds} s", end="\n")
            elif self._lines:
                Terminal().write("\r\x1b[K")
                Terminal().flush()
            self._row(seconds=seconds)

    def check(self) -> None:
        self._refuse_stopped(f"interrupted: {self._step}", self._step)

    def counted(self, name: str, total: int) -> Callable[[float], None] | None:
        """A step, and its counter."""
        self.step(name)
        return self.counter(total)

    def counter(self, total: int) -> Callable[[float], None] | None:
        """What is told which share of the open step is done; None where nothing is shown."""
        if not (self._lines or self._rows):
            return None
        since = time.monotonic()
        last = [since]

        def tell(share: float) -> None:
            now = time.monotonic()
            if now - last[0] < _TOLD_EVERY_S:
                return
            last[0] = now
            done = round(share * total)
            rate = done / (now - since)
            if self._lines and rate:
                left = round((total - done) / rate)
                self._line(f"{done:,} of {total:,}, {rate:,.0f} a second, {left:,} s left")
            self._row(done=done, total=total)

        return tell

    def _line(self, said: str, end: str = "") -> None:
        # Over what stood there.
        Terminal().write(f"\r{self._step} ... {said:<{_WIDTH}}{end}" if said else f"{self._step} ...")
        Terminal().flush()

    def _row(self, **told: float) -> None:
        if self._rows:
            say(json.dumps({"step": self._step, **told}))

    def _refuse_stopped(self, message: str, step: str) -> None:
        if self._stop:
            raise Interrupted(message, hint="run the same command again", step=step)

    def note(self, text: str) -> None:
        _log.debug("%s", text)

    def stop(self, number: int, frame: FrameType | None) -> None:
        """A second signal does not wait for the step to end; but a terminal that goes is told by the shell, too."""
        if self._stop:
            if number == signal.SIGHUP:
                return
            raise KeyboardInterrupt
        self._stop = True
        # Past Python's buffer: the signal may have come while a line was being written into it, which cannot be entered
        # twice. A terminal that has gone is no reason to stop in the middle.
        with suppress(OSError):
            os.write(_STDERR, b"\nstopping after this step; press Ctrl-C again to stop at once\n")


@contextmanager
def shown(what: str, progress: str) -> Iterator[Progress]:
    """A command of one step, which changes nothing."""
    found = Progress(progress)
    found.begin(what)
    try:
        yield found
    finally:
        found.end()


@contextmanager
def stoppable(progress: Progress) -> Iterator[None]:
    """SIGINT and SIGTERM stop between steps while work is being done; so does SIGHUP, where ``progress`` says so."""
    stopping = (signal.SIGINT, signal.SIGTERM, *((signal.SIGHUP,) if progress.hangup else ()))
    with _handled(dict.fromkeys(stopping, progress.stop)):
        yield


@contextmanager
def without_hangup() -> Iterator[bool]:
    """The loss of the terminal ends neither this process nor those that it starts, as Spark's, in the middle of
    something. Tells whether it would have."""
    with _handled({signal.SIGHUP: signal.SIG_IGN}) as before:
        yield before[signal.SIGHUP] is not signal.SIG_IGN


@contextmanager
def _handled(handlers: "Mapping[signal.Signals, Handler]") -> "Iterator[dict[signal.Signals, Handler]]":
    saved = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield saved
    finally:
        for number, handler in saved.items():
            signal.signal(number, handler)
