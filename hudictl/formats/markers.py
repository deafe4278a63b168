"""Markers: which data files a write has begun, one by name, or many in a file of the timeline server (Hudi 0.15.0 to
1.2.0)."""

from dataclasses import dataclass

from hudictl.formats.file_names import data_path

DIRECT = "DIRECT"
TIMELINE_SERVER_BASED = "TIMELINE_SERVER_BASED"
TYPE_FILE = "MARKERS.type"
SERVER_FILE = "MARKERS"
"""What the names of the timeline server's files begin with."""
MARKER = ".marker."
CREATE = "CREATE"
MERGE = "MERGE"
APPEND = "APPEND"
KINDS = frozenset((CREATE, MERGE, APPEND))


@dataclass(frozen=True, slots=True)
class Marker:
    """A data file that a write has begun: partition path, file name, and CREATE, MERGE or APPEND."""

    partition: str
    name: str
    kind: str

    @property
    def path(self) -> str:
        """The data file, relative to the table."""
        return data_path(self.partition, self.name)


def parse_marker(path: str) -> Marker | None:
    """A direct marker's path below the marker folder, or a line of the timeline server's; None for anything else."""
    file, separator, kind = path.rpartition(MARKER)
    partition, _, name = file.rpartition("/")
    return Marker(partition, name, kind) if separator and name and kind in KINDS else None


def parse_server_file(body: bytes, what: str) -> tuple[list[Marker], str]:
    """The markers in a file of the timeline server, and why there may be more; "" if the file is complete.

    Hudi rewrites the file for each batch of markers, one line each: a process that dies meanwhile leaves it empty or
    incomplete.
    """
    *whole, last = body.decode(errors="replace").split("\n")
    found = [(line, parse_marker(line)) for line in (*whole, last)]
    markers = [marker for _, marker in found if marker is not None]
    if last or not body:
        return markers, f"the last line of {what} is incomplete" if body else f"{what} is empty"
    strange = [line for line, marker in found if "\N{REPLACEMENT CHARACTER}" in line or (marker is None and line)]
    return markers, f"{what} has a line that is not a marker: {strange[0][:80]!r}" if strange else ""
