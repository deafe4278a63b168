"""Findings of ``check`` on table services: which are behind by the writers' settings, and what blocks them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from hudictl.formats.instants import (
    CLEAN,
    CLUSTERING,
    COMPACTION,
    LOGCOMPACTION,
    REPLACECOMMIT,
    RESTORE,
    ROLLBACK,
    State,
)
from hudictl.formats.layouts import METADATA_TABLE
from hudictl.phrases import count_of
from hudictl.reports.health.finding import WARNING, Finding, Look, Skipped, mended
from hudictl.reports.health.partition import count_logs
from hudictl.state.facts import Facts
from hudictl.state.files.savepoints import savepointed_names
from hudictl.state.services.blocks import with_remedies
from hudictl.state.services.due import (
    ARCHIVE,
    CLEANING,
    COMPACT,
    METADATA,
    SAVEPOINT,
    Blocker,
    Due,
    completed_commits,
    deltas_since_compaction,
    due_of,
    kept_by_cleaning,
    metadata_waits_for,
    thresholds,
)
from hudictl.state.services.overdue import Kept, overdue
from hudictl.state.timeline.remedy import Remedy
from hudictl.table.files.saved import SavedNames
from hudictl.table.settings import KEEP_MAX, METADATA_COMPACT_COMMITS
from hudictl.table.timeline.active import instant_now, load_timeline

HUGE_PLAN_BYTES = 32 * 1024 * 1024
"""Every reader and writer loads pending plans into memory."""
FAILING_WRITES = 3
"""With this many rollbacks since the last completed commit, a job fails again and again."""


def archiving(look: Look) -> Iterator[Finding | Skipped]:
    """The active timeline grows: archiving has missed a whole round, or cannot do enough."""
    missing = look.settings.missing(*thresholds(ARCHIVE, look.settings))
    if missing:
        yield from (_skipped("archiving-behind", missing), _skipped("savepoint-old", missing))
        return
    due = due_of(ARCHIVE, look.facts.table, look.facts.timeline, look.settings)
    blocks = _ended(look, due.blocks)
    for block in blocks:
        if block.kind == SAVEPOINT:
            meaning = "commits from this savepoint on are not archived, although archiving is due"
            yield Finding("savepoint-old", WARNING, block.instant, meaning, block.remedy)
    if due.behind:
        yield _behind("archiving-behind", due, blocks)


def cleaning(look: Look) -> Iterator[Finding | Skipped]:
    """Files that cleaning should have deleted by its settings, but did not."""
    missing = look.settings.missing(*thresholds(CLEANING, look.settings))
    if missing:
        yield _skipped("cleaning-behind", missing)
        return
    facts = look.facts
    due = due_of(CLEANING, facts.table, facts.timeline, look.settings)
    # One round is tolerated: a clean may be about to start.
    if due.counted > due.threshold:
        found = _overdue(facts, kept_by_cleaning(facts.timeline, look.settings, instant_now(facts.table)))
        if found:
            files = count_of(found.total(), "base file")
            told = f"; {files} that the settings no longer keep; the oldest is of {min(found)}"
            yield _behind("cleaning-behind", due, _ended(look, due.blocks), told)


def _overdue(facts: Facts, kept: Kept | None) -> Counter[str]:
    """How many files cleaning should have deleted, by instant. Raises Unreadable: a savepoint."""
    found: Counter[str] = Counter()
    if kept is not None:
        saved = savepointed_names(facts.table, facts.timeline)
        spared = facts.sweep.engine.keep((path, SavedNames("/".join(names))) for _, path, names in saved)
        for entry in facts.sweep.over("look for overdue files", partial(overdue, kept), saved=spared):
            found.update(entry)
    return found


def compaction(look: Look) -> Iterator[Finding | Skipped]:
    """Delta commits accumulate: twice the threshold of a compaction, with logs to compact."""
    table = look.facts.table
    if table.is_cow:
        return
    missing = look.settings.missing(*thresholds(COMPACT, look.settings))
    if missing:
        yield _skipped("compaction-behind", missing)
        return
    due = due_of(COMPACT, table, look.facts.timeline, look.settings)
    logs = sum(look.facts.sweep.over("count logs", count_logs)) if due.behind else 0
    if logs:
        yield _behind("compaction-behind", due, _ended(look, due.blocks), f"; {count_of(logs, 'log')} in total")


def metadata_compaction(look: Look) -> Iterator[Finding | Skipped]:
    """The same for the metadata table: every reader merges its logs, and archiving waits for its compaction."""
    facts, metadata = look.facts, look.metadata
    if metadata is None:
        return
    missing = look.settings.missing(METADATA_COMPACT_COMMITS)
    if missing:
        yield _skipped("metadata-compaction-behind", missing)
        return
    timeline = load_timeline(metadata)
    counted = sum(entry.completed for entry in deltas_since_compaction(timeline, metadata.rules)[1])
    threshold = look.settings.number(METADATA_COMPACT_COMMITS)
    if counted <= 2 * threshold:
        return
    waits_for = metadata_waits_for(facts.timeline, timeline)
    blocks = (Blocker(METADATA, waits_for.time, f"a pending {waits_for.action}"),) if waits_for else ()
    meaning = (
        f"{count_of(counted, 'delta commit')} of the metadata table since its last compaction (threshold "
        f"{threshold:,}). "
        "Every reader merges their logs, and no commit after that compaction is archived"
    )
    yield _with_blocks("metadata-compaction-behind", METADATA_TABLE, meaning, _ended(look, blocks))


def rollbacks(look: Look) -> Iterator[Finding | Skipped]:
    """Rollbacks that are not archived, and jobs that fail again and again."""
    timeline = look.facts.timeline
    found = [entry for entry in timeline.having(ROLLBACK) if entry.completed]
    # A pending restore has rollbacks of its own, and takes the commits away after which others would be counted.
    restored = any(entry.pending for entry in timeline.having(RESTORE))
    last = max((entry.time for entry in completed_commits(timeline)), default="")
    recent = [] if restored else [entry for entry in found if entry.time > last]
    if len(recent) >= FAILING_WRITES:
        since = f"since the last commit {last}" if last else "and no completed commit"
        meaning = f"{count_of(len(recent), 'rollback')} {since}: a job fails again and again, and its own log says why"
        yield Finding("rollbacks-piled-up", WARNING, recent[-1].time, meaning)
    missing = look.settings.missing(KEEP_MAX)
    if missing and len(recent) < FAILING_WRITES:
        yield _skipped("rollbacks-piled-up", missing)
    elif not missing and len(found) > look.settings.number(KEEP_MAX):
        meaning = f"{count_of(len(found), 'rollback')} on the active timeline ({KEEP_MAX.key}="
        meaning += f"{look.settings.text(KEEP_MAX)}): every reader and writer lists them"
        yield Finding(
            "rollbacks-piled-up", WARNING, found[0].time, meaning, mended("hudictl why archive --assume-defaults")
        )


def huge_plans(look: Look) -> Iterator[Finding]:
    """Plans of pending services that are too large for readers and writers."""
    for instant in look.facts.timeline.having(COMPACTION, LOGCOMPACTION, CLUSTERING, REPLACECOMMIT, CLEAN):
        file = instant.file(State.REQUESTED)
        size = look.facts.timeline.sizes[file.name] if file else 0
        if instant.pending and file and size >= HUGE_PLAN_BYTES:
            meaning = (
                f"its plan has {size:,} bytes, and every reader and writer loads it into memory. Run it on a host with "
                "enough memory, and make the next plans smaller"
            )
            yield Finding("huge-plan", WARNING, file.name, meaning)


def _skipped(finding: str, missing: Sequence[str]) -> Skipped:
    return Skipped(finding, f"not given: {', '.join(missing)}")


def _ended(look: Look, blocks: Sequence[Blocker]) -> tuple[Blocker, ...]:
    return with_remedies(look.facts.table, look.facts.signs, look.idle_ms, blocks)


def _behind(finding: str, due: Due, blocks: Sequence[Blocker], told: str = "") -> Finding:
    meaning = f"{due.counted:,} {due.counts} (threshold {due.threshold:,}){told}"
    return _with_blocks(finding, due.service, meaning, blocks)


def _with_blocks(finding: str, subject: str, meaning: str, blocks: Sequence[Blocker]) -> Finding:
    for block in blocks:
        meaning += f"; blocked by {f'{block.instant}, ' if block.instant else ''}{block.because}"
    if not blocks:
        meaning += "; nothing blocks the next run: either the service is not started, or it fails"
    ways: tuple[Remedy, ...] = tuple(dict.fromkeys(way for block in blocks for way in block.remedy))
    return Finding(finding, WARNING, subject, meaning, ways)
