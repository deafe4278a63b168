"""A host that stands still in the middle of an operation."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.datacentre.hosts import Datacentre, Process
from tests.datacentre.services import COMMAND_SECONDS


@contextmanager
def standing_still(running: Datacentre, process: Process, phase: str) -> Iterator[None]:
    """The host of a hudictl stops soon after a phase has begun. Until then the store is slow: else it would be over."""
    manner = running.hosts["s3"].path("/tmp/manner")
    manner.write_text("late 0.3")
    try:
        running.wait_for_words(process, f"step: {phase}\n", COMMAND_SECONDS)
        time.sleep(0.3)
        running.pause(process.host)
        assert process.outside.poll() is None, process.said()
        manner.unlink()
        yield
    finally:
        manner.unlink(missing_ok=True)
        running.resume(process.host)
