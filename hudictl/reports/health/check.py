"""What ``check`` tells: every family of findings, one after the other."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from hudictl.engine.base import Engine
from hudictl.errors import Unreadable, Unsupported
from hudictl.formats import savepoint
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.instants import State
from hudictl.reports.health import archive, commits, files, hashing, indexes, metadata, storage, timeline, writes
from hudictl.reports.health.finding import Finding, Look, unreadable
from hudictl.state.facts import Facts, Signs, named_partitions, read_signs
from hudictl.state.metadata_gap import read_known
from hudictl.table.commits import Commits, read_commit
from hudictl.table.file_view import sweep
from hudictl.table.heartbeats import list_heartbeats
from hudictl.table.locks.lock_files import find_locks
from hudictl.table.metadata_table import Known
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, load_timeline, read_instant

Family = Callable[[Look], Iterator[Finding]]
FAMILIES: tuple[Family, ...] = (
    timeline.unfinished,
    timeline.contents,
    timeline.names,
    archive.torn_end,
    archive.unread,
    writes.failed_writes,
    writes.locks,
    commits.without_content,
    commits.base_files,
    files.missing,
    files.savepoints,
    files.orphans,
    files.blocks_ahead,
    files.strangers,
    storage.table_properties,
    storage.metadata_table,
    hashing.hashing_metadata,
    indexes.definitions,
    indexes.holding_removed,
    metadata.listing,
    metadata.files,
    storage.sidecars,
    files.sidecars,
    writes.markers,
    writes.heartbeats,
    storage.temporary_files,
)


def check_table(
    table: Table, engine: Engine, idle_ms: int, note: Callable[[str], None] = lambda _: None
) -> list[Finding]:
    """Looks at everything. A metadata file that cannot be read is a finding, and ends what rests on it alone.

    Args:
        idle_ms: how long something must have been silent to count as dead.

    Raises:
        StorageFailed, EngineFailed; Conflict: a file of the timeline vanished while it was read.
    """
    found: list[Finding] = []
    engine.start()
    signs = _signs(table, found)
    read = _commits(table, signs.timeline)
    known = _known(table)
    engine.ready()

    note("listing partitions")
    named = named_partitions(signs, read, _savepointed(table, signs.timeline), known)
    facts = Facts(table, signs, read, sweep(table, engine, named), known)

    for family in FAMILIES:
        note(family.__name__.replace("_", " "))
        try:
            # One by one: what was found before a damaged file counts.
            for finding in family(Look(facts, engine, idle_ms)):
                found.append(finding)
        except Unreadable as error:
            found.append(unreadable(error))

    return list({(finding.finding, finding.subject): finding for finding in found}.values())


def _signs(table: Table, found: list[Finding]) -> Signs:
    try:
        return read_signs(table)
    except Unreadable as error:
        # A damaged restore: nothing can be told of operations then, and of all else it can.
        found.append(unreadable(error))
        now_ms = int(time.time() * 1000)
        beats, locks = tuple(list_heartbeats(table, now_ms)), tuple(find_locks(table, now_ms))
        return Signs(load_timeline(table), (), (), beats, locks, now_ms)


def _known(table: Table) -> Known:
    """What the metadata table lists; one of an unknown table version is a finding of its own."""
    try:
        return read_known(table)
    except Unsupported as error:
        return Known(unread=error.message)


def _commits(table: Table, timeline: Timeline) -> Commits:
    found = {}
    for instant in timeline.writes():
        try:
            found[instant.time] = read_commit(table, instant)
        except Unreadable:
            # Told as what it is, with all other files of the timeline.
            found[instant.time] = CommitMetadata()
    return found


def _savepointed(table: Table, timeline: Timeline) -> set[str]:
    """The partitions that savepoints name."""
    named: set[str] = set()
    for instant in timeline.savepoints():
        file = instant.file(State.COMPLETED)
        with suppress(Unreadable):
            named |= savepoint.decode(read_instant(table, file), file.name).files.keys() if file else set()
    return named
