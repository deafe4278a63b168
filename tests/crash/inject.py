"""Kills a process at one of its changes to the file system: every system call that changes something is counted."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hudictl.storage import descriptors, local
from hudictl.table.locks import claim

# os.utime is left out: only the claim's heartbeat uses it, on a clock of its own.
MUTATIONS = ("link", "unlink", "replace", "rename", "mkdir", "rmdir", "write")
DEAD_PID = 2**22 + 7
# At each change; a quick look dies at each third of them, in and before the changes by turns.
EACH = int(os.environ.get("CRASH_EACH", "1"))


class Crash(BaseException):
    """The process is gone: nothing of it runs any more, no handler, no clean-up."""


class FileSystem:
    """Stands for ``os`` in the storage: dies at mutation number ``at`` (from 0), before it or in the middle of it."""

    def __init__(self, at: int | None, torn: bool = False) -> None:
        self.at = at
        self.torn = torn
        self.count = 0
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        function = getattr(os, name)
        if name == "fsync":
            # What is written is on the disk in these tests; waiting for it is not what they prove.
            return lambda descriptor: None
        return self._counted(name, function) if name in MUTATIONS else function

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if self.at is not None and self.count >= self.at:
                if self.torn and name == "write" and self.count == self.at:
                    function(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                self.count += 1
                raise Crash(f"{name} {arguments}")
            result = function(*arguments, **options)
            self.count += 1
            self.calls.append(name)
            return result

        return call


@contextmanager
def dying(at: int | None, torn: bool = False) -> Iterator[FileSystem]:
    """Runs the body as a process of its own, which dies at a mutation; None counts them without dying."""
    system = FileSystem(at, torn)
    own = claim.current_owner

    def stranger(command: str) -> claim.Owner:
        # The claim of a process that is gone: the rerun must take it over.
        return replace(own(command), pid=DEAD_PID, process_start="gone")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "os", system)
        patch.setattr(descriptors, "os", system)
        patch.setattr(claim, "current_owner", stranger)
        yield system


def deaths(count: int, every: int = 1) -> range:
    """The changes at which to die, of so many."""
    return range(0, count, every * EACH)


def copy(source: Path, target: Path) -> Path:
    """A copy of a table by hard links, with all times: nothing in a table is ever changed in place."""
    shutil.copytree(source, target, copy_function=os.link)
    return target
