"""Instants and the names of their files, in timeline layouts 0, 1 and 2 (checked on Hudi 0.15.0, 1.0.2 and 1.2.0)."""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone, tzinfo
from enum import IntEnum
from operator import attrgetter
from typing import NamedTuple, Protocol

from hudictl.errors import Unreadable

COMMIT = "commit"
DELTACOMMIT = "deltacommit"
REPLACECOMMIT = "replacecommit"
COMPACTION = "compaction"
LOGCOMPACTION = "logcompaction"
CLUSTERING = "clustering"
CLEAN = "clean"
ROLLBACK = "rollback"
RESTORE = "restore"
SAVEPOINT = "savepoint"
INDEXING = "indexing"

ACTIONS = frozenset(
    {
        *(COMMIT, DELTACOMMIT, REPLACECOMMIT, COMPACTION, LOGCOMPACTION, CLUSTERING),
        *(CLEAN, ROLLBACK, RESTORE, SAVEPOINT, INDEXING),
    }
)
COMMIT_ACTIONS = frozenset((COMMIT, DELTACOMMIT, REPLACECOMMIT))
"""The actions that complete a write."""
WRITE_ACTIONS = COMMIT_ACTIONS | {COMPACTION, LOGCOMPACTION, CLUSTERING}
"""Hudi's write timeline: what a restore removes."""

# A pending table service completes under another action (and clustering only has a name of its own in layout 2).
COMPLETES_AS = {COMPACTION: COMMIT, LOGCOMPACTION: DELTACOMMIT, CLUSTERING: REPLACECOMMIT}
PENDING_ONLY = frozenset(COMPLETES_AS)

TIME_FORMAT_DIGITS = 17
INITIAL = "0" * 14
"""The beginning of the instants of a metadata table that build a partition. Below version 8 later builds have others.
"""
SKELETONS = "0" * 13 + "1"
"""The time of a bootstrap of metadata only: its base files have Hudi's own columns, and the rows are in the source."""
BOOTSTRAPS = frozenset({SKELETONS, "0" * 13 + "2"})
"""With that of a bootstrap of whole records: no times of a clock (0.15.0 to 1.2.0)."""
_NAME = re.compile(r"([0-9]+)(?:_([0-9]+))?\.([A-Za-z]+)(?:\.([A-Za-z]+))?\Z")


class State(IntEnum):
    """The states of an instant, in the order in which the later one wins."""

    REQUESTED = 0
    INFLIGHT = 1
    COMPLETED = 2


class _Entry(Protocol):
    """An instant of a timeline, whole or one of its files."""

    @property
    def time(self) -> str: ...

    @property
    def action(self) -> str: ...


_by_state = attrgetter("state", "name")
_PENDING = {"requested": State.REQUESTED, "inflight": State.INFLIGHT}


class InstantFile(NamedTuple):
    """One file of an instant. ``action`` is as in the name, also where hudictl does not know it."""

    name: str
    time: str
    action: str
    state: State
    completion_time: str | None = None

    @property
    def known(self) -> bool:
        return self.action in ACTIONS


class Instant(NamedTuple):
    """An instant with all its files. ``completion_time`` is None while pending, in layout 1 derived from the mtime."""

    time: str
    action: str
    state: State
    completion_time: str | None
    files: tuple[InstantFile, ...]

    @property
    def completed(self) -> bool:
        return self.state is State.COMPLETED

    @property
    def pending(self) -> bool:
        return self.state is not State.COMPLETED

    @property
    def is_write(self) -> bool:
        return self.action in WRITE_ACTIONS

    @property
    def names(self) -> frozenset[str]:
        """The names of its files."""
        return frozenset(file.name for file in self.files)

    @property
    def completed_files(self) -> tuple[InstantFile, ...]:
        """The files that complete it: more than one, where two processes did."""
        return tuple(file for file in self.files if file.state is State.COMPLETED)

    def file(self, state: State, action: str | None = None) -> InstantFile | None:
        """The file of a state (and action, where several variants of one state are there)."""
        for file in self.files:
            if file.state is state and action in (None, file.action):
                return file
        return None

    def __str__(self) -> str:
        return f"{self.time} {self.action} {self.state.name}"


def parse_instant_file(name: str, layout: int) -> InstantFile | None:
    """Parses a file name of a timeline folder.

    Args:
        name: the file's name, without folder.
        layout: timeline layout version, 0 to 2.

    Returns:
        None for a name that is no instant's: sidecars, temporary files, ``hoodie.properties``. A name of an
        instant's form with an action that hudictl does not know comes back with ``known`` False.
    """
    match = _NAME.match(name)
    if match is None:
        return None
    time, completion_time, action, state = match.groups()
    if completion_time is not None and (layout < 2 or state is not None):
        return None
    if state is None:
        if action == "inflight":
            return InstantFile(name, time, COMMIT, State.INFLIGHT)
        return None if action in PENDING_ONLY else InstantFile(name, time, action, State.COMPLETED, completion_time)
    if state not in _PENDING:
        return None
    if (action == CLUSTERING and layout < 2) or (action == SAVEPOINT and state == "requested"):
        return None
    return InstantFile(name, time, action, _PENDING[state])


