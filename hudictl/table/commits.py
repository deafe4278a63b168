"""Commit metadata of the write timeline."""

from collections.abc import Collection, Mapping

from hudictl.formats import commit_metadata as fmt
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.instants import COMMIT_ACTIONS, REPLACECOMMIT, Instant, State
from hudictl.formats.plans import RequestedReplace, decode_requested_replace
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, read_instant

Commits = Mapping[str, CommitMetadata]
"""Commit metadata by requested time: of completed writes, and the profiles of inflight ones."""


def read_commit(table: Table, instant: Instant) -> CommitMetadata:
    """The metadata of a completed write, or the profile of an inflight one; else empty. Raises Unreadable."""
    for state in (State.COMPLETED, State.INFLIGHT):
        file = instant.file(state)
        if file is not None and file.action in COMMIT_ACTIONS:
            return fmt.decode(read_instant(table, file), file.name)
    return CommitMetadata()


def load_commits(table: Table, timeline: Timeline, without: Collection[str] = ()) -> Commits:
    """The metadata of the writes on the active timeline, except the given times. Raises Unreadable."""
    return {
        instant.time: read_commit(table, instant)
        for instant in timeline.writes()
        if instant.time not in without or instant.action == REPLACECOMMIT
    }


def table_schema(table: Table, timeline: Timeline, until: str) -> str | None:
    """The schema of the newest completed write that has one, as Avro JSON without Hudi's own columns.

    Args:
        until: the latest requested time that counts.

    Raises:
        Unreadable.
    """
    for instant in reversed(timeline.completed_writes()):
        file = instant.file(State.COMPLETED)
        if instant.time <= until and file is not None and file.action in COMMIT_ACTIONS:
            found = fmt.decode_schema(read_instant(table, file), file.name)
            if found is not None:
                return found
    return None


def read_requested_replace(table: Table, instant: Instant) -> RequestedReplace:
    """The request of a replacecommit or clustering; an empty one if there is none. Raises Unreadable."""
    file = instant.file(State.REQUESTED)
    return decode_requested_replace(read_instant(table, file), file.name) if file else RequestedReplace()


def replaced_groups(timeline: Timeline, commits: Commits, replacecommits: Collection[str]) -> set[tuple[str, str]]:
    """The file groups (partition path, file id) that completed replacecommits have replaced."""
    return {
        (partition, file_id)
        for instant in timeline.having(REPLACECOMMIT)
        if instant.completed and instant.time in replacecommits
        for partition, ids in commits[instant.time].replaced.items()
        for file_id in ids
    }
