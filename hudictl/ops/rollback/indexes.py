"""The indexes that a rollback deletes: they were built after the instant, and contain its data.

Hudi read the table, with the instant, to build them (1.0.2, 1.2.0): their partitions of the metadata table have no
deltacommit of the instant to roll back. Hudi's own rollback does not change them, and queries that use them miss rows.
"""

from collections.abc import Collection

from hudictl.formats import instants as fmt
from hudictl.formats.instants import Instant
from hudictl.ops.rollback.metadata import metadata_step
from hudictl.ops.rollback.plan import MetadataStep
from hudictl.state.metadata.indexes import later_indexes
from hudictl.table.metadata.listing import FILES
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.operations import read_operation
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline


def metadata_in_place(
    table: Table, target: Instant | None, time: str, stored: Collection[str], *, blocks: bool
) -> tuple[MetadataStep, tuple[str, ...]]:
    """Whether a metadata table in use can stay in its place, and its partitions that were built after the instant.
    Arguments as in ``metadata_step``.

    Raises:
        Unreadable: the metadata table's own metadata.
    """
    step = metadata_step(table, target, time, stored, blocks=blocks)
    later = frozenset[str]() if step is MetadataStep.DELETE else _later(table, target, time, stored)
    if step is MetadataStep.DELETE or FILES in later:
        return MetadataStep.DELETE, ()
    return step, tuple(sorted(later))


def _later(table: Table, target: Instant | None, time: str, stored: Collection[str]) -> frozenset[str]:
    """The partitions that were built after the instant. There are none after an instant that was never completed: index
    builds leave such an instant out."""
    metadata = open_metadata_table(table)
    if metadata is None or not metadata.rules.has_completion_times:
        return frozenset()
    listed = frozenset((*table.metadata_partitions, *table.metadata_partitions_inflight))
    own = load_timeline(metadata).find(time, *fmt.WRITE_ACTIONS)
    since = (own.completion_time if own is not None else None) or time
    data = load_timeline(table)
    if target is not None and target.completed:
        return later_indexes(metadata, data, listed, time, since)
    found = frozenset[str]()
    for rollback in stored:
        begun = read_operation(table.storage, rollback)
        # If Hudi has begun the rollback, it cannot be determined whether its instant was completed.
        lost = begun.plan.get("indexes_lost", ()) if begun else later_indexes(metadata, data, listed, time, since)
        found |= {name for name in lost if name in listed or metadata.storage.has_folder(name)}
    return found
