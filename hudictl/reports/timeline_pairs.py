"""``timeline show --with-metadata-table``: the instants of both tables side by side, as hudi-cli joins them."""

from dataclasses import dataclass, replace
from itertools import zip_longest

from hudictl.reports.timeline import Entry, TimelineFilter, instants_shown, times_of
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.table import Table
from hudictl.table.timeline.archive import at_one_time


@dataclass(frozen=True)
class TimelinePair:
    """The instants of one time in the table and in its metadata table; None where one has none. Below table version 8
    the metadata table's own services have three digits more."""

    time: str
    action: str | None
    state: str | None
    completed_utc: str | None
    metadata_action: str | None
    metadata_state: str | None
    metadata_completed_utc: str | None


def timeline_pairs(table: Table, wanted: TimelineFilter) -> list[TimelinePair]:
    """The instants of both, by time. Actions and states are those of the table itself: with these, instants that only
    the metadata table has are left out. Raises Unreadable."""
    metadata = open_metadata_table(table)
    own = _by_time(table, wanted)
    others = _by_time(metadata, replace(wanted, actions=(), states=())) if metadata is not None else {}
    times = set(own) if wanted.actions or wanted.states else {*own, *others}
    return [
        TimelinePair(time, *_told(table, mine), *_told(metadata or table, theirs))
        for time in sorted(times, reverse=wanted.descending)
        for mine, theirs in zip_longest(own.get(time, ()), others.get(time, ()))
    ]


def _by_time(table: Table, wanted: TimelineFilter) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry, _ in at_one_time(lambda: instants_shown(table, wanted)):
        found.setdefault(entry.time, []).append(entry)
    return found


def _told(table: Table, entry: Entry | None) -> tuple[str | None, str | None, str | None]:
    return (entry.action, entry.state.name, times_of(table, entry)[1]) if entry is not None else (None, None, None)
