"""Files of the timeline that cannot be read: which they are, and what can be done without loss."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from hudictl.errors import Unreadable
from hudictl.formats import commit_metadata
from hudictl.formats.instants import CLEAN, COMMIT_ACTIONS, INDEXING, Instant, InstantFile, State
from hudictl.phrases import command_of
from hudictl.state.timeline.unfinished import Remedy
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, read_instant


class Way(Enum):
    """How a damaged file is mended; the value is the second reason."""

    DOUBLED = "its first half is whole, and its second half repeats it byte for byte"
    UNUSED = "the instant is completed, and its result can be read: nobody reads how it began"
    FROM_PLAN = "the plan of the instant can be read, and names all that the result says"


@dataclass(frozen=True)
class Damaged:
    """A file of an instant that cannot be read. ``way`` is None where nothing can take its place without loss."""

    instant: Instant
    file: InstantFile
    problem: str
    body: bytes
    way: Way | None


def damaged_files(table: Table, timeline: Timeline, instant: Instant) -> Iterator[Damaged]:
    """The damaged files of an instant. Empty ones are findings of their own, or nobody reads them.

    Raises Conflict: a file disappeared while it was read.
    """
    problems = {file.name: found for file in instant.files if (found := _problem(table, timeline, file))}
    for file in instant.files:
        if file.name in problems:
            body, problem = problems[file.name]
            sound = {other.state for other in instant.files if other.name not in problems}
            yield Damaged(instant, file, problem, body, _way(file, body, sound))


def _problem(table: Table, timeline: Timeline, file: InstantFile) -> tuple[bytes, str] | None:
    if not timeline.sizes[file.name]:
        return None
    body = read_instant(table, file)
    problem = _unread(file, body)
    return (body, problem) if problem else None


def _unread(file: InstantFile, body: bytes) -> str:
    """Why a body cannot be read; "" if it can."""
    try:
        if file.action in COMMIT_ACTIONS and file.state is not State.REQUESTED:
            commit_metadata.decode(body, file.name)
        else:
            commit_metadata.read_record(body, file.name)
    except Unreadable as error:
        return error.message
    return ""


_FROM_PLAN = (CLEAN, INDEXING)


def _way(file: InstantFile, body: bytes, sound: set[State]) -> Way | None:
    if first_half(body) and not _unread(file, first_half(body)):
        return Way.DOUBLED
    if file.state is not State.COMPLETED:
        return Way.UNUSED if State.COMPLETED in sound else None
    return Way.FROM_PLAN if file.action in _FROM_PLAN and State.REQUESTED in sound else None


def first_half(body: bytes) -> bytes:
    """The first half of a body of two equal halves; else nothing."""
    middle = len(body) // 2
    return body[:middle] if body and body == body[:middle] * 2 else b""


def remedy_of_damage(found: Damaged) -> tuple[Remedy, ...]:
    """The command that mends a file without loss."""
    if found.way is None:
        return ()
    leaves = "what cannot be read goes into quarantine; nothing is lost"
    return (Remedy(command_of("timeline quarantine", found.file.time), leaves),)
