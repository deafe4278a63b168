"""The tools of an operation, and the only way in which it changes a table: hold, look again, record."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Generic, Protocol, TypeVar

from hudictl.engine.base import Engine, values
from hudictl.errors import EngineFailed, Findings, HudictlError, Interrupted, StorageFailed, Unreadable
from hudictl.fence import Fenced
from hudictl.formats.instants import RESTORE, ROLLBACK
from hudictl.phrases import command_of
from hudictl.state.facts import Signs, read_signs
from hudictl.state.pending import is_asked_for
from hudictl.state.timeline.unfinished import no_writer, rollback_unfinished, way_out_of_restore, way_out_of_rollback
from hudictl.state.writable import known_timeline, writable_table
from hudictl.storage.keeping import Keeping
from hudictl.table.archive_lost import ARCHIVE_REPAIR
from hudictl.table.kept import DROP_OPERATION, UNDO_OPERATION, Room, keeping, new_room, read_room, room_of
from hudictl.table.locks.config import LockConfig, Locking, lock_config
from hudictl.table.locks.hold import Contend, Hold, hold
from hudictl.table.operations import SERVICE_REMOVE, Operation, recorded_all
from hudictl.table.probe import probe_delete
from hudictl.table.table import Table
from hudictl.table.timeline.active import instant_now


class Kind(Enum):
    """The kinds of operations; the value is shown in plans, records and messages."""

    RESTORE = "restore"
    ROLLBACK = "rollback"
    SAVEPOINT_CREATE = "savepoint create"
    SAVEPOINT_DELETE = "savepoint delete"
    SAVEPOINT_PRUNE = "savepoint prune"
    ORPHANS_DELETE = "orphans delete"
    METADATA_DROP = DROP_OPERATION
    HEARTBEAT_DELETE = "heartbeat delete"
    MARKER_DELETE = "marker delete"
    WITHDRAW_RESTORE = "withdraw restore"
    REMOVE_LEFTOVERS = "remove leftovers"
    DISCARD_ROLLBACKS = "discard rollbacks"
    SERVICE_REMOVE = SERVICE_REMOVE
    LOCK_BREAK = "lock break"
    SET_PROPERTY = "table set-property"
    PARTITION_REPAIR = "partition repair"
    ARCHIVE_REPAIR = ARCHIVE_REPAIR
    PROPERTIES_REPAIR = "table repair-properties"
    QUARANTINE = "timeline quarantine"
    UNSCHEDULE = "compaction unschedule"
    PRUNE = "clustering prune"
    UNDO = UNDO_OPERATION
    UNDO_DROP = "undo drop"
    COPY = "copy"


_PENDING = {Kind.RESTORE: RESTORE, Kind.ROLLBACK: ROLLBACK}
"""The kinds that have a pending instant on the timeline while they run, with its action."""
_AGAIN = "fix the cause, then run the same command again"


class Monitor(Protocol):
    """Called between steps, never inside one."""

    def step(self, name: str) -> None:
        """A step begins. Raises Interrupted if the operator has asked to stop."""

    def check(self) -> None:
        """Called while waiting. Raises Interrupted if the operator has asked to stop."""

    def counter(self, total: int) -> Callable[[float], None] | None:
        """What is told which share of the step is done, of ``total`` things; None where nobody is told."""

    def note(self, text: str) -> None:
        """A line for a later analysis: what was read or written."""


_WATCH_SECONDS = 10.0
"""How often the locks are looked at while the engine changes files."""


class NothingLeft(Exception):
    """Raised by a second look that finds nothing left to do: nothing is changed, and nothing is recorded."""


class Silent:
    """Shows nothing and never stops."""

    def step(self, name: str) -> None:
        return None

    def check(self) -> None:
        return None

    def counter(self, total: int) -> Callable[[float], None] | None:
        return None

    def note(self, text: str) -> None:
        return None


@dataclass(frozen=True)
class Session:
    """One command that works on a table.

    ``engine`` lists and deletes data files. ``command`` is the command line: it is stored in the record, the claim and
    the lock. ``locking`` are the operator's options about the writers' locks; ``contend`` makes a contender for one.
    ``timezone`` is the zone that the operator has specified; a saved plan keeps it. ``secrets`` must not get into the
    record.
    """

    table: Table
    engine: Engine
    monitor: Monitor
    command: str
    locking: Locking
    contend: Contend
    timezone: str | None = None
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def lock(self) -> LockConfig:
        """The lock of the table's writers. Raises UsageError: a setting is missing or invalid."""
        return lock_config(self.table, self.locking)


