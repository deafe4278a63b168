"""What an operation keeps, so that ``hudictl undo`` can put it back: its room below ``.hoodie/.hudictl/undo``.

The room has the files that were deleted or replaced, and notes those that were created (``storage.keeping``). Its
record has the state of timeline, properties and metadata table at the beginning, by which an undo is verified.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta, timezone
from itertools import count, islice

from hudictl.errors import Refused, Unreadable, Unsupported
from hudictl.formats.decode import decode
from hudictl.formats.json_values import parse_json
from hudictl.formats.layouts import META, METADATA_TABLE, OWN, PROPERTIES, PROPERTIES_BACKUP, UNDO
from hudictl.formats.limits import RECORD_BYTES
from hudictl.phrases import command_of
from hudictl.storage import (
    FileStatus,
    FileVersion,
    KeepsVersions,
    Versions,
    delete_all,
    entries_of,
    files_below,
    read_whole,
)
from hudictl.storage.keeping import (
    Keeping,
    drop_contents,
    file_of,
    kept_files,
    kept_path,
    made_files,
    made_path,
    versions_folder,
    without_sidecars,
)
from hudictl.table.metadata.place import metadata_table_files
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline

_RECORD = ".json"
_BEGUN = ".begun"
_BACK = "back"
"""Below a room: lists of the data files that an undo that has begun brings back."""
_PIECE = 10_000
_NAME = re.compile(r"\d+\Z", re.ASCII)
_VERSION = 1
_AT_ONCE = 16
UNDO_OPERATION = "undo"
"""The kind of operation that puts back what another one has kept."""
DROP_OPERATION = "metadata drop"
"""The kind of operation that keeps the metadata table, and nothing else."""
REPAIRS = (
    *("partition repair", "archive repair", "table repair-properties", "timeline quarantine"),
    *("compaction unschedule", "clustering prune"),
)
"""The kinds of operations that change single files, and know what they write."""
DROPPED = "dropped"
"""How a room ends from which files were deleted for good."""
UNDONE = "undone"
"""How a room ends of which all is back."""
LOST = "lost"
"""How a room ends of an operation of which another process has deleted files first: they are not in it."""


@dataclass(frozen=True)
class Seen:
    """A file as it was found: size in bytes, modification time in epoch milliseconds."""

    path: str
    size: int
    modified_ms: int


@dataclass(frozen=True)
class Room:
    """What is kept of one operation, or of rollbacks that ran together: ``times`` are their instants, the first is the
    room's name. ``begun_at`` is UTC, in ISO 8601. ``before`` are timeline, properties and metadata table as they
    were. ``versions``: files stay where they were, as old versions of a bucket; after ``days`` one of its rules deletes
    them, None if none is known to. ``end``: ``LOST``, or ``DROPPED`` or ``UNDONE`` once its deletion has begun.
    ``written``: of a repair, by path the SHA-256 of each file that it writes, "" of each that it only sets aside."""

    times: tuple[str, ...]
    operation: str
    targets: tuple[str, ...]
    begun_at: str
    before: tuple[Seen, ...]
    versions: bool = False
    days: int | None = None
    end: str = ""
    written: Mapping[str, str] | None = None

    @property
    def folder(self) -> str:
        return room_folder(self.times[0])


@dataclass(frozen=True)
class Contents:
    """The files of a room, by the paths that they were at, and the paths of files that were created. ``versions`` are
    those of the files that stay where they were. ``sidecars``: the paths of those that were there without the file, and
    of which the file was created."""

    kept: dict[str, FileStatus]
    made: frozenset[str]
    versions: Mapping[str, FileVersion] = field(default_factory=dict)
    sidecars: tuple[str, ...] = ()


def timeline_path(table: Table, name: str) -> str:
    """The path of a file on the timeline."""
    return f"{table.layout.timeline}/{name}"


def room_folder(time: str) -> str:
    """The path of an operation's room."""
    return f"{UNDO}/{time}"


def keeping(table: Table, room: Room) -> Table:
    """The table, with a storage that keeps in this room what is deleted. Raises Unsupported."""
    versions = versions_in(table) if room.versions else None
    return replace(table, storage=Keeping(table.storage, room.folder, OWN, versions=versions))


def versions_in(table: Table) -> Versions:
    """The table's storage, as one that keeps versions. Raises Unsupported: it is another one."""
    if not isinstance(table.storage, Versions):
        raise Unsupported("what is kept are old versions of a bucket, and this table is no longer in one")
    return table.storage


def keeps_versions(table: Table) -> KeepsVersions | None:
    """What the table's bucket makes of the versions of deleted files; None where there are none. Raises
    StorageFailed."""
    return table.storage.keeps_versions(PROPERTIES) if isinstance(table.storage, Versions) else None


