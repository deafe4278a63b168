"""Plans of savepoints to create and to delete, as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hudictl.ops.fingerprint import PLAN_VERSION
from hudictl.ops.session import Kind
from hudictl.state.writers.activity import DEFAULT_IDLE_MS
from hudictl.table.locks.config import LockConfig


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
    data files.
    """

    shown: ClassVar = (
        *("plan_version", "operation", "timezone", "target", "options", "fingerprint", "exists"),
        *(
            "files_added",
            "completes_interrupted",
            "user",
            "comment",
            "partitions",
            "files",
            "bytes",
            "file_names",
            "warnings",
            "lock",
        ),
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


@dataclass(frozen=True)
class SavepointReport:
    """The savepoint that was created or deleted, and its number of files."""

    instant: str
    files: int
