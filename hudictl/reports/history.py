"""``history``: the operations on a table, from the operation records."""

from dataclasses import dataclass

from hudictl.errors import HudictlError, Refused
from hudictl.table.operations import Operation, operation_instants, read_operation
from hudictl.table.table import Table


@dataclass(frozen=True)
class HistoryRow:
    """An operation, by its last attempt. ``exit_code`` is None if that process died, or is still running."""

    instant: str
    operation: str
    target: str
    user: str
    host: str
    started_at: str
    ended_at: str | None
    attempts: int
    exit_code: int | None
    command: str
    message: str


def history_rows(table: Table) -> list[HistoryRow]:
    """All recorded operations, oldest first. An unreadable record is a row with the reason."""
    return [_row(table, instant) for instant in operation_instants(table.storage)]


def find_operation(table: Table, instant: str) -> Operation:
    """The record of one operation. Raises Refused: there is none; Unreadable."""
    operation = read_operation(table.storage, instant)
    if operation is None:
        raise Refused(f"no operation {instant} is recorded", hint="`hudictl history` lists them", instant=instant)
    return operation


def _row(table: Table, instant: str) -> HistoryRow:
    try:
        operation = find_operation(table, instant)
    except HudictlError as error:
        return HistoryRow(instant, "", "", "", "", "", None, 0, None, "", error.message)
    last = operation.last
    return HistoryRow(
        instant,
        operation.operation,
        operation.target,
        last.user,
        last.host,
        last.started_at,
        last.ended_at,
        len(operation.attempts),
        last.exit_code,
        last.command,
        last.message,
    )
