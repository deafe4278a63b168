"""Whether a table is still as an operation has left it that has kept its files: only then it can be undone."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import NoReturn

from hudictl.errors import Refused, Unreadable
from hudictl.formats import properties
from hudictl.formats.file_names import data_path, parse_data_file
from hudictl.formats.instants import RESTORE, SAVEPOINT, parse_instant_file, time_in_name
from hudictl.formats.layouts import META, PARTITION_KEYS, PROPERTIES, PROPERTIES_BACKUP
from hudictl.formats.limits import PROPERTIES_BYTES
from hudictl.formats.rollback import StoredRollbackPlan
from hudictl.phrases import command_of, count_of, first_few
from hudictl.storage import ODD, Folders, entries_of, read_whole
from hudictl.table.kept import (
    DROP_OPERATION,
    DROPPED,
    LOST,
    REPAIRS,
    UNDONE,
    Contents,
    Room,
    Seen,
    begun_undo,
    metadata_files,
    of_metadata_table,
    properties_files,
    read_kept,
    read_room,
    room_times,
    timeline_path,
)
from hudictl.table.operations import begun_plan, read_operation
from hudictl.table.table import TYPE, Table
from hudictl.table.timeline.active import Timeline, pending_rollbacks

_AT_ONCE = 16
_SIDECAR = ".crc"
"""The end of a name that no data file has: a sidecar alone does not stand for its file."""


def refusal(table: Table, timeline: Timeline, room: Room, contents: Contents) -> str | None:
    """Why an operation cannot be undone, or an undo that has begun cannot go on; None if it can, and no writer is at
    work. Raises Unreadable, StorageFailed."""
    try:
        is_as_left(table, timeline, room, contents)
        if begun_undo(table) != room.times[0]:
            nothing_lost(table, timeline, room, contents)
    except Refused as error:
        return error.message
    return None


def nothing_lost(table: Table, timeline: Timeline, room: Room, contents: Contents) -> dict[str, dict[str, int]]:
    """Before an undo begins: then files leave the room.

    Returns the data files that a restore or rollback was to delete, and has not: by partition, the names with their
    sizes in bytes. Raises Refused: the room has fewer files than the operation has deleted, or a repair changed, or
    another process has deleted some; Unreadable, StorageFailed.
    """
    if room.operation == DROP_OPERATION or room.end == UNDONE:
        # What a drop moves are no data files: ``is_as_left`` compares the metadata table with the one before.
        return {}
    deleted = changed = 0
    for time in room.times:
        operation = read_operation(table.storage, time)
        report = (operation.last.report if operation is not None else None) or {}
        deleted += int(report.get("files_deleted", 0))
        changed += sum(int(report.get(key, 0)) for key in ("files_set_aside", "files_written"))
        # Without a record it may have ended.
        changed += len(room.written or ()) if operation is None else 0
    data = sum(not path.startswith(f"{META}/") and not path.endswith(_SIDECAR) for path in contents.kept)
    for there, of, what in ((data, deleted, "deleted"), (len(contents.kept) + len(contents.made), changed, "changed")):
        if there < of:
            raise Refused(
                f"{room.folder} has {there:,} of {count_of(of, 'file')} that were {what}: not all can come back",
                hint="bring the others back into this folder, or free its space by "
                f"`{command_of('undo drop', room.times[0])}`",
            )
    in_place, gone = not_moved(table, timeline, contents)
    if gone:
        raise lost(room, gone)
    return in_place


def not_moved(table: Table, timeline: Timeline, contents: Contents) -> tuple[dict[str, dict[str, int]], list[str]]:
    """The data files in the plans of the operation's pending rollbacks that the room has not: those that are in their
    place, by partition, as names with sizes in bytes; and the paths of the others. A writer that cleans eagerly
    executes such a rollback before it fails (Hudi 0.15.0 to 1.2.0). Raises StorageFailed."""
    named: dict[str, set[str]] = defaultdict(set)
    for plan in own_plans(table, timeline, contents):
        for partition, name in plan.files:
            if data_path(partition, name) not in contents.kept:
                named[partition].add(name)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        listed = pool.map(partial(entries_of, table.storage), named)
    found = {
        at: {entry.name: entry.size for entry in entries if not entry.is_dir}
        for at, entries in zip(named, listed, strict=True)
    }
    there = {
        at: {name: found[at][name] for name in names & found[at].keys()}
        for at, names in named.items()
        if names & found[at].keys()
    }
    return there, sorted(data_path(at, name) for at, names in named.items() for name in names - found[at].keys())


def own_plans(table: Table, timeline: Timeline, contents: Contents) -> list[StoredRollbackPlan]:
    """The plans of the pending rollbacks that the operation has made. Raises StorageFailed."""
    made = {path.rpartition("/")[2] for path in contents.made if on_timeline(table, path)}
    return [plan for entry, plan in pending_rollbacks(table, timeline) if plan and made.issuperset(entry.names)]


def lost(room: Room, gone: Sequence[str] = ()) -> Refused:
    """The refusal where another process has deleted files before they were kept."""
    what = f"another process has deleted files of the {room.operation} {room.times[0]} before they were kept"
    return Refused(
        f"{what}{f', for example {gone[0]}' if gone else ''}: an undo cannot bring these back",
        hint=f"`{command_of('undo drop', room.times[0])}` frees the space of what was kept; if the {room.operation} is "
        "pending, `hudictl resume` first",
        files=[*gone],
    )


def is_as_left(table: Table, timeline: Timeline, room: Room, contents: Contents) -> None:
    """Raises Refused: timeline, metadata table or properties are not as the operation has left them, or the room has
    been dropped, if not to its end; the room has what the operation has not kept; Unreadable, StorageFailed."""
    if room.end == DROPPED:
        raise Refused(
            f"what was kept of the {room.operation} {room.times[0]} was dropped, and some of it may be gone",
            hint=f"`{command_of('undo drop', room.times[0])}` drops the rest",
            undo=room.times[0],
        )
    if room.end == LOST:
        raise lost(room)
    if begun_undo(table) is None:
        _is_newest(table, room)
    _no_strangers(table, room, contents)
    names, times = timeline.sizes.items(), timeline.modified_ms
    now = [Seen(timeline_path(table, name), size, times[name]) for name, size in names]
    before = [seen for seen in room.before if on_timeline(table, seen.path)]
    _same(table, room, _without_own_savepoint(timeline, room, contents), before, now, "the timeline")
    if changes_metadata_table(room, contents):
        before = [seen for seen in room.before if of_metadata_table(seen.path)]
        _same(table, room, contents, before, metadata_files(table), "the metadata table")
    before = [seen for seen in room.before if seen.path in (PROPERTIES, PROPERTIES_BACKUP)]
    _same(table, room, contents, before, properties_files(table), "the table")
    _as_written(table, room, contents)
    if PROPERTIES in contents.kept and PROPERTIES not in (room.written or {}):
        begun = begun_plan(read_operation(table.storage, room.times[0]))
        changes = {*PARTITION_KEYS}
        if begun.table_type_before is not None:
            changes.add(TYPE)
        old = _own_properties(lambda: read_kept(table, room, contents, PROPERTIES, PROPERTIES_BYTES), changes)
        new = _own_properties(lambda: read_whole(table.storage, PROPERTIES, PROPERTIES_BYTES), changes)
        changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
        if changed:
            _refuse_changed(room, changed, "has changed", PROPERTIES)


def _no_strangers(table: Table, room: Room, contents: Contents) -> None:
    """Raises Refused: somebody has put into the room what the operation has not kept, or cannot come back."""
    there = {seen.path for seen in room.before}
    for path, status in contents.kept.items():
        name, why = path.rpartition("/")[2], ""
        instant = on_timeline(table, path) and parse_instant_file(name, table.layout.version) is not None
        # A data file may be a link: then it was one.
        if status.size == ODD and (path.startswith(f"{META}/") or parse_data_file(name) is None):
            why = "is no regular file, but a link, a pipe or a device"
        elif instant and path not in there:
            raise Refused(
                f"the {room.operation} {room.times[0]} keeps {name}, which was not there when it began: an undo cannot "
                "bring the table to the state before, and a file that somebody has put there is not brought back",
                hint=f"`{command_of('undo drop', room.times[0])}` frees the space",
                file=path,
            )
        elif path != path.encode(errors="replace").decode():
            why = "is no UTF-8, and cannot stand in a record"
        if why:
            raise Refused(
                f"{room.folder} has {path}, which {why}",
                hint="find out who made it, and move it out of the room, then run the command again",
                file=path,
            )


def _is_newest(table: Table, room: Room) -> None:
    """Raises Refused: a later operation keeps its files, and would find the table changed."""
    for time in sorted(room_times(table), reverse=True):
        with suppress(Unreadable):
            found = read_room(table, time)
            later = found is not None and (found.begun_at, time) > (room.begun_at, room.times[0])
            if found is not None and later and not found.end:
                raise Refused(
                    f"the {found.operation} {time} is later than the {room.operation} {room.times[0]}: undo the "
                    f"{found.operation} {time} first",
                    hint=f"`{command_of('undo', time)}` first, then this one; if it is not to be undone any more, "
                    f"`{command_of('undo drop', time)}`",
                    undo=time,
                )


def _as_written(table: Table, room: Room, contents: Contents) -> None:
    """Raises Refused: a file is neither as a repair has left it, nor as it was before."""
    if room.written is None and room.operation in REPAIRS:
        raise Refused(
            f"the record of what is kept does not say what the {room.operation} {room.times[0]} has written",
            hint=f"bring the files in {room.folder} back by hand, then run `{command_of('undo drop', room.times[0])}`",
            undo=room.times[0],
        )
    written = room.written or {}
    for path in sorted(written.keys() & {*contents.kept, *contents.made}):
        found = table.storage.stat(path)
        if found is None:
            continue
        right = {written[path]}
        if path in contents.kept:
            try:
                kept = read_kept(table, room, contents, path, contents.kept[path].size)
            except FileNotFoundError:
                # This undo has put it back already.
                continue
            right.add(sha256(kept).hexdigest())
        if sha256(read_whole(table.storage, path, found.size)).hexdigest() not in right:
            _refuse_changed(room, [path.rpartition("/")[2]], "has changed", "the table")


def _without_own_savepoint(timeline: Timeline, room: Room, contents: Contents) -> Contents:
    """A restore that has ended has removed the savepoint that it made: one that is there is the operator's."""
    restore = timeline.find(room.times[0], RESTORE)
    if restore is None or not restore.completed:
        return contents
    made = (path for path in contents.made if f".{SAVEPOINT}" not in path.rpartition("/")[2])
    return replace(contents, made=frozenset(made))


