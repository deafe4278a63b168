"""``savepoint list``, with --bytes how many each holds, and ``savepoint show``."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from hudictl.engine.base import Engine
from hudictl.engine.local import LocalEngine
from hudictl.errors import StorageFailed, Unreadable
from hudictl.formats import instants as fmt
from hudictl.formats.file_names import data_path
from hudictl.formats.instants import Instant
from hudictl.reports.logs.slices import files_of_table, slice_rows
from hudictl.state.files.savepoints import read_savepoint_head, readable_savepoints, savepointed_names, tag_of
from hudictl.state.timeline.dropped import dropped_partitions, told_dropped
from hudictl.table.files.slices import StoredFile
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


def with_bytes(table: Table, rows: Sequence[SavepointRow], engine: Engine) -> list[SavepointRow]:
    """The rows with the sizes of the savepoints' files; the engine lists all data files.

    Raises Unreadable: a savepoint. StorageFailed, EngineFailed.
    """
    timeline = load_timeline(table)
    return held_bytes(table, rows, timeline, files_of_table(table, timeline, engine))


def held_bytes(
    table: Table, rows: Sequence[SavepointRow], timeline: Timeline, stored: Sequence[StoredFile]
) -> list[SavepointRow]:
    """The same with all data files, as they were listed. Raises Unreadable: a savepoint."""
    sizes = {file.path: file.size or 0 for file in stored}
    needed = set(_newest(table, stored, timeline))
    saved: dict[str, set[str]] = {}
    for time, partition, names in savepointed_names(table, timeline):
        saved.setdefault(time, set()).update(data_path(partition, name) for name in names)
    held = Counter(path for paths in saved.values() for path in paths)
    return [_with_bytes(row, saved.get(row.instant), sizes, needed, held) for row in rows]


def _with_bytes(
    row: SavepointRow,
    paths: Collection[str] | None,
    sizes: Mapping[str, int],
    needed: Collection[str],
    held: Counter[str],
) -> SavepointRow:
    if paths is None:
        return row
    own = (path for path in paths if held[path] == 1 and path not in needed)
    return replace(
        row,
        files=len(paths),
        bytes=sum(sizes.get(path, 0) for path in paths),
        own_bytes=sum(sizes.get(path, 0) for path in own),
        missing=sum(path not in sizes for path in paths),
    )


def _newest(table: Table, stored: Sequence[StoredFile], timeline: Timeline) -> Iterator[str]:
    """The files of the newest slices; with a pending compaction those of both that are read together."""
    opened = False
    for row in slice_rows(table, stored, timeline, None):
        if row.newest or opened:
            names = [log.name for log in row.logs] + ([row.base_file] if row.base_file else [])
            yield from (data_path(row.partition, name) for name in names)
        opened = row.newest and row.opened_by_compaction
