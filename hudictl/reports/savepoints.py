"""``savepoint list`` and ``savepoint show``."""

from dataclasses import dataclass

from hudictl.errors import Unreadable
from hudictl.formats import instants as fmt
from hudictl.formats import savepoint
from hudictl.formats.instants import Instant, State
from hudictl.table.table import Table
from hudictl.table.timeline import load_timeline, read_instant


@dataclass(frozen=True)
class SavepointRow:
    """A savepoint; ``state`` is INFLIGHT if its creation was interrupted."""

    instant: str
    state: str
    created_utc: str | None
    user: str | None
    comment: str | None
    partitions: int | None
    files: int | None
    problem: str | None


@dataclass(frozen=True)
class SavepointFile:
    """A file that a savepoint protects; ``bytes`` is None if it is missing on storage."""

    partition: str
    name: str
    bytes: int | None


def savepoint_rows(table: Table) -> list[SavepointRow]:
    """All savepoints, oldest first, including those whose creation was interrupted."""
    return [_savepoint_row(table, entry) for entry in load_timeline(table).having(fmt.SAVEPOINT)]


def savepoint_files(table: Table, files: dict[str, tuple[str, ...]]) -> list[SavepointFile]:
    """The files of a savepoint with their sizes; each of its partitions is listed once."""
    rows = []
    for partition, names in files.items():
        try:
            sizes = {entry.name: entry.size for entry in table.storage.list(partition)} if names else {}
        except FileNotFoundError:
            sizes = {}
        rows += [SavepointFile(partition, name, sizes.get(name)) for name in names]
    return rows


def _savepoint_row(table: Table, instant: Instant) -> SavepointRow:
    file = instant.file(State.COMPLETED)
    if file is None:
        problem = "its creation was interrupted: it protects nothing"
        return SavepointRow(instant.time, instant.state.name, None, None, None, None, None, problem)
    try:
        metadata = savepoint.decode(read_instant(table, file), file.name)
    except Unreadable as error:
        return SavepointRow(instant.time, instant.state.name, None, None, None, None, None, error.message)
    return SavepointRow(
        instant.time,
        instant.state.name,
        fmt.utc_text_of_ms(metadata.saved_at_ms),
        metadata.saved_by,
        metadata.comment,
        sum(1 for names in metadata.files.values() if names),
        sum(len(names) for names in metadata.files.values()),
        None,
    )