def writable_signs(session: Session) -> Signs:
    """The signs of a table that hudictl can change. Raises as ``writable_table`` and ``known_timeline``."""
    writable_table(session.table, session.locking)
    signs = read_signs(session.table)
    known_timeline(session.table, signs.timeline)
    return signs


AnyRun = TypeVar("AnyRun")
Report = TypeVar("Report")
Found = TypeVar("Found")
Task = TypeVar("Task")
Value = TypeVar("Value")


@dataclass(frozen=True)
class Begun(Generic[Found]):
    """An operation of one step that may begin: its hold on the table, its time, and the result of the second look."""

    held: Hold
    time: str
    found: Found


def changing(
    session: Session,
    kind: Kind,
    target: str,
    plan: Mapping[str, object],
    *,
    look: Callable[[], Found],
    work: Callable[[Begun[Found]], Report],
) -> Report:
    """``changing_all`` for one operation of one step.

    Args:
        target: the target in the record.
        plan: the plan in the record.
        work: changes the table; returns a dataclass, which the record keeps.
    """

    def begin(held: Hold) -> tuple[Begun[Found], Sequence[str]]:
        found = look()
        run = Begun(held, instant_now(session.table), found)
        return run, (run.time,)

    (report,) = changing_all(session, kind, ((target, plan),), look=begin, work=lambda run: (work(run),))
    return report


def changing_all(
    session: Session,
    kind: Kind,
    plans: Sequence[tuple[str, Mapping[str, object]]],
    *,
    look: Callable[[Hold], tuple[AnyRun, Sequence[str]]],
    work: Callable[[AnyRun], Sequence[Report]],
) -> Sequence[Report]:
    """Holds the table, looks again, then works between two writes of each operation's record. All but the creation of a
    savepoint delete files: an account that may not begins none.

    Args:
        plans: of each operation its target and its plan in the record.
        look: runs every guard again, now that no other hudictl can act in between; also returns the times of the
            operations, by which the records are named.
        work: changes the table; returns a dataclass for each operation, which its record keeps.

    Raises:
        Conflict: another process works on the table; everything that ``look`` and ``work`` raise.
        Unsupported, UsageError, Refused, StorageFailed, Interrupted.
    """
    with hold(session.table, session.command, session.monitor, session.locking, session.contend) as held:
        session.monitor.step("check again")
        run, times = look(held)
        if kind is not Kind.SAVEPOINT_CREATE:
            probe_delete(session.table.storage)
        named = zip(times, plans, strict=True)
        operations = [Operation(time, kind.value, target, plan) for time, (target, plan) in named]
        try:
            storage = session.table.storage
            return recorded_all(storage, operations, session.command, lambda: work(run), session.secrets)
        except (StorageFailed, EngineFailed, Interrupted) as error:
            left = _left(session.table, kind, times[0], error.hint, interrupted=isinstance(error, Interrupted))
            raise type(error)(error.message, hint=left, **error.fields) from error
        except KeyboardInterrupt:
            left = _left(session.table, kind, times[0], _AGAIN, interrupted=True)
            raise Interrupted("interrupted", hint=left) from None


def keeping_files(
    session: Session,
    kind: Kind,
    times: Sequence[str],
    targets: Sequence[str],
    *,
    asked: bool,
    resumes: bool = False,
    written: Mapping[str, str] | None = None,
) -> Session:
    """The session, with a table that keeps what is deleted and replaced, for ``undo``. Before the operation's first
    change.

    Args:
        asked: files are to be kept; not if hudictl has begun the operation without.
        resumes: the operation has begun before: it goes on to keep files if it did.
        written: of a repair, see ``Room``.

    Raises Unreadable, StorageFailed.
    """
    if not (asked or resumes):
        return session
    table = session.table
    found = room_of if kind is Kind.ROLLBACK else read_room
    room = found(table, times[0]) if resumes else None
    if room is None and asked:
        room = new_room(table, times, kind.value, targets, written)
    return session if room is None else replace(session, table=keeping(table, room))


