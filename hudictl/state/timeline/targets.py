"""The target of an operation, found on the timeline."""

import re
from collections.abc import Collection, Sequence
from contextlib import suppress

from hudictl.errors import Refused, Unreadable
from hudictl.formats.instants import COMMIT_ACTIONS, INITIAL, RESTORE, ROLLBACK, Instant
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline
from hudictl.table.timeline.archive import archived_in_order, at_one_time

BOOTSTRAP_AGAIN = "delete the table's folder, and bootstrap it again from the source"
_TIME = re.compile(r"\s*[0-9]{4}|[0-9]+$")
_ZONE = re.compile(r"[T ].*[Z+-]")
_SIGNS = re.compile(r"[-T:.\s]")


def find_target(table: Table, timeline: Timeline, time: str, stored: Collection[Instant]) -> Instant | None:
    """The write to roll back; None if it no longer exists, and only its rollback must be finished. Raises Refused:
    there is none; Unreadable: there are several, and their files cannot be told apart."""
    found = [entry for entry in timeline.writes() if entry.time == time]
    if len(found) > 1:
        raise Unreadable(
            f"{time} is the time of {len(found)} writes: {', '.join(str(entry) for entry in found)}",
            hint="their files cannot be told apart: use a restore, to remove all of these writes",
            instant=time,
        )
    if not found and not stored:
        other = next((entry for entry in timeline.instants if entry.time == time), None)
        what = f"{_article(other.action)} {other.action}, not a write" if other else "not on the active timeline"
        unfinished = other is not None and other.pending and other.action in (RESTORE, ROLLBACK)
        raise Refused(
            f"{time} is {what}: it cannot be rolled back",
            hint="it is pending: `hudictl resume` finishes it, or names the ways to end it"
            if unfinished
            else what_it_may_be(table, timeline, time),
            instant=time,
        )
    return found[0] if found else None


def find_commit(table: Table, timeline: Timeline, time: str) -> Instant:
    """A completed commit on the active timeline. Raises Refused."""
    instant = timeline.find(time, *COMMIT_ACTIONS)
    if instant is None or not instant.completed:
        state = "not a commit on the active timeline" if instant is None else f"pending ({instant.state.name})"
        raise Refused(
            f"{time} is {state}",
            hint=what_it_may_be(table, timeline, time),
            instant=time,
        )
    return instant


def what_it_may_be(table: Table, timeline: Timeline, time: str) -> str:
    """What a time that no active instant has may stand for, as a hint: a completion time, an archived instant, or a
    neighbour mistyped."""
    if time == INITIAL:
        return f"it stands for the time before a bootstrap: {BOOTSTRAP_AGAIN}"
    for entry in timeline.instants:
        if entry.completed and entry.completion_time == time:
            return f"{time} is the completion time of {entry}: give its instant time, {entry.time}"
    if archived := _archived(table, time):
        return f"{time} is an archived {archived}: it can be neither rolled back nor restored to"
    near = " and ".join(_nearest(sorted({entry.time for entry in timeline.instants}), time))
    return f"{f'nearest on the active timeline: {near}; ' if near else ''}`hudictl timeline show --archived` lists all"


def time_meant(said: str) -> str | None:
    """A time, which may be written as a date, as an instant has it; None for what is no time, or one of a zone."""
    return None if not _TIME.match(said) or _ZONE.search(said) else _SIGNS.sub("", said)


def _nearest(times: Sequence[str], said: str) -> list[str]:
    digits = time_meant(said)
    if digits is None:
        return []
    if digits != said and digits in times:
        return [digits]
    return [*[other for other in times if other < digits][-1:], *[other for other in times if other > digits][:1]]


def _archived(table: Table, time: str) -> str | None:
    """The action of the archived instant of a time; None if there is none, or the archive cannot be read."""
    with suppress(Unreadable, OSError):
        for entry in at_one_time(lambda: list(archived_in_order(table, time, time))):
            return entry.action
    return None


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"
