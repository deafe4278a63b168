"""A process that stood still looks again before it changes files: others may have taken over its table meanwhile."""

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

CHANGES = (
    *("append", "bring_back", "copy_file", "copy_from", "create", "create_from", "delete", "delete_folder"),
    *("end_writing", "move", "move_files", "remove_empty", "replace", "set_time", "touch"),
)
"""The methods of a storage that change files."""
STANDSTILL_SECONDS = 20.0
"""Twice the time between two heartbeats of a process, each of which is a change, too."""


class Guard:
    """Called before each change. Other processes get a guard that lets all pass: their tasks have a fence."""

    def __init__(self) -> None:
        self._look: Callable[[], None] | None = None
        self._last_s = 0.0

    def __reduce__(self) -> tuple[type["Guard"], tuple[()]]:
        return Guard, ()

    @contextmanager
    def looking(self, look: Callable[[], None]) -> Iterator[None]:
        """Meanwhile, after a standstill, ``look`` comes before the next change, and its exception instead of it."""
        self._last_s, self._look = time.time(), look
        try:
            yield
        finally:
            self._look = None

    def __call__(self) -> None:
        # Of the clocks it is this one that goes on while a host sleeps.
        now_s = time.time()
        if self._look is not None and abs(now_s - self._last_s) > STANDSTILL_SECONDS:
            self._look()
        self._last_s = now_s


def guard_changes(storage: type) -> None:
    """Has each method of a class that changes files call the instance's ``guard`` first."""
    for name in CHANGES:
        if name in vars(storage):
            setattr(storage, name, _guarded(vars(storage)[name]))


def _guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.guard()
        return method(self, *args, **kwargs)

    return checked
