"""Dropping what operations have kept: then they cannot be undone."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from functools import partial
from typing import ClassVar

from hudictl.errors import Conflict, Findings, Refused, Unreadable
from hudictl.formats.instants import RESTORE, ROLLBACK
from hudictl.ops.guards import liveness
from hudictl.ops.put_back.begun import bring_aside_back, let_writers_in
from hudictl.ops.put_back.planning import required_room
from hudictl.ops.session import Begun, Kind, Session, changing
from hudictl.phrases import command_of, first_few
from hudictl.state.facts import Signs, read_signs
from hudictl.state.writable import writable_kind
from hudictl.table.kept import Room, begun_undo, contents_of, drop_room, read_room, room_times
from hudictl.table.locks.config import LockConfig
from hudictl.table.operations import is_recorded
from hudictl.table.table import Table


@dataclass(frozen=True)
class Dropped:
    """What is kept of one operation. ``bytes`` are freed; ``versions`` of the files are old versions of a bucket, which
    keeps them as its rules say."""

    undo: str
    operation: str
    begun_at: str
    files: int
    bytes: int
    versions: int = 0


@dataclass(frozen=True)
class UndoDrop:
    """What to drop; the names in ``shown`` are those in JSON. ``pending`` are operations that have not ended, or whose
    undo has not, and whose files stay. ``older_than_ms``: the age that was asked for; of the command line, or of the
    profile. ``unreadable``: operations that stay, as their records are damaged or gone, and their age is not known."""

    shown: ClassVar = ("operation", "older_than_ms", "dropped", "pending", "unreadable", "lock")
    operation: ClassVar = Kind.UNDO_DROP.value

    dropped: tuple[Dropped, ...]
    pending: tuple[str, ...]
    lock: LockConfig
    older_than_ms: int | None = None
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True)
class UndoDropped:
    """What was dropped."""

    dropped: tuple[Dropped, ...]


def plan_drop(session: Session, times: Sequence[str], older_than_ms: int | None) -> UndoDrop:
    """Plans to drop what some operations have kept, or all that began before an age. Of an undo that has begun, only
    what is named.

    Raises:
        Refused: there was no such operation, or it is pending; it was chosen by its age, and its undo has begun since.
        Findings: by age there is nothing to drop, but there are unreadable ones.
        Conflict, Unsupported, Unreadable, StorageFailed.
    """
    table = session.table
    begun = begun_undo(table)
    writable_kind(table, session.locking)
    signs = read_signs(table)
    liveness.no_lock_in_use(table, signs, session.locking)
    found: list[Dropped] = []
    pending: list[str] = []
    unreadable: list[str] = []
    for time in dict.fromkeys(times) or [*room_times(table)]:
        if times:
            room = _named(table, time, begun)
        elif (room := _readable(table, time)) is None:
            unreadable.append(time)
        if room is None or (older_than_ms is not None and _age_ms(room.begun_at, signs) < older_than_ms):
            continue
        # One of which the undo has begun, and cannot end, must have a way out: it is finished instead. That is for the
        # operator to say: an age does not know whether the undo can end.
        by_age, is_pending = older_than_ms is not None, any(_is_pending(signs, own) for own in room.times)
        if by_age if time == begun else is_pending:
            pending.append(time)
            continue
        contents = contents_of(table, room)
        freed = sum(status.size for path, status in contents.kept.items() if path not in contents.versions)
        files, versions = len(contents.kept), len(contents.versions)
        found.append(Dropped(time, room.operation, room.begun_at, files, freed, versions))
    if times and pending:
        undo = f"`{command_of('undo', pending[0])}`"
        what, hint = f"the operation {pending[0]} is pending", f"`hudictl resume` finishes it; {undo} takes it back"
        if pending[0] == begun:
            what, hint = f"the undo of {begun} has begun", f"{undo} finishes it"
        raise Refused(f"{what}: what it keeps is still needed", hint=hint, undo=pending[0])
    if not found:
        _tell(unreadable)
    return UndoDrop(tuple(found), tuple(pending), session.lock, older_than_ms, tuple(unreadable))


def execute_drop(session: Session, plan: UndoDrop) -> UndoDropped:
    """Deletes what the plan names. Of an undo that has begun, first comes back what hides instants, and the undo has
    taken out of the table. Raises Conflict: it has changed since planning; Findings: done, but some are unreadable;
    StorageFailed, Interrupted."""

    def work(run: Begun[None]) -> UndoDropped:
        for entry in plan.dropped:
            session.monitor.step(f"drop what was kept of {entry.undo}")
            run.held.check()
            # Of an undo that has begun.
            bring_aside_back(session.table, entry.undo)
            let_writers_in(session.table, entry.undo)
            drop_room(session.table, entry.undo)
        return UndoDropped(plan.dropped)

    look, record = partial(_look_again, session, plan), {"dropped": [asdict(entry) for entry in plan.dropped]}
    target = ", ".join(entry.undo for entry in plan.dropped)
    done = changing(session, Kind.UNDO_DROP, target, record, look=look, work=work)
    _tell(plan.unreadable, done)
    return done


def _tell(unreadable: Sequence[str], report: UndoDropped | None = None) -> None:
    """Raises Findings: they stay."""
    if unreadable:
        raise Findings(
            f"what is kept of {first_few(unreadable, rest=' and {:,} more')} stays: its record is damaged or gone, and "
            "its age is not known",
            hint=f"`{command_of('undo drop', unreadable[0])}` frees all that it keeps",
            report=report,
            instants=[*unreadable],
        )


def _readable(table: Table, time: str) -> Room | None:
    """None: its record is damaged or gone. Raises StorageFailed."""
    with suppress(Unreadable):
        return read_room(table, time)
    return None


def _look_again(session: Session, plan: UndoDrop) -> None:
    if plan_drop(session, [entry.undo for entry in plan.dropped], plan.older_than_ms).dropped != plan.dropped:
        raise Conflict("what is kept has changed since planning", hint="run the command again")


def _named(table: Table, time: str, begun: str | None) -> Room | None:
    """The room of an operation that was named; None if nothing is kept of it any more; an empty one where its record is
    damaged or missing: there must be a way out. Raises Refused: there was no such operation; StorageFailed."""
    room = _readable(table, time)
    if room is not None:
        return room
    if time != begun and time not in room_times(table):
        return None if is_recorded(table.storage, time) else required_room(table, time)
    return Room((time,), "unknown operation", (), "", ())


def _is_pending(signs: Signs, time: str) -> bool:
    own = signs.timeline.find(time, RESTORE, ROLLBACK)
    return own is not None and own.pending


def _age_ms(begun_at: str, signs: Signs) -> int:
    begun = datetime.fromisoformat(begun_at)
    begun = begun if begun.tzinfo else begun.replace(tzinfo=timezone.utc)
    return signs.now_ms - int(begun.timestamp() * 1000)
