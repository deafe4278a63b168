"""``record find`` and ``history``: where the newest version of a record is, as queries read it, and older ones."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from posixpath import basename
from typing import Any

from hudictl.engine.base import Engine, values
from hudictl.engine.local import LocalEngine
from hudictl.errors import HudictlError, NotFound, Unreadable, Unsupported
from hudictl.formats.base_rows import RECORD_KEY
from hudictl.formats.file_names import base_format, parse_data_file
from hudictl.formats.instants import WRITE_ACTIONS
from hudictl.index_workers import File, Tried
from hudictl.phrases import count_of
from hudictl.record_workers import KeyTask, Version, versions_of
from hudictl.reports.as_of import tell_what_is_gone
from hudictl.reports.logs.merged import (
    DELETED,
    ReadSlice,
    merged_rows,
    newest_of,
    require_mergeable,
    slice_to_read,
    slices_to_read,
)
from hudictl.reports.logs.records import Wanted
from hudictl.reports.logs.slices import files_of_partition, files_of_table, slice_rows
from hudictl.reports.metadata_lookup import lookup_rows
from hudictl.reports.records import Recorded, records_of
from hudictl.reports.timeline import TimelineFilter, instants_readable, tell_damaged
from hudictl.table.files.slices import Group, StoredFile
from hudictl.table.files.view import list_partition
from hudictl.table.logs.reader import LogFile
from hudictl.table.logs.scan import REPLACED, ROLLED_BACK, UNCOMMITTED, VALID, ScanRule, judged_blocks, scan_rule
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline

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


@dataclass(frozen=True)
class RecordVersion:
    """A version of a record, in the newest file that has it; its columns as in FoundRecord. ``state`` is committed,
    pending or rolled back, or the fate of its block if readers skip it. ``visible``: queries read it now. Action,
    operation and completion are those of the instant; null if it is archived, and the archive is not asked for."""

    instant: str
    state: str | None = None
    partition: str | None = None
    file_id: str | None = None
    file: str | None = None
    kind: str | None = None
    deleted: bool | None = None
    visible: bool | None = None
    completed_utc: str | None = None
    action: str | None = None
    operation: str | None = None
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
    timeline = load_timeline(table)
    named = None if as_of else _by_index(table, key, notes)
    stored = _files(table, timeline, engine, partition, named)

    rows: list[FoundRecord] = []
    reads: list[tuple[FoundRecord, ReadSlice]] = []
    for group, read in slices_to_read(table, stored, timeline, as_of):
        row = FoundRecord(key, *group)
        if isinstance(read, Unsupported):
            rows.append(replace(row, problem=read.message))
        else:
            reads.append((row, read))
    looked_at = count_of(len(rows) + len(reads), "file group")

    found = _versions(engine, table, [read.files for _, read in reads], key)
    for (row, read), versions in zip(reads, found, strict=True):
        try:
            rows += [_filled(row, version) for version in _newest(read, versions, key)]
        except (Unreadable, Unsupported) as error:
            rows.append(replace(row, problem=error.message))

    tell_what_is_gone(table, timeline, as_of, notes)
    notes.append(f"Looked at {looked_at}{'' if named is None else ', by the record index'}.")
    if (alive := sum(row.deleted is False for row in rows)) > 1:
        notes.append(f"Queries read {alive} records with this key: duplicates.")
    return sorted(rows, key=lambda row: (row.partition, row.file_id))


def version_rows(
    table: Table, key: str, partition: str | None, wanted: TimelineFilter, engine: Engine, notes: list[str]
) -> Iterator[RecordVersion]:
    """The versions of a record that files still have, newest first; what cannot be read comes last.

    Args and errors: see ``found_rows``, ``tell_damaged``. ``notes`` gets from which instant on no version is missing.
    """
    require_mergeable(table)
    timeline, scan = load_timeline(table), scan_rule(table)
    stored = [file for file in _files(table, timeline, engine, partition, None) if not file.data.cdc]
    files = [LogFile(table.storage, table, file.partition, file.data.name, file.size or 0) for file in stored]
    rows: dict[tuple[object, ...], RecordVersion] = {}
    groups: dict[Group, list[Version]] = defaultdict(list)
    for file, of, found in zip(files, stored, _versions(engine, table, [[file] for file in files], key), strict=True):
        if isinstance(found, HudictlError):
            rows[file.path,] = RecordVersion("", None, *of.group, file.name, problem=found.message)
        elif found:
            groups[of.group] += found
    for group, versions in groups.items():
        fates = _fates([file for file, of in zip(files, stored, strict=True) if of.group == group], scan)
        try:
            visible = _visible(table, timeline, group, [file for file in stored if file.group == group], versions, key)
        except (Unreadable, Unsupported) as error:
            notes.append(f"What queries read of {group[1]} is not known: {error.message}")
            visible = None
        # Of the files that have a version the newest one stays.
        for version in sorted(versions, key=lambda version: _order(version.file)):
            row = _row(scan, group, version, fates.get((version.file, version.block)), visible)
            rows[group, row.instant, row.state, row.deleted] = row
    if groups:
        first = _complete_from(timeline, groups.values())
        notes.append(f"No version is missing from {first} on; files of older ones may have been cleaned.")
    times = {row.instant for row in rows.values()}
    writes = TimelineFilter(WRITE_ACTIONS, archived=wanted.archived)
    shown, damaged = instants_readable(table, writes)
    told = dict(records_of(table, writes, _columns_of, chosen=lambda entry: entry.time in times, listed=shown))
    for row in sorted(rows.values(), key=lambda row: row.instant, reverse=True):
        if row.problem or (wanted.since <= row.instant and row.instant[: len(wanted.until)] <= wanted.until):
            yield replace(row, **told.get(row.instant, {}))
    tell_damaged(damaged)


def _complete_from(timeline: Timeline, groups: Iterable[Sequence[Version]]) -> str:
    """A cleaner deletes the oldest file slices; but of savepoints and before them, it leaves single ones. Where the
    record was before it came to a file group is not known."""
    saved = max((entry.time for entry in timeline.savepoints()), default="")
    times = [{_order(version.file)[0] for version in versions} for versions in groups]
    return max(min((time for time in some if time > saved), default=max(some)) for some in times)


def _fates(files: Sequence[LogFile], scan: ScanRule) -> dict[tuple[str, int | None], str]:
    """Those of the blocks of all logs of a file group, by path and number."""
    named = (file for file in files if not base_format(file.name))
    logs = sorted(named, key=lambda log: (log.slice_key, _order(log.name)))
    slices = (list(members) for _, members in groupby(logs, key=lambda log: log.slice_key))
    judged = (one for some in slices for one in judged_blocks(some, {log.name for log in some}, scan))
    return {(one.log.path, one.index): one.fate.name for one in judged}


def _visible(
    table: Table, timeline: Timeline, group: Group, files: list[StoredFile], versions: list[Version], key: str
) -> set[tuple[str, int | None]]:
    """The files and blocks of the versions that queries read. Raises Unsupported, Unreadable."""
    slices = newest_of(slice_rows(table, files, timeline, None))
    if not slices:
        return set()
    read = slice_to_read(LogFile(table.storage, table, group[0], "", 0), slices, None)
    paths = {file.path for file in read.files}
    found = _newest(read, [version for version in versions if version.file in paths], key)
    return {(version.file, version.block) for version in found if not version.deleted}


def _row(
    scan: ScanRule, group: Group, version: Version, fate: str | None, visible: set[tuple[str, int | None]] | None
) -> RecordVersion:
    name = basename(version.file)
    written = version.instant or _order(name)[0]
    if fate in (None, VALID, REPLACED, UNCOMMITTED):
        fate = "committed" if scan.takes(written) else "pending" if written in scan.pending else ROLLED_BACK
    kind = "base" if version.block is None else "log"
    seen = None if visible is None else (version.file, version.block) in visible
    return RecordVersion(version.made_by or written, fate, *group, name, kind, version.deleted, seen)


def _order(path: str) -> tuple[str, bool, tuple[str, int, str, bool]]:
    """Sorts the files of a file group as they were written."""
    data = parse_data_file(basename(path))
    assert data is not None
    return data.instant, not data.is_base, data.log_order


def _columns_of(entry: Recorded) -> tuple[str, dict[str, Any]]:
    operation = (entry.done or {}).get("operationType")
    told = {"action": entry.action, "operation": operation, "completed_utc": entry.completed_utc}
    return entry.time, {**told, "problem": entry.problem}


def _key_column(table: Table) -> str:
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


def _versions(
    engine: Engine, table: Table, groups: Iterable[Sequence[LogFile]], key: str
) -> list[list[Version] | HudictlError]:
    """The versions in the files of each file group, or why they cannot be read."""
    column = _key_column(table)
    files = (tuple(File(file.path, file.size) for file in group) for group in groups)
    tasks = [KeyTask(table.storage, some, key, column) for some in files]
    where = engine if len(tasks) > _FEW else LocalEngine()
    return values(where.map("look for the record", Tried(versions_of), tasks), "read")


def _newest(read: ReadSlice, versions: list[Version] | HudictlError, key: str) -> Sequence[Version]:
    """What queries read of a file group, or that its newest version is a delete."""
    if isinstance(versions, HudictlError):
        raise versions
    if not read.logs or not versions:
        return versions
    rows = merged_rows(read, Wanted(frozenset({key})), [], with_deleted=True)
    logs = {file.path for file in read.logs}
    return [
        Version(row.file, row.index, row.instant if row.file in logs else None, row.fate == DELETED, dict(row.record))
        for row in rows
    ]


def _filled(row: FoundRecord, found: Version) -> FoundRecord:
    kind = "base" if found.block is None else "log"
    return replace(row, file=basename(found.file), kind=kind, instant=found.made_by, deleted=found.deleted)
