"""Modification times of instants' files, against the times in their names: in a copy they are often the copy's.

A writer makes the file of its request at the time in its name, in its own zone. Below version 8 the modification time
of the completed file is the only completion time that there is.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timezone

from hudictl.formats.instants import Instant, State, parse_time

# Zones differ by quarters of an hour, by 26 hours at most.
_QUARTER_MS = 15 * 60 * 1000
_FARTHEST = 26 * 4
# A writer generates its instant time first, and makes the file later. Clocks differ a little, and many stores report
# whole seconds.
_LATE_MS = 120_000
_EARLY_MS = 10_000
_SOON_MS = 10_000
# Quarters of an hour; on Lord Howe Island it is half an hour.
_SAVINGS = (2, 4)
# For a request that waits for the rollback of failed writes, and for daylight saving time.
_LONGEST_MS = 2 * 3600 * 1000


@dataclass(frozen=True)
class NotKept:
    """The times of the instants whose files' times are not those of their writers; ``because`` is the measure, if it is
    all of them: "" where the files of some were put back, as by a restore that was withdrawn."""

    times: frozenset[str]
    because: str = ""


def not_kept(instants: Collection[Instant], modified_ms: Mapping[str, int]) -> NotKept | None:
    """The instants that have lost the times of their files, by the completed writes; None: there is no sign of it.

    All of them, if most requests are of other times than their names in every zone, or were made late, within two
    minutes, and closer to each other than their names. Else those whose request is hours off, or newer than the
    completed file.

    Args:
        modified_ms: the modification times of the instants' files, by name.
    """
    made, ended = {}, {}
    for entry in instants:
        request = entry.file(State.REQUESTED)
        if entry.is_write and entry.completed and request is not None:
            made[entry.time] = modified_ms[request.name]
            ended[entry.time] = modified_ms[entry.files[-1].name]
    after_ms = {time: at_ms - begun for time, at_ms in made.items() if (begun := _begun_ms(time)) is not None}
    # As the zone of the writers, and the delay: of a file of another time the delay is anything below a quarter.
    seen = {time: divmod(delay + _EARLY_MS, _QUARTER_MS) for time, delay in after_ms.items()}
    sound = {
        time: zone for time, (zone, late) in seen.items() if abs(zone) <= _FARTHEST and late <= _LATE_MS + _EARLY_MS
    }
    everything = frozenset(entry.time for entry in instants)
    agreed, usual = _agreed(Counter(sound.values()))
    if agreed * 2 < len(seen):
        odd = f"{len(seen) - agreed:,} of {len(seen):,} requests"
        return NotKept(everything, f"the files of {odd} are of other times than their names")
    # Not one of a clock that was ahead: it makes the names look far from each other.
    same = [time for time, zone in sound.items() if zone == usual]
    same = same if len(same) * 2 > len(sound) else [*sound]
    moments, named = [made[time] for time in same], [made[time] - after_ms[time] for time in same]
    latest = max((seen[time][1] - _EARLY_MS for time in same), default=0)
    # Requests that have waited for rollbacks are late, too, but no closer to each other than their names.
    if _spread(moments) < min(_LATE_MS, _spread(named) / 2) and latest > _SOON_MS:
        return NotKept(everything, f"the files of {len(moments):,} requests were made at one moment")
    odd_ones = {time for time, delay in after_ms.items() if abs(delay - usual * _QUARTER_MS) > _LONGEST_MS}
    odd_ones |= {time for time, at_ms in made.items() if ended[time] < at_ms}
    return NotKept(frozenset(odd_ones)) if odd_ones else None


def _spread(times_ms: Collection[int]) -> int:
    return max(times_ms, default=0) - min(times_ms, default=0)


def _agreed(zones: Counter[int]) -> tuple[int, int]:
    """How many requests show the same zone, or two zones that daylight saving time makes of one; and the zone that most
    of them show."""
    (first, agreed), (second, others) = (*zones.most_common(2), (0, 0), (0, 0))[:2]
    # One alone may be a copy's: of hourly commits, each shows another zone.
    return agreed + (others if others > 1 and abs(first - second) in _SAVINGS else 0), first


def _begun_ms(time: str) -> int | None:
    """An instant time as if it were in UTC; None if it is no date."""
    moment = parse_time(time, timezone.utc)
    return None if moment is None or moment.year <= 1970 else round(moment.timestamp() * 1000)
