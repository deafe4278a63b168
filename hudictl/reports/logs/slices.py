"""``file slices``: the slices of each file group that readers see, and those that a compaction would read."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hudictl.engine.base import Engine
from hudictl.errors import NotFound, Unreadable
from hudictl.formats.instants import REPLACECOMMIT
from hudictl.table.files.choose import is_any
from hudictl.table.files.slices import Group, Slice, StoredFile, group_files
from hudictl.table.files.sweep import sweep
from hudictl.table.files.view import (
    committed_without,
    list_partition,
    partition_named,
    pending_compactions,
    visible_slices,
)
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline
from hudictl.table.timeline.archive import keep_or_raise
from hudictl.table.timeline.commits import read_commit, replaced_groups

if TYPE_CHECKING:
    from hudictl.state.facts import Facts


@dataclass(frozen=True)
class LogView:
    """A log of a slice, in reading order; ``instant`` is the one in its name."""

    name: str
    instant: str
    bytes: int


@dataclass(frozen=True)
class SliceRow:
    """A file slice that readers see.

    ``newest`` marks the slice that queries read. ``opened_by_compaction`` marks a slice whose compaction is pending,
    and has not written its base file: queries merge it with the slice before. ``log_ratio`` is ``log_bytes`` for each
    byte of the base file. ``compaction`` is the compaction of the slice: the pending one's instant, or "next" for the
    next scheduled one. ``compaction_bytes`` is the size that it reads: the base file and the logs, without change logs.
    """

    partition: str
    file_id: str
    base_instant: str
    newest: bool
    opened_by_compaction: bool
    base_file: str | None
    base_bytes: int | None
    log_files: int
    log_bytes: int
    log_ratio: float | None
    logs: list[LogView]
    compaction: str | None
    compaction_bytes: int | None


def slice_rows(table: Table, files: Iterable[StoredFile], timeline: Timeline, as_of: str | None) -> list[SliceRow]:
    """The visible slices of some files, by partition and file id, newest first.

    Args:
        files: all data files of one partition, or of more.
        as_of: only files of instants up to this requested time. Below table version 8 the logs of a slice are complete,
            because their names do not show the writers.

    Raises:
        Unreadable: a replacecommit, the plan of a compaction, or the archive.
    """
    until = "~" if as_of is None else as_of
    seen = replace(timeline, instants=tuple(entry for entry in timeline.instants if entry.time <= until))

    compactions = pending_compactions(table, seen, ())
    replacements = [entry for entry in seen.having(REPLACECOMMIT) if entry.completed]
    commits = {entry.time: read_commit(table, entry) for entry in replacements}
    replaced = replaced_groups(seen, commits, commits)

    groups = group_files(file for file in files if file.data.instant <= until)
    committed = replace(committed_without(seen, ()), start=committed_without(timeline, ()).start)

    found = visible_slices(table, groups, committed, compactions, replaced)
    return [
        row
        for group, slices in sorted(found, key=lambda entry: entry[0])
        for row in _rows(group, slices, compactions.get(group), compactable=not table.is_cow)
    ]


def _rows(group: Group, slices: list[Slice], pending: str | None, *, compactable: bool) -> list[SliceRow]:
    rows = []
    before = [entry for entry in slices if not entry.pending and (pending is None or entry.key < pending)]
    for number, entry in enumerate(slices):
        logs = [LogView(file.data.name, file.data.instant, file.size or 0) for file in entry.logs]
        merged = [file for file in entry.files if not file.data.cdc]
        read = compactable and entry in before[:1] and (pending is not None or any(not f.data.is_base for f in merged))
        log_bytes, base_bytes = sum(log.bytes for log in logs), entry.base and entry.base.size
        row = SliceRow(
            *group,
            entry.key,
            newest=number == 0,
            opened_by_compaction=entry.pending,
            base_file=entry.base.data.name if entry.base else None,
            base_bytes=base_bytes,
            log_files=len(logs),
            log_bytes=log_bytes,
            log_ratio=round(log_bytes / base_bytes, 2) if base_bytes else None,
            logs=logs,
            compaction=(pending or "next") if read else None,
            compaction_bytes=sum(file.size or 0 for file in merged) if read else None,
        )
        rows.append(row)
    return rows


def files_of_partition(table: Table, partition: str) -> list[StoredFile]:
    """The data files of one folder. Raises NotFound: there is no such folder, or it is the base of a table that has its
    files in partitions; StorageFailed."""
    path = partition_named(partition)
    found = list_partition(table, path)
    if found is None or (not (path or found) and table.partition_fields):
        raise NotFound(
            f"{table.uri} has no partition {partition!r}",
            hint="write it as in the table's paths, for example p=1/q=2",
            partition=partition,
        )
    return found


def files_of_table(
    table: Table,
    timeline: Timeline,
    engine: Engine,
    chosen: Callable[[StoredFile], bool] = is_any,
    damaged: list[Unreadable] | None = None,
    facts: "Facts | None" = None,
) -> list[StoredFile]:
    """The chosen data files of all partitions, sorted by path.

    Args:
        damaged: gets an error for each commit that cannot be read. Of the partitions that it names, those without a
            metafile are missing.
        facts: of the same timeline, if they were read: then neither commits nor partitions are read again.

    Raises:
        Unreadable: such a commit, without ``damaged``.
        StorageFailed, EngineFailed.
    """
    named: set[str] = set()
    known = facts.written.decoded if facts is not None else frozenset()
    for entry in timeline.writes():
        if not known.isdisjoint(entry.names):
            continue
        try:
            # One at a time: a commit can name very many files.
            named.update(read_commit(table, entry).stats)
        except Unreadable as error:
            keep_or_raise(error, damaged)
    found = sweep(table, engine, named) if facts is None else facts.sweep
    return found.select("collect files", chosen)
