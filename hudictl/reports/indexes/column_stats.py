"""The column statistics against the footers of the newest base files."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from hudictl.formats.column_stats import COLUMN_STATS, Statistics, agree, in_words
from hudictl.index_workers import (
    MergedSlice,
    StatisticsTask,
    named_in_statistics,
    statistics_of_footers,
    statistics_of_index,
)
from hudictl.phrases import count_of
from hudictl.reports.indexes.view import (
    MISSING,
    STALE,
    Comparison,
    IndexDifference,
    cut,
    footer_tasks,
    newest_base_files,
    note_stale,
    read_slices,
    run,
)
from hudictl.table.files.choose import is_any
from hudictl.table.files.slices import StoredFile
from hudictl.table.logs.scan import scan_rule
from hudictl.table.metadata.listing import merged_slices

DIFFERENT = "other statistics"

_FILES = 4000
"""The entries of so many files are held at a time; the index is read once for each such part."""


def verify_column_stats(comparison: Comparison) -> list[IndexDifference]:
    """The differences between the column statistics and the footers.

    A column counts as indexed if the index has it for any of the newest base files.

    Raises Unsupported: base files that are not Parquet; Unreadable, Conflict, StorageFailed, EngineFailed.
    """
    metadata, engine, step = comparison.metadata, comparison.engine, comparison.step
    files = newest_base_files(comparison)
    groups = read_slices(metadata, list(merged_slices(metadata, COLUMN_STATS)), scan_rule(metadata), comparison.notes)
    _note_logs(comparison)

    names = frozenset(file.data.name for file in files)
    tasks = [StatisticsTask(group, names) for group in groups]
    named = run(engine, "read names", named_in_statistics, tasks, step("read the column statistics", len(tasks)))
    columns = frozenset[str]().union(*(found.columns for found in named))
    there = {file.data.name for file in comparison.stored.select("collect files", is_any)}
    note_stale(comparison, COLUMN_STATS, len(frozenset[str]().union(*(found.files for found in named)) - there))

    rows: list[IndexDifference] = []
    for part in cut(files, _FILES):
        rows += _compare(comparison, groups, part, columns)
    return rows


def _note_logs(comparison: Comparison) -> None:
    files = (file.data for found in comparison.newest.values() for file in found)
    logs = sum(not data.is_base and not data.cdc for data in files)
    if logs:
        comparison.notes.append(f"{COLUMN_STATS}: the statistics of {count_of(logs, 'log file')} are not compared")


def _compare(
    comparison: Comparison, groups: Sequence[MergedSlice], files: Sequence[StoredFile], columns: frozenset[str]
) -> list[IndexDifference]:
    engine = comparison.engine
    names = frozenset(file.data.name for file in files)
    index: dict[str, dict[str, Statistics]] = defaultdict(dict)
    for entries in run(
        engine, "read statistics", statistics_of_index, [StatisticsTask(g, names) for g in groups], None
    ):
        for entry in entries:
            index[entry.file][entry.column] = entry.statistics

    tasks = footer_tasks(comparison, files, columns)
    progress = comparison.step("read footers", len(files))
    footers = [found for part in run(engine, "read footers", statistics_of_footers, tasks, progress) for found in part]
    return [
        row
        for file, footer in zip(files, footers, strict=True)
        for row in differing_columns(file, index.get(file.data.name, {}), footer)
    ]


def differing_columns(
    file: StoredFile, index: Mapping[str, Statistics], footer: Mapping[str, Statistics]
) -> list[IndexDifference]:
    """The columns of one file in which the index and the footer differ; one row if the index has none of them."""
    if footer and not index:
        return [_row(MISSING, file, None, None, count_of(len(footer), "column"))]
    rows = []
    for column in sorted(index.keys() | footer.keys()):
        said, true = index.get(column), footer.get(column)
        if said is None or true is None or not agree(said, true):
            what = MISSING if said is None else STALE if true is None else DIFFERENT
            rows.append(_row(what, file, column, said and _words(said), true and _words(true)))
    return rows


def _words(found: Statistics) -> str:
    nulls = "?" if found.nulls is None else f"{found.nulls:,}"
    return f"{in_words(found.least)} to {in_words(found.greatest)}, {nulls} nulls of {found.values:,}"


def _row(what: str, file: StoredFile, column: str | None, in_index: str | None, in_data: str | None) -> IndexDifference:
    return IndexDifference(COLUMN_STATS, what, file.partition, file.data.name, column, in_index, in_data)
