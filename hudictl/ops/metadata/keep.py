"""Keeping the metadata table through a restore or rollback: set aside before the data changes, rolled back and brought
in line with storage there, and put back last. docs/metadata-table.md gives the order and the reasons.

A failure of the metadata table itself never stops the operation: it is deleted then, and Hudi builds it again.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from hudictl.errors import Conflict, Findings, Refused, Unreadable, Unsupported
from hudictl.formats import instants as fmt
from hudictl.formats.layouts import METADATA_PROPERTIES, METADATA_TABLE, PARTITION_KEYS
from hudictl.formats.limits import PROPERTIES_BYTES
from hudictl.ops.guards.metadata import ALL, record_index_can_be_built
from hudictl.ops.session import Kind, Session
from hudictl.ops.undo.execute import delete_data_files, remove_traces
from hudictl.phrases import first_few
from hudictl.state.metadata.record import KeptMetadata, encode_record, kept_metadata, read_kept, record_path
from hudictl.state.metadata.undo import MetadataPlan, Mode, PartitionFate, given_up
from hudictl.storage import delete_all, read_whole
from hudictl.table.files.choose import Difference, difference
from hudictl.table.files.listed import ListedFiles
from hudictl.table.files.slices import StoredFile
from hudictl.table.files.sweep import Partition, Sweep
from hudictl.table.files.view import committed_without, list_partition
from hudictl.table.locks.hold import Hold
from hudictl.table.metadata.aside import (
    Own,
    Place,
    delete_aside,
    drop_metadata_table,
    keeping_none,
    look,
    partitions_aside,
    put_back,
    set_aside,
    table_aside,
    times_aside,
    times_dropped,
)
from hudictl.table.metadata.definitions import drop_definitions
from hudictl.table.metadata.listing import FILES, gather_listing
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.metadata.writer import Changes, find_template, listing_time, remove_listing, write_listing
from hudictl.table.operations import begun_plan, read_operation
from hudictl.table.properties import update_properties
from hudictl.table.table import Table
from hudictl.table.timeline.active import delete_instant, load_timeline, pending_rollbacks

_BUILT_AGAIN = "the next Hudi write builds again what its configuration names"


@dataclass(frozen=True)
class MetadataOutcome:
    """What has become of the metadata table: the partitions that are kept; or why none is although some were to be,
    and which are ``lost``."""

    kept: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    given_up: str | None = None

    @property
    def indexes(self) -> tuple[str, ...]:
        return tuple(sorted(self.kept - {FILES}))

    def fate(self, plan: MetadataPlan) -> str:
        """What has become of it, of all that a plan intended: a word of ``Mode``."""
        return Mode.DELETE.value if self.given_up else plan.fate


def begin_keeping(table: Table, time: str, last: str, plan: MetadataPlan) -> KeptMetadata | None:
    """Records what will be done with the metadata table, before anything of it changes; an earlier attempt's record
    wins. None if the plan keeps nothing.

    Args:
        time: the operation's time.
        last: the latest instant time that the operation uses.

    Raises:
        Conflict: it has changed since planning; Unreadable, StorageFailed.
    """
    found = still_kept(table, time)
    if found is not None or not plan.keeps:
        return found
    metadata = unchanged(table, plan)
    sync = listing_time(metadata, fmt.time_plus_ms(max(time, last), 1))
    try:
        properties = read_whole(table.storage, METADATA_PROPERTIES, PROPERTIES_BYTES)
    except FileNotFoundError:
        raise _moved("its properties have disappeared") from None
    kept = kept_metadata(table, time, sync, plan, properties)
    table.storage.replace(record_path(time), encode_record(kept))
    return kept


def still_kept(table: Table, time: str | None) -> KeptMetadata | None:
    """The record of an operation. None if there is none, or if a writer has used the metadata table since it was
    written: then it must be planned anew. Raises Unreadable, StorageFailed."""
    kept = read_kept(table, time)
    if kept is None or look(table, kept.aside).own is not Own.IN_USE:
        return kept
    metadata = open_metadata_table(table)
    return kept if metadata is None or not _written_since(metadata, kept) else None


def _written_since(metadata: Table, kept: KeptMetadata) -> set[str]:
    """The names on its timeline that are neither from the time of planning nor of its own delta commit."""
    names = load_timeline(metadata).sizes.keys() - kept.plan.timeline
    return {name for name in names if not name.startswith(kept.aside.sync)}


def unchanged(table: Table, plan: MetadataPlan) -> Table:
    """The metadata table, as it was at planning. Raises Conflict: its timeline has changed; Unreadable."""
    metadata = open_metadata_table(table)
    if metadata is None or frozenset(load_timeline(metadata).sizes) != plan.timeline:
        raise _moved("its timeline has changed")
    return metadata


def _moved(what: str) -> Conflict:
    return Conflict(
        f"the metadata table is in use by a writer or table service: since planning, {what}",
        hint="stop all writers and table services, then run the command again",
        folder=METADATA_TABLE,
    )


def take_out_of_use(table: Table, time: str, kept: KeptMetadata | None) -> bool:
    """Readers and writers no longer use the metadata table; one that a writer has built meanwhile is deleted, or taken
    out of use to be deleted. Idempotent.

    Returns:
        Whether there was something to do, if it is not kept.
    """
    if kept is not None and set_aside(table, kept.aside):
        return False
    return drop_metadata_table(table, time)


def place_of(table: Table, time: str, kept: KeptMetadata | None) -> Place:
    """Where an operation's metadata table is, and whether there is another one. Raises Unreadable, StorageFailed."""
    return look(table, kept.aside if kept is not None else keeping_none(time))


