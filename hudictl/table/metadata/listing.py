"""What the metadata table lists: its ``files`` partition, read as Hudi's readers do."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

from hudictl.engine.base import Engine
from hudictl.errors import Conflict, Unreadable, Unsupported
from hudictl.formats import hfile
from hudictl.formats.file_names import data_path
from hudictl.formats.index_records import RECORD_INDEX, partition_of_group
from hudictl.formats.instants import DELTACOMMIT
from hudictl.formats.log_blocks import DELETE, HFILE_DATA, SCHEMA, Block, read_blocks
from hudictl.formats.log_contents import HFILE_KEY, read_deletes, read_records
from hudictl.formats.metadata_records import ALL_PARTITIONS, Entries, Listed, combine, decode_listing, partition_path
from hudictl.phrases import count_of, first_few
from hudictl.table.files.decoded import gathered
from hudictl.table.files.listed import (
    ListedFiles,
    ListedNames,
    ListingTask,
    by_partition,
    listed_names,
    merged,
    without_names,
)  # fmt: skip
from hudictl.table.files.slices import StoredFile, group_files, hiding, read_together
from hudictl.table.files.view import (
    committed_without,
    list_partition,
    pending_compactions,
    visible_slices,
    with_archived,
)
from hudictl.table.logs.reader import LogFile, naming_log
from hudictl.table.logs.scan import CORRUPT_FATE, VALID, ScanRule, judged_blocks, scan_rule
from hudictl.table.metadata.place import MADE_ANEW, NOT_ASKED, Known, open_metadata_table
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline
from hudictl.table.timeline.commits import read_commit

FILES = "files"
"""The partition that lists files."""

Listing = dict[str, dict[str, Listed]]
"""The files of each partition path, by name, without deleted ones."""

# Base files of up to so many bytes the driver decodes by itself: a job of Spark alone would take longer.
_ENOUGH_BYTES = 8 * 1024 * 1024
_PART_BYTES = 1024 * 1024


def listing_table(table: Table) -> Table | None:
    """The metadata table from which readers get listings; None if they list folders. Raises Unreadable; Unsupported: of
    a table version that hudictl does not know."""
    metadata = open_metadata_table(table) if FILES in table.metadata_partitions else None
    if metadata is not None and not metadata.rules.known:
        raise Unsupported(f"{metadata.uri} has table version {metadata.version}: hudictl cannot read its listing")
    return metadata


def read_listing(metadata: Table, notes: list[str], data: Table | None = None, ending: Collection[str] = ()) -> Listing:
    """All partitions and files that a metadata table lists: a table can have very many, see ``gather_listing``.

    Args:
        notes: gets the corrupt ranges of logs, which readers skip.
        data: the data table, if the metadata table is not in its place.
        ending: see ``scan_rule``.

    Raises:
        Unreadable: damaged, or not as Hudi writes it.
        Conflict: a file disappeared meanwhile.
        Unsupported, StorageFailed.
    """
    records: dict[str, Entries] = {}
    for found in _slices(metadata, notes, data, ending):
        base = {} if found.base is None else _of_base(found, found.base)
        records |= merged(base, found.later, found.gone)
    listed = {key: {n: e for n, e in entries.items() if not e.deleted} for key, entries in records.items()}
    return {partition_path(key): listed.get(key, {}) for key in listed.get(ALL_PARTITIONS, {})}


def gather_listing(
    metadata: Table, engine: Engine, data: Table | None = None, ending: Collection[str] = ()
) -> ListedFiles:
    """The same by partition, decoded by the engine if it is much, and kept there. Arguments as in ``read_listing``.

    Raises as ``read_listing``; EngineFailed.
    """
    slices = [_cut(found) for found in _slices(metadata, [], data, ending)]
    keys = {key for found in slices for key in _partition_keys(found)}
    tasks = [task for found in slices for task in _tasks(found, keys)]
    bases = [found.base for found in slices if found.base is not None]
    much = sum(base.size for base in bases) > _ENOUGH_BYTES
    label = "read the metadata table"
    files, places = gathered(engine, label, listed_names, tasks, without_names, much=much)
    for base in bases:
        with naming_log(base, Unreadable, Unsupported):
            for place in places:
                if place.error is not None:
                    raise place.error
    count = sum(found.records for found in slices)
    decoded = sum(place.records for place in places)
    if count != decoded:
        raise Unreadable(f"{bases[0].uri}: its trailer counts {count} entries, but the file has {decoded}")
    filled = frozenset(place.path for place in places if place.filled)
    empty = frozenset(data_path(place.path, place.empty) for place in places if place.empty)
    return ListedFiles(files, frozenset(map(partition_path, keys)), filled, empty)


class _Slice(NamedTuple):
    """A file slice of the listing: the base file as one block, and what its logs say: records, and deleted keys.

    The base file has ``parts`` and ``records``; ``first`` are the records of the part that can have the list of all
    partitions.
    """

    base: LogFile | None
    block: Block
    time: str
    later: dict[str, Entries]
    gone: set[str]
    parts: Sequence[hfile.Part] = ()
    records: int = 0
    first: Mapping[str, Entries] = MappingProxyType({})


def _slices(metadata: Table, notes: list[str], data: Table | None, ending: Collection[str]) -> Iterator[_Slice]:
    for files in merged_slices(metadata, FILES):
        file = next((file for file in files if file.data.is_base), None)
        base = _opened(metadata, file) if file is not None else None
        size, schema = (base.size, base_schema(base)) if base is not None else (0, "")
        later, gone = _logs(metadata, files, notes, scan_rule(metadata, data, ending))
        block = Block(HFILE_DATA, 0, size, 0, size, {SCHEMA: schema})
        yield _Slice(base, block, file.data.instant if file is not None else "", later, gone)


def _of_base(found: _Slice, base: LogFile, only: hfile.Part | None = None) -> dict[str, dict[str, Listed]]:
    """The records of the base file, or of a part of it."""
    with naming_log(base, Unreadable, Unsupported):
        return dict(_listings(found.block, base, found.time, only))


def _cut(found: _Slice) -> _Slice:
    """The slice with its parts."""
    if found.base is None:
        return found
    with naming_log(found.base, Unreadable, Unsupported):
        parts, records = hfile.cut(found.base.read_at, found.base.size, _PART_BYTES)
    first = _of_base(found, found.base, parts[_part_of(ALL_PARTITIONS, parts)]) if parts else {}
    return found._replace(parts=parts, records=records, first=first)


def _partition_keys(found: _Slice) -> Iterator[str]:
    """The keys of the listed partitions, if their list is in this slice."""
    base = {ALL_PARTITIONS: found.first.get(ALL_PARTITIONS, {})}
    listed = dict(merged(base, found.later, found.gone)).get(ALL_PARTITIONS, {})
    return (key for key, entry in listed.items() if not entry.deleted)


def _part_of(key: str, parts: Sequence[hfile.Part]) -> int:
    """The number of the part that can have a key."""
    return max(0, bisect_right(parts, key.encode(), key=lambda part: part[0].key) - 1)


def _tasks(found: _Slice, keys: Collection[str]) -> Iterator[ListingTask | tuple[str, ListedNames]]:
    """A task for each part of the base file; each gets what logs and the list of partitions say of its keys."""
    parts = found.parts
    if found.base is None or len(parts) < 2:
        # All of it is decoded already.
        yield from by_partition(found.first, found.later, found.gone, keys)
        return
    later: dict[int, dict[str, Entries]] = defaultdict(dict)
    for key, entry in found.later.items():
        later[_part_of(key, parts)][key] = entry
    gone, listed = _dealt(found.gone, parts), _dealt(keys, parts)
    storage, path, size, schema = found.base.storage, found.base.path, found.base.size, found.block.header[SCHEMA]
    for number, part in enumerate(parts):
        yield ListingTask(storage, path, size, schema, found.time, part, later[number], gone[number], listed[number])


def _dealt(keys: Iterable[str], parts: Sequence[hfile.Part]) -> dict[int, frozenset[str]]:
    """Keys by the number of their part."""
    found: dict[int, set[str]] = {number: set() for number in range(len(parts))}
    for key in keys:
        found[_part_of(key, parts)].add(key)
    return {number: frozenset(of) for number, of in found.items()}


Groups = Mapping[str, list[StoredFile] | None]
"""By file group the files that a reader uses; none without a committed slice; None: a failed write hides some."""


def merged_slices(metadata: Table, partition: str) -> Iterator[list[StoredFile]]:
    """The files that a reader uses of each file group that has a committed slice. Raises Unreadable."""
    yield from filter(None, _by_group(metadata, partition).values())


def without_slice(metadata: Table, partition: str) -> str | None:
    """Says so, if file groups of a listed index have no committed slice: Hudi's readers and writers fail at it, or
    look for a key in the wrong group. Raises Unreadable.

    In a partitioned record index one may: a failed write into a new partition of the table has begun it (1.2.0).
    """
    return _lacking(partition, _by_group(metadata, partition))


def whole_index(metadata: Table, index: str) -> list[list[StoredFile]]:
    """``merged_slices`` in the order of their groups. Raises Unreadable: also where a group has no slice, as keys would
    be looked for in the wrong one."""
    groups = _by_group(metadata, index)
    if problem := _lacking(index, groups):
        raise Unreadable(f"the index {index}: {problem}", hint=MADE_ANEW)
    return [files for _, files in sorted(groups.items()) if files]


def _lacking(partition: str, groups: Groups) -> str | None:
    hidden = sorted(file_id for file_id, files in groups.items() if files is None)
    if hidden:
        # Hudi's own rollback leaves them in a partitioned record index: then its writers fail (1.2.0).
        count = count_of(len(hidden), "file group")
        return f"files of a failed write hide all later logs of {count}: {first_few(hidden)}"
    if not any(groups.values()):
        return "no file group of it has a committed file slice"
    bare = sorted(file_id for file_id, files in groups.items() if not files)
    if partition == RECORD_INDEX:
        bare = [file_id for file_id in bare if partition_of_group(file_id) is None]
    return (
        f"{count_of(len(bare), 'file group')} of it without committed file slice: {first_few(bare)}" if bare else None
    )


def _by_group(metadata: Table, partition: str) -> Groups:
    timeline = load_timeline(metadata)
    groups = group_files(list_partition(metadata, partition) or ())
    compactions = pending_compactions(metadata, timeline, ())
    committed = with_archived(metadata, committed_without(timeline, ()), groups, compactions)
    known = {entry.time for entry in timeline.instants}
    found: dict[str, list[StoredFile] | None] = {}
    for group, slices in visible_slices(metadata, groups, committed, compactions):
        read = [file for entry in reversed(read_together(slices)) for file in entry.files]
        hides = hiding(metadata.rules, groups[group], committed, compactions.get(group))
        # The first log of a write that was rolled back hides those that have not come yet.
        logs = () if read else (file for file in groups[group] if not file.data.is_base)
        hides += [file for file in logs if file.data.instant not in known]
        found[group[1]] = None if hides and partition != FILES else read
    return found


def check_openable(metadata: Table) -> None:
    """Whether readers can open the listing: checks its file slices, and the ends of their base files. Records and logs
    are not read. Raises Unreadable, Conflict, Unsupported, StorageFailed."""
    for files in merged_slices(metadata, FILES):
        for file in files:
            if file.data.is_base:
                base_schema(_opened(metadata, file))


def base_schema(base: LogFile) -> str:
    """The schema of a base file's records, from the file info at its end."""
    with naming_log(base, Unreadable, Unsupported):
        return hfile.file_info(base.read_at, base.size).get(b"schema", b"").decode(errors="replace")


