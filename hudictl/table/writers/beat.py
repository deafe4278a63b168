"""Keeps the files of this process fresh: claims, lock files and heartbeats."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hudictl.errors import HudictlError

BEAT_SECONDS = 10


@contextmanager
def kept_alive(beat: Callable[[], None], every_s: float | None = None) -> Iterator[None]:
    """Calls ``beat`` every ten seconds, or as specified, in its own thread. At the end no call is running any more."""
    stop = threading.Event()
    thread = threading.Thread(target=_beat, args=(beat, every_s or BEAT_SECONDS, stop), name="beat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        # No beat after a release, even on a slow store: it would write the old content again.
        stop.set()
        thread.join()


def _beat(beat: Callable[[], None], every_s: float, stop: threading.Event) -> None:
    while not stop.wait(every_s):
        try:
            beat()
        except (HudictlError, OSError):
            # A missed beat is harmless: after six of them a claim's `check` shows whether another process took over.
            continue
