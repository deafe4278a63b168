"""Drops the metadata table: first readers stop using it, then its folder is removed."""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from hudictl.errors import NotFound, Unreadable
from hudictl.formats.json_values import parse_json
from hudictl.formats.layouts import (
    META,
    METADATA_PROPERTIES,
    METADATA_PROPERTIES_BACKUP,
    METADATA_TABLE,
    OWN,
    PARTITION_KEYS,
    PROPERTIES,
    PROPERTIES_BACKUP,
    layout_of,
)
from hudictl.formats.limits import RECORD_BYTES
from hudictl.phrases import first_few
from hudictl.storage import delete_all, entries_of, inside, read_whole
from hudictl.table.files.listed import ListedFiles
from hudictl.table.metadata.definitions import drop_definitions
from hudictl.table.properties import read_properties, update_properties
from hudictl.table.table import Table

MADE_ANEW = "`hudictl metadata drop` drops the metadata table; the next writer builds it again"
"""How to end a damaged metadata table."""
_RETIRED = re.compile(r"\.metadata_(?:.+_)?([0-9]+)\Z|retired-([0-9]+)\.json\Z")
# The backup is deleted first: readers use it if the properties are missing.
_PROPERTIES = (METADATA_PROPERTIES_BACKUP, METADATA_PROPERTIES)


@dataclass(frozen=True)
class Known:
    """The metadata table's listing. None if readers list folders, or if it cannot be read, with the reason in
    ``unread``."""

    listing: ListedFiles | None = None
    unread: str | None = None

    @property
    def partitions(self) -> frozenset[str]:
        """The listed partitions."""
        return self.listing.partitions if self.listing is not None else frozenset()

    def names_in(self, partitions: Iterable[str]) -> dict[str, frozenset[str]]:
        """The listed files of some partitions. Raises EngineFailed."""
        return self.listing.names_in(partitions) if self.listing is not None else {}


NOT_ASKED = Known()
"""The metadata table was not read, or is not in use."""


def properties_lost(table: Table) -> str | None:
    """What is wrong if a metadata table in use has no properties, or is missing whole: no writer makes it anew (0.15.0
    to 1.2.0)."""
    if table.metadata_partitions and all(table.storage.stat(path) is None for path in _PROPERTIES):
        listed = ", ".join(table.metadata_partitions)
        return (
            f"{METADATA_PROPERTIES} is missing, but {PROPERTIES} lists the metadata partitions {listed}: each write "
            "fails"
        )
    return None


def properties_in_use(table: Table) -> tuple[tuple[str, str], ...]:
    """The paths of the table's properties and of their backup; those of the metadata table's, where it is listed."""
    own = ((PROPERTIES, PROPERTIES_BACKUP),)
    return (*own, (METADATA_PROPERTIES, METADATA_PROPERTIES_BACKUP)) if table.metadata_partitions else own


def open_metadata_table(table: Table) -> Table | None:
    """The metadata table as a table; None if its folder has none, or one whose writer died before it listed it: its own
    properties are empty then, and the next writer begins again (0.15.0 to 1.2.0). Raises Unreadable."""
    try:
        return metadata_table_at(table, METADATA_TABLE, read_properties(table.storage.below(METADATA_TABLE)))
    except NotFound:
        return None
    except Unreadable as error:
        if not table.metadata_partitions and not table.metadata_partitions_inflight:
            return None
        raise Unreadable(f"{METADATA_TABLE}: {error}", file=METADATA_PROPERTIES) from error


def metadata_table_at(table: Table, folder: str, properties: Mapping[str, str]) -> Table:
    """The metadata table in a folder, with these properties. Raises Unreadable: a version in them is no number."""
    try:
        version = int(properties.get("hoodie.table.version", table.version))
        layout = layout_of(properties)
    except ValueError as error:
        raise Unreadable(str(error), file=METADATA_PROPERTIES) from error
    return replace(table, storage=table.storage.below(folder), properties=properties, layout=layout, version=version)


