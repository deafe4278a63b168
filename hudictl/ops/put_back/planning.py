"""The plan of an undo: what comes back, and whether the table is still as the operation has left it."""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from hudictl import workers
from hudictl.engine.base import values
from hudictl.errors import Refused, Unreadable
from hudictl.formats.instants import COMMIT_ACTIONS, SAVEPOINT, InstantFile, State, parse_instant_file, time_in_name
from hudictl.formats.layouts import META
from hudictl.ops.guards import liveness
from hudictl.ops.session import Kind, Session
from hudictl.ops.undo.untouched import logs_with_blocks
from hudictl.phrases import command_of, count_of
from hudictl.state.as_left import changes_metadata_table, is_as_left, lost, nothing_lost, on_timeline, own_plans
from hudictl.state.facts import Signs, read_facts, signs_of_damaged
from hudictl.state.pending import planned_as
from hudictl.state.writable import known_timeline, writable_table
from hudictl.storage import FileStatus
from hudictl.storage.keeping import versions_gone
from hudictl.table.kept import (
    Contents,
    Room,
    begun_undo,
    contents_of,
    of_metadata_table,
    read_room,
)
from hudictl.table.locks.config import LockConfig
from hudictl.table.operations import begun_plan, last_operation_on, operation_instants, read_operation
from hudictl.table.table import Table


@dataclass(frozen=True)
class UndoPlan:
    """An undo of the operation ``undoes``; the names in ``shown`` are those in JSON.

    ``of`` is what the operation was, ``targets`` of which instants. ``instants`` are those that readers see again,
    oldest first. ``files`` and ``bytes`` are of the data files that come back; ``files_removed`` were created by the
    operation, as its rollback blocks.
    """

    shown: ClassVar = (
        *("operation", "undoes", "of", "targets", "begun_at", "instants", "files", "bytes", "files_removed"),
        *("metadata_table", "lock"),
    )
    operation: ClassVar = Kind.UNDO.value

    room: Room
    contents: Contents
    instants: tuple[str, ...]
    files: int
    bytes: int
    files_removed: tuple[str, ...]
    lock: LockConfig

    @property
    def undoes(self) -> str:
        return self.room.times[0]

    @property
    def of(self) -> str:
        return self.room.operation

    @property
    def targets(self) -> tuple[str, ...]:
        return self.room.targets

    @property
    def pending_again(self) -> tuple[str, ...]:
        """What a rollback has removed and readers did not see before it."""
        names = [seen.path.rpartition("/")[2] for seen in self.room.before if not of_metadata_table(seen.path)]
        visible = {time_in_name(name) for name in names if name.rpartition(".")[2] in COMMIT_ACTIONS}
        targets = self.targets if self.of == Kind.ROLLBACK.value else ()
        return tuple(time for time in targets if time and time not in visible)

    @property
    def begun_at(self) -> str:
        return self.room.begun_at

    @property
    def metadata_table(self) -> bool:
        """Whether files of the metadata table come back."""
        return changes_metadata_table(self.room, self.contents)

    @property
    def summary(self) -> dict[str, object]:
        """The plan for the operation's record."""
        return {"instants": list(self.instants), "files": self.files, "bytes": self.bytes}


def plan_undo(session: Session, time: str, idle_ms: int) -> UndoPlan:
    """Plans the undo of an operation, or the rest of one that has begun. Changes nothing; every guard has passed.
    Raises Refused: nothing is kept of the operation, or the table was changed since; Conflict, Unsupported, Unreadable,
    StorageFailed, EngineFailed."""
    table = session.table
    writable_table(table, session.locking, time)
    room = required_room(table, time)
    contents = contents_of(table, room)
    signs, data = signs_of_damaged(table), data_of(contents.kept)
    check(session, signs, room, contents, idle_ms)
    nothing_in_the_way(session, room, data)
    no_version_gone(session, room, contents)
    to_be_back(session, signs, room, contents)
    return UndoPlan(
        room=room,
        contents=contents,
        instants=tuple(completed_again(table, contents)),
        files=sum(map(len, data.values())),
        bytes=sum(size for names in data.values() for size in names.values()),
        files_removed=tuple(sorted(path for path in contents.made if not path.startswith(f"{META}/"))),
        lock=session.lock,
    )


