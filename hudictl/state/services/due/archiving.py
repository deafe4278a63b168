"""What the next archiving would remove from the active timeline, and what blocks it (0.15.0, 1.0.2, 1.2.0)."""

from collections.abc import Iterator
from dataclasses import dataclass

from hudictl.errors import UsageError
from hudictl.formats.instants import (
    CLEAN,
    CLUSTERING,
    COMMIT,
    DELTACOMMIT,
    REPLACECOMMIT,
    ROLLBACK,
    Instant,
)
from hudictl.phrases import count_of
from hudictl.state.services.due.counted import (
    ARCHIVE,
    METADATA,
    PENDING,
    SAVEPOINT,
    UNCLEANED,
    UNCOMPACTED,
    Blocker,
    Due,
    LastClean,
    completed_commits,
    earliest_retained,
    read_last_clean,
)
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.rules import Rules
from hudictl.table.settings import (
    ARCHIVE_BEYOND_SAVEPOINT,
    CLEAN_COMMITS,
    CLEAN_HOURS,
    CLEAN_POLICY,
    COMPACT_COMMITS,
    COMPACT_TRIGGER,
    KEEP_MAX,
    KEEP_MIN,
    METADATA_ENABLE,
    Setting,
    Settings,
)
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline

_KEEPS_DELTAS = ("NUM_COMMITS", "NUM_AND_TIME")
_ALL = ""
"""A bound before all instants."""


@dataclass(frozen=True)
class Archivable:
    """What archiving depends on.

    ``metadata_used``: a metadata table is in use. ``compacted`` is the time of its last compaction (None: never).
    ``waits_for`` is the pending instant that blocks its next compaction.
    """

    timeline: Timeline
    rules: Rules
    merge_on_read: bool
    metadata_used: bool
    compacted: str | None
    cleaned: LastClean | None
    waits_for: Instant | None = None


@dataclass(frozen=True)
class _Bound:
    """Instants at ``limit`` or later are not archived."""

    limit: str
    block: Blocker


@dataclass(frozen=True)
class _Keep:
    """How many commits are kept, by the settings and by cleaning.

    ``for_cleaning`` is the oldest commit that cleaning fully keeps, if this decides the numbers. ``pending`` is the
    pending instant because of which it is not a later commit.
    """

    least: int
    most: int
    for_cleaning: str = ""
    pending: Instant | None = None


def read_archivable(table: Table, timeline: Timeline) -> Archivable:
    """Reads what archiving depends on besides the timeline. Raises Unreadable."""
    used = "files" in table.metadata_partitions
    metadata = open_metadata_table(table) if used else None
    written = load_timeline(metadata) if metadata else None
    commits = written.having(COMMIT, REPLACECOMMIT) if written else ()
    compacted = max((entry.time for entry in commits if entry.completed), default=None)
    waits_for = metadata_waits_for(timeline, written) if written and table.rules.metadata_waits_for_all else None
    cleaned = read_last_clean(table, timeline)
    return Archivable(timeline, table.rules, not table.is_cow, used, compacted, cleaned, waits_for)


def metadata_waits_for(timeline: Timeline, metadata: Timeline) -> Instant | None:
    """The instant that blocks the metadata table's compaction: the oldest pending one, of any action, before the
    metadata table's last delta commit. 0.15.0 then does not compact; later releases compact once, below it."""
    last = max((entry.time for entry in metadata.having(DELTACOMMIT) if entry.completed), default="")
    return next((entry for entry in timeline.instants if entry.pending and entry.time <= last), None)


def archive_thresholds(_settings: Settings) -> tuple[Setting, ...]:
    """The settings that must be specified."""
    return (KEEP_MIN, KEEP_MAX)


def archive_due(look: Archivable, settings: Settings) -> Due:
    """What the next archiving would remove. Raises UsageError: settings that Hudi refuses."""
    commits = completed_commits(look.timeline)
    keep = _keep(look.timeline, commits, settings)
    free = _keep(look.timeline, commits, settings, with_pending=False) if keep.pending else keep
    bounds = sorted(_bounds(look, settings), key=lambda bound: bound.limit)
    limit = bounds[0].limit if bounds else "~"

    wanted = _wanted(look.timeline, commits, free, settings)
    taken = [entry for entry in _wanted(look.timeline, commits, keep, settings) if entry.time < limit]
    beside = _cleans_and_rollbacks(look, keep, taken, settings)
    blocks = [bound.block for bound in bounds if wanted and bound.limit <= wanted[-1].time]
    if wanted and keep.pending and keep.least > free.least:
        blocks = [*(block for block in blocks if block.kind != PENDING), _kept_for(keep.pending, keep)]
    after = len(commits) - len(taken)
    round_missed = len(commits) > 2 * free.most - free.least

    return Due(
        service=ARCHIVE,
        counts="completed commits on the active timeline",
        counted=len(commits),
        threshold=free.most,
        due=bool(wanted),
        behind=len(commits) > free.most and (after > free.most or round_missed),
        would=_would(commits, keep, taken, wanted, beside),
        instants=tuple(f"{entry.time} {entry.action}" for entry in sorted([*taken, *beside], key=lambda one: one.time)),
        blocks=tuple(blocks),
        settings=settings.used(*_settings(look, settings)),
    )


