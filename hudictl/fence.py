"""What a task asks before it changes files: whether its operation still goes on.

A host that was cut off goes on with its tasks after they were given to others, the command has ended, and a writer has
begun. Executors run this.
"""

import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from hudictl.errors import Conflict, StorageFailed
from hudictl.formats.layouts import OWN
from hudictl.storage import FileStatus, Storage, entries_of

Task = TypeVar("Task")
Value = TypeVar("Value")

FRESH_MS = 40_000
"""The age of a claim up to which tasks go on: its process touches it every 10 s, and after 60 s others take it over."""
_WAIT_SECONDS = 60.0
_LOOK_SECONDS = 1.0
_NAME = re.compile(r"claim-([0-9]+)\Z")


@dataclass(frozen=True, slots=True)
class Fence:
    """The claim of an operation: link ``number`` of the chain, whose file has ``size`` bytes until it is released."""

    storage: Storage
    number: int
    size: int

    def check(self) -> None:
        """Waits while the claim is not touched, as by a process that is stopped or cut off. Raises Conflict: the claim
        was released, taken over or deleted: the operation has ended, or is another's; StorageFailed: nobody has touched
        it for too long."""
        until = time.monotonic() + _WAIT_SECONDS
        while True:
            links = claim_links(self.storage)
            own = links.get(self.number)
            if own is None or own.size != self.size or max(links) > self.number:
                raise Conflict(
                    f"claim {self.number} was released, taken over or deleted: its tasks change nothing any more",
                    hint="run the same command again, or `hudictl resume`",
                    claim=self.number,
                )
            age_ms = int(time.time() * 1000) - own.modified_ms
            if age_ms <= FRESH_MS:
                return
            if time.monotonic() >= until:
                raise StorageFailed(
                    f"claim {self.number} was not touched for {age_ms // 1000} s: hudictl's process was stopped or cut "
                    f"off, or the clock of {socket.gethostname()} is wrong",
                    hint="run the same command again, or `hudictl resume`",
                    claim=self.number,
                )
            time.sleep(_LOOK_SECONDS)


@dataclass(frozen=True, slots=True)
class Fenced(Generic[Task, Value]):
    """A function that changes files, for an engine: each task begins only while its operation goes on."""

    fence: Fence
    function: Callable[[Task], Value]

    def __call__(self, task: Task) -> Value:
        self.fence.storage.guard.begin_task(self.fence.check)
        return self.function(task)


def claim_path(number: int) -> str:
    """The file of a link, in the table."""
    return f"{OWN}/claim-{number}"


def claim_links(storage: Storage) -> dict[int, FileStatus]:
    """The links of the chain of claims, by their numbers. Raises StorageFailed."""
    return {int(match[1]): entry for entry in entries_of(storage, OWN) if (match := _NAME.match(entry.name))}
