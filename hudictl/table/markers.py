"""Marker folders of writes in flight, read as Hudi's rollback reads them."""

from collections.abc import Iterator
from dataclasses import dataclass

from hudictl.errors import Unreadable
from hudictl.formats.layouts import MARKERS
from hudictl.formats.markers import (
    DIRECT,
    SERVER_FILE,
    TIMELINE_SERVER_BASED,
    TYPE_FILE,
    Marker,
    parse_marker,
    parse_server_file,
)
from hudictl.storage import FileStatus
from hudictl.table.table import Table


@dataclass(frozen=True)
class MarkerFolder:
    """The markers of an instant. ``type`` is Hudi's; ``partial`` says why there may be more; "" where they are all."""

    time: str
    type: str
    markers: tuple[Marker, ...]
    partial: str


def marker_folder(time: str) -> str:
    """The marker folder of an instant."""
    return f"{MARKERS}/{time}"


def marker_folders(table: Table) -> list[str]:
    """The instant times that have a marker folder."""
    try:
        return [entry.name for entry in table.storage.list(MARKERS) if entry.is_dir]
    except FileNotFoundError:
        return []


def read_markers(table: Table, time: str) -> MarkerFolder | None:
    """The markers of an instant; None where it has no folder.

    ``MARKERS.type`` decides. Where it is missing or empty, the timeline server's files are read if there are any, and
    else direct markers.

    Raises Unreadable: a marker type that Hudi 0.15.0 to 1.2.0 does not read either.
    """
    top = marker_folder(time)
    paths = [f"{folder}/{entry.name}" if folder else entry.name for folder, entry in _walk(table, top)]
    if not paths and table.storage.stat(top) is None:
        return None
    names = [path for path in paths if not _is_sidecar(path)]
    server_files = [name for name in names if "/" not in name and name.startswith(SERVER_FILE) and name != TYPE_FILE]
    declared = _read(table, f"{top}/{TYPE_FILE}").decode(errors="replace") if TYPE_FILE in names else ""
    if declared not in ("", TIMELINE_SERVER_BASED):
        raise Unreadable(
            f"{top}/{TYPE_FILE} names the marker type {declared[:40]!r}",
            hint="a newer Hudi wrote it: use a newer hudictl",
            file=f"{top}/{TYPE_FILE}",
        )
    if declared or server_files:
        doubts = [] if declared else [f"{TYPE_FILE} is missing or empty"]
        markers: list[Marker] = []
        for name in server_files:
            found, doubt = parse_server_file(_read(table, f"{top}/{name}"), name)
            markers += found
            doubts.append(doubt)
        strange = [name for name in names if name not in (*server_files, TYPE_FILE)]
        doubts += [f"{name} is no file of the timeline server" for name in strange]
        return MarkerFolder(time, TIMELINE_SERVER_BASED, tuple(markers), _first(doubts))
    parsed = [(name, parse_marker(name)) for name in names]
    doubts = [f"{name} is no marker" for name, marker in parsed if marker is None]
    return MarkerFolder(time, DIRECT, tuple(marker for _, marker in parsed if marker is not None), _first(doubts))


def last_marker_ms(table: Table, time: str) -> int:
    """When the instant's newest marker was made, epoch milliseconds; 0 without markers."""
    return max((entry.modified_ms for _, entry in _walk(table, marker_folder(time))), default=0)


def _first(doubts: list[str]) -> str:
    return next(filter(None, doubts), "")


def _is_sidecar(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(".") and name.endswith(".crc")


def _read(table: Table, path: str) -> bytes:
    try:
        return table.storage.read(path)
    except FileNotFoundError:
        # The write has completed since the listing.
        return b""


def _walk(table: Table, top: str, below: str = "") -> Iterator[tuple[str, FileStatus]]:
    try:
        entries = table.storage.list(f"{top}/{below}" if below else top)
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir:
            yield from _walk(table, top, f"{below}/{entry.name}" if below else entry.name)
        else:
            yield below, entry
