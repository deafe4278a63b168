"""What operators do with a table besides restores: each as a job of executors, and the same on this machine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hudictl.cli.main import run
from tests import support
from tests.cli.conftest import Said
from tests.datacentre.outcome_support import data, digests
from tests.helpers import Copy

NAME = "mor_failed_direct"


@dataclass(frozen=True)
class Jobs:
    """A table on which nothing is done yet, the commands, and its data files after them."""

    path: Path
    commands: list[tuple[str, ...]]
    after: Mapping[str, str]


def done_here(folder: Path) -> Jobs:
    """Reads all logs and the metadata table, rolls back a write that failed, then one that did not."""
    copy = Copy("v9", NAME, support.unpack("v9", NAME, folder / "there"))
    here = support.unpack("v9", NAME, folder / "here")
    commands: list[tuple[str, ...]] = [
        ("log", "verify"),
        ("metadata", "verify"),
        ("failed-writes", "clean", "--policy", "eager", "--idle", "0s", "--yes"),
        ("rollback", copy.commits[-1], "--idle", "0s", "--timezone", "UTC", "--yes"),
        ("check",),
    ]
    for command in commands:
        assert run([*command, "--table", str(here), "--engine", "local"]) == 0
    after = data(digests(here))
    assert after.keys() < data(digests(copy.path)).keys()
    return Jobs(copy.path, commands, after)


def do(jobs: Jobs, tell: Callable[..., Said]) -> None:
    """The commands elsewhere."""
    for command in jobs.commands:
        said = tell(*command)
        assert said.code == 0, (command, said.err)
