"""Commit metadata of the write timeline."""

from collections.abc import Collection, Mapping

from hudictl.formats import commit_metadata as fmt
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.instants import COMMIT_ACTIONS, REPLACECOMMIT, Instant, State
from hudictl.formats.plans import RequestedReplace, decode_requested_replace
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, read_instant

Commits = Mapping[str, CommitMetadata]
"""Commit metadata by requested time: of completed writes, and the profiles of those in flight."""


def read_commit(table: Table, instant: Instant) -> CommitMetadata:
    """What a write did, or (while it is in flight) meant to do; empty where it has said nothing. Raises Unreadable."""
    for state in (State.COMPLETED, State.INFLIGHT):
        file = instant.file(state)
        if file is not None and file.action in COMMIT_ACTIONS:
            return fmt.decode(read_instant(table, file), file.name)
    return CommitMetadata()


def load_commits(table: Table, timeline: Timeline, without: Collection[str] = ()) -> Commits:
    """The metadata of the writes on the active timeline, but for those whose time is given. Raises Unreadable."""
    return {
        instant.time: read_commit(table, instant)
        for instant in timeline.writes()
        if instant.time not in without or instant.action == REPLACECOMMIT
    }


def read_requested_replace(table: Table, instant: Instant) -> RequestedReplace:
    """What a replacecommit or clustering was requested for; nothing where there is no request. Raises Unreadable."""
    file = instant.file(State.REQUESTED)
    return decode_requested_replace(read_instant(table, file), file.name) if file else RequestedReplace()


def replaced_groups(timeline: Timeline, commits: Commits, replacecommits: Collection[str]) -> set[tuple[str, str]]:
    """The file groups (partition path, file id) that completed replacecommits put out of sight."""
    return {
        (partition, file_id)
        for instant in timeline.having(REPLACECOMMIT)
        if instant.completed and instant.time in replacecommits
        for partition, ids in commits[instant.time].replaced.items()
        for file_id in ids
    }
