"""Savepoints, with what each holds and whether it can be restored."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from hudictl.errors import UsageError
from hudictl.library import changes
from hudictl.library.opened import Opened
from hudictl.library.options import refuse_no_tag, refuse_wrong
from hudictl.library.rows import Rows, noted
from hudictl.library.times import age_ms
from hudictl.reports.savepoints import SavepointFile, SavepointRow, savepoint_files, savepoint_rows

if TYPE_CHECKING:
    from hudictl.library.change import Change
    from hudictl.ops.savepoint.plan import SavepointOptions, SavepointPlan


def savepoints(table: Opened, *, count_bytes: bool, verify: bool, idle_ms: int) -> Rows[SavepointRow]:
    """The savepoints, newest first."""
    return Rows(SavepointRow, lambda: _savepoints(table, count_bytes=count_bytes, verify=verify, idle_ms=idle_ms))


def _savepoints(table: Opened, *, count_bytes: bool, verify: bool, idle_ms: int) -> Sequence[SavepointRow]:
    rows: Sequence[SavepointRow] = savepoint_rows(table.core)
    if count_bytes:
        from hudictl.reports.savepoints import with_bytes

        rows = with_bytes(table.core, rows, table.engine)
    return _verified(table, rows, idle_ms) if verify else rows


def _verified(table: Opened, rows: Sequence[SavepointRow], idle_ms: int) -> list[SavepointRow]:
    from hudictl.ops.restore.plan import RestoreOptions
    from hudictl.ops.savepoint.verify import verify_savepoint

    session, options = table.session(), RestoreOptions(idle_ms=idle_ms)
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


def files_of_savepoint(table: Opened, instant: str) -> Rows[SavepointFile]:
    """The files of a savepoint; a note has its tag."""
    from hudictl.state.files.savepoints import find_savepoint, tag_of
    from hudictl.table.timeline.active import load_timeline

    def look(notes: list[str]) -> list[SavepointFile]:
        metadata = find_savepoint(table.core, load_timeline(table.core), instant)
        tag = tag_of(metadata.comment)
        notes[:] = [f"tag: {tag}"] if tag else []
        return savepoint_files(table.core, dict(metadata.files))

    return noted(SavepointFile, look)


def creation(
    instant: str | None, options: "SavepointOptions | None", tag: str | None, every: str | timedelta | None
) -> "Change[SavepointPlan, None]":
    """A savepoint to create, with a tag; ``every``: unless one with the tag is on a commit that is not so old."""
    from hudictl.ops.savepoint.plan import SavepointOptions
    from hudictl.state.files.savepoints import with_tag
    from hudictl.table.operations import current_user

    options = options or SavepointOptions()
    refuse_wrong(options)
    options = replace(options, user=options.user or current_user())
    if tag is not None:
        refuse_no_tag(tag)
        options = replace(options, comment=with_tag(tag, options.comment))
    if every is None:
        return changes.savepoint_creation(instant, options)
    if tag is None or instant is not None:
        raise UsageError(
            "--every needs a --tag, and no INSTANT (every, tag, instant)",
            hint="it chooses the newest commit: add --tag nightly",
        )
    return changes.savepoint_if_old(options, tag, age_ms(every, "every"), str(every))