def _kept_for(pending: Instant, keep: _Keep) -> Blocker:
    because = (
        f"the oldest pending write ({pending.action} {pending.state.name}): cleaning keeps all commits from "
        f"{keep.for_cleaning} on, so archiving starts only with more than {keep.most} commits"
    )
    return Blocker(PENDING, pending.time, because)


def _settings(look: Archivable, settings: Settings) -> Iterator[Setting]:
    yield from (KEEP_MIN, KEEP_MAX, ARCHIVE_BEYOND_SAVEPOINT, CLEAN_POLICY)
    policy = settings.word(CLEAN_POLICY)
    yield from ([CLEAN_HOURS] if policy.endswith("HOURS") else [CLEAN_COMMITS] if policy.endswith("COMMITS") else [])
    if look.merge_on_read:
        yield from (COMPACT_TRIGGER, COMPACT_COMMITS)
    if look.metadata_used:
        yield METADATA_ENABLE


def _keep(timeline: Timeline, commits: list[Instant], settings: Settings, with_pending: bool = True) -> _Keep:
    """The commits that cleaning fully keeps are kept, and two more. The two numbers move up by the same amount."""
    least, most = settings.number(KEEP_MIN), settings.number(KEEP_MAX)
    if most <= least:
        raise UsageError(f"{KEEP_MAX.key}={most} is not greater than {KEEP_MIN.key}={least}: Hudi refuses this")
    if not with_pending:
        timeline = timeline.without({entry.time for entry in timeline.writes() if entry.pending})
    earliest, pending = earliest_retained(timeline, settings, commits[-1].time if commits else "")
    if earliest is not None:
        for_cleaning = sum(entry.time > earliest for entry in commits) + 2
        if least < for_cleaning:
            return _Keep(for_cleaning, for_cleaning + most - least, earliest, pending)
    return _Keep(least, most)


def _wanted(timeline: Timeline, commits: list[Instant], keep: _Keep, settings: Settings) -> list[Instant]:
    """The commits that the two numbers select; nothing else is considered."""
    if len(commits) <= keep.most:
        return []
    saved = {entry.time for entry in timeline.savepoints()} if settings.flag(ARCHIVE_BEYOND_SAVEPOINT) else set()
    return [entry for entry in commits if entry.time not in saved][: len(commits) - keep.least]


def _cleans_and_rollbacks(look: Archivable, keep: _Keep, taken: list[Instant], settings: Settings) -> list[Instant]:
    """Cleans and rollbacks are archived with the commits around them, or by their own count."""
    found: list[Instant] = []
    for action in (CLEAN, ROLLBACK):
        completed = [entry for entry in look.timeline.having(action) if entry.completed]
        if not look.rules.archives_cleans_apart:
            found += [entry for entry in completed if taken and entry.time < taken[-1].time]
        elif len(completed) > keep.most:
            limit = (look.compacted or _ALL) if look.metadata_used else "~"
            found += [entry for entry in completed[: len(completed) - keep.least] if entry.time < limit]
    return found


def _bounds(look: Archivable, settings: Settings) -> Iterator[_Bound]:
    timeline = look.timeline
    if not settings.flag(ARCHIVE_BEYOND_SAVEPOINT):
        for entry in timeline.savepoints()[:1]:
            because = (
                "the oldest savepoint: its commit and all later ones are kept, unless "
                f"{ARCHIVE_BEYOND_SAVEPOINT.key}=true"
            )
            yield _Bound(entry.time, Blocker(SAVEPOINT, entry.time, because))
    pending = next((entry for entry in timeline.writes() if entry.pending), None)
    if pending is not None:
        before = max((one.time for one in completed_commits(timeline) if one.time < pending.time), default=pending.time)
        because = (
            f"the oldest pending write ({pending.action} {pending.state.name}): the commit before it, and all later "
            "ones, are kept"
        )
        yield _Bound(before, Blocker(PENDING, pending.time, because))
    if look.merge_on_read and settings.word(COMPACT_TRIGGER) in _KEEPS_DELTAS:
        yield from _uncompacted(look, settings)
    yield from _uncleaned(look, settings)
    if look.metadata_used and (look.rules.archives_cleans_apart or settings.flag(METADATA_ENABLE)):
        yield from _metadata(look)


