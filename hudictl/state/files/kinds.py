"""Which kinds of files a partition has. The engine runs this where the partition is listed.

Executors import this module: it imports nothing that reads a table.
"""

from typing import NamedTuple

from hudictl.table.files.slices import StoredFile
from hudictl.table.files.sweep import Partition

_CHANGE_LOGS = ("-cdc", ".cdc")


class Kinds(NamedTuple):
    """The extensions of a partition's base files, the newest of them, and whether there are logs, and change logs."""

    path: str
    formats: frozenset[str]
    newest: StoredFile | None
    logs: bool
    changes: bool


def kinds_of(place: Partition[object]) -> Kinds | None:
    """The kinds of a partition; None of one without data files."""
    files = [file for file in place.files if not file.data.cdc]
    bases = [file for file in files if file.data.is_base]
    formats = frozenset(file.data.name.rpartition(".")[2].upper() for file in bases)
    newest = max(bases, key=lambda file: file.data.instant, default=None)
    changes = any(name.endswith(_CHANGE_LOGS) for name in place.names)
    return Kinds(place.path, formats, newest, len(files) > len(bases), changes) if files else None
