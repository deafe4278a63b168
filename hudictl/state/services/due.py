"""Which table services are due by the writers' settings, and which instants stand in their way.

What a run of Hudi would do in detail is not foretold: its rules differ between releases. What is said here holds for
0.15.0, 1.0.2 and 1.2.0.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timezone

from hudictl.errors import Unreadable, UsageError
from hudictl.formats import clean
from hudictl.formats.instants import (
    CLEAN,
    CLUSTERING,
    COMMIT,
    COMMIT_ACTIONS,
    COMPACTION,
    DELTACOMMIT,
    REPLACECOMMIT,
    Instant,
    State,
    parse_time,
    time_plus_ms,
)
from hudictl.state.services.overdue import Kept
from hudictl.state.timeline.remedy import Remedy
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.rules import Rules
from hudictl.table.settings import (
    ARCHIVE_BEYOND_SAVEPOINT,
    CLEAN_COMMITS,
    CLEAN_HOURS,
    CLEAN_POLICY,
    CLEAN_TRIGGER,
    CLEAN_VERSIONS,
    COMPACT_COMMITS,
    COMPACT_SECONDS,
    COMPACT_TRIGGER,
    CONCURRENCY,
    FAILED_WRITES_POLICY,
    KEEP_MAX,
    KEEP_MIN,
    METADATA_ENABLE,
    Setting,
    Settings,
    Used,
)
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, instant_now, load_timeline, read_instant

ARCHIVE = "archive"
CLEANING = "clean"
COMPACT = "compaction"

SAVEPOINT = "savepoint"
PENDING = "pending"
UNCOMPACTED = "uncompacted"
UNCLEANED = "uncleaned"
METADATA = "metadata-table"
MANIFEST = "manifest"

_BY_COMMITS = "KEEP_LATEST_COMMITS"
_BY_HOURS = "KEEP_LATEST_BY_HOURS"
_KEPT = {_BY_COMMITS: CLEAN_COMMITS, _BY_HOURS: CLEAN_HOURS}
_AFTER_REQUEST = "NUM_COMMITS_AFTER_LAST_REQUEST"
_BY_TIME = "TIME_ELAPSED"
_EITHER = "NUM_OR_TIME"
_BOTH = "NUM_AND_TIME"
_HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Blocker:
    """A reason why a service cannot do more. ``kind`` is one of the words above, ``instant`` the time of the blocking
    instant ("" without one). ``remedy`` are the commands that end it, if there are any."""

    kind: str
    instant: str
    because: str
    remedy: tuple[Remedy, ...] = ()


@dataclass(frozen=True)
class Due:
    """Whether a table service is due, and what blocks it.

    ``counted`` instants (``counts`` says which) are compared with ``threshold``. ``due``: it has work to do, if nothing
    blocks it. ``behind``: it has missed a whole round of its work, or cannot do enough of it; None for cleaning, where
    only data files show this.
    """

    service: str
    counts: str
    counted: int
    threshold: int
    due: bool
    behind: bool | None
    blocks: tuple[Blocker, ...]
    settings: tuple[Used, ...]


@dataclass(frozen=True)
class LastClean:
    """The last completed clean: ``earliest`` as in its plan, ``last_commit`` the last commit when it was planned."""

    time: str
    earliest: str
    last_commit: str


def thresholds(service: str, settings: Settings) -> tuple[Setting, ...]:
    """The settings of a service that must be specified: they depend on its policy or strategy."""
    if service == ARCHIVE:
        return (KEEP_MIN, KEEP_MAX)
    if service == CLEANING:
        return (_KEPT.get(settings.word(CLEAN_POLICY), CLEAN_VERSIONS),)
    strategy = settings.word(COMPACT_TRIGGER)
    if strategy == _BY_TIME:
        return (COMPACT_SECONDS,)
    return (COMPACT_COMMITS, COMPACT_SECONDS) if strategy in (_EITHER, _BOTH) else (COMPACT_COMMITS,)


def due_of(service: str, table: Table, timeline: Timeline, settings: Settings) -> Due:
    """Reads what the service depends on besides the timeline. Raises UsageError: a setting that is not a number, or
    that Hudi refuses; Unreadable, StorageFailed."""
    if service == ARCHIVE:
        metadata = open_metadata_table(table) if "files" in table.metadata_partitions else None
        return archive_due(
            timeline,
            settings,
            deltas=None if table.is_cow else deltas_since_compaction(timeline, table.rules),
            cleaned=read_last_clean(table, timeline),
            metadata=load_timeline(metadata) if metadata else None,
        )
    if service == CLEANING:
        return clean_due(timeline, settings, read_last_clean(table, timeline), instant_now(table))
    return compaction_due(timeline, settings, None if table.is_cow else table.rules, instant_now(table))


def read_last_clean(table: Table, timeline: Timeline) -> LastClean | None:
    """The last completed clean; None if there is none. Raises Unreadable."""
    cleans = [entry for entry in timeline.having(CLEAN) if entry.completed]
    if not cleans:
        return None
    plan, result = cleans[-1].file(State.REQUESTED), cleans[-1].file(State.COMPLETED)
    planned = clean.decode_plan(read_instant(table, plan), plan.name) if plan and timeline.sizes[plan.name] else None
    done = (
        clean.decode_metadata(read_instant(table, result), result.name)
        if result and timeline.sizes[result.name]
        else None
    )
    return LastClean(cleans[-1].time, (planned.earliest if planned else None) or "", done.last_commit if done else "")


def completed_commits(timeline: Timeline) -> list[Instant]:
    """What Hudi counts as commits, including completed compactions and clusterings."""
    return [entry for entry in timeline.instants if entry.completed and entry.action in COMMIT_ACTIONS]


def retained_from(timeline: Timeline, settings: Settings, latest: str) -> str | None:
    """The oldest commit that cleaning fully keeps by its settings, if nothing is pending. None: cleaning deletes
    nothing, or counts file versions.

    Args:
        latest: the time from which hours are counted back.
    """
    commits = completed_commits(timeline)
    if settings.word(CLEAN_POLICY) == _BY_HOURS:
        with suppress(Unreadable):
            bound = time_plus_ms(latest, -settings.number(CLEAN_HOURS) * _HOUR_MS)
            return next((entry.time for entry in commits if entry.time >= bound), None)
        return None
    kept = settings.number(CLEAN_COMMITS)
    if settings.word(CLEAN_POLICY) != _BY_COMMITS or len(commits) <= kept or not kept:
        return None
    return commits[-kept].time


def archive_due(
    timeline: Timeline,
    settings: Settings,
    *,
    deltas: tuple[Instant | None, list[Instant]] | None,
    cleaned: LastClean | None,
    metadata: Timeline | None,
) -> Due:
    """Archiving starts with more commits than the maximum, and leaves the minimum of them.

    Args:
        deltas: of a table that merges on read: the delta commits since its last compaction.
        metadata: the timeline of the metadata table; None if none is in use.
    """
    least, most = settings.number(KEEP_MIN), settings.number(KEEP_MAX)
    if most <= least:
        raise UsageError(f"{KEEP_MAX.key}={most} is not greater than {KEEP_MIN.key}={least}: Hudi refuses this")
    commits = completed_commits(timeline)
    # The commits that cleaning fully keeps are kept, and two more; both numbers move up by the same amount.
    retained = retained_from(timeline, settings, commits[-1].time if commits else "")
    if retained is not None:
        more = sum(entry.time > retained for entry in commits) + 2 - least
        least, most = (least + more, most + more) if more > 0 else (least, most)

    oldest = commits[: len(commits) - least] if len(commits) > most else []
    bounds = sorted(_bounds(timeline, settings, deltas, cleaned, metadata), key=lambda bound: bound[0])
    taken = [entry for entry in oldest if not bounds or entry.time < bounds[0][0]]
    cannot = len(commits) - len(taken) > most
    used = (KEEP_MIN, KEEP_MAX, ARCHIVE_BEYOND_SAVEPOINT, CLEAN_POLICY, *thresholds(CLEANING, settings))
    return Due(
        service=ARCHIVE,
        counts="completed commits on the active timeline",
        counted=len(commits),
        threshold=most,
        due=bool(oldest),
        behind=bool(oldest) and (cannot or len(commits) > 2 * most - least),
        blocks=tuple(block for limit, block in bounds if oldest and limit <= oldest[-1].time),
        settings=settings.used(
            *used, *((COMPACT_COMMITS,) if deltas else ()), *((METADATA_ENABLE,) if metadata else ())
        ),
    )


def _bounds(
    timeline: Timeline,
    settings: Settings,
    deltas: tuple[Instant | None, list[Instant]] | None,
    cleaned: LastClean | None,
    metadata: Timeline | None,
) -> Iterator[tuple[str, Blocker]]:
    """What archiving cannot pass: instants at the time, or later, are not archived."""
    if not settings.flag(ARCHIVE_BEYOND_SAVEPOINT):
        for entry in timeline.savepoints()[:1]:
            because = "the oldest savepoint: its commit and all later ones are kept"
            yield entry.time, Blocker(SAVEPOINT, entry.time, because)

    pending = next((entry for entry in timeline.writes() if entry.pending), None)
    if pending is not None:
        before = max((one.time for one in completed_commits(timeline) if one.time < pending.time), default=pending.time)
        because = f"{_oldest(pending)}: the commit before it, and all later ones, are kept"
        yield before, Blocker(PENDING, pending.time, because)

    last, since = deltas or (None, [])
    if last is not None and settings.word(COMPACT_TRIGGER) in ("NUM_COMMITS", _BOTH):
        most = settings.number(COMPACT_COMMITS)
        # With 0 it is the last of all.
        kept = since[min(len(since) - most, len(since) - 1)] if len(since) >= max(most, 1) else last
        because = f"{COMPACT_COMMITS.key}={most} keeps it, and all later ones, for the next compaction"
        yield kept.time, Blocker(UNCOMPACTED, kept.time, because)

    # Readers would see replaced files again. A clean that names no commit has deleted all that were replaced before it.
    bound = (cleaned.earliest or cleaned.time) if cleaned else ""
    replaced = next((entry for entry in timeline.having(REPLACECOMMIT, CLUSTERING) if entry.time >= bound), None)
    if replaced is not None:
        yield replaced.time, Blocker(UNCLEANED, replaced.time, "no clean has deleted its replaced files yet")

    if metadata is not None and settings.flag(METADATA_ENABLE):
        yield _metadata(timeline, metadata)


def _metadata(timeline: Timeline, metadata: Timeline) -> tuple[str, Blocker]:
    """Commits that are younger than the metadata table's last compaction are not archived."""
    compacted = max((entry.time for entry in metadata.having(COMMIT, REPLACECOMMIT) if entry.completed), default="")
    because = "the metadata table was never compacted: nothing is archived before its first compaction"
    if compacted:
        because = f"the metadata table was last compacted at {compacted}: later commits are not archived"
    waits_for = metadata_waits_for(timeline, metadata)
    if waits_for is None:
        return compacted, Blocker(METADATA, compacted, because)
    because += f"; it is not compacted beyond {waits_for}, which is pending"
    return compacted, Blocker(METADATA, waits_for.time, because)