def roll_back_aside(
    session: Session, held: Hold, kept: KeptMetadata | None, removed: Collection[str], found: Sweep
) -> MetadataOutcome:
    """Rolls the metadata table back where it is set aside, and makes it list what storage has. Idempotent.

    Args:
        removed: the instants of the data table that are removed.
        found: the listing of storage after the deletions.

    Raises:
        StorageFailed, EngineFailed; Conflict: a file disappeared meanwhile.
    """
    if kept is None:
        return MetadataOutcome()
    table = session.table
    if kept.plan.mode is Mode.DELETE:
        return _given_up(table, kept, str(kept.plan.reason))
    if not set_aside(table, kept.aside):
        return _given_up(table, kept, "another process has deleted or replaced it meanwhile")
    try:
        metadata = table_aside(table, kept.aside)
        if written := _written_since(metadata, kept):
            return _given_up(table, kept, f"a writer has used it since planning: {first_few(sorted(written))}")
        _undo(session, held, metadata, kept)
        wrong = _bring_in_line(session, metadata, kept, removed, found)
    except (Unreadable, Unsupported) as error:
        wrong = error.message
    return _given_up(table, kept, wrong) if wrong else MetadataOutcome(kept.plan.kept)


def use_again(table: Table, kept: KeptMetadata | None, outcome: MetadataOutcome) -> MetadataOutcome:
    """Puts the metadata table in its place, then lists its partitions: readers use it again. Idempotent.

    Raises Conflict: another process has built one since it was looked for; StorageFailed.
    """
    if kept is None or not outcome.kept:
        return outcome
    try:
        drop_definitions(table, kept.plan.lost)
    except Unreadable as error:
        return _given_up(table, kept, error.message)
    if not put_back(table, kept.aside):
        raise Conflict(
            f"another process has built a new metadata table ({METADATA_TABLE}); the operation is still pending",
            hint="stop all writers and table services, then run `hudictl resume`",
            folder=METADATA_TABLE,
        )
    update_properties(table.storage, {PARTITION_KEYS[0]: kept.partitions, PARTITION_KEYS[1]: ""})
    return outcome


