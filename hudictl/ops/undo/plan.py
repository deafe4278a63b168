"""What restore and rollback plans share: the instants to remove, with their files and rollback blocks, and what is left
of the table then."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from hudictl.formats.archived_timeline import LOST, ArchivedInstant
from hudictl.formats.file_names import data_path
from hudictl.formats.instants import Instant, State
from hudictl.ops.fingerprint import TO_DELETE, files_digest, listed, metadata_facts, needed_digest
from hudictl.state.files.catalog import NO_GAP, CatalogGap
from hudictl.state.files.changes import Needed
from hudictl.state.files.needed import Case
from hudictl.state.metadata.undo import MetadataPlan
from hudictl.storage import Storage
from hudictl.table.files.hashing import HashingFile
from hudictl.table.files.slices import StoredFile
from hudictl.table.operations import BegunInstant
from hudictl.workers import BlockTask

REWRITES = ("COMPACT", "CLUSTER", "LOG_COMPACT")
"""The operations of table services that only rewrite records of other instants."""
KEEP, DELETE = "keep", "delete"
"""The options of what becomes of the metadata table: kept as far as possible, or deleted."""


def asked_to_delete(option: str) -> str | None:
    """Why the metadata table is deleted, if the option says so."""
    return f"this was requested (--metadata {DELETE})" if option == DELETE else None


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


@dataclass(frozen=True, slots=True)
class MarkedSlice:
    """A file slice that gets rollback blocks: its logs as (name, bytes), and the instants, oldest first."""

    partition: str
    file_id: str
    base_instant: str
    logs: tuple[tuple[str, int], ...]
    targets: tuple[str, ...]


@dataclass(frozen=True)
class InstantRow:
    """An instant to remove, as a plan shows it. ``records``: number of records written; 0 if its file is empty or
    damaged."""

    time: str
    action: str
    state: str
    completion_time: str | None
    operation: str
    records: int
    files: int
    bytes: int
    rollback_blocks: int


@dataclass(frozen=True)
class FileRow:
    """A file to delete."""

    path: str
    instant: str
    bytes: int


@dataclass(frozen=True)
class KeptRow:
    """A file that is kept although its name contains a removed instant; ``why``: the missing proof of ownership."""

    path: str
    instant: str
    bytes: int
    why: str


@dataclass(frozen=True)
class PlannedBlock:
    """A file slice that gets a rollback block."""

    partition: str
    file_id: str
    base_instant: str
    target: str


@dataclass(frozen=True)
class Removal:
    """One instant to remove. ``rollback`` is a stored rollback that already covers it, if there is one. With
    ``bases_only`` (a compaction whose plan is kept) the logs with its name are kept: they contain later writes.
    ``borrowed`` are its own files under another instant's name. ``archived`` is its place in the archive. ``records``
    is None if it is completed, and its file is empty or damaged."""

    time: str
    action: str
    instant: Instant | None
    operation: str
    records: int | None
    files: tuple[StoredFile, ...]
    blocks: tuple[BlockTarget, ...]
    rollback: str | None
    bases_only: bool = False
    borrowed: frozenset[StoredFile] = frozenset()
    archived: ArchivedInstant | None = None

    @cached_property
    def size(self) -> int:
        return sum(file.size or 0 for file in self.files)

    @property
    def only_archived(self) -> bool:
        """Whether no writer knows of it any more."""
        return self.instant is None and self.archived is not None

    @property
    def now(self) -> str:
        """The instant as it is on the timeline, for fingerprints: another completed file is another instant."""
        if self.instant is None:
            return "archived" if self.archived else "gone"
        completed = self.instant.file(State.COMPLETED)
        return f"{self.instant.action} {self.instant.state.name} {completed.name if completed else ''}".rstrip()

    @property
    def row(self) -> InstantRow:
        return InstantRow(
            time=self.time,
            action=self.action,
            state=self._state,
            completion_time=there.completion_time if (there := self.instant or self.archived) else None,
            operation=self.operation,
            records=self.records or 0,
            files=len(self.files),
            bytes=self.size,
            rollback_blocks=len(self.blocks),
        )

    @property
    def _state(self) -> str:
        if self.instant is not None:
            return self.instant.state.name
        if self.archived is None:
            return "REMOVED"
        return "LOST" if self.archived.file == LOST else "ARCHIVED"

    @property
    def begun(self) -> BegunInstant:
        """What the operation's record keeps of it."""
        row = self.row
        return BegunInstant(row.time, row.action, row.files, row.bytes, row.operation, row.completion_time)

    def owns(self, file: StoredFile) -> bool:
        """Whether a data file is the instant's own, and is deleted with it."""
        named = file.data.instant == self.time and (file.data.is_base or not self.bases_only)
        return named or file in self.borrowed

    def files_by_partition(self) -> dict[str, list[StoredFile]]:
        partitions: dict[str, list[StoredFile]] = {}
        for file in self.files:
            partitions.setdefault(file.partition, []).append(file)
        return partitions


