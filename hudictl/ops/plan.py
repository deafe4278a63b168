"""Operation plans: what a command will do, as data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from hudictl.formats.instants import Instant, State
from hudictl.table.file_view import StoredFile
from hudictl.table.heartbeats import DEFAULT_RULE, HeartbeatRule
from hudictl.workers import BlockTask

PLAN_VERSION = 1
DEFAULT_IDLE_MS = 10 * 60 * 1000
"""A pending write without heartbeat that changed less than this ago counts as running."""


@dataclass(frozen=True, slots=True)
class BlockTarget:
    """A file slice that gets a rollback block for one instant (table version 6): ``log`` is the log with its blocks."""

    partition: str
    file_id: str
    base_instant: str
    log: str
    log_size: int

    @property
    def slice(self) -> tuple[str, str, str]:
        return self.partition, self.file_id, self.base_instant


@dataclass(frozen=True)
class Removal:
    """One instant that goes. ``rollback`` is the stored rollback that already covers it, if there is one; with
    ``bases_only`` (a compaction whose plan stays) the logs under its name stay: later writes lie in them."""

    time: str
    action: str
    instant: Instant | None
    operation: str
    records: int
    files: tuple[StoredFile, ...]
    blocks: tuple[BlockTarget, ...]
    rollback: str | None
    bases_only: bool = False

    @property
    def size(self) -> int:
        return sum(file.size or 0 for file in self.files)

    def owns(self, file: StoredFile) -> bool:
        """Whether a data file goes with the instant, by its name."""
        return file.data.instant == self.time and (file.data.is_base or not self.bases_only)

    def files_by_partition(self) -> dict[str, list[StoredFile]]:
        partitions: dict[str, list[StoredFile]] = {}
        for file in self.files:
            partitions.setdefault(file.partition, []).append(file)
        return partitions


@dataclass(frozen=True)
class RestoreOptions:
    """How a restore is asked for.

    ``to_instant``: the target needs no savepoint; ``rule``: see ``ops.rules``; ``idle_ms``: how long a pending write
    must have been silent to count as dead; ``settle_s``: the wait for writers that began between planning and
    ``restore.requested``; ``grace_s``: the wait for running queries between un-publishing and deleting;
    ``discard_rollbacks``: of instants that stay, where nothing of them was done; ``keep_backup``: the removed instants'
    files stay in ``.hoodie/.rollback_backup``.
    """

    to_instant: bool = False
    rule: str | None = None
    delete_later_savepoints: bool = False
    discard_rollbacks: bool = False
    idle_ms: int = DEFAULT_IDLE_MS
    settle_s: float = 2.0
    grace_s: float = 0.0
    keep_backup: bool = False


@dataclass(frozen=True)
class PendingView:
    """A pending restore as it was found: how many of its instants are gone, taken back, and still completed."""

    restore: str
    target: str | None
    own: bool
    state: str
    gone: int
    taken_back: int
    completed: int


@dataclass(frozen=True)
class RestorePlan:
    """A restore to ``target``.

    ``removals`` newest first; ``rollbacks`` are the rollback instants to remove, ``discarded`` those of instants that
    stay; ``cleans`` the pending cleans to discard (with the number of needed files that each would take), ``bare`` the
    partitions whose metafile is made anew, ``indexes`` the metadata table's partitions that go with it, ``stays``
    pending writes that stay; ``newer_compactions`` stay too, so that the read-optimised view is newer than at the
    target; ``savepoints`` are later ones, which go; ``protects``: no savepoint but hudictl's own is on the target.
    ``timeline`` is what the plan rests on; ``restore`` is the pending restore that the plan goes on with,
    ``withdrawn`` one that was only requested: nothing of it was done, and it is planned anew; ``superseded`` are other
    pending restores, of which nothing is left to do after this one; ``found`` describes all of them.
    ``fingerprint`` is what must be the same for a saved plan to be applied.
    """

    table: str
    table_version: int
    target: str
    options: RestoreOptions
    rule: str
    restore: str | None
    withdrawn: str | None
    superseded: tuple[str, ...]
    found: tuple[PendingView, ...]
    removals: tuple[Removal, ...]
    savepoints: tuple[str, ...]
    rollbacks: tuple[str, ...]
    discarded: tuple[str, ...]
    cleans: Mapping[str, int]
    bare: tuple[str, ...]
    metadata_table: bool
    indexes: tuple[str, ...]
    stays: tuple[str, ...]
    newer_compactions: tuple[str, ...]
    protects: bool
    needed: Mapping[str, StoredFile]
    blocks: tuple[BlockTask, ...]
    timeline: frozenset[str]
    fingerprint: Mapping[str, str]

    @cached_property
    def removed(self) -> frozenset[str]:
        """Their times: asked once a file."""
        return frozenset(removal.time for removal in self.removals)

    @property
    def file_count(self) -> int:
        return sum(len(removal.files) for removal in self.removals)

    @property
    def size(self) -> int:
        return sum(removal.size for removal in self.removals)

    @property
    def nothing_to_do(self) -> bool:
        return not (self.removals or self.restore or self.withdrawn or self.discarded)

    @property
    def summary(self) -> dict[str, Any]:
        """The plan for the operation's record; the files are named in the restore's own metadata."""
        return {
            "options": asdict(self.options),
            "fingerprint": dict(self.fingerprint),
            "instants": [
                {"time": entry.time, "action": entry.action, "files": len(entry.files), "bytes": entry.size}
                for entry in self.removals
            ],
            "savepoints_deleted": list(self.savepoints),
            "rollbacks_removed": list(self.rollbacks),
            "rollbacks_discarded": list(self.discarded),
            "cleans_discarded": list(self.cleans),
            "indexes_lost": list(self.indexes),
        }


class MetadataStep(Enum):
    """What becomes of the metadata table where one instant is rolled back."""

    KEEP = "kept"
    ROLL_BACK = "rolled back"
    DELETE = "deleted"


@dataclass(frozen=True)
class RollbackOptions:
    """How a rollback is asked for.

    ``keep_plan``: a pending compaction or clustering goes back to requested; ``idle_ms``: how long a pending write
    without heartbeat must have been silent to count as dead; ``interval_ms`` and ``misses``: see ``HeartbeatRule``; the
    others as in ``RestoreOptions``.
    """

    keep_plan: bool = False
    idle_ms: int = DEFAULT_IDLE_MS
    interval_ms: int = DEFAULT_RULE.interval_ms
    misses: int = DEFAULT_RULE.misses
    settle_s: float = 2.0
    grace_s: float = 0.0
    keep_backup: bool = False

    @property
    def rule(self) -> HeartbeatRule:
        return HeartbeatRule(self.interval_ms, self.misses)


@dataclass(frozen=True)
class RollbackPlan:
    """A rollback of one instant.

    ``rollback`` is the pending rollback that the plan goes on with, ``begun`` whether it is inflight; ``superseded``
    are other pending rollbacks of the instant. ``completed``: readers see the instant, so that what they need without
    it must be there (``needed``; ``cleans`` and ``bare`` as in ``RestorePlan``). ``last_sign_ms``: when a pending
    instant's writer last gave a sign of life. ``timeline`` is what the plan rests on.
    """

    table: str
    table_version: int
    target: str
    options: RollbackOptions
    rollback: str | None
    begun: bool
    superseded: tuple[str, ...]
    removal: Removal
    completed: bool
    metadata_table: MetadataStep
    indexes: tuple[str, ...]
    cleans: Mapping[str, int]
    bare: tuple[str, ...]
    needed: Mapping[str, StoredFile]
    blocks: tuple[BlockTask, ...]
    last_sign_ms: int
    timeline: frozenset[str]
    fingerprint: Mapping[str, str]

    @property
    def nothing_to_do(self) -> bool:
        """The plan of a table service that nobody has begun stays as it is."""
        instant = self.removal.instant
        begun = self.rollback or self.superseded or self.removal.files
        return self.options.keep_plan and not begun and instant is not None and instant.state is State.REQUESTED

    @property
    def summary(self) -> dict[str, Any]:
        """The plan for the operation's record; the files are named in the rollback's own metadata."""
        return {
            "options": asdict(self.options),
            "fingerprint": dict(self.fingerprint),
            "action": self.removal.action,
            "completed": self.completed,
            "files": len(self.removal.files),
            "bytes": self.removal.size,
            "rollback_blocks": len(self.removal.blocks),
            "metadata_table": self.metadata_table.value,
            "cleans_discarded": list(self.cleans),
            "indexes_lost": list(self.indexes),
        }


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
