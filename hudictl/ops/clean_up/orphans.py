"""Deleting orphans: a plan like any other, and its execution."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from typing import ClassVar

from hudictl.engine.base import Engine
from hudictl.errors import Conflict, Incomplete, Refused, Unreadable
from hudictl.formats.layouts import METADATA_TABLE
from hudictl.ops.fingerprint import PLAN_VERSION, TO_DELETE, UNFINISHED, files_digest, metadata_facts, table_fingerprint
from hudictl.ops.guards import clock, liveness
from hudictl.ops.guards import files as file_guards
from hudictl.ops.guards import metadata as metadata_guards
from hudictl.ops.guards import timeline as timeline_guards
from hudictl.ops.metadata.keep import forget_ended, left_by, unchanged
from hudictl.ops.metadata.unlist import listed, plan_unlisting, unlist
from hudictl.ops.session import Begun, Kind, Session, changing, keeping_files, kept_for
from hudictl.ops.undo.execute import delete_data_files
from hudictl.ops.undo.instants import create_metafile
from hudictl.ops.undo.plan import KEEP, asked_to_delete
from hudictl.phrases import count_of, seconds
from hudictl.state.facts import Facts, Signs, read_facts, read_signs
from hudictl.state.files.named import read_named
from hudictl.state.files.needed import needed_files
from hudictl.state.metadata.gap import metadata_gap
from hudictl.state.metadata.undo import MetadataPlan, Mode
from hudictl.state.orphans.asked import find_asked
from hudictl.state.orphans.find import Orphan, OrphanRow, find_orphans
from hudictl.state.orphans.hashing import proved_left
from hudictl.state.orphans.second import find_second
from hudictl.state.writable import known_timeline, writable_table
from hudictl.state.writers.activity import DEFAULT_IDLE_MS
from hudictl.table.files import choose
from hudictl.table.files.hashing import HashingFile, remove_bucket_configs, remove_hashing_metadata
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.files.slices import StoredFile, names_by_partition
from hudictl.table.files.sweep import sweep
from hudictl.table.files.written import gather_written
from hudictl.table.kept import contents_of, read_room
from hudictl.table.locks.config import LockConfig
from hudictl.table.locks.hold import Hold
from hudictl.table.metadata.aside import Other, delete_dropped, drop_metadata_table, keeping_none, look
from hudictl.table.metadata.listing import read_known
from hudictl.table.metadata.place import Known, metadata_table_in_use
from hudictl.table.properties import recover_properties
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline
from hudictl.table.timeline.commits import LazyCommits, raise_unreadable


@dataclass(frozen=True)
class OrphanOptions:
    """``idle_ms``: files that changed less than this ago are kept: their writer, or its executors, may be running.
    ``paths``: the only files to delete, of which the operator is sure; none for all sure orphans. ``duplicates``: only
    second base files of a slice. The others are as in ``RestoreOptions``."""

    idle_ms: int = DEFAULT_IDLE_MS
    metadata: str = KEEP
    require_index: tuple[str, ...] = ()
    keep_files: bool = False
    paths: tuple[str, ...] = ()
    duplicates: bool = False


@dataclass(frozen=True)
class OrphanPlan:
    """The orphans to delete, and those to keep, with the reason; the names in ``shown`` are those in JSON.

    A metadata table that lists none of them is not changed. One that lists some, because it was built while they
    existed, gets a delta commit that takes them out, before the files are deleted. If it must be deleted, two things
    are done even before that: partition metafiles are created, and the orphans are deleted that only the metadata table
    hides from readers (``kept_from_readers``). ``metadata_table_unread``: why the metadata table could not be compared
    with storage. ``indexes_lost``: its indexes that are deleted. ``unfinished``: earlier deletions that died, and have
    left deleted indexes, or a deleted metadata table. ``hashing``: see ``proved_left``.
    """

    shown: ClassVar = (
        *("plan_version", "operation", "timezone", "target", "options", "fingerprint", "files_to_delete"),
        *("bytes_to_delete", "files", "files_left", "metadata_table"),
        *("metadata_table_unread", "indexes_lost", "partition_metafiles_made", "hashing_metadata_removed"),
        *("unfinished", "lock"),
    )
    plan_version: ClassVar = PLAN_VERSION
    operation: ClassVar = Kind.ORPHANS_DELETE.value
    target: ClassVar = ""

    timezone: str | None
    options: OrphanOptions
    fingerprint: Mapping[str, str]
    orphans: tuple[Orphan, ...]
    left: tuple[Orphan, ...]
    metadata_table: MetadataPlan
    partition_metafiles_made: tuple[str, ...]
    kept_from_readers: frozenset[str]
    lock: LockConfig
    metadata_table_unread: str | None = None
    unfinished: tuple[str, ...] = ()
    hashing: tuple[HashingFile, ...] = ()

    @property
    def nothing_to_do(self) -> bool:
        return not (self.orphans or self.hashing or self.unfinished)

    @property
    def hashing_metadata_removed(self) -> tuple[str, ...]:
        return tuple(file.path for file in self.hashing)

    @property
    def indexes_lost(self) -> tuple[str, ...]:
        return self.metadata_table.lost

    @property
    def files(self) -> tuple[OrphanRow, ...]:
        return tuple(orphan.row for orphan in self.orphans)

    @property
    def files_left(self) -> tuple[OrphanRow, ...]:
        return tuple(orphan.row for orphan in self.left)

    @property
    def files_to_delete(self) -> int:
        return len(self.orphans)

    @property
    def bytes_to_delete(self) -> int:
        return sum(orphan.file.size or 0 for orphan in self.orphans)

    @property
    def summary(self) -> dict[str, object]:
        """The plan for the operation's record."""
        return {
            "options": asdict(self.options),
            "fingerprint": dict(self.fingerprint),
            "files": [orphan.file.path for orphan in self.orphans],
            "hashing_metadata_removed": list(self.hashing_metadata_removed),
            "metadata_table": self.metadata_table.fate,
            "indexes_lost": list(self.indexes_lost),
        }


