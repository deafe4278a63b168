"""The writes that may build on another one."""

from hudictl.formats.instants import Instant
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline
from hudictl.table.timeline.commits import read_commit


def builds_on(table: Table, timeline: Timeline, target: Instant) -> list[Instant]:
    """The completed writes that may build on a completed one.

    Hudi compares requested times alone; but a write that began earlier and completed later may have read the target.
    Of two writes side by side neither builds on the other, unless both have changed the same file group: Hudi rolls
    back either one, and readers see the other's rows (0.15.0, 1.2.0).

    Raises Unreadable: the metadata of one of them.
    """
    done = target.completion_time or ""
    later: list[Instant] = []
    beside: list[Instant] = []
    for entry in timeline.completed_writes():
        ended = entry.completion_time or ""
        if entry.time > target.time and ended >= done:
            later.append(entry)
        elif entry.time > target.time or (entry.time < target.time and ended > done):
            beside.append(entry)
    if beside:
        changed = _changed(table, target)
        later += [entry for entry in beside if changed & _changed(table, entry)]
    return later


def _changed(table: Table, instant: Instant) -> frozenset[tuple[str, str]]:
    """The file groups (partition path, file id) that a write has written or replaced."""
    commit = read_commit(table, instant)
    return commit.written_groups | commit.replaced_groups
