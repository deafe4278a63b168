"""Savepoints, with what each holds and whether it can be restored."""

from collections.abc import Sequence
from dataclasses import replace

from hudictl.library.opened import Opened
from hudictl.reports.savepoints import SavepointRow, savepoint_rows


def savepoints(table: Opened, *, count_bytes: bool, verify: bool) -> Sequence[SavepointRow]:
    """The savepoints, newest first."""
    rows: Sequence[SavepointRow] = savepoint_rows(table.core)
    if count_bytes:
        from hudictl.reports.savepoint_bytes import with_bytes

        rows = with_bytes(table.core, rows, table.engine)
    return _verified(table, rows) if verify else rows


def _verified(table: Opened, rows: Sequence[SavepointRow]) -> list[SavepointRow]:
    from hudictl.ops.restore.plan import RestoreOptions
    from hudictl.ops.savepoint.verify import verify_savepoint

    session, options = table.session(), RestoreOptions(delete_later_savepoints=True)
    found = {
        row.instant: verify_savepoint(session, row.instant, options, named=False)
        for row in rows
        if row.state == "COMPLETED"
    }
    return [
        replace(row, restorable=one.restorable, warning=one.reason or one.threat or row.warning)
        if (one := found.get(row.instant))
        else row
        for row in rows
    ]
