"""Commit metadata of the write timeline."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn

from hudictl.errors import Conflict, Unreadable
from hudictl.formats import commit_metadata as fmt
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.instants import COMMIT_ACTIONS, REPLACECOMMIT, Instant, State
from hudictl.formats.plans import RequestedReplace, decode_requested_replace
from hudictl.phrases import command_of, first_few
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, read_instant

Commits = Mapping[str, CommitMetadata]
"""Commit metadata by requested time: of completed writes, and the profiles of inflight ones."""


def read_commit(table: Table, instant: Instant) -> CommitMetadata:
    """The metadata of a completed write, or the profile of an inflight one; else empty. Raises Unreadable."""
    for state in (State.COMPLETED, State.INFLIGHT):
        file = instant.file(state)
        if file is not None and file.action in COMMIT_ACTIONS:
            try:
                return fmt.decode(read_instant(table, file), file.name)
            except Unreadable as error:
                if instant.completed or error.hint:
                    raise
                way = f"`{command_of('rollback', instant.time)}` rolls it back, if its writer is dead"
                raise Unreadable(error.message, hint=way, **error.fields) from error
    return CommitMetadata()


def load_commits(table: Table, timeline: Timeline) -> Commits:
    """The metadata of the writes on the active timeline. Raises Unreadable."""
    return {instant.time: read_commit(table, instant) for instant in timeline.writes()}


@dataclass(frozen=True, eq=False)
class LazyCommits(Mapping[str, CommitMetadata]):
    """The metadata of the writes on the active timeline: each is read when it is first used, and raises Unreadable, or
    with ``damaged_ok``, and for instants that are ``damaged``, is empty.

    Most commands use few of them, and one can name very many files: see ``table/files/written.py`` for all of them.
    """

    table: Table
    timeline: Timeline
    damaged_ok: bool = False
    damaged: Collection[str] = ()
    _read: dict[str, CommitMetadata] = field(default_factory=dict, repr=False)

    def __getitem__(self, time: str) -> CommitMetadata:
        if time not in self._read:
            try:
                self._read[time] = read_commit(self.table, self._instants[time])
            except Unreadable:
                if not self.damaged_ok and time not in self.damaged:
                    raise
                self._read[time] = CommitMetadata()
        return self._read[time]

    def __iter__(self) -> Iterator[str]:
        return iter(self._instants)

    def __len__(self) -> int:
        return len(self._instants)

    @cached_property
    def _instants(self) -> dict[str, Instant]:
        return {entry.time: entry for entry in self.timeline.writes()}


def raise_unreadable(commits: Commits, times: Collection[str]) -> NoReturn:
    """Raises Unreadable or Conflict for the first of some commits that an engine could not read."""
    for time in sorted(times):
        commits[time]
    raise Conflict(
        f"the metadata of {first_few(sorted(times))} could not be read, and then it could",
        hint="run the command again",
        instants=sorted(times),
    )


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
