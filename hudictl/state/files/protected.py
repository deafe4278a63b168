"""Which files of a partition a savepoint must name. The engine runs these functions where the partition is listed."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from hudictl.formats.file_names import data_path, parse_data_file
from hudictl.state.files.changes import stored, tallied
from hudictl.state.files.partition import NO_RECORDS, Records, View, undated
from hudictl.table.files.slices import StoredFile, base_groups, file_slices, logs_of
from hudictl.table.files.sweep import names_of
from hudictl.table.rules import Rules
from hudictl.workers import Packed


@dataclass(frozen=True, slots=True)
class Protected:
    """The names for a savepoint, sorted and joined by slashes, and the size of their files in bytes. ``undated`` as in
    ``Verdict``."""

    path: str
    names: str
    size: int
    undated: frozenset[str]


def protect(
    ways: Sequence[View], hudi: View | None, target: str, path: str, listing: Packed | None, given: Sequence[Any]
) -> Protected | None:
    """The files for a savepoint in a partition: those required by any way to its commit, and those that Hudi names.

    Empty logs are left out. They are from writers that died, and a restore does not delete files of a savepoint. Hudi
    0.15.0 can never again build a metadata table for a table with an empty log.

    Args:
        ways: the view of each way.
        hudi: the view in which Hudi's own savepoint finds its files; None without these.
        target: the savepoint's commit.
        given: what writes name in the partition, what an existing savepoint names in it, its PackedRecords for each
            way, then those for Hudi's view; each may be None.
    """
    if listing is None:
        return None
    written, saved, *records = given
    names: dict[str, int] = {}
    for view, told in zip(ways, records, strict=False):
        needed = tallied(path, listing, (told or NO_RECORDS).unpack(view, written, saved), view).needed
        names.update((name, size) for name, size in needed.items() if size is not None)
    late: set[str] = set()
    if hudi is not None:
        then = [entry for entry in written or () if entry.time <= target]
        told = (records[-1] or NO_RECORDS).unpack(hudi, then)
        for file in _named_by_hudi(hudi, target, path, listing, told, late):
            names[file.data.name] = file.size or 0
    named = sorted(name for name, size in names.items() if size or not name.startswith("."))
    return Protected(path, "/".join(named), sum(names.values()), frozenset(late))


def _named_by_hudi(
    hudi: View, target: str, path: str, listing: Packed, records: Records, late: set[str]
) -> Iterator[StoredFile]:
    """The newest slice at or before the target, of each file group that is not replaced. ``late`` gets the ``undated``
    instants."""
    groups: dict[str, list[StoredFile]] = {}
    for file in logs_of(path, listing):
        groups.setdefault(file.data.file_id, []).append(file)
    committed = cache(hudi.committed.__contains__)
    for file_id, entries in base_groups(listing):
        if file_id in groups or file_id in records.compactions:
            groups.setdefault(file_id, []).extend(stored(path, entry) for entry in entries)
        elif file_id not in records.replaced:
            seen = [entry for entry in entries if committed(entry[0][3]) and entry[0][3] <= target]
            if seen:
                yield stored(path, max(seen, key=lambda entry: entry[0][3]))
    for file_id, members in groups.items():
        late.update(undated(members, records, hudi))
        if file_id not in records.replaced:
            slices = file_slices(hudi.rules, members, hudi.committed, records.compactions.get(file_id))
            yield from next((entry.files for entry in slices if entry.key <= target), ())


def outside(view: View, path: str, listing: Packed | None, given: Sequence[Any]) -> list[str] | None:
    """The paths of required files of a partition that a savepoint does not protect.

    Args:
        given: what writes name in the partition, what the way's savepoint names in it, its PackedRecords, and what
            the savepoint in question names; each may be None.
    """
    written, saved, packed, named = given
    protected = {slice_of(view.rules, name) for name in names_of(named)}
    needed = tallied(path, listing, (packed or NO_RECORDS).unpack(view, written, saved), view).needed
    there = (name for name, size in needed.items() if size is not None)
    return [data_path(path, name) for name in there if slice_of(view.rules, name) not in protected] or None


def slice_of(rules: Rules, name: str) -> Collection[str]:
    """The unit that a clean keeps: below table version 8 the whole slice of a protected file (0.15.0), by the names."""
    data = None if rules.logs_named_by_writer else parse_data_file(name)
    return (data.file_id, data.instant) if data else (name,)
