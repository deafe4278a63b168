"""Whether a compaction would be scheduled now, and what blocks it (0.15.0, 1.0.2, 1.2.0)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timezone

from hudictl.formats.instants import COMMIT_ACTIONS, COMPACTION, DELTACOMMIT, Instant, parse_time
from hudictl.state.services.due.archiving import deltas_since_compaction
from hudictl.state.services.due.counted import COMPACT, PENDING, Blocker, Due
from hudictl.table.rules import Rules
from hudictl.table.settings import (
    COMPACT_COMMITS,
    COMPACT_SECONDS,
    COMPACT_TRIGGER,
    CONCURRENCY,
    FAILED_WRITES_POLICY,
    Setting,
    Settings,
)
from hudictl.table.timeline.active import Timeline

AFTER_REQUEST = "NUM_COMMITS_AFTER_LAST_REQUEST"
BY_TIME = "TIME_ELAPSED"
EITHER = "NUM_OR_TIME"
BOTH = "NUM_AND_TIME"


@dataclass(frozen=True)
class Compactable:
    """What the scheduling of compactions depends on; ``now`` is an instant time."""

    timeline: Timeline
    rules: Rules
    merge_on_read: bool
    now: str


def compaction_thresholds(settings: Settings) -> tuple[Setting, ...]:
    """The settings that must be specified, by the strategy."""
    strategy = settings.word(COMPACT_TRIGGER)
    if strategy == BY_TIME:
        return (COMPACT_SECONDS,)
    return (COMPACT_COMMITS, COMPACT_SECONDS) if strategy in (EITHER, BOTH) else (COMPACT_COMMITS,)


def compaction_due(look: Compactable, settings: Settings) -> Due:
    """Whether a compaction would be scheduled. Raises UsageError: a setting that is not a number."""
    last, counted = _counted(look, settings)
    seconds = _seconds(last.time, look.now) if last else 0
    due = look.merge_on_read and last is not None and _reached(settings, counted, seconds, 1)
    blocks = tuple(_blocks(look, settings)) if due else ()
    by_time = settings.word(COMPACT_TRIGGER) == BY_TIME
    return Due(
        service=COMPACT,
        counts=f"{'seconds' if by_time else 'delta commits'} since the last compaction",
        counted=seconds if by_time else counted,
        threshold=settings.number(COMPACT_SECONDS if by_time else COMPACT_COMMITS),
        due=due,
        behind=due and _reached(settings, counted, seconds, 2),
        would=_would(look, settings, due=due, seconds=seconds),
        instants=(),
        blocks=blocks,
        settings=settings.used(COMPACT_TRIGGER, *compaction_thresholds(settings), *_others(look)),
    )


def _others(look: Compactable) -> tuple[Setting, ...]:
    return (FAILED_WRITES_POLICY, CONCURRENCY) if look.rules.compaction_waits_for_writes else ()


def _counted(look: Compactable, settings: Settings) -> tuple[Instant | None, int]:
    """The last compaction, or the first delta commit without one; and the delta commits since."""
    last, deltas = deltas_since_compaction(look.timeline, look.rules)
    if settings.word(COMPACT_TRIGGER) == AFTER_REQUEST:
        requested = [*_pending_compactions(look.timeline)][-1:]
        compacted = [last] if last and last.action != DELTACOMMIT else []
        since = max((entry.time for entry in requested or compacted), default="")
        return last, sum(entry.time > since for entry in look.timeline.having(DELTACOMMIT))
    return last, sum(entry.completed or look.rules.compaction_counts_pending for entry in deltas)


def _reached(settings: Settings, counted: int, seconds: int, rounds: int) -> bool:
    strategy = settings.word(COMPACT_TRIGGER)
    enough = counted >= rounds * settings.number(COMPACT_COMMITS)
    late = seconds >= rounds * settings.number(COMPACT_SECONDS)
    if strategy == BY_TIME:
        return late
    if strategy == EITHER:
        return enough or late
    return (enough and late) if strategy == BOTH else enough


def _pending_compactions(timeline: Timeline) -> Iterator[Instant]:
    return (entry for entry in timeline.having(COMPACTION) if entry.pending)


def _blocks(look: Compactable, settings: Settings) -> Iterator[Blocker]:
    pending = _waits_for(look, settings)
    if pending is not None:
        because = f"a pending write ({pending.action} {pending.state.name}): no compaction is scheduled before it ends"
        yield Blocker(PENDING, pending.time, because)
    for entry in _pending_compactions(look.timeline):
        because = f"a pending compaction ({entry.state.name}): no other compaction takes its file groups"
        yield Blocker(PENDING, entry.time, because)


def _waits_for(look: Compactable, settings: Settings) -> Instant | None:
    """The pending write that blocks the scheduling: only with a single writer that cleans eagerly."""
    alone = settings.word(CONCURRENCY) != "OPTIMISTIC_CONCURRENCY_CONTROL"
    if not look.rules.compaction_waits_for_writes or not alone or settings.word(FAILED_WRITES_POLICY) == "LAZY":
        return None
    return next((entry for entry in look.timeline.having(*COMMIT_ACTIONS) if entry.pending), None)


def _would(look: Compactable, settings: Settings, *, due: bool, seconds: int) -> str:
    if not look.merge_on_read:
        return "nothing: a copy-on-write table has no compactions"
    if due and (pending := _waits_for(look, settings)):
        return f"schedule no compaction while {pending} is pending"
    if due:
        return "schedule a compaction of the file groups that have logs and are in no pending plan"
    said = "schedule no compaction"
    if COMPACT_SECONDS in compaction_thresholds(settings):
        said += f": the last compaction is {seconds:,} s old, and {COMPACT_SECONDS.key}="
        said += settings.text(COMPACT_SECONDS)
    return said


def _seconds(since: str, until: str) -> int:
    """The seconds between two times, each cut to whole seconds as in Hudi; 0 if one is not a date."""
    begun, ended = (parse_time(text, timezone.utc) for text in (since, until))
    return int(ended.timestamp()) - int(begun.timestamp()) if begun and ended else 0
