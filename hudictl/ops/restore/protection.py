"""A temporary savepoint of hudictl's: it protects the target's files from cleans if the target has no savepoint."""

import time
from collections.abc import Callable, Mapping

from hudictl.errors import Conflict
from hudictl.formats import savepoint
from hudictl.formats.instants import CLEAN, SAVEPOINT, State
from hudictl.formats.savepoint import SavepointMetadata
from hudictl.ops.restore.plan import RestorePlan
from hudictl.state.files.savepoints import PROTECTION_COMMENT, is_protection
from hudictl.table.table import Table
from hudictl.table.timeline.active import (
    Timeline,
    completion_now,
    create_instant_file,
    delete_instant,
    load_timeline,
    read_instant,
)


def protect_target(table: Table, plan: RestorePlan, restore: str) -> None:
    """Publishes the savepoint, once. Raises Conflict: a clean appeared that may not have seen the savepoint."""
    timeline = publish(table, plan.target, f"{PROTECTION_COMMENT}{restore}", plan.names)
    for clean in timeline.having(CLEAN):
        if not plan.undo.timeline.issuperset(clean.names):
            raise Conflict(
                f"{clean} appeared during the restore; the restore is still pending",
                hint="stop all writers and table services, then run `hudictl resume`",
                instant=clean.time,
                restore=restore,
            )


def publish(table: Table, target: str, comment: str, names: Mapping[str, tuple[str, ...]]) -> Timeline:
    """Publishes a temporary savepoint, unless the target has one; returns the timeline with it."""
    timeline = load_timeline(table)
    found = timeline.find(target, SAVEPOINT)
    if found is not None and found.completed:
        return timeline
    body = savepoint.encode(SavepointMetadata("hudictl", int(time.time() * 1000), comment, names))
    create_instant_file(table, target, SAVEPOINT, State.INFLIGHT)
    create_instant_file(table, target, SAVEPOINT, State.COMPLETED, body, completion_now(table, target))
    return load_timeline(table)


def end_protection(table: Table, target: str, is_own: Callable[[SavepointMetadata], bool] = is_protection) -> None:
    """Deletes the savepoint before the restore ends. A savepoint that an operator has created meanwhile is kept."""
    found = load_timeline(table).find(target, SAVEPOINT)
    file = found.file(State.COMPLETED) if found else None
    if found and file and is_own(savepoint.decode(read_instant(table, file), file.name)):
        delete_instant(table, found)
