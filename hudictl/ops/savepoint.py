"""Savepoints: create with all checks, delete, and the proof that one can be restored."""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from hudictl.engine.base import Engine
from hudictl.errors import Conflict, HudictlError, Incomplete, Refused
from hudictl.formats import clean, savepoint
from hudictl.formats import instants as fmt
from hudictl.formats.instants import Instant, State
from hudictl.ops.facts import Facts, Signs, pending_cleans, read_facts, read_signs
from hudictl.ops.fingerprint import deletion_fingerprint, savepoint_fingerprint
from hudictl.ops.guards import files as file_guards
from hudictl.ops.guards import liveness
from hudictl.ops.guards import table as table_guards
from hudictl.ops.guards import timeline as guards
from hudictl.ops.monitor import Monitor
from hudictl.ops.needed import needed_files, savepoint_map
from hudictl.ops.plan import RestoreOptions, SavepointDeletion, SavepointOptions, SavepointPlan
from hudictl.ops.protect import is_protection
from hudictl.ops.restore import plan_restore
from hudictl.ops.rules import instants_after, own_rule
from hudictl.table.file_view import sweep
from hudictl.table.hold import Hold, hold
from hudictl.table.operations import Operation, recorded
from hudictl.table.properties import recover_properties
from hudictl.table.table import Table
from hudictl.table.timeline import (
    Timeline,
    create_instant_file,
    delete_instant,
    instant_now,
    load_timeline,
    read_instant,
)


@dataclass(frozen=True)
class SavepointReport:
    """The savepoint that was created or deleted, and how many files it protects."""

    instant: str
    files: int


@dataclass(frozen=True)
class Restorable:
    """Whether a savepoint can be restored now; ``reason`` is the guard's word against it."""

    instant: str
    restorable: bool
    reason: str
    file_count: int
    bytes: int


