"""``metadata columns`` and ``metadata lookup``: what the indexes of the metadata table say of a file, and of keys."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from posixpath import basename, dirname
from typing import Any

from hudictl.errors import HudictlError, NotFound
from hudictl.formats.base_rows import META_COLUMNS
from hudictl.formats.column_stats import COLUMN_STATS, ColumnEntry, combine_entries, decode_column_entry, in_words
from hudictl.formats.index_keys import column_stats_key
from hudictl.formats.index_records import RECORD_INDEX, decode_entry, group_number, partition_of_group
from hudictl.formats.instants import format_time, utc_text_of_ms
from hudictl.index_workers import Tried, index_records
from hudictl.reports.schemas import fields_of, table_schema_as_of
from hudictl.table.files.slices import StoredFile
from hudictl.table.files.view import partition_named
from hudictl.table.logs.scan import scan_rule
from hudictl.table.logs.slice_files import slice_files
from hudictl.table.metadata.listing import listing_table, whole_index
from hudictl.table.table import Table


@dataclass(frozen=True)
class ColumnStatsRow:
    """The statistics of a column in a data file. ``min`` and ``max`` are as in Parquet: dates and times are numbers;
    null if not known, or nothing but nulls. ``exact``: Hudi says that they are no mere bounds."""

    column: str
    min: str | None
    max: str | None
    nulls: int | None
    values: int
    exact: bool


@dataclass(frozen=True)
class LookupRow:
    """Where the record index says that a key is. ``instant`` is the write that put it there; null if the zone of the
    table is not known. ``position`` is that of the record in its file; null if the index has none."""

    key: str
    found: bool
    partition: str | None = None
    file_id: str | None = None
    instant: str | None = None
    instant_utc: str | None = None
    position: int | None = None


def column_rows(table: Table, file: str, notes: list[str]) -> list[ColumnStatsRow]:
    """What column_stats says of a data file, by its path below the table. ``notes`` gets damage that readers skip.
    Raises NotFound: readers have no such index, or it has nothing of the file; Unreadable, Unsupported, Conflict,
    StorageFailed."""
    metadata = _with_index(table, COLUMN_STATS)
    newest = table_schema_as_of(table, None)
    columns = [*META_COLUMNS, *(field.name for field in fields_of(newest.schema))] if newest else META_COLUMNS
    keys = [column_stats_key(column, partition_named(dirname(file)), basename(file)) for column in columns]
    found = dict(_records(metadata, COLUMN_STATS, keys, notes, decode_column_entry, combine_entries))
    rows = [_column(found[key]) for key in keys if key in found and not found[key].deleted]
    if not rows:
        raise NotFound(f"{COLUMN_STATS} has no statistics of {file}", hint="FILE is a path below the table")
    return rows


def lookup_rows(table: Table, keys: Sequence[str], notes: list[str]) -> list[LookupRow]:
    """What the record index says of keys: several rows if partitions have indexes of their own. See ``column_rows``."""
    rows: dict[str, list[LookupRow]] = {key: [] for key in keys}
    metadata = _with_index(table, RECORD_INDEX)
    for key, (place, ms, position) in _records(metadata, RECORD_INDEX, keys, notes, decode_entry):
        instant = format_time(datetime.fromtimestamp(ms / 1000, table.zone)) if table.zone else None
        rows[key].append(LookupRow(key, True, place.partition, place.file_id, instant, utc_text_of_ms(ms), position))
    return [row for key, found in rows.items() for row in found or [LookupRow(key, False)]]


def _column(entry: ColumnEntry) -> ColumnStatsRow:
    least, greatest = (None if value is None else in_words(value) for value in entry.statistics[:2])
    return ColumnStatsRow(entry.column, least, greatest, entry.statistics.nulls, entry.statistics.values, entry.exact)


def _with_index(table: Table, name: str) -> Table:
    """The metadata table. Raises NotFound: readers have no such index in it."""
    metadata = listing_table(table)
    if metadata is None or name not in table.indexes:
        built = ": it is being built" if name in table.metadata_partitions_inflight else ""
        raise NotFound(f"the table has no index {name}{built}", hint="`hudictl metadata partitions` lists what it has")
    return metadata


def _records(
    metadata: Table, index: str, keys: Sequence[str], notes: list[str], *how: Callable[..., Any]
) -> Iterator[tuple[str, Any]]:
    """The records of some keys: only the file groups are read to which they are hashed. ``how``: see index_records.
    Raises as ``whole_index``."""
    groups: dict[str | None, list[list[StoredFile]]] = defaultdict(list)
    for files in whole_index(metadata, index):
        groups[partition_of_group(files[0].data.file_id) if index == RECORD_INDEX else None].append(files)
    look_up = Tried(lambda task: list(index_records(task, *how)))
    for of in groups.values():
        wanted: dict[int, set[bytes]] = defaultdict(set)
        for key in keys:
            wanted[group_number(key, len(of))].add(key.encode("utf-8", "surrogatepass"))
        for number, some in wanted.items():
            merged = slice_files(metadata, of[number], scan_rule(metadata), notes)
            found = look_up(replace(merged, keys=frozenset(some)))
            if isinstance(found, HudictlError):
                raise found
            yield from (entry for entry in found if entry[0].encode() in some)
