"""Deletions of many objects, tried again where a store puts some of them off, or does not answer."""

import logging
import random
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

_log = logging.getLogger(__name__)

_PAUSES_S = (0.2, 0.5, 1, 2, 4, 8, 16, 16)
"""Between the tries, in seconds, about: many tasks delete at once."""
_STEADY = 3
"""The index of the longest pause while a store still deletes some of the files."""
LATER = frozenset({408, 429, 500, 502, 503, 504})
"""Status codes that another try may not meet."""


class Kept(NamedTuple):
    """Why an object is still there; ``later``: another try may delete it."""

    reason: str
    later: bool = False


def patiently(
    request: Callable[[Sequence[str]], dict[str, Kept]], names: Sequence[str], guard: Callable[[], None]
) -> dict[str, str]:
    """Deletes objects by a function that tells which are kept, and why; returns the errors of those at the end.

    Args:
        guard: called before each other try: the operation may have ended meanwhile. Its errors are raised.
    """
    kept, tries = request(names), 0
    while tries < len(_PAUSES_S):
        again = [name for name, (_, later) in kept.items() if later]
        if not again:
            break
        pause = _PAUSES_S[tries]
        # A store that limits its requests answers so for single files; drivers try only whole calls again.
        if pause >= 1:
            _log.warning("the store puts off %d of %d files: they are deleted later", len(again), len(names))
        time.sleep(pause * random.uniform(0.5, 1.5))
        guard()
        left = request(again)
        kept = {name: found for name, found in kept.items() if not found.later} | left
        # With 16 calls at once a store may take long for all of them: it is given up only if it deletes nothing.
        tries = tries + 1 if len(left) == len(again) else min(tries + 1, _STEADY)
    return {name: reason for name, (reason, _) in kept.items()}
