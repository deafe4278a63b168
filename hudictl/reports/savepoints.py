"""``savepoint list`` and ``savepoint show``."""

from contextlib import suppress
from dataclasses import dataclass, replace

from hudictl.engine.local import LocalEngine
from hudictl.errors import StorageFailed, Unreadable
from hudictl.formats import instants as fmt
from hudictl.formats.instants import Instant
from hudictl.state.files.savepoints import read_savepoint_head, readable_savepoints, tag_of
from hudictl.state.timeline.dropped import dropped_partitions, told_dropped
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline


@dataclass(frozen=True)
class SavepointRow:
    """A savepoint; ``state`` is INFLIGHT if its creation was interrupted. Its files are read only where a partition
    was dropped, or where they are asked for: they can be many.

    ``own_bytes`` are those of its files that neither the newest file slices have, nor another savepoint: what could be
    cleaned without it. ``missing`` are its files that are not there. ``restorable``: whether a restore would begin now,
    that deletes later savepoints. ``warning``: why it would not, or not for long. ``problem``: it cannot be read.
    """

    instant: str
    state: str
    created_utc: str | None
    user: str | None
    comment: str | None
    warning: str | None
    tag: str | None = None
    files: int | None = None
    bytes: int | None = None
    own_bytes: int | None = None
    missing: int | None = None
    restorable: bool | None = None
    problem: str | None = None


@dataclass(frozen=True)
class SavepointFile:
    """A file that a savepoint protects; ``bytes`` is None if it is missing on storage."""

    partition: str
    name: str
    bytes: int | None


def savepoint_rows(table: Table, timeline: Timeline | None = None) -> list[SavepointRow]:
    """All savepoints, newest first, including those whose creation was interrupted.

    Args:
        timeline: if it is loaded already.
    """
    timeline = timeline or load_timeline(table)
    rows = [_savepoint_row(table, timeline, entry) for entry in timeline.having(fmt.SAVEPOINT)][::-1]
    dropped: dict[str, str] = {}
    with suppress(StorageFailed):
        # What cannot be listed is for `check` to say.
        dropped = dropped_partitions(table, timeline, LocalEngine()) if rows else {}
    if not dropped:
        return rows
    threats = {
        instant.time: told_dropped(dropped, saved.files.names_in(dropped))
        for instant, saved in readable_savepoints(table, timeline, LocalEngine())
    }
    return [replace(row, warning=row.warning or threats.get(row.instant) or None) for row in rows]


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


def _savepoint_row(table: Table, timeline: Timeline, instant: Instant) -> SavepointRow:
    try:
        head = read_savepoint_head(table, timeline, instant.time)
    except Unreadable as error:
        return SavepointRow(instant.time, instant.state.name, None, None, None, None, problem=error.message)
    if head is None:
        warning = "its creation was interrupted: it protects nothing"
        return SavepointRow(instant.time, instant.state.name, None, None, None, warning)
    created = fmt.utc_text_of_ms(head.saved_at_ms)
    return SavepointRow(
        instant.time, instant.state.name, created, head.saved_by, head.comment, None, tag_of(head.comment)
    )
