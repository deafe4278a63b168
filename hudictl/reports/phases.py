"""``stats phases``: where the time of an instant goes."""

from collections.abc import Iterator
from dataclasses import dataclass

from hudictl.formats.instants import DELTACOMMIT, SAVEPOINT, State, order
from hudictl.reports.timeline import TimelineFilter, instants_readable, tell_damaged, times_of
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline
from hudictl.table.timeline.file_times import not_kept


@dataclass(frozen=True)
class PhaseRow:
    """How long an instant was in each state: ``to_inflight_ms`` from the request on, ``to_completed_ms`` from then on,
    and of these ``metadata_ms`` in the metadata table's delta commit of the same time. These are by the modification
    times of files; None if there is no such file, or if its time is not that of its writer. ``duration_ms`` is by the
    times in the names (layout 1: the completion time is a modification time)."""

    time: str
    action: str
    state: str
    timeline: str
    requested_utc: str | None
    completed_utc: str | None
    duration_ms: int | None
    to_inflight_ms: int | None
    to_completed_ms: int | None
    metadata_ms: int | None


def phase_rows(table: Table, wanted: TimelineFilter) -> Iterator[PhaseRow]:
    """The instants; none of them is read. Raises Unreadable: the timeline, the metadata table; see ``tell_damaged``."""
    shown, damaged = instants_readable(table, wanted)
    timeline, metadata = load_timeline(table), open_metadata_table(table)
    lost = timeline.not_kept or not_kept(timeline.instants, timeline.modified_ms)
    made = _made_ms(timeline.without(lost.times) if lost is not None else timeline)
    in_metadata = _made_ms(load_timeline(metadata)) if metadata is not None else {}
    for entry, where in shown:
        requested, inflight, completed = made.get(order(entry), _NEVER)
        # A savepoint has the time of its commit.
        known = order(entry) in made and entry.action != SAVEPOINT
        begun, _, ended = in_metadata.get((entry.time, DELTACOMMIT), _NEVER) if known else _NEVER
        phases = (_between(requested, inflight), _between(inflight, completed), _between(begun, ended))
        yield PhaseRow(entry.time, entry.action, entry.state.name, where, *times_of(table, entry), *phases)
    tell_damaged(damaged)


_NEVER = (None, None, None)


def _made_ms(timeline: Timeline) -> dict[tuple[str, str], list[int | None]]:
    """When the file of each state was written, in epoch milliseconds, by time and action."""
    return {
        order(entry): [timeline.modified_ms[file.name] if (file := entry.file(state)) else None for state in State]
        for entry in timeline.instants
    }


def _between(begun_ms: int | None, ended_ms: int | None) -> int | None:
    return None if begun_ms is None or ended_ms is None or ended_ms < begun_ms else ended_ms - begun_ms
