"""``timeline show``: one row for each instant, active and archived."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import chain, groupby, islice

from hudictl.errors import HudictlError, StorageFailed, Unreadable
from hudictl.formats import commit_metadata
from hudictl.formats import instants as fmt
from hudictl.formats.archived_timeline import ArchivedInstant, check_written
from hudictl.formats.avro import Body
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.instants import WRITE_ACTIONS, Instant, InstantFile, State, order
from hudictl.phrases import count_of
from hudictl.reports.detail import DETAILED, Detail, decode_detail, read_detail
from hudictl.table.table import Table
from hudictl.table.timeline.active import timeline_in_order
from hudictl.table.timeline.archive import (
    archive_ranges,
    archived_in_order,
    at_one_time,
    keep_or_raise,
    newest_archived,
    read_bodies,
)
from hudictl.table.timeline.commits import read_commit

ACTIVE = "active"
ARCHIVED = "archived"
BOTH = "both"
"""Archived, but still on the active timeline: archiving was interrupted, or is running."""

_READ = WRITE_ACTIONS | DETAILED
"""The actions of which an instant's body is read."""

Entry = Instant | InstantFile | ArchivedInstant
"""An instant in any form; an InstantFile has an unknown action."""


@dataclass(frozen=True)
class TimelineRow:
    """One instant. ``timeline`` is active, archived or both. UTC columns are None if the table's zone is not known;
    ``problem`` says what is damaged. ``target`` is the instant that a rollback removes, that a restore restores to, or
    the first of which a clean keeps all files; ``detail`` says the same in words."""

    time: str
    action: str
    state: str
    completion_time: str | None
    timeline: str
    requested_utc: str | None = None
    completed_utc: str | None = None
    duration_ms: int | None = None
    operation: str | None = None
    partitions: int | None = None
    files: int | None = None
    records: int | None = None
    bytes: int | None = None
    problem: str | None = None
    target: str | None = None
    detail: str | None = None


@dataclass(frozen=True)
class TimelineFilter:
    """Times are prefixes of instant times; both ends are included. ``limit`` is how many of the newest are shown."""

    actions: Collection[str] = ()
    states: Collection[str] = ()
    since: str = ""
    until: str = "~"
    limit: int | None = None
    descending: bool = False
    archived: bool = False


def timeline_rows(table: Table, wanted: TimelineFilter) -> Iterator[TimelineRow]:
    """The timeline, oldest first by default. Only the shown instants of the active timeline are read. Of an archive of
    layout 2, only files that may contain shown instants are read. Raises Unreadable: the timeline folder is missing;
    or, behind the last row, a file of the archive is damaged."""

    def read() -> tuple[list[TimelineRow], list[Unreadable]]:
        damaged: list[Unreadable] = []
        return list(rows_of(table, instants_shown(table, wanted, damaged))), damaged

    rows, damaged = at_one_time(read)
    yield from rows
    tell_damaged(damaged)


def instants_readable(table: Table, wanted: TimelineFilter) -> tuple[list[tuple[Entry, str]], list[Unreadable]]:
    """The instants as ``instants_shown`` has them, without those of damaged files of the archive, and an error for each
    such file. Raises Unreadable: the timeline folder is missing."""

    def read() -> tuple[list[tuple[Entry, str]], list[Unreadable]]:
        damaged: list[Unreadable] = []
        return instants_shown(table, wanted, damaged), damaged

    return at_one_time(read)


def tell_damaged(damaged: Sequence[Unreadable]) -> None:
    """Raises Unreadable: files of the archive are damaged, and the rows were those of the others."""
    if damaged:
        more = f"; {count_of(len(damaged) - 1, 'other file')} cannot be read either" if len(damaged) > 1 else ""
        message = f"not all archived instants are shown: {damaged[0].message}{more}"
        raise Unreadable(message, hint="`hudictl archive repair` mends the archive", **damaged[0].fields)


def instants_shown(
    table: Table, wanted: TimelineFilter, damaged: list[Unreadable] | None = None
) -> list[tuple[Entry, str]]:
    """The instants, each with the timeline that it is on. No instant is read.

    Args:
        damaged: gets an error for each damaged file of the archive, whose instants are left out.

    Raises:
        FileNotFoundError: see ``at_one_time``.
        Unreadable: the timeline folder is missing; or, without ``damaged``, such a file.
    """
    # A limit is on the newest, whatever the order in which they are shown.
    newest_first = wanted.descending or wanted.limit is not None
    entries: Iterator[Entry] = timeline_in_order(table, newest_first=newest_first)
    if wanted.archived:
        entries = _with_archived(table, entries, wanted, newest_first, damaged)
    once = (_one(list(same)) for _, same in groupby(entries, key=order))
    shown = list(islice((found for found in once if _shown(found[0], wanted)), wanted.limit))
    return shown if wanted.descending == newest_first else shown[::-1]


