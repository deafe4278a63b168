"""``timeline inspect``: the complete files of one instant, in any state, active and archived."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from hudictl.errors import Refused, Unreadable
from hudictl.formats.archived_timeline import ArchivedInstant, check_written
from hudictl.formats.avro import Body
from hudictl.formats.commit_metadata import RECORD, read_record
from hudictl.formats.instants import InstantFile, State, comparable_action
from hudictl.state.timeline.targets import time_meant
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline, read_instant
from hudictl.table.timeline.archive import archived_files, archived_in_order, at_one_time


@dataclass(frozen=True)
class FileContents:
    """One file of an instant. ``record_type`` is the name of Hudi's record, ``record`` its fields as they are written.

    Both are None for an empty file (many are empty), and for an unreadable one: ``problem`` says why. ``name`` is the
    name of the file, or of the archive's file that contains it. ``bytes`` is None if the archive (layout 1) has only
    the record, not the file.
    """

    name: str
    timeline: str
    action: str
    state: str
    completion_time: str | None
    bytes: int | None
    record_type: str | None
    record: dict[str, Any] | None
    problem: str | None


@dataclass(frozen=True)
class InstantContents:
    """All files of all actions of one time; ``problems`` says what could not be read, or searched."""

    time: str
    files: tuple[FileContents, ...]
    problems: tuple[str, ...]


def inspect_instant(table: Table, time: str) -> InstantContents:
    """Reads all files of a requested time.

    Raises:
        Refused: there is no such instant; the message names those before and after it.
        Unreadable: there is none on the active timeline, and the archive is damaged.
    """
    timeline = load_timeline(table)
    files = list(_active(table, timeline, time))
    problems = []
    try:
        files += _archived(table, time)
    except Unreadable as error:
        if not files:
            raise
        problems.append(error.message)
    if not files:
        raise _absent(table, timeline, time)
    files.sort(key=lambda file: (comparable_action(file.action), file.timeline, State[file.state], file.name))
    problems += [file.problem for file in files if file.problem]
    return InstantContents(time, tuple(files), tuple(problems))


def _active(table: Table, timeline: Timeline, time: str) -> Iterator[FileContents]:
    known = [file for instant in timeline.instants for file in instant.files]
    for file in (*known, *timeline.unknown):
        if file.time == time:
            yield _contents(file.name, "active", file, read_instant(table, file))


def _archived(table: Table, time: str) -> Iterator[FileContents]:
    for entry, body, plan in archived_files(table, time):
        if plan:
            found = _contents(entry.file, "archived", entry, plan)
            # Layout 2 stores the profile of an inflight write in the place of its request.
            state = State.INFLIGHT if found.record_type == RECORD else State.REQUESTED
            yield replace(found, state=state.name, completion_time=None)
        yield _contents(entry.file, "archived", entry, body)


def _contents(name: str, timeline: str, instant: InstantFile | ArchivedInstant, body: Body) -> FileContents:
    record_type, record, problem = None, None, None
    if body:
        try:
            if isinstance(instant, ArchivedInstant):
                check_written(instant, body)
            found = read_record(body, f"{instant.time} {instant.action} in {name}")
            record_type, record = found.name, found.fields
        except Unreadable as error:
            problem = error.message
    return FileContents(
        name,
        timeline,
        instant.action,
        instant.state.name,
        instant.completion_time,
        len(body) if isinstance(body, bytes) else None,
        record_type,
        record,
        problem,
    )


def _absent(table: Table, timeline: Timeline, time: str) -> Refused:
    meant = time_meant(time)
    absent, hint = f"there is no instant {time}, active or archived", "`hudictl timeline show --archived` lists them"
    if meant is None:
        return Refused(absent, hint=hint, instant=time)

    def archived() -> set[str]:
        ends = (archived_in_order(table, until=meant, newest_first=True), archived_in_order(table, since=meant))
        return {entry.time for entries in ends for entry in islice(entries, 1)}

    times = at_one_time(archived)
    times |= {entry.time for entry in timeline.instants} | {file.time for file in timeline.unknown}
    before = max((other for other in times if other < meant), default=None)
    after = min((other for other in times if other > meant), default=None)
    beside = f"the one before is {before or 'none'}, the one after {after or 'none'}"
    return Refused(
        f"{absent}; {f'write it as {meant}' if meant in times - {time} else beside}",
        hint=hint,
        instant=time,
        before=before,
        after=after,
    )