def undone_already(table: Table, time: str) -> str | None:
    """The undo of an operation, if it has ended and nothing is kept any more. Raises StorageFailed."""
    with suppress(Unreadable):
        if begun_undo(table) is None and read_room(table, time) is None:
            done = last_operation_on(table.storage, Kind.UNDO.value, time)
            found = read_operation(table.storage, done) if done is not None else None
            return done if found is not None and found.last.exit_code == 0 else None
    return None


def required_room(table: Table, time: str) -> Room:
    """The room of an operation. Raises Refused: there is none; Unreadable."""
    room = read_room(table, time)
    if room is None:
        hint = "`hudictl undo list` shows what can be undone: what was done with --keep-files"
        if begun_undo(table) == time:
            hint = f"its undo has begun, but its record is gone: `{command_of('undo drop', time)}` ends it"
        dropped = _dropped(table, time)
        since = f" any more: it was dropped by `undo drop` at {dropped}" if dropped else ""
        raise Refused(f"nothing is kept of an operation {time}{since}", hint=hint, undo=time)
    return room


def _dropped(table: Table, time: str) -> str | None:
    """When what was kept of an operation was dropped. Raises StorageFailed."""
    for later in reversed(operation_instants(table.storage)):
        with suppress(Unreadable):
            found = read_operation(table.storage, later) if later > time else None
            drops = found is not None and found.operation == Kind.UNDO_DROP.value and found.last.exit_code is not None
            if found and drops and any(entry.get("undo") == time for entry in found.plan.get("dropped", ())):
                return later
    return None


def check(session: Session, signs: Signs, room: Room, contents: Contents, idle_ms: int) -> None:
    """Raises Refused: the timeline or the metadata table is not as the operation has left it; Conflict: a writer may be
    at work, or a lock is held; Unsupported, Unreadable, StorageFailed."""
    table = session.table
    begun = begun_plan(read_operation(table.storage, room.times[0]))
    known_timeline(planned_as(table, begun.table_type_before), signs.timeline)
    liveness.no_lock_in_use(table, signs, session.locking)
    # A pending write is in the metadata table too, and may be running: what a drop has moved says nothing of that.
    paths = (path for path in (*contents.kept, *contents.made) if not of_metadata_table(path))
    touched = {time_in_name(path.rpartition("/")[2]) for path in paths}
    instants = signs.timeline.instants
    if begun_undo(table) is not None:
        # What is back has left the room; of these the operation has made sure, and their heartbeats are of before.
        touched |= {*room.targets, *(entry.time for entry in begun.instants)}
        instants = tuple(entry for entry in instants if entry.time not in touched)
    liveness.no_running_write(table, signs, instants, idle_ms, None, touched)
    is_as_left(table, signs.timeline, room, contents)


