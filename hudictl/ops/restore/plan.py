"""A restore's plan, as data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from hudictl.ops.undo.plan import Removal
from hudictl.state.writers import DEFAULT_IDLE_MS
from hudictl.table.file_view import StoredFile
from hudictl.workers import BlockTask


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
