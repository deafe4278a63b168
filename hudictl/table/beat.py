"""The signs of life of what this process holds: claims, lock files and heartbeats."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hudictl.errors import HudictlError

BEAT_SECONDS = 10


@contextmanager
def kept_alive(beat: Callable[[], None], every_s: float | None = None) -> Iterator[None]:
    """Calls ``beat`` every ten seconds, or as asked, in a thread of its own; none is under way any more at the end."""
    stop = threading.Event()
    thread = threading.Thread(target=_beat, args=(beat, every_s or BEAT_SECONDS, stop), name="beat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        # No beat after a release, however long the store takes: it would put the old content back.
        stop.set()
        thread.join()


def _beat(beat: Callable[[], None], every_s: float, stop: threading.Event) -> None:
    while not stop.wait(every_s):
        try:
            beat()
        except (HudictlError, OSError):
            # A missed beat is no harm: after six of them a claim's `check` tells whether another process took over.
            continue
