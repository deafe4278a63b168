"""Savepoints: which files each protects, and which ones are hudictl's own."""

from collections.abc import Iterator
from contextlib import suppress

from hudictl.errors import Refused, Unreadable
from hudictl.formats.file_names import data_path
from hudictl.formats.instants import COMMIT_ACTIONS, SAVEPOINT, Instant, State
from hudictl.formats.savepoint import SavepointMetadata, decode
from hudictl.state.targets import what_it_may_be
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, read_instant

PROTECTION_COMMENT = "hudictl: protects the target of restore "


def savepointed_files(table: Table, timeline: Timeline) -> dict[str, str]:
    """The paths of all files that savepoints name, with one such savepoint. Raises Unreadable."""
    return {
        data_path(partition, name): time
        for time, metadata in _savepoints(table, timeline)
        for partition, names in metadata.files.items()
        for name in names
    }


def savepointed_partitions(table: Table, timeline: Timeline) -> set[str]:
    """The partitions with files in savepoints. Raises Unreadable."""
    found = (metadata.files.items() for _, metadata in _savepoints(table, timeline))
    return {partition for files in found for partition, names in files if names}


def _savepoints(table: Table, timeline: Timeline) -> Iterator[tuple[str, SavepointMetadata]]:
    for instant in timeline.savepoints():
        file = instant.file(State.COMPLETED)
        if file is not None:
            yield instant.time, decode(read_instant(table, file), file.name)


def readable_savepoints(table: Table, timeline: Timeline) -> Iterator[tuple[Instant, SavepointMetadata]]:
    """The completed savepoints, without unreadable ones."""
    for instant in timeline.savepoints():
        file = instant.file(State.COMPLETED)
        with suppress(Unreadable):
            if file is not None:
                yield instant, decode(read_instant(table, file), file.name)


def readable_partitions(table: Table, timeline: Timeline) -> set[str]:
    """The partitions that these savepoints name."""
    return {partition for _, metadata in readable_savepoints(table, timeline) for partition in metadata.files}


def is_protection(metadata: SavepointMetadata) -> bool:
    """Whether a savepoint is hudictl's own."""
    return metadata.comment.startswith(PROTECTION_COMMENT)


def find_savepoint(table: Table, timeline: Timeline, time: str) -> SavepointMetadata:
    """The metadata of a completed savepoint.

    Raises:
        Refused: there is none; the message names those that exist.
        Unreadable.
    """
    found = read_savepoint(table, timeline, time)
    if found is None:
        names = ", ".join(entry.time for entry in timeline.savepoints()) or "none"
        commit = timeline.find(time, *COMMIT_ACTIONS)
        raise Refused(
            f"there is no savepoint {time}; savepoints of this table: {names}",
            hint=f"{time} is a commit without savepoint: `hudictl restore --to-instant {time}` restores to it"
            if commit is not None and commit.completed
            else what_it_may_be(table, timeline, time),
            savepoint=time,
        )
    return found


def read_savepoint(table: Table, timeline: Timeline, time: str) -> SavepointMetadata | None:
    """The metadata of a completed savepoint, if there is one. Raises Unreadable."""
    instant = timeline.find(time, SAVEPOINT)
    file = instant.file(State.COMPLETED) if instant else None
    return decode(read_instant(table, file), file.name) if file else None
