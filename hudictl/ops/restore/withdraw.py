"""Withdrawing a pending restore of hudictl's that has deleted no data file: its instants are published again."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from hudictl.errors import Conflict, Refused, Unreadable
from hudictl.formats.instants import (
    CLEAN,
    REPLACECOMMIT,
    RESTORE,
    ROLLBACK,
    SAVEPOINT,
    WRITE_ACTIONS,
    Instant,
    InstantFile,
)
from hudictl.formats.layouts import HASHING_METADATA, ROLLBACK_BACKUP
from hudictl.ops.guards import liveness
from hudictl.ops.metadata.keep import forget_kept, put_back_unchanged
from hudictl.ops.restore.completion import drop_staged
from hudictl.ops.restore.protection import end_protection
from hudictl.ops.restore.table_type import is_of, set_type
from hudictl.ops.session import Begun, Kind, Session, changing
from hudictl.ops.undo.backup import backed_up_commits, backed_up_files, drop_backup, publish_again
from hudictl.ops.undo.execute import remove_traces
from hudictl.ops.undo.untouched import logs_with_blocks
from hudictl.phrases import command_of, quoted
from hudictl.state.facts import Facts, Signs, read_facts, read_signs
from hudictl.state.files.instant_files import OwnFiles, partitions_of
from hudictl.state.metadata.record import read_kept
from hudictl.state.metadata.undo import Mode
from hudictl.state.pending import PendingRestore, PendingRollback, is_own, later_writes, planned_as
from hudictl.state.timeline.unfinished import indexing_without
from hudictl.state.writable import known_timeline, writable_table
from hudictl.table.files.hashing import CONFIG, hashing_files
from hudictl.table.files.slices import StoredFile
from hudictl.table.files.sweep import other_table
from hudictl.table.kept import read_room
from hudictl.table.locks.config import LockConfig
from hudictl.table.metadata.aside import delete_dropped
from hudictl.table.metadata.place import metadata_table_in_use
from hudictl.table.operations import BegunPlan, begun_plan, operation_instants, read_operation
from hudictl.table.table import MERGE_ON_READ, Table
from hudictl.table.timeline.active import delete_instant, load_timeline
from hudictl.table.timeline.archived_writes import commits_of, writes_after


@dataclass(frozen=True)
class Withdrawal:
    """A pending restore to withdraw; the names in ``shown`` are those in JSON.

    ``published_again`` are the instants whose completed files are written again, oldest first. ``rollbacks_removed``
    are the rollbacks that the restore has requested. ``not_brought_back`` was removed before the instants, and is not
    recovered: savepoints, cleans, rollbacks, indexes. ``savepoints_touched`` are the times whose savepoints the restore
    may have half created or half deleted; ``instants`` are all instants that it was to remove. The plans of completed
    compactions are not recovered either: they are not used any more.
    """

    shown: ClassVar = (
        *("operation", "restore", "target", "published_again", "rollbacks_removed", "not_brought_back", "lock"),
    )
    operation: ClassVar = Kind.WITHDRAW_RESTORE.value

    restore: str
    target: str
    published_again: tuple[str, ...]
    rollbacks_removed: tuple[str, ...]
    not_brought_back: tuple[str, ...]
    savepoints_touched: tuple[str, ...]
    instants: frozenset[str]
    copies: tuple[InstantFile, ...]
    timeline: frozenset[str]
    lock: LockConfig


@dataclass(frozen=True)
class Withdrawn:
    """What was withdrawn, and which instants readers see again. ``metadata_table``: "put back", where the restore had
    set it aside; "unchanged"; "set aside" by a pending rollback, whose end puts it back; "deleted"; or "none", where
    there was none."""

    restore: str
    published_again: tuple[str, ...]
    metadata_table: str


def withdrawn_already(table: Table) -> str | None:
    """When the last restore of the table was withdrawn; None if it was not, or a rollback has come since, which may be
    the one that is meant; or something in the records is damaged. Raises StorageFailed."""
    kinds = (Kind.WITHDRAW_RESTORE.value, Kind.RESTORE.value, Kind.ROLLBACK.value)
    with suppress(Unreadable):
        restores = [*load_timeline(table).having(RESTORE)]
        if any(entry.pending for entry in restores):
            return None
        newest = max((entry.time for entry in restores), default="")
        for time in reversed(operation_instants(table.storage)):
            found = read_operation(table.storage, time)
            if found is not None and found.operation in kinds:
                withdrawn = found.operation == kinds[0] and found.last.exit_code == 0
                # Hudi's restores have no record.
                return time if withdrawn and newest < found.target else None
    return None


def plan_withdrawal(session: Session, idle_ms: int) -> Withdrawal:
    """Plans to withdraw the pending restore. Changes nothing.

    Raises:
        Refused: no restore is pending, or several are; it is not hudictl's; one of its instants was removed, or a file
            of one was deleted, or hidden by a rollback block; or Hudi could not build its metadata table again.
        Conflict, Unsupported, Unreadable, StorageFailed, EngineFailed.
    """
    table = session.table
    writable_table(table, session.locking)
    signs = read_signs(table)
    restore = _only(session, signs)
    if read_room(table, restore.instant.time) is not None:
        raise Refused(
            f"{restore.instant} keeps its files: an undo takes it back, wherever it has stopped",
            hint=f"run `{command_of('undo', restore.instant.time)}`",
            restore=restore.instant.time,
        )
    known_timeline(planned_as(table, _asked(table, restore).table_type_before), signs.timeline)
    _check_signs(session, signs, idle_ms)
    instants = restore.instants.union(later_writes(table, restore))
    copies = _copies(session, signs, restore, instants)
    _metadata_table_can_be_built(table, signs, restore, copies)
    return Withdrawal(
        restore=restore.instant.time,
        target=restore.plan.target or "",
        published_again=tuple(file.time for file in copies),
        rollbacks_removed=_rollbacks(signs, restore, instants),
        not_brought_back=_not_brought_back(table, signs, restore),
        savepoints_touched=(restore.plan.target or "", *_asked(table, restore).savepoints_deleted),
        instants=instants,
        copies=copies,
        timeline=frozenset(signs.timeline.modified_ms),
        lock=session.lock,
    )


def withdraw_restore(session: Session, plan: Withdrawal, idle_ms: int) -> Withdrawn:
    """Publishes the instants again, oldest first. The restore's own files are removed last, so that no writer starts
    before everything is as it was. After a crash, the same command continues. Raises Conflict: the timeline has changed
    since planning; Refused, StorageFailed, Interrupted."""

    def work(run: Begun[PendingRestore]) -> Withdrawn:
        table = session.table
        session.monitor.step("publish instants again")
        before = _asked(table, run.found).table_type_before
        commits = backed_up_commits(table, [file.time for file in plan.copies]) if before is not None else {}
        for file in plan.copies:
            if before is not None and (
                before == MERGE_ON_READ or is_of(before, file.action, commits[file.time].operation)
            ):
                run.held.check()
                set_type(table, before)
            run.held.check()
            publish_again(table, file)
        if before is not None:
            run.held.check()
            set_type(table, before)
        session.monitor.step("withdraw the restore")
        # Executors of a dead process may still have deleted files: then the restore is kept, and can be finished.
        signs = read_signs(table)
        _nothing_deleted(session, signs, run.found, plan.instants, plan.copies)
        staying = _staying(signs, plan.rollbacks_removed)
        run.held.check()
        remove_traces(table, {plan.restore, *plan.rollbacks_removed})
        timeline = load_timeline(table)
        for rollback in plan.rollbacks_removed:
            _not_executed(run.found, timeline.find(rollback, ROLLBACK))
            delete_instant(table, timeline.find(rollback, ROLLBACK))
        # A writer that cleans eagerly may have been executing one: from now on there is none.
        _nothing_deleted(session, signs, run.found, plan.instants, plan.copies)
        end_protection(table, plan.target)
        # Half created or half deleted: with such a savepoint the metadata table would hide the commit's files.
        for moment in plan.savepoints_touched:
            half = load_timeline(table).find(moment, SAVEPOINT)
            delete_instant(table, half if half is not None and half.pending else None)
        # What another rollback has un-published stays so: the copy is for its end.
        drop_backup(table, plan.instants - {entry.target for entry in staying if not entry.visible})
        delete_dropped(table, plan.restore)
        drop_staged(table, None)
        kept = read_kept(table, plan.restore)
        put_back = kept is not None and put_back_unchanged(table, kept)
        lost = _metadata_table(table, run.found, staying, aside=kept is not None)
        delete_instant(table, timeline.find(plan.restore, RESTORE))
        forget_kept(table, plan.restore)
        return Withdrawn(plan.restore, plan.published_again, "put back" if put_back else lost)

    look, record = partial(_look_again, session, plan, idle_ms), {"published_again": list(plan.published_again)}
    return changing(session, Kind.WITHDRAW_RESTORE, plan.restore, record, look=look, work=work)


def _not_executed(restore: PendingRestore, rollback: Instant | None) -> None:
    """Raises Conflict: another process has executed a rollback of the restore."""
    if rollback is not None and rollback.completed:
        raise Conflict(
            f"{rollback} appeared: another process has executed it; the restore is still pending",
            hint="stop all writers and table services, then run `hudictl resume`: it can only be finished",
            restore=restore.instant.time,
        )


def _look_again(session: Session, plan: Withdrawal, idle_ms: int) -> PendingRestore:
    """Every guard again, also the one on missing files: since planning, a resume may have deleted some and died."""
    signs = read_signs(session.table)
    _check_signs(session, signs, idle_ms)
    restore = _only(session, signs)
    copies = _copies(session, signs, restore, plan.instants)
    if frozenset(signs.timeline.modified_ms) != plan.timeline or copies != plan.copies:
        raise Conflict("the timeline has changed since planning", hint="run the command again")
    _metadata_table_can_be_built(session.table, signs, restore, copies)
    return restore


def _check_signs(session: Session, signs: Signs, idle_ms: int) -> None:
    liveness.no_lock_in_use(session.table, signs, session.locking)
    liveness.no_running_restore(session.table, signs, idle_ms)


def _only(session: Session, signs: Signs) -> PendingRestore:
    found = signs.planned_restores
    if len(found) != 1:
        times = ", ".join(entry.instant.time for entry in found) or "none"
        raise Refused(
            f"exactly one restore must be pending for a withdrawal; pending restores: {times}",
            hint="`hudictl resume` finishes pending restores",
        )
    (restore,) = found
    if not is_own(session.table, restore):
        raise Refused(
            f"{restore.instant} was not started by hudictl: its progress cannot be determined",
            hint="finish it: `hudictl resume`",
            restore=restore.instant.time,
        )
    return restore


def _copies(
    session: Session, signs: Signs, restore: PendingRestore, instants: frozenset[str]
) -> tuple[InstantFile, ...]:
    """The completed files of un-published instants, oldest first. Raises Refused: an instant or a file is missing."""
    timeline = signs.timeline
    gone = sorted(time for time in instants if timeline.find(time, *WRITE_ACTIONS) is None)
    if gone:
        raise Refused(
            f"{gone[0]} was already removed: the restore {restore.instant.time} can only be finished",
            hint="run `hudictl resume`, with --accept-loss if required files are missing",
            instants=gone,
        )
    completed = {entry.time for entry in timeline.completed_writes()}
    seen = {entry.time for entry in _asked(session.table, restore).instants if entry.completion_time}
    # What another rollback had un-published before stays so: it may have changed the metadata table, too.
    others = {entry.target for entry in _staying(signs, _rollbacks(signs, restore, instants))}
    hidden = instants - completed - (others - seen)
    found = (file for file in backed_up_files(session.table) if file.time in hidden)
    copies = tuple(sorted(found, key=lambda file: (file.completion_time or "", file.time)))
    lost = sorted(hidden & seen - {file.time for file in copies})
    if lost:
        raise Refused(
            f"{lost[0]} was completed, and {ROLLBACK_BACKUP} has no copy of it: the restore {restore.instant.time} can "
            "only be finished",
            hint="run `hudictl resume`",
            instants=lost,
        )
    _nothing_deleted(session, signs, restore, instants, copies)
    return copies


def _nothing_deleted(
    session: Session,
    signs: Signs,
    restore: PendingRestore,
    instants: Collection[str],
    copies: tuple[InstantFile, ...],
) -> None:
    """Raises Refused: a file that an instant wrote, or that its rollback was to delete, is missing; or rows of an
    instant are hidden by a rollback block."""
    facts = read_facts(session.table, session.engine, signs, session.monitor.note)
    commits = backed_up_commits(facts.table, [file.time for file in copies])
    plans = [entry.plan for entry in signs.live_rollbacks if entry.plan and entry.target in instants]
    names: dict[str, set[str]] = defaultdict(set)
    for partition, name in OwnFiles(tuple(commits.values()), rollbacks=plans).files:
        names[partition].add(name)
    lost = facts.sweep.absent(names)
    for path in lost if facts.sweep.tables else ():
        table = other_table(path, facts.sweep)
        if table is not None:
            raise Refused(
                f"{path} cannot be looked up: {table!r} has its own .hoodie folder",
                hint=f"move {quoted(table)}/.hoodie out of the table, then run the command again",
            )

    lost += [f"{log} (a rollback block)" for log in logs_with_blocks(facts, session.engine, plans)]
    lost += _hashing_lost(session, facts, copies)
    lost += _archived_lost(facts, restore, instants)
    if lost:
        raise Refused(
            f"files were already deleted, or hidden by rollback blocks, for example {lost[0]}: the restore "
            f"{restore.instant.time} can only be finished",
            hint="run `hudictl resume`, with --accept-loss if required files are missing",
            files=lost,
        )


def _hashing_lost(session: Session, facts: Facts, copies: tuple[InstantFile, ...]) -> list[str]:
    """The missing hashing metadata of un-published resizes; only this metadata shows which clustering was a resize."""
    clusterings = [file.time for file in copies if file.action == REPLACECOMMIT]
    if not clusterings or not facts.table.storage.has_folder(HASHING_METADATA):
        return []
    found = hashing_files(facts.table, session.engine, clusterings)
    there = {file.instant for file in found if file.kind != CONFIG}
    return [f"the hashing metadata of {time}" for time in clusterings if time not in there]


def _archived_lost(facts: Facts, restore: PendingRestore, instants: Collection[str]) -> list[str]:
    """The archived writes of which fewer files are there than the plan has counted. Raises Unreadable."""
    asked = _asked(facts.table, restore).instants
    counted = {entry.time: entry.files for entry in asked if entry.files and entry.time not in instants}
    if not counted:
        return []
    told = commits_of(facts.table, writes_after(facts.table, restore.plan.target or ""))
    owners = partitions_of(facts, dict.fromkeys(counted), told)
    found = facts.sweep.select("look for files of archived writes", partial(_is_of, owners), counted)
    there = Counter(file.data.instant for file in found)
    return [f"a file of the archived {time}" for time, count in counted.items() if there[time] < count]


def _is_of(owners: Mapping[str, Collection[str]], file: StoredFile) -> bool:
    return file.partition in owners.get(file.data.instant, ())


def _rollbacks(signs: Signs, restore: PendingRestore, instants: Collection[str]) -> tuple[str, ...]:
    """The rollbacks that the restore has requested, newest first."""
    own = [
        entry.instant.time
        for entry in signs.live_rollbacks
        if entry.target in instants and entry.instant.time > restore.instant.time
    ]
    return tuple(sorted(own, reverse=True))


def _staying(signs: Signs, own: Collection[str]) -> list[PendingRollback]:
    """The rollbacks that the restore has found, and not requested."""
    return [entry for entry in signs.live_rollbacks if entry.instant.time not in own]


def _asked(table: Table, restore: PendingRestore) -> BegunPlan:
    """The recorded plan of the restore."""
    return begun_plan(read_operation(table.storage, restore.instant.time))


def _metadata_table(table: Table, restore: PendingRestore, staying: Collection[PendingRollback], *, aside: bool) -> str:
    """What the restore has made of a metadata table that was not put back: see ``Withdrawn``. ``aside``: it was set
    aside, and is lost, as another writer has made a new one."""
    if metadata_table_in_use(table) and not aside:
        return "unchanged"
    if any(read_kept(table, entry.instant.time) is not None for entry in staying):
        return "set aside"
    had = _asked(table, restore).metadata_table not in (None, Mode.NONE.value)
    return "deleted" if had else Mode.NONE.value


def _metadata_table_can_be_built(
    table: Table, signs: Signs, restore: PendingRestore, copies: Sequence[InstantFile]
) -> None:
    """Raises Refused: the metadata table is deleted, and without the restore the newest instant would be an indexing:
    after that Hudi cannot build it again (see ``no_indexing_is_last``)."""
    last = indexing_without(table, signs.timeline, restore, copies)
    if last is None:
        return
    raise Refused(
        "the restore has deleted the metadata table, and without the restore the newest completed instant would be "
        f"{last} indexing: Hudi could not build it again, and rows would be missing",
        hint="finish it: `hudictl resume`",
        restore=restore.instant.time,
    )


def _is_there(signs: Signs, time: str, action: str) -> bool:
    found = signs.timeline.find(time, action)
    return found is not None and (found.completed or action != SAVEPOINT)


def _not_brought_back(table: Table, signs: Signs, restore: PendingRestore) -> tuple[str, ...]:
    """What the restore removed before its instants, and is still missing."""
    plan = _asked(table, restore)
    said = (
        (SAVEPOINT, plan.savepoints_deleted),
        (CLEAN, plan.cleans_discarded),
        (ROLLBACK, plan.rollbacks_discarded),
    )
    gone = [f"the {action} {time}" for action, times in said for time in times if not _is_there(signs, time, action)]
    if read_kept(table, restore.instant.time) is not None:
        return tuple(gone)
    # If nothing was recorded, the metadata table is deleted whole.
    indexes = (*plan.indexes_kept, *plan.indexes_lost)
    return (*gone, *(f"the index {name}" for name in indexes if name not in table.indexes))
