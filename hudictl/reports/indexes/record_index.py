"""The record index against the keys of the data.

Keys do not come to this process. Each file group of the data has the set of its keys, each file group of the index has
the set of keys that it says are there; sets are compared by count and digest. Only file groups that differ are read
again, key by key.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hudictl.errors import Unsupported
from hudictl.formats.index_records import RECORD_INDEX, Location, partition_of_group
from hudictl.index_workers import (
    Cells,
    Compared,
    CompareTask,
    DataSlice,
    IndexGroup,
    KeySet,
    compare_keys,
    keys_by_group,
    keys_of_data,
    keys_of_index,
)
from hudictl.reports.indexes.view import (
    MISSING,
    STALE,
    Comparison,
    IndexDifference,
    chosen,
    read_slices,
    run,
    run_in_parts,
)
from hudictl.reports.schemas import newest_millis
from hudictl.table.logs.merge import merge_rule
from hudictl.table.logs.scan import scan_rule
from hudictl.table.metadata.listing import whole_index

WRONG_LOCATION = "wrong location"
MISPLACED = "wrong file group of the index"
COUNTED = "keys differ"

MOST_GROUPS = 100
"""At most so many differing file groups, of the data and of the index, have rows for their keys; the others have one
row each."""
_CELLS = 1_000_000
"""So many results for a file group of the index and one of the data are held at a time."""


@dataclass(frozen=True)
class _Sides:
    """Both sides of the comparison, as chosen."""

    data: dict[Location, DataSlice]
    index: list[IndexGroup]


def verify_record_index(comparison: Comparison) -> list[IndexDifference]:
    """The differences between the record index and the keys of the newest file slices.

    With a sample, the keys are compared that so many file groups of the data and so many of the index have in common.

    Raises Unsupported: a table without Hudi's own columns, or merged in a way that hudictl does not know; Unreadable,
    Conflict, StorageFailed, EngineFailed.
    """
    sides = _sides(comparison)
    engine, step = comparison.engine, comparison.step

    data = list(sides.data.values())
    progress = step("read the keys of the data", len(data))
    in_data = dict(zip(sides.data, run(engine, "read keys", keys_of_data, data, progress), strict=True))

    in_index: dict[Location, KeySet] = defaultdict(KeySet)
    found: list[IndexDifference] = []
    misplaced = 0
    size = max(1, _CELLS // max(1, len(data)))
    progress = step("read the record index", len(sides.index))
    for cells in run_in_parts(engine, "read the record index", keys_of_index, sides.index, size, progress):
        for location, keys in cells.keys.items():
            in_index[location] = in_index[location].plus(keys)
        misplaced += 1 if cells.misplaced else 0
        found += _misplaced(cells, named=misplaced <= MOST_GROUPS)

    none = KeySet()
    places = sorted(in_data.keys() | in_index.keys())
    differing = [place for place in places if in_data.get(place, none) != in_index.get(place, none)]
    found += _by_key(comparison, sides, differing[:MOST_GROUPS])
    for place in differing[MOST_GROUPS:]:
        counts = (in_index.get(place, none).size, in_data.get(place, none).size)
        found.append(_counted(place, *counts))
    return found


def _sides(comparison: Comparison) -> _Sides:
    table = comparison.table
    if table.properties.get("hoodie.populate.meta.fields") == "false":
        raise Unsupported("the table has no column _hoodie_record_key: hudictl does not compare its record index")

    groups = _index_groups(comparison)
    picked = chosen(groups, comparison.sample)
    numbers: dict[str | None, set[int]] = defaultdict(set)
    for group in picked:
        numbers[group.partition].add(group.number)
    counts = {group.partition: group.groups for group in groups}

    newest = chosen(sorted(comparison.newest.items()), comparison.sample)
    slices = read_slices(table, [files for _, files in newest], scan_rule(table), comparison.notes)
    rule = merge_rule(table, table.rules.reads_as) if any(entry.blocks for entry in slices) else None
    millis = newest_millis(table, "~") if rule else frozenset()
    data = {}
    for ((partition, file_id), _), files in zip(newest, slices, strict=True):
        location = Location(partition, file_id)
        of = partition if partition in counts else None
        only = None if len(picked) == len(groups) else frozenset(numbers[of])
        data[location] = DataSlice(location, files, rule, millis, counts.get(of, 1), only)
    locations = None if len(newest) == len(comparison.newest) else frozenset(data)
    return _Sides(data, [replace(group, only=locations) for group in picked])


def _index_groups(comparison: Comparison) -> list[IndexGroup]:
    """The file groups of the index, in the order in which Hudi numbers them."""
    metadata = comparison.metadata
    slices = whole_index(metadata, RECORD_INDEX)
    merged = read_slices(metadata, slices, scan_rule(metadata), comparison.notes)
    partitions = [partition_of_group(files[0].data.file_id) for files in slices]
    counts = {partition: partitions.count(partition) for partition in partitions}
    seen: dict[str | None, int] = defaultdict(int)
    found = []
    for partition, files in zip(partitions, merged, strict=True):
        found.append(IndexGroup(files, seen[partition], counts[partition], partition))
        seen[partition] += 1
    return found


def _by_key(comparison: Comparison, sides: _Sides, differing: Sequence[Location]) -> list[IndexDifference]:
    """The differing keys of some file groups: first those of the index that differ are found, then these are read."""
    if not differing:
        return []
    engine = comparison.engine
    looked_at = frozenset(differing)
    data = {place: sides.data[place] for place in differing if place in sides.data}
    index = [replace(group, only=looked_at) for group in sides.index]

    progress = comparison.step("compare keys", len(data))
    by_group = dict(zip(data, run(engine, "compare keys", keys_by_group, list(data.values()), progress), strict=True))
    cells = run(engine, "compare the record index", keys_of_index, index, None)
    tasks = [_task(place, data.get(place), by_group.get(place, {}), sides.index, cells) for place in differing]
    compared = run(engine, "compare keys", compare_keys, tasks, comparison.step("list the differing keys", len(tasks)))
    return _rows(compared)


def _task(
    place: Location,
    data: DataSlice | None,
    by_group: Mapping[int, KeySet],
    index: Sequence[IndexGroup],
    cells: Sequence[Cells],
) -> CompareTask:
    differing = [
        group
        for group, cell in zip(index, cells, strict=True)
        if group.partition in (None, place.partition)
        and by_group.get(group.number, KeySet()) != cell.keys.get(place, KeySet())
    ]
    return CompareTask(place, data, tuple(replace(group, only=None) for group in differing))


def _rows(compared: Sequence[Compared]) -> list[IndexDifference]:
    # A key at a wrong location is also too much where the index says that it is.
    moved = {(entry.key, entry.in_index) for found in compared for entry in found.keys if entry.in_data}
    rows = []
    for found in compared:
        place = found.location
        for entry in found.keys:
            if entry.in_data:
                what = MISSING if entry.in_index is None else WRONG_LOCATION
                rows.append(_row(what, place, entry.key, entry.in_index and str(entry.in_index), str(place)))
            elif (entry.key, place) not in moved:
                rows.append(_row(STALE, place, entry.key, str(place), None))
        left = found.count - len(found.keys)
        if left:
            rows.append(_row(COUNTED, place, None, None, f"{left:,} more keys differ"))
    return rows


def _misplaced(cells: Cells, *, named: bool) -> list[IndexDifference]:
    rows = [_row(MISPLACED, location, key, str(location), None) for key, location in cells.misplaced if named]
    left = cells.misplaced_count - len(rows)
    return [*rows, *([_row(MISPLACED, Location("", ""), None, f"{left:,} more keys", None)] if left else [])]


def _counted(place: Location, in_index: int, in_data: int) -> IndexDifference:
    return _row(COUNTED, place, None, f"{in_index:,} keys", f"{in_data:,} keys")


def _row(what: str, place: Location, key: str | None, in_index: str | None, in_data: str | None) -> IndexDifference:
    return IndexDifference(RECORD_INDEX, what, place.partition, place.file_id, key, in_index, in_data)
