"""What the next run of a table service would do, and what blocks it: shared by archiving, cleaning and compaction.

The rules are those of the release that writes the table's version: 0.15.0, 1.0.2 or 1.2.0.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from hudictl.formats import clean
from hudictl.formats.instants import CLEAN, CLUSTERING, COMMIT_ACTIONS, Instant, State, time_plus_ms
from hudictl.state.timeline.unfinished import Remedy
from hudictl.table.settings import CLEAN_COMMITS, CLEAN_HOURS, CLEAN_POLICY, Settings, Used
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, read_instant

ARCHIVE = "archive"
CLEANING = "clean"
COMPACT = "compaction"

SAVEPOINT = "savepoint"
PENDING = "pending"
UNCOMPACTED = "uncompacted"
UNCLEANED = "uncleaned"
METADATA = "metadata-table"
MANIFEST = "manifest"

BY_COMMITS = "KEEP_LATEST_COMMITS"
BY_HOURS = "KEEP_LATEST_BY_HOURS"
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
    """What the next run of a table service would do.

    ``counted`` instants (``counts`` says which) are compared with ``threshold``. ``due``: it has work to do, if nothing
    blocks it. ``instants`` are those that it would process; ``would`` says the same in words. ``behind``: it has missed
    a whole round of its work, or cannot do enough of it; None for cleaning, where only data files show this.
    ``retains`` is the oldest commit that a clean fully keeps.
    """

    service: str
    counts: str
    counted: int
    threshold: int
    due: bool
    behind: bool | None
    would: str
    instants: tuple[str, ...]
    blocks: tuple[Blocker, ...]
    settings: tuple[Used, ...]
    retains: str = ""


@dataclass(frozen=True)
class LastClean:
    """The last completed clean, and its plan: ``earliest`` as in the plan, ``spared`` are the savepoints whose files it
    kept; ``last_commit`` is the last commit when it was planned."""

    time: str
    earliest: str
    spared: tuple[str, ...]
    last_commit: str


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
    return LastClean(
        cleans[-1].time,
        (planned.earliest if planned else None) or "",
        planned.savepoints if planned else (),
        done.last_commit if done else "",
    )


def completed_commits(timeline: Timeline) -> list[Instant]:
    """What Hudi counts as commits, including completed compactions and clusterings."""
    return [entry for entry in timeline.instants if entry.completed and entry.action in COMMIT_ACTIONS]


def earliest_retained(
    timeline: Timeline, settings: Settings, latest: str, besides: Sequence[str] = ()
) -> tuple[str | None, Instant | None]:
    """The oldest commit that cleaning fully keeps by its settings, and the pending instant because of which it is an
    older one, if any. None as the commit: cleaning deletes nothing, or counts file versions.

    Args:
        latest: the time from which hours are counted back.
        besides: actions that count when pending, in addition to those of commits.
    """
    commits = completed_commits(timeline)
    if settings.word(CLEAN_POLICY) == BY_HOURS:
        with suppress(ValueError):
            bound = time_plus_ms(latest, -settings.number(CLEAN_HOURS) * _HOUR_MS)
            return next((entry.time for entry in commits if entry.time >= bound), None), None
        return None, None

    kept = settings.number(CLEAN_COMMITS)
    if settings.word(CLEAN_POLICY) != BY_COMMITS or len(commits) <= kept or not kept:
        return None, None
    first = commits[-kept]
    actions = (*COMMIT_ACTIONS, CLUSTERING, *besides)
    pending = next((entry for entry in timeline.having(*actions) if entry.pending), None)
    if pending is None or first.time <= pending.time:
        return first.time, None
    return max((entry.time for entry in commits if entry.time < pending.time), default=None), pending
