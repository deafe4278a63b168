"""``table show``: a table's state, and whether a writer can open it."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hudictl.errors import HudictlError, Unreadable, Unsupported
from hudictl.formats import instants as fmt
from hudictl.formats.instants import State
from hudictl.formats.layouts import METADATA_PROPERTIES, METADATA_TABLE, PROPERTIES, PROPERTIES_BACKUP
from hudictl.phrases import SEE_CHECK, command_of, first_few
from hudictl.state.facts import Signs, read_signs
from hudictl.state.services.stalled import find_stalled
from hudictl.state.timeline.ahead import commits_ahead
from hudictl.state.timeline.clean_plans import check_last_clean, pending_cleans
from hudictl.state.timeline.remedy import Remedy
from hudictl.state.timeline.unfinished import ARMED_ROLLBACK, RESUME, find_unfinished, in_words, no_writer
from hudictl.state.writable import known_timeline, writable_table
from hudictl.state.writers.activity import DEFAULT_IDLE_MS
from hudictl.state.writers.failed_writes import FAILED_WRITE, pending_writes_seen
from hudictl.table.locks.config import NOTHING_SAID, LockSign
from hudictl.table.locks.look import find_locks
from hudictl.table.metadata.definitions import check_definitions
from hudictl.table.metadata.listing import check_openable, listing_table
from hudictl.table.metadata.place import MADE_ANEW, properties_in_use, properties_lost
from hudictl.table.properties import EVERYTHING_FAILS, update_interrupted
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, empty_commits, load_timeline, pending_rollbacks
from hudictl.table.timeline.archive import check_archive_ends
from hudictl.table.timeline.commits import read_commit

_MORE = "`hudictl check` shows what else is wrong"


@dataclass(frozen=True)
class ActionCount:
    """How many instants of an action there are, by state."""

    action: str
    requested: int
    inflight: int
    completed: int


@dataclass(frozen=True)
class PendingEntry:
    """Something that has not ended. ``name`` is its finding in ``check``; ``at_work`` says why it may be running;
    ``eager_only``: only writers with eager cleaning of failed writes cannot start."""

    name: str
    instant: str
    meaning: str
    at_work: str
    writers_can_start: bool
    remedy: tuple[Remedy, ...]
    eager_only: bool = False


@dataclass(frozen=True)
class TableDescription:
    """A table's state.

    ``writers_can_start``: Hudi's writers can open the table and write. ``sound``: nothing has to be done before.
    ``pending`` are the entries that have not ended, restores and rollbacks first; ``remedy`` are the ways to end the
    most severe one. ``verdict`` and ``advice`` say the same in words.
    """

    name: str
    uri: str
    type: str
    table_version: int
    timeline_layout: int
    timezone: str
    base_file_format: str
    record_key_fields: tuple[str, ...]
    partition_fields: tuple[str, ...]
    metadata_table: bool
    metadata_partitions: tuple[str, ...]
    metadata_partitions_inflight: tuple[str, ...]
    locks: tuple[LockSign, ...]
    instants: tuple[ActionCount, ...]
    savepoints: tuple[str, ...]
    pending_writes: tuple[str, ...]
    pending_restores: tuple[str, ...]
    pending_rollbacks: tuple[str, ...]
    pending_cleans: tuple[str, ...]
    unknown_files: tuple[str, ...]
    writers_can_start: bool
    sound: bool
    pending: tuple[PendingEntry, ...]
    remedy: tuple[Remedy, ...]
    verdict: str
    advice: str


DO_NOT_START = "do not start a writer"
"""How a verdict begins where a writer can start, and rows would be lost."""


@dataclass(frozen=True)
class _Verdict:
    """The verdict on the table, and the pending entries."""

    text: str
    advice: str = ""
    writers_can_start: bool = True
    sound: bool = False
    remedy: tuple[Remedy, ...] = ()
    pending: tuple[PendingEntry, ...] = ()


def describe_table(table: Table) -> TableDescription:
    """The table's state, with a verdict. Damaged instant files do not stop it."""
    timeline = load_timeline(table)
    rollbacks = tuple(str(entry) for entry, _ in pending_rollbacks(table, timeline))
    now_ms = int(time.time() * 1000)
    locks = tuple(find_locks(table, now_ms))
    verdict = _verdict(table, timeline, locks)
    return TableDescription(
        name=table.name,
        uri=table.uri,
        type=table.type,
        table_version=table.version,
        timeline_layout=table.layout.version,
        timezone=table.properties.get("hoodie.table.timeline.timezone", "LOCAL"),
        base_file_format=table.base_file_format,
        record_key_fields=table.record_key_fields,
        partition_fields=table.partition_fields,
        metadata_table=table.storage.has_folder(METADATA_TABLE),
        metadata_partitions=table.metadata_partitions,
        metadata_partitions_inflight=table.metadata_partitions_inflight,
        locks=locks,
        instants=_counts(timeline),
        savepoints=tuple(entry.time for entry in timeline.savepoints()),
        pending_writes=tuple(str(entry) for entry in timeline.writes() if entry.pending),
        pending_restores=tuple(str(entry) for entry in timeline.having(fmt.RESTORE) if entry.pending),
        pending_rollbacks=rollbacks,
        pending_cleans=tuple(str(entry) for entry in pending_cleans(timeline)),
        unknown_files=tuple(file.name for file in timeline.unknown),
        writers_can_start=verdict.writers_can_start,
        sound=verdict.sound,
        pending=verdict.pending,
        remedy=verdict.remedy,
        verdict=verdict.text,
        advice=verdict.advice or in_words(verdict.remedy),
    )


