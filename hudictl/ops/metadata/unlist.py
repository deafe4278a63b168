"""Taking files out of the metadata table's listing, in its place, before they are deleted: so readers never look for a
file that is gone."""

from collections.abc import Collection, Iterable

from hudictl.engine.base import Engine
from hudictl.errors import Unreadable, Unsupported
from hudictl.ops.session import Kind
from hudictl.phrases import count_of, first_few
from hudictl.state.facts import Facts
from hudictl.state.metadata.facts import read_metadata_facts
from hudictl.state.metadata.treatment import built_alone, dropped, unchanged
from hudictl.state.metadata.undo import OF_FILES, MetadataPlan, Mode, PartitionFate, plan_metadata
from hudictl.table.files.listed import ListedFiles
from hudictl.table.files.slices import StoredFile
from hudictl.table.metadata.aside import drop_indexes
from hudictl.table.metadata.listing import FILES, gather_listing
from hudictl.table.metadata.place import Known, metadata_table_in_use, open_metadata_table
from hudictl.table.metadata.writer import find_template, listing_time, remove_listing, write_listing
from hudictl.table.operations import read_operation
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline


def plan_unlisting(facts: Facts, files: Collection[StoredFile], delete: str | None) -> MetadataPlan:
    """What becomes of the metadata table if files are deleted that belong to no instant.

    One that lists none of them is not changed. Else a delta commit takes them out of the listing, and indexes of keys
    are deleted: an index that was built since may hold the files' keys.

    Args:
        delete: a reason to delete the metadata table, whatever could be kept.

    Raises:
        Conflict: one of its files disappeared meanwhile; StorageFailed.
    """
    table, listing = facts.table, facts.known.listing
    if not files or not metadata_table_in_use(table):
        return unchanged(table)
    if delete is not None:
        return dropped(table, delete)
    if listing is None:
        return dropped(table, facts.known.unread or "readers do not use it")
    count = len(listed(facts.known, files))
    if not count:
        return unchanged(table)
    try:
        found = read_metadata_facts(table, facts.timeline)
        plan = plan_metadata(found, ())
        if plan.mode is Mode.DELETE or found is None:
            return plan
        if find_template(found.metadata, found.timeline) is None:
            return dropped(table, "its timeline has no delta commit of the listing of files")
    except (Unreadable, Unsupported) as error:
        return dropped(table, error.message)
    reason = "it may hold keys of the files to delete"
    # Also what is being built, and the folders that an earlier attempt has left: these are not listed any more.
    by_keys = {entry.partition for entry in plan.partitions} - {FILES, *OF_FILES}
    used = table.metadata_partitions
    fates = (
        PartitionFate(name, reason, found.files.get(name, ()), name in used)
        if name in by_keys
        else PartitionFate(name, None)
        for name in sorted({*used, *by_keys})
    )
    why = f"it lists {count_of(count, 'file')} to delete"
    plan = MetadataPlan(Mode.FORWARD, why, (), tuple(fates), timeline=frozenset(found.timeline.sizes))
    return built_alone(table, facts.timeline, plan)


def unlist(table: Table, engine: Engine, plan: MetadataPlan, files: Collection[StoredFile], time: str) -> None:
    """Deletes the indexes that are given up, then takes the files out of the listing: without the files in the listing
    a rerun would not know that an index holds their keys. Idempotent.

    Args:
        time: the operation's time.

    Raises:
        Unreadable: the metadata table, or it still lists a file; StorageFailed.
    """
    drop_indexes(table, plan.lost, time)
    metadata = open_metadata_table(table)
    if metadata is None:
        return
    timeline = load_timeline(metadata)
    for instant in timeline.writes():
        if instant.pending and _is_own(table, metadata, instant.time):
            remove_listing(metadata, instant.time)
    template = find_template(metadata, timeline)
    going = listed(gather_listing(metadata, engine), files)
    changes: dict[str, dict[str, int | None]] = {}
    for file in files:
        if file.path in going:
            changes.setdefault(file.partition, {})[file.data.name] = None
    if changes and template is not None:
        write_listing(metadata, template, listing_time(metadata, time), changes)
    still = sorted(listed(gather_listing(metadata, engine), files))
    if still:
        raise Unreadable(
            f"the metadata table still lists {first_few(still)} after a delta commit that takes it out; no data file "
            "was deleted",
            hint="run the command again with --metadata delete",
            files=still,
        )


def listed(known: Known | ListedFiles, files: Iterable[StoredFile]) -> set[str]:
    """The paths of files that a metadata table lists. Raises EngineFailed."""
    wanted = list(files)
    names = known.names_in({file.partition for file in wanted})
    return {file.path for file in wanted if file.data.name in names.get(file.partition, ())}


def _is_own(table: Table, metadata: Table, time: str) -> bool:
    """Whether a pending delta commit is of an earlier attempt that has died."""
    begun = time.removesuffix(listing_time(metadata, ""))
    operation = read_operation(table.storage, begun)
    return operation is not None and operation.operation == Kind.ORPHANS_DELETE.value
