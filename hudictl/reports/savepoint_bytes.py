"""``savepoint list --bytes``: how many bytes each savepoint holds, alone and with others."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from hudictl.engine.base import Engine
from hudictl.formats.file_names import data_path
from hudictl.reports.logs.slices import files_of_table, slice_rows
from hudictl.reports.savepoints import SavepointRow
from hudictl.state.files.savepoints import savepointed_names
from hudictl.table.files.slices import StoredFile
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline


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
