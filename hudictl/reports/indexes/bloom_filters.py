"""The bloom filters against those in the footers of the newest base files.

Only bytes are compared: whether a filter has the keys of its file is not looked at. The writer of the file made the one
in the footer from them.
"""

from hudictl.formats.index_keys import bloom_filter_key
from hudictl.formats.index_records import group_number
from hudictl.index_workers import filters_of_footers, filters_of_index
from hudictl.reports.indexes.view import (
    MISSING,
    STALE,
    Comparison,
    IndexDifference,
    footer_tasks,
    newest_base_files,
    note_stale,
    read_slices,
    run,
)
from hudictl.table.files.choose import is_base
from hudictl.table.files.slices import StoredFile
from hudictl.table.logs.scan import scan_rule
from hudictl.table.metadata.listing import whole_index

BLOOM_FILTERS = "bloom_filters"
DIFFERENT = "another filter"


def verify_bloom_filters(comparison: Comparison) -> list[IndexDifference]:
    """The differences between the bloom filters of the index and of the footers. Raises Unsupported: base files that
    are not Parquet; Unreadable, Conflict, StorageFailed, EngineFailed."""
    metadata, engine, step = comparison.metadata, comparison.engine, comparison.step
    files = newest_base_files(comparison)
    slices = whole_index(metadata, BLOOM_FILTERS)
    groups = read_slices(metadata, slices, scan_rule(metadata), comparison.notes)

    found = run(engine, "read filters", filters_of_index, groups, step("read the bloom filters", len(groups)))
    # A filter in another file group than the one of its key is not found by readers.
    index = {
        key: digest
        for number, filters in enumerate(found)
        for key, digest in filters.by_key.items()
        if group_number(key, len(groups)) == number
    }

    progress = step("read footers", len(files))
    footers = run(engine, "read footers", filters_of_footers, footer_tasks(comparison, files), progress)
    rows = []
    for file, footer in zip(files, (digest for part in footers for digest in part), strict=True):
        said = index.get(_key(file))
        if said != footer:
            rows.append(_row(MISSING if said is None else STALE if footer is None else DIFFERENT, file, said, footer))

    stored = {_key(file) for file in comparison.stored.select("collect base files", is_base)}
    gone = sum(key not in stored for filters in found for key in filters.by_key)
    note_stale(comparison, BLOOM_FILTERS, gone)
    return rows


def _key(file: StoredFile) -> str:
    return bloom_filter_key(file.partition, file.data.name)


def _row(what: str, file: StoredFile, said: bytes | None, footer: bytes | None) -> IndexDifference:
    in_index, in_data = (None if digest is None else f"a filter {digest.hex()[:8]}" for digest in (said, footer))
    return IndexDifference(BLOOM_FILTERS, what, file.partition, file.data.name, None, in_index, in_data)
