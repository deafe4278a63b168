"""Whether a savepoint can be restored now."""

from dataclasses import dataclass

from hudictl.engine.base import Engine
from hudictl.errors import HudictlError
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.state.savepoints import find_savepoint
from hudictl.table.table import Table
from hudictl.table.timeline import (
    load_timeline,
)


@dataclass(frozen=True)
class Restorable:
    """Whether a savepoint can be restored now; ``reason`` is the guard's word against it."""

    instant: str
    restorable: bool
    reason: str
    file_count: int
    bytes: int


def verify_savepoint(table: Table, engine: Engine, instant: str, options: RestoreOptions) -> Restorable:
    """Whether a restore to the savepoint would pass every guard now. Raises Refused: there is no such savepoint."""
    find_savepoint(table, load_timeline(table), instant)
    try:
        plan = plan_restore(table, engine, instant, options)
    except HudictlError as error:
        if error.exit_code in (1, 15, 16):
            raise
        return Restorable(instant, False, error.message, 0, 0)
    size = sum(file.size or 0 for file in plan.needed.values())
    return Restorable(instant, True, "", len(plan.needed), size)
