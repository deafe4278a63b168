"""Traces of writers: pending writes, heartbeats, markers, locks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudictl.library import changes
from hudictl.library.opened import IDLE_MS, Opened
from hudictl.library.rows import Rows, noted

if TYPE_CHECKING:
    from hudictl.library.change import TableChange
    from hudictl.ops.clean_up.litter import HeartbeatDeletion, MarkerDeletion
    from hudictl.ops.clean_up.lock_break import LockBreak
    from hudictl.reports.locks import LockDescription
    from hudictl.reports.markers import MarkerRow
    from hudictl.state.writers.failed_writes import PendingWrite
    from hudictl.state.writers.heartbeats import HeartbeatRow
    from hudictl.state.writers.markers import MarkerFolderRow


@dataclass(frozen=True)
class Writers:
    """What the writers of a table have left, or are doing."""

    table: Opened

    def heartbeats(self) -> "Rows[HeartbeatRow]":
        """The writers' heartbeats, the newest instant first: live, expired or stale."""
        from hudictl.state.writers.heartbeats import HeartbeatRow, heartbeat_rows
        from hudictl.table.beat_rule import ASSUMED_SENTENCE
        from hudictl.table.clock import clock_sentence, try_clock

        def look(notes: list[str]) -> list[HeartbeatRow]:
            clock = try_clock(self.table.core.storage)
            notes[:] = [clock_sentence(clock), *([ASSUMED_SENTENCE] if self.table.core.heartbeat_rule.assumed else [])]
            return heartbeat_rows(self.table.core, clock)[::-1]

        return noted(HeartbeatRow, look)

    def markers(self) -> "Rows[MarkerFolderRow]":
        """The instants with markers."""
        from hudictl.state.writers.markers import MarkerFolderRow, marker_folder_rows

        return Rows(MarkerFolderRow, lambda: marker_folder_rows(self.table.core))

    def markers_of(self, instant: str) -> "Rows[MarkerRow]":
        """The markers of an instant, and whether each data file exists."""
        from hudictl.reports.markers import MarkerRow, marker_rows
        from hudictl.table.writers.markers import marker_folders, read_markers

        def look(notes: list[str]) -> list[MarkerRow]:
            folder = read_markers(self.table.core, instant) if instant in marker_folders(self.table.core) else None
            notes[:] = [f"the list may be incomplete: {folder.partial}"] if folder and folder.partial else []
            return marker_rows(self.table.core, folder) if folder else []

        return noted(MarkerRow, look)

    def failed_writes(self, idle_ms: int = IDLE_MS) -> "Rows[PendingWrite]":
        """The pending writes, newest first, with a verdict: running, failed or unknown. The notes have pending table
        services that are at work or stalled."""
        from hudictl.state.services.stalled import find_stalled
        from hudictl.state.timeline.unfinished import in_words
        from hudictl.state.writers.failed_writes import PendingWrite, pending_writes
        from hudictl.table.clock import clock_sentence, storage_now_ms, try_clock
        from hudictl.table.timeline.active import load_timeline

        def look(notes: list[str]) -> list[PendingWrite]:
            core = self.table.core
            clock = try_clock(core.storage)
            rows = pending_writes(core, idle_ms, clock)[::-1]
            stalled = find_stalled(core, load_timeline(core), storage_now_ms(clock), idle_ms)
            services = (
                f"{entry.instant} (not a write): {entry.meaning}; {entry.at_work or in_words(entry.remedy)}"
                for entry in stalled
            )
            notes[:] = [*(said.rstrip("; ") for said in services), clock_sentence(clock)]
            return rows

        return noted(PendingWrite, look)

    def locks(self) -> "LockDescription":
        """The lock that a change would take, and the existing locks."""
        from hudictl.reports.locks import describe_locks
        from hudictl.table.locks.config import NOTHING_SAID

        return describe_locks(self.table.core, self.table.access.locking or NOTHING_SAID)

    def ignored_lock_settings(self) -> tuple[str, ...]:
        """Lock settings in hoodie.properties: they are ignored, because they are the table's and not the operator's."""
        from hudictl.table.locks.config import ignored_settings

        return tuple(ignored_settings(self.table.core))

    def delete_heartbeat(self, instant: str) -> "TableChange[HeartbeatDeletion, None]":
        """The deletion of an expired or stale heartbeat."""
        return changes.heartbeat_deletion(instant).of(self.table)

    def delete_markers(self, instant: str) -> "TableChange[MarkerDeletion, None]":
        """The deletion of the markers of a completed or removed instant."""
        return changes.marker_deletion(instant).of(self.table)

    def break_lock(self, dead_after_ms: int | None = None) -> "TableChange[LockBreak, None]":
        """The release of the configured lock, if it is past its own expiry.

        Args:
            dead_after_ms: For a lock file without expiry: it must be so old, in milliseconds (at least a minute), and
                there must be no younger sign of a writer.
        """
        return changes.lock_break(dead_after_ms).of(self.table)
