"""A metadata table that is set aside while an operation changes the data, and is put back when it is right again.

Meanwhile it is not listed in ``hoodie.properties``, and its folder is in hudictl's own. An object store cannot move a
folder: there the metadata table's own properties are deleted, so that it is no table, and its files are recorded, so
that the files of another writer's metadata table in the same place can be told from them.
"""

import json
import re
from dataclasses import dataclass
from enum import Enum, auto

from hudictl.formats import properties
from hudictl.formats.file_names import WRITE_TOKEN
from hudictl.formats.layouts import (
    META,
    METADATA_PROPERTIES,
    METADATA_PROPERTIES_BACKUP,
    METADATA_TABLE,
    OWN,
    PARTITION_KEYS,
)
from hudictl.formats.limits import PROPERTIES_BYTES
from hudictl.storage import delete_all, entries_of, read_whole
from hudictl.table.metadata.place import (
    delete_retired,
    is_retired_in_place,
    lists_partitions,
    metadata_table_at,
    metadata_table_files,
    recorded_files,
    retire_metadata_table,
)
from hudictl.table.properties import update_properties
from hudictl.table.table import Table

_NAME = "metadata-"
_FILES = "-files.json"
_LEFT = re.compile(rf"(?:other-)?{_NAME}(\d+)(?:\.json|{re.escape(_FILES)})?")


@dataclass(frozen=True)
class Aside:
    """The metadata table of an operation: ``time`` is the operation's, ``sync`` the time of its own delta commit in the
    metadata table, ``properties`` is the metadata table's ``hoodie.properties``, decoded as Latin-1."""

    time: str
    sync: str
    properties: str

    @property
    def folder(self) -> str:
        return f"{OWN}/{_NAME}{self.time}"

    @property
    def other(self) -> str:
        """Another metadata table, on its way to be deleted."""
        return f"{OWN}/other-{_NAME}{self.time}"

    @property
    def record(self) -> str:
        """The files of a metadata table that could not be moved."""
        return f"{OWN}/{_NAME}{self.time}{_FILES}"


class _Place(Enum):
    IN_USE = auto()
    """In its place, complete; the properties of the data table may list it, or not."""
    MOVED = auto()
    IN_PLACE = auto()
    """In its place without properties, on a store that cannot move it."""
    LOST = auto()
    """Another metadata table has taken its place, or it was deleted."""


def set_aside(table: Table, aside: Aside) -> bool:
    """Takes the metadata table out of use, and deletes another one in its place. Idempotent.

    Returns:
        False if it is lost: then nothing but the properties of the data table was changed.
    """
    place = _place(table, aside)
    update_properties(table.storage, dict.fromkeys(PARTITION_KEYS, ""))
    if place is _Place.IN_USE and not table.storage.move(METADATA_TABLE, aside.folder):
        files = {path: seen for path, seen in metadata_table_files(table).items() if not _is_properties(path)}
        table.storage.replace(aside.record, json.dumps(files).encode())
        # The backup first: readers use it if the properties are missing.
        delete_all(table.storage, (METADATA_PROPERTIES_BACKUP, METADATA_PROPERTIES))
    if place is _Place.MOVED:
        _delete_other(table, aside)
    return place is not _Place.LOST


def is_in_use(table: Table, aside: Aside) -> bool:
    """Whether it is in its place, and complete: not set aside yet, or put back already."""
    return _place(table, aside) is _Place.IN_USE


def is_aside(table: Table, aside: Aside) -> bool:
    """Whether it is set aside, and nothing else is in its place."""
    place = _place(table, aside)
    return place is _Place.IN_PLACE or (place is _Place.MOVED and not table.storage.has_folder(METADATA_TABLE))


def other_begun(table: Table, aside: Aside) -> bool:
    """Whether a writer is building another metadata table in its place: there is one, still without properties."""
    if not table.storage.has_folder(METADATA_TABLE) or table.storage.stat(METADATA_PROPERTIES) is not None:
        return False
    return _place(table, aside) in (_Place.MOVED, _Place.LOST)


def other_made(table: Table, aside: Aside) -> bool:
    """Whether there is another metadata table, complete or not, or the properties of the data table list one."""
    if lists_partitions(table):
        return True
    place = _place(table, aside)
    return place in (_Place.MOVED, _Place.LOST) and table.storage.has_folder(METADATA_TABLE)


