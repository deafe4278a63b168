"""``metadata verify``: the differences of the metadata table from storage."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from hudictl.engine.base import Engine
from hudictl.errors import Conflict
from hudictl.formats.metadata_records import Listed
from hudictl.state.metadata.gap import missing_files, named_by_slice, readable
from hudictl.table.files.choose import different
from hudictl.table.files.sweep import Sweep, hidden_by, sweep
from hudictl.table.files.view import committed_without
from hudictl.table.metadata.listing import Listing, listing_table, read_listing
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline

MISSING = "missing"
NOT_LISTED = "not listed"
SIZE = "size"
EMPTY = "empty"
PARTITION_MISSING = "partition missing"
PARTITION_NOT_LISTED = "partition not listed"

_MEANING = {
    MISSING: "the metadata table lists it, but it is missing on storage: queries that open it fail",
    NOT_LISTED: "readers that use the metadata table do not see its rows",
    SIZE: "readers use the size in the metadata table: queries fail, or miss rows",
    EMPTY: "the metadata table lists it with no bytes: Hudi's readers and writers fail at it",
    PARTITION_MISSING: "it is not a partition on storage: readers that list folders do not see it",
    PARTITION_NOT_LISTED: "readers that use the metadata table do not see it",
}


@dataclass(frozen=True)
class Difference:
    """A difference between the listing and storage. A partition has no ``name`` and no size, a missing file no size."""

    difference: str
    partition: str
    name: str | None
    listed_bytes: int | None
    stored_bytes: int | None
    listed_by: str | None
    meaning: str


def verify_listing(
    table: Table, engine: Engine, notes: list[str], progress: Callable[[str], None] = lambda _: None
) -> list[Difference]:
    """Compares the metadata table with storage; no differences if readers do not use it.

    Files of pending writes are correctly not listed. Files in the plan of a pending clean may be missing.

    Args:
        notes: gets the damage in the metadata table that readers skip.
        progress: gets the name of each step.

    Raises:
        Conflict: there are differences, and the timeline changed meanwhile.
        Unreadable, Unsupported, StorageFailed, EngineFailed.
    """
    metadata = listing_table(table)
    if metadata is None:
        return []

    before = load_timeline(table), load_timeline(metadata)

    progress("reading the metadata table")
    listing = read_listing(metadata, notes)

    progress("listing partitions")
    stored = sweep(table, engine, listing.keys())

    found = [*_files(table, engine, before[0], listing, stored)]
    found += _partitions(listing, stored, {entry.partition for entry in found if entry.difference == NOT_LISTED})

    after = load_timeline(table), load_timeline(metadata)
    if found and [moved.modified_ms for moved in before] != [moved.modified_ms for moved in after]:
        raise Conflict(
            "the timeline changed while the metadata table was compared with storage",
            hint="a writer is running; run the command again",
        )
    return sorted(found, key=lambda entry: (entry.partition, entry.name or "", entry.difference))


def _files(table: Table, engine: Engine, timeline: Timeline, listing: Listing, stored: Sweep) -> Iterator[Difference]:
    sizes = ((path, {name: entry.size for name, entry in entries.items()}) for path, entries in listing.items())
    found = stored.over("compare files", different, given=sizes)
    missing = {*missing_files(table, timeline, chain.from_iterable(absent for absent, _ in found))}
    for partition, name in missing:
        yield _difference(MISSING, partition, name, listing[partition][name], None)

    suspects = {(file.partition, file.data.name): file for _, files in found for file in files}
    listed = {path: entry for path in suspects if (entry := listing.get(path[0], {}).get(path[1])) is not None}
    # Hudi 0.15.0 lists the logs of a failed write that it has rolled back with one byte.
    certain = {path for path, entry in listed.items() if entry.size != 1 or not named_by_slice(table, suspects[path])}
    unsure = suspects.keys() - certain
    files = stored.of_groups(suspects[path].group for path in unsure)
    for path in certain | readable(table, engine, committed_without(timeline, ()), files, unsure):
        yield _difference(SIZE if path in listed else NOT_LISTED, *path, listed.get(path), suspects[path].size)
    for partition, entries in listing.items():
        for name, entry in entries.items():
            if not entry.size and (partition, name) not in missing.union(suspects):
                yield _difference(EMPTY, partition, name, entry, 0)


def _partitions(listing: Listing, stored: Sweep, unseen: set[str]) -> Iterator[Difference]:
    """Only partitions with files: an empty one does not matter to readers."""
    for path, entries in listing.items():
        if entries and (path not in stored.partitions or hidden_by(path, stored.partitions) is not None):
            yield _difference(PARTITION_MISSING, path)
    for path in unseen - listing.keys():
        yield _difference(PARTITION_NOT_LISTED, path)


def _difference(
    kind: str, partition: str, name: str | None = None, entry: Listed | None = None, size: int | None = None
) -> Difference:
    by = entry.by if entry else None
    return Difference(kind, partition, name, entry.size if entry else None, size, by, _MEANING[kind])