def _logs(
    metadata: Table, files: list[StoredFile], notes: list[str], rule: ScanRule
) -> tuple[dict[str, Entries], set[str]]:
    """The records of valid blocks, and the deleted keys, whose records in the base file do not count."""
    logs = [_opened(metadata, file) for file in files if not file.data.is_base]
    records: dict[str, Entries] = {}
    gone: set[str] = set()
    for judged in judged_blocks(logs, {log.name for log in logs}, rule):
        block = judged.block
        if judged.fate.name == CORRUPT_FATE:
            notes.append(
                f"{judged.log.uri} is damaged at byte {block.offset:,}, and readers skip this block: {block.damage}"
            )
        if judged.fate.name != VALID:
            continue
        with naming_log(judged.log, Unreadable, Unsupported):
            if block.block_type == HFILE_DATA:
                for key, entries in _listings(block, judged.log, block.instant or ""):
                    records[key] = combine(records.get(key, {}), entries)
            elif block.block_type == DELETE:
                for deleted in read_deletes(block, judged.read_at):
                    records.pop(deleted.record_key or "", None)
                    gone.add(deleted.record_key or "")
    return records, gone


def _listings(
    block: Block, log: LogFile, by: str, only: hfile.Part | None = None
) -> Iterator[tuple[str, dict[str, Listed]]]:
    for record in read_records(block, log.read_at, only=only):
        yield str(record.get(HFILE_KEY)), decode_listing(record, by)


