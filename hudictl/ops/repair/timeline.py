"""``timeline quarantine``: files of an instant that cannot be read make room for what the others prove."""

from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from hudictl.errors import Conflict, NotFound, Refused
from hudictl.formats import clean, commit_metadata, plans, restore, rollback, savepoint
from hudictl.formats.file_names import data_path
from hudictl.formats.instants import (
    CLEAN,
    INDEXING,
    ROLLBACK,
    Instant,
    InstantFile,
    State,
    format_time,
    instant_file_name,
)
from hudictl.formats.restore import StoredRestorePlan
from hudictl.formats.rollback import InstantInfo
from hudictl.formats.savepoint import SavepointMetadata
from hudictl.ops.guards import liveness
from hudictl.ops.repair.commits import MadeAgain, commit_again
from hudictl.ops.repair.plan import FileRepair, RepairPlan
from hudictl.ops.restore.plan import service_actions
from hudictl.ops.savepoint.planning import files_again
from hudictl.ops.session import Kind, Session
from hudictl.phrases import command_of, seconds
from hudictl.state.facts import Signs, read_facts, signs_of_damaged
from hudictl.state.services.harmful_cleans import has_run
from hudictl.state.timeline.clean_plans import cleans_without_plan
from hudictl.state.timeline.damaged import Damaged, Way, damaged_files, first_half
from hudictl.state.timeline.lost_plans import slices_before
from hudictl.state.timeline.removed import instants_after, own_rule
from hudictl.state.timeline.targets import find_commit
from hudictl.state.writable import known_timeline, writable_table
from hudictl.storage import Folders
from hudictl.table.files.sweep import sweep
from hudictl.table.operations import begun_plan, read_operation
from hudictl.table.timeline.active import read_instant


def plan_quarantine(session: Session, time: str, idle_ms: int) -> RepairPlan:
    """Plans to mend the damaged files of an instant. Changes nothing; every guard has passed.

    Raises:
        NotFound: there is no such instant.
        Refused: nothing proves what a file said.
        Conflict: a writer or table service may be running.
        Unsupported, Unreadable, StorageFailed, EngineFailed.
    """
    table = session.table
    writable_table(table, session.locking)
    signs = signs_of_damaged(table)
    known_timeline(table, signs.timeline)
    at = [instant for instant in signs.timeline.instants if instant.time == time]
    if not at:
        raise NotFound(
            f"there is no instant {time} on the active timeline", hint="`hudictl check` names what is damaged"
        )
    found = [entry for instant in at for entry in damaged_files(table, signs.timeline, instant)]
    for entry in found:
        quiet_ms = signs.timeline.idle_ms(entry.instant, signs.now_ms)
        if entry.instant.pending and quiet_ms < idle_ms:
            raise Conflict(
                f"{entry.instant} may be running: its last activity was {seconds(quiet_ms)} ago",
                hint="wait until it has ended, or specify --idle",
                instant=time,
            )
    if found:
        liveness.nothing_at_work(table, session.engine, signs, session.locking, idle_ms)
    mended = [_mended(session, signs, entry) for entry in found]
    if not found:
        mended = [_completed(session, signs, entry) for entry in at if _has_run(session, signs, entry, idle_ms)]
    return RepairPlan(
        Kind.QUARANTINE,
        time,
        tuple(entry.file for entry in mended),
        session.lock,
        tuple(chain.from_iterable(entry.lost for entry in mended)),
        tuple(chain.from_iterable(entry.guessed for entry in mended)),
    )


class _Mended(NamedTuple):
    file: FileRepair
    guessed: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def _has_run(session: Session, signs: Signs, instant: Instant, idle_ms: int) -> bool:
    """Whether it is a clean that has run, and of which only the completed file is lost. Raises Conflict: it may be
    running; Unreadable."""
    if instant.action != CLEAN or not instant.pending or cleans_without_plan(session.table, signs.timeline):
        return False
    liveness.nothing_at_work(session.table, session.engine, signs, session.locking, idle_ms)
    return has_run(read_facts(session.table, session.engine, signs, session.monitor.note), instant)


def _completed(session: Session, signs: Signs, instant: Instant) -> _Mended:
    """The completed file of a clean that has run."""
    table, begun_ms = session.table, signs.timeline.modified_ms[instant.files[-1].name]
    told = format_time(datetime.fromtimestamp(begun_ms / 1000, table.zone))
    done = max(told, instant.time) if table.rules.has_completion_times else None
    name = instant_file_name(instant.time, CLEAN, State.COMPLETED, table.layout.version, done)
    missing = Damaged(instant, InstantFile(name, instant.time, CLEAN, State.COMPLETED), "", b"", Way.FROM_PLAN)
    reasons = ("all files of its plan are gone", "the metadata table has it as completed, or none is in use")
    kept = None if done else begun_ms
    file = FileRepair(f"{table.layout.timeline}/{name}", reasons, _from_plan(session, missing), kept)
    return _Mended(file, ("when it has ended: the time of its inflight file is written",))


_UNKNOWN = "unknown: hudictl has made it again"


