"""A temporary savepoint of hudictl's: it protects the target's files from cleans if the target has no savepoint."""

import time

from hudictl.errors import Conflict
from hudictl.formats import savepoint
from hudictl.formats.instants import CLEAN, SAVEPOINT, State
from hudictl.formats.savepoint import SavepointMetadata
from hudictl.ops.restore.plan import RestorePlan
from hudictl.state.files.savepoints import PROTECTION_COMMENT, is_protection
from hudictl.table.table import Table
from hudictl.table.timeline.active import (
    completion_now,
    create_instant_file,
    delete_instant,
    load_timeline,
    read_instant,
)


def protect_target(table: Table, plan: RestorePlan, restore: str) -> None:
    """Publishes the savepoint, once. Raises Conflict: a clean appeared that may not have seen the savepoint."""
    timeline = load_timeline(table)
    found = timeline.find(plan.target, SAVEPOINT)
    if found is None or not found.completed:
        comment = f"{PROTECTION_COMMENT}{restore}"
        body = savepoint.encode(SavepointMetadata("hudictl", int(time.time() * 1000), comment, plan.names))
        create_instant_file(table, plan.target, SAVEPOINT, State.INFLIGHT)
        completed = completion_now(table, plan.target)
        create_instant_file(table, plan.target, SAVEPOINT, State.COMPLETED, body, completed)
        timeline = load_timeline(table)
    for clean in timeline.having(CLEAN):
        if not plan.undo.timeline.issuperset(clean.names):
            raise Conflict(
                f"{clean} appeared during the restore; the restore is still pending",
                hint="stop all writers and table services, then run `hudictl resume`",
                instant=clean.time,
                restore=restore,
            )


def end_protection(table: Table, target: str) -> None:
    """Deletes the savepoint before the restore ends. A savepoint that an operator has created meanwhile is kept."""
    found = load_timeline(table).find(target, SAVEPOINT)
    file = found.file(State.COMPLETED) if found else None
    if found and file and is_protection(savepoint.decode(read_instant(table, file), file.name)):
        delete_instant(table, found)
