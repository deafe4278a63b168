"""All indexes of the metadata table against the data, one after the other."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hudictl.engine.base import Engine
from hudictl.errors import Conflict, StorageFailed, Unsupported
from hudictl.formats.column_stats import COLUMN_STATS
from hudictl.formats.index_records import RECORD_INDEX
from hudictl.reports.indexes.bloom_filters import BLOOM_FILTERS, verify_bloom_filters
from hudictl.reports.indexes.column_stats import verify_column_stats
from hudictl.reports.indexes.record_index import verify_record_index
from hudictl.reports.indexes.view import Comparison, IndexDifference, Step, newest_files
from hudictl.table.files.sweep import sweep
from hudictl.table.metadata.listing import read_listing, without_slice
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline

_VERIFIED: dict[str, Callable[[Comparison], list[IndexDifference]]] = {
    BLOOM_FILTERS: verify_bloom_filters,
    COLUMN_STATS: verify_column_stats,
    RECORD_INDEX: verify_record_index,
}


@dataclass(frozen=True)
class VerifiedIndexes:
    """The differences, and the names of the indexes that were compared."""

    rows: list[IndexDifference]
    compared: list[str]


def verify_indexes(
    table: Table, metadata: Table, engine: Engine, notes: list[str], *, sample: int | None, step: Step
) -> VerifiedIndexes:
    """Compares the indexes of a metadata table with the data.

    Args:
        notes: gets the indexes that are not compared, with the reason, and damage in logs that readers skip.
        sample: how many base files or file groups to look at, on either side; None: all.
        step: begins a step of work.

    Raises:
        Conflict: there are differences, or files disappeared, and the timeline changed meanwhile.
        Unreadable, Unsupported, StorageFailed, EngineFailed.
    """
    engine.start()
    before = _modified(table, metadata)

    try:
        found = _compared(table, metadata, engine, notes, sample=sample, step=step)
    except StorageFailed:
        if before != _modified(table, metadata):
            raise _changed() from None
        raise
    if found.rows and before != _modified(table, metadata):
        raise _changed()
    return found


def _compared(
    table: Table, metadata: Table, engine: Engine, notes: list[str], *, sample: int | None, step: Step
) -> VerifiedIndexes:
    listing = read_listing(metadata, notes)
    engine.ready()
    step("list partitions", len(listing))
    stored = sweep(table, engine, list(listing))
    newest = newest_files(table, load_timeline(table), stored)
    comparison = Comparison(table, metadata, engine, stored, newest, sample, step, notes)

    rows: list[IndexDifference] = []
    compared = []
    for index in table.indexes:
        verify = _VERIFIED.get(index)
        if verify is None:
            notes.append(f"{index} is not compared: hudictl cannot compare this kind of index")
            continue
        if problem := without_slice(metadata, index):
            rows.append(IndexDifference(index, problem, "", "", None, None, None))
            continue
        try:
            rows += verify(comparison)
            compared.append(index)
        except Unsupported as error:
            notes.append(f"{index} is not compared: {error.message}")
    notes += [f"{index} is not compared: it is being built" for index in table.metadata_partitions_inflight]
    return VerifiedIndexes(rows, compared)


def _modified(table: Table, metadata: Table) -> tuple[Mapping[str, int], Mapping[str, int]]:
    return load_timeline(table).modified_ms, load_timeline(metadata).modified_ms


def _changed() -> Conflict:
    return Conflict(
        "the timeline changed while the indexes were compared with the data",
        hint="a writer is running; run the command again",
    )