def _mended(session: Session, signs: Signs, found: Damaged) -> _Mended:
    """Raises Refused."""
    table, name = session.table, found.file.name
    made = _made(session, signs, found)
    body, guessed = made.body, made.guessed
    # Without completion times in the names, those of the files tell the order of the instants.
    kept = None if table.rules.has_completion_times else signs.timeline.modified_ms.get(name)
    if kept is not None and not isinstance(table.storage, Folders):
        if found.way in (Way.UNUSED, Way.FROM_RESULT):
            body = None
        elif body is not None:
            guessed = (*guessed, f"{name} gets the time of now: the store cannot keep that of a file")
    path = f"{table.layout.timeline}/{name}"
    return _Mended(FileRepair(path, (found.problem, *made.reasons), body, kept), guessed, made.lost)


def _made(session: Session, signs: Signs, found: Damaged) -> MadeAgain:
    """What takes the place of a damaged file; no body: nothing does. Raises Refused."""
    time = found.file.time
    if found.way is None:
        raise Refused(
            f"{found.problem}: nothing proves what it said",
            hint=f"put {found.file.name} back from a backup, or `{command_of('rollback', time)}`",
            file=found.file.name,
        )
    if found.way is Way.FROM_FILES:
        return commit_again(session, signs, found)
    if found.way is Way.TO_SAVEPOINT:
        return _restore_plan(session, signs, found)
    reasons = (found.way.value,)
    if found.way is Way.SAVED_FILES:
        files = files_again(session, signs, find_commit(session.table, signs.timeline, time))
        made = SavepointMetadata(_UNKNOWN, signs.timeline.modified_ms[found.file.name], "", files)
        return MadeAgain(savepoint.encode(made), reasons, lost=("who has made the savepoint, and its comment",))
    if found.way is Way.FROM_RESULT:
        return MadeAgain(_from_result(session, signs, found), reasons)
    bodies: Mapping[Way, Callable[[], bytes | None]] = {
        Way.DOUBLED: lambda: first_half(found.body),
        Way.UNUSED: lambda: b"",
        Way.FROM_PLAN: lambda: _from_plan(session, found),
        Way.NOT_BEGUN: lambda: None,
    }
    return MadeAgain(bodies[found.way](), reasons)


def _from_result(session: Session, signs: Signs, found: Damaged) -> bytes:
    """The plan of a clean or compaction that has ended. Raises Unreadable, StorageFailed, EngineFailed."""
    table, (result, *_) = session.table, found.instant.completed_files
    body = read_instant(table, result)
    if found.file.action == CLEAN:
        return clean.encode_plan(body, result.name, table.storage.absolute)
    stats = commit_metadata.decode(body, result.name).stats
    facts = read_facts(table, session.engine, signs, session.monitor.note, damaged_ok=True)
    groups = {(partition, stat.file_id) for partition, of in stats.items() for stat in of}
    return plans.encode_compaction_plan(slices_before(facts, found.file.time, groups))


def _from_plan(session: Session, found: Damaged) -> bytes:
    """Raises Unreadable."""
    table, request = session.table, found.instant.file(State.REQUESTED)
    if request is None:
        return b""
    body = read_instant(table, request)
    if found.file.action == INDEXING:
        return plans.encode_index_metadata(body, request.name)
    if found.file.action == ROLLBACK:
        return rollback.encode_result_of(rollback.decode_plan(body, request.name), found.file.time)
    planned = clean.decode_plan(body, request.name).files
    absent = set(sweep(table, session.engine, planned).absent(planned))
    left = {path: [name for name in names if data_path(path, name) not in absent] for path, names in planned.items()}
    return clean.encode_metadata(found.file.time, body, request.name, left)


def _restore_plan(session: Session, signs: Signs, found: Damaged) -> MadeAgain:
    """The plan of a restore that has begun. Raises Refused, Unreadable."""
    table, time = session.table, found.file.time
    operation = read_operation(table.storage, time)
    if operation is not None and operation.operation == Kind.RESTORE.value:
        infos = [InstantInfo(entry.time, entry.action) for entry in begun_plan(operation).instants]
        why = "hudictl has begun this restore, and its own record names target and instants"
        return MadeAgain(restore.encode_plan(StoredRestorePlan(tuple(infos), operation.target)), (why,))
    saved = [entry.time for entry in signs.timeline.savepoints() if entry.time < time]
    if not saved:
        raise Refused(
            f"{found.problem}, and no savepoint is on the timeline to which it could go back",
            hint=f"put {found.file.name} back from a backup",
            file=found.file.name,
        )
    target = find_commit(table, signs.timeline, saved[-1])
    removed = instants_after(table, signs.timeline, target, own_rule(table))
    # As hudictl's own restore lists them: a table service under both of its actions.
    pairs = ((entry.time, action) for entry in removed for action in (entry.action, *service_actions(entry)))
    plan = StoredRestorePlan(tuple(InstantInfo(*pair) for pair in dict.fromkeys(pairs)), target.time)
    guess = f"that it goes back to {target.time}: it is the newest savepoint, and `hudictl resume` goes on to it"
    return MadeAgain(restore.encode_plan(plan), (Way.TO_SAVEPOINT.value,), guessed=(guess,))
