"""Marker folders: what pending writes have begun, and what writes that ended have left."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timezone

from hudictl import workers
from hudictl.engine.local import LocalEngine
from hudictl.errors import Refused
from hudictl.formats.instants import utc_text
from hudictl.formats.markers import APPEND, CREATE, MERGE
from hudictl.ops.guards import table as table_guards
from hudictl.ops.monitor import Monitor
from hudictl.table.file_view import values
from hudictl.table.hold import hold
from hudictl.table.markers import MarkerFolder, look_at_markers, marker_folder, marker_folders
from hudictl.table.operations import Operation, recorded
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, instant_now, load_timeline, pending_rollbacks


@dataclass(frozen=True)
class MarkerFolderRow:
    """An instant's marker folder: its type, and its markers by kind.

    ``state`` is pending, completed or gone, ``action`` None where the instant is gone; ``partial`` says why there may
    be more markers than were read.
    """

    instant: str
    type: str
    state: str
    action: str | None
    markers: int
    creates: int
    merges: int
    appends: int
    changed_utc: str | None
    partial: str


@dataclass(frozen=True)
class MarkerRow:
    """A marker, and its data file; ``bytes`` is None where that is not on storage."""

    partition: str
    name: str
    kind: str
    on_storage: bool
    bytes: int | None


def marker_folder_rows(table: Table) -> list[MarkerFolderRow]:
    """All marker folders, by instant time."""
    timeline = load_timeline(table)
    found = [look_at_markers(table, time) for time in marker_folders(table)]
    return [_row(timeline, folder) for folder in found if folder is not None]


def marker_rows(table: Table, folder: MarkerFolder) -> list[MarkerRow]:
    """The markers of a folder; each of their partitions is listed once. Raises StorageFailed."""

    def stored(partition: str) -> dict[tuple[str, str], int]:
        listing = workers.list_folder(table.storage, partition, sync=False)
        return {(partition, name): size for name, size, _ in listing.files} if listing else {}

    partitions = sorted({marker.partition for marker in folder.markers})
    listings = values(LocalEngine().map("list", stored, partitions), "list")
    sizes = {key: size for listing in listings for key, size in listing.items()}
    found = sorted(folder.markers, key=lambda marker: (marker.partition, marker.name))
    return [
        MarkerRow(marker.partition, marker.name, marker.kind, size is not None, size)
        for marker in found
        for size in [sizes.get((marker.partition, marker.name))]
    ]


def plan_marker_deletion(table: Table, instant: str) -> MarkerFolderRow | None:
    """The marker folder to delete; None where there is none.

    Raises:
        Refused: the instant is pending, or a pending rollback takes it back: its files would become orphans.
        Unsupported, Unreadable.
    """
    table_guards.writable_table(table)
    timeline = load_timeline(table)
    table_guards.known_timeline(timeline)
    folder = look_at_markers(table, instant) if instant in marker_folders(table) else None
    if folder is None:
        return None
    found = timeline.at(instant)
    if found is not None and found.pending:
        way_out = f"rollback {instant}" if found.is_write else "resume"
        raise Refused(
            f"{found} is pending: without its markers the files that it wrote would become orphans",
            hint=f"`hudictl {way_out}` ends it, and removes them last",
            instant=instant,
        )
    for rollback, plan in pending_rollbacks(table, timeline):
        if plan is None or plan.target.time == instant:
            raise Refused(
                f"{rollback} is pending, and {'its plan cannot be read' if plan is None else f'takes {instant} back'}: "
                "without the markers files would become orphans",
                hint=f"`hudictl {f'rollback {instant}' if plan else 'resume'}` ends it",
                instant=instant,
                rollback=rollback.time,
            )
    return _row(timeline, folder)


def delete_markers(table: Table, instant: str, monitor: Monitor, command: str) -> None:
    """Deletes a marker folder, whole; one that is gone is no error.

    Raises as ``plan_marker_deletion``, and Conflict.
    """
    with hold(table, command, monitor) as held:
        found = plan_marker_deletion(table, instant)
        if found is None:
            return

        def work() -> MarkerFolderRow:
            held.check()
            table.storage.delete_folder(marker_folder(instant))
            return found

        operation = Operation(instant_now(table), "marker delete", instant, {"markers": found.markers})
        recorded(table.storage, operation, command, work)


def _row(timeline: Timeline, folder: MarkerFolder) -> MarkerFolderRow:
    instant = timeline.at(folder.time)
    kinds = Counter(marker.kind for marker in folder.markers)
    changed = datetime.fromtimestamp(folder.modified_ms / 1000, timezone.utc) if folder.modified_ms else None
    return MarkerFolderRow(
        folder.time,
        folder.type,
        "gone" if instant is None else "pending" if instant.pending else "completed",
        instant.action if instant else None,
        len(folder.markers),
        kinds[CREATE],
        kinds[MERGE],
        kinds[APPEND],
        utc_text(changed),
        folder.partial,
    )
