"""Commits whose time is ahead: of a clock that was wrong. What Hudi writes next is older by its name, and readers of
copy on write take the newest base file by name: they do not see its rows (0.15.0, 1.0.2, 1.2.0)."""

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta, timezone
from itertools import accumulate

from hudictl.formats.instants import Instant, State, parse_time, time_plus_ms
from hudictl.phrases import count_of, first_few
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, instant_now
from hudictl.table.timeline.file_times import not_kept

# No zone is farther from another one: a later time is ahead in each of them.
_ZONES_MS = timedelta(hours=26) // timedelta(milliseconds=1)
# Many stores report whole seconds; others are exact.
_SLACK_MS = 2000
_EXACT_MS = 50


@dataclass(frozen=True)
class Ahead:
    """A completed commit, and the writes that began after it had ended and are older by their names, oldest first.
    ``future``: its time has not come yet, in no time zone."""

    instant: Instant
    hidden: tuple[str, ...]
    future: bool

    @property
    def meaning(self) -> str:
        hidden = f"; {count_of(len(self.hidden), 'write')} began after it: {first_few(self.hidden, most=3)}"
        what = "its time is in the future" if self.future else "its time was ahead of the clock"
        return f"{what}: writes that begin after it are older by name, and readers may not see their rows" + (
            hidden if self.hidden else ""
        )


def is_ahead(table: Table, instant: Instant) -> bool:
    """Whether the clock has not reached an instant yet."""
    return max(instant.time, instant.completion_time or "") >= instant_now(table)


def latest_of_clocks(table: Table, timeline: Timeline) -> str:
    """The greatest time on the timeline, requested or completed, that a clock in some zone may show by now. ""
    if there is none."""
    limit = _limit(table)
    times = (time for entry in timeline.instants for time in (entry.time, entry.completion_time or ""))
    return max((time for time in times if time <= limit and parse_time(time, timezone.utc) is not None), default="")


def _limit(table: Table) -> str:
    return time_plus_ms(instant_now(table), _ZONES_MS)


def commits_ahead(table: Table, timeline: Timeline) -> list[Ahead]:
    """The completed commits whose time is ahead, by the names and the times of the files, oldest first. Files with the
    times of a copy show only what is in the future."""
    limit = _limit(table)
    hidden = _hidden(timeline, limit)
    return [
        Ahead(entry, tuple(sorted(hidden[entry.time])), entry.time > limit)
        for entry in timeline.completed_writes()
        if entry.time in hidden or entry.time > limit
    ]


def _hidden(timeline: Timeline, limit: str) -> dict[str, list[str]]:
    """The writes that began after a commit with a greater time had ended, by the greatest such time."""
    hidden: dict[str, list[str]] = defaultdict(list)
    made = {entry.time: request for entry in timeline.completed_writes() if (request := entry.file(State.REQUESTED))}
    began = {time: timeline.modified_ms[request.name] for time, request in made.items()}
    if sorted(began) == sorted(began, key=lambda time: (began[time], time)):
        # None is older by its name than one that began before it: so in nearly every table.
        return hidden
    lost = not_kept(timeline.instants, timeline.modified_ms)
    ended = []
    for entry in timeline.completed_writes():
        ended_ms = timeline.modified_ms[entry.files[-1].name]
        began_ms = began.get(entry.time, ended_ms + 1)
        if began_ms <= ended_ms and (entry.time > limit or _is_of_its_time(entry.time, began_ms)):
            ended.append((ended_ms, entry.time))
    ended.sort()
    began = {time: at_ms for time, at_ms in began.items() if lost is None or time not in lost.times}
    newest = list(accumulate((time for _, time in ended), max))
    slack_ms = _EXACT_MS if any(at_ms % 1000 for at_ms in began.values()) else _SLACK_MS
    for time, began_ms in began.items():
        before = bisect_left(ended, (began_ms - slack_ms, ""))
        if before and newest[before - 1] > time:
            hidden[newest[before - 1]].append(time)
    return hidden


def _is_of_its_time(time: str, began_ms: int) -> bool:
    """Whether a file may have been made at the time in its name, by a clock that is wrong by hours, in any zone."""
    moment = parse_time(time, timezone.utc)
    return moment is not None and abs(moment.timestamp() * 1000 - began_ms) <= 2 * _ZONES_MS
