"""The table's data files: one listing of all partitions, their file groups and file slices."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from posixpath import normpath
from typing import NamedTuple

from hudictl import workers
from hudictl.engine.base import Engine, TaskResult, Value
from hudictl.errors import StorageFailed
from hudictl.formats.file_names import PARTITION_METAFILE, DataFile, data_path, parse_data_file
from hudictl.formats.instants import COMPACTION, LOGCOMPACTION, State
from hudictl.formats.plans import decode_compaction_groups
from hudictl.phrases import first_few
from hudictl.table.archive import archived_completions
from hudictl.table.rules import Rules
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, read_instant

# With fewer folders than this the driver continues to list: each of a few deep branches would be one long task.
_ENOUGH_FOLDERS = 32

Group = tuple[str, str]
"""A file group: partition path and file id."""


class StoredFile(NamedTuple):
    """A data file. ``size`` is in bytes; None for a file in metadata that does not exist on storage."""

    partition: str
    data: DataFile
    size: int | None
    modified_ms: int = 0

    @property
    def path(self) -> str:
        return data_path(self.partition, self.data.name)

    @property
    def group(self) -> Group:
        return self.partition, self.data.file_id


@dataclass(frozen=True)
class Sweep:
    """What one listing of all partitions found.

    ``partitions`` are the folders with a metafile, including named ones below another partition (see ``hidden_by``).
    ``linked`` are folders behind a symbolic link, where nothing may be deleted. ``tables`` are other tables below the
    base path, of which nothing is listed. ``named`` are the partition paths from the argument.
    """

    files: tuple[StoredFile, ...]
    partitions: frozenset[str]
    linked: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()

    def groups(self) -> dict[Group, list[StoredFile]]:
        return group_files(self.files)


@dataclass(frozen=True, slots=True)
class Slice:
    """A file slice: ``key`` is its base instant; ``pending`` marks the slice of a pending compaction."""

    key: str
    base: StoredFile | None
    logs: tuple[StoredFile, ...]
    pending: bool

    @property
    def files(self) -> tuple[StoredFile, ...]:
        return ((self.base,) if self.base else ()) + self.logs


@dataclass(frozen=True)
class Committed:
    """Which instants count for a view: completed ones with their completion time, and all before ``start``."""

    completion: Mapping[str, str]
    start: str

    def __contains__(self, time: str) -> bool:
        return time in self.completion or time < self.start


def sweep(table: Table, engine: Engine, named: Collection[str], *, sync: bool = False) -> Sweep:
    """Lists every folder once: a few on the driver, the rest on the engine.

    Args:
        named: partition paths that count even without a metafile, or below another partition, because commits, a
            savepoint or the metadata table name them. Other folders do not count, for example an operator's copies.
        sync: makes earlier deletions durable before they are recorded.

    Raises:
        StorageFailed: a folder could not be listed.
    """
    listings: list[workers.Listing] = []
    waiting = [workers.Folder("")]
    while 0 < len(waiting) < _ENOUGH_FOLDERS:
        level = [workers.list_folder(table.storage, folder, sync) for folder in waiting]
        listings += [listing for listing in level if listing is not None]
        waiting = [folder for listing in level if listing is not None for folder in workers.below(listing)]
    tasks = [workers.ListTask(table.storage, folder, sync) for folder in waiting]
    for tree in values(engine.map("list partitions", workers.list_tree, tasks), "list"):
        listings += tree

    own = [listing for listing in listings if not listing.is_table]
    seen = [listing for listing in own if listing.path in named or (listing.is_partition and not listing.hidden)]
    return Sweep(
        tuple(file for listing in seen for file in _data_files(listing)),
        frozenset(listing.path for listing in seen if listing.is_partition),
        frozenset(listing.path for listing in seen if listing.linked),
        frozenset(listing.path for listing in listings if listing.is_table),
        frozenset(named),
    )


def other_table(partition: str, found: Sweep) -> str | None:
    """The folder at or above a partition that is another table; None if there is none."""
    parts = partition.split("/")
    return next((path for depth in range(len(parts)) if (path := "/".join(parts[: depth + 1])) in found.tables), None)


def hidden_by(partition: str, partitions: Collection[str]) -> str | None:
    """The partition above a partition: readers that list folders do not look below it (Hudi 0.15.0 to 1.2.0)."""
    parts = partition.split("/") if partition else []
    above = ("/".join(parts[:depth]) for depth in range(len(parts)))
    return next((path for path in above if path in partitions), None)


def partition_named(said: str) -> str:
    """The table's partition path for a typed one; . is the path of a table without partitions."""
    return normpath(f"/{said}").strip("/")


def list_partition(table: Table, partition: str) -> list[StoredFile] | None:
    """The data files of one folder; None if it does not exist. Raises StorageFailed."""
    listing = workers.list_folder(table.storage, workers.Folder(partition), sync=False)
    return None if listing is None else _data_files(listing)


def _data_files(listing: workers.Listing) -> list[StoredFile]:
    return [
        StoredFile(listing.path, data, size, modified)
        for name, size, modified in listing.files
        if (data := parse_data_file(name)) is not None
    ]


