"""A process that stood still looks again before it changes files: others may have taken over its table meanwhile.

A request may be sent once more when the store has not answered, and by then the operation may have ended: so it is not
only before the first try that is looked.
"""

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

CHANGES = (
    *("append", "bring_back", "copy_file", "copy_from", "create", "create_base", "create_from", "delete"),
    *("delete_folder", "end_writing", "move", "move_files", "remove_empty", "replace", "set_time", "touch"),
)
"""The methods of a storage that change files."""
STANDSTILL_SECONDS = 20.0
"""Twice the time between two heartbeats of a process, each of which is a change, too."""
_TASK_SECONDS = 1.0
"""The same in other processes, in which only a look shows that the operation goes on."""
_LATE_SECONDS = 10.0
"""From then to a request: a slow look, signing, waiting for a connection. s3fs waits 15 s for an answer."""


class TooLateError(Exception):
    """A driver wanted to send a request long after the last look: whoever asked for it looks again, and tries again."""

    def __init__(self) -> None:
        super().__init__("the store did not answer in time")


class Guard:
    """Called before each change, and each time before its request is sent again. Times are those before a look: a
    process may stand still in one, too."""

    def __init__(self, *, elsewhere: bool = False) -> None:
        self._look: Callable[[], None] | None = None
        self._last_s = 0.0
        self._elsewhere = elsewhere

    def __reduce__(self) -> tuple[Callable[[], "Guard"], tuple[()]]:
        return _elsewhere, ()

    @contextmanager
    def looking(self, look: Callable[[], None]) -> Iterator[None]:
        """Meanwhile, after a standstill, ``look`` comes before the next change, and its exception instead of it."""
        self._last_s, self._look = time.time(), look
        try:
            yield
        finally:
            self._look = None

    def begin_task(self, look: Callable[[], None]) -> None:
        """Looks, and in another process looks again later, before each change and each repetition. Raises what
        ``look`` raises."""
        now_s = time.time()
        look()
        if self._elsewhere:
            self._last_s, self._look = now_s, look

    def __call__(self) -> None:
        # Of the clocks it is this one that goes on while a host sleeps.
        now_s = time.time()
        if self._look is not None and self._since(now_s) > 0:
            self._look()
            self._last_s = now_s
        elif not self._elsewhere:
            # The process goes on, and with it the thread that looks all the time.
            self._last_s = now_s

    def refuse_late(self) -> None:
        """Called by drivers each time before they send a request, where they cannot wait for a look.

        Raises TooLateError.
        """
        if self._look is not None and self._since(time.time()) > _LATE_SECONDS:
            raise TooLateError

    def _since(self, now_s: float) -> float:
        """For how many seconds a look is due."""
        return abs(now_s - self._last_s) - (_TASK_SECONDS if self._elsewhere else STANDSTILL_SECONDS)


def _elsewhere() -> Guard:
    return Guard(elsewhere=True)


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
