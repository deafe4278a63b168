"""What a rollback makes of the metadata table, and how: in its place as far as possible, so that other writers go on;
else set aside; deleted last of all.

Indexes that were built after the instant contain its data, and are deleted. Hudi read the table, with the instant, to
build them (1.0.2, 1.2.0): their partitions have no deltacommit of the instant to roll back. Hudi's own rollback does
not change them, and queries that use them miss rows.
"""

from collections.abc import Collection, Iterable

from hudictl.formats.instants import WRITE_ACTIONS, Instant
from hudictl.ops.metadata.in_place import has_nothing_of, mode_in_place
from hudictl.ops.metadata.keep import still_kept, unrecorded
from hudictl.state.facts import Facts
from hudictl.state.files.needed import Outcome
from hudictl.state.metadata.facts import list_files
from hudictl.state.metadata.indexes import later_indexes
from hudictl.state.metadata.record import KeptMetadata
from hudictl.state.metadata.treatment import NO_METADATA_TABLE, metadata_fate
from hudictl.state.metadata.undo import KEPT, MetadataPlan, Mode, PartitionFate
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.metadata.listing import FILES
from hudictl.table.metadata.place import metadata_table_in_use, open_metadata_table
from hudictl.table.operations import begun_plan, read_operation
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline


def treat_metadata_table(
    facts: Facts,
    target: Instant | None,
    time: str,
    stored: Collection[str],
    asked: str | None,
    outcome: Outcome,
    marked: Iterable[str],
) -> MetadataPlan:
    """What becomes of the metadata table; in a rollback that has set it aside, as it was recorded.

    Args:
        target: the instant to roll back; None if it is already removed.
        time: its requested time.
        stored: the times of its pending rollbacks.
        asked: why it is deleted, if the operator has asked for that.
        marked: the paths of logs that get rollback blocks.

    Raises:
        Conflict, Unreadable, StorageFailed.
    """
    table, logs = facts.table, frozenset(marked)
    kept = set_aside_by(table, stored)
    if kept is not None:
        return kept.plan
    if not metadata_table_in_use(table):
        return unrecorded(table, stored) or NO_METADATA_TABLE
    if asked is None:
        mode, later = stays_in_place(table, target, time, stored, blocks=bool(logs))
        if mode is not None:
            return _in_place(table, mode, time, later)
    removed = () if has_nothing_of(table, target, time, stored) else (time,)
    delete = asked or _began_without_it(table, stored)
    return metadata_fate(facts, removed, outcome, NOTHING_SAVED, marked=logs, delete=delete)


def set_aside_by(table: Table, rollbacks: Iterable[str | None]) -> KeptMetadata | None:
    """The metadata table that one of some rollbacks has set aside: the one that goes on, or one that it supersedes.
    Raises Unreadable."""
    found = (still_kept(table, rollback) for rollback in rollbacks)
    return next((kept for kept in found if kept is not None), None)


def stays_in_place(
    table: Table, target: Instant | None, time: str, stored: Collection[str], *, blocks: bool
) -> tuple[Mode | None, tuple[str, ...]]:
    """Whether a metadata table in use can stay in its place, and its partitions that were built after the instant.
    Arguments as in ``mode_in_place``. Raises Unreadable: the metadata table's own metadata."""
    mode = mode_in_place(table, target, time, stored, blocks=blocks)
    later = _later(table, target, time, stored) if mode is not None else frozenset[str]()
    return (None, ()) if FILES in later else (mode, tuple(sorted(later)))


def _later(table: Table, target: Instant | None, time: str, stored: Collection[str]) -> frozenset[str]:
    """The partitions that were built after the instant. There are none after an instant that was never completed: index
    builds leave such an instant out."""
    metadata = open_metadata_table(table)
    if metadata is None or not metadata.rules.has_completion_times:
        return frozenset()
    listed = frozenset((*table.metadata_partitions, *table.metadata_partitions_inflight))
    own = load_timeline(metadata).find(time, *WRITE_ACTIONS)
    since = (own.completion_time if own is not None else None) or time
    data = load_timeline(table)
    if target is not None and target.completed:
        return later_indexes(metadata, data, listed, time, since)
    found = frozenset[str]()
    for rollback in stored:
        begun = read_operation(table.storage, rollback)
        # If Hudi has begun the rollback, it cannot be determined whether its instant was completed.
        lost = begun_plan(begun).indexes_lost if begun else later_indexes(metadata, data, listed, time, since)
        found |= {name for name in lost if name in listed or metadata.storage.has_folder(name)}
    return found


def _began_without_it(table: Table, stored: Collection[str]) -> str | None:
    """Why a metadata table is deleted that the rollback did not keep when it began."""
    for rollback in stored:
        begun = read_operation(table.storage, rollback)
        if begun is not None and begun_plan(begun).metadata_table not in (*KEPT, Mode.KEEP.value):
            return "the rollback began without it"
    return None


def _in_place(table: Table, mode: Mode, time: str, later: Collection[str]) -> MetadataPlan:
    """A metadata table that stays in its place.

    Args:
        later: its partitions that were built after the instant, and contain its data.
    """
    metadata = open_metadata_table(table)
    if metadata is None:
        return NO_METADATA_TABLE
    rolls_back = mode is Mode.UNDO
    own = load_timeline(metadata).find(time, *WRITE_ACTIONS) if rolls_back else None
    files = list_files(metadata) if rolls_back or later else {}

    def fate(name: str) -> PartitionFate:
        if name in later:
            return PartitionFate(name, f"it was built after {time}, and contains its data", files.get(name, ()))
        return PartitionFate(name, None, tuple(file for file in files.get(name, ()) if file.data.instant == time))

    fates = tuple(fate(name) for name in sorted({*table.metadata_partitions, *later}))
    return MetadataPlan(mode, None, (own,) if own is not None else (), fates, in_place=True)
