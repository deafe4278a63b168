"""Heartbeats compared with the timeline: which writers are alive, and which heartbeats are leftovers."""

from dataclasses import dataclass

from hudictl.formats.instants import utc_text_of_ms
from hudictl.table.clock import StorageClock, storage_now_ms
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline
from hudictl.table.writers.heartbeats import Heartbeat, list_heartbeats

LIVE = "live"
UNKNOWN = "unknown"
EXPIRED = "expired"
STALE = "stale"


@dataclass(frozen=True)
class HeartbeatRow:
    """A heartbeat.

    ``misses`` is the number of missed beats, one each ``interval_ms``. ``assumed``: nobody has specified the writers'
    interval. ``state`` is live; unknown, if it is live or expired by the writers' settings; expired, if its instant is
    pending; or stale, if its instant is completed or no longer exists. ``action`` and ``instant_state`` are the
    instant's, None if it is not on the active timeline.
    """

    instant: str
    state: str
    last_beat_utc: str | None
    age_ms: int
    interval_ms: int
    misses: int
    assumed: bool
    action: str | None
    instant_state: str | None


def heartbeat_rows(table: Table, clock: StorageClock | None, timeline: Timeline | None = None) -> list[HeartbeatRow]:
    """All heartbeats, by instant time. The timeline is read first: a later heartbeat is not a leftover.

    Args:
        timeline: if it is loaded already.
    """
    timeline = timeline or load_timeline(table)
    beats = list_heartbeats(table, storage_now_ms(clock))
    return [heartbeat_row(table, timeline, beat) for beat in beats]


def heartbeat_row(table: Table, timeline: Timeline, beat: Heartbeat) -> HeartbeatRow:
    instant = timeline.at(beat.time)
    pending = instant is not None and instant.pending
    age_ms, rule = max(0, beat.age_ms), table.heartbeat_rule
    state = EXPIRED if pending else STALE
    if beat.live and (pending or not beat.doubtful):
        state = UNKNOWN if beat.doubtful else LIVE
    return HeartbeatRow(
        beat.time,
        state,
        utc_text_of_ms(beat.modified_ms),
        age_ms,
        rule.interval_ms,
        age_ms // rule.interval_ms,
        rule.assumed,
        instant.action if instant else None,
        instant.state.name if instant else None,
    )
