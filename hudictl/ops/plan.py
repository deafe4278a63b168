"""Operation plans: what a command will do, as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from hudictl.formats.instants import Instant
from hudictl.table.file_view import StoredFile

PLAN_VERSION = 1


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
    """One instant of the restore. ``rollback`` is the stored rollback that already covers it, if there is one."""

    time: str
    action: str
    instant: Instant | None
    operation: str
    records: int
    files: tuple[StoredFile, ...]
    blocks: tuple[BlockTarget, ...]
    rollback: str | None

    @property
    def size(self) -> int:
        return sum(file.size or 0 for file in self.files)

    def files_by_partition(self) -> dict[str, list[StoredFile]]:
        partitions: dict[str, list[StoredFile]] = {}
        for file in self.files:
            partitions.setdefault(file.partition, []).append(file)
        return partitions


@dataclass(frozen=True)
class RestorePlan:
    """A restore to ``target``.

    ``removals`` newest first; ``rollbacks`` are the rollback instants to remove, ``cleans`` the pending cleans to
    discard (with the number of needed files that each would take), ``bare`` the partitions whose metafile is made
    anew, ``indexes`` the metadata table's partitions that go with it, ``stays`` pending writes that stay;
    ``newer_compactions`` stay too, so that the read-optimised view is newer than at the target;
    ``timeline`` is what the plan rests on; ``restore`` is the pending restore that the plan goes on with,
    ``withdrawn`` one that was only requested: nothing of it was done, and it is planned anew.
    """

    table: str
    table_version: int
    target: str
    rule: str
    restore: str | None
    withdrawn: str | None
    removals: tuple[Removal, ...]
    rollbacks: tuple[str, ...]
    cleans: Mapping[str, int]
    bare: tuple[str, ...]
    metadata_table: bool
    indexes: tuple[str, ...]
    stays: tuple[str, ...]
    newer_compactions: tuple[str, ...]
    needed: Mapping[str, StoredFile]
    logs: Mapping[tuple[str, str, str], tuple[tuple[str, int], ...]]
    timeline: frozenset[str]

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
        return not (self.removals or self.restore or self.withdrawn)


@dataclass(frozen=True)
class SavepointPlan:
    """A savepoint to create: the files that it protects, by partition path. ``completes`` a lone inflight file."""

    table: str
    instant: str
    user: str
    comment: str
    files: Mapping[str, tuple[str, ...]]
    size: int
    exists: bool
    completes: bool
    chosen: bool
    timeline: frozenset[str]

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
