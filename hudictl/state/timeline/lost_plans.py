"""Pending table services whose plan is lost: the requested file is gone, empty or damaged, and Hudi's readers fail."""

from collections.abc import Collection

from hudictl.errors import Unreadable
from hudictl.formats.instants import CLUSTERING, COMPACTION, LOGCOMPACTION, REPLACECOMMIT, Instant, State
from hudictl.formats.plans import CompactedSlice
from hudictl.phrases import command_of
from hudictl.state.facts import Facts
from hudictl.state.timeline.remedy import Remedy
from hudictl.state.timeline.service_plans import logs_of_later_writes, service_groups
from hudictl.table.files.slices import Group, file_slices, group_files
from hudictl.table.files.view import committed_without
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline


def has_lost_plan(table: Table, timeline: Timeline, instant: Instant) -> bool:
    """Whether a pending compaction or clustering has no plan that can be read. Below table version 8 a clustering
    without its request cannot be told from a write; one with a damaged request is taken for a clustering. Later a
    replacecommit is a write.

    Raises Conflict: the request disappeared while it was read.
    """
    # Completed, they are commits, delta commits and replacecommits.
    services = (COMPACTION, LOGCOMPACTION, CLUSTERING)
    unnamed = instant.action == REPLACECOMMIT and not table.rules.clusterings_are_named
    if not instant.pending or not (unnamed or instant.action in services):
        return False
    request = instant.file(State.REQUESTED)
    if request is None or not timeline.sizes[request.name]:
        return instant.action != REPLACECOMMIT
    try:
        service_groups(table, instant)
    except Unreadable:
        return True
    return False


def can_be_planned_again(table: Table, instant: Instant) -> bool:
    """Whether a lost plan can be made from the table's files: below table version 8 the logs in the slices that a
    compaction has opened name them."""
    return instant.action == COMPACTION and not table.rules.logs_named_by_writer


def slices_to_plan(facts: Facts, instant: Instant) -> tuple[CompactedSlice, ...]:
    """What the lost plan of a compaction must name, so that readers find the rows of later writes: below table version
    8 their logs lie in slices that this compaction has opened, and that count only while it is pending. Each is planned
    with the slice before it. Empty if there are no such logs.

    Raises StorageFailed, EngineFailed.
    """
    return slices_before(facts, instant.time, {file.group for file in logs_of_later_writes(facts, instant)})


def slices_before(facts: Facts, time: str, groups: Collection[Group]) -> tuple[CompactedSlice, ...]:
    """The newest slices of some file groups without those that a compaction has opened. Raises StorageFailed,
    EngineFailed."""
    members = facts.sweep.of_groups(groups)
    committed = committed_without(facts.timeline, {time})
    found = []
    for (partition, file_id), files in sorted(group_files(members).items()):
        for last in file_slices(facts.table.rules, files, committed, None)[:1]:
            names = tuple(log.data.name for log in last.logs)
            log_bytes = sum(log.size or 0 for log in last.logs)
            base, base_bytes = (last.base.data.name, last.base.size or 0) if last.base else (None, 0)
            found.append(CompactedSlice(partition, file_id, last.key, base, names, base_bytes, log_bytes))
    return tuple(found)


def remedy_of_lost_plan(table: Table, instant: Instant, *, needed: bool | None = None) -> tuple[Remedy, ...]:
    """The command that ends a lost plan. ``needed``: whether rows depend on it; None: nobody has looked."""
    if can_be_planned_again(table, instant) if needed is None else needed:
        again = "its plan is made again from the file slices"
        return (Remedy(command_of("rollback", instant.time, options=["--keep-plan"]), again),)
    return (Remedy(command_of("rollback", instant.time), "it is removed; the table service plans anew"),)