def _own_properties(read: Callable[[], bytes], changes: Collection[str]) -> dict[str, str]:
    """Properties without those that the operation changes. Raises Unreadable."""
    try:
        found = properties.decode(read())
    except (FileNotFoundError, ValueError) as error:
        raise Unreadable(f"{PROPERTIES}, as it is or was, cannot be read: {error}", file=PROPERTIES) from error
    return {key: value for key, value in found.items() if key not in changes}


def _same(table: Table, room: Room, contents: Contents, seen: Iterable[Seen], found: Iterable[Seen], what: str) -> None:
    """Raises Refused: there are other files than the operation has left, or fewer, or changed ones: a value may have
    been changed for one of the same length."""
    keeps_times = isinstance(table.storage, Folders) and not room.versions
    before, now = ({each.path: (each.size, each.modified_ms * keeps_times) for each in some} for some in (seen, found))
    come = sorted(now.keys() - before.keys() - contents.made)
    gone = sorted(before.keys() - now.keys() - contents.kept.keys())
    changed = sorted(path for path in before.keys() & now.keys() - contents.kept.keys() if before[path] != now[path])
    savepoints = () if gone or changed or any(f".{SAVEPOINT}" not in path for path in come) else come
    for paths, verb in ((come, "has come"), (gone, "is gone"), (changed, "has changed")):
        if paths:
            _refuse_changed(room, [path.rpartition("/")[2] for path in paths], verb, what, savepoints)


