"""What the next clean would keep, and what blocks it (0.15.0, 1.0.2, 1.2.0).

The timeline shows whether a clean is due; only the data files show whether it would delete anything.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hudictl.formats.instants import CLEAN, COMPACTION, Instant
from hudictl.phrases import count_of
from hudictl.state.services.due.counted import (
    BY_COMMITS,
    BY_HOURS,
    CLEANING,
    PENDING,
    SAVEPOINT,
    Blocker,
    Due,
    LastClean,
    completed_commits,
    earliest_retained,
)
from hudictl.state.services.overdue import Kept
from hudictl.table.settings import (
    CLEAN_COMMITS,
    CLEAN_HOURS,
    CLEAN_POLICY,
    CLEAN_TRIGGER,
    CLEAN_VERSIONS,
    Setting,
    Settings,
)
from hudictl.table.timeline.active import Timeline

_KEPT = {BY_COMMITS: CLEAN_COMMITS, BY_HOURS: CLEAN_HOURS}


@dataclass(frozen=True)
class Cleanable:
    """What cleaning depends on; ``now`` is an instant time."""

    timeline: Timeline
    cleaned: LastClean | None
    now: str


def clean_thresholds(settings: Settings) -> tuple[Setting, ...]:
    """The settings that must be specified: how much the policy keeps."""
    return (_KEPT.get(settings.word(CLEAN_POLICY), CLEAN_VERSIONS),)


def clean_due(look: Cleanable, settings: Settings) -> Due:
    """What the next clean would keep. Raises UsageError: a setting that is not a number."""
    since = look.cleaned.last_commit if look.cleaned else ""
    counted = sum(entry.time > since for entry in completed_commits(look.timeline))
    threshold = settings.number(CLEAN_TRIGGER)
    retained, _ = earliest_retained(look.timeline, settings, look.now, (COMPACTION,))
    waiting = next((entry for entry in look.timeline.having(CLEAN) if entry.pending), None)
    due = counted >= threshold
    return Due(
        service=CLEANING,
        counts="completed commits since the last clean" if look.cleaned else "completed commits, no clean yet",
        counted=counted,
        threshold=threshold,
        due=due or waiting is not None,
        behind=None,
        would=_would(due, waiting, retained, settings),
        instants=(),
        blocks=tuple(_blocks(look, settings, waiting)),
        settings=settings.used(CLEAN_TRIGGER, CLEAN_POLICY, *clean_thresholds(settings)),
        retains=retained or "",
    )


def kept_by_cleaning(look: Cleanable, settings: Settings) -> Kept | None:
    """What cleaning should keep by its settings, if nothing were pending; None if it keeps everything."""
    versions = settings.number(CLEAN_VERSIONS) if settings.word(CLEAN_POLICY) not in _KEPT else 0
    completed = frozenset(entry.time for entry in completed_commits(look.timeline))
    pending = {entry.time for entry in look.timeline.writes() if entry.pending}
    retained, _ = earliest_retained(look.timeline.without(pending), settings, look.now)
    if not versions and retained is None:
        return None
    return Kept(versions, retained or "", completed, min(completed, default=""))


def _blocks(look: Cleanable, settings: Settings, waiting: Instant | None) -> Iterator[Blocker]:
    if waiting is not None:
        because = f"a pending clean ({waiting.state.name}): the next run executes its plan, and makes no new one"
        yield Blocker(PENDING, waiting.time, because)
    retained, pending = earliest_retained(look.timeline, settings, look.now, (COMPACTION,))
    free, _ = earliest_retained(look.timeline.without([pending.time]), settings, look.now) if pending else (None, None)
    if pending is not None:
        because = f"the oldest pending write ({pending.action} {pending.state.name}): without it, "
        because += (
            f"cleaning would keep fewer commits: only those from {free} on" if free else "cleaning would delete more"
        )
        yield Blocker(PENDING, pending.time, because)
    for entry in look.timeline.savepoints():
        if entry.time < (free or retained or ""):
            yield Blocker(
                SAVEPOINT, entry.time, "a savepoint older than the commits that cleaning keeps: its files are kept"
            )


def _would(due: bool, waiting: Instant | None, retained: str | None, settings: Settings) -> str:
    if waiting is not None:
        return f"finish the pending clean {waiting.time}"
    if not due:
        return "plan no clean: too few commits since the last one"
    policy = settings.word(CLEAN_POLICY)
    if policy not in _KEPT:
        return f"keep {count_of(settings.number(CLEAN_VERSIONS), 'version')} of each file group, and delete older ones"
    if retained is None:
        return f"delete nothing: {_KEPT[policy].key}={settings.text(_KEPT[policy])} keeps all commits"
    return f"keep all commits from {retained} on, and each file group's newest version before it; delete older versions"
