"""A rollback's plan, as data."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from hudictl.formats.instants import State
from hudictl.formats.plans import CompactedSlice
from hudictl.ops.fingerprint import PLAN_VERSION
from hudictl.ops.session import Kind
from hudictl.ops.undo.plan import (
    KEEP,
    FileRow,
    InstantRow,
    KeptRow,
    MarkedSlice,
    PlannedBlock,
    Removal,
    block_rows,
    file_rows,
)
from hudictl.state.files.catalog import NO_GAP, CatalogGap
from hudictl.state.files.changes import Needed
from hudictl.state.files.needed import Case
from hudictl.state.metadata.undo import MetadataPlan
from hudictl.state.writers.activity import DEFAULT_IDLE_MS
from hudictl.table.files.hashing import HashingFile
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
    metadata: str = KEEP
    require_index: tuple[str, ...] = ()
    accept_lost_instants: bool = False


@dataclass(frozen=True)
class RollbackPlan:
    """A rollback of one instant; the names in ``shown`` are those in JSON.

    - ``resumes``: the pending rollback that the plan continues; ``begun``: whether it is inflight.
    - ``rollbacks_superseded``: other pending rollbacks of the instant, which are removed.
    - ``completed``: readers see the instant, so that the files that they require without it must exist (``needed``), in
      the partitions that are listed.
      ``cleans_discarded``, ``partition_metafiles_made``, ``files_kept`` and ``case`` are as in ``RestorePlan``.
    - ``planned_again``: the file slices of the target's plan, if this is lost and made again.
    - ``files_lost``: required files that are already missing, with or without the rollback.
    - ``metadata_table``: what becomes of the metadata table.
    - ``indexes_lost``: the indexes of the metadata table that are deleted.
    - ``metadata_table_unread``: if it is deleted, why it could not be compared with storage.
    - ``metadata_table_found``: whether there was one at planning.
    - ``hashing``: the files of consistent hashing to delete.
    - ``catalog``: what a Hive or Glue catalog lists wrongly afterwards.
    - ``last_sign_ms``: the last activity of a pending instant's writer.
    - ``timeline``: the timeline files at planning.
    """

    shown: ClassVar = (
        *("plan_version", "operation", "timezone", "target", "options", "fingerprint", "table_version", "resumes"),
        *(
            "nothing_to_do",
            "instant",
            "plan_kept",
            "slices_planned_again",
            "files_to_delete",
            "bytes_to_delete",
            "files",
            "files_kept",
        ),
        "files_lost",
        *("rollback_blocks", "rollbacks_superseded", "cleans_discarded", "partition_metafiles_made", "metadata_table"),
        *("metadata_table_unread", "indexes_lost", "hashing_metadata_removed", "lock", "partitions_listed"),
        *("files_needed", "bytes_needed", "catalog"),
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
    removal: Removal
    marked: tuple[MarkedSlice, ...]
    planned_again: tuple[CompactedSlice, ...]
    files_kept: tuple[KeptRow, ...]
    files_lost: tuple[str, ...]
    completed: bool
    metadata_table_found: bool
    metadata_table: MetadataPlan
    hashing: tuple[HashingFile, ...]
    cleans_discarded: Mapping[str, int]
    partition_metafiles_made: tuple[str, ...]
    needed: Mapping[str, Needed]
    case: Case
    last_sign_ms: int
    timeline: frozenset[str]
    lock: LockConfig
    metadata_table_unread: str | None = None
    catalog: CatalogGap = NO_GAP

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
    def files(self) -> Iterator[FileRow]:
        return file_rows([self.removal])

    @property
    def rollback_blocks(self) -> tuple[PlannedBlock, ...]:
        return block_rows([self.removal])

    @property
    def files_to_delete(self) -> int:
        return len(self.removal.files)

    @property
    def bytes_to_delete(self) -> int:
        return self.removal.size

    @property
    def hashing_metadata_removed(self) -> tuple[str, ...]:
        return tuple(file.path for file in self.hashing)

    @property
    def partitions_listed(self) -> int | None:
        """How many partitions matter; None: all were listed."""
        return None if self.case.within is None else len(self.case.within)

    @property
    def files_needed(self) -> int:
        return sum(entry.count for entry in self.needed.values())

    @property
    def bytes_needed(self) -> int:
        return sum(entry.size for entry in self.needed.values())

    @property
    def indexes_lost(self) -> tuple[str, ...]:
        return self.metadata_table.lost

    @property
    def nothing_to_do(self) -> bool:
        """With ``keep_plan``, a table service that has not begun stays requested."""
        instant = self.removal.instant
        begun = self.resumes or self.rollbacks_superseded or self.removal.files or self.planned_again
        return self.options.keep_plan and not begun and instant is not None and instant.state is State.REQUESTED

    @property
    def summary(self) -> dict[str, Any]:
        """The plan for the operation's record; the files are named in the rollback's own metadata."""
        return {
            "options": asdict(self.options),
            "fingerprint": dict(self.fingerprint),
            "action": self.removal.action,
            "completed": self.completed,
            "files": self.files_to_delete,
            "bytes": self.bytes_to_delete,
            "rollback_blocks": len(self.removal.blocks),
            "metadata_table": self.metadata_table.fate,
            "cleans_discarded": list(self.cleans_discarded),
            "indexes_kept": list(self.metadata_table.indexes_kept),
            "indexes_lost": list(self.indexes_lost),
        }
