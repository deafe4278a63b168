"""Creating a savepoint, and withdrawing it where a clean came in meanwhile."""

import time

from hudictl.engine.base import Engine
from hudictl.errors import Conflict, Incomplete
from hudictl.formats import instants as fmt
from hudictl.formats import savepoint
from hudictl.formats.file_names import data_path
from hudictl.formats.instants import State
from hudictl.ops.guards import timeline as guards
from hudictl.ops.savepoint.plan import SavepointPlan, SavepointReport
from hudictl.ops.savepoint.planning import check_signs
from hudictl.ops.session import Monitor
from hudictl.state.facts import read_signs
from hudictl.state.targets import find_commit
from hudictl.table.file_view import sweep
from hudictl.table.locks.hold import Hold, hold
from hudictl.table.operations import Operation, recorded
from hudictl.table.properties import recover_properties
from hudictl.table.table import Table
from hudictl.table.timeline import (
    create_instant_file,
    delete_instant,
    instant_now,
    load_timeline,
)


def create_savepoint(table: Table, engine: Engine, plan: SavepointPlan, monitor: Monitor, command: str) -> None:
    """Writes the savepoint, then looks whether a clean came in meanwhile: if so, the savepoint goes again.

    Raises:
        Conflict: the table moved, a clean came in, or a file went.
        Refused, Unsupported, Unreadable, StorageFailed, Interrupted.
    """
    if plan.exists:
        return
    with hold(table, command, monitor) as held:
        monitor.step("check again")
        signs = read_signs(table)
        guards.not_moved(signs.timeline, plan.timeline)
        check_signs(table, signs, find_commit(signs.timeline, plan.instant), plan.options)
        recover_properties(table.storage)
        operation = Operation(instant_now(table), "savepoint create", plan.instant, {"files": plan.file_count})
        recorded(table.storage, operation, command, lambda: _publish(table, engine, plan, monitor, held))


def _publish(table: Table, engine: Engine, plan: SavepointPlan, monitor: Monitor, held: Hold) -> SavepointReport:
    monitor.step("write the savepoint")
    body = savepoint.encode(savepoint.SavepointMetadata(plan.user, int(time.time() * 1000), plan.comment, plan.files))
    held.check()
    create_instant_file(table, plan.instant, fmt.SAVEPOINT, State.INFLIGHT)
    name = create_instant_file(table, plan.instant, fmt.SAVEPOINT, State.COMPLETED, body, instant_now(table))
    # No stop in between: a rerun would find a savepoint that nobody has verified.
    _withdraw_if_cleaned(table, engine, plan, name)
    return SavepointReport(plan.instant, plan.file_count)


def _withdraw_if_cleaned(table: Table, engine: Engine, plan: SavepointPlan, name: str) -> None:
    """Raises Conflict: a clean, or a lost file, makes the savepoint a lie; it was deleted again."""
    timeline = load_timeline(table)
    cleans = [str(entry) for entry in timeline.having(fmt.CLEAN) if not entry.names <= plan.timeline]
    stored = {file.path for file in sweep(table, engine, plan.files).files}
    lost = [
        path
        for partition, names in plan.files.items()
        for path in (data_path(partition, entry) for entry in names)
        if path not in stored
    ]
    if cleans or lost:
        saved = timeline.find(plan.instant, fmt.SAVEPOINT)
        delete_instant(table, saved)
        raise Conflict(
            f"{(cleans + lost)[0]}: files went while they were being listed; the savepoint is withdrawn",
            hint="run the command again",
            cleans=cleans,
            lost=lost,
        )
    if name not in timeline.modified_ms:
        raise Incomplete(f"the savepoint {plan.instant} is gone again: somebody deleted it", instant=plan.instant)
