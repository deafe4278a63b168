"""``undo list``: the operations of which the deleted files are kept."""

from collections.abc import Iterator
from dataclasses import dataclass

from hudictl.errors import HudictlError
from hudictl.state.as_left import refusal
from hudictl.state.facts import read_signs
from hudictl.table.kept import begun_undo, contents_of, expires_at, read_room, room_folder, room_times
from hudictl.table.table import Table


@dataclass(frozen=True)
class UndoRow:
    """An operation that has kept its files; ``undo`` is its instant. ``files`` and ``bytes`` are all that is kept, with
    timeline and metadata table. ``expires_utc``: when a rule of the bucket deletes the first of its old versions.
    ``possible``: whether an undo would begin now, if no writer is at work; ``warning``: why not. ``problem``: its
    record cannot be read, or is gone."""

    undo: str
    operation: str | None
    targets: str | None
    begun_utc: str | None
    files: int | None
    bytes: int | None
    possible: bool | None
    expires_utc: str | None = None
    warning: str | None = None
    problem: str | None = None


def undo_rows(table: Table) -> Iterator[UndoRow]:
    """All of them, newest first. Raises Unreadable, StorageFailed."""
    begun = begun_undo(table)
    times = sorted({*room_times(table)}.union({begun} if begun is not None else ()), reverse=True)
    signs = read_signs(table) if times else None
    for time in times:
        try:
            room = read_room(table, time)
            if room is None or signs is None:
                yield UndoRow(time, None, None, None, None, None, None, problem=f"{room_folder(time)}.json is gone")
                continue
            contents = contents_of(table, room)
            sizes = [status.size for status in contents.kept.values()]
            refused = refusal(table, signs.timeline, room, contents)
            warning = refused or ("its undo has begun: finish it" if time == begun else None)
            targets = ", ".join(filter(None, room.targets)) or None
            if room.versions and room.days is None:
                warning = warning or "possible only as long as the bucket keeps old versions"
            files, total, expires = len(sizes), sum(sizes), expires_at(room)
            possible = refused is None
            yield UndoRow(time, room.operation, targets, room.begun_at, files, total, possible, expires, warning)
        except HudictlError as error:
            yield UndoRow(time, None, None, None, None, None, None, problem=error.message)
