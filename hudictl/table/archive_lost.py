"""What a repair of the archive has lost, as its record says: a whole archive does not show it."""

from hudictl.errors import Unreadable
from hudictl.formats.layouts import OWN
from hudictl.table.kept import UNDO_OPERATION, read_room
from hudictl.table.operations import Operation, operation_instants, read_operation
from hudictl.table.table import Table

ARCHIVE_REPAIR = "archive repair"
"""The kind of operation that mends an archive."""
LOST_UNTIL = "lost_until"
"""Key of its plan: the greatest requested time of an instant that may be lost; "" if nothing is."""
NOTE = f"{OWN}/archive-lost"
"""An empty file that a repair with a loss leaves: without it no record has to be read."""


def lost_until(table: Table) -> str:
    """The time up to which instants of the archive may be lost by a repair that was not undone; "" if none is. Raises
    Unreadable: the record of such a repair; StorageFailed."""
    if table.storage.stat(NOTE) is None:
        return ""
    found: dict[str, str] = {}
    for time in operation_instants(table.storage):
        operation = _operation(table, time)
        if operation is None:
            continue
        if operation.operation == ARCHIVE_REPAIR:
            found[time] = str(operation.plan.get(LOST_UNTIL, ""))
        elif operation.operation == UNDO_OPERATION and operation.last.exit_code == 0:
            found.pop(operation.target, None)
    return max(found.values(), default="")


def _operation(table: Table, time: str) -> Operation | None:
    try:
        return read_operation(table.storage, time)
    except Unreadable:
        # A damaged record of something else is in nobody's way; what it has kept says what it was.
        room = read_room(table, time)
        if room is not None and room.operation == ARCHIVE_REPAIR:
            raise
        return None
