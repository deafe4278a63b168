"""Whether writers are alive: when each last did something, and who may be writing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hudictl.formats import instants as fmt
from hudictl.formats.instants import COMPACTION, Instant, State
from hudictl.formats.markers import APPEND
from hudictl.state.facts import Signs
from hudictl.state.services import service_of
from hudictl.table.file_view import StoredFile
from hudictl.table.markers import MarkerFolder, last_marker_ms, look_at_markers
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline

Marked = Mapping[Instant, MarkerFolder | None]
"""Pending writes with their marker folders."""

DEFAULT_IDLE_MS = 10 * 60 * 1000
"""A pending write without heartbeat that changed less than this ago counts as running."""


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


@dataclass(frozen=True)
class Traces:
    """What a pending write has left.

    ``own`` are the data files that carry its name, ``appended`` the logs of others that it has added to, as its markers
    tell (below table version 8). ``changed_ms`` is when any of these, its markers or its files on the timeline last
    changed: since then it is silent.
    """

    own: tuple[StoredFile, ...]
    appended: tuple[StoredFile, ...]
    changed_ms: int


def find_traces(table: Table, timeline: Timeline, marked: Marked, files: Iterable[StoredFile]) -> dict[Instant, Traces]:
    """The traces of some pending writes among the data files of a sweep, which is gone through once."""
    if not marked:
        return {}
    own: dict[str, list[StoredFile]] = {instant.time: [] for instant in marked}
    logs: dict[tuple[str, str], list[StoredFile]] = {key: [] for folder in marked.values() for key in _appends(folder)}
    for file in files:
        if file.data.instant in own:
            own[file.data.instant].append(file)
        if (file.partition, file.data.name) in logs:
            logs[file.partition, file.data.name].append(file)

    found = {}
    for instant, folder in marked.items():
        mine = [file for file in own[instant.time] if file.data.is_base or not _lies_under_others(table, instant)]
        added = [file for key in _appends(folder) for file in logs[key] if file.data.instant != instant.time]
        changed_ms = _changed_ms(timeline, instant, folder.modified_ms if folder else 0, (*mine, *added))
        found[instant] = Traces(tuple(mine), tuple(added), changed_ms)
    return found


def _appends(folder: MarkerFolder | None) -> dict[tuple[str, str], None]:
    """The logs that a write may have added to: partition path and file name."""
    markers = folder.markers if folder else ()
    return {(marker.partition, marker.name): None for marker in markers if marker.kind == APPEND}


def read_marked(table: Table, instants: Iterable[Instant]) -> Marked:
    """Some instants with their marker folders."""
    return {instant: look_at_markers(table, instant.time) for instant in instants}


def last_sign_ms(table: Table, signs: Signs, instant: Instant | None) -> int:
    """When a write last showed that it lives, as far as can be told without a listing of data files: by its files on
    the timeline, its markers, its heartbeat; 0 if never."""
    if instant is None:
        return 0
    beats = (beat.modified_ms for beat in signs.heartbeats if beat.time == instant.time)
    return max([_changed_ms(signs.timeline, instant, last_marker_ms(table, instant.time), ()), *beats])


def _changed_ms(timeline: Timeline, instant: Instant, marked_ms: int, files: Iterable[StoredFile]) -> int:
    """The one answer to when a write last did something."""
    published = (timeline.modified_ms[file.name] for file in instant.files)
    return max(marked_ms, *published, *(file.modified_ms for file in files))


def _lies_under_others(table: Table, instant: Instant) -> bool:
    """Whether the logs that carry its name are those of later writes: below table version 8 they lie on the slice that
    a pending compaction has opened."""
    return instant.action == COMPACTION and not table.rules.logs_named_by_writer
