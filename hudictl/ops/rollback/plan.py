"""A rollback's plan, as data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar

from hudictl.formats.instants import State
from hudictl.formats.plans import CompactedSlice
from hudictl.ops.fingerprint import PLAN_VERSION
from hudictl.ops.session import Kind
from hudictl.ops.undo.plan import KEEP, InstantRow, KeptRow, Removal, Undo
from hudictl.state.timeline.checkpoints import StreamerCheckpoint
from hudictl.state.writers.activity import DEFAULT_IDLE_MS
from hudictl.table.locks.config import LockConfig


@dataclass(frozen=True)
class RollbackOptions:
    """The options of a rollback.

    ``keep_plan``: a pending compaction or clustering becomes requested again. ``idle_ms``: a pending write without
    heartbeat counts as dead after this time without activity.
    ``accept_lost_instants``: go on although data of later instants than the timeline has is there.
    The others are as in ``RestoreOptions``.
    """

    keep_plan: bool = False
    idle_ms: int = DEFAULT_IDLE_MS
    settle_s: float = 2.0
    grace_s: float = 0.0
    keep_backup: bool = False
    keep_files: bool = False
    metadata: str = KEEP
    require_index: tuple[str, ...] = ()
    accept_lost_instants: bool = False


@dataclass(frozen=True)
class RollbackPlan:
    """A rollback of one instant; the names in ``shown`` are those in JSON.

    - ``resumes``: the pending rollback that the plan continues; ``begun``: whether it is inflight.
    - ``rollbacks_superseded``: other pending rollbacks of the instant, which are removed.
    - ``undo``: what is undone, and what is left then, in the partitions that are listed.
    - ``completed``: readers see the instant, so that the files that they require without it must exist.
    - ``planned_again``: the file slices of the target's plan, if this is lost and made again.
    - ``metadata_table_found``: whether there was a metadata table at planning.
    - ``last_sign_ms``: the last activity of a pending instant's writer.
    - ``checkpoint``: Hudi Streamer's, if it changes.
    """

    shown: ClassVar = (
        *("plan_version", "operation", "timezone", "target", "options", "fingerprint", "table_version", "resumes"),
        *("nothing_to_do", "instant", "plan_kept", "slices_planned_again"),
        *("undo.files_to_delete", "undo.bytes_to_delete", "undo.files", "undo.files_kept", "undo.files_lost"),
        *("undo.files_deleted_first", "undo.rollback_blocks"),
        *("rollbacks_superseded", "undo.cleans_discarded", "undo.partition_metafiles_made"),
        *("undo.metadata_table", "undo.metadata_table_unread", "undo.indexes_lost", "undo.hashing_metadata_removed"),
        *("lock", "partitions_listed", "undo.files_needed", "undo.bytes_needed", "undo.catalog", "checkpoint"),
    )
    plan_version: ClassVar = PLAN_VERSION
    operation: ClassVar = Kind.ROLLBACK.value

    timezone: str | None
    target: str
    options: RollbackOptions
    fingerprint: Mapping[str, str]
    table_version: int
    resumes: str | None
    begun: bool
    rollbacks_superseded: tuple[str, ...]
    undo: Undo
    planned_again: tuple[CompactedSlice, ...]
    completed: bool
    metadata_table_found: bool
    last_sign_ms: int
    lock: LockConfig
    checkpoint: StreamerCheckpoint | None = None

    @property
    def removal(self) -> Removal:
        return self.undo.removals[0]

    @property
    def files_kept(self) -> tuple[KeptRow, ...]:
        """Those of ``undo`` with the target's name: rollbacks that were planned together have those of all there."""
        return tuple(row for row in self.undo.files_kept if row.instant == self.target)

    @property
    def instant(self) -> InstantRow:
        return self.removal.row

    @property
    def plan_kept(self) -> bool:
        return self.options.keep_plan

    @property
    def slices_planned_again(self) -> int:
        return len(self.planned_again)

    @property
    def partitions_listed(self) -> int | None:
        """How many partitions matter; None: all were listed."""
        return None if self.undo.case.within is None else len(self.undo.case.within)

    @property
    def nothing_to_do(self) -> bool:
        """With ``keep_plan``, a table service that has not begun stays requested."""
        instant = self.removal.instant
        begun = self.resumes or self.rollbacks_superseded or self.removal.files or self.planned_again
        return self.options.keep_plan and not begun and instant is not None and instant.state is State.REQUESTED

    @property
    def summary(self) -> dict[str, object]:
        """The plan for the operation's record; the files are named in the rollback's own metadata."""
        return {
            "options": asdict(self.options),
            "fingerprint": dict(self.fingerprint),
            "action": self.removal.action,
            "completed": self.completed,
            "instants": [asdict(self.removal.begun)],
            "files": self.undo.files_to_delete,
            "bytes": self.undo.bytes_to_delete,
            "rollback_blocks": len(self.removal.blocks),
            "metadata_table": self.undo.metadata_table.fate,
            "cleans_discarded": list(self.undo.cleans_discarded),
            "indexes_kept": list(self.undo.metadata_table.indexes_kept),
            "indexes_lost": list(self.undo.indexes_lost),
            "checkpoint": asdict(self.checkpoint) if self.checkpoint else None,
        }
