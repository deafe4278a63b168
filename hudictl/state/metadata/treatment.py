"""What a restore or rollback makes of the metadata table: kept as far as possible, or deleted, with the reason."""

from collections.abc import Collection
from dataclasses import replace
from itertools import chain

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats.layouts import METADATA_PROPERTIES, METADATA_PROPERTIES_BACKUP
from hudictl.phrases import count_of, first_few
from hudictl.state.facts import Facts
from hudictl.state.files.needed import Outcome
from hudictl.state.metadata.facts import list_files, read_headers, read_metadata_facts
from hudictl.state.metadata.gap import behind
from hudictl.state.metadata.indexes import builds_wait_for
from hudictl.state.metadata.undo import MetadataPlan, Mode, PartitionFate, plan_metadata
from hudictl.table.files.choose import unlisted as unlisted_in
from hudictl.table.files.saved import SavedFiles
from hudictl.table.files.slices import StoredFile
from hudictl.table.metadata.place import metadata_table_in_use, open_metadata_table
from hudictl.table.metadata.writer import find_template
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline

NO_METADATA_TABLE = MetadataPlan(Mode.NONE, None, (), ())


def metadata_fate(
    facts: Facts,
    removed: Collection[str],
    outcome: Outcome,
    savepointed: SavedFiles,
    *,
    marked: Collection[str] = (),
    delete: str | None = None,
) -> MetadataPlan:
    """What becomes of the metadata table if instants are removed. It can be rebuilt, so that damage of it is a reason
    to delete it, and no error.

    Args:
        removed: the requested times.
        outcome: what becomes of the data files.
        savepointed: the files of the target's savepoint.
        marked: the paths of logs with blocks of the instants, which get rollback blocks.
        delete: a reason to delete it, whatever could be kept.

    Raises:
        Conflict: one of its files disappeared meanwhile.
        StorageFailed.
    """
    table, listing = facts.table, facts.known.listing
    if not metadata_table_in_use(table):
        return NO_METADATA_TABLE
    if delete is not None:
        return dropped(table, delete)
    if listing is None:
        return dropped(table, facts.known.unread or "readers do not use it")
    if table.storage.stat(METADATA_PROPERTIES) is None or table.storage.stat(METADATA_PROPERTIES_BACKUP) is not None:
        return dropped(table, "an update of its properties was interrupted")
    try:
        found = read_metadata_facts(table, facts.timeline)
        plan = plan_metadata(found, removed)
        staying = found.timeline.without(plan.instants_undone) if found is not None else None
        followed = found is not None and staying is not None and find_template(found.metadata, staying) is not None
    except (Unreadable, Unsupported) as error:
        return dropped(table, error.message)
    if not plan.keeps:
        return plan
    if not followed:
        return dropped(table, "its timeline has no delta commit of the listing of files")
    if (alone := built_alone(table, facts.timeline.without(removed), plan)) is not plan:
        return alone
    unlisted = behind(facts, outcome, removed, savepointed, marked)
    if unlisted:
        return dropped(
            table, f"it does not list {count_of(len(unlisted), 'required file')}: {first_few(unlisted, most=1)}"
        )
    going = {file.path for files in outcome.removed.values() for file in files}
    unlisted_files = chain.from_iterable(facts.sweep.over("look for unlisted files", unlisted_in, listed=listing.files))
    hidden = (file.path for file in unlisted_files if not _takes_back(table, file))
    return replace(plan, hidden=frozenset(hidden) - going - set(marked))


def built_alone(table: Table, timeline: Timeline, plan: MetadataPlan) -> MetadataPlan:
    """The plan; but all of the metadata table is deleted, if an index of it is, and Hudi could not build that again
    beside what is pending on the timeline afterwards (0.15.0): the listing would lack the next write."""
    waits_for = builds_wait_for(table, timeline) if plan.lost_in_use else None
    if waits_for is None:
        return plan
    return dropped(table, f"{plan.lost_in_use[0]} is deleted, and Hudi cannot build it again beside {waits_for}")


def _takes_back(table: Table, file: StoredFile) -> bool:
    """Whether a log has a rollback block (below version 8). A rollback of Hudi's that has died has written it, and
    would have listed it at its end: without it readers would take the rolled back rows, once their instant is archived.
    """
    if table.rules.logs_named_by_writer or file.data.is_base or not file.size:
        return False
    try:
        return bool(read_headers(table, file.partition, file).targets)
    except Unreadable:
        return False


def unchanged(table: Table) -> MetadataPlan:
    """Nothing of the metadata table changes."""
    if not metadata_table_in_use(table):
        return NO_METADATA_TABLE
    return MetadataPlan(Mode.KEEP, None, (), tuple(PartitionFate(name, None) for name in table.metadata_partitions))


def dropped(table: Table, reason: str) -> MetadataPlan:
    """The whole metadata table is deleted."""
    try:
        metadata = open_metadata_table(table)
        files = list_files(metadata) if metadata is not None else {}
    except Unreadable:
        files = {}
    names = sorted({*table.metadata_partitions, *table.metadata_partitions_inflight, *files})
    used = table.metadata_partitions
    fates = tuple(PartitionFate(name, reason, files.get(name, ()), name in used) for name in names)
    return MetadataPlan(Mode.DELETE, reason, (), fates)