@dataclass(frozen=True)
class OrphanResult:
    """What was deleted. ``files_left`` were in the plan, but since then they belong to an instant, are required by a
    commit, a savepoint or a pending plan, or were written again. ``metadata_table``: what has become of it."""

    files_deleted: int
    bytes_deleted: int
    files_left: tuple[str, ...]
    metadata_table: str
    undo: str | None = None


def plan_orphan_deletion(session: Session, options: OrphanOptions) -> OrphanPlan:
    """Finds what can be deleted. Changes nothing; every guard has passed. Raises NotFound: there is no file at a given
    path; Unsupported, Conflict, Refused, Unreadable, StorageFailed, EngineFailed."""
    table = session.table
    writable_table(table, session.locking)
    signs = read_signs(table)
    _check_signs(session, signs)

    session.engine.start()
    facts = read_facts(table, session.engine, signs, session.monitor.note, known=read_known(table, session.engine))
    found = [_unless_kept(facts, orphan, options) for orphan in _candidates(facts, session.engine, options)]
    orphans = tuple(orphan for orphan in found if orphan.sure)
    requested = asked_to_delete(options.metadata)
    metadata_table = plan_unlisting(facts, [entry.file for entry in orphans], requested)
    metadata_guards.required_indexes_kept(metadata_table, options.require_index if orphans else ())
    drops = metadata_table.mode is Mode.DELETE
    if drops or metadata_table.lost:
        _can_be_built(table, signs, metadata_table)
    if metadata_table.mode is Mode.FORWARD:
        clock.metadata_time_can_be_given(table, signs.timeline)
    if drops or metadata_table.mode is Mode.FORWARD:
        liveness.no_running_write(table, signs, signs.timeline.instants, options.idle_ms, facts.sweep, ())
    bare, kept = _kept_by_metadata_table(facts, session.engine, orphans) if drops else ((), frozenset())
    unfinished = left_by(table, Kind.ORPHANS_DELETE)
    hashing = () if options.paths or options.duplicates else proved_left(table, signs.timeline, session.engine)
    # The files are deleted by it: a failure must come before the first change.
    session.engine.ready()
    return OrphanPlan(
        timezone=session.timezone,
        options=options,
        fingerprint={
            **table_fingerprint(table, asdict(options)),
            "metadata table": metadata_facts(metadata_table),
            "partition metafiles to create": ", ".join(bare),
            UNFINISHED: ", ".join(unfinished),
            TO_DELETE: files_digest(
                ((orphan.file.path, orphan.file.size or 0) for orphan in orphans), (file.path for file in hashing)
            ),
        },
        orphans=orphans,
        left=tuple(orphan for orphan in found if not orphan.sure),
        metadata_table=metadata_table,
        partition_metafiles_made=bare,
        kept_from_readers=kept,
        lock=session.lock,
        metadata_table_unread=facts.known.unread if drops else None,
        unfinished=unfinished,
        hashing=hashing,
    )


