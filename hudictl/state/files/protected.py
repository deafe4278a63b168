"""Which files of a partition a savepoint must name. The engine runs these functions where the partition is listed."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from hudictl.copy_workers import FolderFiles, folder_files
from hudictl.formats.file_names import PARTITION_METAFILE, data_path, parse_data_file
from hudictl.state.files.changes import Future, may_have_rows, tallied
from hudictl.state.files.partition import NO_RECORDS, PackedRecords, Records, View
from hudictl.table.files.decoded import names_of
from hudictl.table.files.slices import (
    StoredFile,
    base_groups,
    base_instant,
    file_slices,
    logs_of,
    newest,
    stored,
    undated,
)
from hudictl.table.files.sweep import Partition
from hudictl.table.rules import Rules


@dataclass(frozen=True, slots=True)
class Protected:
    """The names for a savepoint, sorted and joined by slashes, and the size of their files in bytes. ``undated`` as in
    ``Verdict``."""

    path: str
    names: str
    size: int
    undated: frozenset[str]


class RecordsOfWays(NamedTuple):
    """What the driver knows of a partition, for each way to a commit, and for Hudi's own view."""

    ways: tuple[PackedRecords, ...] = ()
    hudi: PackedRecords = NO_RECORDS


def protect(ways: Sequence[View], hudi: View | None, target: str, place: Partition[RecordsOfWays]) -> Protected | None:
    """The files for a savepoint in a partition: those required by any way to its commit, and those that Hudi names.

    Empty logs are left out. They are from writers that died, and a restore does not delete files of a savepoint. Hudi
    0.15.0 can never again build a metadata table for a table with an empty log.

    Args:
        ways: the view of each way.
        hudi: the view in which Hudi's own savepoint finds its files; None without these.
        target: the savepoint's commit.
    """
    if place.listing is None:
        return None
    records = place.given or RecordsOfWays((NO_RECORDS,) * len(ways))
    names: dict[str, int] = {}
    for view, packed in zip(ways, records.ways, strict=True):
        needed = tallied(place, packed.unpack(view, place.written, place.saved), view).needed
        names.update((name, size) for name, size in needed.items() if size is not None)
    late: set[str] = set()
    if hudi is not None:
        then = [entry for entry in place.written if entry.time <= target]
        for file in _named_by_hudi(hudi, target, place, records.hudi.unpack(hudi, then), late):
            names[file.data.name] = file.size or 0
    named = sorted(name for name, size in names.items() if size or not name.startswith("."))
    return Protected(place.path, "/".join(named), sum(names.values()), frozenset(late))


def to_copy(view: View, within: Collection[str], place: Partition[PackedRecords]) -> FolderFiles | None:
    """The required files of a partition, and its metafile; None if there are none, or others are asked for."""
    if place.listing is None or (within and place.path not in within):
        return None
    records = (place.given or NO_RECORDS).unpack(view, place.written, place.saved)
    needed = tallied(place, records, view).needed
    files = {name: size for name, size in needed.items() if size}
    files.update((name, size) for name, size, _ in place.listing.files if files and name.startswith(PARTITION_METAFILE))
    return folder_files(place.path, sorted(files.items())) if files else None


def _named_by_hudi(
    hudi: View, target: str, place: Partition[object], records: Records, late: set[str]
) -> Iterator[StoredFile]:
    """The newest slice at or before the target, of each file group that is not replaced. ``late`` gets the ``undated``
    instants."""
    groups: dict[str, list[StoredFile]] = {}
    for file in logs_of(place.path, place.listing):
        groups.setdefault(file.data.file_id, []).append(file)
    seen = cache(lambda time: time <= target and time in hudi.committed)
    for file_id, entries in base_groups(place.listing):
        if file_id in groups or file_id in records.compactions:
            groups.setdefault(file_id, []).extend(stored(place.path, entry) for entry in entries)
        elif file_id not in records.replaced:
            last = newest(entries, base_instant, seen)
            if last is not None:
                yield stored(place.path, last)
    for file_id, members in groups.items():
        compaction = records.compactions.get(file_id)
        late.update(undated(hudi.rules, members, hudi.committed, compaction))
        if file_id not in records.replaced:
            slices = file_slices(hudi.rules, members, hudi.committed, compaction)
            yield from next((entry.files for entry in slices if entry.key <= target), ())


def outside(view: View, place: Partition[PackedRecords]) -> list[str] | None:
    """The paths of required files of a partition that the savepoint does not protect, if rows are missing after a clean
    that deletes all such: the slice before a compaction's has the same rows. Logs without rows are left out."""
    protected = {slice_of(view.rules, name) for name in names_of(place.saved)}
    records = (place.given or NO_RECORDS).unpack(view, place.written, place.saved)
    there = (name for name, size in tallied(place, records, view).needed.items() if size is not None)
    found = [name for name in there if slice_of(view.rules, name) not in protected]
    if not found:
        return None
    going = frozenset(name for name in place.names if slice_of(view.rules, name) not in protected)
    cleaned = replace(records, cleaned=records.cleaned | going)
    then = tallied(place, cleaned, view, future=Future(going))
    whole = {*map(_file_id, then.needed)}.difference(map(_file_id, then.missing))
    named = (name for name in found if _file_id(name) not in whole and may_have_rows(name, records, view))
    return [data_path(place.path, name) for name in named] or None


def _file_id(path: str) -> str:
    data = parse_data_file(path.rpartition("/")[2])
    return data.file_id if data else path


def slice_of(rules: Rules, name: str) -> Collection[str]:
    """The unit that a clean keeps: below table version 8 the whole slice of a protected file (0.15.0), by the names."""
    data = None if rules.logs_named_by_writer else parse_data_file(name)
    return (data.file_id, data.instant) if data else (name,)
