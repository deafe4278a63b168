"""Marker folders compared with the timeline: files begun by pending writes, and leftovers of ended writes."""

from collections import Counter
from dataclasses import dataclass

from hudictl.formats.instants import utc_text_of_ms
from hudictl.formats.markers import APPEND, CREATE, MERGE
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline
from hudictl.table.writers.markers import MarkerFolder, look_at_markers, marker_folders


@dataclass(frozen=True)
class MarkerFolderRow:
    """An instant's marker folder: its type, and its markers by kind.

    ``state`` is pending, completed or gone; ``action`` is None if the instant is gone. ``partial`` says why there may
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


def marker_folder_rows(table: Table) -> list[MarkerFolderRow]:
    """All marker folders, by instant time."""
    timeline = load_timeline(table)
    found = [look_at_markers(table, time) for time in marker_folders(table)]
    return [marker_folder_row(timeline, folder) for folder in found if folder is not None]


def marker_folder_row(timeline: Timeline, folder: MarkerFolder) -> MarkerFolderRow:
    instant = timeline.at(folder.time)
    kinds = Counter(marker.kind for marker in folder.markers)
    return MarkerFolderRow(
        folder.time,
        folder.type,
        "gone" if instant is None else "pending" if instant.pending else "completed",
        instant.action if instant else None,
        len(folder.markers),
        kinds[CREATE],
        kinds[MERGE],
        kinds[APPEND],
        utc_text_of_ms(folder.modified_ms) if folder.modified_ms else None,
        folder.partial,
    )
