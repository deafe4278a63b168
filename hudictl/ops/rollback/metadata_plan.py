"""What a rollback makes of the metadata table, and how: in its place as far as possible, so that other writers go on;
else set aside; deleted last of all."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from hudictl.formats.instants import WRITE_ACTIONS, Instant
from hudictl.ops.metadata.keep import still_kept, unrecorded
from hudictl.ops.rollback.indexes import metadata_in_place
from hudictl.ops.rollback.metadata import has_nothing_of
from hudictl.ops.rollback.plan import MetadataStep, RollbackOptions
from hudictl.ops.undo.plan import DELETE, asked_to_delete
from hudictl.state.facts import Facts
from hudictl.state.files.needed import Outcome
from hudictl.state.metadata.facts import list_files
from hudictl.state.metadata.record import KeptMetadata
from hudictl.state.metadata.treatment import NO_METADATA_TABLE, metadata_fate
from hudictl.state.metadata.undo import KEPT, MetadataPlan, Mode, PartitionFate
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.metadata.place import metadata_table_in_use, open_metadata_table
from hudictl.table.operations import read_operation
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline


@dataclass(frozen=True)
class Treatment:
    """How the metadata table is treated, and what becomes of it."""

    step: MetadataStep
    plan: MetadataPlan


def treat_metadata_table(
    facts: Facts,
    target: Instant | None,
    time: str,
    stored: Collection[str],
    options: RollbackOptions,
    outcome: Outcome,
    marked: Iterable[str],
) -> Treatment:
    """What becomes of the metadata table; in a rollback that has set it aside, as it was recorded.

    Args:
        target: the instant to roll back; None if it is already removed.
        time: its requested time.
        stored: the times of its pending rollbacks.
        marked: the paths of logs that get rollback blocks.

    Raises:
        Conflict, Unreadable, StorageFailed.
    """
    table, logs = facts.table, frozenset(marked)
    kept = set_aside_by(table, stored)
    if kept is not None:
        return Treatment(MetadataStep.SET_ASIDE, kept.plan)
    if not metadata_table_in_use(table):
        lost = unrecorded(table, stored)
        return Treatment(MetadataStep.DELETE if lost else MetadataStep.KEEP, lost or NO_METADATA_TABLE)
    delete = _why_delete(table, stored, options)
    if options.metadata != DELETE:
        step, later = metadata_in_place(table, target, time, stored, blocks=bool(logs))
        if step is not MetadataStep.DELETE:
            return Treatment(step, _in_place(table, step, time, later))
    removed = () if has_nothing_of(table, target, time, stored) else (time,)
    plan = metadata_fate(facts, removed, outcome, NOTHING_SAVED, marked=logs, delete=delete)
    return Treatment(MetadataStep.SET_ASIDE if plan.keeps else MetadataStep.DELETE, plan)


def set_aside_by(table: Table, rollbacks: Iterable[str | None]) -> KeptMetadata | None:
    """The metadata table that one of some rollbacks has set aside: the one that goes on, or one that it supersedes.
    Raises Unreadable."""
    found = (still_kept(table, rollback) for rollback in rollbacks)
    return next((kept for kept in found if kept is not None), None)


def _why_delete(table: Table, stored: Collection[str], options: RollbackOptions) -> str | None:
    if (asked := asked_to_delete(options.metadata)) is not None:
        return asked
    for rollback in stored:
        begun = read_operation(table.storage, rollback)
        if begun is not None and begun.plan.get("metadata_table") not in (*KEPT, Mode.KEEP.value):
            return "the rollback began without it"
    return None


def _in_place(table: Table, step: MetadataStep, time: str, later: Collection[str]) -> MetadataPlan:
    """A metadata table that stays in its place.

    Args:
        later: its partitions that were built after the instant, and contain its data.
    """
    metadata = open_metadata_table(table)
    if metadata is None:
        return NO_METADATA_TABLE
    rolls_back = step is MetadataStep.ROLL_BACK
    own = load_timeline(metadata).find(time, *WRITE_ACTIONS) if rolls_back else None
    files = list_files(metadata) if rolls_back or later else {}

    def fate(name: str) -> PartitionFate:
        if name in later:
            return PartitionFate(name, f"it was built after {time}, and contains its data", files.get(name, ()))
        return PartitionFate(name, None, tuple(file for file in files.get(name, ()) if file.data.instant == time))

    fates = tuple(fate(name) for name in sorted({*table.metadata_partitions, *later}))
    return MetadataPlan(Mode.UNDO if rolls_back else Mode.KEEP, None, (own,) if own is not None else (), fates)