def _candidates(facts: Facts, engine: Engine, options: OrphanOptions) -> list[Orphan]:
    if options.duplicates:
        return find_second(facts, engine)
    return find_asked(facts, engine, options.paths) if options.paths else find_orphans(facts, engine)


def _kept_by_metadata_table(
    facts: Facts, engine: Engine, orphans: Iterable[Orphan]
) -> tuple[tuple[str, ...], frozenset[str]]:
    """What must be done before the metadata table is deleted, so that readers see the same rows without it: partitions
    that get a metafile, and the paths of orphans to delete first. Raises Refused: that is not enough."""
    needed = needed_files(facts, (), NOTHING_SAVED)
    file_guards.metafiles_can_be_made(facts.table, needed)
    gap = metadata_gap(facts, engine, needed, (), NOTHING_SAVED)
    paths = {orphan.file.path for orphan in orphans}
    metadata_guards.nothing_lost_or_gained(gap.without(paths))
    return needed.bare, frozenset(paths.intersection(file.path for file in gap.unlisted))


def _unless_kept(facts: Facts, orphan: Orphan, options: OrphanOptions) -> Orphan:
    """The orphan, or why it stays. Raises Refused, Conflict: its path was given."""
    if orphan.file.partition in facts.sweep.linked:
        linked = "its folder is behind a symbolic link, where nothing is deleted"
        if options.paths:
            raise Refused(f"{orphan.file.path}: {linked}", hint="delete it by hand, in the folder that the link names")
        return orphan.left(linked)
    quiet_ms = facts.signs.now_ms - orphan.file.modified_ms
    if quiet_ms >= options.idle_ms:
        return orphan
    changed = f"it was changed {seconds(quiet_ms)} ago"
    if options.paths:
        raise Conflict(f"{orphan.file.path}: {changed}", hint="wait, or set --idle, if no writer is at work")
    return orphan.left(changed)


def _check_signs(session: Session, signs: Signs) -> None:
    """Raises Unsupported, Conflict; Refused: a restore or rollback is pending, and deletes its files itself."""
    known_timeline(session.table, signs.timeline)
    liveness.no_lock_in_use(session.table, signs, session.locking)
    clock.writers_zone(session.table, signs.timeline)
    timeline_guards.nothing_to_resume(signs, "the orphans found may be its files")


def _can_be_built(table: Table, signs: Signs, plan: MetadataPlan) -> None:
    """Raises Refused: Hudi could not build again what is deleted of the metadata table."""
    metadata_guards.no_indexing_is_last(signs.timeline)
    metadata_guards.record_index_can_be_built(table, signs.timeline, plan.lost_in_use)


def delete_orphans(session: Session, plan: OrphanPlan) -> OrphanResult:
    """Deletes the files of the plan, and lists the partitions again. An empty plan changes nothing. Raises Incomplete:
    some files still exist; Conflict, Refused, Unsupported, Unreadable, StorageFailed, EngineFailed, Interrupted."""
    if plan.nothing_to_do:
        return OrphanResult(0, 0, (), plan.metadata_table.fate)
    look, work = partial(_look_again, session, plan), partial(_delete, session, plan)
    return changing(session, Kind.ORPHANS_DELETE, "", plan.summary, look=look, work=work)


def _look_again(session: Session, plan: OrphanPlan) -> None:
    table = session.table
    session.engine.ready()
    signs = read_signs(table)
    _check_signs(session, signs)
    if plan.metadata_table.mode is Mode.DELETE or plan.metadata_table.lost:
        _can_be_built(table, signs, plan.metadata_table)
    if plan.metadata_table.mode in (Mode.DELETE, Mode.FORWARD):
        liveness.no_running_write(table, signs, signs.timeline.instants, plan.options.idle_ms, None, ())
    if plan.metadata_table.mode is Mode.FORWARD:
        unchanged(table, plan.metadata_table)
        clock.metadata_time_can_be_given(table, signs.timeline)