def new_room(
    table: Table,
    times: Sequence[str],
    operation: str,
    targets: Sequence[str],
    written: Mapping[str, str] | None = None,
) -> Room:
    """Makes a room for an operation that begins. Raises Unreadable, StorageFailed."""
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    found = keeps_versions(table)
    versions = found is not None and found.why_not is None
    days = found.days if found is not None else None
    room = Room(tuple(times), operation, tuple(targets), now, state_of(table), versions, days, written=written)
    table.storage.create(f"{room.folder}{_RECORD}", _encode(room))
    return room


def _encode(room: Room) -> bytes:
    return json.dumps({"version": _VERSION, **asdict(room)}).encode()


def state_of(table: Table) -> tuple[Seen, ...]:
    """Timeline, properties and metadata table as they are now, by path. Raises Unreadable, StorageFailed."""
    timeline = load_timeline(table)
    seen = [Seen(timeline_path(table, name), size, timeline.modified_ms[name]) for name, size in timeline.sizes.items()]
    seen += (*metadata_files(table), *properties_files(table))
    return tuple(sorted(seen, key=lambda entry: entry.path))


def properties_files(table: Table) -> list[Seen]:
    """The files of the properties as they are now. Raises StorageFailed."""
    found = ((path, table.storage.stat(path)) for path in (PROPERTIES, PROPERTIES_BACKUP))
    return [Seen(path, status.size, status.modified_ms) for path, status in found if status is not None]


def metadata_files(table: Table) -> list[Seen]:
    """The files of the metadata table as they are now. Raises StorageFailed."""
    found = without_sidecars(metadata_table_files(table))
    return [Seen(path, size, modified_ms) for path, (size, modified_ms) in found.items()]


def expires_at(room: Room) -> str | None:
    """When a rule of the bucket may delete the first of the old versions: UTC, in ISO 8601; None if none is known."""
    begun = datetime.fromisoformat(room.begun_at)
    return None if room.days is None else (begun + timedelta(days=room.days)).isoformat(timespec="minutes")


def read_room(table: Table, time: str) -> Room | None:
    """The record of a room; None if nothing is kept of this operation. Raises Unreadable, StorageFailed."""
    if _NAME.match(time) is None:
        return None
    path = f"{room_folder(time)}{_RECORD}"
    try:
        value = parse_json(read_whole(table.storage, path, RECORD_BYTES))
        version = value.pop("version")
        room = decode(Room, value)
        if version != _VERSION or room.times[:1] != (time,) or not all(map(_NAME.match, room.times)):
            raise ValueError(f"version {version}, instants {', '.join(room.times)}")
        # Raises for what is no date: one such record must not hide the others.
        expires_at(room)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        hint = (
            f"`{command_of('undo drop', time)}` frees all that it keeps, and ends its undo, if one has begun; if "
            f"{time} is pending, move this file out of the table first, and `hudictl resume` finishes it"
        )
        raise Unreadable(f"{path} is damaged: {error}", hint=hint, file=path) from error
    return room


def room_of(table: Table, time: str) -> Room | None:
    """The room of a rollback, which those that ran together share; None if nothing is kept of it. Raises Unreadable: a
    room that may be this one has a damaged record; StorageFailed."""
    own = read_room(table, time)
    if own is not None:
        return own
    # Its name is the time of the first of them.
    earlier = sorted((name for name in room_times(table) if name < time), reverse=True)
    rooms = (read_room(table, name) for name in earlier)
    return next((room for room in rooms if room is not None and time in room.times), None)


def refuse_keeping_late(table: Table, begun: Iterable[str], *, asked: bool, way: str = "") -> None:
    """Raises Refused: an operation that has begun without a room is to keep its files; ``way``: what may still take it
    back. Unreadable."""
    late = [time for time in begun if room_of(table, time) is None] if asked else []
    if late:
        raise Refused(
            f"{late[0]} was begun without --keep-files, and may have deleted some files: not all can be kept",
            hint=f"{way}run the command with --delete-files",
        )


def room_times(table: Table) -> Iterator[str]:
    """The times of the rooms, oldest first; also of those whose record is gone. Raises StorageFailed."""
    names = {each.name.removesuffix(_RECORD): each for each in entries_of(table.storage, UNDO)}
    return (name for name, each in sorted(names.items()) if _NAME.match(name) and (each.is_dir or name != each.name))


def contents_of(table: Table, room: Room) -> Contents:
    """What a room has. Raises Unreadable: a file that no operation keeps; StorageFailed."""
    known = _versions(table, room) if room.versions else {}
    versions = {path: each for path, each in known.items() if each.version}
    kept = kept_files(table.storage, room.folder, versions=room.versions)
    kept |= {path: FileStatus(path, False, each.size, each.modified_ms) for path, each in versions.items()}
    made = made_files(table.storage, room.folder) - known.keys()
    alone = tuple(path for path in kept if file_of(path) in made)
    found = Contents({path: kept[path] for path in kept if path not in alone}, made, versions, alone)
    for path in (*kept, *made):
        if path.startswith(f"{OWN}/"):
            raise Unreadable(f"{room.folder} has {path}, which is hudictl's own", hint="move it out of the room")
    return found