def _uncompacted(look: Archivable, settings: Settings) -> Iterator[_Bound]:
    """The delta commits that the next compaction counts are kept."""
    last, deltas = deltas_since_compaction(look.timeline, look.rules)
    most = settings.number(COMPACT_COMMITS)
    if last is None:
        return
    if len(deltas) < max(most, 1):
        because = "the last compaction" if last.action == COMMIT else "the first delta commit, and no compaction yet"
        because += f": it is kept until {COMPACT_COMMITS.key}={most} delta commits follow it"
        yield _Bound(last.time, Blocker(UNCOMPACTED, last.time, because))
        return
    # With 0 it is the last of all.
    kept = deltas[min(len(deltas) - most, len(deltas) - 1)]
    because = (
        f"this delta commit and all later ones are not compacted yet: {COMPACT_COMMITS.key}={most} keeps them on the "
        "active timeline"
    )
    yield _Bound(kept.time, Blocker(UNCOMPACTED, kept.time, because))


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


def _uncleaned(look: Archivable, settings: Settings) -> Iterator[_Bound]:
    """A replacecommit is kept until a clean has deleted its replaced files: readers would see these again."""
    since = "" if look.cleaned is None else _cleaned_up_to(look, look.cleaned, settings)
    found = next((entry for entry in look.timeline.having(REPLACECOMMIT, CLUSTERING) if entry.time >= since), None)
    if found is not None:
        because = "no clean has deleted its replaced files yet"
        if look.cleaned and since in look.cleaned.spared:
            because = f"the last clean kept some of its replaced files for the savepoint {since}"
        yield _Bound(found.time, Blocker(UNCLEANED, found.time, because))


def _cleaned_up_to(look: Archivable, cleaned: LastClean, settings: Settings) -> str:
    spared = cleaned.spared[:1] if look.rules.archive_heeds_spared else ()
    by_versions = settings.word(CLEAN_POLICY) == "KEEP_LATEST_FILE_VERSIONS"
    if spared and not by_versions and cleaned.earliest > spared[0]:
        between = (entry.time for entry in look.timeline.having(REPLACECOMMIT) if entry.completed)
        if any(spared[0] <= time <= cleaned.earliest for time in between):
            return spared[0]
    # A plan without this commit counts file versions: it deleted all files that were replaced before it.
    return cleaned.earliest or cleaned.time


def _metadata(look: Archivable) -> Iterator[_Bound]:
    because = "the metadata table was never compacted: nothing is archived before its first compaction"
    limit: str | None = _ALL
    if look.compacted is not None:
        because = f"the metadata table was last compacted at {look.compacted}: later commits are not archived"
        limit = look.compacted
        if not look.rules.archives_cleans_apart:
            limit = next((one.time for one in completed_commits(look.timeline) if _after(one, look.compacted)), None)
    blocking = look.compacted or ""
    if look.waits_for is not None:
        blocking = look.waits_for.time
        because += f"; it cannot be compacted while {look.waits_for} is pending"
    if limit is not None:
        yield _Bound(limit, Blocker(METADATA, blocking, because))


def _after(commit: Instant, compacted: str) -> bool:
    return (commit.completion_time or "") > compacted and commit.time != compacted


def _would(
    commits: list[Instant], keep: _Keep, taken: list[Instant], wanted: list[Instant], beside: list[Instant]
) -> str:
    if len(commits) <= keep.most:
        said = f"archive no commit: archiving starts with more than {keep.most}"
        if keep.for_cleaning:
            said += f", because cleaning keeps all commits from {keep.for_cleaning} on"
    elif not taken:
        said = f"archive none of {count_of(len(wanted), 'commit')} selected by the settings"
    else:
        said = f"archive {count_of(len(taken), 'commit')}, up to {taken[-1].time}"
        if len(taken) < len(wanted):
            said += f", of {len(wanted)} selected by the settings"
    if beside:
        said += f"; also cleans and rollbacks: {len(beside)}"
    return f"{said}; {count_of(len(commits) - len(taken), 'commit')} would remain"