def _delete(session: Session, plan: OrphanPlan, run: Begun[None]) -> OrphanResult:
    """References are removed before the files that they refer to: the metadata table first, then the files."""
    time = run.time
    session = keeping_files(session, Kind.ORPHANS_DELETE, [time], [""], asked=plan.options.keep_files)
    table, undo = session.table, kept_for(session)
    recover_properties(table.storage)
    if plan.unfinished:
        session.monitor.step("finish earlier deletions")
        run.held.check()
        forget_ended(table, plan.unfinished)
    if plan.hashing:
        session.monitor.step("delete what was left for the buckets")
        left_over = set(proved_left(table, load_timeline(table), session.engine)).intersection(plan.hashing)
        run.held.check()
        remove_hashing_metadata(table, left_over)
        remove_bucket_configs(table, left_over)
    if not plan.orphans:
        return OrphanResult(0, 0, (), plan.metadata_table.fate, undo)
    if plan.metadata_table.mode is Mode.FORWARD:
        session.monitor.step("take the files out of the metadata table")
        left = _with_slices(table, plan, _owned_by_now(session, plan) | _written_since(session, plan))
        run.held.check()
        going = [orphan.file for orphan in plan.orphans if orphan.file.path not in left]
        unlist(table, session.engine, plan.metadata_table, going, time)
    elif not _keeps(plan):
        session.monitor.step("take the metadata table out of use")
        if plan.metadata_table.mode is Mode.NONE and metadata_table_in_use(table):
            raise Conflict(
                "since planning, a new metadata table is in use", hint="run the command again: it makes a new plan"
            )
        run.held.check()
        _prepare(session, run.held, plan, time)
        drop_metadata_table(table, time)

    session.monitor.step("delete files")
    left = _staying(session, plan)
    run.held.check()
    files = [orphan.file for orphan in plan.orphans if orphan.file.path not in left]
    failed = dict(delete_data_files(session, run.held, files))

    session.monitor.step("verify")
    found = sweep(table, session.engine, {file.partition for file in files}, sync=True)
    gone = set(found.absent(names_by_partition(files)))
    # Again: a writer may have built a new one meanwhile, which lists the deleted files.
    _lists_none(session, plan, time, files)
    delete_dropped(table, time)
    kept = [file.path for file in files if file.path not in gone]
    if kept:
        reason = f": {failed[kept[0]]}" if kept[0] in failed else ""
        raise Incomplete(
            f"{len(kept):,} of {count_of(len(files), 'file')} could not be deleted, for example {kept[0]}{reason}",
            hint="fix the cause, then run the command again",
            files=kept,
        )
    if undo is not None and (room := read_room(table, undo)) is not None:
        # What another program has deleted meanwhile is not kept, and an undo would miss it.
        there = contents_of(table, room).kept
        files = [file for file in files if file.path in there]
    return OrphanResult(
        files_deleted=len(files),
        bytes_deleted=sum(file.size or 0 for file in files),
        files_left=tuple(sorted(left)),
        metadata_table=plan.metadata_table.fate,
        undo=undo,
    )


def _keeps(plan: OrphanPlan) -> bool:
    """Whether the metadata table stays in use."""
    return plan.metadata_table.mode in (Mode.KEEP, Mode.FORWARD)


def _lists_none(session: Session, plan: OrphanPlan, time: str, files: Iterable[StoredFile]) -> None:
    """No metadata table lists the deleted files. Raises Conflict: a writer is building a metadata table, or has built
    one whose deletion was not in the plan; Unreadable: the kept one."""
    table = session.table
    other = look(table, keeping_none(time)).other
    if _keeps(plan):
        wrong = other is Other.BEGUN or bool(listed(_listing(session), files))
    else:
        wrong = other is Other.BEGUN or (other is Other.MADE and plan.metadata_table.mode is Mode.NONE)
    if wrong:
        raise Conflict(
            f"a writer is building a new metadata table ({METADATA_TABLE}) while files are deleted",
            hint="when the writer has ended, `hudictl metadata verify` shows whether the table lists deleted files",
            folder=METADATA_TABLE,
        )
    if not _keeps(plan):
        drop_metadata_table(table, time)


