"""What restore and rollback plans share: an instant that goes, with its files and rollback blocks."""

from dataclasses import dataclass

from hudictl.formats.instants import Instant, State
from hudictl.table.file_view import StoredFile


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

    @property
    def now(self) -> str:
        """The instant as it is on the timeline, for fingerprints: another completed file is another instant."""
        if self.instant is None:
            return "gone"
        completed = self.instant.file(State.COMPLETED)
        return f"{self.instant.action} {self.instant.state.name} {completed.name if completed else ''}".rstrip()

    def owns(self, file: StoredFile) -> bool:
        """Whether a data file goes with the instant, by its name."""
        return file.data.instant == self.time and (file.data.is_base or not self.bases_only)

    def files_by_partition(self) -> dict[str, list[StoredFile]]:
        partitions: dict[str, list[StoredFile]] = {}
        for file in self.files:
            partitions.setdefault(file.partition, []).append(file)
        return partitions