def written_partitions(table: Table, times: Collection[str]) -> dict[str, frozenset[str]]:
    """The partitions in which writes have files by the delta commits of their times in the metadata table: a second
    record of each, if it is there and can be read. Raises StorageFailed."""
    return {
        time: frozenset(
            partition_path(key)
            for key, entries in said
            if key != ALL_PARTITIONS and not all(entry.deleted for entry in entries.values())
        )
        for time, said in _said(table, times)
    }


def naming_nothing(table: Table, times: Collection[str]) -> frozenset[str]:
    """Those whose delta commit in the metadata table names no partition and no file, as one that a downgrade leaves
    (1.2.0). Raises StorageFailed."""
    return frozenset(time for time, said in _said(table, times) if said and not any(entries for _, entries in said))


def _said(table: Table, times: Collection[str]) -> Iterator[tuple[str, list[tuple[str, Entries]]]]:
    """The records of the listing that the delta commits of some times have written, as far as they can be read."""
    with suppress(Unreadable, Unsupported, Conflict):
        metadata = listing_table(table)
        if metadata is None:
            return
        timeline, files = load_timeline(metadata), list_partition(metadata, FILES) or ()
        for instant in timeline.having(DELTACOMMIT):
            if instant.time in times and instant.completed:
                paths = {stat.path for stat in read_commit(metadata, instant).stats.get(FILES, ())}
                logs = [_opened(metadata, file) for file in files if file.path in paths and not file.data.is_base]
                yield instant.time, [*_written(instant.time, logs)]


