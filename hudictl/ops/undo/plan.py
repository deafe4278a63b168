"""What restore and rollback plans share: an instant to remove, with its files and rollback blocks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from hudictl.formats.file_names import data_path
from hudictl.formats.instants import Instant, State
from hudictl.storage import Storage
from hudictl.table.files.slices import StoredFile
from hudictl.workers import BlockTask

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
    """An instant to remove, as a plan shows it."""

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
    ``borrowed`` are its own files under another instant's name."""

    time: str
    action: str
    instant: Instant | None
    operation: str
    records: int
    files: tuple[StoredFile, ...]
    blocks: tuple[BlockTarget, ...]
    rollback: str | None
    bases_only: bool = False
    borrowed: frozenset[StoredFile] = frozenset()

    @cached_property
    def size(self) -> int:
        return sum(file.size or 0 for file in self.files)

    @property
    def now(self) -> str:
        """The instant as it is on the timeline, for fingerprints: another completed file is another instant."""
        if self.instant is None:
            return "gone"
        completed = self.instant.file(State.COMPLETED)
        return f"{self.instant.action} {self.instant.state.name} {completed.name if completed else ''}".rstrip()

    @property
    def row(self) -> InstantRow:
        return InstantRow(
            time=self.time,
            action=self.action,
            state=self.instant.state.name if self.instant else "REMOVED",
            completion_time=self.instant.completion_time if self.instant else None,
            operation=self.operation,
            records=self.records,
            files=len(self.files),
            bytes=self.size,
            rollback_blocks=len(self.blocks),
        )

    def owns(self, file: StoredFile) -> bool:
        """Whether a data file is the instant's own, and is deleted with it."""
        named = file.data.instant == self.time and (file.data.is_base or not self.bases_only)
        return named or file in self.borrowed

    def files_by_partition(self) -> dict[str, list[StoredFile]]:
        partitions: dict[str, list[StoredFile]] = {}
        for file in self.files:
            partitions.setdefault(file.partition, []).append(file)
        return partitions


def file_rows(removals: Iterable[Removal]) -> Iterator[FileRow]:
    """The files to delete, by path: two plans of one table are equal as text."""
    return (
        FileRow(file.path, entry.time, file.size or 0)
        for entry in removals
        for file in sorted(entry.files, key=lambda file: file.path)
    )


def kept_rows(unproved: Iterable[StoredFile]) -> tuple[KeptRow, ...]:
    """The files that are kept because a record is missing that proves them to be the instant's own."""
    why = "neither timeline nor markers show that this instant wrote into the file's partition"
    return tuple(KeptRow(file.path, file.data.instant, file.size or 0, why) for file in unproved)


def block_rows(removals: Iterable[Removal]) -> tuple[PlannedBlock, ...]:
    """The slices that get rollback blocks."""
    return tuple(PlannedBlock(*block.slice, target=entry.time) for entry in removals for block in entry.blocks)


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
