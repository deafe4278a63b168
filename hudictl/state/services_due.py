"""What the next run of a table service would do, and what holds it back: what archiving, cleaning and compaction share.

The rules are those of the release that writes the table's version: 0.15.0, 1.0.2 or 1.2.0.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from hudictl.formats import clean
from hudictl.formats.instants import CLEAN, CLUSTERING, COMMIT_ACTIONS, Instant, State, time_plus_ms
from hudictl.state.unfinished import Way
from hudictl.table.settings import CLEAN_COMMITS, CLEAN_HOURS, CLEAN_POLICY, Settings, Used
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, read_instant

ARCHIVE = "archive"
CLEANING = "clean"
COMPACT = "compaction"

SAVEPOINT = "savepoint"
PENDING = "pending"
UNCOMPACTED = "uncompacted"
UNCLEANED = "uncleaned"
METADATA = "metadata-table"

BY_COMMITS = "KEEP_LATEST_COMMITS"
BY_HOURS = "KEEP_LATEST_BY_HOURS"
_HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Block:
    """What holds a service back: ``kind`` is one of the words above, ``instant`` the time of the one that does it (""
    where there is none), ``remedy`` what ends it, where a command does."""

    kind: str
    instant: str
    because: str
    remedy: tuple[Way, ...] = ()


@dataclass(frozen=True)
class Due:
    """What the next run of a table service would do.

    ``counted`` instants (``counts`` says of what kind) are compared with ``threshold``. ``due``: it has something to
    do, if nothing blocks it. ``instants`` are those that it takes, and ``would`` says the same in words. ``behind``:
    it has not done for a whole round what it is due to do, or cannot do enough of it; None for cleaning, of which data
    files alone tell. ``retains`` is the oldest commit that a clean keeps whole.
    """

    service: str
    counts: str
    counted: int
    threshold: int
    due: bool
    behind: bool | None
    would: str
    instants: tuple[str, ...]
    blocks: tuple[Block, ...]
    settings: tuple[Used, ...]
    retains: str = ""


@dataclass(frozen=True)
class LastClean:
    """The last completed clean, and its plan: ``earliest`` as there, ``spared`` are the savepoints that it heeded;
    ``last_commit`` is the last commit that it saw."""

    time: str
    earliest: str
    spared: tuple[str, ...]
    last_commit: str


def read_last_clean(table: Table, timeline: Timeline) -> LastClean | None:
    """The last completed clean; None where there is none. Raises Unreadable."""
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
    """What Hudi counts as commits: completed compactions and clusterings among them."""
    return [entry for entry in timeline.instants if entry.completed and entry.action in COMMIT_ACTIONS]


def earliest_retained(
    timeline: Timeline, settings: Settings, latest: str, besides: Sequence[str] = ()
) -> tuple[str | None, Instant | None]:
    """The oldest commit that cleaning keeps whole by its settings (None: it takes nothing, or counts file versions),
    and the pending instant that moves this back, if one does.

    Args:
        latest: the time that hours count back from.
        besides: actions that count when pending, beside those of commits.
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
