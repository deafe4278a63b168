"""``metadata partitions``: the size of each partition of the metadata table, and when it was last compacted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hudictl.errors import Unreadable
from hudictl.formats.instants import COMMIT, parse_time, utc_text
from hudictl.state.metadata.facts import facts_of, list_files
from hudictl.state.metadata.undo import Reach, reach_of
from hudictl.state.services.due import deltas_since_compaction
from hudictl.table.files.slices import Committed, StoredFile, file_slices, group_files
from hudictl.table.files.view import committed_without
from hudictl.table.metadata.listing import FILES
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline

LISTED = "listed"
BEING_BUILT = "being built"
NOT_LISTED = "not listed"
MISSING = "missing"


@dataclass(frozen=True)
class PartitionStats:
    """A partition of the metadata table, with all of its files, also those of older slices.

    ``state``: "listed", if readers may use it; "being built" by a writer or the indexer; "not listed", if only storage
    has it; "missing", if it is listed, but has no folder.
    ``oldest_slice``, ``newest_slice``: the base instants of the newest slices of the file groups.
    ``last_compaction``: when the newest compaction was completed that is on the metadata table's timeline, and wrote a
    base file of the partition.
    ``delta_commits_since``: the completed delta commits of the metadata table since then; without a compaction, all
    that are on its timeline.
    ``commits_back``: how many of the last commits could be removed, and the partition kept, because its slices of that
    time are still there, or because each of its entries belongs to one file; ``back_to`` is the newest commit then.
    ``back_limit``: why not one more.
    """

    partition: str
    state: str
    file_groups: int
    base_files: int
    base_bytes: int
    logs: int
    log_bytes: int
    oldest_slice: str | None
    newest_slice: str | None
    last_compaction: str | None
    last_compaction_utc: str | None
    delta_commits_since: int
    commits_back: int
    back_to: str | None
    back_limit: str | None


def partition_stats(table: Table) -> list[PartitionStats] | None:
    """The partitions by name; None if there is no metadata table. Lists each of them once, and reads its timeline.

    Raises:
        Unreadable: the metadata table's properties, or it has no timeline. StorageFailed.
    """
    metadata = open_metadata_table(table)
    if metadata is None:
        return None
    timeline = load_timeline(metadata)
    stored = list_files(metadata)
    named = sorted({*stored, *table.metadata_partitions, *table.metadata_partitions_inflight})
    reach = _reach(table, metadata, timeline, stored, named)
    return [_stats(table, metadata, timeline, name, stored.get(name), reach[name]) for name in named]


def _reach(
    table: Table,
    metadata: Table,
    timeline: Timeline,
    stored: Mapping[str, tuple[StoredFile, ...]],
    named: Sequence[str],
) -> dict[str, Reach]:
    """How far back each partition can go; what cannot be read cannot."""
    if FILES not in table.metadata_partitions:
        return dict.fromkeys(named, Reach(limit="readers do not use the metadata table"))
    try:
        return reach_of(facts_of(table, load_timeline(table), metadata, timeline, stored))
    except Unreadable as error:
        return dict.fromkeys(named, Reach(limit=error.message))


def _stats(
    table: Table,
    metadata: Table,
    timeline: Timeline,
    partition: str,
    files: Sequence[StoredFile] | None,
    reach: Reach,
) -> PartitionStats:
    state = _state(table, partition, there=files is not None)
    bases = [file for file in files or () if file.data.is_base]
    logs = [file for file in files or () if not file.data.is_base]
    groups = group_files(files or ())
    committed = committed_without(timeline, ())
    newest = sorted(key for group in groups.values() if (key := _newest_slice(metadata, group, committed)))

    other = {entry.time for entry in timeline.having(COMMIT)} - {file.data.instant for file in bases}
    last, deltas = deltas_since_compaction(timeline.without(other), metadata.rules)
    compacted = last.completion_time if last is not None and last.action == COMMIT else None
    return PartitionStats(
        partition=partition,
        state=state,
        file_groups=len(groups),
        base_files=len(bases),
        base_bytes=_bytes(bases),
        logs=len(logs),
        log_bytes=_bytes(logs),
        oldest_slice=newest[0] if newest else None,
        newest_slice=newest[-1] if newest else None,
        last_compaction=compacted,
        last_compaction_utc=utc_text(parse_time(compacted, table.zone)) if compacted and table.zone else None,
        delta_commits_since=sum(entry.completed for entry in deltas),
        commits_back=reach.commits,
        back_to=reach.target,
        back_limit=reach.limit,
    )


def _state(table: Table, partition: str, *, there: bool) -> str:
    if partition in table.metadata_partitions_inflight:
        return BEING_BUILT
    if partition not in table.metadata_partitions:
        return NOT_LISTED
    return LISTED if there else MISSING


def _newest_slice(metadata: Table, group: Sequence[StoredFile], committed: Committed) -> str | None:
    """The base instant of the newest slice; None if nothing in the file group is committed."""
    slices = file_slices(metadata.rules, group, committed, None)
    return slices[0].key if slices else None


def _bytes(files: Sequence[StoredFile]) -> int:
    return sum(file.size or 0 for file in files)