def plan_savepoint(
    table: Table,
    engine: Engine,
    instant: str | None,
    options: SavepointOptions | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> SavepointPlan:
    """Plans a savepoint on a completed commit. Changes nothing; every guard has passed.

    Args:
        instant: requested time; None takes the newest completed commit with no pending write older than it.

    Raises:
        Unsupported, Conflict, Refused, Unreadable, StorageFailed, EngineFailed.
    """
    options = options or SavepointOptions()
    table_guards.writable_table(table)
    signs = read_signs(table)
    table_guards.known_timeline(signs.timeline)
    commit = guards.find_commit(signs.timeline, instant) if instant else _newest(signs.timeline)
    existing = signs.timeline.find(commit.time, fmt.SAVEPOINT)
    if existing is not None and existing.completed:
        return _existing(table, engine, signs, commit, instant is None, options)
    check_signs(table, signs, commit, options)
    removed = {entry.time for entry in instants_after(table, signs.timeline, commit, own_rule(table))}
    facts = read_facts(table, engine, signs, note, without=removed)
    _check_files(facts, commit, removed)
    files = savepoint_map(facts, commit)
    sizes = {(file.partition, file.data.name): file.size or 0 for file in facts.sweep.files}
    return SavepointPlan(
        table=table.uri,
        instant=commit.time,
        options=options,
        user=options.user,
        comment=options.comment,
        files=files,
        size=sum(sizes[partition, name] for partition, names in files.items() for name in names),
        exists=False,
        completes=existing is not None,
        chosen=instant is None,
        timeline=frozenset(signs.timeline.modified_ms),
        fingerprint=savepoint_fingerprint(table, commit, options, files),
    )


def check_signs(table: Table, signs: Signs, commit: Instant, options: SavepointOptions) -> None:
    """The guards that need no listing of data files. Raises as ``plan_savepoint``."""
    liveness.no_lock_in_use(table, signs)
    for restore in (*(entry.instant for entry in signs.restores), *signs.unplanned):
        raise Refused(
            f"a restore is pending: {restore}", hint="finish it first: `hudictl resume`", restore=restore.time
        )
    guards.readable_inflight(commit)
    for rollback, plan in signs.rollbacks:
        if plan is None or plan.target.time == commit.time:
            raise Refused(
                f"{rollback} is pending and takes {commit.time} back",
                hint="`hudictl resume` finishes that rollback; or choose another commit",
                rollback=rollback.time,
            )
    retained = last_commit_retained(table, signs.timeline)
    if commit.time < retained:
        raise Refused(
            f"{commit.time} is older than {retained}, the oldest commit that the last clean has kept whole",
            hint="choose that commit or a later one",
            instant=commit.time,
            retained=retained,
        )
    writing = [entry.time for entry in _writing(signs.timeline) if entry.time < commit.time]
    if writing and not options.allow_pending:
        raise Conflict(
            f"writes older than {commit.time} are pending, and not in the savepoint: {', '.join(writing)}",
            hint="wait for them, or savepoint all the same with --allow-pending",
            instants=writing,
        )
    lone = signs.timeline.find(commit.time, fmt.SAVEPOINT)
    if lone is not None and signs.timeline.idle_ms(lone, signs.now_ms) < options.idle_ms:
        raise Conflict(
            f"{lone}: another process may be creating this savepoint now",
            hint=f"run the command again when the file is {options.idle_ms // 1000} s old, or with --idle 0s where no "
            "other process runs",
            instant=commit.time,
        )
    guards.nothing_archived_after(table, commit.time)


def create_savepoint(table: Table, engine: Engine, plan: SavepointPlan, monitor: Monitor, command: str) -> None:
    """Writes the savepoint, then looks whether a clean came in meanwhile: if so, the savepoint goes again.

    Raises:
        Conflict: the table moved, a clean came in, or a file went.
        Refused, Unsupported, Unreadable, StorageFailed, Interrupted.
    """
    if plan.exists:
        return
    with hold(table, command, monitor) as held:
        monitor.step("check again")
        signs = read_signs(table)
        guards.not_moved(signs.timeline, plan.timeline)
        check_signs(table, signs, guards.find_commit(signs.timeline, plan.instant), plan.options)
        recover_properties(table.storage)
        operation = Operation(instant_now(table), "savepoint create", plan.instant, {"files": plan.file_count})
        recorded(table.storage, operation, command, lambda: _publish(table, engine, plan, monitor, held))


def _publish(table: Table, engine: Engine, plan: SavepointPlan, monitor: Monitor, held: Hold) -> SavepointReport:
    monitor.step("write the savepoint")
    body = savepoint.encode(savepoint.SavepointMetadata(plan.user, int(time.time() * 1000), plan.comment, plan.files))
    held.check()
    create_instant_file(table, plan.instant, fmt.SAVEPOINT, State.INFLIGHT)
    name = create_instant_file(table, plan.instant, fmt.SAVEPOINT, State.COMPLETED, body, instant_now(table))
    # No stop in between: a rerun would find a savepoint that nobody has verified.
    _withdraw_if_cleaned(table, engine, plan, name)
    return SavepointReport(plan.instant, plan.file_count)


def _withdraw_if_cleaned(table: Table, engine: Engine, plan: SavepointPlan, name: str) -> None:
    """Raises Conflict: a clean, or a lost file, makes the savepoint a lie; it was deleted again."""
    timeline = load_timeline(table)
    cleans = [str(entry) for entry in timeline.having(fmt.CLEAN) if not entry.names <= plan.timeline]
    stored = {file.path for file in sweep(table, engine, plan.files).files}
    lost = [
        path
        for partition, names in plan.files.items()
        for path in (f"{partition}/{entry}" if partition else entry for entry in names)
        if path not in stored
    ]
    if cleans or lost:
        saved = timeline.find(plan.instant, fmt.SAVEPOINT)
        delete_instant(table, saved)
        raise Conflict(
            f"{(cleans + lost)[0]}: files went while they were being listed; the savepoint is withdrawn",
            hint="run the command again",
            cleans=cleans,
            lost=lost,
        )
    if name not in timeline.modified_ms:
        raise Incomplete(f"the savepoint {plan.instant} is gone again: somebody deleted it", instant=plan.instant)


def plan_deletion(table: Table, instant: str) -> SavepointDeletion:
    """Plans the deletion of a savepoint.

    Raises:
        Refused: no such commit; a pending restore needs the savepoint; a pending rollback waits behind it.
        Conflict, Unsupported, Unreadable.
    """
    table_guards.writable_table(table)
    signs = read_signs(table)
    table_guards.known_timeline(signs.timeline)
    found = signs.timeline.find(instant, fmt.SAVEPOINT)
    if found is None and signs.timeline.find(instant, *fmt.COMMIT_ACTIONS) is None:
        guards.find_savepoint(table, signs.timeline, instant)
    _check_deletion(table, signs, instant)
    file = found.file(State.COMPLETED) if found else None
    count = 0
    if file is not None:
        metadata = savepoint.decode(read_instant(table, file), file.name)
        count = sum(len(names) for names in metadata.files.values())
    return SavepointDeletion(
        table.uri,
        instant,
        found is not None,
        count,
        frozenset(signs.timeline.modified_ms),
        deletion_fingerprint(table, found),
    )


def delete_savepoint(table: Table, plan: SavepointDeletion, monitor: Monitor, command: str) -> None:
    """Deletes the completed file, then the inflight one. Raises as ``plan_deletion``, and Conflict."""
    if not plan.exists:
        return
    with hold(table, command, monitor) as held:
        monitor.step("check again")
        signs = read_signs(table)
        guards.not_moved(signs.timeline, plan.timeline)
        _check_deletion(table, signs, plan.instant)
        found = signs.timeline.find(plan.instant, fmt.SAVEPOINT)
        monitor.step("delete the savepoint")
        operation = Operation(instant_now(table), "savepoint delete", plan.instant, {"files": plan.file_count})

        def work() -> SavepointReport:
            held.check()
            delete_instant(table, found)
            return SavepointReport(plan.instant, plan.file_count)

        recorded(table.storage, operation, command, work)


def verify_savepoint(table: Table, engine: Engine, instant: str, options: RestoreOptions) -> Restorable:
    """Whether a restore to the savepoint would pass every guard now. Raises Refused: there is no such savepoint."""
    guards.find_savepoint(table, load_timeline(table), instant)
    try:
        plan = plan_restore(table, engine, instant, options)
    except HudictlError as error:
        if error.exit_code in (1, 15, 16):
            raise
        return Restorable(instant, False, error.message, 0, 0)
    size = sum(file.size or 0 for file in plan.needed.values())
    return Restorable(instant, True, "", len(plan.needed), size)


def last_commit_retained(table: Table, timeline: Timeline) -> str:
    """The oldest commit that a savepoint may stand on, from the last clean in any state.

    Checked on Hudi 0.15.0 and 1.2.0; where a completed clean names no commit, 1.1 and later take the last write
    before it, older releases the first commit.
    """
    commits = [entry.time for entry in timeline.completed_writes()]
    first = min(commits, default="")
    last = max(timeline.having(fmt.CLEAN), key=lambda entry: entry.time, default=None)
    if last is None:
        return first
    file = last.file(last.state)
    plan = last.file(State.REQUESTED)
    if last.completed and file is not None and timeline.sizes[file.name]:
        earliest = clean.decode_metadata(read_instant(table, file), file.name).earliest
    elif plan is not None and timeline.sizes[plan.name]:
        earliest = clean.decode_plan(read_instant(table, plan), plan.name).earliest
    else:
        earliest = None
    if earliest is not None:
        return earliest
    return first if table.version < 9 else max((time for time in commits if time <= last.time), default=last.time)


def _check_files(facts: Facts, commit: Instant, removed: Collection[str]) -> None:
    needed = needed_files(facts, removed, {})
    file_guards.nothing_missing(needed, f"{commit.time} cannot be restored")
    cleans = pending_cleans(facts.timeline)
    found = file_guards.cleans_in_the_way(facts.table, facts.timeline, cleans, needed.files)
    file_guards.no_clean_in_the_way(found)


def _check_deletion(table: Table, signs: Signs, instant: str) -> None:
    liveness.no_lock_in_use(table, signs)
    for restore in signs.restores:
        if restore.plan.target == instant:
            raise Refused(
                f"{restore.instant} is pending, and restores to this savepoint",
                hint="finish it first: `hudictl resume`",
                restore=restore.instant.time,
            )
    begun = min((restore.instant.time for restore in signs.restores), default="~")
    for rollback, plan in signs.rollbacks:
        # A pending restore has made rollbacks of its own, and ends them itself.
        if plan is not None and plan.target.time == instant and rollback.time < begun:
            raise Refused(
                f"{rollback} waits for this savepoint to go: the next writer would take the commit {instant} back",
                hint="remove that rollback's files first",
                rollback=rollback.time,
            )


def _writing(timeline: Timeline) -> list[Instant]:
    """Pending writes; a table service that is only scheduled has nothing to complete yet."""
    return [
        entry
        for entry in timeline.writes()
        if entry.pending and not (entry.action in fmt.PENDING_ONLY and entry.state is State.REQUESTED)
    ]


def _newest(timeline: Timeline) -> Instant:
    writing = [entry.time for entry in _writing(timeline)]
    oldest = min(writing, default="~")
    commits = [entry for entry in timeline.completed_writes() if entry.time < oldest]
    if not commits:
        raise Refused(
            "there is no completed commit" + (f" before the pending write {oldest}" if writing else ""),
            hint="a savepoint stands on a completed commit",
        )
    return max(commits, key=lambda entry: entry.time)


def _existing(
    table: Table, engine: Engine, signs: Signs, commit: Instant, chosen: bool, options: SavepointOptions
) -> SavepointPlan:
    """The savepoint that is there, proved anew: its creation may have died before it was. Raises Refused."""
    metadata = guards.find_savepoint(table, signs.timeline, commit.time)
    if is_protection(metadata):
        raise Refused(
            f"the savepoint on {commit.time} is hudictl's own, left by a restore, and will go",
            hint="`hudictl resume` removes it; then create the savepoint",
            instant=commit.time,
        )
    removed = {entry.time for entry in instants_after(table, signs.timeline, commit, own_rule(table))}
    facts = read_facts(table, engine, signs, without=removed, savepointed=metadata.files)
    needed = needed_files(facts, removed, metadata.files)
    file_guards.nothing_missing(needed, f"{commit.time} cannot be restored")
    return SavepointPlan(
        table=table.uri,
        instant=commit.time,
        options=options,
        user=metadata.saved_by,
        comment=metadata.comment,
        files=metadata.files,
        size=needed.size,
        exists=True,
        completes=False,
        chosen=chosen,
        timeline=frozenset(signs.timeline.modified_ms),
        fingerprint=savepoint_fingerprint(table, commit, options, metadata.files),
    )
