"""The table's data files: one listing of all partitions, their file groups and file slices."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from posixpath import normpath

from hudictl import workers
from hudictl.formats.file_names import PARTITION_METAFILE, data_path
from hudictl.formats.instants import COMMIT, COMPACTION, LOGCOMPACTION, REPLACECOMMIT, State
from hudictl.formats.plans import decode_compaction_groups
from hudictl.table.files.slices import Committed, Group, Slice, StoredFile, file_slices, stored_files, undated
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, read_instant
from hudictl.table.timeline.archive import archived_completions

_ON_COW = (COMMIT, REPLACECOMMIT)


def partition_named(said: str) -> str:
    """The table's partition path for a typed one; . is the path of a table without partitions."""
    return normpath(f"/{said}").strip("/")


def list_partition(table: Table, partition: str) -> list[StoredFile] | None:
    """The data files of one folder; None if it does not exist. Raises StorageFailed."""
    listing = workers.list_folder(table.storage, workers.Folder(partition), sync=False)
    return None if listing is None else stored_files(partition, workers.pack(listing))


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


def committed_without(timeline: Timeline, removed: Collection[str]) -> Committed:
    """The view of a timeline without some instants."""
    completion = {
        entry.time: entry.completion_time or entry.time
        for entry in timeline.completed_writes()
        if entry.time not in removed
    }
    # An instant before the timeline's first write is archived, and so committed.
    return Committed(completion, min((entry.time for entry in timeline.writes()), default=""))


def committed_on_cow(timeline: Timeline, removed: Collection[str]) -> Committed:
    """The view without some instants that readers of a copy-on-write table have: delta commits do not count, unless
    they are older than the first commit (0.15.0, 1.0.2, 1.2.0)."""
    own = [entry for entry in timeline.instants if entry.action in _ON_COW and entry.time not in removed]
    completion = {entry.time: entry.completion_time or entry.time for entry in own if entry.completed}
    return Committed(completion, min(completion, default=""))


def with_archived(
    table: Table, committed: Committed, groups: Mapping[Group, Sequence[StoredFile]], compactions: Mapping[Group, str]
) -> Committed:
    """Adds the completion times of archived writes, if they decide to which slice a log belongs: see ``undated``. A
    write that is not in the archive counts as completed at its requested time."""
    archived = {
        time
        for group, files in groups.items()
        for time in undated(table.rules, files, committed, compactions.get(group))
    }
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