def _refuse_changed(
    room: Room, names: Sequence[str], verb: str, what: str, savepoints: Collection[str] = ()
) -> NoReturn:
    """``savepoints``: the files of savepoints, where nothing else has changed."""
    back = "an undo would make these changes wrong"
    if savepoints:
        times = sorted({time_in_name(path.rpartition("/")[2]) for path in savepoints})
        deletions = ", ".join(f"`{command_of('savepoint delete', time)}`" for time in times)
        back = f"{deletions} first, then `{command_of('undo', room.times[0])}` again"
    verb = verb if len(names) == 1 else verb.replace("has ", "have ").replace("is ", "are ")
    raise Refused(
        f"{what} has changed since the {room.operation} {room.times[0]}: {first_few(names)} {verb}",
        hint=f"{back}; `{command_of('undo drop', room.times[0])}` frees the space of what was kept",
        changes=list(names),
    )


def on_timeline(table: Table, path: str) -> bool:
    """Whether a file is on the timeline, which may be in the folder of the properties."""
    return path.rpartition("/")[0] == table.layout.timeline and path not in (PROPERTIES, PROPERTIES_BACKUP)


def changes_metadata_table(room: Room, contents: Contents) -> bool:
    """Whether files of the metadata table come back, or go. A drop has moved some, also if none of them is there."""
    return room.operation == DROP_OPERATION or any(map(of_metadata_table, (*contents.kept, *contents.made)))
