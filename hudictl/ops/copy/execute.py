"""Copying: the record first, hoodie.properties last, so that half a copy is no table."""

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from hudictl.copy_workers import copy_files
from hudictl.errors import Conflict, Refused
from hudictl.formats import properties
from hudictl.formats.file_names import PARTITION_METAFILE, data_path
from hudictl.formats.instants import CLEAN, WRITE_ACTIONS, order, parse_instant_file
from hudictl.formats.layouts import PROPERTIES
from hudictl.ops.copy.plan import BEGIN_AGAIN, CopyPlan, read_target
from hudictl.ops.copy.planning import OF_COPIES
from hudictl.ops.copy.verify import copy_tasks, each, made_metafiles, wrong_paths
from hudictl.ops.restore.protection import end_protection, publish
from hudictl.ops.savepoint.deletion import nothing_waits_for
from hudictl.ops.savepoint.planning import check_signs
from hudictl.ops.session import Begun, Kind, Session, changing
from hudictl.ops.undo.plan import block_tasks
from hudictl.phrases import first_few
from hudictl.state.facts import read_signs
from hudictl.state.files.savepoints import copy_comment, read_savepoint_head
from hudictl.state.timeline.targets import find_commit
from hudictl.storage import Storage, delete_all, entries_of
from hudictl.table.copied import RECORD
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline
from hudictl.table.timeline.archive import archived_among
from hudictl.workers import write_rollback_blocks


@dataclass(frozen=True)
class Protection:
    """The temporary savepoint, and what became of it."""

    instant: str
    savepoint: str


@dataclass(frozen=True)
class CopyResult:
    """What was copied; ``files_copied`` and ``bytes_copied`` without what was there already."""

    as_of: str
    to: str
    only_partitions: tuple[str, ...]
    files_copied: int
    bytes_copied: int
    checksum: bool
    duration_ms: int


def execute_copy(session: Session, plan: CopyPlan, target: Storage) -> CopyResult:
    """Makes the copy, or the rest of it. A copy that fails or dies is no table, the savepoint stays, and the same
    command goes on.

    Raises:
        Conflict: the source has changed since planning; Refused: the target has files that are not of this copy.
        Unsupported, StorageFailed, EngineFailed, Interrupted.
    """
    begun = time.monotonic()
    session.monitor.step("begin the copy")
    session.engine.ready()
    _begin(plan, session.table.storage, target)
    files, size = (0, 0) if plan.there else _make(session, plan, target)
    # Before the copy is a table: nobody looks for the savepoint then.
    if plan.savepoint == "temporary":
        _release(session, plan)
    session.monitor.step("make it a table")
    if not plan.there:
        _publish(plan, target)
    target.replace(RECORD, replace(plan.record, ended=True).encode())
    ms = int((time.monotonic() - begun) * 1000)
    return CopyResult(plan.as_of, plan.to, plan.only_partitions, files, size, plan.checksum, ms)


def _begin(plan: CopyPlan, source: Storage, target: Storage) -> None:
    # Nobody may have put something there since planning.
    read_target(target, plan.record)
    # Below it, all have its access rights: not those of the folder above, which may be anybody's.
    target.create_base(source)
    with suppress(FileExistsError):
        target.create(RECORD, plan.record.encode())
    if read_target(target, plan.record)[1] is not plan.there:
        raise _become_a_table(target)


def _become_a_table(target: Storage) -> Conflict:
    return Conflict(f"{target.uri} has just become a table", hint="run the command again")


def _make(session: Session, plan: CopyPlan, target: Storage) -> tuple[int, int]:
    """All but hoodie.properties: how many files are copied, and bytes. Raises as ``execute_copy``."""
    if plan.savepoint == "temporary":
        _protect(session, plan)
    files, size = _copy(session, plan, target)
    if plan.resumes:
        _drop_outdated(session.table, plan, target)
    _verify(session, plan, target, _complete(session, plan, target))
    return files, size


def _publish(plan: CopyPlan, target: Storage) -> None:
    try:
        target.create(PROPERTIES, properties.encode(plan.properties, datetime.now(timezone.utc)))
    except FileExistsError:
        raise _become_a_table(target) from None


