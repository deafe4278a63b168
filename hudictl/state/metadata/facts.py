"""All that decides what can be kept of the metadata table."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from posixpath import basename

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats.file_names import DataFile, data_path, parse_data_file
from hudictl.formats.layouts import META
from hudictl.formats.log_blocks import read_blocks
from hudictl.table.files.slices import StoredFile
from hudictl.table.files.view import list_partition
from hudictl.table.logs.reader import LogFile
from hudictl.table.metadata.listing import FILES
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline
from hudictl.table.timeline.archive import archived_writes_after
from hudictl.table.timeline.commits import Commits, load_commits


@dataclass(frozen=True)
class Headers:
    """The instants of a log's records, and those that its rollback blocks roll back."""

    instants: frozenset[str]
    targets: frozenset[str]


def read_headers(table: Table, partition: str, log: StoredFile) -> Headers:
    """Reads the headers of all blocks. Raises Unreadable."""
    opened = LogFile(table.storage, table, partition, log.data.name, log.size or 0)
    try:
        blocks = list(read_blocks(opened.read_at, opened.size))
    except Unsupported as error:
        raise Unreadable(f"{log.path}: {error.message}", file=log.path) from error
    instants = (block.instant for block in blocks if block.rollback_target is None)
    targets = (block.rollback_target for block in blocks)
    return Headers(frozenset(filter(None, instants)), frozenset(filter(None, targets)))


@dataclass(frozen=True)
class MetadataFacts:
    """All that decides: both timelines, the metadata table's commit metadata, its archived writes of the active data
    timeline's time, and the files of each partition."""

    table: Table
    data: Timeline
    metadata: Table
    timeline: Timeline
    commits: Commits
    archived: Sequence[str]
    files: Mapping[str, tuple[StoredFile, ...]]

    @cached_property
    def written(self) -> dict[str, dict[str, list[tuple[str, DataFile, int]]]]:
        """The files that the metadata table's writes name, by partition and file id: each with the instant, and its
        size then."""
        found: dict[str, dict[str, list[tuple[str, DataFile, int]]]] = defaultdict(lambda: defaultdict(list))
        for time, commit in self.commits.items():
            for partition, stats in commit.stats.items():
                for stat in stats:
                    data = parse_data_file(basename(stat.path or ""))
                    if data is not None:
                        found[partition][stat.file_id].append((time, data, stat.file_bytes))
        return found

    @cached_property
    def writers(self) -> dict[str, set[str]]:
        """The instants that name a file, by its path."""
        found: dict[str, set[str]] = defaultdict(set)
        for partition, groups in self.written.items():
            for time, data, _ in chain.from_iterable(groups.values()):
                found[data_path(partition, data.name)].add(time)
        return found

    def slices_of(self, time: str) -> set[str]:
        """The instants in the names of the files that a write names."""
        commit = self.commits.get(time)
        stats = chain.from_iterable(commit.stats.values()) if commit is not None else ()
        parsed = (parse_data_file(basename(stat.path or "")) for stat in stats)
        return {data.instant for data in parsed if data is not None}

    @cached_property
    def headers(self) -> dict[str, Headers]:
        """What is in logs that no active commit names, by path, as far as they were read."""
        return {}


def read_metadata_facts(table: Table, data: Timeline) -> MetadataFacts | None:
    """None if readers do not use a metadata table. Raises as ``facts_of``; StorageFailed."""
    metadata = open_metadata_table(table) if FILES in table.metadata_partitions else None
    if metadata is None:
        return None
    return facts_of(table, data, metadata, load_timeline(metadata), list_files(metadata))


def facts_of(
    table: Table, data: Timeline, metadata: Table, timeline: Timeline, files: Mapping[str, tuple[StoredFile, ...]]
) -> MetadataFacts:
    """Reads each active commit of the metadata table, and of its archive what is not older than the data timeline.
    Raises Conflict: a file disappeared meanwhile; Unreadable."""
    oldest = min((entry.time for entry in data.writes()), default="~")
    archived = [time for time in archived_writes_after(metadata, oldest[:-1]) if time >= oldest]
    return MetadataFacts(table, data, metadata, timeline, load_commits(metadata, timeline), archived, files)


def list_files(metadata: Table) -> dict[str, tuple[StoredFile, ...]]:
    """The files of each partition of a metadata table that has a folder. Raises StorageFailed."""
    folders = [entry.name for entry in metadata.storage.list("") if entry.is_dir and entry.name != META]
    return {name: tuple(list_partition(metadata, name) or ()) for name in folders}
