"""Instants that undo what other commits have done to file groups, without an error.

A clustering reads its file groups as they were when it was planned. If a commit replaces them, or writes into them,
before the clustering runs, the run brings the replaced rows back, or loses the written ones (seen with 0.15.0, 1.0.2
and 1.2.0; hudi#18830, hudi#19074). Two overwrites of the same file groups both leave their rows.
"""

from collections.abc import Collection, Iterable, Mapping

from hudictl.formats.instants import CLUSTERING, REPLACECOMMIT, Instant
from hudictl.formats.layouts import HASHING_METADATA
from hudictl.state.timeline.removed import unseen
from hudictl.state.timeline.service_plans import service_of
from hudictl.storage import entries_of
from hudictl.table.files.slices import Group
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline
from hudictl.table.timeline.commits import Commits, LazyCommits, read_requested_replace

# They rewrite rows, and change none.
_COMPACTIONS = ("COMPACT", "LOG_COMPACT")
_REPLACING = (REPLACECOMMIT, CLUSTERING)


def undone_by(
    table: Table, commits: Commits, instant: Instant, others: Iterable[Instant], *, replaced_only: bool = False
) -> Mapping[str, frozenset[str]]:
    """The completed writes whose changes an instant undoes, or will undo once completed, each with the partitions.

    Args:
        instant: a clustering or an overwrite, completed or pending; another instant undoes none.
        others: the writes to look at.
        replaced_only: whether only those count that replace file groups.

    Raises Unreadable.
    """
    found = groups_undone(table, commits, instant, others, replaced_only=replaced_only)
    return {time: frozenset(partition for partition, _ in groups) for time, groups in found.items()}


def groups_undone(
    table: Table, commits: Commits, instant: Instant, others: Iterable[Instant], *, replaced_only: bool = False
) -> dict[str, frozenset[Group]]:
    """The same with the file groups. Raises Unreadable."""
    groups = _replaced_by(table, commits, instant)
    if not groups:
        return {}
    found = {}
    for other in others:
        if other.completed and other.time != instant.time:
            common = groups & _replaced(commits, other)
            if instant.completed:
                # A run that has found the groups replaced has written nothing (0.15.0 on merge on read).
                common = frozenset(group for group in common if commits[instant.time].stats.get(group[0]))
            if not (common or replaced_only) and _later(table, instant, other):
                common = groups & _written(commits, other)
                # While a bucket is resized, updates are written to both.
                common = common if common and not entries_of(table.storage, HASHING_METADATA) else frozenset()
            if common:
                found[other.time] = common
    return found


def undone_after(
    table: Table, timeline: Timeline, target: Instant, removed: Collection[str]
) -> dict[str, Mapping[str, frozenset[str]]]:
    """What instants undo that readers of a target did not see, and that a restore to it would keep: see ``undone_by``.

    Args:
        removed: the instants that the restore removes.

    Raises Unreadable.
    """
    commits = LazyCommits(table, timeline)
    kept = [entry for entry in timeline.writes() if entry.time not in removed]
    late = [entry for entry in unseen(timeline, target) if entry.action in _REPLACING and entry in kept]
    found = {entry.time: undone_by(table, commits, entry, kept) for entry in late}
    return {time: undone for time, undone in found.items() if undone}


def bare_after(
    table: Table, timeline: Timeline, target: Instant, removed: Collection[str]
) -> dict[str, Mapping[str, frozenset[str]]]:
    """The overwrites that readers of a target saw and a restore to it would remove, by the clustering that it would
    keep and that has replaced the same file groups, and written nothing there: neither the rows of the one nor those
    before it would be read. As ``undone_after``.

    Raises Unreadable.
    """
    commits, hidden = LazyCommits(table, timeline), unseen(timeline, target)
    replacing = [entry for entry in timeline.writes() if entry.action in _REPLACING and entry not in hidden]
    gone = [entry for entry in replacing if entry.time in removed]
    kept = [entry for entry in replacing if entry.time not in removed] if gone else []
    found = {entry.time: _left_bare(commits, entry, gone) for entry in kept if is_clustering(table, commits, entry)}
    return {time: bare for time, bare in found.items() if bare}


def _left_bare(commits: Commits, kept: Instant, gone: Iterable[Instant]) -> Mapping[str, frozenset[str]]:
    """The overwrites of which one that is kept has replaced the same file groups without writing there, each with the
    partitions. Raises Unreadable."""
    empty = {group for group in _replaced(commits, kept) if not commits[kept.time].stats.get(group[0])}
    found = {entry.time: frozenset(path for path, _ in empty & _replaced(commits, entry)) for entry in gone}
    return {time: partitions for time, partitions in found.items() if partitions}


def is_clustering(table: Table, commits: Commits, instant: Instant) -> bool:
    """Whether an instant is a clustering, pending or completed. Raises Unreadable."""
    if instant.completed:
        return instant.action == REPLACECOMMIT and commits[instant.time].operation == "CLUSTER"
    return service_of(table, instant) == CLUSTERING


def _later(table: Table, instant: Instant, other: Instant) -> bool:
    """Whether a write was not part of what the instant was planned on. Where names have no completion times, those of
    files decide nothing here: a copy has others."""
    completed = other.completion_time if table.rules.has_completion_times else None
    return other.time > instant.time or (completed or "") > instant.time


def _replaced_by(table: Table, commits: Commits, instant: Instant) -> frozenset[Group]:
    if instant.completed:
        return _replaced(commits, instant)
    return read_requested_replace(table, instant).groups


def _replaced(commits: Commits, write: Instant) -> frozenset[Group]:
    if write.action != REPLACECOMMIT:
        return frozenset()
    return commits[write.time].replaced_groups


def _written(commits: Commits, write: Instant) -> frozenset[Group]:
    commit = commits[write.time]
    if commit.operation in _COMPACTIONS:
        return frozenset()
    return commit.written_groups
