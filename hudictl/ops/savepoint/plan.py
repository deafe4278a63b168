"""Plans of savepoints to create and to delete, as data."""

from collections.abc import Mapping
from dataclasses import dataclass

from hudictl.state.writers import DEFAULT_IDLE_MS


@dataclass(frozen=True)
class SavepointReport:
    """The savepoint that was created or deleted, and how many files it protects."""

    instant: str
    files: int


@dataclass(frozen=True)
class SavepointOptions:
    """``allow_pending``: although an older write is pending, which may complete later and then is not in it."""

    user: str = ""
    comment: str = ""
    allow_pending: bool = False
    idle_ms: int = DEFAULT_IDLE_MS


@dataclass(frozen=True)
class SavepointPlan:
    """A savepoint to create: the files that it protects, by partition path. ``completes`` a lone inflight file."""

    table: str
    instant: str
    options: SavepointOptions
    user: str
    comment: str
    files: Mapping[str, tuple[str, ...]]
    size: int
    exists: bool
    completes: bool
    chosen: bool
    timeline: frozenset[str]
    fingerprint: Mapping[str, str]

    @property
    def file_count(self) -> int:
        return sum(len(names) for names in self.files.values())


@dataclass(frozen=True)
class SavepointDeletion:
    """A savepoint to delete; ``exists`` is False where nothing of it is there."""

    table: str
    instant: str
    exists: bool
    file_count: int
    timeline: frozenset[str]
    fingerprint: Mapping[str, str]