def _counts(timeline: Timeline) -> tuple[ActionCount, ...]:
    actions = sorted({instant.action for instant in timeline.instants})
    counts = []
    for action in actions:
        states = [instant.state for instant in timeline.having(action)]
        counts.append(ActionCount(action, *(states.count(state) for state in State)))
    return tuple(counts)


def _verdict(table: Table, timeline: Timeline, locks: tuple[LockSign, ...]) -> _Verdict:
    """One line on the table's health, and how to mend it; only the most severe problem."""
    try:
        writable_table(table, NOTHING_SAID)
        known_timeline(table, timeline)
        signs = read_signs(table, loaded=timeline)
        _check_openable(table, timeline)
        operations = (*_operations(table, signs),)
        pending = (*operations, *_services(table, signs), *_writes(table, signs))
    except HudictlError as error:
        # Hudi's writers may still be able to write; this cannot be determined.
        hint = error.hint or (SEE_CHECK if isinstance(error, Unreadable) else "")
        return _Verdict(error.message, hint, writers_can_start=False)

    for path, backup in properties_in_use(table):
        if update_interrupted(table.storage, path, backup) == EVERYTHING_FAILS:
            way = Remedy(RESUME, "the backup is put in its place")
            return _Verdict(
                f"no writer can start: {path}: {EVERYTHING_FAILS}", "", False, remedy=(way,), pending=pending
            )
    if operations:
        return _of_operation(pending)
    stops = [entry for entry in pending if not entry.writers_can_start and not entry.at_work]
    if stops:
        first = min(stops, key=lambda entry: entry.eager_only)
        said = f"{_stopped(stops)}: {first.instant}: {first.meaning}"
        return _Verdict(said, "", False, remedy=first.remedy, pending=pending)
    held = [lock.path for lock in locks if lock.held]
    if held:
        return _Verdict(
            f"writers wait: {held[0]} is held",
            f"a writer is running, or died while holding it: `{command_of('lock show')}`",
            pending=pending,
        )
    if table.storage.stat(PROPERTIES_BACKUP) is not None:
        said = f"a writer can open the table; an update of {PROPERTIES} was interrupted"
        return _Verdict(said, "the next update repairs it", pending=pending)
    for found in commits_ahead(table, timeline):
        return _Verdict(f"a writer can open the table; {found.instant}: {found.meaning}", _MORE, pending=pending)
    empty = [file.name for file in empty_commits(timeline)]
    if empty:
        said = f"a writer can open the table; {first_few(empty)} is empty: the files of this commit are not known"
        return _Verdict(said, _MORE, pending=pending)
    return _of_writes(signs.timeline, pending)


def _check_openable(table: Table, timeline: Timeline) -> None:
    """Reads what every reader and writer begins with: commits, the last clean, the definitions of indexes, the archive
    (version 8), the metadata table's timeline and base file. Raises Unreadable, Unsupported, Conflict."""
    _check_commits(table, timeline)
    check_last_clean(table, timeline)
    check_definitions(table)
    if table.rules.opens_with_archive:
        check_archive_ends(table)
    try:
        _check_metadata_table(table)
    except (Unreadable, Unsupported) as error:
        raise type(error)(error.message, hint=MADE_ANEW, **error.fields) from error


