"""Pending writes, and which of them failed."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from hudictl.engine.local import LocalEngine
from hudictl.errors import Unreadable
from hudictl.formats.instants import (
    BOOTSTRAPS,
    CLUSTERING,
    COMMIT,
    COMPACTION,
    DELTACOMMIT,
    LOGCOMPACTION,
    PENDING_ONLY,
    REPLACECOMMIT,
    Instant,
    State,
)
from hudictl.phrases import command_of, span
from hudictl.state.facts import Signs
from hudictl.state.pending import PendingRestore, PendingRollback, find_restores, find_rollbacks
from hudictl.state.timeline.lost_plans import has_lost_plan, remedy_of_lost_plan
from hudictl.state.timeline.remedy import Remedy
from hudictl.state.timeline.targets import BOOTSTRAP_AGAIN
from hudictl.state.timeline.unfinished import eager_cleaning_fails, remedy_of_restore, rollback_of
from hudictl.state.writers.activity import Traces, find_traces
from hudictl.table.clock import StorageClock, storage_now_ms
from hudictl.table.files.sweep import Sweep, sweep
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline
from hudictl.table.timeline.commits import read_commit, read_requested_replace
from hudictl.table.writers.heartbeats import Heartbeat, list_heartbeats
from hudictl.table.writers.markers import MarkerFolder, look_at_markers

FAILED_WRITE = "failed-write"
"""The name of the finding."""
RUNNING = "running"
FAILED = "failed"
UNKNOWN = "unknown"

_OPERATIONS = {COMPACTION: "COMPACT", LOGCOMPACTION: "LOG_COMPACT"}


@dataclass(frozen=True)
class PendingWrite:
    """A write that is not completed, what it left, and whether it failed.

    ``verdict`` is running, failed or unknown; ``reason`` says why. ``action`` is as on disk: below table version 8 a
    clustering is a replacecommit. ``operation`` is Hudi's enum name. ``heartbeat`` is live,
    unknown (live or expired, by the writers' settings), expired or none.
    ``idle_ms`` is the time since the last change of its instant files, markers and data files; ``age_ms`` is the time
    since its first instant file. ``files`` and ``bytes`` are its own data files. ``appended_logs`` are logs of other
    instants to which it has appended (table version 6). ``rollback`` and ``restore`` are pending ones that remove it.
    ``remedy`` ends it; it is empty for a bootstrap, and while the write runs or may run.
    ``writers_can_start`` is false if the rollback by Hudi's writers fails each time (0.15.0 to 1.2.0): the metadata
    table was compacted after this write, for example because the write's completed file was lost; the request of a
    replacecommit cannot be read, on which readers fail, too; or it is a bootstrap (1.0.2, 1.2.0). ``eager_only``: only
    writers with eager cleaning of failed writes cannot start, as later commits are completed (0.15.0 to 1.2.0).
    """

    instant: str
    verdict: str
    action: str
    state: str
    operation: str
    heartbeat: str
    idle_ms: int
    markers: int
    files: int
    bytes: int
    appended_logs: int
    clustering: bool
    age_ms: int
    heartbeat_age_ms: int | None
    marker_type: str | None
    markers_partial: str
    rollback: str | None
    restore: str | None
    reason: str
    remedy: tuple[Remedy, ...]
    writers_can_start: bool
    eager_only: bool = False

    @property
    def name(self) -> str:
        """The instant as ``check`` and ``table show`` print it."""
        return f"{self.instant} {self.action} {self.state}"

    @property
    def abandoned(self) -> bool:
        """Whether its writer died or had no activity for long, and no pending operation removes it."""
        return (bool(self.remedy) or self.verdict == FAILED) and self.rollback is None and self.restore is None


@dataclass(frozen=True)
class _Write:
    """A pending write by its own files. ``problem`` is why its request cannot be read; ``unclear``: only that would
    tell whether it is a clustering."""

    instant: Instant
    operation: str
    clustering: bool
    markers: MarkerFolder | None
    problem: str
    unclear: bool

    @property
    def is_service(self) -> bool:
        return self.clustering or self.instant.action in PENDING_ONLY

    @property
    def begun(self) -> bool:
        """False for a table service that is only scheduled: it cannot have failed yet."""
        return not self.is_service or self.instant.state is not State.REQUESTED


@dataclass(frozen=True)
class _Look:
    """The table at one moment. ``restores`` and ``rollbacks`` are the pending ones, by the instants that they remove.
    ``compacted`` are the instants in the metadata table's last compaction, with its time."""

    table: Table
    signs: Signs
    left: Mapping[Instant, Traces]
    restores: Mapping[str, PendingRestore]
    rollbacks: Mapping[str, PendingRollback]
    beats: Mapping[str, Heartbeat]
    compacted: Mapping[str, str]


def pending_writes(table: Table, idle_ms: int, clock: StorageClock | None) -> list[PendingWrite]:
    """The pending writes, oldest first; table services only once they have begun.

    Heartbeats are read after the timeline and after all slow reads. A writer beats before its first instant file and
    until after its last, so a running writer has a fresh heartbeat. Then the timeline is read again: a write that
    completed meanwhile has no heartbeat any more, and is left out, as in Hudi's lazy cleaning. In the other order, a
    writer that paused and then beat again would look dead.

    Args:
        idle_ms: a write without heartbeat counts as active if its last activity is less than this ago.
        clock: the storage's clock; None for this host's.

    Raises:
        Unreadable: the timeline, or the plan of a pending restore.
        StorageFailed.
    """
    timeline = load_timeline(table)
    writes = _begun(table, timeline)
    if not writes:
        return []
    named = {marker.partition for write in writes if write.markers for marker in write.markers.markers}
    found = sweep(table, LocalEngine(), named)
    restores = find_restores(table, timeline)
    rollbacks: tuple[PendingRollback, ...] = ()
    with suppress(Unreadable):
        # The plan of a completed restore no longer affects writes.
        rollbacks = find_rollbacks(table, timeline)
    now_ms = storage_now_ms(clock)
    signs = Signs(timeline, restores, rollbacks, tuple(list_heartbeats(table, now_ms)), (), now_ms)
    look = _look(table, signs, writes, found)
    pending = {entry.time for entry in load_timeline(table).writes() if entry.pending}
    return [_row(look, write, idle_ms) for write in writes if write.instant.time in pending]


def pending_writes_seen(table: Table, signs: Signs, idle_ms: int, found: Sweep | None) -> list[PendingWrite]:
    """The same from facts that were read already. Without a listing, only the timeline, markers and heartbeats show
    when a write was active."""
    writes = _begun(table, signs.timeline)
    look = _look(table, signs, writes, found)
    return [_row(look, write, idle_ms) for write in writes]


def _begun(table: Table, timeline: Timeline) -> list[_Write]:
    read = (_read(table, entry) for entry in timeline.writes() if entry.pending)
    return [write for write in read if write.begun]


def _read(table: Table, instant: Instant) -> _Write:
    problem = ""
    clustering = instant.action == CLUSTERING
    if instant.action == REPLACECOMMIT:
        try:
            clustering = read_requested_replace(table, instant).is_clustering
        except Unreadable as error:
            problem = error.message
    operation = "CLUSTER" if clustering else _OPERATIONS.get(instant.action, "")
    if not operation:
        try:
            operation = read_commit(table, instant).operation
        except Unreadable:
            # Its writer may have died while writing this file: the write still counts as failed.
            operation = "UNKNOWN"
    unclear = bool(problem) and not table.rules.clusterings_are_named
    return _Write(instant, operation, clustering, look_at_markers(table, instant.time), problem, unclear)


def _look(table: Table, signs: Signs, writes: Sequence[_Write], found: Sweep | None) -> _Look:
    return _Look(
        table,
        signs,
        find_traces(table, signs.timeline, {write.instant: write.markers for write in writes}, found),
        {time: restore for restore in signs.restores for time in restore.instants},
        {rollback.target: rollback for rollback in signs.live_rollbacks if rollback.target},
        {beat.time: beat for beat in signs.heartbeats},
        _compacted(table) if writes else {},
    )


def _compacted(table: Table) -> dict[str, str]:
    """The instants whose delta commits are in the metadata table's last compaction, with that compaction's time."""
    with suppress(Unreadable):
        metadata = open_metadata_table(table) if table.metadata_partitions else None
        if metadata is not None:
            timeline = load_timeline(metadata)
            last = max((entry.time for entry in timeline.having(COMMIT) if entry.completed), default="")
            return {entry.time: last for entry in timeline.having(DELTACOMMIT) if entry.time <= last}
    return {}


def _row(look: _Look, write: _Write, idle_ms: int) -> PendingWrite:
    time = write.instant.time
    left = look.left[write.instant]
    silent_ms = max(0, look.signs.now_ms - left.changed_ms)
    began_ms = min(look.signs.timeline.modified_ms[file.name] for file in write.instant.files)
    beat = look.beats.get(time)
    restore, rollback = look.restores.get(time), look.rollbacks.get(time)
    compacted, bootstrap = look.compacted.get(time), time in BOOTSTRAPS and look.table.rules.has_completion_times
    ended = restore is not None or rollback is not None
    eager_fails = not ended and beat is None and eager_cleaning_fails(look.signs, time)
    verdict, reason = _verdict(write, beat, restore, silent_ms, idle_ms, _fate(write, compacted, rollback, eager_fails))
    if compacted:
        reason += f"; Hudi cannot roll it back: the metadata table was compacted later, at {compacted}"
    can_start = compacted is None and not write.problem and not bootstrap
    # One that may be running stops nobody yet.
    eager_only = can_start and eager_fails and silent_ms >= idle_ms and not (write.is_service or write.unclear)
    if eager_only:
        reason += "; later commits are completed"
    if write.problem:
        reason += f"; Hudi's readers and writers fail on its request: {write.problem}"
    return PendingWrite(
        instant=time,
        verdict=verdict,
        action=write.instant.action,
        state=write.instant.state.name,
        operation=write.operation,
        heartbeat=_beat_state(beat),
        idle_ms=silent_ms,
        markers=len(write.markers.markers) if write.markers else 0,
        files=len(left.own),
        bytes=sum(file.size or 0 for file in left.own),
        appended_logs=len(left.appended),
        clustering=write.clustering,
        age_ms=max(0, look.signs.now_ms - began_ms),
        heartbeat_age_ms=max(0, beat.age_ms) if beat else None,
        marker_type=write.markers.type if write.markers else None,
        markers_partial=write.markers.partial if write.markers else "",
        rollback=rollback.instant.time if rollback else None,
        restore=restore.instant.time if restore else None,
        reason=f"{reason}; its rollback {rollback.instant.time} is pending" if rollback else reason,
        remedy=_remedy(look, write, verdict, silent=silent_ms >= idle_ms),
        writers_can_start=can_start and not eager_only,
        eager_only=eager_only,
    )


def _beat_state(beat: Heartbeat | None) -> str:
    if beat is None:
        return "none"
    return "unknown" if beat.doubtful else "live" if beat.live else "expired"


def _remedy(look: _Look, write: _Write, verdict: str, *, silent: bool) -> tuple[Remedy, ...]:
    """The commands that end a pending write; none while it runs, or may run."""
    time = write.instant.time
    restore, rollback, beat = look.restores.get(time), look.rollbacks.get(time), look.beats.get(time)
    if verdict == RUNNING or (beat is not None and beat.doubtful and restore is None and rollback is None):
        return ()
    if restore is not None:
        return remedy_of_restore(look.table, restore)
    if rollback is not None:
        return rollback_of(look.table, look.signs, rollback)
    if time in BOOTSTRAPS or not (beat or silent):
        return ()

    if has_lost_plan(look.table, look.signs.timeline, write.instant):
        return remedy_of_lost_plan(look.table, write.instant)
    return (_removal(look, write),)


def _removal(look: _Look, write: _Write) -> Remedy:
    """The command that removes an abandoned write."""
    time, gone = write.instant.time, "its files are deleted"
    if write.is_service and write.instant.action != LOGCOMPACTION:
        kept = "its plan is kept for the next run"
        return Remedy(command_of("rollback", time, options=["--keep-plan"]), f"{gone}; {kept}")
    if write.is_service:
        return Remedy(command_of("rollback", time), "its files and its plan are deleted")
    if time in look.beats:
        return Remedy("hudictl failed-writes clean", gone)
    if any(other.live for other in look.beats.values()):
        # The table's writers have heartbeats: --policy eager is refused.
        return Remedy(command_of("rollback", time), gone)
    return Remedy("hudictl failed-writes clean --policy eager", gone)


def _fate(write: _Write, compacted: str | None, rollback: PendingRollback | None, eager_fails: bool) -> str:
    """What the next run of a table service does with it, and what follows."""
    log_compaction = write.instant.action == LOGCOMPACTION
    if compacted or (log_compaction and rollback is not None):
        return ""
    fate = ": its next run rolls it back"
    if log_compaction and eager_fails:
        fate += "; with eager cleaning of failed writes it fails, as later commits are completed, and then no writer "
        fate += "can start"
    return fate


def _verdict(
    write: _Write,
    beat: Heartbeat | None,
    restore: PendingRestore | None,
    silent_ms: int,
    idle_ms: int,
    fate: str,
) -> tuple[str, str]:
    """The verdict and its reason. ``fate`` is what becomes of a table service."""
    if beat is not None and beat.live and not beat.doubtful:
        return RUNNING, "its heartbeat is live"
    if restore is not None:
        return UNKNOWN, f"not a failed write: the pending restore {restore.instant.time} removes it"
    if write.unclear:
        return UNKNOWN, "a write, or a clustering"
    if beat is not None and beat.doubtful:
        unproved = "the writers' heartbeat settings are not known (--interval, --misses)"
        return UNKNOWN, f"its last heartbeat was {span(beat.age_ms)} ago, and {unproved}: it may be running"
    if write.instant.time in BOOTSTRAPS and (beat is not None or silent_ms >= idle_ms):
        said = f"a bootstrap without activity for {span(silent_ms)}: Hudi's next write removes all of it, or fails"
        return FAILED, f"{said}; if it has died, {BOOTSTRAP_AGAIN}"
    if write.is_service:
        return UNKNOWN, f"a table service{fate}; no activity for {span(silent_ms)}"
    if beat is not None:
        return FAILED, f"its heartbeat expired: the last one was {span(beat.age_ms)} ago"
    if silent_ms < idle_ms:
        return UNKNOWN, f"no heartbeat, but activity {span(silent_ms)} ago: it may be running"
    inactive = f"no activity for {span(silent_ms)}"
    return UNKNOWN, f"no heartbeat (eager cleaning, or the writer died before its first one); {inactive}"
