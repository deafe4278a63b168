"""The writes of the archive that are newer than a commit of the active timeline: archived beyond a savepoint."""

from collections.abc import Collection, Mapping

from hudictl.formats import commit_metadata
from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.instants import COMMIT_ACTIONS, SAVEPOINT, WRITE_ACTIONS, State
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline
from hudictl.table.timeline.archive import archived_after, archived_among, at_one_time, read_bodies


def writes_after(table: Table, time: str) -> dict[str, ArchivedInstant]:
    """The archived writes requested after a time, each in its last state, newest first. Raises Unreadable."""
    found: dict[str, ArchivedInstant] = {}
    for entry in archived_after(table, time):
        if entry.action in WRITE_ACTIONS and (entry.time not in found or entry.state > found[entry.time].state):
            found[entry.time] = entry
    return {time: found[time] for time in sorted(found, reverse=True)}


def archived_as_completed(table: Table, timeline: Timeline, times: Collection[str]) -> frozenset[str]:
    """Those of some times under which the archive has a completed write: readers see its rows, whatever else of it is
    pending, or gone. The archive is read only where a time is before all completed writes of the timeline that have no
    savepoint: archiving takes the oldest first, and may pass savepoints (0.15.0 to 1.2.0). Raises Unreadable."""
    saved = {entry.time for entry in timeline.having(SAVEPOINT)}
    first = min((entry.time for entry in timeline.completed_writes() if entry.time not in saved), default="~")
    old = {time for time in times if time < first}
    found = archived_among(table, old) if old else []
    return frozenset(entry.time for entry in found if entry.action in WRITE_ACTIONS and entry.state is State.COMPLETED)


def commits_of(table: Table, writes: Mapping[str, ArchivedInstant]) -> dict[str, CommitMetadata]:
    """The metadata of archived writes, as far as the archive has it. Raises Unreadable: the archive, or metadata."""

    def read() -> dict[str, CommitMetadata]:
        wanted = (entry for entry in writes.values() if entry.action in COMMIT_ACTIONS)
        return {
            entry.time: commit_metadata.decode(body, f"{entry.time} in {entry.file}")
            for entry, body, _ in read_bodies(table, wanted, plans=False)
            if body
        }

    return at_one_time(read)