def _with_archived(
    table: Table,
    active: Iterator[Entry],
    wanted: TimelineFilter,
    newest_first: bool,
    damaged: list[Unreadable] | None,
) -> Iterator[Entry]:
    """Both timelines, sorted. What is newer than all archived instants needs no look into the archive."""
    # The active one is listed first: what is archived meanwhile is in both, and not in neither.
    active = chain(list(islice(active, 1)), active)
    try:
        ranges = archive_ranges(table)
    except Unreadable as error:
        keep_or_raise(error, damaged)
        yield from active
        return
    if newest_first:
        newest = newest_archived(table, ranges)
        for entry in active:
            if entry.time <= newest:
                active = chain([entry], active)
                break
            yield entry
    until = wanted.until + "~"
    archived = archived_in_order(table, wanted.since, until, newest_first=newest_first, ranges=ranges, damaged=damaged)
    yield from merge(active, archived, key=order, reverse=newest_first)


def _one(entries: list[Entry]) -> tuple[Entry, str]:
    """An instant is shown once: from the active timeline if possible, in its last state."""
    active = [entry for entry in entries if not isinstance(entry, ArchivedInstant)]
    if not active:
        return entries[0], ARCHIVED
    return max(active, key=lambda entry: entry.state), ACTIVE if len(active) == len(entries) else BOTH


def _shown(entry: Entry, wanted: TimelineFilter) -> bool:
    if isinstance(entry, InstantFile) and (wanted.actions or wanted.states):
        return False
    return (
        (not wanted.actions or entry.action in wanted.actions)
        and (not wanted.states or entry.state.name.lower() in wanted.states)
        and wanted.since <= entry.time <= wanted.until + "~"
    )


def rows_of(table: Table, shown: Sequence[tuple[Entry, str]]) -> Iterator[TimelineRow]:
    """The rows of ``instants_shown``. Raises FileNotFoundError: see ``at_one_time``."""
    archived = [entry for entry, _ in shown if isinstance(entry, ArchivedInstant) and entry.action in _READ]
    read: dict[Entry, TimelineRow] = {}
    for _, same in groupby(sorted(archived, key=lambda entry: entry.file), key=lambda entry: entry.file):
        members = list(same)
        try:
            # One body at a time: they can be very many bytes.
            for one, body, _ in read_bodies(table, members, plans=False):
                read[one] = _row(table, one, ARCHIVED, body)
        except Unreadable as error:
            lost = (one for one in members if one not in read)
            read |= {one: replace(_row(table, one, ARCHIVED, b""), problem=error.message) for one in lost}
    for entry, where in shown:
        if isinstance(entry, InstantFile):
            problem = f"unknown action {entry.action!r}: written by a newer Hudi?"
            yield TimelineRow(entry.time, entry.action, entry.state.name, entry.completion_time, where, problem=problem)
        elif isinstance(entry, ArchivedInstant) and entry in read:
            yield read[entry]
        else:
            yield _row(table, entry, where, b"")


def _commit(table: Table, instant: Instant | ArchivedInstant, body: Body) -> CommitMetadata:
    if isinstance(instant, Instant):
        return read_commit(table, instant)
    return commit_metadata.decode(body, _name(instant))


def _detail(table: Table, instant: Instant | ArchivedInstant, body: Body) -> Detail:
    if isinstance(instant, Instant):
        return read_detail(table, instant)
    return decode_detail(instant.action, body, instant.state is not State.COMPLETED, _name(instant))


def _name(entry: ArchivedInstant) -> str:
    return f"{entry.time}.{entry.action} in {entry.file}"


def _row(table: Table, instant: Instant | ArchivedInstant, where: str, body: Body) -> TimelineRow:
    """Args: body: of an archived instant; of an active one it is read here."""
    metadata, detail, problem = None, Detail(), None
    try:
        if isinstance(instant, ArchivedInstant):
            check_written(instant, body)
        if instant.action in WRITE_ACTIONS:
            metadata = _commit(table, instant, body)
        elif instant.action in DETAILED:
            detail = _detail(table, instant, body)
    except StorageFailed:
        # The file may be whole.
        raise
    except HudictlError as error:
        problem = error.message

    counted = metadata if metadata and not metadata.silent and instant.state is State.COMPLETED else None
    return TimelineRow(
        instant.time,
        instant.action,
        instant.state.name,
        instant.completion_time,
        where,
        *times_of(table, instant),
        metadata.operation if metadata and metadata.operation != "UNKNOWN" else None,
        len(counted.stats) if counted else None,
        counted.file_count if counted else None,
        counted.records if counted else None,
        counted.written_bytes if counted else None,
        problem,
        detail.target,
        detail.text,
    )


def times_of(table: Table, entry: Entry) -> tuple[str | None, str | None, int | None]:
    """When an instant was requested and completed, in UTC, if the table's zone is known; and its duration in ms."""
    requested, completed = (
        fmt.parse_time(text, table.zone) if text else None for text in (entry.time, entry.completion_time)
    )
    # A savepoint has its commit's time, not its own: it has no duration.
    timed = requested and completed and entry.action != fmt.SAVEPOINT
    duration = int((completed - requested).total_seconds() * 1000) if timed and completed and requested else -1
    return (
        fmt.utc_text(requested) if table.zone else None,
        fmt.utc_text(completed) if table.zone else None,
        # Layout 1 has the modification time: whole seconds on some file systems, and any zone.
        duration if duration >= 0 else None,
    )
