"""A restore's plan, as data, and as the body of its request."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

from hudictl.formats import instants as fmt
from hudictl.formats import restore
from hudictl.formats.rollback import InstantInfo
from hudictl.ops.fingerprint import PLAN_VERSION
from hudictl.ops.session import Kind
from hudictl.ops.undo.plan import BlockRow, FileRow, InstantRow, KeptRow, MarkedSlice, Removal, block_rows, file_rows
from hudictl.state.needed import Case
from hudictl.state.writers import DEFAULT_IDLE_MS
from hudictl.table.file_view import StoredFile
from hudictl.table.hashing_metadata import HashingFile
from hudictl.table.locks.config import LockConfig
from hudictl.table.operations import LATER_WRITES

# Table services write records anew that other instants have written.
_REWRITES = ("COMPACT", "CLUSTER", "LOG_COMPACT")


@dataclass(frozen=True)
class RestoreOptions:
    """How a restore is asked for.

    ``to_instant``: the target needs no savepoint; ``rule``: see ``state.later``; ``idle_ms``: how long a pending write
    must have been silent to count as dead; ``settle_s``: the wait for writers that began between planning and
    ``restore.requested``; ``grace_s``: the wait for running queries between un-publishing and deleting;
    ``discard_rollbacks``: of instants that stay, where nothing of them was done; ``keep_backup``: the removed instants'
    files stay in ``.hoodie/.rollback_backup``. Of a pending restore alone: ``with_later_writes``: writes that came in
    beside it are removed, too; ``accept_loss``: it ends although files are gone that the target needs.
    """

    to_instant: bool = False
    rule: str | None = None
    delete_later_savepoints: bool = False
    discard_rollbacks: bool = False
    idle_ms: int = DEFAULT_IDLE_MS
    settle_s: float = 2.0
    grace_s: float = 0.0
    keep_backup: bool = False
    with_later_writes: bool = False
    accept_loss: bool = False


@dataclass(frozen=True)
class FoundRestore:
    """A pending restore as it was found: how many of its instants are gone, taken back, and still completed."""

    restore: str
    target: str | None
    own: bool
    state: str
    gone: int
    taken_back: int
    completed: int


@dataclass(frozen=True)
class Overlap:
    """An instant on which Hudi's releases disagree: it was requested and completed on different sides of the target, or
    is pending since before it. ``removed``: its rows go; else they stay."""

    time: str
    action: str
    state: str
    completion_time: str | None
    removed: bool


@dataclass(frozen=True)
class RestorePlan:
    """A restore to ``target``; what is ``shown`` has the names that it has in JSON.

    ``resumes`` is the pending restore that the plan goes on with, ``withdrawn`` one that was only requested: nothing of
    it was done, and it is planned anew; ``restores_superseded`` are other pending restores, of which nothing is left to
    do after this one; ``pending_restores`` describes all of them. ``removals`` are the instants that go, newest first;
    ``files_kept`` carry the name of one, and stay: what proves them to be its own is missing; ``files_lost`` the target
    needs, and they are gone: the operator has accepted that; ``later_writes`` came in beside a pending restore.
    ``savepoints_deleted`` are later ones; ``protecting_savepoint``: no savepoint but hudictl's own is on the target.
    ``rollbacks_removed`` are rollback instants, ``rollbacks_discarded`` those of instants that stay;
    ``cleans_discarded`` pending cleans with the number of needed files that each would take;
    ``partition_metafiles_made`` partitions whose metafile is made anew; ``indexes_lost`` the metadata table's
    partitions that go with it, ``metadata_table_unread`` why it could not be compared with storage; ``hashing`` the
    files of consistent hashing that go; ``newer_compactions_that_stay``: the read-optimised view is newer than at the
    target. ``rule_fallback``: by the rule of the table's release files would be missing; ``overlaps`` are the instants
    on which the two rules differ. ``case`` is what the table is judged by when the work is done, ``timeline`` what the
    plan rests on, ``fingerprint`` what must be the same for a saved plan to be applied.
    """

    shown: ClassVar = (
        *("plan_version", "operation", "timezone", "target", "options", "fingerprint", "table_version", "rule"),
        *("rule_fallback", "overlaps"),
        *("resumes", "pending_restores", "restores_superseded", "later_writes", "nothing_to_do", "instants"),
        *("files_to_delete", "bytes_to_delete", "files", "files_kept", "files_lost", "rollback_blocks"),
        "savepoints_deleted",
        "protecting_savepoint",
        *("rollbacks_removed", "rollbacks_discarded", "cleans_discarded", "partition_metafiles_made"),
        *("metadata_table_dropped", "metadata_table_unread", "indexes_lost", "hashing_metadata_removed"),
        *("pending_writes_that_stay", "newer_compactions_that_stay"),
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
    rule_fallback: bool
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
    metadata_table_dropped: bool
    indexes_lost: tuple[str, ...]
    hashing: tuple[HashingFile, ...]
    pending_writes_that_stay: tuple[str, ...]
    newer_compactions_that_stay: tuple[str, ...]
    needed: Mapping[str, StoredFile]
    case: Case
    timeline: frozenset[str]
    lock: LockConfig
    metadata_table_unread: str | None = None

    @cached_property
    def removed(self) -> frozenset[str]:
        """The times of the instants that go: asked once a file."""
        return frozenset(removal.time for removal in self.removals)

    @property
    def instants(self) -> tuple[InstantRow, ...]:
        return tuple(removal.row for removal in self.removals)

    @property
    def files(self) -> tuple[FileRow, ...]:
        return file_rows(self.removals)

    @property
    def rollback_blocks(self) -> tuple[BlockRow, ...]:
        return block_rows(self.removals)

    @property
    def files_to_delete(self) -> int:
        return sum(len(removal.files) for removal in self.removals)

    @property
    def bytes_to_delete(self) -> int:
        return sum(removal.size for removal in self.removals)

    @property
    def hashing_metadata_removed(self) -> tuple[str, ...]:
        return tuple(file.path for file in self.hashing)

    @property
    def files_needed(self) -> int:
        return len(self.needed)

    @property
    def bytes_needed(self) -> int:
        return sum(file.size or 0 for file in self.needed.values())

    @property
    def records_written(self) -> int:
        """The records that the instants wrote, but for those that table services have only written anew."""
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
            "indexes_lost": list(self.indexes_lost),
        }


def encode_plan(plan: RestorePlan) -> bytes:
    """The body of ``restore.requested``.

    A table service stands in it under both its actions: Hudi's own resume takes the entries whose action is on the
    timeline, and un-publishing changes it.
    """
    infos = []
    for removal in plan.removals:
        actions = [removal.action]
        if removal.instant is not None:
            # Not log compaction: Hudi's restore ends at that action.
            services = (file.action for file in removal.instant.files if file.action in fmt.PENDING_ONLY)
            actions += [action for action in services if action != fmt.LOGCOMPACTION]
        infos += [InstantInfo(removal.time, action) for action in dict.fromkeys(actions)]
    return restore.encode_plan(restore.RestorePlan(tuple(infos), plan.target))
