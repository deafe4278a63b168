"""Files of the timeline that cannot be read: which they are, and what can be done without loss."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from hudictl.errors import Unreadable
from hudictl.formats import clean, commit_metadata, savepoint
from hudictl.formats.avro import Body
from hudictl.formats.instants import (
    CLEAN,
    COMMIT_ACTIONS,
    COMPACTION,
    INDEXING,
    LOGCOMPACTION,
    REPLACECOMMIT,
    RESTORE,
    ROLLBACK,
    SAVEPOINT,
    Instant,
    InstantFile,
    State,
    instant_file_name,
)
from hudictl.phrases import command_of
from hudictl.state.timeline.remedy import Remedy
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, read_instant
from hudictl.table.timeline.commits import read_requested_replace


class Way(Enum):
    """How a damaged file is mended; the value is the second reason."""

    DOUBLED = "its first half is whole, and its second half repeats it byte for byte"
    UNUSED = "the instant is completed, and its result can be read: nobody reads how it began"
    FROM_RESULT = "the result of the instant can be read; Hudi 0.15.0 archives no such instant without a plan"
    FROM_PLAN = "the plan of the instant can be read, and names all that the result says"
    FROM_FILES = "the data files of the instant are there, and say what was written"
    NOT_BEGUN = "the restore has not begun, and so has changed nothing"
    TO_SAVEPOINT = "a restore goes back to a savepoint, and removes all writes after it"
    SAVED_FILES = "all files that readers of the savepoint need are there"


@dataclass(frozen=True)
class Damaged:
    """A file of an instant that cannot be read. ``way`` is None where nothing can take its place without loss."""

    instant: Instant
    file: InstantFile
    problem: str
    body: bytes
    way: Way | None


def damaged_files(
    table: Table, timeline: Timeline, instant: Instant, decoded: Collection[str] = ()
) -> Iterator[Damaged]:
    """The damaged files of an instant. Empty ones are damaged where they complete a write or a savepoint, or where Hudi
    0.15.0 reads the request when it archives; others are not read, or are findings of their own. Those that were
    ``decoded`` before, by their names, are not read again.

    Raises Conflict: a file disappeared while it was read.
    """
    files = [file for file in instant.files if file.name not in decoded]
    problems = {file.name: found for file in files if (found := _problem(table, timeline, file, instant.state))}
    for file in instant.files:
        if file.name in problems:
            body, problem = problems[file.name]
            sound = {other.state for other in instant.files if other.name not in problems}
            yield Damaged(instant, file, problem, body, _way(table, instant, file, body, sound))
    if instant.action == RESTORE and instant.state is State.INFLIGHT and instant.file(State.REQUESTED) is None:
        name = instant_file_name(instant.time, RESTORE, State.REQUESTED, table.layout.version)
        file = InstantFile(name, instant.time, RESTORE, State.REQUESTED)
        yield Damaged(instant, file, f"{name} is missing", b"", Way.TO_SAVEPOINT)


def _problem(table: Table, timeline: Timeline, file: InstantFile, state: State) -> tuple[bytes, str] | None:
    if not timeline.sizes[file.name]:
        told = file.state is State.COMPLETED and file.action in (*COMMIT_ACTIONS, SAVEPOINT)
        told = told or (file.state is State.REQUESTED and state is State.INFLIGHT and file.action == RESTORE)
        # Hudi 1.2.0 leaves the inflight file of a clean empty, on version 6, too.
        told = told or (file.state is State.REQUESTED and state is State.COMPLETED and _is_archived(table, file))
        return (b"", f"{file.name} is empty") if told else None
    body = read_instant(table, file)
    problem = _unread(file, body)
    return (body, problem) if problem else None


def _unread(file: InstantFile, body: bytes) -> str:
    """Why a body cannot be read; "" if it can."""
    try:
        if file.action in COMMIT_ACTIONS and file.state is not State.REQUESTED:
            commit_metadata.decode(body, file.name)
        else:
            record = commit_metadata.read_record(body, file.name)
            decode = _DECODERS.get((file.action, file.state))
            if decode is not None:
                decode(record, file.name)
    except Unreadable as error:
        return error.message
    return ""


_DECODERS: Mapping[tuple[str, State], Callable[[Body, str], object]] = {
    (SAVEPOINT, State.COMPLETED): savepoint.decode,
    (CLEAN, State.REQUESTED): clean.decode_plan,
    (CLEAN, State.COMPLETED): clean.decode_metadata,
}
"""Of records that are not those of commits: one of another kind is as damaged as one that cannot be read."""
_FROM_PLAN = (CLEAN, INDEXING, ROLLBACK)
_ARCHIVES_RESULTS = 2
"""From this timeline layout on."""


def _way(table: Table, instant: Instant, file: InstantFile, body: bytes, sound: set[State]) -> Way | None:
    if first_half(body) and not _unread(file, first_half(body)):
        return Way.DOUBLED
    if file.action == RESTORE and file.state is State.REQUESTED and instant.pending:
        return Way.NOT_BEGUN if instant.state is State.REQUESTED else Way.TO_SAVEPOINT
    if file.state is not State.COMPLETED:
        if State.COMPLETED not in sound:
            return None
        return Way.FROM_RESULT if _is_archived(table, file) else Way.UNUSED
    if file.action in _FROM_PLAN:
        return Way.FROM_PLAN if State.REQUESTED in sound else None
    if file.action == SAVEPOINT:
        return Way.SAVED_FILES
    if file.action == REPLACECOMMIT:
        return Way.FROM_FILES if State.REQUESTED in sound and is_clustering(table, instant) else None
    return Way.FROM_FILES if file.action in COMMIT_ACTIONS else None


def _is_archived(table: Table, file: InstantFile) -> bool:
    """Whether Hudi reads how an instant began when it archives it, and fails on an empty file: Hudi 0.15.0 does, of
    cleans and compactions."""
    begins = file.state is State.REQUESTED and file.action in (COMPACTION, LOGCOMPACTION)
    return table.layout.version < _ARCHIVES_RESULTS and (begins or file.action == CLEAN)


def is_clustering(table: Table, instant: Instant) -> bool:
    """Whether a replacecommit is a clustering: its plan names the file groups that it replaces. Raises Unreadable."""
    request = instant.file(State.REQUESTED)
    return request is not None and read_requested_replace(table, instant).is_clustering


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
