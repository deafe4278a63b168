"""The storage's clock, which gives files their times, against this host's."""

import time
import uuid
from dataclasses import dataclass

from hudictl.errors import StorageFailed
from hudictl.formats.layouts import SCRATCH
from hudictl.storage import Storage

# Linux gives a file the time of its last tick.
_TICK_MS = 10
_WHOLE_SECOND_MS = 999


@dataclass(frozen=True, slots=True)
class StorageClock:
    """``skew_ms``: how far the storage's clock is ahead of this host's, as far as that is certain.

    It may be ``precision_ms`` more or less: the time that the look took, and what the store leaves out of its times.
    """

    skew_ms: int
    precision_ms: int


def host_now_ms() -> int:
    """This host's clock, epoch milliseconds."""
    return int(time.time() * 1000)


def left_out_ms(modified_ms: int) -> int:
    """How much later a file may have changed than its time says: object stores tell whole seconds."""
    return _WHOLE_SECOND_MS if modified_ms % 1000 == 0 else _TICK_MS


def compare_clocks(made_ms: int, before_ms: int, after_ms: int) -> StorageClock:
    """The clock of a storage that says ``made_ms`` of a file made between two looks at this host's clock."""
    until_ms = made_ms + left_out_ms(made_ms)
    skew_ms = min(0, until_ms - before_ms) or max(0, made_ms - after_ms)
    return StorageClock(skew_ms, until_ms - made_ms + after_ms - before_ms)


def measure_clock(storage: Storage) -> StorageClock:
    """Measured by a file of its own, which is removed again.

    Raises StorageFailed: the storage cannot be written to, or tells no times.
    """
    probe = f"{SCRATCH}/probe-{uuid.uuid4()}"
    before_ms = host_now_ms()
    storage.replace(probe, b"")
    after_ms = host_now_ms()
    found = storage.stat(probe)
    storage.delete([probe])
    if found is None or not found.modified_ms:
        raise StorageFailed(f"{storage.uri}: the store tells no time of a file that was just made", path=probe)
    return compare_clocks(found.modified_ms, before_ms, after_ms)


def try_clock(storage: Storage) -> StorageClock | None:
    """The same for commands that only look; None where it cannot be measured."""
    try:
        return measure_clock(storage)
    except StorageFailed:
        return None


def storage_now_ms(clock: StorageClock | None) -> int:
    """The storage's clock now, at the earliest: what is counted with it is at least as old. Without a measurement, this
    host's clock."""
    return host_now_ms() + (clock.skew_ms - clock.precision_ms if clock else 0)


def clock_sentence(clock: StorageClock | None) -> str:
    """What the measurement says."""
    if clock is None:
        return "the storage's clock could not be measured: ages are counted with this host's clock"
    if clock.skew_ms == 0:
        return f"this host's clock and the storage's agree within {clock.precision_ms} ms"
    word = "ahead of" if clock.skew_ms > 0 else "behind"
    return f"the storage's clock is {abs(clock.skew_ms)} ms {word} this host's: ages are counted with the storage's"