def put_back_unchanged(table: Table, kept: KeptMetadata) -> bool:
    """Puts a metadata table that was only set aside back, with all its partitions. Idempotent.

    Returns:
        False if another metadata table is in its place, or it is lost: then none is in use.
    """
    if not put_back(table, kept.aside):
        return False
    update_properties(table.storage, kept.listed)
    return True


def forget_kept(table: Table, time: str) -> None:
    """Deletes an operation's record, and what is still set aside for it. Raises Unreadable, StorageFailed."""
    kept = read_kept(table, time)
    delete_aside(table, kept.aside if kept is not None else keeping_none(time))
    delete_all(table.storage, [record_path(time)])


def forget_ended(table: Table, times: Iterable[str]) -> None:
    """The same for operations that have ended, mostly without such a record. Raises Unreadable, StorageFailed."""
    for time in sorted((times_aside(table) | times_dropped(table)).intersection(times)):
        forget_kept(table, time)


def left_by(table: Table, kind: Kind) -> tuple[str, ...]:
    """The commands of a kind that have dropped something and died, oldest first: ``forget_ended`` deletes the rest. A
    running one, too. Raises Unreadable: an operation's record; StorageFailed."""
    operations = ((time, read_operation(table.storage, time)) for time in sorted(times_dropped(table)))
    return tuple(time for time, found in operations if found and found.operation == kind.value)


def unrecorded(table: Table, times: Iterable[str]) -> MetadataPlan | None:
    """The end of a metadata table that one of some operations has moved away, and whose record is gone: what was to
    become of it is not known. Raises StorageFailed."""
    for time in times:
        if table.storage.stat(record_path(time)) is None and (names := partitions_aside(table, time)):
            reason = f"its record {record_path(time)} is gone"
            return MetadataPlan(Mode.DELETE, reason, (), tuple(PartitionFate(name, reason) for name in sorted(names)))
    return None


def nothing_required_lost(
    table: Table, plan: MetadataPlan, required: Collection[str], outcome: MetadataOutcome, report: object
) -> None:
    """After the end: says so if an index is lost that the operator requires, or that Hudi cannot build again.

    Args:
        required: the indexes that the operator requires; ALL for all.
        report: what the operation has done.

    Raises:
        Findings: the operation is done, but one is lost.
    """
    reasons = {entry.partition: entry.reason for entry in plan.partitions if entry.reason and entry.in_use}
    reasons |= dict.fromkeys(outcome.lost, str(outcome.given_up))
    # Only in an operation that has gone on: else its plan was refused.
    unknown = set(required) - {ALL} - {entry.partition for entry in plan.partitions}
    reasons |= dict.fromkeys(unknown, "it is no partition of the metadata table")
    lost = sorted(reasons.keys() - {FILES} if ALL in required else reasons.keys() & set(required))
    if lost:
        raise Findings(
            f"done, but {', '.join(lost)} could not be kept: {reasons[lost[0]]}",
            hint=_BUILT_AGAIN,
            report=report,
            partitions=lost,
        )
    if not outcome.given_up:
        return
    try:
        record_index_can_be_built(table, load_timeline(table), reasons.keys())
    except Refused as error:
        said = f"done, but the metadata table could not be kept: {outcome.given_up}; {error.message}"
        raise Findings(said, hint=error.hint, report=report, **error.fields) from error


def still_required(table: Table, time: str, required: Collection[str]) -> None:
    """A rerun of an operation that has ended says no less than the operation: until the next write, the indexes are in
    use that it was to keep.

    Args:
        time: the operation's time; "" if it is not known.
        required: the indexes that the rerun requires; ALL for all.

    Raises:
        Findings: one is not in use; Unreadable.
    """
    names = set(required)
    with suppress(Unreadable):
        operation = read_operation(table.storage, time) if time else None
        if operation is not None and not any(entry.time > time for entry in load_timeline(table).writes()):
            plan = begun_plan(operation)
            names.update(plan.options.require_index)
            names.update((*plan.indexes_kept, *plan.indexes_lost) if ALL in names else ())
    lost = sorted(names - {ALL} - set(table.metadata_partitions))
    if lost:
        raise Findings(f"done already, but {', '.join(lost)} is not in use", hint=_BUILT_AGAIN, partitions=lost)


