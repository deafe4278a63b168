"""The storage's clock, which sets the files' times, compared with this host's."""

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

    It may be ``precision_ms`` more or less: the duration of the measurement, and the precision of the store's times.
    """

    skew_ms: int
    precision_ms: int


def host_now_ms() -> int:
    """This host's clock, epoch milliseconds."""
    return int(time.time() * 1000)


def left_out_ms(modified_ms: int) -> int:
    """How much later than its time a file may have changed: object stores report whole seconds."""
    return _WHOLE_SECOND_MS if modified_ms % 1000 == 0 else _TICK_MS


def compare_clocks(made_ms: int, before_ms: int, after_ms: int) -> StorageClock:
    """The clock of a storage that reports ``made_ms`` for a file created between two times of this host."""
    until_ms = made_ms + left_out_ms(made_ms)
    skew_ms = min(0, until_ms - before_ms) or max(0, made_ms - after_ms)
    return StorageClock(skew_ms, until_ms - made_ms + after_ms - before_ms)


def measure_clock(storage: Storage) -> StorageClock:
    """Measures the clock with a temporary file.

    Raises StorageFailed: the storage is not writable, or reports no times.
    """
    probe = f"{SCRATCH}/probe-{uuid.uuid4()}"
    before_ms = host_now_ms()
    storage.replace(probe, b"")
    after_ms = host_now_ms()
    found = storage.stat(probe)
    storage.delete([probe])
    if found is None or not found.modified_ms:
        raise StorageFailed(f"{storage.uri}: the store reports no modification time for a new file", path=probe)
    return compare_clocks(found.modified_ms, before_ms, after_ms)


def try_clock(storage: Storage) -> StorageClock | None:
    """The same for read commands; None if it cannot be measured."""
    try:
        return measure_clock(storage)
    except StorageFailed:
        return None


def storage_now_ms(clock: StorageClock | None) -> int:
    """The earliest possible time of the storage's clock now: true ages are at least as long as ages computed with it.
    Without a measurement, this host's clock."""
    return host_now_ms() + (clock.skew_ms - clock.precision_ms if clock else 0)


def clock_sentence(clock: StorageClock | None) -> str:
    """The result of the measurement, as a sentence."""
    if clock is None:
        return "the storage's clock could not be measured: ages are computed with this host's clock"
    if clock.skew_ms == 0:
        return f"this host's clock and the storage's agree within {clock.precision_ms} ms"
    word = "ahead of" if clock.skew_ms > 0 else "behind"
    return f"the storage's clock is {abs(clock.skew_ms)} ms {word} this host's: ages are computed with the storage's"
