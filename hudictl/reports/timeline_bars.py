"""The instants of a table and of its metadata table as bars, for ``timeline report`` and ``timeline show --graph``."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hudictl.errors import Unreadable
from hudictl.formats import instants as fmt
from hudictl.formats.instants import State, parse_time
from hudictl.reports.timeline import Entry, TimelineFilter, instants_readable, tell_damaged
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.table import Table

_ORDER = (
    *(fmt.COMMIT, fmt.DELTACOMMIT, fmt.REPLACECOMMIT, fmt.COMPACTION, fmt.LOGCOMPACTION, fmt.CLUSTERING, fmt.INDEXING),
    *(fmt.CLEAN, fmt.SAVEPOINT, fmt.ROLLBACK, fmt.RESTORE),
)
"""Of lanes: writes, table services, then what goes back."""
_MOST_ROWS = 8
"""Of a lane: more writers at a time share the last row."""


@dataclass(frozen=True)
class Bar:
    """An instant from its request to its completion, in epoch milliseconds. ``end_ms`` is None while it is pending. A
    savepoint has the time of its commit, and no length. Bars of one ``row`` of a lane do not overlap."""

    time: str
    state: str
    begin_ms: int
    end_ms: int | None
    row: int


@dataclass(frozen=True)
class Lane:
    """The instants of one action, oldest first, completed ones before pending ones. ``rows``: how many it needs."""

    action: str
    metadata: bool
    rows: int
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Bars:
    """All lanes, those of the metadata table last. ``undated`` are instants whose times are no dates: Hudi's reserved
    ones, and damaged names. ``damaged``: an error for each file of the archives whose instants are missing."""

    lanes: tuple[Lane, ...]
    undated: tuple[str, ...]
    damaged: tuple[Unreadable, ...] = ()

    def above(self, others: "Bars") -> "Bars":
        """With the lanes of others below."""
        return Bars((*self.lanes, *others.lanes), (*self.undated, *others.undated), (*self.damaged, *others.damaged))

    def tell_damaged(self) -> None:
        """Raises Unreadable: instants are missing."""
        tell_damaged(self.damaged)


def timeline_bars(table: Table, shown: Iterable[tuple[Entry, str]], damaged: Sequence[Unreadable] = ()) -> Bars:
    """The instants of the table itself, as ``instants_readable`` finds them; none of them is read. Times are by the
    table's zone, or this host's if it is not known."""
    return _lanes(table, shown, damaged, metadata=False)


def metadata_bars(table: Table, wanted: TimelineFilter) -> Bars:
    """Those of its metadata table, of all actions and states; none if it has none.

    Raises Unreadable: its timeline folder is missing; Unsupported.
    """
    metadata = open_metadata_table(table)
    if metadata is None:
        return Bars((), ())
    theirs = replace(wanted, actions=(), states=())
    return _lanes(metadata, *instants_readable(metadata, theirs), metadata=True)


def _lanes(table: Table, shown: Iterable[tuple[Entry, str]], damaged: Sequence[Unreadable], *, metadata: bool) -> Bars:
    actions: dict[str, list[Bar]] = {}
    undated = []
    for entry, _ in shown:
        bar = _bar(table, entry)
        if bar is None:
            undated.append(f"{entry.time} {entry.action}" + (" of the metadata table" if metadata else ""))
        else:
            actions.setdefault(entry.action, []).append(bar)
    lanes = (
        _lane(action, bars, metadata)
        for action, bars in sorted(
            actions.items(), key=lambda found: (_ORDER.index(found[0]) if found[0] in _ORDER else len(_ORDER), found[0])
        )
    )
    return Bars(tuple(lanes), tuple(undated), tuple(damaged))


def _bar(table: Table, entry: Entry) -> Bar | None:
    begin = parse_time(entry.time, table.zone)
    if begin is None:
        return None
    begin_ms = int(begin.timestamp() * 1000)
    if entry.state is not State.COMPLETED:
        return Bar(entry.time, entry.state.name, begin_ms, None, 0)
    end = parse_time(entry.completion_time, table.zone) if entry.completion_time else None
    timed = end is not None and entry.action != fmt.SAVEPOINT
    # Layout 1 has modification times, of another clock.
    end_ms = max(begin_ms, int(end.timestamp() * 1000)) if timed and end is not None else begin_ms
    return Bar(entry.time, entry.state.name, begin_ms, end_ms, 0)


def _lane(action: str, bars: Iterable[Bar], metadata: bool) -> Lane:
    """Each bar in the first row that is free at its time; those that have not ended are below all others."""
    ordered = sorted(bars, key=lambda bar: (bar.end_ms is None, bar.begin_ms))
    done = sum(bar.end_ms is not None for bar in ordered)
    ends: list[int] = []
    placed = []
    for bar in ordered[:done]:
        row = _free(ends, bar.begin_ms)
        ends[row:] = [max(bar.end_ms or 0, bar.begin_ms + 1), *ends[row + 1 :]]
        placed.append(Bar(bar.time, bar.state, bar.begin_ms, bar.end_ms, row))
    for number, bar in enumerate(ordered[done:]):
        placed.append(replace(bar, row=min(len(ends) + number, _MOST_ROWS - 1)))
    return Lane(action, metadata, max(bar.row for bar in placed) + 1, tuple(placed))


def _free(ends: Sequence[int], begin_ms: int) -> int:
    free = (row for row, end_ms in enumerate(ends) if end_ms <= begin_ms)
    return min(next(free, len(ends)), _MOST_ROWS - 1)
