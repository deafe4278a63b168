"""Plans of savepoints to create and to delete, as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hudictl.ops.fingerprint import PLAN_VERSION
from hudictl.ops.session import Kind
from hudictl.state.files.retention import Rules
from hudictl.state.writers.activity import DEFAULT_IDLE_MS
from hudictl.table.locks.config import LockConfig
from hudictl.table.timeline.active import SeenFile

SAVEPOINTS = "savepoints to delete"
"""The fact of a prune's fingerprint."""


@dataclass(frozen=True)
class SavepointOptions:
    """``allow_pending``: create it although an older write is pending, which may complete later, and is not in it.
    ``accept_lost_instants``: go on although data of later instants than the timeline has is there."""

    user: str = ""
    comment: str = ""
    allow_pending: bool = False
    idle_ms: int = DEFAULT_IDLE_MS
    accept_lost_instants: bool = False


@dataclass(frozen=True)
class SavepointPlan:
    """A savepoint to create on the commit ``target``; the names in ``shown`` are those in JSON.

    ``exists``: the commit has a savepoint; ``files_added`` are then the required files that it does not name.
    ``completes_interrupted``: there is an inflight file without a completed one. ``chosen``: the operator named no
    commit. ``file_names`` are the files that it protects, by partition path. ``timeline`` are the timeline files at
    planning. ``warnings`` are what endangers it: a commit of a wrong clock, partitions that were dropped since, empty
    data files, archiving beyond savepoints.
    """

    shown: ClassVar = (
        *("plan_version", "operation", "timezone", "target", "options", "fingerprint", "exists"),
        *("files_added", "completes_interrupted", "user", "comment", "partitions", "files", "bytes", "file_names"),
        *("warnings", "lock"),
    )
    plan_version: ClassVar = PLAN_VERSION
    operation: ClassVar = Kind.SAVEPOINT_CREATE.value

    timezone: str | None
    target: str
    options: SavepointOptions
    fingerprint: Mapping[str, str]
    exists: bool
    files_added: int
    completes_interrupted: bool
    chosen: bool
    user: str
    comment: str
    bytes: int
    file_names: Mapping[str, tuple[str, ...]]
    timeline: frozenset[str]
    lock: LockConfig
    warnings: tuple[str, ...] = ()

    @property
    def nothing_to_do(self) -> bool:
        return self.exists and not self.files_added

    @property
    def partitions(self) -> int:
        return sum(1 for names in self.file_names.values() if names)

    @property
    def files(self) -> int:
        return sum(len(names) for names in self.file_names.values())


@dataclass(frozen=True)
class SavepointDeletion:
    """A savepoint to delete; ``exists`` is False if it has no file at all. ``shown`` as in ``SavepointPlan``."""

    shown: ClassVar = (
        *("plan_version", "operation", "timezone", "target", "options", "fingerprint", "exists", "files_protected"),
        "lock",
    )
    plan_version: ClassVar = PLAN_VERSION
    operation: ClassVar = Kind.SAVEPOINT_DELETE.value
    options: ClassVar[Mapping[str, str]] = {}

    timezone: str | None
    target: str
    fingerprint: Mapping[str, str]
    exists: bool
    files_protected: int
    timeline: frozenset[str]
    lock: LockConfig

    @property
    def nothing_to_do(self) -> bool:
        return not self.exists


@dataclass(frozen=True)
class SavepointReport:
    """The savepoint that was created or deleted, and its number of files."""

    instant: str
    files: int


@dataclass(frozen=True)
class PruneOptions:
    """``tag``: only savepoints with this tag are chosen; without it all that have one, and with ``untagged`` also those
    that have none. ``rules``: which are kept of those with the same tag."""

    rules: Rules
    tag: str | None = None
    untagged: bool = False


@dataclass(frozen=True)
class PruneRow:
    """What becomes of a savepoint, and why it is kept. ``own_bytes`` are those of files that readers do not require,
    and no other savepoint names; None if nothing is to be deleted."""

    instant: str
    tag: str | None
    kept: bool
    reasons: tuple[str, ...]
    own_bytes: int | None = None


@dataclass(frozen=True)
class PrunePlan:
    """The savepoints, newest first, with those to delete; ``shown`` as in ``SavepointPlan``.

    ``unfinished`` are savepoints that an earlier prune has deleted by half: they protect nothing. ``bytes_freed``: what
    cleaning can delete without the savepoints. ``instants_freed``: the commits on the timeline that are older than all
    savepoints without them, and were not before. ``savepoint_files`` are the timeline's files at planning.
    """

    shown: ClassVar = (
        *("plan_version", "operation", "timezone", "target", "options", "fingerprint", "savepoints"),
        *("savepoints_to_delete", "unfinished", "bytes_freed", "instants_freed", "lock"),
    )
    plan_version: ClassVar = PLAN_VERSION
    operation: ClassVar = Kind.SAVEPOINT_PRUNE.value
    target: ClassVar = ""

    timezone: str | None
    options: PruneOptions
    fingerprint: Mapping[str, str]
    savepoints: tuple[PruneRow, ...]
    unfinished: tuple[str, ...]
    bytes_freed: int
    instants_freed: int
    savepoint_files: frozenset[SeenFile]
    lock: LockConfig

    @property
    def savepoints_to_delete(self) -> tuple[str, ...]:
        """Oldest first."""
        return tuple(row.instant for row in reversed(self.savepoints) if not row.kept)

    @property
    def nothing_to_do(self) -> bool:
        return not (self.savepoints_to_delete or self.unfinished)


@dataclass(frozen=True)
class PruneResult:
    """The deleted savepoints, oldest first, and the number of kept ones; the others as in ``PrunePlan``."""

    savepoints_deleted: tuple[str, ...]
    savepoints_kept: int
    bytes_freed: int
    instants_freed: int
