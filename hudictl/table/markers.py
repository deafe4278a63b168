"""Marker folders of writes in flight, read as Hudi's rollback reads them."""

from collections.abc import Iterator, Sequence
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

UNKNOWN = "unknown"
"""A marker type that hudictl does not read."""


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
    files = {f"{folder}/{entry.name}" if folder else entry.name: entry for folder, entry in _walk(table, top)}
    if not files and table.storage.stat(top) is None:
        return None
    modified_ms = max((entry.modified_ms for entry in files.values()), default=0)
    names = [path for path, entry in files.items() if not (entry.name.startswith(".") and entry.name.endswith(".crc"))]
    declared = _read(table, f"{top}/{TYPE_FILE}").decode(errors="replace") if TYPE_FILE in files else ""
    if declared not in ("", TIMELINE_SERVER_BASED):
        raise Unreadable(
            f"{top}/{TYPE_FILE} names the marker type {declared[:40]!r}",
            hint="a newer Hudi wrote it: use a newer hudictl",
            file=f"{top}/{TYPE_FILE}",
        )
    server_files = [name for name in names if "/" not in name and name.startswith(SERVER_FILE) and name != TYPE_FILE]
    if declared or server_files:
        markers, partial = _server_markers(table, top, server_files)
        strange = [name for name in names if name not in (*server_files, TYPE_FILE)]
        untyped = "" if declared else f"{TYPE_FILE} is missing or empty"
        partial = untyped or partial or (f"{strange[0]} is no file of the timeline server" if strange else "")
        return MarkerFolder(time, TIMELINE_SERVER_BASED, markers, partial, modified_ms)
    parsed = {name: parse_marker(name) for name in names}
    strange = [name for name, marker in parsed.items() if marker is None]
    found = tuple(marker for marker in parsed.values() if marker is not None)
    return MarkerFolder(time, DIRECT, found, f"{strange[0]} is no marker" if strange else "", modified_ms)


def look_at_markers(table: Table, time: str) -> MarkerFolder | None:
    """The same for commands that only look: a type that cannot be read is ``unknown``."""
    try:
        return read_markers(table, time)
    except Unreadable as error:
        return MarkerFolder(time, UNKNOWN, (), error.message, last_marker_ms(table, time))


def _server_markers(table: Table, top: str, names: Sequence[str]) -> tuple[tuple[Marker, ...], str]:
    """The markers in all files of the timeline server, and the first doubt about them."""
    found = [parse_server_file(_read(table, f"{top}/{name}"), name) for name in names]
    doubts = (doubt for _, doubt in found if doubt)
    return tuple(marker for markers, _ in found for marker in markers), next(doubts, "")


def last_marker_ms(table: Table, time: str) -> int:
    """When the instant's newest marker was made, epoch milliseconds; 0 without markers."""
    return max((entry.modified_ms for _, entry in _walk(table, marker_folder(time))), default=0)


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
