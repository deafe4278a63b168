"""``history``: the operations on a table, from the operation records."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from hudictl.errors import HudictlError, Refused
from hudictl.formats.instants import RESTORE, ROLLBACK
from hudictl.table.kept import UNDO_OPERATION
from hudictl.table.operations import Operation, operation_instants, read_operation
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline


@dataclass(frozen=True)
class HistoryRow:
    """An operation, by its last attempt. ``exit_code`` is None if that process died, or is still running; ``outcome``
    is what has become of the operation by now, whoever has ended it."""

    instant: str
    operation: str
    target: str
    user: str
    host: str
    started_at: str
    ended_at: str | None
    attempts: int
    exit_code: int | None
    outcome: str
    command: str
    message: str
    problem: str | None = None


def history_rows(table: Table) -> list[HistoryRow]:
    """All recorded operations, oldest first. An unreadable record is a row with the reason."""
    found: dict[str, Operation | HudictlError] = {}
    for instant in operation_instants(table.storage):
        try:
            found[instant] = find_operation(table, instant)
        except HudictlError as error:
            found[instant] = error
    operations = [entry for entry in found.values() if isinstance(entry, Operation)]
    completed: Mapping[str, bool] = {}
    with suppress(HudictlError):
        completed = {entry.time: entry.completed for entry in load_timeline(table).having(RESTORE, ROLLBACK)}
    return [
        _row(entry, _outcome(entry, operations, completed))
        if isinstance(entry, Operation)
        else HistoryRow(instant, "", "", "", "", "", None, 0, None, "", "", "", entry.message)
        for instant, entry in found.items()
    ]


def find_operation(table: Table, instant: str) -> Operation:
    """The record of one operation. Raises Refused: there is none; Unreadable."""
    operation = read_operation(table.storage, instant)
    if operation is None:
        raise Refused(f"no operation {instant} is recorded", hint="`hudictl history` lists them", instant=instant)
    return operation


def _outcome(operation: Operation, operations: Sequence[Operation], completed: Mapping[str, bool]) -> str:
    """``completed``: whether the restores and rollbacks on the timeline are, by instant."""
    undone = (entry for entry in operations if entry.operation == UNDO_OPERATION and entry.target == operation.instant)
    for undo in undone:
        if undo.last.exit_code == 0:
            return f"undone by {undo.instant}"
    if completed.get(operation.instant, operation.last.exit_code == 0):
        return "completed"
    if operation.instant in completed:
        return "pending"
    for later in operations:
        if later.instant > operation.instant and later.last.exit_code == 0:
            if later.target == operation.instant:
                return f"withdrawn by {later.instant}"
            if (later.operation, later.target) == (operation.operation, operation.target):
                return f"completed by {later.instant}"
    return "failed" if operation.last.exit_code is not None else "no end: it died, or is running"


def _row(operation: Operation, outcome: str) -> HistoryRow:
    last = operation.last
    return HistoryRow(
        operation.instant,
        operation.operation,
        operation.target,
        last.user,
        last.host,
        last.started_at,
        last.ended_at,
        len(operation.attempts),
        last.exit_code,
        outcome,
        last.command,
        last.message,
    )