def _check_metadata_table(table: Table) -> None:
    """Raises Unreadable, Unsupported, Conflict."""
    lost = properties_lost(table)
    if lost:
        raise Unreadable(lost, file=METADATA_PROPERTIES)
    metadata = listing_table(table)
    if metadata is not None:
        if metadata.version > table.version:
            other = f"the metadata table has table version {metadata.version}, but the table has {table.version}"
            raise Unreadable(
                f"{METADATA_PROPERTIES}: {other}. The table's writers do not know the newer version",
                file=METADATA_PROPERTIES,
            )
        _check_commits(metadata, load_timeline(metadata))
        check_openable(metadata)


def _check_commits(table: Table, timeline: Timeline) -> None:
    """Reads the newest completed write, and all replacecommits: every view of the table begins with these."""
    writes = timeline.completed_writes()
    newest = max((entry.time for entry in writes), default="")
    for entry in writes:
        if entry.time == newest or entry.action == fmt.REPLACECOMMIT:
            read_commit(table, entry)


def _operations(table: Table, signs: Signs) -> Iterator[PendingEntry]:
    for entry in find_unfinished(table, signs, DEFAULT_IDLE_MS):
        yield PendingEntry(
            entry.name,
            entry.instant,
            entry.meaning,
            entry.at_work,
            entry.writers_can_start,
            entry.remedy,
            entry.eager_only,
        )


def _services(table: Table, signs: Signs) -> Iterator[PendingEntry]:
    for entry in find_stalled(table, signs.timeline, signs.now_ms, DEFAULT_IDLE_MS):
        yield PendingEntry(entry.name, entry.instant, entry.meaning, entry.at_work, True, entry.remedy)


def _writes(table: Table, signs: Signs) -> Iterator[PendingEntry]:
    """Pending writes without rollback or restore. Data files are not listed: markers are created before them."""
    for row in pending_writes_seen(table, signs, DEFAULT_IDLE_MS, None):
        if row.rollback is None and row.restore is None:
            at_work = "" if row.abandoned else row.reason
            yield PendingEntry(
                FAILED_WRITE, row.name, row.reason, at_work, row.writers_can_start, row.remedy, row.eager_only
            )


def _of_operation(pending: tuple[PendingEntry, ...]) -> _Verdict:
    first = pending[0]
    can_start = all(entry.writers_can_start for entry in pending)
    opens = "a writer can open the table" if can_start else _stopped(pending)
    if first.name == ARMED_ROLLBACK and not first.at_work and all(map(_some_can_start, pending)):
        opens = DO_NOT_START
    if first.at_work:
        advice = "wait until it ends, then run this command again"
        return _Verdict(f"{opens}: {first.instant}: {first.at_work}", advice, can_start, pending=pending)
    by_hand = "" if first.remedy else "no hudictl command ends it: see the verdict"
    return _Verdict(
        f"{opens}: {first.instant}: {first.meaning}", by_hand, can_start, remedy=first.remedy, pending=pending
    )


def _some_can_start(entry: PendingEntry) -> bool:
    return entry.writers_can_start or entry.eager_only


def _stopped(pending: Sequence[PendingEntry]) -> str:
    stops = [entry for entry in pending if not entry.writers_can_start]
    return no_writer(eager_only=all(entry.eager_only for entry in stops))


def _of_writes(timeline: Timeline, pending: tuple[PendingEntry, ...]) -> _Verdict:
    left = [entry for entry in pending if not entry.at_work]
    if left:
        said = f"a writer can open the table; unfinished: {', '.join(entry.instant for entry in left)}"
        by_hand = "" if left[0].remedy else left[0].meaning
        return _Verdict(said, by_hand, remedy=left[0].remedy, pending=pending)
    if pending:
        said = f"not completed: {'; '.join(f'{entry.instant} ({entry.at_work})' for entry in pending)}"
        return _Verdict(said, sound=True, pending=pending)
    planned = first_few([str(entry) for entry in timeline.instants if entry.pending], rest=" and {:,} more")
    said = f"waiting: {planned}" if planned else "nothing is pending"
    return _Verdict(f"a writer can open the table; {said}", "`hudictl check` verifies its files", sound=True)
