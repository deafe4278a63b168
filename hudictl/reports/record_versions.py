"""``record find``: where the newest version of a record is, as queries read it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from posixpath import basename

from hudictl.engine.base import Engine, values
from hudictl.engine.local import LocalEngine
from hudictl.errors import HudictlError, NotFound, Unreadable, Unsupported
from hudictl.formats.base_rows import META_COLUMNS, RECORD_KEY
from hudictl.index_workers import File, Tried
from hudictl.phrases import count_of
from hudictl.record_workers import KeyTask, Version, versions_of
from hudictl.reports.logs.merged import DELETED, ReadSlice, merged_rows, newest_of, require_mergeable, slice_to_read
from hudictl.reports.logs.records import Wanted
from hudictl.reports.logs.slices import files_of_partition, files_of_table, slice_rows
from hudictl.reports.metadata_lookup import lookup_rows
from hudictl.table.files.slices import Group, StoredFile
from hudictl.table.files.view import list_partition
from hudictl.table.logs.reader import LogFile
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline

_COMMIT_TIME = META_COLUMNS[0]
_FEW = 16
"""So many file groups are read by threads here, and more on the engine."""


@dataclass(frozen=True)
class FoundRecord:
    """The newest version of a record in a file group. ``kind`` is base or log. ``instant`` is the write that made it:
    its _hoodie_commit_time, or that of a delete block; null in base files without Hudi's own columns. ``deleted``:
    queries do not read the record. ``problem``: what was not read; the record may be there, too."""

    key: str
    partition: str
    file_id: str
    file: str | None = None
    kind: str | None = None
    instant: str | None = None
    deleted: bool | None = None
    problem: str | None = None


def found_rows(
    table: Table, key: str, partition: str | None, as_of: str | None, engine: Engine, notes: list[str]
) -> list[FoundRecord]:
    """The newest version in each file group that has the record, by partition and file id: now, or as of an instant.

    Without ``as_of`` only the file groups are read that the record index names, if the table has one.

    Args:
        partition: look here only.
        notes: gets what was looked at, and whether the record is a duplicate.

    Raises:
        Unsupported: a table whose records hudictl does not merge, or whose keys it does not know.
        NotFound: no such partition.
        Unreadable, Conflict, StorageFailed, EngineFailed.
    """
    require_mergeable(table)
    column = key_column(table)
    timeline = load_timeline(table)
    named = None if as_of else _by_index(table, key, notes)
    stored = _files(table, timeline, engine, partition, named)

    rows: list[FoundRecord] = []
    reads: list[tuple[FoundRecord, ReadSlice]] = []
    groups = groupby(slice_rows(table, stored, timeline, as_of), key=lambda row: (row.partition, row.file_id))
    for (folder, file_id), slices in groups:
        row = FoundRecord(key, folder, file_id)
        try:
            place = LogFile(table.storage, table, folder, "", 0)
            reads.append((row, slice_to_read(place, newest_of(list(slices)), as_of)))
        except Unsupported as error:
            rows.append(replace(row, problem=error.message))
    looked_at = count_of(len(rows) + len(reads), "file group")

    files = (tuple(File(file.path, file.size) for file in read.files) for _, read in reads)
    tasks = [KeyTask(table.storage, some, key, column) for some in files]
    where = engine if len(tasks) > _FEW else LocalEngine()
    found: list[list[Version] | HudictlError] = values(where.map("find record", Tried(versions_of), tasks), "read")
    for (row, read), versions in zip(reads, found, strict=True):
        try:
            rows += _newest(read, versions, row)
        except (Unreadable, Unsupported) as error:
            rows.append(replace(row, problem=error.message))

    notes.append(f"Looked at {looked_at}{'' if named is None else ', by the record index'}.")
    if (alive := sum(row.deleted is False for row in rows)) > 1:
        notes.append(f"Queries read {alive} records with this key: duplicates.")
    return sorted(rows, key=lambda row: (row.partition, row.file_id))


def key_column(table: Table) -> str:
    """The column that has the keys. Raises Unsupported: there is none."""
    if table.properties.get("hoodie.populate.meta.fields") != "false":
        return RECORD_KEY
    fields = table.record_key_fields
    if len(fields) != 1:
        raise Unsupported(f"the table has no column {RECORD_KEY}, and {count_of(len(fields), 'record key field')}")
    return fields[0]


def _by_index(table: Table, key: str, notes: list[str]) -> set[Group] | None:
    """The file groups that the record index names; None if the table has no such index."""
    try:
        return {(row.partition or "", row.file_id or "") for row in lookup_rows(table, [key], notes) if row.found}
    except NotFound:
        return None


def _files(
    table: Table, timeline: Timeline, engine: Engine, partition: str | None, named: Collection[Group] | None
) -> list[StoredFile]:
    """The data files of the file groups that are looked at."""
    if partition is not None:
        files = files_of_partition(table, partition)
    elif named is None:
        return files_of_table(table, timeline, engine)
    else:
        files = [file for folder in sorted({of for of, _ in named}) for file in list_partition(table, folder) or ()]
    return [file for file in files if named is None or file.group in named]


def _newest(read: ReadSlice, versions: list[Version] | HudictlError, row: FoundRecord) -> Iterator[FoundRecord]:
    """What queries read of a file group, or that its newest version is a delete."""
    if isinstance(versions, HudictlError):
        raise versions
    if not read.logs:
        for found in versions:
            instant = found.row.get(_COMMIT_TIME)
            yield replace(row, file=basename(found.file), kind="base", instant=instant, deleted=False)
    elif versions:
        for one in merged_rows(read, Wanted(frozenset({row.key})), [], with_deleted=True):
            kind, instant = ("base", None) if one.block_type is None else ("log", one.instant)
            instant = one.record.get(_COMMIT_TIME) or instant
            yield replace(row, file=basename(one.file), kind=kind, instant=instant, deleted=one.fate == DELETED)
