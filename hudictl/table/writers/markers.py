"""Marker folders of inflight writes, read as Hudi's rollback reads them."""

from collections.abc import Sequence
from dataclasses import dataclass

from hudictl import workers
from hudictl.engine.base import values
from hudictl.engine.local import LocalEngine
from hudictl.errors import Unreadable
from hudictl.formats.layouts import MARKERS
from hudictl.formats.limits import RECORD_BYTES
from hudictl.formats.markers import (
    DIRECT,
    SERVER_FILE,
    TIMELINE_SERVER_BASED,
    TYPE_FILE,
    Marker,
    parse_marker,
    parse_server_file,
)
from hudictl.storage import entries_of, read_whole
from hudictl.table.table import Table

UNKNOWN = "unknown"
"""A marker type that hudictl cannot read."""


@dataclass(frozen=True)
class MarkerFolder:
    """The markers of an instant.

    ``type`` is Hudi's; ``partial`` says why there may be more, "" where these are all; ``modified_ms`` is the time of
    the newest file, epoch milliseconds by the storage's clock, 0 without files.
    """

    time: str
    type: str
    markers: tuple[Marker, ...]
    partial: str
    modified_ms: int


def marker_folder(time: str) -> str:
    """The marker folder of an instant."""
    return f"{MARKERS}/{time}"


def marker_folders(table: Table) -> list[str]:
    """The instant times that have a marker folder."""
    return [entry.name for entry in entries_of(table.storage, MARKERS) if entry.is_dir]


def read_markers(table: Table, time: str) -> MarkerFolder | None:
    """The markers of an instant; None where it has no folder.

    ``MARKERS.type`` decides. If it is missing or empty, the timeline server's files are read if there are any,
    otherwise direct markers.

    Raises Unreadable: a marker type that Hudi 0.15.0 to 1.2.0 cannot read either.
    """
    top = marker_folder(time)
    times = _times(table, top)
    if not times and not table.storage.has_folder(top):
        return None
    names = sorted(times)
    declared = _declared_type(table, top) if TYPE_FILE in times else ""
    server_files = [name for name in names if "/" not in name and name.startswith(SERVER_FILE) and name != TYPE_FILE]
    if declared or server_files:
        markers, partial = _server_markers(table, top, server_files)
        strange = [name for name in names if name not in (*server_files, TYPE_FILE)]
        untyped = "" if declared else f"{TYPE_FILE} is missing or empty"
        partial = untyped or partial or (f"{strange[0]} is not a file of the timeline server" if strange else "")
    else:
        markers, partial = _direct_markers(names)
    kind = TIMELINE_SERVER_BASED if declared or server_files else DIRECT
    return MarkerFolder(time, kind, markers, partial, max(times.values(), default=0))


def look_at_markers(table: Table, time: str) -> MarkerFolder | None:
    """The same for read commands: an unreadable type is ``unknown``."""
    try:
        return read_markers(table, time)
    except Unreadable as error:
        return MarkerFolder(time, UNKNOWN, (), error.message, last_marker_ms(table, time))


def last_marker_ms(table: Table, time: str) -> int:
    """When the instant's newest marker was made, epoch milliseconds; 0 without markers."""
    return max(_times(table, marker_folder(time)).values(), default=0)


def _declared_type(table: Table, top: str) -> str:
    """What ``MARKERS.type`` says: the timeline server, or nothing. Raises Unreadable."""
    declared = _read(table, f"{top}/{TYPE_FILE}").decode(errors="replace")
    if declared not in ("", TIMELINE_SERVER_BASED):
        raise Unreadable(
            f"{top}/{TYPE_FILE} names the unknown marker type {declared[:40]!r}",
            hint="a newer Hudi wrote it: use a newer hudictl",
            file=f"{top}/{TYPE_FILE}",
        )
    return declared


def _server_markers(table: Table, top: str, names: Sequence[str]) -> tuple[tuple[Marker, ...], str]:
    """The markers in all files of the timeline server, and the first problem."""
    found = [parse_server_file(_read(table, f"{top}/{name}"), name) for name in names]
    doubts = (doubt for _, doubt in found if doubt)
    return tuple(marker for markers, _ in found for marker in markers), next(doubts, "")


def _direct_markers(names: Sequence[str]) -> tuple[tuple[Marker, ...], str]:
    """The direct markers, and the first problem."""
    parsed = {name: parse_marker(name) for name in names}
    strange = [name for name, marker in parsed.items() if marker is None]
    markers = tuple(marker for marker in parsed.values() if marker is not None)
    return markers, f"{strange[0]} is not a marker" if strange else ""


def _read(table: Table, path: str) -> bytes:
    try:
        return read_whole(table.storage, path, RECORD_BYTES)
    except FileNotFoundError:
        # The write has completed since the listing.
        return b""


def _times(table: Table, top: str) -> dict[str, int]:
    """The files below a folder by path, with their modification times; each level is listed in parallel."""

    def list_folder(folder: str) -> workers.Listing | None:
        return workers.list_folder(table.storage, workers.Folder(folder), sync=False)

    found: dict[str, int] = {}
    level = [top]
    while level:
        results = values(LocalEngine().map("list markers", list_folder, level), "list markers")
        listings = [listing for listing in results if listing is not None]
        for listing in listings:
            below = f"{listing.path}/".removeprefix(f"{top}/")
            found |= {f"{below}{name}": modified_ms for name, _, modified_ms in listing.files}
        level = [f"{listing.path}/{name}" for listing in listings for name in listing.folders]
    return found
