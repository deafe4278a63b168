"""Asking before a change."""

import sys
import termios
from contextlib import suppress

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
    typed = click.prompt(f"{what}\nType {answer} to go on", default="", show_default=False, err=True)
    if typed.strip() != answer:
        raise NotConfirmed(f"not confirmed: {typed.strip()!r} is not {answer}", hint="nothing was changed")


def confirm(table: str, what: str, *, yes: bool) -> None:
    """Names the table, and asks yes or no. Raises NotConfirmed."""
    if yes:
        return
    _ready_to_ask(table)
    if not click.confirm(printable(what), err=True):
        raise NotConfirmed("declined", hint="nothing was changed")


def _ready_to_ask(table: str) -> None:
    """What was typed before the question is no answer to it. Raises NotConfirmed."""
    if not sys.stdin.isatty():
        raise NotConfirmed(
            "not confirmed: there is no terminal for the question", hint="nothing was changed; in a script, use --yes"
        )
    with suppress(termios.error):
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    click.echo(printable(table), err=True)
