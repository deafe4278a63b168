"""What an operation keeps, so that ``hudictl undo`` can put it back: its room below ``.hoodie/.hudictl/undo``.

The room has the files that were deleted or replaced, and notes those that were created (``storage.keeping``). Its
record has the state of timeline, properties and metadata table at the beginning, by which an undo is verified.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone

from hudictl.errors import Refused, Unreadable
from hudictl.formats.decode import decode
from hudictl.formats.json_values import parse_json
from hudictl.formats.layouts import METADATA_TABLE, OWN, PROPERTIES, PROPERTIES_BACKUP, UNDO
from hudictl.formats.limits import RECORD_BYTES
from hudictl.storage import FileStatus, delete_all, entries_of, read_whole
from hudictl.storage.keeping import Keeping, drop_contents, kept_files, made_files, without_sidecars
from hudictl.table.metadata.place import metadata_table_files
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline

_RECORD = ".json"
_BEGUN = ".begun"
_NAME = re.compile(r"\d+\Z", re.ASCII)
_VERSION = 1
UNDO_OPERATION = "undo"
"""The kind of operation that puts back what another one has kept."""
DROP_OPERATION = "metadata drop"
"""The kind of operation that keeps the metadata table, and nothing else."""


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
    were."""

    times: tuple[str, ...]
    operation: str
    targets: tuple[str, ...]
    begun_at: str
    before: tuple[Seen, ...]

    @property
    def folder(self) -> str:
        return room_folder(self.times[0])


@dataclass(frozen=True)
class Contents:
    """The files of a room, by the paths that they were at, and the paths of files that were created."""

    kept: dict[str, FileStatus]
    made: frozenset[str]


def timeline_path(table: Table, name: str) -> str:
    """The path of a file on the timeline."""
    return f"{table.layout.timeline}/{name}"


def room_folder(time: str) -> str:
    """The path of an operation's room."""
    return f"{UNDO}/{time}"


def keeping(table: Table, room: Room) -> Table:
    """The table, with a storage that keeps in this room what is deleted."""
    return replace(table, storage=Keeping(table.storage, room.folder, OWN))


def new_room(table: Table, times: Sequence[str], operation: str, targets: Sequence[str]) -> Room:
    """Makes a room for an operation that begins. Raises Unreadable, StorageFailed."""
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    room = Room(tuple(times), operation, tuple(targets), now, state_of(table))
    table.storage.create(f"{room.folder}{_RECORD}", json.dumps({"version": _VERSION, **asdict(room)}).encode())
    return room


def state_of(table: Table) -> tuple[Seen, ...]:
    """Timeline, properties and metadata table as they are now, by path. Raises Unreadable, StorageFailed."""
    timeline = load_timeline(table)
    seen = [Seen(timeline_path(table, name), size, timeline.modified_ms[name]) for name, size in timeline.sizes.items()]
    seen += metadata_files(table)
    for path in (PROPERTIES, PROPERTIES_BACKUP):
        status = table.storage.stat(path)
        if status is not None:
            seen.append(Seen(path, status.size, status.modified_ms))
    return tuple(sorted(seen, key=lambda entry: entry.path))


def metadata_files(table: Table) -> list[Seen]:
    """The files of the metadata table as they are now. Raises StorageFailed."""
    found = without_sidecars(metadata_table_files(table))
    return [Seen(path, size, modified_ms) for path, (size, modified_ms) in found.items()]


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
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(f"{path} is damaged: {error}", hint="move this file out of the table", file=path) from error
    return room


def refuse_keeping_late(table: Table, time: str | None, *, asked: bool) -> None:
    """Raises Refused: an operation that has begun without a room is to keep its files; Unreadable."""
    if asked and time is not None and read_room(table, time) is None:
        raise Refused(
            f"{time} was begun without --keep-files, and may have deleted some files: not all can be kept",
            hint="run the command without --keep-files",
        )


def room_times(table: Table) -> Iterator[str]:
    """The times of the rooms, oldest first. Raises StorageFailed."""
    return _times(table, _RECORD)


def contents_of(table: Table, room: Room) -> Contents:
    """What a room has. Raises Unreadable: a file that no operation keeps; StorageFailed."""
    found = Contents(kept_files(table.storage, room.folder), made_files(table.storage, room.folder))
    for path in (*found.kept, *found.made):
        if path.startswith(f"{OWN}/"):
            raise Unreadable(f"{room.folder} has {path}, which is hudictl's own", hint="move it out of the room")
    return found


def of_metadata_table(path: str) -> bool:
    """Whether a file is the metadata table's."""
    return path.startswith(f"{METADATA_TABLE}/")


def begun_undo(table: Table) -> str | None:
    """The operation of which an undo has begun and not ended. Raises StorageFailed."""
    return next(_times(table, _BEGUN), None)


def _times(table: Table, end: str) -> Iterator[str]:
    times = (
        name.removesuffix(end)
        for name in (entry.name for entry in entries_of(table.storage, UNDO))
        if name.endswith(end)
    )
    return (time for time in times if _NAME.match(time))


def begin_undo(table: Table, room: Room) -> None:
    """From here on, only this undo may go on. Raises StorageFailed."""
    with suppress(FileExistsError):
        table.storage.create(f"{room.folder}{_BEGUN}", b"")


def drop_room(table: Table, time: str) -> None:
    """Deletes what was kept of an operation, and ends its undo, if one has begun. The record goes last: a rerun finds
    what is left. Raises StorageFailed."""
    folder = room_folder(time)
    if table.storage.stat(f"{folder}{_RECORD}") is not None:
        drop_contents(table.storage, folder)
        table.storage.delete_folder(folder)
        delete_all(table.storage, [f"{folder}{_BEGUN}"])
        delete_all(table.storage, [f"{folder}{_RECORD}"])
