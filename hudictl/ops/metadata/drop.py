"""Dropping the metadata table, or some of its indexes: a plan like any other, and its execution."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import ClassVar

from hudictl.errors import Conflict, Unreadable
from hudictl.formats.instants import INDEXING
from hudictl.formats.layouts import METADATA_TABLE
from hudictl.ops.fingerprint import PLAN_VERSION, files_digest, listed, refuse_moved, table_fingerprint
from hudictl.ops.guards import clock, liveness
from hudictl.ops.guards import files as file_guards
from hudictl.ops.guards import metadata as metadata_guards
from hudictl.ops.guards import timeline as timeline_guards
from hudictl.ops.metadata.keep import forget_ended, left_by
from hudictl.ops.session import Begun, Kind, Session, changing, keeping_files, kept_for
from hudictl.ops.undo.instants import create_metafile
from hudictl.state.facts import Facts, Signs, read_facts, read_signs
from hudictl.state.files.needed import needed_files
from hudictl.state.metadata.gap import lost_to_readers, metadata_gap
from hudictl.state.metadata.indexes import with_dependents
from hudictl.state.services.stalled import partitions_in_the_making
from hudictl.state.writable import known_timeline, writable_table
from hudictl.state.writers.activity import DEFAULT_IDLE_MS
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.locks.config import LockConfig
from hudictl.table.metadata.aside import Other, delete_dropped, drop_indexes, drop_metadata_table, keeping_none, look
from hudictl.table.metadata.definitions import damaged_definitions, is_defined, reset_damaged
from hudictl.table.metadata.listing import read_known
from hudictl.table.metadata.place import (
    NOT_ASKED,
    metadata_partition_names,
    metadata_table_files,
    metadata_table_in_use,
    open_metadata_table,
)
from hudictl.table.properties import recover_properties
from hudictl.table.table import Table, opened_again
from hudictl.table.timeline.active import load_timeline


@dataclass(frozen=True)
class DropOptions:
    """``partitions``: the indexes to drop; none for the whole metadata table. ``idle_ms``: a pending write that had no
    activity for this long is dead. ``accept_loss``: drop it although required files are missing. ``keep_files``: so
    that ``undo`` brings it back."""

    partitions: tuple[str, ...] = ()
    idle_ms: int = DEFAULT_IDLE_MS
    accept_loss: bool = False
    keep_files: bool = False


@dataclass(frozen=True)
class DroppedPartition:
    """A partition of the metadata table to drop; ``depends_on`` is the named one without which it is of no use."""

    partition: str
    files: int
    bytes: int
    depends_on: str = ""


@dataclass(frozen=True)
class DropPlan:
    """The partitions to drop; the names in ``shown`` are those in JSON.

    ``files_to_delete``, ``bytes_to_delete``: of the partitions; of a whole metadata table also of its timeline.
    ``partition_metafiles_made`` are created before a whole metadata table is dropped, which alone knows these
    partitions. ``files_lost``: required by readers, but missing: the operator has accepted that. ``unfinished``:
    earlier drops that died, and have left files. ``indexings_pending``: pending indexings
    that have begun to build partitions of the plan, and no others. ``definitions_damaged``: what Hudi cannot read of
    the definitions of indexes, which goes with a whole metadata table.
    """

    shown: ClassVar = (
        *("plan_version", "operation", "timezone", "target", "options", "fingerprint", "whole", "partitions"),
        *("partitions_absent", "partitions_kept", "files_to_delete", "bytes_to_delete"),
        *("partition_metafiles_made", "files_lost", "metadata_table_unread", "indexings_pending"),
        *("definitions_damaged", "unfinished", "lock"),
    )
    plan_version: ClassVar = PLAN_VERSION
    operation: ClassVar = Kind.METADATA_DROP.value

    timezone: str | None
    options: DropOptions
    fingerprint: Mapping[str, str]
    whole: bool
    partitions: tuple[DroppedPartition, ...]
    partitions_absent: tuple[str, ...]
    partitions_kept: tuple[str, ...]
    files_to_delete: int
    bytes_to_delete: int
    partition_metafiles_made: tuple[str, ...]
    files_lost: tuple[str, ...]
    metadata_table_unread: str | None
    indexings_pending: tuple[str, ...]
    definitions_damaged: str | None
    unfinished: tuple[str, ...]
    lock: LockConfig

    @property
    def target(self) -> str:
        return ", ".join(self.options.partitions)

    @property
    def nothing_to_do(self) -> bool:
        return not (self.whole or self.partitions or self.unfinished)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(entry.partition for entry in self.partitions)

    @property
    def defined(self) -> tuple[str, ...]:
        """The indexes to drop that have a definition, which CREATE INDEX has made."""
        return tuple(name for name in self.names if is_defined(name))

    @property
    def summary(self) -> dict[str, object]:
        """The plan for the operation's record."""
        return {
            "options": asdict(self.options),
            "fingerprint": dict(self.fingerprint),
            "whole": self.whole,
            "partitions": list(self.names),
        }


