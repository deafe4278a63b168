"""Whether writers are alive: the last activity of each, and which ones may be writing."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from hudictl.formats import instants as fmt
from hudictl.formats.instants import COMPACTION, Instant, State
from hudictl.formats.markers import APPEND
from hudictl.state.facts import Signs
from hudictl.state.timeline.service_plans import service_of
from hudictl.table.files.choose import is_trace
from hudictl.table.files.slices import StoredFile
from hudictl.table.files.sweep import Sweep
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline
from hudictl.table.writers.markers import MarkerFolder, last_marker_ms, look_at_markers

Marked = Mapping[Instant, MarkerFolder | None]
"""Pending writes with their marker folders."""

DEFAULT_IDLE_MS = 10 * 60 * 1000
"""A pending write without heartbeat counts as running if its last activity is less than this ago."""


def at_work_beside(table: Table, timeline: Timeline, target: str) -> list[Instant]:
    """The pending writes, other than the target, that may be running and writing into the metadata table; a table
    service that is only scheduled is not running."""
    pending = [entry for entry in timeline.writes() if entry.pending and entry.time != target]
    return [entry for entry in pending if entry.state is State.INFLIGHT or service_of(table, entry) is None]


def may_be_writing(table: Table, signs: Signs, targets: Collection[str]) -> bool:
    """Whether another pending write than some may be running: any whose heartbeat has not expired."""
    dead = {beat.time for beat in signs.heartbeats if not beat.live}
    return any(entry.time not in dead for entry in at_work_beside(table, signs.timeline.without(targets), ""))


def at_work(timeline: Timeline) -> list[Instant]:
    """Pending writes, without table services that are only scheduled: these have nothing to complete yet."""
    return [
        entry
        for entry in timeline.writes()
        if entry.pending and not (entry.action in fmt.PENDING_ONLY and entry.state is State.REQUESTED)
    ]


@dataclass(frozen=True)
class Traces:
    """What a pending write has left.

    ``own`` are the data files that carry its name. ``appended`` are logs of other instants to which it has appended, by
    its markers (below table version 8). ``changed_ms`` is its last activity: the last change of these files, its
    markers and its files on the timeline.
    """

    own: tuple[StoredFile, ...]
    appended: tuple[StoredFile, ...]
    changed_ms: int


def find_traces(table: Table, timeline: Timeline, marked: Marked, found: Sweep | None) -> dict[Instant, Traces]:
    """The traces of some pending writes among the data files of a listing, if there is one.

    Raises StorageFailed, EngineFailed.
    """
    if not marked:
        return {}
    own: dict[str, list[StoredFile]] = {instant.time: [] for instant in marked}
    logs: dict[tuple[str, str], list[StoredFile]] = {key: [] for folder in marked.values() for key in _appends(folder)}
    traces = partial(is_trace, frozenset(own), frozenset(logs))
    for file in found.select("look for traces of writes", traces, None if logs else own) if found is not None else ():
        if file.data.instant in own:
            own[file.data.instant].append(file)
        if (file.partition, file.data.name) in logs:
            logs[file.partition, file.data.name].append(file)

    left = {}
    for instant, folder in marked.items():
        mine = [file for file in own[instant.time] if file.data.is_base or not _lies_under_others(table, instant)]
        added = [file for key in _appends(folder) for file in logs[key] if file.data.instant != instant.time]
        changed_ms = _changed_ms(timeline, instant, folder.modified_ms if folder else 0, (*mine, *added))
        left[instant] = Traces(tuple(mine), tuple(added), changed_ms)
    return left


def _appends(folder: MarkerFolder | None) -> dict[tuple[str, str], None]:
    """The logs to which a write may have appended: partition path and file name."""
    markers = folder.markers if folder else ()
    return {(marker.partition, marker.name): None for marker in markers if marker.kind == APPEND}


def read_marked(table: Table, instants: Iterable[Instant]) -> Marked:
    """Some instants with their marker folders."""
    return {instant: look_at_markers(table, instant.time) for instant in instants}


def last_sign_ms(table: Table, signs: Signs, instant: Instant | None) -> int:
    """The last activity of a write without a listing of data files: by its files on the timeline, its markers and its
    heartbeat; 0 if there is none."""
    if instant is None:
        return 0
    beat = signs.beats.get(instant.time)
    changed_ms = _changed_ms(signs.timeline, instant, last_marker_ms(table, instant.time), ())
    return max(changed_ms, beat.modified_ms) if beat else changed_ms


def _changed_ms(timeline: Timeline, instant: Instant, marked_ms: int, files: Iterable[StoredFile]) -> int:
    """The last activity of a write; the only place where it is computed."""
    published = (timeline.modified_ms[file.name] for file in instant.files)
    return max(marked_ms, *published, *(file.modified_ms for file in files))


def _lies_under_others(table: Table, instant: Instant) -> bool:
    """Whether the logs with its name are those of later writes: below table version 8 these are in the slice that a
    pending compaction has opened."""
    return instant.action == COMPACTION and not table.rules.logs_named_by_writer
