"""The completed file of a restore: its body, stored outside the timeline at first, and its publication."""

from collections.abc import Mapping, Sequence

from hudictl.formats import instants as fmt
from hudictl.formats import restore
from hudictl.formats.instants import State
from hudictl.formats.layouts import OWN
from hudictl.formats.limits import INSTANT_BYTES
from hudictl.ops.restore.plan import RestorePlan
from hudictl.ops.undo.instants import rollback_result
from hudictl.storage import read_whole
from hudictl.table.table import Table
from hudictl.table.timeline.active import completion_now, create_instant_file, load_timeline
from hudictl.workers import BlockFile

_STAGED = "restore-"


def stage_metadata(
    table: Table,
    restore_time: str,
    plan: RestorePlan,
    *,
    rollbacks: Mapping[str, str],
    blocks: Mapping[str, Sequence[tuple[str, BlockFile]]],
    duration_ms: int,
) -> bytes:
    """Encodes the completed restore, and stores it outside the timeline.

    The next phase removes the rollback plans: after a crash in it, a rerun could not list the deleted files any more.
    """
    path = f"{OWN}/{_STAGED}{restore_time}"
    if table.storage.stat(path) is not None:
        return read_whole(table.storage, path, INSTANT_BYTES)
    results = [
        rollback_result(
            table, removal, rollbacks.get(removal.time, restore_time), blocks.get(removal.time, ()), duration_ms
        )
        for removal in plan.undo.removals
    ]
    body = restore.encode_metadata(restore_time, duration_ms, results)
    table.storage.create(path, body)
    return body


def drop_staged(table: Table, restore_time: str | None) -> None:
    """Removes the stored bodies of other restores, which have ended."""
    names = [entry.name for entry in table.storage.list(OWN) if entry.name.startswith(_STAGED)]
    table.storage.delete([f"{OWN}/{name}" for name in names if name != f"{_STAGED}{restore_time}"])


def complete_restore(table: Table, restore_time: str, body: bytes) -> None:
    """Publishes the restore: from here on it is completed. Does nothing if an earlier attempt has published it."""
    instant = load_timeline(table).find(restore_time, fmt.RESTORE)
    if instant is None or not instant.completed:
        completed = completion_now(table, restore_time)
        create_instant_file(table, restore_time, fmt.RESTORE, State.COMPLETED, body, completed)
    table.storage.delete([f"{OWN}/{_STAGED}{restore_time}"])