@dataclass(frozen=True)
class DropResult:
    """What was dropped. ``undo``: what ``hudictl undo`` takes, if the files are kept."""

    whole: bool
    partitions: tuple[str, ...]
    files_deleted: int
    bytes_deleted: int
    undo: str | None = None


def plan_metadata_drop(session: Session, options: DropOptions) -> DropPlan:
    """Finds what is to be dropped. Changes nothing; every guard has passed. Raises Unsupported, Conflict, Refused,
    Unreadable, StorageFailed, EngineFailed."""
    # Read again: an approved plan is compared with the table as it is now.
    table = opened_again(session.table)
    writable_table(table, session.locking)
    there = metadata_partition_names(table)
    metadata_guards.only_indexes(options.partitions, there)
    signs = read_signs(table)
    _check_signs(session, table, signs)

    damaged = None if options.partitions else damaged_definitions(table)
    whole = not options.partitions and (metadata_table_in_use(table) or damaged is not None)
    named = with_dependents(there.intersection(options.partitions), there)
    dropped = dict.fromkeys(sorted(there), "") if whole else named
    facts = _facts(session, table, signs, options, dropped) if dropped or whole else None
    bare, lost = _checked_without_it(session, facts, options) if facts is not None and whole else ((), ())
    files = _files_by_partition(table) if facts is not None else {}
    counted = [entry for name in files if whole or name in dropped for entry in files[name].values()]
    unread = facts.known.unread if facts is not None and whole else None
    indexings, unfinished = tuple(_indexings(table, signs, dropped)), left_by(table, Kind.METADATA_DROP)
    return DropPlan(
        timezone=session.timezone,
        options=options,
        fingerprint={
            **table_fingerprint(table, asdict(options)),
            "metadata table": listed(there),
            "partition metafiles to create": listed(bare),
            "files lost": files_digest((), lost),
            "metadata table unread": unread or "",
            "pending indexings": listed(indexings),
            "damaged definitions": damaged or "",
            "unfinished": listed(unfinished),
        },
        whole=whole,
        partitions=tuple(
            DroppedPartition(name, len(files[name]), sum(size for size, _ in files[name].values()), other)
            for name, other in dropped.items()
        ),
        partitions_absent=tuple(sorted(set(options.partitions) - there)),
        partitions_kept=tuple(sorted(there.difference(dropped))),
        files_to_delete=len(counted),
        bytes_to_delete=sum(size for size, _ in counted),
        partition_metafiles_made=bare,
        files_lost=lost,
        metadata_table_unread=unread,
        indexings_pending=indexings,
        definitions_damaged=damaged,
        unfinished=unfinished,
        lock=session.lock,
    )


def _check_signs(session: Session, table: Table, signs: Signs) -> None:
    """Raises Unsupported, Conflict; Refused: a restore or rollback is pending."""
    known_timeline(table, signs.timeline)
    liveness.no_lock_in_use(table, signs, session.locking)
    clock.writers_zone(table, signs.timeline)
    timeline_guards.nothing_to_resume(signs, "it may need the metadata table")


def _facts(session: Session, table: Table, signs: Signs, options: DropOptions, dropped: Collection[str]) -> Facts:
    """The facts, if no writer is at work, and Hudi can build again what is dropped. Raises Conflict, Refused."""
    metadata_guards.no_indexing_is_last(signs.timeline)
    metadata_guards.record_index_can_be_built(table, signs.timeline, dropped)
    if options.partitions:
        metadata_guards.index_can_be_built(table, signs.timeline)
    _check_metadata_table(table, signs, options)

    known = NOT_ASKED if options.partitions else read_known(table, session.engine, any_format=True)
    facts = read_facts(table, session.engine, signs, session.monitor.note, known=known)
    liveness.no_running_write(table, signs, signs.timeline.instants, options.idle_ms, facts.sweep, ())
    return facts