def metadata_waits_for(timeline: Timeline, metadata: Timeline) -> Instant | None:
    """The instant that blocks the metadata table's compaction: the oldest pending one, of any action, before the
    metadata table's last delta commit. 0.15.0 then does not compact; later releases compact once, below it."""
    last = max((entry.time for entry in metadata.having(DELTACOMMIT) if entry.completed), default="")
    return next((entry for entry in timeline.instants if entry.pending and entry.time <= last), None)


def deltas_since_compaction(timeline: Timeline, rules: Rules) -> tuple[Instant | None, list[Instant]]:
    """The last completed compaction, or without one the first delta commit; and the delta commits since, in any state.

    With completion times, a delta commit counts if it was completed after the compaction was requested.
    """
    deltas = list(timeline.having(DELTACOMMIT))
    compactions = [entry for entry in timeline.having(COMMIT) if entry.completed]
    if not compactions:
        return (deltas[0] if deltas else None), deltas
    last = compactions[-1].time

    def later(entry: Instant) -> bool:
        completed = entry.completion_time if rules.has_completion_times else None
        return (completed or entry.time) > last and entry.time != last

    return compactions[-1], [entry for entry in deltas if later(entry)]


def clean_due(timeline: Timeline, settings: Settings, cleaned: LastClean | None, now: str) -> Due:
    """The timeline shows whether a clean is due; only the data files show whether it would delete anything.

    Args:
        now: an instant time.
    """
    since = cleaned.last_commit if cleaned else ""
    counted = sum(entry.time > since for entry in completed_commits(timeline))
    threshold = settings.number(CLEAN_TRIGGER)
    waiting = next((entry for entry in timeline.having(CLEAN) if entry.pending), None)
    return Due(
        service=CLEANING,
        counts="completed commits since the last clean" if cleaned else "completed commits, no clean yet",
        counted=counted,
        threshold=threshold,
        due=counted >= threshold or waiting is not None,
        behind=None,
        blocks=tuple(_keeps_files(timeline, settings, waiting, retained_from(timeline, settings, now) or "")),
        settings=settings.used(CLEAN_TRIGGER, CLEAN_POLICY, *thresholds(CLEANING, settings)),
    )