def _given_up(table: Table, kept: KeptMetadata, reason: str) -> MetadataOutcome:
    """Deletes it. A rerun knows, and says the same."""
    plan = given_up(kept.plan, reason)
    table.storage.replace(record_path(kept.aside.time), encode_record(replace(kept, plan=plan)))
    delete_aside(table, kept.aside)
    return MetadataOutcome(lost=frozenset(plan.lost_in_use), given_up=reason)


def _undo(session: Session, held: Hold, metadata: Table, kept: KeptMetadata) -> None:
    """Deletes the partitions that are given up, the files to undo, and then the instants that wrote them."""
    plan = kept.plan
    for fate in plan.partitions:
        if fate.reason is not None:
            metadata.storage.delete_folder(fate.partition)
    files = [file for fate in plan.partitions if fate.reason is None for file in fate.files]
    failed = delete_data_files(session, held, files, metadata)
    if failed:
        path, reason = failed[0]
        raise Unreadable(f"{path} of it could not be deleted: {reason}")
    for folder in {file.partition for file in files}:
        # A folder that is gone has nothing to make durable; its partition is found wrong later.
        with suppress(FileNotFoundError):
            metadata.storage.sync(folder)

    timeline = load_timeline(metadata)
    undone = frozenset(plan.instants_undone)
    rollbacks = pending_rollbacks(metadata, timeline)
    ended = [entry for entry, of in rollbacks if of is not None and of.target.time in undone]
    for instant in reversed([entry for entry in timeline.writes() if entry.time in undone]):
        delete_instant(metadata, instant)
    if plan.undone:
        for instant in (*ended, *(entry for entry in timeline.having(fmt.CLEAN) if entry.pending)):
            delete_instant(metadata, instant)
    remove_traces(metadata, undone)
    remove_listing(metadata, kept.aside.sync)


def _bring_in_line(
    session: Session, metadata: Table, kept: KeptMetadata, removed: Collection[str], found: Sweep
) -> str | None:
    """Adds a delta commit that makes the listing equal to storage, if they differ; what is still wrong then."""
    table = session.table
    committed = committed_without(load_timeline(table), removed)
    look = partial(difference, committed, kept.plan.hidden)
    changes = _changes(table, gather_listing(metadata, session.engine, table, removed), found, look)
    if changes:
        template = find_template(metadata, load_timeline(metadata))
        if template is None:
            return "its timeline has no delta commit of the listing of files"
        write_listing(metadata, template, kept.aside.sync, changes)
        changes = _changes(table, gather_listing(metadata, session.engine, table, removed), found, look)
    paths = [f"{partition}/{name}" for partition, names in changes.items() for name in names]
    return f"its listing differs from storage: {first_few(paths)}" if paths else None


def _changes(
    table: Table,
    listing: ListedFiles,
    found: Sweep,
    look: Callable[[Partition[Sequence[StoredFile]]], Difference | None],
) -> Changes:
    """What the listing must say in addition, by partition, so that it lists what storage has."""
    beyond = _beyond(table, listing, found)
    return dict(found.over("compare with the metadata table", look, listed=listing.files, given=beyond))


def _beyond(table: Table, listing: ListedFiles, found: Sweep) -> Iterator[tuple[str, list[StoredFile]]]:
    """The files of listed partitions that the sweep has not looked at: those without a metafile, in a resumed
    operation."""
    for path in sorted(listing.partitions - found.partitions - found.named):
        files = list_partition(table, path)
        if files:
            yield path, files
