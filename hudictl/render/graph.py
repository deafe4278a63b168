"""``timeline show --graph``: bars of instants in signs of a terminal, one row an action, so that a night fits on it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from math import ceil

from hudictl.phrases import printable
from hudictl.render.words import age
from hudictl.reports.timeline_bars import Bar, Bars, Lane

_LEAST = 20
_MOST_NAMED = 5


@dataclass(frozen=True)
class Signs:
    """``shares``: of a cell, from hardly to wholly busy."""

    shares: str
    pending: str
    goes_on: str
    savepoint: str

    @property
    def all(self) -> str:
        return self.shares + self.pending + self.goes_on + self.savepoint


BLOCKS = Signs("▏▎▍▌▋▊▉█", "░", "▶", "◆")
ASCII = Signs("-#", ".", ">", "S")


def signs_for(encoding: str | None) -> Signs:
    """The signs that an output of this encoding has; None is text in memory."""
    try:
        BLOCKS.all.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


@dataclass(frozen=True)
class GraphRow:
    """A row of bars; ``name`` is empty in further rows of a lane. ``pending``: one of them has not ended."""

    name: str
    cells: str
    pending: bool


@dataclass(frozen=True)
class Graph:
    """Rows below the ``head`` with the first and the last moment, and sentences below."""

    head: str
    rows: tuple[GraphRow, ...]
    notes: tuple[str, ...]


def graph(bars: Bars, width: int, signs: Signs, *, zone_known: bool) -> Graph | None:
    """The bars in so many columns, names included; None if there are none."""
    every = [bar for lane in bars.lanes for bar in lane.bars]
    if not every:
        return None
    first = min(bar.begin_ms for bar in every)
    last = max(max(bar.begin_ms, bar.end_ms or 0) for bar in every)
    names = [_name(lane) for lane in bars.lanes]
    columns = max(width - max(map(len, names)) - 2, _LEAST)
    # What has not ended goes on: there is room for that.
    cell_ms = max((last - first) / (columns - max(columns // 16, 2)), 0.001)
    scale = _Scale(first, cell_ms, columns)
    rows = tuple(row for lane, name in zip(bars.lanes, names, strict=True) for row in _rows(lane, name, scale, signs))
    begin, end = _moment(first), f"{_moment(last)} UTC"
    apart = columns - len(begin) - len(end)
    least, most = signs.shares[0], signs.shares[-1]
    key = f"{most} busy ({least} hardly), {signs.pending}{signs.goes_on} pending, {signs.savepoint} savepoint"
    notes = [f"{key}; a column is {age(max(1, round(cell_ms)))}{'' if apart > 0 else f'; up to {end}'}"]
    if not zone_known:
        notes.append("UTC if the writers' zone is this host's (--timezone)")
    notes += _pending(bars)
    if bars.undated:
        notes.append(f"without a date, not drawn: {len(bars.undated):,}")
    return Graph(f"{begin}{' ' * apart}{end}" if apart > 0 else begin, rows, tuple(notes))


@dataclass(frozen=True)
class _Scale:
    first_ms: int
    cell_ms: float
    columns: int

    def place(self, moment_ms: int) -> float:
        return (moment_ms - self.first_ms) / self.cell_ms


def _rows(lane: Lane, name: str, scale: _Scale, signs: Signs) -> Iterator[GraphRow]:
    for row in range(lane.rows):
        bars = [bar for bar in lane.bars if bar.row == row]
        cells = _cells(bars, scale, signs, savepoints=lane.action == "savepoint")
        yield GraphRow(name if row == 0 else "", cells, any(bar.end_ms is None for bar in bars))


def _cells(bars: Sequence[Bar], scale: _Scale, signs: Signs, *, savepoints: bool) -> str:
    busy, cells = [0.0] * scale.columns, [" "] * scale.columns
    for bar in bars:
        begin = scale.place(bar.begin_ms)
        if bar.end_ms is not None:
            end = max(scale.place(bar.end_ms), begin + 0.01)
            for number in range(int(begin), min(int(end) + 1, scale.columns)):
                busy[number] += max(0.0, min(end, number + 1) - max(begin, number))
    for number, share in enumerate(busy):
        if share > 0:
            cells[number] = signs.shares[min(ceil(share * len(signs.shares)), len(signs.shares)) - 1]
    for bar in bars:
        begin = int(scale.place(bar.begin_ms))
        if bar.end_ms is None:
            cells[begin:] = [signs.pending] * (scale.columns - begin - 1) + [signs.goes_on]
        elif savepoints:
            cells[begin] = signs.savepoint
    return "".join(cells)


def _name(lane: Lane) -> str:
    name = printable(lane.action)
    return (name if len(name) <= 20 else f"{name[:17]}...") + (" (metadata)" if lane.metadata else "")


def _pending(bars: Bars) -> Iterator[str]:
    """Those of the table itself."""
    found = [(lane, bar) for lane in bars.lanes if not lane.metadata for bar in lane.bars if bar.end_ms is None]
    for lane, bar in found[:_MOST_NAMED]:
        yield f"pending: {bar.time} {lane.action} {bar.state}"
    if len(found) > _MOST_NAMED:
        yield f"pending: {len(found) - _MOST_NAMED:,} more"


def _moment(epoch_ms: int) -> str:
    return f"{datetime.fromtimestamp(epoch_ms / 1000, timezone.utc):%Y-%m-%d %H:%M:%S}"
