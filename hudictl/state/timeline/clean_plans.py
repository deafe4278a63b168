"""Pending cleans, and the files that they would delete; the commits that the last clean has fully kept."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from hudictl.errors import Unreadable
from hudictl.formats import clean
from hudictl.formats import instants as fmt
from hudictl.formats.avro import decode
from hudictl.formats.clean import CleanPlan, decode_plan
from hudictl.formats.instants import CLEAN, Instant, InstantFile, State
from hudictl.phrases import command_of
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, read_instant


def last_commit_retained(table: Table, timeline: Timeline) -> str:
    """The oldest commit that can get a savepoint, by the last clean in any state.

    If a completed clean names no commit, 1.1 and later use the last write before it, older releases the first commit
    (checked on Hudi 0.15.0 and 1.2.0).
    """
    commits = [entry.time for entry in timeline.completed_writes()]
    first = min(commits, default="")
    last = max(timeline.having(fmt.CLEAN), key=lambda entry: entry.time, default=None)
    if last is None:
        return first
    file = last.file(last.state)
    plan = last.file(State.REQUESTED)
    if last.completed and file is not None and timeline.sizes[file.name]:
        earliest = clean.decode_metadata(read_instant(table, file), file.name).earliest
    elif plan is not None and timeline.sizes[plan.name]:
        earliest = read_plan(table, plan).earliest
    else:
        earliest = None
    if earliest is not None:
        return earliest
    if not table.rules.commitless_clean_retains_last:
        return first
    return max((time for time in commits if time <= last.time), default=last.time)


def check_last_clean(table: Table, timeline: Timeline) -> None:
    """Raises Unreadable: the result of the last clean. Every writer that cleans fails on it (0.15.0 to 1.2.0)."""
    done = [file for entry in timeline.having(CLEAN) if (file := entry.file(State.COMPLETED)) is not None]
    if done and timeline.sizes[done[-1].name]:
        clean.decode_metadata(read_instant(table, done[-1]), done[-1].name)


def files_to_clean(
    table: Table, timeline: Timeline, cleans: Iterable[Instant]
) -> dict[str, dict[str, frozenset[str] | None]]:
    """What the pending ones of some cleans would delete: by partition path and clean, the file names; None for a whole
    partition.

    Raises Unreadable: a clean without a readable plan, because it could name any file.
    """
    found: dict[str, dict[str, frozenset[str] | None]] = defaultdict(dict)
    for instant in cleans:
        file = plan_file(table, timeline, instant)
        # An empty plan deletes nothing: Hudi removes the clean, or fails on it.
        if instant.pending and file is not None and timeline.sizes[file.name]:
            plan = read_plan(table, file)
            for path, names in plan.files.items():
                found[path][instant.time] = names
            for path in plan.partitions:
                found[path][instant.time] = None
    return found


def read_plan(table: Table, file: InstantFile) -> CleanPlan:
    """The plan of a clean. Raises Unreadable."""
    try:
        return decode_plan(read_instant(table, file), file.name)
    except Unreadable as error:
        raise Unreadable(error.message, hint="`hudictl check` shows what to do", **error.fields) from error


def removal_of(instant: Instant) -> str:
    """The command that removes a pending clean without plan."""
    return command_of("clean discard", instant.time)


@dataclass(frozen=True)
class CleanWithoutPlan:
    """A pending clean whose plan cannot be read, and why. ``dropped``: Hudi's next clean removes it; otherwise every
    clean fails on it."""

    instant: Instant
    problem: str
    dropped: bool


def cleans_without_plan(table: Table, timeline: Timeline) -> list[CleanWithoutPlan]:
    """The pending cleans whose plan cannot be read."""
    return [found for instant in pending_cleans(timeline) if (found := _without_plan(table, timeline, instant))]


def _without_plan(table: Table, timeline: Timeline, instant: Instant) -> CleanWithoutPlan | None:
    file = plan_file(table, timeline, instant)
    if file is None:
        return CleanWithoutPlan(instant, "it has no requested file, and so no plan", dropped=False)
    if not timeline.sizes[file.name]:
        dropped = not table.rules.cleans_read_from_request
        return CleanWithoutPlan(instant, f"{file.name} has no content", dropped)
    try:
        # Hudi may understand a complete plan that hudictl does not.
        decode(read_instant(table, file), clean.PLAN, file.name, lambda value: value)
    except Unreadable as error:
        return CleanWithoutPlan(instant, error.message, dropped=False)
    return None


def plan_file(table: Table, timeline: Timeline, instant: Instant) -> InstantFile | None:
    """The file from which Hudi reads the plan of a pending clean. Older releases delete an empty newest file, and then
    read the next one."""
    if table.rules.cleans_read_from_request:
        return instant.file(State.REQUESTED)
    files = (instant.file(State.INFLIGHT), instant.file(State.REQUESTED))
    found = [file for file in files if file is not None]
    return next((file for file in found if timeline.sizes[file.name]), found[-1] if found else None)


def pending_cleans(timeline: Timeline) -> list[Instant]:
    """The cleans that Hudi's next clean would finish from their stored plans."""
    return [instant for instant in timeline.having(CLEAN) if instant.pending]
