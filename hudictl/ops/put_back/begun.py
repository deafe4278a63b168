"""What keeps a table right while an undo has begun, wherever it dies: no writer begins, no rollback block is lost."""

from collections.abc import Sequence
from contextlib import suppress

from hudictl.errors import StorageFailed
from hudictl.formats.instants import RESTORE, WRITE_ACTIONS, parse_instant_file
from hudictl.formats.limits import INSTANT_BYTES
from hudictl.formats.log_blocks import encode_rollback_block
from hudictl.formats.rollback import decode_plan
from hudictl.ops.session import Kind
from hudictl.ops.writers_out import request_for_nobody
from hudictl.state.as_left import on_timeline
from hudictl.storage import files_below, read_whole
from hudictl.storage.keeping import made_files
from hudictl.table.kept import Room, keeping, room_folder
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, delete_instant_files, load_timeline
from hudictl.workers import blocks_of

_ASIDE = "aside"
"""Below a room: logs with rollback blocks, and plans of rollbacks, until readers see their instants again."""
_SHOWN = "shown"
"""Below a room: an empty file, once readers see all instants, and use the metadata table, again."""


def keep_writers_out(table: Table, room: Room) -> None:
    """Beside the undo of a restore, the restore itself does: it becomes pending again. A rollback cannot become so, a
    writer would execute it. Raises Conflict, Unsupported, StorageFailed."""
    if room.operation != Kind.RESTORE.value:
        request_for_nobody(keeping(table, room), room.times[-1])


def request_of_undo(table: Table, undo: str) -> list[str]:
    """The path of this request, if it was made. The record of the room may be damaged. Raises StorageFailed."""
    made = (path for path in made_files(table.storage, room_folder(undo)) if on_timeline(table, path))
    files = {path: parse_instant_file(path.rpartition("/")[2], table.layout.version) for path in made}
    return [path for path, file in files.items() if file and file.action == RESTORE and file.time != undo]


def let_writers_in(table: Table, undo: str) -> None:
    """Removes the request. Raises StorageFailed."""
    own = {path.rpartition("/")[2] for path in request_of_undo(table, undo)}
    found = load_timeline(table).having(RESTORE) if own else ()
    delete_instant_files(table, [file for entry in found for file in entry.files if file.name in own])


def set_aside(table: Table, room: Room, paths: Sequence[str]) -> None:
    """Takes logs with rollback blocks, or files of a pending rollback, out of the table. Raises StorageFailed."""
    for outcome in table.storage.move_files([(path, f"{room.folder}/{_ASIDE}/{path}") for path in paths]):
        if outcome.error is not None:
            raise StorageFailed(f"cannot move {outcome.path}: {outcome.error}", path=outcome.path)


def forget_aside(table: Table, room: Room) -> None:
    """Readers see the instants again: what hides them must never come back. Raises StorageFailed."""
    table.storage.delete_folder(f"{room.folder}/{_ASIDE}")


def bring_aside_back(table: Table, undo: str) -> None:
    """Before an undo is given up: the blocks, and plans of rollbacks, of the instants that it has not completed again.
    Without them the rows of these come back as soon as the timeline begins after them. Raises Unreadable,
    StorageFailed."""
    folder, timeline = f"{room_folder(undo)}/{_ASIDE}", load_timeline(table)
    for path, status in files_below(table.storage, folder):
        if on_timeline(table, path):
            body = read_whole(table.storage, f"{folder}/{path}", INSTANT_BYTES)
            _bring_plan_back(table, timeline, path, body)
            continue
        partition, _, name = f"{folder}/{path}".rpartition("/")
        found = (block.rollback_target for _, block in blocks_of(table.storage, partition, [(name, status.size)]))
        own = {target: timeline.find(target, *WRITE_ACTIONS) for target in found if target is not None}
        hidden = [target for target, instant in own.items() if instant is None or not instant.completed]
        if hidden:
            with suppress(FileExistsError):
                table.storage.create(path, b"".join(encode_rollback_block(target, target) for target in hidden))


def _bring_plan_back(table: Table, timeline: Timeline, path: str, body: bytes) -> None:
    """The plan of a rollback, for the restore that is finished then; a writer would execute that of a completed one."""
    target = decode_plan(body, path).target.time if body else None
    instant = timeline.find(target, *WRITE_ACTIONS) if target is not None else None
    if target is not None and (instant is None or not instant.completed):
        with suppress(FileExistsError):
            table.storage.create(path, body)


def note_shown(table: Table, room: Room) -> None:
    """From here on an undo does the rest alone. Raises StorageFailed."""
    with suppress(FileExistsError):
        table.storage.create(f"{room.folder}/{_SHOWN}", b"")


def is_shown(table: Table, room: Room) -> bool:
    """Raises StorageFailed."""
    return table.storage.stat(f"{room.folder}/{_SHOWN}") is not None
