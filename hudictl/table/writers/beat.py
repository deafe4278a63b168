"""Keeps the files of this process fresh: claims, lock files and heartbeats; releases its locks in the table's store."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from hudictl.errors import HudictlError, StorageFailed

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


@contextmanager
def releasing(release: Callable[[], None], hint: str) -> Iterator[None]:
    """Releases a lock at the end, also after an error. ``hint``: what a failed release means for the writers. Raises
    StorageFailed."""
    try:
        yield
    except (Exception, KeyboardInterrupt):
        # The first error matters, not that of the release.
        with suppress(StorageFailed):
            release()
        raise
    try:
        release()
    except StorageFailed as error:
        raise StorageFailed(error.message, hint=hint, **error.fields) from error


def _beat(beat: Callable[[], None], every_s: float, stop: threading.Event) -> None:
    while not stop.wait(every_s):
        try:
            beat()
        except (HudictlError, OSError):
            # A missed beat is harmless: after six of them a claim's `check` shows whether another process took over.
            continue
