"""Keeps writers out while what they read at their beginning changes: plans, properties, the metadata table.

A restore without a plan is requested: Hudi's writers begin nothing beside one (0.15.0, 1.0.2, 1.2.0), nobody can
execute it, and ``resume`` removes one that was left. Table services do not look for it.
"""

import time

from hudictl.formats.instants import RESTORE, State, time_plus_ms
from hudictl.table.table import Table
from hudictl.table.timeline.active import create_instant_file

SETTLE_S = 2.0
"""A writer that has found no restore has its own instant after this time."""


def request_for_nobody(table: Table, after: str) -> str:
    """Requests it, a millisecond after an operation. Returns the file's name. Raises Conflict, StorageFailed."""
    return create_instant_file(table, time_plus_ms(after, 1), RESTORE, State.REQUESTED)


def settle() -> None:
    """Waits for the writers that began before the request: then they are on the timeline."""
    time.sleep(SETTLE_S)