def kept_room(session: Session) -> Room | None:
    """The room of an operation that keeps what it deletes; None if its record is gone. Raises StorageFailed."""
    storage = session.table.storage
    with suppress(Unreadable):
        return read_room(session.table, storage.room.rpartition("/")[2]) if isinstance(storage, Keeping) else None
    return None


def kept_for(session: Session) -> str | None:
    """The operation under which what is deleted is kept; None if not all of it is. Raises StorageFailed."""
    room = kept_room(session)
    return room.times[0] if room is not None and not room.end else None


def all_kept(session: Session, report: object) -> None:
    """After the end. Raises Findings: the operation is done, but cannot be undone, though it was to keep its files."""
    storage = session.table.storage
    if isinstance(storage, Keeping) and kept_for(session) is None:
        time = storage.room.rpartition("/")[2]
        raise Findings(
            "done, but it cannot be undone: another process has executed one of its rollbacks, or deleted files "
            "before they were kept",
            hint=f"stop all writers; `{command_of('undo drop', time)}` frees the space of what was kept",
            report=report,
        )


def change_on_engine(
    session: Session,
    held: Hold,
    label: str,
    function: Callable[[Task], Value],
    tasks: Sequence[Task],
    total: int | None = None,
) -> list[Value]:
    """Applies a function that changes files to each task on the engine, while the table is held: no task begins once
    another process has taken over, or this one has ended.

    Args:
        total: how many things the progress counts; None: it is not shown.

    Raises:
        Conflict: the table is not held any more.
        StorageFailed, EngineFailed.
    """
    shown = session.monitor.counter(total) if total is not None else None
    looked = time.monotonic()

    def progress(share: float) -> None:
        nonlocal looked
        if time.monotonic() - looked >= _WATCH_SECONDS:
            held.check()
            looked = time.monotonic()
        if shown is not None:
            shown(share)

    try:
        return values(session.engine.map(label, Fenced(held.claim.fence, function), tasks, progress), label)
    except (StorageFailed, EngineFailed):
        # What no task could do any more, another process may be doing.
        held.check()
        raise


def _left(table: Table, kind: Kind, time: str, hint: str, *, interrupted: bool = False) -> str:
    """The hint after a failure or an interruption: what is pending, and how to continue. Only restores and rollbacks
    leave a pending instant; other operations are run again."""
    if kind not in _PENDING:
        return hint
    try:
        signs = read_signs(table)
        rollbacks = [entry for entry in signs.live_rollbacks if entry.instant.time == time]
        restores = [entry for entry in signs.restores if entry.instant.time == time]
        ways = [way_out_of_rollback(table, signs, entry) for entry in rollbacks]
        ways += [way_out_of_restore(table, entry) for entry in restores]
        hidden = any(not entry.visible and is_asked_for(table, entry.instant) for entry in rollbacks)
        back = hidden and room_of(table, time) is not None
    except HudictlError:
        return f"`hudictl table show` shows whether the {kind.value} {time} is pending; the timeline cannot be read now"
    found = signs.timeline.find(time, _PENDING[kind])
    if found is None:
        return "nothing was changed"
    if found.completed:
        return f"the {kind.value} {time} is completed; `hudictl check` shows whether anything is left of it"
    writers = "no writer can start"
    if kind is Kind.ROLLBACK:
        told = [rollback_unfinished(table, signs, entry, 0) for entry in rollbacks]
        stopped = [entry for entry in told if not entry.writers_can_start]
        writers = no_writer(eager_only=stopped[0].eager_only) if stopped else "the next writer may finish it"
        if hidden:
            writers += f", and readers do not see its commit any more{'' if back else ': there is no way back'}"
    # Who has interrupted it may want to go back: the same command goes on to delete files.
    ways = ways if interrupted and ways else [_AGAIN, *ways]
    return f"the {kind.value} {time} is still pending: {writers}; {'; or '.join(ways)}"