def _listing(session: Session) -> Known:
    """What a kept metadata table lists by now. Raises Unreadable."""
    known = read_known(session.table, session.engine)
    if known.unread is not None:
        raise Unreadable(known.unread, hint="`hudictl check` shows what is wrong, and the remedy", file=METADATA_TABLE)
    return known


def _prepare(session: Session, held: Hold, plan: OrphanPlan, time: str) -> None:
    """What must be done while the metadata table exists: a rerun without it could not find these files again. Raises
    Incomplete."""
    for partition in plan.partition_metafiles_made:
        create_metafile(session.table, partition, time)
    first = [orphan.file for orphan in plan.orphans if orphan.file.path in plan.kept_from_readers]
    left = _staying(session, plan) if first else set()
    for path, error in delete_data_files(session, held, (file for file in first if file.path not in left)):
        raise Incomplete(
            f"{path} cannot be deleted: {error}; without the metadata table readers would see its rows",
            hint="fix the cause, then run the command again",
            files=[path],
        )


def _staying(session: Session, plan: OrphanPlan) -> set[str]:
    """The files of the plan that must be kept, judged now. Raises Unreadable, StorageFailed, EngineFailed."""
    left = _owned_by_now(session, plan) | _written_since(session, plan)
    if _keeps(plan):
        # A metadata table that was built again since planning may list them.
        left |= listed(_listing(session), (orphan.file for orphan in plan.orphans))
    return _with_slices(session.table, plan, left)


def _owned_by_now(session: Session, plan: OrphanPlan) -> set[str]:
    """The files of the plan whose instant has appeared since, or that are required by a commit, a savepoint or a
    pending plan. Raises Unreadable: one of these cannot be read; StorageFailed, EngineFailed."""
    table = session.table
    timeline = load_timeline(table)
    written = gather_written(table, timeline, session.engine, {entry.time for entry in timeline.completed_writes()})
    if written.unreadable:
        raise_unreadable(LazyCommits(table, timeline), written.unreadable)
    named = read_named(table, timeline, written, [orphan.file for orphan in plan.orphans])
    taken = {entry.time for entry in timeline.instants} | named.built_on
    return {
        orphan.file.path
        for orphan in plan.orphans
        if (orphan.file.data.instant in taken and not orphan.unnamed) or orphan.file.path in named.files
    }


def _with_slices(table: Table, plan: OrphanPlan, left: set[str]) -> set[str]:
    """Adds to each kept log its whole file slice, where logs are named by their slice: a rollback block in one log may
    hide records of another."""
    if table.rules.logs_named_by_writer:
        return left
    logs = {_slice(orphan.file) for orphan in plan.orphans if orphan.file.path in left and not orphan.file.data.is_base}
    return left | {orphan.file.path for orphan in plan.orphans if _slice(orphan.file) in logs}


def _slice(file: StoredFile) -> tuple[str, str, str]:
    return *file.group, file.data.instant


def _written_since(session: Session, plan: OrphanPlan) -> set[str]:
    """The files of the plan that have changed: below table version 8, on a store that can append, a writer continues a
    log of another writer; and another tool can write the same name again. Also those whose ``instead`` is no longer as
    it was. Raises StorageFailed, EngineFailed."""
    grow, asked = session.table.rules.logs_grow, plan.options.paths or plan.options.duplicates
    files = [orphan.file for orphan in plan.orphans if asked or (grow and not orphan.file.data.is_base)]
    if not files:
        return set()
    stays = {orphan.file.path: orphan.instead for orphan in plan.orphans if orphan.instead is not None}
    looked_at = [*files, *stays.values()]
    found = sweep(session.table, session.engine, {file.partition for file in files})
    states = found.over("look for changed files", choose.states, given=names_by_partition(looked_at).items())
    now = dict(chain.from_iterable(states))
    changed = {file.path for file in looked_at if now.get(file.path) != (file.size, file.modified_ms)}
    return {
        file.path
        for file in files
        if (file.path in changed and file.path in now) or (file.path in stays and stays[file.path].path in changed)
    }
