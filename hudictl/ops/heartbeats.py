"""Heartbeats: whose writer lives, and those that nobody needs any more."""

from dataclasses import dataclass
from datetime import datetime, timezone

from hudictl.errors import Conflict, StorageFailed
from hudictl.formats.instants import utc_text
from hudictl.formats.layouts import HEARTBEATS
from hudictl.ops.guards import table as table_guards
from hudictl.ops.monitor import Monitor
from hudictl.table.clock import StorageClock, measure_clock, storage_now_ms
from hudictl.table.heartbeats import Heartbeat, HeartbeatRule, heartbeat_path, list_heartbeats
from hudictl.table.hold import hold
from hudictl.table.operations import Operation, recorded
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, instant_now, load_timeline

LIVE = "live"
EXPIRED = "expired"
STALE = "stale"


@dataclass(frozen=True)
class HeartbeatRow:
    """A heartbeat.

    ``misses`` are the beats that it has missed, at ``interval_ms`` each. ``state`` is live; expired, where its instant
    is pending; or stale, where that is completed or gone. ``action`` and ``instant_state`` are the instant's, None
    where it is not on the active timeline.
    """

    instant: str
    state: str
    last_beat_utc: str | None
    age_ms: int
    interval_ms: int
    misses: int
    action: str | None
    instant_state: str | None


def heartbeat_rows(table: Table, rule: HeartbeatRule, clock: StorageClock | None) -> list[HeartbeatRow]:
    """All heartbeats, by instant time. The timeline is read first: what beats after it is no leftover."""
    timeline = load_timeline(table)
    beats = list_heartbeats(table, storage_now_ms(clock), rule)
    return [_row(timeline, beat, rule) for beat in beats]


def plan_heartbeat_deletion(table: Table, instant: str, rule: HeartbeatRule) -> HeartbeatRow | None:
    """The heartbeat to delete; None where there is none.

    Raises:
        Conflict: it is live.
        Unsupported, Unreadable, StorageFailed.
    """
    table_guards.writable_table(table)
    clock = measure_clock(table.storage)
    timeline = load_timeline(table)
    table_guards.known_timeline(timeline)
    beats = {beat.time: beat for beat in list_heartbeats(table, storage_now_ms(clock), rule)}
    beat = beats.get(instant)
    if beat is not None and beat.live:
        raise Conflict(
            f"the heartbeat of {instant} is live: it is {max(0, beat.age_ms) // 1000} s old",
            hint=f"its writer is at work; without a beat it expires after {rule.limit_ms // 1000} s "
            "(--interval, --misses: as its writer has them)",
            instant=instant,
            age_ms=beat.age_ms,
        )
    return _row(timeline, beat, rule) if beat else None


def delete_heartbeat(table: Table, instant: str, rule: HeartbeatRule, monitor: Monitor, command: str) -> None:
    """Deletes an expired or stale heartbeat; one that is gone is no error. Raises as ``plan_heartbeat_deletion``."""
    with hold(table, command, monitor) as held:
        found = plan_heartbeat_deletion(table, instant, rule)
        if found is None:
            return

        def work() -> HeartbeatRow:
            held.check()
            (outcome,) = table.storage.delete([heartbeat_path(instant)])
            if outcome.error is not None:
                raise StorageFailed(f"cannot delete {outcome.path}: {outcome.error}", path=outcome.path)
            table.storage.sync(HEARTBEATS)
            return found

        operation = Operation(instant_now(table), "heartbeat delete", instant, {"state": found.state})
        recorded(table.storage, operation, command, work)


def _row(timeline: Timeline, beat: Heartbeat, rule: HeartbeatRule) -> HeartbeatRow:
    instant = timeline.at(beat.time)
    pending = instant is not None and instant.pending
    age_ms = max(0, beat.age_ms)
    return HeartbeatRow(
        beat.time,
        LIVE if beat.live else EXPIRED if pending else STALE,
        utc_text(datetime.fromtimestamp(beat.modified_ms / 1000, timezone.utc)),
        age_ms,
        rule.interval_ms,
        age_ms // rule.interval_ms,
        instant.action if instant else None,
        instant.state.name if instant else None,
    )
