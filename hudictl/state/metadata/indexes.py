"""When the partitions of the metadata table were built: an index holds the writes completed before that."""

from collections.abc import Collection, Iterable

from hudictl.formats.file_names import DataFile, parse_data_file
from hudictl.formats.instants import INDEXING, INITIAL, RESTORE, ROLLBACK, TIME_FORMAT_DIGITS, Instant, State
from hudictl.formats.layouts import META
from hudictl.formats.plans import decode_index_plan
from hudictl.table.metadata.definitions import is_defined
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline, read_instant
from hudictl.table.timeline.archive import archived_completions, archived_writes_after

_RESTS_ON = {"secondary_index_": "record_index", "partition_stats": "column_stats"}
"""Partitions that depend on another one: Hudi looks up the keys of a secondary index in the record index."""

FIRST_LOG = "0-0-0"
"""The write token of the log that begins a file group."""

_NOT_AWAITED = (INDEXING, RESTORE, ROLLBACK)
"""What does not keep Hudi from building an index; undoings end before the next write."""

_KINDS = ("record_index", "column_stats", "bloom_filters", "partition_stats")


def is_index_name(name: str) -> bool:
    """Whether Hudi gives this name to an index partition of a metadata table (0.15.0 to 1.2.0)."""
    return name in _KINDS or is_defined(name)


def with_dependents(partitions: Iterable[str], there: Iterable[str]) -> dict[str, str]:
    """Some partitions, and those that depend on them: the name of the one on which they depend, "" for the former."""
    found = dict.fromkeys(sorted(partitions), "")
    depending = ((name, _rests_on(name)) for name in sorted(there))
    return found | {name: other for name, other in depending if other in found and name not in found}


def builds_wait_for(table: Table, timeline: Timeline) -> Instant | None:
    """The pending instant beside which Hudi builds no index: readers would miss the rows of the next write (0.15.0)."""
    if not table.rules.builds_indexes_alone:
        return None
    return next((entry for entry in timeline.instants if entry.pending and entry.action not in _NOT_AWAITED), None)


def begins_group(data: DataFile) -> bool:
    """Whether a file is the log that begins a file group: it has no records. Below version 8 it need not be: 1.0.2 then
    gives its token to all logs."""
    return data.write_token == FIRST_LOG and not data.is_base


def partition_instants(metadata: Table) -> dict[str, frozenset[str]]:
    """The instants in the names of the files of each partition of a metadata table."""
    return {name: frozenset(data.instant for data in files) for name, files in _partition_files(metadata).items()}


def _partition_files(metadata: Table) -> dict[str, list[DataFile]]:
    return {
        folder.name: [
            data for entry in metadata.storage.list(folder.name) if (data := parse_data_file(entry.name)) is not None
        ]
        for folder in metadata.storage.list("")
        if folder.is_dir and folder.name != META
    }


def is_build(time: str, data: Timeline) -> bool:
    """Whether a delta commit of the metadata table builds a partition from the data table (from version 8 on; seen on
    1.0.2 and 1.2.0). Its time consists of zeros, or is that of an indexing: the partition contains later writes, too.
    One that is not on the data timeline may also be an archived write: see ``archived_writes``.

    Args:
        data: the data table's timeline.
    """
    on_data = next((entry for entry in data.instants if entry.time == time), None)
    return time.startswith(INITIAL) or on_data is None or on_data.action == INDEXING


def completions(metadata: Table, timeline: Timeline, instants: Iterable[str]) -> dict[str, str]:
    """The completion times of instants of the metadata table, as far as its timeline or its archive has them.

    The names are not enough: partitions that are built from a listing have zeros there (Hudi 1.0.2, 1.2.0).

    Raises Unreadable: the archive.
    """
    active = {entry.time: entry.completion_time or entry.time for entry in timeline.completed_writes()}
    rest = set(instants).difference(active)
    return active | (archived_completions(metadata, rest) if rest else {})


def archived_writes(table: Table, data: Timeline, times: Iterable[str]) -> set[str]:
    """Those of some delta commits of the metadata table that are of archived writes of the data table. Raises
    Unreadable: the archive."""
    there = {entry.time for entry in data.instants}
    unknown = {time for time in times if len(time) == TIME_FORMAT_DIGITS and not time.startswith(INITIAL)} - there
    return unknown.intersection(archived_writes_after(table, min(unknown)[:-1])) if unknown else set()


def _rests_on(partition: str) -> str:
    return next((other for prefix, other in _RESTS_ON.items() if partition.startswith(prefix)), "")


def built_by_indexing(table: Table, timeline: Timeline) -> dict[str, tuple[str, str, str]]:
    """For each partition, the last build by Hudi's indexer: its requested time, its completion time, and the instant up
    to which all writes were completed then. Raises Unreadable."""
    found = {}
    for instant in timeline.having(INDEXING):
        file = instant.file(State.REQUESTED)
        if instant.completed and file is not None:
            for partition, until in decode_index_plan(read_instant(table, file), file.name).items():
                found[partition] = (instant.time, instant.completion_time or instant.time, until)
    return found


def later_indexes(metadata: Table, data: Timeline, listed: Collection[str], target: str, since: str) -> frozenset[str]:
    """The partitions of a metadata table, listed or with files, that cannot be proved to have existed at a time: none
    of their files was completed before it; or a build of them was completed later: writes are also added to a partition
    while it is built. And those that depend on one of them.

    Names are not enough: see ``completions``.

    Args:
        data: the data table's timeline.
        target: an instant that added its write to the partitions; a partition with a file of it existed then.
        since: the time.

    Raises:
        Unreadable: the metadata table's archive.
    """
    there = {name: found for name, found in _partition_files(metadata).items() if found or name in listed}
    files: dict[str, list[DataFile]] = {**{name: [] for name in listed}, **there}
    builds = {
        name: {file.instant for file in found if begins_group(file) and is_build(file.instant, data)}
        for name, found in files.items()
    }
    times = {name: {file.instant for file in found} for name, found in files.items()}
    named = {time for found in times.values() if target not in found for time in found}.union(*builds.values())
    completed = completions(metadata, load_timeline(metadata), named)

    def is_later(time: str) -> bool:
        return completed.get(time, since) >= since

    later = {
        name
        for name, found in times.items()
        if any(map(is_later, builds[name])) or all(time != target and is_later(time) for time in found)
    }
    return frozenset(with_dependents(later, times))
