"""The zone of a table's writers, as the modification times of their instants' files tell it.

An instant time is the face of its writer's clock, in a zone that the table does not name where its timeline is LOCAL;
the file that carries it is made at that moment. The two together tell the zone's offset from UTC.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo

from hudictl.formats.instants import CLEAN, INDEXING, WRITE_ACTIONS, Instant, State, parse_time
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline

# Zones differ by quarters of an hour, by 26 hours at most.
_QUARTER_MS = 15 * 60 * 1000
_FARTHEST = 26 * 4
# A writer takes its time and then, perhaps after the rollback of a failed write, makes the file; clocks differ a bit,
# and many stores tell whole seconds.
_LATE_MS = 120_000
_EARLY_MS = 10_000
_SOON_MS = 10_000
_NEWEST = 5
_FIRST_YEAR = 1970


@dataclass(frozen=True)
class ZoneSeen:
    """What recent instants say of their writers' zone.

    ``ahead`` is how far the clock face of the table's zone, as hudictl was told or assumes it, is before theirs;
    ``offset`` is theirs from UTC, as of the newest of the ``instants`` that say so.
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
    """One instant's word: by how many quarters the writers' zone is ahead of the table's, how long after its time its
    files were made at the latest, and when the last one was."""

    time: str
    quarters: int
    late_ms: int
    modified_ms: int


def zone_seen(timeline: Timeline, zone: tzinfo | None) -> ZoneSeen | None:
    """What the newest writes say of their zone; None where nothing can be told.

    Most of them must say the same, and none another thing. A copy gives all files nearly the same modification time, at
    any distance from their instants: what files of one moment say counts only where it is exact.

    Args:
        zone: that is compared with; None is this host's, with its changes over the year.
    """
    writes = [entry for entry in timeline.instants if entry.action in WRITE_ACTIONS | {CLEAN, INDEXING}]
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


def compared_zone(table: Table) -> tzinfo | None:
    """The table's zone as ``zone_seen`` wants it: that of a host is not its offset of today."""
    return table.zone if table.zone_known else None


def _sight(timeline: Timeline, instant: Instant, zone: tzinfo | None) -> _Sight | None:
    """None where its files say nothing, or not all the same."""
    words = [_word(text, modified_ms, zone) for text, modified_ms in _pairs(timeline, instant)]
    known = [word for word in words if word is not None]
    if not known or len(known) < len(words) or len({quarters for quarters, _ in known}) > 1:
        return None
    modified_ms = max(modified_ms for _, modified_ms in _pairs(timeline, instant))
    return _Sight(instant.time, known[0][0], max(late_ms for _, late_ms in known), modified_ms)


def _pairs(timeline: Timeline, instant: Instant) -> Iterator[tuple[str, int]]:
    """The times that an instant's files carry, with the moments at which these were made."""
    for file in instant.files:
        if file.state is State.REQUESTED:
            yield instant.time, timeline.modified_ms[file.name]
        elif file.completion_time is not None and f"_{file.completion_time}." in file.name:
            yield file.completion_time, timeline.modified_ms[file.name]


def _word(text: str, modified_ms: int, zone: tzinfo | None) -> tuple[int, int] | None:
    """By how many quarters the writer's zone is ahead, and how many milliseconds late the file was made; None where it
    was made at another time than the text says in any zone."""
    moment = parse_time(text, timezone.utc)
    if moment is None or not _FIRST_YEAR < moment.year < datetime.max.year:
        return None
    found = []
    # In the hour that comes twice a year either is meant.
    for fold in (0, 1):
        meant_ms = int(moment.replace(tzinfo=zone, fold=fold).timestamp() * 1000)
        quarters = (meant_ms - modified_ms + _LATE_MS) // _QUARTER_MS
        found.append((quarters, modified_ms - meant_ms + quarters * _QUARTER_MS))
    quarters, late_ms = min(found, key=lambda word: abs(word[0]))
    return (quarters, late_ms) if late_ms >= -_EARLY_MS and abs(quarters) <= _FARTHEST else None
