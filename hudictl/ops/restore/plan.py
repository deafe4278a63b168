"""The plan of a restore, as data, and as the body of ``restore.requested``."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

from hudictl.formats import instants as fmt
from hudictl.formats import restore
from hudictl.formats.rollback import InstantInfo
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
from hudictl.table.operations import LATER_WRITES

# Table services only rewrite records of other instants.
_REWRITES = ("COMPACT", "CLUSTER", "LOG_COMPACT")


@dataclass(frozen=True)
class RestoreOptions:
    """The options of a restore.

    - ``to_instant``: the target needs no savepoint.
    - ``rule``: see ``state.later``.
    - ``idle_ms``: a pending write counts as dead after this time without activity.
    - ``settle_s``: the wait for writers that began between planning and ``restore.requested``.
    - ``grace_s``: the wait for running queries between un-publishing and deleting.
    - ``discard_rollbacks``: discard pending rollbacks of kept instants, if they have changed nothing.
    - ``keep_backup``: keep the removed instants' timeline files in ``.hoodie/.rollback_backup``.
    - ``metadata``: "keep" of the metadata table what can be kept, or "delete" it.
    - ``require_index``: partitions of the metadata table that must be kept; "all" for all indexes.
    - ``accept_lost_instants``: go on although data of later instants than the timeline has is there.
    - ``deep``: also read the ends of the required base files, and the required logs, before anything is removed.

    Only for a pending restore:

    - ``with_later_writes``: also remove new writes that appeared during it.
    - ``accept_loss``: finish it although required files are missing.
    """

    to_instant: bool = False
    rule: str | None = None
    delete_later_savepoints: bool = False
    discard_rollbacks: bool = False
    idle_ms: int = DEFAULT_IDLE_MS
    settle_s: float = 2.0
    grace_s: float = 0.0
    keep_backup: bool = False
    metadata: str = KEEP
    require_index: tuple[str, ...] = ()
    accept_lost_instants: bool = False
    deep: bool = False
    with_later_writes: bool = False
    accept_loss: bool = False


@dataclass(frozen=True)
class FoundRestore:
    """A pending restore as it was found: how many of its instants are removed, pending (un-published, or never
    completed), and still completed."""

    restore: str
    target: str | None
    own: bool
    state: str
    gone: int
    taken_back: int
    completed: int


@dataclass(frozen=True)
class Overlap:
    """An instant on which Hudi's releases disagree: it was requested before the target and completed after it, or the
    reverse, or it has been pending since before the target. ``removed``: whether it is removed with its rows."""

    time: str
    action: str
    state: str
    completion_time: str | None
    removed: bool


@dataclass(frozen=True)
class RestorePlan:
    """A restore to ``target``; the names in ``shown`` are those in JSON.

    - ``resumes``: the pending restore that the plan continues.
    - ``withdrawn``: a restore that was only requested: it has changed nothing, and is planned again.
    - ``restores_superseded``: other pending restores, which this one covers; ``pending_restores`` describes them all.
    - ``removals``: the instants to remove, newest first.
    - ``files_kept``: their names contain a removed instant, but no record proves that they are its own.
    - ``files_lost``: required by the target, but missing: the operator has accepted that.
    - ``later_writes``: new writes that appeared during a pending restore.
    - ``savepoints_deleted``: later savepoints.
    - ``protecting_savepoint``: the target has no savepoint except hudictl's temporary one.
    - ``rollbacks_removed``: rollback instants; ``rollbacks_discarded``: pending rollbacks of kept instants.
    - ``cleans_discarded``: pending cleans, with the number of required files that each would delete.
    - ``partition_metafiles_made``: partitions whose metafile is created again.
    - ``indexes_lost``: the indexes of the metadata table that are deleted.
    - ``metadata_table_unread``: why the metadata table could not be compared with storage.
    - ``hashing``: the files of consistent hashing to delete.
    - ``catalog``: what a Hive or Glue catalog lists wrongly afterwards.
    - ``newer_compactions_that_stay``: with these, the read-optimised view is newer than the target.
    - ``overlaps``: the instants on which the two rules differ.
    - ``names``: the required files by partition, for the protecting savepoint; empty without one.
    - ``case``: the rules by which the table is judged when the work is done.
    - ``timeline``: the timeline files at planning; ``fingerprint``: see ``ops.fingerprint``.
    """

    shown: ClassVar = (
        *("plan_version", "operation", "timezone", "target", "options", "fingerprint", "table_version", "rule"),
        *("overlaps", "resumes", "pending_restores", "restores_superseded", "later_writes"),
        *("nothing_to_do", "instants"),
        *("files_to_delete", "bytes_to_delete", "files", "files_kept", "files_lost", "rollback_blocks"),
        "savepoints_deleted",
        "protecting_savepoint",
        *("rollbacks_removed", "rollbacks_discarded", "cleans_discarded", "partition_metafiles_made"),
        *("metadata_table", "metadata_table_unread", "indexes_lost", "hashing_metadata_removed"),
        *("pending_writes_that_stay", "newer_compactions_that_stay", "catalog"),
        *("files_needed", "bytes_needed", "timeline", "lock"),
    )
    plan_version: ClassVar = PLAN_VERSION
    operation: ClassVar = Kind.RESTORE.value

    timezone: str | None
    target: str
    options: RestoreOptions
    fingerprint: Mapping[str, str]
    table_version: int
    rule: str
    overlaps: tuple[Overlap, ...]
    resumes: str | None
    withdrawn: str | None
    restores_superseded: tuple[str, ...]
    pending_restores: tuple[FoundRestore, ...]
    removals: tuple[Removal, ...]
    marked: tuple[MarkedSlice, ...]
    files_kept: tuple[KeptRow, ...]
    files_lost: tuple[str, ...]
    later_writes: tuple[str, ...]
    savepoints_deleted: tuple[str, ...]
    protecting_savepoint: bool
    rollbacks_removed: tuple[str, ...]
    rollbacks_discarded: tuple[str, ...]
    cleans_discarded: Mapping[str, int]
    partition_metafiles_made: tuple[str, ...]
    metadata_table: MetadataPlan
    hashing: tuple[HashingFile, ...]
    pending_writes_that_stay: tuple[str, ...]
    newer_compactions_that_stay: tuple[str, ...]
    needed: Mapping[str, Needed]
    names: Mapping[str, tuple[str, ...]]
    case: Case
    timeline: frozenset[str]
    lock: LockConfig
    metadata_table_unread: str | None = None
    catalog: CatalogGap = NO_GAP

    @cached_property
    def removed(self) -> frozenset[str]:
        """The times of the instants to remove. Cached, because it is used once for each file."""
        return frozenset(removal.time for removal in self.removals)

    @property
    def instants(self) -> tuple[InstantRow, ...]:
        return tuple(removal.row for removal in self.removals)

    @property
    def files(self) -> Iterator[FileRow]:
        return file_rows(self.removals)

    @property
    def rollback_blocks(self) -> tuple[PlannedBlock, ...]:
        return block_rows(self.removals)

    @property
    def files_to_delete(self) -> int:
        return sum(len(removal.files) for removal in self.removals)

    @property
    def bytes_to_delete(self) -> int:
        return sum(removal.size for removal in self.removals)

    @property
    def indexes_lost(self) -> tuple[str, ...]:
        return self.metadata_table.lost

    @property
    def hashing_metadata_removed(self) -> tuple[str, ...]:
        return tuple(file.path for file in self.hashing)

    @property
    def files_needed(self) -> int:
        return sum(entry.count for entry in self.needed.values())

    @property
    def bytes_needed(self) -> int:
        return sum(entry.size for entry in self.needed.values())

    @property
    def records_written(self) -> int:
        """The records that the instants wrote, without those that table services have only rewritten."""
        return sum(removal.records for removal in self.removals if removal.operation not in _REWRITES)

    @property
    def nothing_to_do(self) -> bool:
        return not (self.removals or self.resumes or self.withdrawn or self.rollbacks_discarded)

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
            "rule": self.rule,
            LATER_WRITES: list(self.later_writes),
            "savepoints_deleted": list(self.savepoints_deleted),
            "rollbacks_removed": list(self.rollbacks_removed),
            "rollbacks_discarded": list(self.rollbacks_discarded),
            "cleans_discarded": list(self.cleans_discarded),
            "metadata_table": self.metadata_table.fate,
            "indexes_kept": list(self.metadata_table.indexes_kept),
            "indexes_lost": list(self.indexes_lost),
        }


def encode_plan(plan: RestorePlan) -> bytes:
    """The body of ``restore.requested``.

    A table service is listed under both of its actions: Hudi's own resume uses the entries whose action is on the
    timeline, and un-publishing changes that action.
    """
    infos = []
    for removal in plan.removals:
        actions = [removal.action]
        if removal.instant is not None:
            # Without log compaction: Hudi's restore stops at that action.
            services = (file.action for file in removal.instant.files if file.action in fmt.PENDING_ONLY)
            actions += [action for action in services if action != fmt.LOGCOMPACTION]
        infos += [InstantInfo(removal.time, action) for action in dict.fromkeys(actions)]
    return restore.encode_plan(restore.StoredRestorePlan(tuple(infos), plan.target))