def metadata_table_in_use(table: Table) -> bool:
    """Whether the properties on disk list a partition, or the folder exists (a writer would use it again)."""
    return lists_partitions(table) or table.storage.has_folder(METADATA_TABLE)


def lists_partitions(table: Table) -> bool:
    """Whether the properties on disk list a partition of the metadata table, as complete or as being built."""
    properties = read_properties(table.storage)
    return any(properties.get(key) for key in PARTITION_KEYS)


def metadata_partition_names(table: Table) -> frozenset[str]:
    """The partitions that the properties on disk list, as complete or as being built, and those with a folder."""
    properties = read_properties(table.storage)
    listed = {name for key in PARTITION_KEYS for name in properties.get(key, "").split(",") if name}
    folders = {entry.name for entry in entries_of(table.storage, METADATA_TABLE) if entry.is_dir and entry.name != META}
    return frozenset(listed | folders)


def retire_metadata_table(table: Table, time: str) -> bool:
    """Clears the properties, then moves the folder away in one step. Idempotent.

    Hudi's readers cannot detect a partly deleted folder under its own name: they would miss files. The new name
    contains the operation's time, so that a rerun recognizes it. An object store cannot move a folder. There the
    folder's own properties are deleted: without them it is not a table, and readers list folders instead. Then its
    instants. The files in it are recorded first, so that this operation, and a rerun, delete only these.

    Returns:
        False if there was nothing to do.
    """
    if not metadata_table_made(table, time):
        return False
    update_properties(table.storage, dict.fromkeys(PARTITION_KEYS, ""))
    _delete_folder(table, _retired(time))
    if table.storage.move(METADATA_TABLE, _retired(time)):
        return True
    if not table.storage.has_folder(METADATA_TABLE):
        return False
    seen = {path: status for path, status in metadata_table_files(table).items() if path not in _PROPERTIES}
    table.storage.replace(_record(time), json.dumps(seen).encode())
    delete_all(table.storage, _PROPERTIES)
    # If Hudi's own restore goes on, it builds a metadata table here: old instants would pass for the new one's, and it
    # would fail (seen on 1.2.0).
    delete_all(table.storage, [path for path in seen if path.startswith(f"{METADATA_TABLE}/{META}/")])
    return True


def metadata_table_made(table: Table, time: str) -> bool:
    """Whether there is a metadata table, complete or not, other than the one that the operation of this time dropped: a
    writer has built it since, or is building it now."""
    if lists_partitions(table):
        return True
    if not table.storage.has_folder(METADATA_TABLE):
        return False
    retired = _read_record(table, time)
    return retired is None or any(retired.get(path) != seen for path, seen in metadata_table_files(table).items())


def metadata_table_begun(table: Table, time: str) -> bool:
    """Whether a writer is building a metadata table: there is a new folder, still without properties."""
    if not table.storage.has_folder(METADATA_TABLE):
        return False
    return table.storage.stat(METADATA_PROPERTIES) is None and metadata_table_made(table, time)


def delete_retired(table: Table, time: str) -> bool:
    """Deletes what the operation of this time dropped; this is slow, so it is done after readers are back. The folder
    under its own name is deleted only if the store could not move it, and no writer has written there since.

    Returns:
        False if a writer has: its files, and the dropped ones, are still there.
    """
    _delete_folder(table, _retired(time))
    retired = _read_record(table, time)
    if retired is None:
        return True
    if metadata_table_made(table, time):
        return False
    delete_all(table.storage, tuple(retired))
    if metadata_table_files(table):
        return False
    # Objects that represent folders.
    _delete_folder(table, METADATA_TABLE)
    delete_all(table.storage, (_record(time),))
    return True


def is_retired_in_place(table: Table, time: str) -> bool:
    """Whether the operation of this time dropped a metadata table in its place, and has not deleted all of it yet."""
    return table.storage.stat(_record(time)) is not None


def forget_retired(table: Table, time: str) -> None:
    """Deletes the record of what the operation of this time dropped."""
    delete_all(table.storage, (_record(time),))


