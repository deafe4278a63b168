"""The plan of a restore, as data, and as the body of ``restore.requested``."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar

from hudictl.formats import instants as fmt
from hudictl.formats import restore
from hudictl.formats.rollback import InstantInfo
from hudictl.ops.fingerprint import PLAN_VERSION
from hudictl.ops.session import Kind
from hudictl.ops.undo.plan import KEEP, REWRITES, Undo
from hudictl.state.timeline.checkpoints import StreamerCheckpoint
from hudictl.state.writers.activity import DEFAULT_IDLE_MS
from hudictl.table.locks.config import LockConfig
from hudictl.table.operations import LATER_WRITES


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
    - ``keep_files``: keep what is deleted or replaced, for ``hudictl undo``.
    - ``metadata``: "keep" of the metadata table what can be kept, or "delete" it.
    - ``require_index``: partitions of the metadata table that must be kept; "all" for all indexes.
    - ``table_type``: the type that the table gets with the restore; None: it stays.
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
    keep_files: bool = False
    metadata: str = KEEP
    require_index: tuple[str, ...] = ()
    table_type: str | None = None
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
    reverse, or it has been pending since before the target. ``removed``: whether it is removed with its rows.
    ``undoes``: the commits whose changes it undoes for readers that did not see it at the target. ``bare``: the
    partitions in which also the rows that it had replaced stay away, as a clustering that is kept has replaced their
    file groups, too."""

    time: str
    action: str
    state: str
    completion_time: str | None
    removed: bool
    undoes: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()


@dataclass(frozen=True)
class RestorePlan:
    """A restore to ``target``; the names in ``shown`` are those in JSON.

    - ``resumes``: the pending restore that the plan continues.
    - ``withdrawn``: a restore that was only requested: it has changed nothing, and is planned again.
    - ``restores_superseded``: other pending restores, which this one covers; ``pending_restores`` describes them all.
    - ``undo``: what is undone, and what is left then.
    - ``later_writes``: new writes that appeared during a pending restore.
    - ``savepoints_deleted``: later savepoints.
    - ``protecting_savepoint``: the target has no savepoint except hudictl's temporary one.
    - ``rollbacks_removed``: rollback instants; ``rollbacks_discarded``: pending rollbacks of kept instants.
    - ``newer_compactions_that_stay``: they completed after the target, and have no newer rows; read-optimised queries
      show rows up to the target that they did not show then.
    - ``overlaps``: the instants on which the two rules differ.
    - ``checkpoint``: Hudi Streamer's, if it changes.
    - ``table_type_before``: the type that the table had, if the restore changes it.
    - ``names``: the required files by partition, for the protecting savepoint; empty without one.
    - ``fingerprint``: see ``ops.fingerprint``.
    """

    shown: ClassVar = (
        *("plan_version", "operation", "timezone", "target", "options", "fingerprint", "table_version", "rule"),
        *("overlaps", "resumes", "pending_restores", "restores_superseded", "later_writes"),
        *("nothing_to_do", "undo.instants"),
        *("undo.files_to_delete", "undo.bytes_to_delete", "undo.files", "undo.files_kept", "undo.files_lost"),
        *("undo.files_deleted_first", "undo.rollback_blocks", "savepoints_deleted", "protecting_savepoint"),
        *("rollbacks_removed", "rollbacks_discarded", "undo.cleans_discarded", "undo.partition_metafiles_made"),
        *("undo.metadata_table", "undo.metadata_table_unread", "undo.indexes_lost", "undo.hashing_metadata_removed"),
        *("pending_writes_that_stay", "newer_compactions_that_stay", "undo.catalog", "checkpoint"),
        "table_type_before",
        *("undo.files_needed", "undo.bytes_needed", "undo.timeline", "lock"),
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
    undo: Undo
    later_writes: tuple[str, ...]
    savepoints_deleted: tuple[str, ...]
    protecting_savepoint: bool
    rollbacks_removed: tuple[str, ...]
    rollbacks_discarded: tuple[str, ...]
    pending_writes_that_stay: tuple[str, ...]
    newer_compactions_that_stay: tuple[str, ...]
    checkpoint: StreamerCheckpoint | None
    names: Mapping[str, tuple[str, ...]]
    lock: LockConfig
    table_type_before: str | None = None

    @property
    def records_written(self) -> int:
        """The records that the instants wrote, without those that table services have only rewritten."""
        return sum(removal.records or 0 for removal in self.undo.removals if removal.operation not in REWRITES)

    @property
    def nothing_to_do(self) -> bool:
        return not (self.undo.removals or self.resumes or self.withdrawn or self.rollbacks_discarded)

    @property
    def summary(self) -> dict[str, object]:
        """The plan for the operation's record; the files are named in the restore's own metadata."""
        return {
            "options": asdict(self.options),
            "fingerprint": dict(self.fingerprint),
            "instants": [asdict(entry.begun) for entry in self.undo.removals],
            "rule": self.rule,
            "resumes": self.resumes,
            LATER_WRITES: list(self.later_writes),
            "savepoints_deleted": list(self.savepoints_deleted),
            "rollbacks_removed": list(self.rollbacks_removed),
            "rollbacks_discarded": list(self.rollbacks_discarded),
            "cleans_discarded": list(self.undo.cleans_discarded),
            "metadata_table": self.undo.metadata_table.fate,
            "indexes_kept": list(self.undo.metadata_table.indexes_kept),
            "indexes_lost": list(self.undo.indexes_lost),
            "checkpoint": asdict(self.checkpoint) if self.checkpoint else None,
            "table_type_before": self.table_type_before,
        }


def encode_plan(plan: RestorePlan) -> bytes:
    """The body of ``restore.requested``.

    Archived instants are left out: they are in the archive, for hudictl's resume; Hudi's restore would stop at them. A
    table service is listed under both of its actions: Hudi's own resume uses the entries whose action is on the
    timeline, and un-publishing changes that action.
    """
    infos = []
    for removal in (entry for entry in plan.undo.removals if not entry.only_archived):
        actions = [removal.action]
        if removal.instant is not None:
            actions += service_actions(removal.instant)
        infos += [InstantInfo(removal.time, action) for action in dict.fromkeys(actions)]
    return restore.encode_plan(restore.StoredRestorePlan(tuple(infos), plan.target))


def service_actions(instant: fmt.Instant) -> list[str]:
    """The actions under which a table service was pending. Without log compaction: Hudi's restore stops at it."""
    return [
        file.action for file in instant.files if file.action in fmt.PENDING_ONLY and file.action != fmt.LOGCOMPACTION
    ]