@dataclass(frozen=True)
class Undo:
    """What a restore or a rollback undoes, and what is left of the table then.

    - ``removals``: the instants to remove, newest first.
    - ``marked``: the file slices that get rollback blocks.
    - ``needed``: the files that readers require afterwards, by partition; None where writers may go on meanwhile.
    - ``case``: the rules by which the table is judged when the work is done.
    - ``hiding``: those of the files to delete that go first: behind them readers would miss rows of kept instants.
    - ``files_kept``: their names contain a removed instant, but no record proves that they are its own.
    - ``files_lost``: required, but missing: the operator has accepted that, or it is so with or without the operation.
    - ``cleans_discarded``: pending cleans, with the number of required files that each would delete.
    - ``partition_metafiles_made``: partitions whose metafile is created again.
    - ``metadata_table``: what becomes of the metadata table.
    - ``metadata_table_unread``: why the metadata table could not be compared with storage.
    - ``indexes_lost``: the indexes of the metadata table that are deleted.
    - ``hashing``: the files of consistent hashing to delete.
    - ``catalog``: what a Hive or Glue catalog lists wrongly afterwards.
    - ``timeline``: the timeline files at planning.
    """

    removals: tuple[Removal, ...]
    marked: tuple[MarkedSlice, ...]
    needed: Mapping[str, Needed] | None
    case: Case
    files_kept: tuple[KeptRow, ...]
    files_lost: tuple[str, ...]
    cleans_discarded: Mapping[str, int]
    partition_metafiles_made: tuple[str, ...]
    metadata_table: MetadataPlan
    hashing: tuple[HashingFile, ...]
    timeline: frozenset[str]
    hiding: tuple[StoredFile, ...] = ()
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
        """The files to delete, by path: two plans of one table are equal as text."""
        return (
            FileRow(path, entry.time, size)
            for entry in self.removals
            for path, size in sorted((file.path, file.size or 0) for file in entry.files)
        )

    @property
    def files_deleted_first(self) -> tuple[str, ...]:
        return tuple(sorted(file.path for file in self.hiding))

    @property
    def rollback_blocks(self) -> tuple[PlannedBlock, ...]:
        """The slices that get rollback blocks."""
        return tuple(PlannedBlock(*block.slice, target=entry.time) for entry in self.removals for block in entry.blocks)

    @property
    def files_to_delete(self) -> int:
        return sum(len(removal.files) for removal in self.removals)

    @property
    def bytes_to_delete(self) -> int:
        return sum(removal.size for removal in self.removals)

    @property
    def files_needed(self) -> int:
        return sum(entry.count for entry in (self.needed or {}).values())

    @property
    def bytes_needed(self) -> int:
        return sum(entry.size for entry in (self.needed or {}).values())

    @property
    def indexes_lost(self) -> tuple[str, ...]:
        return self.metadata_table.lost

    @property
    def hashing_metadata_removed(self) -> tuple[str, ...]:
        return tuple(file.path for file in self.hashing)


def undo_facts(undo: Undo) -> dict[str, str]:
    """What a fingerprint has of it. What is lost anyway beside other writers is theirs to change."""
    blocks = (f"{each.partition}/{each.file_id} {each.base_instant} {each.target}" for each in undo.rollback_blocks)
    return {
        "metadata table": metadata_facts(undo.metadata_table),
        "metadata table unread": undo.metadata_table_unread or "",
        "partition metafiles to create": listed(undo.partition_metafiles_made),
        "rollback blocks": files_digest((), blocks),
        "files that are needed": needed_digest(undo.needed or {}),
        "files lost": files_digest((), undo.files_lost if undo.needed is not None else ()),
        TO_DELETE: files_digest(((file.path, file.bytes) for file in undo.files), undo.hashing_metadata_removed),
    }


def kept_rows(unproved: Iterable[StoredFile]) -> tuple[KeptRow, ...]:
    """The files that are kept because a record is missing that proves them to be the instant's own."""
    why = "neither timeline nor markers show that this instant wrote into the file's partition"
    return tuple(KeptRow(file.path, file.data.instant, file.size or 0, why) for file in unproved)


def marked_logs(removals: Iterable[Removal]) -> frozenset[str]:
    """The paths of the logs with the blocks that rollback blocks will hide."""
    blocks = (block for removal in removals for block in removal.blocks)
    return frozenset(data_path(block.partition, block.log) for block in blocks if block.log)


def block_tasks(storage: Storage, slices: Iterable[MarkedSlice]) -> tuple[BlockTask, ...]:
    """A task for each slice: a plan itself contains no ``Storage``."""
    return tuple(
        BlockTask(storage, entry.partition, entry.file_id, entry.base_instant, entry.logs, entry.targets)
        for entry in slices
    )
