"""What those who read and write a table must know after a restore or a rollback: what is newest now, and from where
consumers and Hudi Streamer go on."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from hudictl.errors import HudictlError, Unreadable
from hudictl.formats.decode import decode
from hudictl.formats.instants import WRITE_ACTIONS, Instant, time_plus_ms
from hudictl.formats.releases import V1_0
from hudictl.ops.undo.plan import REWRITES, Undo
from hudictl.state.files.catalog import NO_GAP, CatalogGap
from hudictl.state.timeline.checkpoints import StreamerCheckpoint
from hudictl.table.operations import BegunInstant, begun_plan, read_operation
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline


@dataclass(frozen=True)
class Moment:
    """An instant: its requested and its completion time."""

    time: str
    completion_time: str | None


@dataclass(frozen=True)
class Consumers:
    """What incremental queries, streams and change logs (CDC) have read that is gone.

    ``first`` and ``last`` are the removed instants with rows, in the order in which consumers read them. A consumer
    that has come to ``gone_from``, in requested or completion times, may have read rows that are gone. It starts again
    at ``begin``: a completion time if ``by_completion`` (table version 8 on), else a requested time. Then it reads what
    follows ``restart``, the newest instant before ``first`` that is kept. Without one, both are null: it starts from
    the beginning.
    """

    first: Moment
    last: Moment
    gone_from: str
    restart: Moment | None
    begin: str | None
    by_completion: bool


@dataclass(frozen=True)
class Afterwards:
    """The same parts as in a result. ``head`` is the newest commit now."""

    head: Moment | None = None
    checkpoint: StreamerCheckpoint | None = None
    consumers: Consumers | None = None
    catalog: CatalogGap = NO_GAP


def afterwards(table: Table, resumes: str | None, undo: Undo, checkpoint: StreamerCheckpoint | None) -> Afterwards:
    """What is to be told at the end of an operation. Nothing that cannot be read is an error here: the work is done.

    Args:
        resumes: the operation that was continued: its record knows what earlier attempts have removed.
        checkpoint: as planned.
    """
    try:
        timeline = load_timeline(table)
        begun = begun_plan(read_operation(table.storage, resumes) if resumes else None)
    except HudictlError:
        return Afterwards(checkpoint=checkpoint, catalog=undo.catalog)
    found = {removal.time: removal.begun for removal in undo.removals}
    removed = (found | {entry.time: entry for entry in begun.instants if entry.completion_time}).values()
    if checkpoint is None and begun.checkpoint is not None:
        checkpoint = StreamerCheckpoint(begun.checkpoint.get("now") or "", begun.checkpoint.get("then"))
    last = timeline.find(timeline.last_write, *WRITE_ACTIONS)
    head = _moment(last) if last and any(entry.completion_time for entry in removed) else None
    return Afterwards(head, checkpoint, _consumers(table, timeline, removed), undo.catalog)


def afterwards_in(report: Mapping[str, object]) -> Afterwards:
    """The same from the report in a record; nothing of one that another release wrote."""
    with suppress(ValueError):
        return decode(Afterwards, {name: report[name] for name in Afterwards.__dataclass_fields__ if report.get(name)})
    return Afterwards()


def afterwards_then(table: Table, time: str) -> Afterwards:
    """The same of an earlier operation, by its record; nothing without a readable one."""
    operation = None
    with suppress(HudictlError):
        operation = read_operation(table.storage, time)
    reports = [attempt.report for attempt in operation.attempts if attempt.report] if operation else []
    return afterwards_in(reports[-1]) if reports else Afterwards()


def _consumers(table: Table, timeline: Timeline, removed: Collection[BegunInstant]) -> Consumers | None:
    """None if no consumer can have read a row of the removed instants.

    Incremental queries on a table below version 8 begin behind a requested time (0.15.0 to 1.2.0). On later ones they
    begin behind a completion time (1.2.0) or at it (1.0.2): on version 8, which both read, a millisecond is added.
    """
    by_completion = table.rules.has_completion_times

    def position(entry: BegunInstant | Instant) -> str:
        return (entry.completion_time if by_completion else None) or entry.time

    read = [entry for entry in removed if entry.completion_time and entry.operation not in REWRITES]
    if not read:
        return None
    read.sort(key=position)
    # CDC of 1.0.2 and 1.2.0 still counts in requested times, and consumers may keep those of their rows.
    gone_from = min(entry.time for entry in read)
    before = [entry for entry in timeline.completed_writes() if position(entry) < position(read[0])]
    restart = max(before, key=position, default=None)
    begin = position(restart) if restart else None
    if begin and by_completion and table.rules.reads_as == V1_0:
        # Not every time is a date.
        with suppress(Unreadable):
            begin = time_plus_ms(begin, 1)
    first, last = _moment(read[0]), _moment(read[-1])
    return Consumers(first, last, gone_from, _moment(restart) if restart else None, begin, by_completion)


def _moment(entry: BegunInstant | Instant) -> Moment:
    return Moment(entry.time, entry.completion_time)