def _protect(session: Session, plan: CopyPlan) -> None:
    """Publishes the savepoint: writers go on, and no clean deletes what is copied."""
    table = session.table

    def look() -> None:
        signs = read_signs(table)
        # A savepoint that is there has passed this, and has kept the files from all cleans since.
        if read_savepoint_head(table, signs.timeline, plan.as_of) is None:
            check_signs(session, signs, find_commit(table, signs.timeline, plan.as_of), OF_COPIES)
        _refuse_cleaned(plan, signs.timeline)

    def work(run: Begun[None]) -> Protection:
        run.held.check()
        names = {
            folder.folder: tuple(name for name, _ in folder.entries if not name.startswith(PARTITION_METAFILE))
            for folder in plan.folders
        }
        _refuse_cleaned(plan, publish(table, plan.as_of, copy_comment(plan.to), names))
        return Protection(plan.as_of, "published")

    session.monitor.step("protect the source")
    changing(session, Kind.COPY, plan.as_of, {"to": plan.to, "savepoint": "temporary"}, look=look, work=work)


def _refuse_cleaned(plan: CopyPlan, timeline: Timeline) -> None:
    for clean in timeline.having(CLEAN):
        if not clean.names <= plan.cleans:
            raise Conflict(
                f"{clean} appeared since the copy was planned, and may have deleted files of it",
                hint="run the command again: it makes a new plan",
                instant=clean.time,
            )


def _release(session: Session, plan: CopyPlan) -> None:
    """Deletes the savepoint, unless it is no longer the copy's own. Raises Refused: a restore has begun that requires
    it."""
    table = session.table

    def look() -> None:
        nothing_waits_for(read_signs(table), plan.as_of)

    def work(run: Begun[None]) -> Protection:
        run.held.check()
        end_protection(table, plan.as_of, lambda found: found.comment == copy_comment(plan.to))
        return Protection(plan.as_of, "deleted")

    session.monitor.step("end the protection of the source")
    changing(session, Kind.COPY, plan.as_of, {"to": plan.to, "savepoint": "deleted"}, look=look, work=work)


def _copy(session: Session, plan: CopyPlan, target: Storage) -> tuple[int, int]:
    """Copies what is missing: how many files, and bytes. Raises as ``execute_copy``."""
    done = each(session, "copy", copy_files, copy_tasks(session, plan, target))
    foreign = [found.foreign for found in done if found.foreign]
    if foreign:
        raise Refused(
            f"{target.uri} has another file than the table at {first_few(foreign)}",
            hint=f"find out who has written there; {BEGIN_AGAIN}",
            files=foreign,
        )
    changed = [found.changed for found in done if found.changed]
    if changed:
        raise Conflict(
            first_few(changed, most=1, rest=" (and {} more)"),
            hint="run the same command again: it makes a new plan, and copies what is missing",
        )
    return sum(found.files for found in done), sum(found.bytes for found in done)


def _drop_outdated(table: Table, plan: CopyPlan, target: Storage) -> None:
    """Deletes what an earlier attempt has copied of writes that the copy no longer has, as the table has archived them
    since. Only files of the table's own writes: the target is no table yet. Raises StorageFailed, Unreadable."""
    folder, there = table.layout.timeline, load_timeline(table).sizes
    planned = {name for part in plan.meta if part.folder == folder for name, _ in part.entries}
    names = {entry.name for entry in entries_of(target, folder) if not entry.is_dir} - planned
    parsed = (parse_instant_file(name, table.layout.version) for name in names)
    files = [file for file in parsed if file is not None and file.action in WRITE_ACTIONS]
    gone = {file.time for file in files if file.name not in there}
    archived = {order(entry) for entry in archived_among(table, gone)} if gone else set()
    delete_all(target, [f"{folder}/{file.name}" for file in files if file.name in there or order(file) in archived])


def _complete(session: Session, plan: CopyPlan, target: Storage) -> list[tuple[str, str, int]]:
    """Writes what the copy has beside the table's files: rollback blocks, and metafiles that are missing. Returns
    them, as partition, name and size."""
    tasks = block_tasks(target, plan.marked)
    blocks = each(session, "write rollback blocks", write_rollback_blocks, tasks)
    found = [
        (task.partition, block.name, block.size)
        for task, written in zip(tasks, blocks, strict=True)
        for block in written
        if (block.name, block.size) not in task.logs
    ]
    for path, body in made_metafiles(plan):
        with suppress(FileExistsError):
            target.create(data_path(path, PARTITION_METAFILE), body)
        found.append((path, PARTITION_METAFILE, len(body)))
    return found


def _verify(session: Session, plan: CopyPlan, target: Storage, more: Iterable[tuple[str, str, int]]) -> None:
    """Raises Refused, StorageFailed, EngineFailed."""
    wrong = wrong_paths(session, plan, target, more)
    if wrong:
        raise Refused(
            f"the copy is wrong: {first_few(wrong)} {'differs' if len(wrong) == 1 else 'differ'} from the table, or "
            "should not be there; it is no table yet",
            hint=BEGIN_AGAIN,
            files=wrong,
        )
