"""What a rollback, restore or clean was of, and to which instant: ``target`` and ``detail`` of ``timeline show``."""

from typing import NamedTuple

from hudictl.formats import clean, restore, rollback
from hudictl.formats.avro import Body
from hudictl.formats.instants import CLEAN, RESTORE, ROLLBACK, Instant, State
from hudictl.phrases import count_of
from hudictl.table.table import Table
from hudictl.table.timeline.active import read_instant

DETAILED = frozenset({CLEAN, RESTORE, ROLLBACK})
"""The actions that have a detail."""


class Detail(NamedTuple):
    """``target`` is the instant that a rollback removes, that a restore restores to, or the first of which a clean
    keeps all files; ``text`` says the same in words."""

    target: str | None = None
    text: str | None = None


def read_detail(table: Table, instant: Instant) -> Detail:
    """The detail of an active instant. Raises Conflict: its file disappeared after the listing; Unreadable."""
    # Of a restore only the request names the target.
    planned = instant.pending or instant.action == RESTORE
    file = instant.file(State.REQUESTED if planned else State.COMPLETED)
    return decode_detail(instant.action, read_instant(table, file), planned, file.name) if file else Detail()


def decode_detail(action: str, body: Body, planned: bool, what: str) -> Detail:
    """The detail in a request (``planned``) or a result; an empty file has none. Raises Unreadable."""
    if not body:
        return Detail()
    if action == CLEAN:
        return _of_clean(body, planned, what)
    if action == RESTORE:
        plan = restore.decode_plan(body, what)
        return Detail(
            plan.target,
            f"to {restore.target_text(plan.target)}, {len({info.time for info in plan.instants}):,} instants",
        )
    return _of_rollback(body, planned, what)


def _of_clean(body: Body, planned: bool, what: str) -> Detail:
    if planned:
        plan = clean.decode_plan(body, what)
        earliest, files = plan.earliest, plan.files
    else:
        result = clean.decode_metadata(body, what)
        earliest, files = result.earliest or None, result.deleted
    count = count_of(sum(map(len, files.values())), "file")
    return Detail(earliest, f"before {earliest}, {count}" if earliest else count)


def _of_rollback(body: Body, planned: bool, what: str) -> Detail:
    if planned:
        target = rollback.decode_plan(body, what).target
        return Detail(target.time or None, f"of {target.time} {target.action}" if target.time else None)
    actions = rollback.decode_undone(body, what).actions
    named = ", ".join(f"{time} {action}".rstrip() for time, action in actions.items())
    return Detail(next(iter(actions), None), f"of {named}" if named else None)