def _written(time: str, logs: Iterable[LogFile]) -> Iterator[tuple[str, Entries]]:
    for log in logs:
        for block in read_blocks(log.read_at, log.size):
            if block.block_type == HFILE_DATA and block.instant == time:
                yield from _listings(block, log, time)


def _opened(metadata: Table, file: StoredFile) -> LogFile:
    return LogFile(metadata.storage, metadata, FILES, file.data.name, file.size or 0)


def read_known(table: Table, engine: Engine, *, any_format: bool = False) -> Known:
    """What the metadata table lists. A damaged one is no error here: dropping it is the remedy. So is that of one that
    lists an empty file: Hudi's readers and writers fail at it (0.15.0 to 1.2.0), after 1.0.2's rollback of a writer of
    0.15.0 that died at a log.

    Args:
        any_format: one in an unknown format is no error, either.

    Raises:
        Conflict: one of its files disappeared meanwhile.
        Unsupported, StorageFailed, EngineFailed.
    """
    try:
        metadata = listing_table(table)
        if metadata is None:
            return NOT_ASKED
        listing = gather_listing(metadata, engine)
        if listing.empty:
            return Known(unread=f"it lists {min(listing.empty)} with a size of 0 bytes, which Hudi refuses")
        return Known(listing)
    except (Unreadable, Unsupported) as error:
        if isinstance(error, Unsupported) and not any_format:
            raise
        return Known(unread=error.message)
