"""Planning a copy: what readers of a commit require, judged as for a restore to it, and the records that go with it."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from hudictl import workers
from hudictl.copy_workers import FolderFiles, folder_files
from hudictl.errors import Conflict, Findings, Refused, StorageFailed, UsageError
from hudictl.formats import properties as fmt
from hudictl.formats.instants import CLEAN, COMPACTION, LOGCOMPACTION, Instant, State
from hudictl.formats.layouts import PARTITION_KEYS, PROPERTIES, SCHEMAS, SCHEMAS_END
from hudictl.ops.copy.plan import BEGIN_AGAIN, CopyOptions, CopyPlan, read_target
from hudictl.ops.copy.verify import differences
from hudictl.ops.guards import files as file_guards
from hudictl.ops.guards import metadata as metadata_guards
from hudictl.ops.guards import timeline as guards
from hudictl.ops.restore.scope import ways_back_to
from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.ops.savepoint.planning import check_signs
from hudictl.ops.session import Session
from hudictl.ops.undo.blocks import marked_slices, plan_blocks
from hudictl.ops.undo.plan import MarkedSlice
from hudictl.ops.undo.planning import judge_files
from hudictl.phrases import command_of, first_few
from hudictl.state.facts import Facts, Signs, read_facts, read_signs
from hudictl.state.files.bootstrap import is_bootstrapped
from hudictl.state.files.savepoint_files import files_to_copy
from hudictl.state.files.savepoints import Saved, copied_to, copy_comment, read_saved
from hudictl.state.metadata.gap import metadata_gap
from hudictl.state.timeline.targets import find_commit
from hudictl.state.timeline.unread import archived_later
from hudictl.state.writable import known_table, known_timeline, writable_table
from hudictl.storage import Storage, overlap
from hudictl.storage.open import folders_above
from hudictl.table.copied import CopyRecord
from hudictl.table.files.hashing import INITIAL, hashing_files
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.metadata.listing import read_known
from hudictl.table.table import Table

OF_COPIES = SavepointOptions(allow_pending=True, idle_ms=0)
"""Pending writes are not in a copy."""
_BOOTSTRAPPED = "copy the whole folder and its source; or write the rows into a new table with Hudi"
_LEFT_OUT = (*PARTITION_KEYS, "hoodie.table.index.defs.path")
_LOCKS = "hoodie.write.lock."


def plan_copy(session: Session, target: Storage, as_of: str, options: CopyOptions) -> CopyPlan:
    """Plans a copy of the table as of a commit, or the rest of one; compares one that is a table already. Changes
    nothing; every guard has passed.

    Raises:
        Unsupported, Conflict, Refused, Unreadable, UsageError: a guard.
        Findings: it is a table already, and differs.
        StorageFailed, EngineFailed.
    """
    table = session.table
    if options.savepoint:
        writable_table(table, session.locking)
    known_table(table)
    target.require_writable()
    if overlap(table.uri, target.uri):
        raise UsageError(f"{target.uri} and the table {table.uri} are in each other", hint="give another folder")
    signs = read_signs(table)
    record = CopyRecord(table.uri, as_of, options.partitions, options.name or table.name)
    begun, there = read_target(target, record)
    saved = read_saved(table, signs.timeline, session.engine, as_of)
    own = saved is not None and saved.head.comment == copy_comment(target.uri)
    says = "temporary" if own else "exists" if saved else "none"
    resumes, ended = begun is not None, begun is not None and begun.ended
    done, lock = there and ended and not own, session.lock
    plan = CopyPlan(record, target.uri, options, says, resumes=resumes, there=there, done=done, lock=lock)
    if own or not there:
        _savepoint_stays(saved, own, as_of, options)
    if not there:
        _in_no_other_table(session, target, resumes=resumes)
        return _with_files(session, plan, signs, saved, own=own)
    # Nothing is copied any more: no new savepoint protects that.
    plan = replace(plan, options=replace(options, savepoint=options.savepoint and own))
    try:
        plan = _with_files(session, plan, signs, saved, own=own)
    except Refused as error:
        check = command_of("check", options=[f"--table={target.uri}"])
        why = f"there is a copy at {target.uri}, but it cannot be compared: {error.message}"
        raise Refused(why, hint=f"`{check}` judges it by itself", **error.fields) from error
    wrong = differences(session, plan, target)
    if wrong:
        raise Findings(
            f"the copy at {target.uri} differs from the table: {first_few(wrong)}",
            hint="one of the two has changed since, or the copy is damaged"
            if ended
            else f"its end was never noted: it may be half a copy; {BEGIN_AGAIN}",
            files=wrong,
        )
    return plan


def _with_files(session: Session, plan: CopyPlan, signs: Signs, saved: Saved | None, *, own: bool) -> CopyPlan:
    """A plan with what is to copy, or to compare. Raises as ``plan_copy``."""
    table, as_of, options, says = session.table, plan.as_of, plan.options, plan.savepoint
    commit = find_commit(table, signs.timeline, as_of)
    known_timeline(table, signs.timeline)
    _can_be_read(session, signs, commit, protects=options.savepoint and saved is None)
    way = ways_back_to(table, signs.timeline, commit, None)[0]
    removed = {entry.time: entry for entry in way.removed}
    session.engine.start()
    known = read_known(table, session.engine)
    savepointed = saved.files if saved else NOTHING_SAVED
    named, note = savepointed.partitions, session.monitor.note
    facts = read_facts(table, session.engine, signs, note, removed=removed, savepointed=named, known=known)
    refusal = f"{as_of} cannot be copied"
    if is_bootstrapped(facts):
        raise Refused(f"{refusal}: the table is bootstrapped, and has rows in files outside of it", hint=_BOOTSTRAPPED)

    found = judge_files(facts, removed, {}, savepointed)
    file_guards.timeline_has_its_end(facts, session.engine, accepted=False)
    file_guards.nothing_missing(facts, found.outcome, refusal, file_guards.put_back(facts, as_of))
    file_guards.nothing_misnamed(found.outcome, refusal)
    file_guards.stays_read(facts, removed, refusal)
    file_guards.format_is_read(table, found.outcome, refusal)
    file_guards.type_is_read(facts, found.case, refusal, table.type)
    file_guards.nothing_rowless(facts, session.engine, found.case, refusal)
    file_guards.metafiles_can_be_made(table, found.outcome)
    file_guards.no_clean_in_the_way(found.outcome.cleans)
    metadata_guards.nothing_lost_or_gained(metadata_gap(facts, session.engine, found.outcome, removed, savepointed))
    _starts_where_it_did(facts, refusal)

    folders = tuple(files_to_copy(facts, found.case, options.partitions))
    absent = sorted(set(options.partitions) - {folder.folder for folder in folders})
    if absent:
        hint = "`hudictl partition list` names them"
        raise Refused(f"there are no rows as of {as_of} in {first_few(absent)}", hint=hint)
    kept = [entry for entry in facts.timeline.completed_writes() if entry.time not in removed]
    session.engine.ready()
    return replace(
        plan,
        savepoint="temporary" if options.savepoint and says != "exists" else says,
        folders=folders,
        meta=tuple(_meta(session, facts, kept, removed)),
        archive=table.layout.archive,
        bare=tuple(path for path in found.outcome.bare if path in {folder.folder for folder in folders}),
        marked=tuple(_marked(session, facts, removed, folders)),
        instants=len(kept),
        cleans=frozenset(file for entry in facts.timeline.having(CLEAN) for file in entry.names),
        logs_grow=table.rules.logs_grow,
        properties=_properties(table, options.name),
    )


def _in_no_other_table(session: Session, target: Storage, *, resumes: bool) -> None:
    """Raises Refused: readers of a table above the target that list folders would see the rows of the copy in it."""
    for place in folders_above(target):
        try:
            found = place.stat(PROPERTIES)
        except StorageFailed as error:
            # Of a store, one may have rights on a part alone; and each driver says so in its own way.
            session.monitor.note(f"not known whether {place.uri} is a table: {error.message}")
            continue
        if found is not None:
            raise Refused(
                f"{target.uri} is in the table {place.uri}: its readers would see the rows of the copy, too",
                hint="delete the target folder, and give another one" if resumes else "give another folder",
                target=target.uri,
            )


def _savepoint_stays(saved: Saved | None, own: bool, as_of: str, options: CopyOptions) -> None:
    """Raises Refused: the copy began with a savepoint, and is to go on without; Conflict: another copy's end deletes
    the one that is there."""
    if own and not options.savepoint:
        raise Refused(
            f"this copy has begun with a temporary savepoint on {as_of}",
            hint="run it without --no-savepoint: its end deletes the savepoint",
        )
    other = copied_to(saved.head) if saved is not None and not own else ""
    if other and options.savepoint:
        raise Conflict(
            f"the savepoint on {as_of} is a temporary one of the copy to {other}, whose end deletes it",
            hint="let that copy end (the same command goes on), or copy with --no-savepoint: that savepoint protects "
            f"the files; `{command_of('savepoint delete', as_of)}` only afterwards: then a clean may delete them",
            instant=as_of,
        )


def _can_be_read(session: Session, signs: Signs, commit: Instant, *, protects: bool) -> None:
    """The guards that need no listing. Raises as ``plan_copy``.

    Args:
        protects: the commit gets a savepoint. One that is there has kept the files from all cleans since.
    """
    for restore in signs.restores:
        raise Refused(f"a restore is pending: {restore.instant}", hint="finish it first: `hudictl resume`")
    guards.completed_once(commit)
    guards.says_what_it_wrote(signs.timeline, commit)
    guards.nothing_archived_after(session.table, commit.time)
    if protects:
        check_signs(session, signs, commit, OF_COPIES)


def _starts_where_it_did(facts: Facts, refusal: str) -> None:
    """Raises Refused: by a savepoint, readers know that archived commits between those of the timeline count: the copy
    has no savepoints."""
    archived = archived_later(facts)
    if archived:
        raise Refused(
            f"{refusal}: archiving has passed a savepoint ({first_few(sorted(archived))}): readers of a copy, which "
            "has no savepoints, would not see all rows",
            hint="delete that savepoint, and archive its commit with Hudi; then run the command again",
        )


def _marked(
    session: Session, facts: Facts, removed: Mapping[str, Instant], folders: Collection[FolderFiles]
) -> Iterator[MarkedSlice]:
    """The copied slices whose logs have blocks of instants that the copy does not have. Once its own timeline begins
    after them, readers would count them as archived."""
    # The copy has the plans of compactions, and the slices that they have opened.
    pending = {entry.time: entry for entry in facts.timeline.writes() if entry.pending and entry.action != COMPACTION}
    gone = dict(sorted({**pending, **removed}.items()))
    blocks = plan_blocks(facts, session.engine, gone, None, profiles=False)
    targets = ((time, block) for time in gone for block in blocks.get(time, ()))
    copied = {folder.folder: frozenset(name for name, _ in folder.entries) for folder in folders}
    for found in marked_slices(targets, facts.sweep):
        logs = tuple(log for log in found.logs if log[0] in copied.get(found.partition, ()))
        if logs:
            yield replace(found, logs=logs)


def _meta(session: Session, facts: Facts, kept: Collection[Instant], removed: Collection[str]) -> Iterator[FolderFiles]:
    """What is copied beside the partitions: kept instants, and plans of compactions that opened slices; the archive;
    what counts for buckets; schemas."""
    table, timeline = facts.table, facts.timeline
    opened = [
        file
        for entry in timeline.having(COMPACTION, LOGCOMPACTION)
        if entry.pending and entry.time not in removed and (file := entry.file(State.REQUESTED))
    ]
    names = [file.name for entry in kept for file in entry.files] + [file.name for file in opened]
    yield folder_files(table.layout.timeline, sorted((name, timeline.sizes[name]) for name in names))
    archived = _listed(table, table.layout.archive)
    if archived:
        yield folder_files(table.layout.archive, archived)

    start = min(entry.time for entry in kept)
    there = {INITIAL, *(entry.time for entry in kept)}
    found: dict[str, list[tuple[str, int]]] = {}
    for bucket in hashing_files(table, session.engine):
        status = table.storage.stat(bucket.path) if bucket.instant < start or bucket.instant in there else None
        if status is not None:
            found.setdefault(bucket.folder, []).append((status.name, status.size))
    for name, size in _listed(table, SCHEMAS):
        time = name.removesuffix(SCHEMAS_END)
        if time != name and (time in there or time < start):
            found.setdefault(SCHEMAS, []).append((name, size))
    yield from (folder_files(folder, files) for folder, files in sorted(found.items()))


def _listed(table: Table, folder: str) -> list[tuple[str, int]]:
    """The files of a folder without checksum sidecars, which no copy has."""
    found = workers.list_folder(table.storage, workers.Folder(folder), sync=False)
    return [(name, size) for name, size, _ in found.files] if found else []


def _properties(table: Table, name: str) -> dict[str, str]:
    kept = {
        key: value for key, value in table.properties.items() if key not in _LEFT_OUT and not key.startswith(_LOCKS)
    }
    if name:
        kept[fmt.NAME] = name
        if fmt.CHECKSUM in kept:
            kept[fmt.CHECKSUM] = fmt.checksum(kept)
    return kept