def _keeps_files(timeline: Timeline, settings: Settings, waiting: Instant | None, retained: str) -> Iterator[Blocker]:
    if waiting is not None:
        because = f"a pending clean ({waiting.state.name}): the next run executes its plan, and makes no new one"
        yield Blocker(PENDING, waiting.time, because)
    writes = timeline.having(*COMMIT_ACTIONS, CLUSTERING, COMPACTION)
    pending = next((entry for entry in writes if entry.pending), None)
    if pending is not None and pending.time < retained and settings.word(CLEAN_POLICY) == _BY_COMMITS:
        because = f"{_oldest(pending)}: cleaning keeps the commit before it, and all later ones. Without it, "
        yield Blocker(PENDING, pending.time, f"{because}it would keep only those from {retained} on")
    for entry in timeline.savepoints():
        if entry.time < retained:
            because = "a savepoint older than the commits that cleaning keeps: its files are kept"
            yield Blocker(SAVEPOINT, entry.time, because)


def kept_by_cleaning(timeline: Timeline, settings: Settings, now: str) -> Kept | None:
    """What cleaning should keep by its settings, if nothing were pending; None if it keeps everything."""
    versions = settings.number(CLEAN_VERSIONS) if settings.word(CLEAN_POLICY) not in _KEPT else 0
    retained = retained_from(timeline, settings, now)
    if not versions and retained is None:
        return None
    completed = frozenset(entry.time for entry in completed_commits(timeline))
    return Kept(versions, retained or "", completed, min(completed, default=""))


