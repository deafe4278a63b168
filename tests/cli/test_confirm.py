"""Questions before a change."""

import errno
import io
import sys
from collections.abc import Callable

import click
import pytest

from hudictl.cli import confirm
from hudictl.errors import NotConfirmed

NAME = "x\x1b[2K\nDelete nothing\u202e"
SHOWN = r"x\x1b[2K\nDelete nothing\u202e"


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirm, "_ready_to_ask", lambda _: None)


def test_a_question_shows_names_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name cannot rewrite the question that it stands in."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    with pytest.raises(NotConfirmed):
        confirm.confirm("Table", f"Delete {NAME}?", yes=False)
    assert f"Delete {SHOWN}?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "ask",
    [
        lambda: confirm.confirm("Table", "Delete it?", yes=False),
        lambda: confirm.confirm_typed("Table", "Delete it?", "it", yes=False),
    ],
)
def test_a_terminal_that_is_closed_meanwhile_confirms_nothing(
    monkeypatch: pytest.MonkeyPatch, ask: Callable[[], None]
) -> None:
    def gone(*_: object, **__: object) -> str:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(click, "prompt", gone)
    monkeypatch.setattr(click, "confirm", gone)
    with pytest.raises(NotConfirmed, match="the terminal is gone"):
        ask()


def test_an_answer_is_typed_as_it_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{SHOWN}\n"))
    confirm.confirm_typed("Table", "Free the lock?", NAME, yes=False)
    assert f"Free the lock?\nType {SHOWN} to go on" in capsys.readouterr().err
