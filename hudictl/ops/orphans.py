"""Deleting orphans: a plan like any other, and its execution."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from hudictl.engine.base import Engine
from hudictl.errors import Conflict, Incomplete, Refused
from hudictl.ops.fingerprint import files_digest, table_fingerprint
from hudictl.ops.guards import liveness
from hudictl.ops.session import Monitor
from hudictl.ops.undo.files import delete_data_files
from hudictl.state import writable as table_guards
from hudictl.state.facts import Signs, read_facts, read_signs
from hudictl.state.orphans import Orphan, find_orphans
from hudictl.state.savepoints import savepointed_files
from hudictl.state.writers import DEFAULT_IDLE_MS
from hudictl.table.file_view import StoredFile, sweep
from hudictl.table.locks.hold import Hold, hold
from hudictl.table.metadata_table import delete_retired, metadata_table_in_use, retire_metadata_table
from hudictl.table.operations import Operation, recorded
from hudictl.table.properties import recover_properties
from hudictl.table.table import Table
from hudictl.table.timeline import instant_now, load_timeline


@dataclass(frozen=True)
class OrphanOptions:
    """``idle_ms``: files that changed less than this ago stay: their writer, or an executor of it, may be at work."""

    idle_ms: int = DEFAULT_IDLE_MS


@dataclass(frozen=True)
class OrphanPlan:
    """The orphans to delete, and those that are ``left``, with the reason. ``metadata_table`` goes first where it is in
    use, with its ``indexes``: it may have been built when the files were there, and would go on listing them."""

    table: str
    options: OrphanOptions
    files: tuple[Orphan, ...]
    left: tuple[Orphan, ...]
    metadata_table: bool
    indexes: tuple[str, ...]
    fingerprint: Mapping[str, str]

    @property
    def size(self) -> int:
        return sum(orphan.file.size or 0 for orphan in self.files)


@dataclass(frozen=True)
class OrphanResult:
    """What was deleted. ``files_left`` were in the plan, and belong to an instant or a savepoint by now,
    or somebody has written into them."""

    files_deleted: int
    bytes_deleted: int
    files_left: tuple[str, ...]
    metadata_table_dropped: bool


def plan_orphan_deletion(
    table: Table, engine: Engine, options: OrphanOptions, note: Callable[[str], None] = lambda _: None
) -> OrphanPlan:
    """Finds what can be deleted. Changes nothing; every guard has passed.

    Raises:
        Unsupported, Conflict, Refused, Unreadable, StorageFailed, EngineFailed.
    """
    table_guards.writable_table(table)
    signs = read_signs(table)
    _check_signs(table, signs)
    facts = read_facts(table, engine, signs, note)
    found = [_unless_recent(orphan, signs.now_ms, options) for orphan in find_orphans(facts, engine)]
    files = tuple(orphan for orphan in found if orphan.sure)
    drops = bool(files) and metadata_table_in_use(table)
    if drops:
        liveness.no_running_write(table, signs, signs.timeline.instants, options.idle_ms, facts.sweep.files, ())
    indexes = table.metadata_partitions if drops else ()
    return OrphanPlan(
        table=table.uri,
        options=options,
        files=files,
        left=tuple(orphan for orphan in found if not orphan.sure),
        metadata_table=drops,
        indexes=indexes,
        fingerprint={
            **table_fingerprint(table, asdict(options)),
            "metadata table": f"in use, with {', '.join(indexes) or 'no index'}" if drops else "not in use",
            "files to delete": files_digest((orphan.file.path, orphan.file.size or 0) for orphan in files),
        },
    )


def _unless_recent(orphan: Orphan, now_ms: int, options: OrphanOptions) -> Orphan:
    quiet_ms = now_ms - orphan.file.modified_ms
    return orphan if quiet_ms >= options.idle_ms else orphan.left(f"it changed {quiet_ms // 1000} s ago")


def _check_signs(table: Table, signs: Signs) -> None:
    """Raises Unsupported, Conflict; Refused: a pending restore or rollback, whose files are not for others."""
    table_guards.known_timeline(signs.timeline)
    liveness.no_lock_in_use(table, signs)
    pending = [*(entry.instant for entry in signs.restores), *(entry.instant for entry in signs.live_rollbacks)]
    if pending:
        raise Refused(
            f"{pending[0]} is pending, and may own files that look like orphans",
            hint="finish it first: `hudictl resume`",
            instant=pending[0].time,
        )


def delete_orphans(table: Table, engine: Engine, plan: OrphanPlan, monitor: Monitor, command: str) -> OrphanResult:
    """Deletes what the plan names, and lists the partitions again. Where it names nothing, nothing is changed.

    Raises:
        Incomplete: files that are still there.
        Conflict, Refused, Unsupported, Unreadable, StorageFailed, EngineFailed, Interrupted.
    """
    if not plan.files:
        return OrphanResult(0, 0, (), False)
    with hold(table, command, monitor) as held:
        monitor.step("check again")
        signs = read_signs(table)
        _check_signs(table, signs)
        if plan.metadata_table:
            liveness.no_running_write(table, signs, signs.timeline.instants, plan.options.idle_ms, (), ())
        recover_properties(table.storage)
        summary = {
            "options": asdict(plan.options),
            "fingerprint": dict(plan.fingerprint),
            "files": [orphan.file.path for orphan in plan.files],
            "indexes_lost": list(plan.indexes),
        }
        operation = Operation(instant_now(table), "orphans delete", "", summary)
        return recorded(
            table.storage, operation, command, lambda: _delete(table, engine, plan, monitor, held, operation.instant)
        )


def _delete(table: Table, engine: Engine, plan: OrphanPlan, monitor: Monitor, held: Hold, time: str) -> OrphanResult:
    """References go before what they refer to: the metadata table, then the files."""
    monitor.step("take the metadata table out of use")
    if not plan.metadata_table and metadata_table_in_use(table):
        raise Conflict("a metadata table has come into use since planning", hint="run the command again: it plans anew")
    held.check()
    retire_metadata_table(table, time)
    monitor.step("delete files")
    left = _owned_by_now(table, plan) | _written_since(table, engine, plan)
    held.check()
    files = [orphan.file for orphan in plan.files if orphan.file.path not in left]
    failed = dict(delete_data_files(table, engine, files))
    monitor.step("verify")
    stored = {file.path for file in sweep(table, engine, {file.partition for file in files}, sync=True).files}
    # Again: a writer may have made it anew, and listed what was just being deleted.
    retire_metadata_table(table, time)
    delete_retired(table, time)
    kept = [file.path for file in files if file.path in stored]
    if kept:
        reason = f": {failed[kept[0]]}" if kept[0] in failed else ""
        raise Incomplete(
            f"{len(kept)} of {len(files)} files are still there, {kept[0]} among them{reason}",
            hint="mend the cause, then run the command again",
            files=kept,
        )
    return OrphanResult(len(files), sum(file.size or 0 for file in files), tuple(sorted(left)), plan.metadata_table)


def _owned_by_now(table: Table, plan: OrphanPlan) -> set[str]:
    """The files of the plan whose instant has appeared since, or that a savepoint names. Raises Unreadable."""
    timeline = load_timeline(table)
    times = {entry.time for entry in timeline.instants}
    saved = savepointed_files(table, timeline)
    return {orphan.file.path for orphan in plan.files if orphan.file.data.instant in times or orphan.file.path in saved}


def _written_since(table: Table, engine: Engine, plan: OrphanPlan) -> set[str]:
    """The logs of the plan that have changed: below table version 8 a writer goes on in a log of another's name, where
    its store can append. Raises StorageFailed, EngineFailed."""
    logs = [orphan.file for orphan in plan.files if not orphan.file.data.is_base]
    if table.completion_in_name or not logs:
        return set()
    now = {file.path: file for file in sweep(table, engine, {file.partition for file in logs}).files}
    return {file.path for file in logs if file.path in now and _state(now[file.path]) != _state(file)}


def _state(file: StoredFile) -> tuple[int | None, int]:
    return file.size, file.modified_ms