def compaction_due(timeline: Timeline, settings: Settings, rules: Rules | None, now: str) -> Due:
    """Counts completed delta commits, or seconds for a strategy by time.

    Args:
        rules: None for a table that copies on write: it has no compactions.
        now: an instant time.
    """
    last, since = deltas_since_compaction(timeline, rules) if rules else (None, [])
    counted = sum(entry.completed for entry in since)
    seconds = _seconds(last.time, now) if last else 0
    strategy = settings.word(COMPACT_TRIGGER)
    if rules and strategy == _AFTER_REQUEST:
        # Since the last request, also of one that is pending; delta commits in any state.
        ended = [last.time] if last and last.action != DELTACOMMIT else []
        asked = [entry.time for entry in timeline.having(COMPACTION) if entry.pending] or ended
        counted = sum(entry.time > max(asked, default="") for entry in timeline.having(DELTACOMMIT))

    def reached(rounds: int) -> bool:
        enough = counted >= rounds * settings.number(COMPACT_COMMITS)
        late = seconds >= rounds * settings.number(COMPACT_SECONDS)
        return {_BY_TIME: late, _EITHER: enough or late, _BOTH: enough and late}.get(strategy, enough)

    by_time = strategy == _BY_TIME
    due = last is not None and reached(1)
    others = (FAILED_WRITES_POLICY, CONCURRENCY) if rules and rules.compaction_waits_for_writes else ()
    return Due(
        service=COMPACT,
        counts=("seconds" if by_time else "delta commits")
        + (" since the last compaction" if rules else _NO_COMPACTION),
        counted=seconds if by_time else counted,
        threshold=settings.number(COMPACT_SECONDS if by_time else COMPACT_COMMITS),
        due=due,
        behind=due and reached(2),
        blocks=tuple(_stops_compactions(timeline, settings, others)) if due else (),
        settings=settings.used(COMPACT_TRIGGER, *thresholds(COMPACT, settings), *others),
    )


_NO_COMPACTION = ": a copy-on-write table has no compactions"


def _stops_compactions(timeline: Timeline, settings: Settings, waits: tuple[Setting, ...]) -> Iterator[Blocker]:
    """With ``waits``, a single writer that cleans eagerly schedules nothing beside a pending write."""
    alone = settings.word(CONCURRENCY) != "OPTIMISTIC_CONCURRENCY_CONTROL"
    if waits and alone and settings.word(FAILED_WRITES_POLICY) != "LAZY":
        pending = next((entry for entry in timeline.having(*COMMIT_ACTIONS) if entry.pending), None)
        if pending is not None:
            because = f"a pending write ({pending.action} {pending.state.name}): no compaction is scheduled before it "
            yield Blocker(PENDING, pending.time, f"{because}ends")
    for entry in timeline.having(COMPACTION):
        if entry.pending:
            because = f"a pending compaction ({entry.state.name}): no other compaction takes its file groups"
            yield Blocker(PENDING, entry.time, because)


def _oldest(pending: Instant) -> str:
    return f"the oldest pending write ({pending.action} {pending.state.name})"


def _seconds(since: str, until: str) -> int:
    """The seconds between two times, each cut to whole seconds as in Hudi; 0 if one is not a date."""
    begun, ended = (parse_time(text, timezone.utc) for text in (since, until))
    return int(ended.timestamp()) - int(begun.timestamp()) if begun and ended else 0
