"""Marker folders of writes in flight: which files a write has begun (direct, and the timeline server's)."""

from collections.abc import Iterator
from dataclasses import dataclass

from hudictl.formats.layouts import MARKERS
from hudictl.storage import FileStatus
from hudictl.table.table import Table


@dataclass(frozen=True, slots=True)
class Marker:
    """A data file that a write has begun: partition path, file name, and CREATE, MERGE or APPEND."""

    partition: str
    name: str
    kind: str


def marker_folder(time: str) -> str:
    """The marker folder of an instant."""
    return f"{MARKERS}/{time}"


def marker_folders(table: Table) -> list[str]:
    """The instant times that have a marker folder."""
    try:
        return [entry.name for entry in table.storage.list(MARKERS) if entry.is_dir]
    except FileNotFoundError:
        return []


def read_markers(table: Table, time: str) -> list[Marker]:
    """The markers of an instant; none where the folder is gone."""
    markers = []
    for folder, entry in _walk(table, marker_folder(time)):
        if entry.name.startswith("MARKERS") and folder == "":
            if entry.name != "MARKERS.type":
                text = table.storage.read(f"{marker_folder(time)}/{entry.name}").decode()
                markers += [_parse(line) for line in text.splitlines() if ".marker." in line]
        elif ".marker." in entry.name and not entry.name.endswith(".crc"):
            markers.append(_parse(f"{folder}/{entry.name}" if folder else entry.name))
    return markers


def last_marker_ms(table: Table, time: str) -> int:
    """When the instant's newest marker was made, epoch milliseconds; 0 without markers."""
    return max((entry.modified_ms for _, entry in _walk(table, marker_folder(time))), default=0)


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


def _parse(line: str) -> Marker:
    path, _, kind = line.rpartition(".marker.")
    partition, _, name = path.rpartition("/")
    return Marker(partition, name, kind)
