"""The standard streams: closed ones, a terminal that has gone, a disk that is full."""

import errno
import logging
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TextIO

import click

from hudictl.cli.profiles import secrets_of
from hudictl.errors import StorageFailed
from hudictl.phrases import printable
from hudictl.secrets import masked, without

_MUCH = 64 * 1024
"""So many characters are written at once."""
_GONE = (errno.EPIPE, errno.EIO)
"""The reader of a pipe has gone, or the terminal."""


def fill_closed() -> None:
    """Opens the null device in the place of each standard stream that is closed. Else the next file to be opened gets
    its number, and what is meant for the operator would be written into it.

    Standard output stays None in ``sys``: see ``require_output``.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is the one that is given.
            os.open(os.devnull, os.O_RDWR)
    # Python has found them closed before, and made them None.
    sys.stdin = sys.stdin or os.fdopen(0)
    sys.stderr = sys.stderr or os.fdopen(2, "w")


def require_output() -> None:
    """Raises StorageFailed: standard output is closed. Asked before anything is done."""
    if sys.stdout is None:
        raise StorageFailed(
            "standard output is closed", hint="nothing was changed; redirect standard output to a file or /dev/null"
        )


def emit(text: str, nl: bool = True, *, data: bool = False) -> bool:
    """Prints. A reader or a terminal that has gone neither stops what the command does, nor changes its exit code; then
    this is False, once.

    Args:
        data: the text has the table's own rows, whose URIs are shown as they are.

    Raises StorageFailed: the text cannot be written, as on a full disk.
    """
    try:
        click.echo((without if data else masked)(text, _secrets()), nl=nl)
        sys.stdout.flush()
    except OSError as error:
        _to_nowhere(sys.stdout)
        if error.errno not in _GONE:
            raise StorageFailed(f"standard output: {error.strerror}", hint="the output is not complete") from error
        return False
    return True


def emit_parts(parts: Iterable[str], *, data: bool = False) -> bool:
    """``emit`` for a line that comes in very many parts."""
    waiting, length = [], 0
    for part in parts:
        waiting.append(part)
        length += len(part)
        if length >= _MUCH:
            if not emit("".join(waiting), nl=False, data=data):
                return False
            waiting, length = [], 0
    return emit("".join(waiting), data=data)


def say(text: str) -> None:
    """Prints on standard error. A terminal that has gone, or a full disk, is no reason to stop in the middle."""
    try:
        click.echo(masked(text, _secrets()), err=True)
    except OSError:
        _to_nowhere(sys.stderr)


def log_to_stderr() -> None:
    """Prints what hudictl logs, a line each, without secrets."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    # Threads have no context of their own.
    context = click.get_current_context(silent=True)

    def without_secrets(record: logging.LogRecord) -> bool:
        record.msg, record.args = printable(masked(record.getMessage(), secrets_of(context))), ()
        return True

    handler.addFilter(without_secrets)
    logger = logging.getLogger("hudictl")
    logger.handlers = [handler]
    logger.setLevel(logging.DEBUG)


def _secrets() -> frozenset[str]:
    """Those of this command line: errors of a store are parts of results, too."""
    return secrets_of(click.get_current_context(silent=True))


def _to_nowhere(stream: TextIO) -> None:
    """The null device takes all that follows, and what Python flushes at its end."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def in_color(no_color: bool) -> bool:
    """Whether colours are wanted on a terminal: by --no-color, the NO_COLOR of no-color.org, and a terminal without."""
    return not (no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb")


class Terminal:
    """Standard error as a progress bar writes to it: its loss is no reason to stop in the middle."""

    def write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
        except OSError:
            _to_nowhere(sys.stderr)

    def flush(self) -> None:
        try:
            sys.stderr.flush()
        except OSError:
            _to_nowhere(sys.stderr)

    def isatty(self) -> bool:
        return sys.stderr.isatty()
