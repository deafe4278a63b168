"""Copies of the instant files that a restore removes, where Hudi's own rollbacks keep them (0.15.0 to 1.2.0)."""

from collections.abc import Collection, Iterable
from contextlib import suppress

from hudictl.formats import commit_metadata
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.instants import COMMIT_ACTIONS, InstantFile, State, parse_instant_file
from hudictl.formats.layouts import ROLLBACK_BACKUP
from hudictl.formats.limits import INSTANT_BYTES
from hudictl.ops.undo.plan import Removal
from hudictl.storage import delete_all, entries_of, read_whole
from hudictl.table.table import Table
from hudictl.table.timeline.active import create_instant_file, read_instant


def back_up_instants(table: Table, removals: Iterable[Removal], *, pending_too: bool) -> None:
    """Copies the completed files, which un-publishing removes: a rerun has no other source of write statistics.

    ``pending_too`` also copies the pending files, as Hudi does. An existing copy is kept: an earlier attempt has made
    it, and may have changed the original since. That attempt has also written the pending files that are newer.
    """
    copies = _copies(table)
    taken = {file.time for file in copies}
    # The completed file is copied last.
    whole = {file.time for file in copies if file.state is State.COMPLETED}
    whole &= {file.time for file in copies if file.state is not State.COMPLETED}
    for removal in removals:
        files = removal.instant.files if removal.instant else ()
        if removal.instant is not None and removal.time in (taken if removal.instant.pending else whole):
            continue
        for file in files:
            if file.state is State.COMPLETED or pending_too:
                with suppress(FileExistsError):
                    table.storage.create(_path(file), read_instant(table, file))


def backed_up_commits(table: Table, times: Collection[str]) -> dict[str, CommitMetadata]:
    """The commit metadata of un-published instants, by requested time. Raises Unreadable."""
    return {
        file.time: commit_metadata.decode(read_whole(table.storage, _path(file), INSTANT_BYTES), file.name)
        for file in _copies(table)
        if file.time in times and file.state is State.COMPLETED and file.action in COMMIT_ACTIONS
    }


def backed_up_files(table: Table) -> list[InstantFile]:
    """The completed files that have copies."""
    return [file for file in _copies(table) if file.state is State.COMPLETED and file.action in COMMIT_ACTIONS]


def publish_again(table: Table, file: InstantFile) -> None:
    """Writes an un-published instant's completed file again, under its former name. Raises Conflict."""
    create_instant_file(
        table,
        file.time,
        file.action,
        State.COMPLETED,
        read_whole(table.storage, _path(file), INSTANT_BYTES),
        file.completion_time,
    )


def drop_backup(table: Table, times: Collection[str]) -> None:
    """Deletes the copies of some instants, and no others. Raises StorageFailed."""
    own = [file for file in _copies(table) if file.time in times]
    delete_all(table.storage, [_path(file) for file in own])
    if own and not entries_of(table.storage, ROLLBACK_BACKUP):
        table.storage.delete_folder(ROLLBACK_BACKUP)


def _copies(table: Table) -> list[InstantFile]:
    entries = entries_of(table.storage, ROLLBACK_BACKUP)
    parsed = (parse_instant_file(entry.name, table.layout.version) for entry in entries)
    return [file for file in parsed if file is not None]


def _path(file: InstantFile) -> str:
    return f"{ROLLBACK_BACKUP}/{file.name}"