def time_in_name(name: str) -> str:
    """The requested time in the name of an instant's file; of another name its beginning."""
    return name.partition(".")[0].partition("_")[0]


def instant_file_name(time: str, action: str, state: State, layout: int, completion_time: str | None = None) -> str:
    """The name of an instant's file; layout 2 needs the completion time of a completed one. Raises ValueError: a
    completed file of layout 2 without completion time, or a state that the action never has."""
    if state is not State.COMPLETED:
        if action == COMMIT and state is State.INFLIGHT:
            return f"{time}.inflight"
        if action == SAVEPOINT and state is State.REQUESTED:
            raise ValueError("a savepoint has no requested state")
        return f"{time}.{action}.{state.name.lower()}"
    if action in PENDING_ONLY:
        raise ValueError(f"{action} completes as {COMPLETES_AS[action]}")
    if layout < 2:
        return f"{time}.{action}"
    if completion_time is None:
        raise ValueError("a completed instant of layout 2 has a completion time in its name")
    return f"{time}_{completion_time}.{action}"


def comparable_action(action: str) -> str:
    """Maps a pending table service to the action that it completes as; files of one instant share it."""
    return COMPLETES_AS.get(action, action)


def order(entry: _Entry) -> tuple[str, str]:
    """By which a timeline is sorted, and entries are one instant: the requested time, and the action as which it
    completes."""
    return entry.time, comparable_action(entry.action)


def group_instants(files: Iterable[InstantFile]) -> tuple[Instant, ...]:
    """Groups files to instants; the highest state wins, as in Hudi's timeline. Sorted by ``order``."""
    groups: dict[tuple[str, str], list[InstantFile]] = {}
    for file in files:
        groups.setdefault(order(file), []).append(file)
    instants = []
    for (time, _), members in sorted(groups.items()):
        by_state = tuple(sorted(members, key=_by_state))
        last = by_state[-1]
        instants.append(Instant(time, last.action, last.state, last.completion_time, by_state))
    return tuple(instants)


_ENDS = ("00010101", "99991231")


def parse_time(text: str, zone: tzinfo | None) -> datetime | None:
    """An instant time as a date in the zone (None: of this host); None where it is none (a reserved time, 001).

    14 digits mean the last millisecond of that second, more than 17 digits are cut (Hudi 0.10 to 1.2). Nor is it one on
    the first or last day of the calendar: in another zone it has no date.
    """
    digits = text + "999" if len(text) == 14 else text[:TIME_FORMAT_DIGITS]
    if len(digits) != TIME_FORMAT_DIGITS or not digits.isdigit():
        return None
    try:
        # Faster than strptime: a timeline has very many.
        year, month, day = int(digits[:4]), int(digits[4:6]), int(digits[6:8])
        hour, minute, second = int(digits[8:10]), int(digits[10:12]), int(digits[12:14])
        moment = datetime(year, month, day, hour, minute, second, int(digits[14:]) * 1000, zone)
        return moment if digits[:8] not in _ENDS else None
    except ValueError:
        return None


def format_time(moment: datetime) -> str:
    """A date as instant time, ``yyyyMMddHHmmssSSS`` in the date's own zone."""
    # Faster than strftime, whose ``%Y`` writes the year 383 with three digits.
    day = f"{moment.year:04d}{moment.month:02d}{moment.day:02d}"
    return f"{day}{moment.hour:02d}{moment.minute:02d}{moment.second:02d}{moment.microsecond // 1000:03d}"


def utc_text(moment: datetime | None) -> str | None:
    """A date in UTC, ISO 8601 with milliseconds."""
    return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds") if moment else None


def utc_text_of_ms(epoch_ms: int) -> str:
    """Epoch milliseconds in UTC, ISO 8601 with milliseconds."""
    return datetime.fromtimestamp(epoch_ms / 1000, timezone.utc).isoformat(timespec="milliseconds")


def time_plus_ms(text: str, milliseconds: int) -> str:
    """An instant time some milliseconds later, on the clock face (no zone needed). Raises Unreadable: the text is not
    an instant time of 14 or more digits, or the result is not in the years 1 to 9999."""
    moment = parse_time(text, timezone.utc)
    if moment is None:
        raise Unreadable(f"{text!r} is not an instant time")
    try:
        return format_time(moment + timedelta(milliseconds=milliseconds))
    except OverflowError as error:
        raise Unreadable(f"{text!r} and {milliseconds:,} ms are no instant time: {error}") from error
