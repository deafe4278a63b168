"""The writes of the archive that are newer than a commit of the active timeline: archived beyond a savepoint."""

from collections.abc import Mapping

from hudictl.formats import commit_metadata
from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.instants import COMMIT_ACTIONS, WRITE_ACTIONS
from hudictl.table.table import Table
from hudictl.table.timeline.archive import archived_after, at_one_time, read_bodies


def writes_after(table: Table, time: str) -> dict[str, ArchivedInstant]:
    """The archived writes requested after a time, each in its last state, newest first. Raises Unreadable."""
    found: dict[str, ArchivedInstant] = {}
    for entry in archived_after(table, time):
        if entry.action in WRITE_ACTIONS and (entry.time not in found or entry.state > found[entry.time].state):
            found[entry.time] = entry
    return {time: found[time] for time in sorted(found, reverse=True)}


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
