"""What commands that have died have left of a metadata table that is out of use: a rerun of the command deletes it."""

from collections.abc import Iterable

from hudictl.ops.session import Kind
from hudictl.table.metadata.place import delete_retired, delete_retired_indexes, forget_retired, retired_times
from hudictl.table.operations import read_operation
from hudictl.table.table import Table


def left_by(table: Table, kind: Kind) -> tuple[str, ...]:
    """The operations of a kind that have left such folders or files, oldest first; a running one, too.

    Raises:
        Unreadable: an operation's record; StorageFailed.
    """
    operations = ((time, read_operation(table.storage, time)) for time in sorted(retired_times(table)))
    return tuple(time for time, found in operations if found and found.operation == kind.value)


def delete_left(table: Table, times: Iterable[str]) -> None:
    """Deletes what these operations have left. Idempotent. Raises Unreadable, StorageFailed."""
    for time in times:
        delete_retired_indexes(table, time)
        delete_retired(table, time)
        # If a writer has written there since, the rest belongs to its metadata table.
        forget_retired(table, time)