def retire_indexes(table: Table, partitions: Collection[str], rollback_time: str) -> bool:
    """Drops some partitions of the metadata table, and keeps the others. Idempotent.

    The definitions and the properties first, then the folders, each in one step if the store supports this: readers do
    not use an index that is not listed, and a writer that rebuilds it empties its folder (Hudi 1.0.2, 1.2.0).

    Returns:
        False if there was nothing to do.
    """
    properties = read_properties(table.storage)
    listed = {key: properties[key].split(",") for key in PARTITION_KEYS if properties.get(key)}
    folders = [name for name in partitions if table.storage.has_folder(f"{METADATA_TABLE}/{name}")]
    if not folders and not any(set(names) & set(partitions) for names in listed.values()):
        return False
    drop_definitions(table, partitions)
    kept = {key: ",".join(name for name in names if name not in partitions) for key, names in listed.items()}
    update_properties(table.storage, kept)
    for name in folders:
        _delete_folder(table, _retired(f"{name}_{rollback_time}"))
        if not table.storage.move(f"{METADATA_TABLE}/{name}", _retired(f"{name}_{rollback_time}")):
            table.storage.delete_folder(f"{METADATA_TABLE}/{name}")
    return True


def delete_retired_indexes(table: Table, rollback_time: str) -> None:
    """Deletes the folders of dropped partitions."""
    for entry in table.storage.list(META):
        if entry.is_dir and entry.name.startswith(".metadata_") and entry.name.endswith(f"_{rollback_time}"):
            _delete_folder(table, f"{META}/{entry.name}")


def retired_times(table: Table) -> frozenset[str]:
    """The times of operations that have dropped the metadata table, or some partitions, and have not deleted all of it.
    Folders of Hudi's have such names, too."""
    names = [entry.name for folder in (META, OWN) for entry in entries_of(table.storage, folder)]
    return frozenset(match[1] or match[2] for name in names if (match := _RETIRED.match(name)))


def _delete_folder(table: Table, folder: str) -> None:
    # A link in its place is no folder, and is removed.
    if table.storage.has_folder(folder) or table.storage.behind_link(folder):
        table.storage.delete_folder(folder)


def _retired(time: str) -> str:
    return f"{META}/.metadata_{time}"


def _record(time: str) -> str:
    return f"{OWN}/retired-{time}.json"


def _read_record(table: Table, time: str) -> dict[str, list[int]] | None:
    """The files in the folder when the operation deleted its properties; None if it never did. Raises Unreadable."""
    try:
        return recorded_files(table, _record(time))
    except FileNotFoundError:
        return None


def recorded_files(table: Table, record: str) -> dict[str, list[int]]:
    """The files of the metadata table in a record, as ``metadata_table_files`` found them. They will be deleted, so it
    names no other ones. Raises Unreadable, FileNotFoundError."""
    try:
        files = parse_json(read_whole(table.storage, record, RECORD_BYTES))
        other = [path for path in files if not inside(path).startswith(f"{METADATA_TABLE}/")]
        if other or not all(isinstance(seen, list) for seen in files.values()):
            raise ValueError(f"{first_few(other) or 'an entry'} is no file of the metadata table")
    except (ValueError, TypeError, AttributeError, Unreadable) as error:
        hint = "move this file out of the table"
        raise Unreadable(f"{record} is damaged: {error}", hint=hint, file=record) from error
    return dict(files)


def metadata_table_files(table: Table) -> dict[str, list[int]]:
    """All files of the metadata table, by path, each with its size in bytes and its modification time."""
    found, waiting = {}, [METADATA_TABLE]
    while waiting:
        folder = waiting.pop()
        with suppress(FileNotFoundError):
            for entry in table.storage.list(folder):
                path = f"{folder}/{entry.name}"
                if entry.is_dir:
                    waiting.append(path)
                else:
                    found[path] = [entry.size, entry.modified_ms]
    return found
