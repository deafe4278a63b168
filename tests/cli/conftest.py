"""Fixtures of the command line's tests."""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from hudictl.cli.main import run
from tests.fixtures import Unpack, indexed, no_waiting, overlap, unpack
from tests.schema_support import check_printed

__all__ = ["Said", "Tell", "Unpack", "indexed", "no_waiting", "overlap", "unpack"]


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout."""
        (line,) = self.out.splitlines()
        return json.loads(line)

    @property
    def error(self) -> Any:
        """The one error object on stderr, with all its keys."""
        (line,) = self.err.splitlines()
        found = json.loads(line)
        assert list(found) == ["slug", "exit_code", "message", "hint", "fields"]
        assert found["exit_code"] == self.code
        return found

    @property
    def line(self) -> str:
        """The one line on stderr that says what is wrong."""
        (line,) = self.err.splitlines()
        assert line.startswith("hudictl: ")
        assert "Traceback" not in self.err
        return line


Tell = Callable[..., Said]


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No settings of whoever runs the tests, and no terminal."""
    for name in ("HUDICTL_TABLE", "HUDICTL_PROFILE", "HUDICTL_CONFIG", "HUDICTL_OUTPUT", "HUDICTL_DEBUG", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")
    with open("/dev/null") as nobody:
        monkeypatch.setattr("sys.stdin", nobody)
        yield
    # --verbose of one test is not another's.
    logger = logging.getLogger("hudictl")
    logger.handlers = []
    logger.setLevel(logging.NOTSET)


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """But where a test asks for it: a JVM takes seconds."""
    monkeypatch.setenv("HUDICTL_ENGINE", "local")


@pytest.fixture
def default_engine(_no_spark: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a test of what happens where no engine is chosen."""
    monkeypatch.delenv("HUDICTL_ENGINE")


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Tell:
    """Runs a command in this process: ``tell("table", "show", "-t", path)``. JSON is valid by its schema."""

    def command(*arguments: object) -> Said:
        capsys.readouterr()
        words = [str(argument) for argument in arguments]
        code = run(words)
        said = capsys.readouterr()
        check_printed(words, said.out, said.err)
        return Said(code, said.out, said.err)

    return command