def data_of(kept: Mapping[str, FileStatus]) -> dict[str, dict[str, int]]:
    """The data files that come back: by partition, the names with their sizes in bytes."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for path, status in kept.items():
        if not path.startswith(f"{META}/"):
            partition, _, name = path.rpartition("/")
            found[partition][name] = status.size
    return dict(found)


def to_be_back(session: Session, signs: Signs, room: Room, contents: Contents) -> dict[str, dict[str, int]]:
    """The data files that must be in their place at the end: those that come back, and those that the operation has not
    come to delete. Of an undo that has begun, the first ones alone: it has recorded them.

    Raises Refused: another process has deleted some, or hidden rows; Unreadable, StorageFailed, EngineFailed."""
    table, data = session.table, data_of(contents.kept)
    if begun_undo(table) is not None:
        return data
    there = nothing_lost(table, signs.timeline, room, contents)
    plans = own_plans(table, signs.timeline, contents) if table.rules.needs_rollback_blocks else ()
    if plans:
        facts = read_facts(table, session.engine, signs, session.monitor.note, damaged_ok=True, profiles_ok=True)
        made = {path.rpartition("/")[2] for path in contents.made}
        foreign = sorted({*logs_with_blocks(facts, session.engine, plans)} - made)
        if foreign:
            raise lost(room, [f"rows in {log}, by a rollback block" for log in foreign])
    return {at: there.get(at, {}) | data.get(at, {}) for at in there.keys() | data.keys()}


def nothing_in_the_way(session: Session, room: Room, data: Mapping[str, Mapping[str, int]]) -> None:
    """What a repair has written in its place is none: ``check`` has looked at it.

    Raises Refused: a file with the name of one that comes back, and another size, has been written since; or its folder
    is behind a link. StorageFailed, EngineFailed."""
    storage = session.table.storage
    written = room.written or {}
    compare = partial(workers.compare_sizes, storage)
    found = values(session.engine.map("look for files in the way", compare, [*data.items()]), "look for files")
    other = (path for compared in found for path in compared.other)
    wrong = [path for path in other if path not in written or storage.behind_link(path.rpartition("/")[0])]
    if wrong:
        raise Refused(
            f"{count_of(len(wrong), 'file')} cannot come back, for example {wrong[0]}: there is another file of this "
            "name, or its folder is behind a link",
            hint="move it out of the table, then run the command again",
            files=wrong,
        )


def no_version_gone(session: Session, room: Room, contents: Contents) -> None:
    """Raises Refused: a rule of the bucket, or its owner, has deleted an old version that is to come back, or put it
    into an archive. StorageFailed, EngineFailed."""
    storage, all_of_them = session.table.storage, [*contents.versions.values()]
    size = storage.delete_batch
    batches = [all_of_them[start : start + size] for start in range(0, len(all_of_them), size)]
    look = partial(versions_gone, storage)
    found = values(session.engine.map("look for old versions", look, batches), "look for old versions")
    gone = [entry for entries in found for entry in entries]
    if gone:
        path, reason = gone[0]
        raise Refused(
            f"{count_of(len(gone), 'file')} cannot come back, for example {path}: {reason}",
            hint=f"nothing was changed; `{command_of('undo drop', room.times[0])}` forgets what was kept",
            files=[path for path, _ in gone],
        )


def completed_again(table: Table, contents: Contents) -> list[str]:
    """The times of the writes that readers see again, oldest first."""
    files = filter(None, (_instant_file(table, path) for path in contents.kept))
    return sorted(file.time for file in files if file.state is State.COMPLETED and file.action in COMMIT_ACTIONS)


def timeline_again(table: Table, contents: Contents) -> list[str]:
    """The paths of the timeline's files that come back: instant by instant, oldest first. Of a completed one this file
    comes first: a writer that cleans eagerly takes a pending commit for a failed write, and readers fail where two
    compactions of a file group are pending. Of a pending one the plan comes first: they look for it."""
    files = {path: _instant_file(table, path) for path in contents.kept if on_timeline(table, path)}
    done = {_whose(file) for file in files.values() if file is not None and file.state is State.COMPLETED}

    def place(path: str) -> tuple[str, bool, int]:
        # A file of an unknown kind is nothing to readers. A savepoint has its commit's time, and comes after it.
        file = files[path]
        return (*_whose(file), -file.state if _whose(file) in done else file.state) if file else ("", False, 0)

    return sorted(files, key=place)


def _whose(file: InstantFile) -> tuple[str, bool]:
    """A commit, or the savepoint on it; a compaction completes under another action."""
    return file.time, file.action == SAVEPOINT


def _instant_file(table: Table, path: str) -> InstantFile | None:
    return parse_instant_file(path.rpartition("/")[2], table.layout.version) if on_timeline(table, path) else None