def table_aside(table: Table, aside: Aside) -> Table:
    """The metadata table that is set aside, to work on it. Raises Unreadable."""
    folder = aside.folder if table.storage.has_folder(aside.folder) else METADATA_TABLE
    return metadata_table_at(table, folder, properties.decode(aside.properties.encode("latin-1")))


def put_back(table: Table, aside: Aside) -> bool:
    """Puts it in its place again; readers do not use it yet. Idempotent.

    Returns:
        False if another metadata table is in its place, or it is lost.
    """
    place = _place(table, aside)
    if place is _Place.IN_PLACE:
        try:
            table.storage.create(METADATA_PROPERTIES, aside.properties.encode("latin-1"))
        except FileExistsError:
            return False
        delete_all(table.storage, (aside.record,))
        return True
    if place is _Place.MOVED and not table.storage.has_folder(METADATA_TABLE):
        return table.storage.move(aside.folder, METADATA_TABLE)
    return place is _Place.IN_USE


def forget_place(table: Table, aside: Aside) -> None:
    """A lost one stays lost: once files of the other one in its place are deleted, the rest is no metadata table."""
    delete_all(table.storage, (aside.record,))


def delete_aside(table: Table, aside: Aside) -> None:
    """Deletes what is set aside, if anything; a complete metadata table in its place is not touched. If it dies in the
    middle, the rest counts as lost."""
    _delete_folders(table, aside)
    if table.storage.stat(aside.record) is not None:
        alone = table.storage.stat(METADATA_PROPERTIES) is None and not _has_strangers(table, aside)
        if alone:
            retire_metadata_table(table, aside.time)
        forget_place(table, aside)
        if alone:
            delete_retired(table, aside.time)


def delete_unrecorded(table: Table, time: str) -> None:
    """Deletes what an operation has moved away whose record is gone; what is in its place is not touched. Idempotent.
    Raises StorageFailed."""
    aside = Aside(time, "", "")
    _delete_folders(table, aside)
    forget_place(table, aside)


def times_aside(table: Table) -> set[str]:
    """The times of operations that have a metadata table in hudictl's folder, or a record of it. Raises
    StorageFailed."""
    found = (_LEFT.fullmatch(entry.name) for entry in entries_of(table.storage, OWN))
    return {match[1] for match in found if match}


def partitions_aside(table: Table, time: str) -> tuple[str, ...]:
    """The partitions of the metadata table that an operation has moved away. Raises StorageFailed."""
    entries = entries_of(table.storage, Aside(time, "", "").folder)
    return tuple(entry.name for entry in entries if entry.is_dir and entry.name != META)


def _place(table: Table, aside: Aside) -> _Place:
    if table.storage.has_folder(aside.folder):
        return _Place.MOVED
    try:
        body = read_whole(table.storage, METADATA_PROPERTIES, PROPERTIES_BYTES)
    except FileNotFoundError:
        # What is dropped is deleted soon.
        kept = table.storage.stat(aside.record) is not None and not is_retired_in_place(table, aside.time)
        return _Place.IN_PLACE if kept and not _has_strangers(table, aside) else _Place.LOST
    # The properties have the time at which they were written: another metadata table has others.
    return _Place.IN_USE if body.decode("latin-1") == aside.properties else _Place.LOST


def _is_properties(path: str) -> bool:
    return path in (METADATA_PROPERTIES, METADATA_PROPERTIES_BACKUP)


def _has_strangers(table: Table, aside: Aside) -> bool:
    """Whether another writer has written into the folder since the metadata table was set aside there."""
    recorded = recorded_files(table, aside.record)
    return any(
        recorded.get(path) != seen and not _is_own(path, aside) for path, seen in metadata_table_files(table).items()
    )


def _is_own(path: str, aside: Aside) -> bool:
    """Whether a file may be of the delta commit that hudictl adds: logs below table version 8 do not name their
    writer's instant."""
    return aside.sync in path or path.endswith(f"_{WRITE_TOKEN}")


def _delete_folders(table: Table, aside: Aside) -> None:
    if table.storage.has_folder(aside.folder):
        _delete_moved(table, aside.folder, aside.other)
    if table.storage.has_folder(aside.other):
        table.storage.delete_folder(aside.other)


def _delete_other(table: Table, aside: Aside) -> None:
    """Deletes another metadata table, moved away in one step: readers cannot detect a partly deleted one."""
    _delete_moved(table, METADATA_TABLE, aside.other)


def _delete_moved(table: Table, folder: str, to: str) -> None:
    if table.storage.has_folder(to):
        table.storage.delete_folder(to)
    if table.storage.move(folder, to):
        table.storage.delete_folder(to)
