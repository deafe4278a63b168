"""Asking before a change."""

import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

from hudictl.errors import NotConfirmed
from hudictl.phrases import printable


def confirm_typed(table: str, what: str, answer: str, *, yes: bool) -> None:
    """Names the table, and asks to type the answer.

    Raises NotConfirmed: something else was typed, or nobody can be asked.
    """
    if yes:
        return
    _ready_to_ask(table)
    what, answer = printable(what), printable(answer)
    with _terminal_there():
        typed = click.prompt(f"{what}\nType {answer} to go on", default="", show_default=False, err=True)
    if typed.strip() != answer:
        raise NotConfirmed(f"not confirmed: {typed.strip()!r} is not {answer}", hint="nothing was changed")


def confirm(table: str, what: str, *, yes: bool) -> None:
    """Names the table, and asks yes or no. Raises NotConfirmed."""
    if yes:
        return
    _ready_to_ask(table)
    with _terminal_there():
        answered = click.confirm(printable(what), err=True)
    if not answered:
        raise NotConfirmed("declined", hint="nothing was changed")


@contextmanager
def _terminal_there() -> Iterator[None]:
    """Raises NotConfirmed: the terminal was closed while the question was open."""
    try:
        yield
    except OSError as error:
        raise NotConfirmed("not confirmed: the terminal is gone", hint="nothing was changed") from error


def _ready_to_ask(table: str) -> None:
    """What was typed before the question is no answer to it. Raises NotConfirmed."""
    if not sys.stdin.isatty():
        raise NotConfirmed(
            "not confirmed: there is no terminal for the question", hint="nothing was changed; in a script, use --yes"
        )
    with suppress(termios.error):
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    click.echo(printable(table), err=True)
