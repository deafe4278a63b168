"""The time zone of a table's writers, from the modification times of their instants' files.

An instant time is the local time of its writer. If the timeline's zone is LOCAL, the table does not say which zone this
is. The instant's file is created at that moment: the difference is the zone's offset from UTC.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo

from hudictl.formats.instants import BOOTSTRAPS, CLEAN, INDEXING, WRITE_ACTIONS, Instant, State, parse_time
from hudictl.table.timeline.active import Timeline

# Zones differ by quarters of an hour, by 26 hours at most.
_QUARTER_MS = 15 * 60 * 1000
_FARTHEST = 26 * 4
# A writer generates its instant time first, and creates the file later, perhaps after the rollback of a failed write.
# Clocks differ a little, and many stores report whole seconds.
_LATE_MS = 120_000
_EARLY_MS = 10_000
_SOON_MS = 10_000
_NEWEST = 5
_FIRST_YEAR = 1970


@dataclass(frozen=True)
class ZoneSeen:
    """The zone of the writers, by recent instants.

    ``ahead`` is how far the table's zone, as specified or assumed, is ahead of the writers' zone. ``offset`` is the
    writers' offset from UTC, at the newest of the ``instants`` that show it.
    """

    ahead: timedelta
    offset: timedelta
    instants: tuple[str, ...]

    @property
    def offset_text(self) -> str:
        """As UTC+05:45."""
        # Python's own name of such a zone is UTC alone where there is no offset.
        return str(timezone(self.offset)) if self.offset else "UTC+00:00"


@dataclass(frozen=True)
class _Sight:
    """What one instant shows: by how many quarters of an hour the writers' zone is ahead of the table's, the longest
    delay between a time and its file, and when the last file was created."""

    time: str
    quarters: int
    late_ms: int
    modified_ms: int


def zone_seen(timeline: Timeline, zone: tzinfo | None) -> ZoneSeen | None:
    """The zone by the newest writes; None if it cannot be determined.

    Most of them must show the same zone, and none another one. In a copied table all files have nearly the same
    modification time, unrelated to their instants: files of one moment count only if they match exactly.

    Args:
        zone: the zone to compare with; None is this host's zone, with its daylight saving time.
    """
    actions = WRITE_ACTIONS | {CLEAN, INDEXING}
    writes = [entry for entry in timeline.instants if entry.action in actions and entry.time not in BOOTSTRAPS]
    newest = sorted(writes, key=lambda entry: max(timeline.modified_ms[file.name] for file in entry.files))[-_NEWEST:]
    seen = [sight for entry in newest if (sight := _sight(timeline, entry, zone)) is not None]
    if len(seen) * 2 <= len(newest) or len({sight.quarters for sight in seen}) > 1:
        return None
    moments = [sight.modified_ms for sight in seen]
    if max(moments) - min(moments) < _LATE_MS and max(sight.late_ms for sight in seen) > _SOON_MS:
        return None
    last = max(seen, key=lambda sight: sight.modified_ms)
    ahead = timedelta(milliseconds=-last.quarters * _QUARTER_MS)
    here = datetime.fromtimestamp(last.modified_ms / 1000, timezone.utc).astimezone(zone).utcoffset() or timedelta()
    return ZoneSeen(ahead, here - ahead, tuple(sorted(sight.time for sight in seen)))


def _sight(timeline: Timeline, instant: Instant, zone: tzinfo | None) -> _Sight | None:
    """None if its files show no zone, or different ones."""
    words = [_word(text, modified_ms, zone) for text, modified_ms in _pairs(timeline, instant)]
    known = [word for word in words if word is not None]
    if not known or len(known) < len(words) or len({quarters for quarters, _ in known}) > 1:
        return None
    modified_ms = max(modified_ms for _, modified_ms in _pairs(timeline, instant))
    return _Sight(instant.time, known[0][0], max(late_ms for _, late_ms in known), modified_ms)


def _pairs(timeline: Timeline, instant: Instant) -> Iterator[tuple[str, int]]:
    """The times in the names of an instant's files, with the moments at which the files were created."""
    for file in instant.files:
        if file.state is State.REQUESTED:
            yield instant.time, timeline.modified_ms[file.name]
        elif file.completion_time is not None and f"_{file.completion_time}." in file.name:
            yield file.completion_time, timeline.modified_ms[file.name]


def _word(text: str, modified_ms: int, zone: tzinfo | None) -> tuple[int, int] | None:
    """By how many quarters of an hour the writer's zone is ahead, and the file's delay in milliseconds; None if the
    file's moment does not match the text in any zone."""
    moment = parse_time(text, timezone.utc)
    if moment is None or not _FIRST_YEAR < moment.year < datetime.max.year:
        return None
    found = []
    # By the offset at the file's moment, not at the time in its name: that time may not exist in this zone, or be on
    # the other side of a change of its clocks. The change may also be between the two.
    for at_ms in (modified_ms, modified_ms - _LATE_MS):
        offset = datetime.fromtimestamp(at_ms / 1000, timezone.utc).astimezone(zone).utcoffset() or timedelta()
        meant_ms = int((moment - offset).timestamp() * 1000)
        quarters = (meant_ms - modified_ms + _LATE_MS) // _QUARTER_MS
        found.append((quarters, modified_ms - meant_ms + quarters * _QUARTER_MS))
    quarters, late_ms = min(found, key=lambda word: abs(word[0]))
    return (quarters, late_ms) if late_ms >= -_EARLY_MS and abs(quarters) <= _FARTHEST else None
