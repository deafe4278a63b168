"""Whether writers are alive: when each last did something, and who may be writing."""

from collections.abc import Mapping

from hudictl.formats import instants as fmt
from hudictl.formats.instants import (
    COMPACTION,
    Instant,
    State,
)
from hudictl.state.facts import Facts, Signs
from hudictl.state.services import service_of
from hudictl.table.markers import last_marker_ms
from hudictl.table.table import Table
from hudictl.table.timeline import (
    Timeline,
)


def at_work_beside(table: Table, timeline: Timeline, target: str) -> list[Instant]:
    """The pending writes beside the target that may be at work, so that they write into the metadata table; a table
    service that is only scheduled is not."""
    pending = [entry for entry in timeline.writes() if entry.pending and entry.time != target]
    return [entry for entry in pending if entry.state is State.INFLIGHT or service_of(table, entry) is None]


def may_be_writing(table: Table, signs: Signs, target: str) -> bool:
    """Whether another pending write may be at work: each whose heartbeat has not expired."""
    dead = {beat.time for beat in signs.heartbeats if not beat.live}
    return any(entry.time not in dead for entry in at_work_beside(table, signs.timeline, target))


def at_work(timeline: Timeline) -> list[Instant]:
    """Pending writes; a table service that is only scheduled has nothing to complete yet."""
    return [
        entry
        for entry in timeline.writes()
        if entry.pending and not (entry.action in fmt.PENDING_ONLY and entry.state is State.REQUESTED)
    ]


def newest_files(facts: Facts) -> dict[str, int]:
    """When each instant last wrote a data file, as far as names tell: below table version 8 a log carries the name of
    the slice that it lies on, which may be a pending compaction's, and that writes base files only."""
    compactions = {entry.time for entry in facts.timeline.having(COMPACTION)}
    newest: dict[str, int] = {}
    for file in facts.sweep.files:
        if not file.data.is_base and file.data.instant in compactions:
            continue
        newest[file.data.instant] = max(newest.get(file.data.instant, 0), file.modified_ms)
    return newest


DEFAULT_IDLE_MS = 10 * 60 * 1000
"""A pending write without heartbeat that changed less than this ago counts as running."""


def last_sign_ms(table: Table, signs: Signs, instant: Instant | None) -> int:
    """When a write last showed that it lives: by its files on the timeline, its markers, its heartbeat; 0 if never."""
    if instant is None:
        return 0
    beats = (beat.modified_ms for beat in signs.heartbeats if beat.time == instant.time)
    changed = (signs.timeline.modified_ms[file.name] for file in instant.files)
    return max(*beats, *changed, last_marker_ms(table, instant.time))


def quiet_ms(table: Table, signs: Signs, instant: Instant, newest_file_ms: Mapping[str, int]) -> int:
    """Milliseconds since a pending write has changed its files on the timeline, its markers or its data files."""
    last_ms = max(last_marker_ms(table, instant.time), newest_file_ms.get(instant.time, 0))
    return min(signs.timeline.idle_ms(instant, signs.now_ms), signs.now_ms - last_ms)