def _check_metadata_table(table: Table, signs: Signs, options: DropOptions) -> None:
    """Raises Conflict: a writer works on the metadata table; Refused: it needs the indexes to drop."""
    # What an earlier drop has left has no properties, either.
    asides = [keeping_none(time) for time in left_by(table, Kind.METADATA_DROP) or ("",)]
    if all(look(table, aside).other is Other.BEGUN for aside in asides):
        changed = (changed_ms for _, changed_ms in metadata_table_files(table).values())
        metadata_guards.not_being_built(max(changed, default=0), signs.now_ms, options.idle_ms)
    try:
        metadata = open_metadata_table(table)
        timeline = load_timeline(metadata) if metadata is not None else None
    except Unreadable:
        if options.partitions:
            raise
        # Dropping a damaged metadata table is its remedy.
        return
    if timeline is not None:
        metadata_guards.nothing_running(timeline, signs.now_ms, options.idle_ms)
        if options.partitions:
            metadata_guards.nothing_pending(timeline)


def _checked_without_it(
    session: Session, facts: Facts, options: DropOptions
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The partitions that get a metafile, so that readers see the same rows without the metadata table; and required
    files that are missing. Raises Refused: that is not enough, or Hudi could not build it again."""
    metadata_guards.no_empty_file(facts)
    needed = needed_files(facts, (), NOTHING_SAVED)
    file_guards.metafiles_can_be_made(facts.table, needed)
    lost = lost_to_readers(facts, needed)
    if not options.accept_loss:
        metadata_guards.nothing_lost_unseen(lost)
    metadata_guards.nothing_lost_or_gained(
        metadata_gap(facts, session.engine, needed, (), NOTHING_SAVED),
        nested_hint="have Hudi move these rows into a partition that is not inside another",
    )
    return needed.bare, tuple(lost)


def _files_by_partition(table: Table) -> dict[str, dict[str, list[int]]]:
    """The size and modification time of each file of the metadata table, by partition; its timeline is .hoodie."""
    found: dict[str, dict[str, list[int]]] = defaultdict(dict)
    for path, status in metadata_table_files(table).items():
        found[path.removeprefix(f"{METADATA_TABLE}/").partition("/")[0]][path] = status
    return found


def _indexings(table: Table, signs: Signs, dropped: Collection[str]) -> Iterator[str]:
    """The pending indexings that have built some of the partitions, and no other."""
    for instant in signs.timeline.having(INDEXING):
        making = partitions_in_the_making(table, instant) if instant.pending else ()
        if making and set(making).issubset(dropped):
            yield instant.time


def drop_metadata(session: Session, plan: DropPlan) -> DropResult:
    """Drops what is in the plan. A plan with nothing to do changes nothing.

    Raises:
        Conflict: the table has changed since planning; or a writer has used the metadata table meanwhile.
        Refused, Unsupported, Unreadable, StorageFailed, EngineFailed, Interrupted.
    """
    if plan.nothing_to_do:
        return DropResult(False, (), 0, 0)
    look, work = partial(_look_again, session, plan), partial(_drop, session, plan)
    return changing(session, Kind.METADATA_DROP, plan.target, plan.summary, look=look, work=work)


def _look_again(session: Session, plan: DropPlan) -> DropPlan:
    """Plans again: files that only the metadata table hides may have appeared since."""
    now = plan_metadata_drop(session, plan.options)
    refuse_moved(plan.fingerprint, now.fingerprint)
    return now


def _drop(session: Session, plan: DropPlan, run: Begun[DropPlan]) -> DropResult:
    """Readers stop using it first; then its files are deleted."""
    time = run.time
    session = keeping_files(session, Kind.METADATA_DROP, [time], [plan.target], asked=plan.options.keep_files)
    table = session.table
    recover_properties(table.storage)
    session.monitor.step("take the metadata table out of use" if plan.whole else "take the indexes out of use")
    run.held.check()
    if plan.whole:
        for partition in plan.partition_metafiles_made:
            create_metafile(table, partition, time)
        reset_damaged(table)
        drop_metadata_table(table, time)
    elif plan.partitions:
        drop_indexes(table, plan.names, time)

    session.monitor.step("delete files")
    run.held.check()
    forget_ended(table, run.found.unfinished)
    if not delete_dropped(table, time):
        raise _come_back(METADATA_TABLE)

    session.monitor.step("verify")
    back = metadata_partition_names(table).intersection(plan.names)
    if back and not plan.whole:
        raise _come_back(listed(back))
    return DropResult(
        *(plan.whole, plan.names, run.found.files_to_delete, run.found.bytes_to_delete),
        undo=kept_for(session),
    )


def _come_back(what: str) -> Conflict:
    return Conflict(
        f"a writer has used {what} while it was dropped",
        hint="stop all writers, then run the command again",
    )
