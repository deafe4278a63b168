"""Pending cleans, and what they would take; which commits the last clean has kept whole."""

from collections.abc import Iterable, Mapping

from hudictl.formats import clean
from hudictl.formats import instants as fmt
from hudictl.formats.clean import CleanPlan, decode_plan
from hudictl.formats.instants import CLEAN, Instant, State
from hudictl.table.file_view import StoredFile
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, read_instant


def last_commit_retained(table: Table, timeline: Timeline) -> str:
    """The oldest commit that a savepoint may stand on, from the last clean in any state.

    Checked on Hudi 0.15.0 and 1.2.0; where a completed clean names no commit, 1.1 and later take the last write
    before it, older releases the first commit.
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
        earliest = clean.decode_plan(read_instant(table, plan), plan.name).earliest
    else:
        earliest = None
    if earliest is not None:
        return earliest
    if not table.rules.commitless_clean_retains_last:
        return first
    return max((time for time in commits if time <= last.time), default=last.time)


def cleans_in_the_way(
    table: Table, timeline: Timeline, cleans: Iterable[Instant], needed: Mapping[str, StoredFile]
) -> dict[str, int]:
    """Those of some cleans that are pending, and whose plans name needed files or partitions; with the number of such
    files.

    Raises Unreadable: a clean without readable plan, which could name anything.
    """
    found = {}
    for instant in cleans:
        file = instant.file(State.REQUESTED) or instant.file(State.INFLIGHT)
        # Hudi itself throws empty clean plans away.
        if instant.pending and file is not None and timeline.sizes[file.name]:
            taken = _taken(decode_plan(read_instant(table, file), file.name), needed)
            if taken:
                found[instant.time] = taken
    return found


def _taken(plan: CleanPlan, needed: Mapping[str, StoredFile]) -> int:
    return sum(
        file.partition in plan.partitions or file.data.name in plan.files.get(file.partition, ())
        for file in needed.values()
    )


def pending_cleans(timeline: Timeline) -> list[Instant]:
    """Cleans that the next clean would finish from their stored plans."""
    return [instant for instant in timeline.having(CLEAN) if instant.pending]