def _versions(table: Table, room: Room) -> dict[str, FileVersion]:
    """The versions that a room has recorded, by path. Raises Unreadable, StorageFailed."""
    storage, folder = table.storage, versions_folder(room.folder)
    records = [f"{folder}/{name}" for name, _ in files_below(storage, folder)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        bodies = list(pool.map(lambda record: read_whole(storage, record, RECORD_BYTES), records))
    found: dict[str, FileVersion] = {}
    for record, body in zip(records, bodies, strict=True):
        try:
            for path, version, size, modified_ms, tag in parse_json(body):
                each = FileVersion(str(path), str(version), int(size), int(modified_ms), str(tag))
                # Two are of one path only if another program has written it meanwhile.
                if path not in found or modified_ms < found[path].modified_ms:
                    found[path] = each
        except (ValueError, TypeError) as error:
            raise Unreadable(f"{record} is damaged: {error}", hint="move it out of the table", file=record) from error
    return found


def read_kept(table: Table, room: Room, contents: Contents, path: str, most_bytes: int) -> bytes:
    """The bytes of a kept file. Raises FileNotFoundError, Unsupported, StorageFailed."""
    version = contents.versions.get(path)
    if version is None:
        return read_whole(table.storage, kept_path(room.folder, path), most_bytes)
    return versions_in(table).read_version_of(version, most_bytes)


def of_metadata_table(path: str) -> bool:
    """Whether a file is the metadata table's."""
    return path.startswith(f"{METADATA_TABLE}/")


def begun_undo(table: Table) -> str | None:
    """The operation of which an undo has begun and not ended. Raises StorageFailed."""
    return next(_times(table, _BEGUN), None)


def can_go_on(table: Table, undo: str) -> bool:
    """Whether the record of an undo that has begun can be read; otherwise only ``undo drop`` ends it. Raises
    StorageFailed."""
    try:
        return read_room(table, undo) is not None
    except Unreadable:
        return False


def _times(table: Table, end: str) -> Iterator[str]:
    times = (
        name.removesuffix(end)
        for name in (entry.name for entry in entries_of(table.storage, UNDO))
        if name.endswith(end)
    )
    return (time for time in times if _NAME.match(time))


def begin_undo(table: Table, room: Room, data: Mapping[str, Mapping[str, int]]) -> None:
    """From here on, only this undo may go on. The data files that it brings back are recorded before that, in pieces:
    by partition, with their sizes in bytes. Raises StorageFailed."""
    if begun_undo(table) is not None:
        return
    folder, files = f"{room.folder}/{_BACK}", ((at, name, size) for at in data for name, size in data[at].items())
    # The operation may have gone on since an attempt that did not come to its beginning.
    table.storage.delete_folder(folder)
    for number in count():
        piece = [*islice(files, _PIECE)]
        if not piece:
            break
        table.storage.create(f"{folder}/{number}", json.dumps(piece).encode())
    with suppress(FileExistsError):
        table.storage.create(f"{room.folder}{_BEGUN}", b"")


def to_come_back(table: Table, room: Room) -> dict[str, dict[str, int]]:
    """What ``begin_undo`` has recorded; earlier releases record nothing. Raises Unreadable, StorageFailed."""
    found: dict[str, dict[str, int]] = {}
    for name, _ in files_below(table.storage, f"{room.folder}/{_BACK}"):
        path = f"{room.folder}/{_BACK}/{name}"
        try:
            for partition, file, size in parse_json(read_whole(table.storage, path, RECORD_BYTES)):
                found.setdefault(str(partition), {})[str(file)] = int(size)
        except (ValueError, TypeError) as error:
            raise Unreadable(f"{path} is damaged: {error}", hint="move it out of the table", file=path) from error
    return found


def end_room(table: Table, room: Room, end: str) -> None:
    """From here on it cannot be undone any more. Raises StorageFailed."""
    table.storage.replace(f"{room.folder}{_RECORD}", _encode(replace(room, end=room.end or end)))


def drop_room(table: Table, time: str, end: str = DROPPED) -> None:
    """Deletes what was kept of an operation, and ends its undo, if one has begun. The record goes last: a rerun finds
    what is left. It may be missing or damaged: without it an undo is refused. Raises StorageFailed."""
    folder, room = room_folder(time), None
    with suppress(Unreadable):
        room = read_room(table, time)
    if room is not None:
        # First: an undo cannot know that files are missing, if not even their folder is left.
        end_room(table, room, end)
        if room.versions:
            # Without the notes of its instants an undo is refused; without those of its data files alone it is not.
            table.storage.delete_folder(made_path(folder, META))
        drop_contents(table.storage, folder, versions=room.versions)
    table.storage.delete_folder(folder)
    delete_all(table.storage, [f"{folder}{_BEGUN}"])
    delete_all(table.storage, [f"{folder}{_RECORD}"])