def values(results: Sequence[TaskResult[Value]], verb: str) -> list[Value]:
    """The values of an engine's results. Raises StorageFailed: some tasks failed."""
    errors = [result.error for result in results if result.error is not None]
    if errors:
        raise StorageFailed(
            f"cannot {verb}: {first_few(errors, most=1, rest=' (and {} more)')}",
            hint="fix the cause, then run the same command again",
            failed=len(errors),
        )
    return [result.value for result in results if result.value is not None]


def group_files(files: Iterable[StoredFile]) -> dict[Group, list[StoredFile]]:
    """Files by their file group."""
    groups: dict[Group, list[StoredFile]] = defaultdict(list)
    for file in files:
        groups[file.group].append(file)
    return dict(groups)


def file_slices(
    rules: Rules, files: Sequence[StoredFile], committed: Committed, pending_compaction: str | None
) -> list[Slice]:
    """The visible slices of one file group, newest first, by the rules of the table's version.

    Args:
        committed: the instants that count.
        pending_compaction: the instant of the group's pending compaction, which opens a slice of its own.
    """
    bases = {file.data.instant: file for file in files if file.data.is_base and file.data.instant in committed}
    logs = sorted((file for file in files if not file.data.is_base), key=lambda file: file.data.log_order)
    keys = set(bases) | ({pending_compaction} if pending_compaction else set())
    key_of = _key_by_completion if rules.has_completion_times else _key_by_name
    slice_key = key_of(keys, committed)
    members: dict[str, list[StoredFile]] = defaultdict(list)
    for file in logs:
        key = slice_key(file.data)
        if key is not None:
            members[key].append(file)
    slices = [Slice(key, bases.get(key), tuple(members[key]), key == pending_compaction) for key in keys | set(members)]
    return sorted((entry for entry in slices if entry.files), key=lambda entry: entry.key, reverse=True)


def visible_slices(
    table: Table,
    groups: Mapping[Group, Sequence[StoredFile]],
    committed: Committed,
    compactions: Mapping[Group, str],
    replaced: Collection[Group] = (),
) -> Iterator[tuple[Group, list[Slice]]]:
    """The visible slices of each file group that is not replaced, newest first.

    Args:
        committed: the instants that count; completion times of archived ones are looked up if they matter.
        compactions: see ``pending_compactions``.

    Raises:
        Unreadable, StorageFailed: the archive.
    """
    committed = with_archived(table, committed, groups, compactions)
    for group, files in groups.items():
        if group not in replaced:
            yield group, file_slices(table.rules, files, committed, compactions.get(group))


def read_together(slices: list[Slice]) -> list[Slice]:
    """The visible slices that a reader uses: the newest, and the one before if the newest is a pending compaction's."""
    return slices[:2] if slices and slices[0].pending else slices[:1]


def _key_by_name(keys: set[str], committed: Committed) -> Callable[[DataFile], str | None]:
    """Below table version 8 a log's name holds the base instant of its slice."""
    return lambda data: data.instant if data.instant in keys or data.instant in committed else None


def _key_by_completion(keys: set[str], committed: Committed) -> Callable[[DataFile], str | None]:
    """From table version 8 on a log belongs to the newest slice that existed when its writer completed."""

    def key(data: DataFile) -> str | None:
        if data.instant not in committed:
            return None
        completed = committed.completion.get(data.instant, data.instant)
        older = [key for key in keys if key <= completed]
        if older:
            return max(older)
        keys.add(data.instant)
        return data.instant

    return key


def committed_without(timeline: Timeline, removed: Collection[str]) -> Committed:
    """The view of a timeline without some instants."""
    completion = {
        entry.time: entry.completion_time or entry.time
        for entry in timeline.completed_writes()
        if entry.time not in removed
    }
    # An instant before the timeline's first write is archived, and so committed.
    return Committed(completion, min((entry.time for entry in timeline.writes()), default=""))


def with_archived(
    table: Table, committed: Committed, groups: Mapping[Group, Sequence[StoredFile]], compactions: Mapping[Group, str]
) -> Committed:
    """Adds the completion times of archived writes, if they decide to which slice a log belongs.

    They do if the file group has a slice that opened after the write's request. A write that is not in the archive
    counts as completed at its requested time.
    """
    if not table.rules.has_completion_times:
        return committed
    unknown = set()
    for group, files in groups.items():
        bases = [file.data.instant for file in files if file.data.is_base]
        newest = max([*bases, compactions.get(group, "")], default="")
        unknown |= {file.data.instant for file in files if not file.data.is_base and file.data.instant < newest}
    archived = {time for time in unknown if time < committed.start} - set(committed.completion)
    if not archived:
        return committed
    return replace(committed, completion={**archived_completions(table, archived), **committed.completion})


def pending_compactions(table: Table, timeline: Timeline, removed: Collection[str]) -> dict[Group, str]:
    """The pending compaction of each file group that has one. Raises Unreadable."""
    found: dict[Group, str] = {}
    for instant in timeline.having(COMPACTION, LOGCOMPACTION):
        file = instant.file(State.REQUESTED)
        if instant.pending and instant.time not in removed and file is not None:
            for group in decode_compaction_groups(read_instant(table, file), file.name):
                found[group] = instant.time
    return found


def metafile_path(partition: str) -> str:
    """The path of a partition's metafile."""
    return data_path(partition, PARTITION_METAFILE)
