"""Taking the metadata table out of use: readers first, then the folder."""

import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from hudictl.errors import NotFound, Unreadable
from hudictl.formats.layouts import (
    META,
    METADATA_PROPERTIES,
    METADATA_PROPERTIES_BACKUP,
    METADATA_TABLE,
    OWN,
    layout_of,
)
from hudictl.formats.metadata_records import Listed
from hudictl.storage import delete_all
from hudictl.table.index_definitions import drop_definitions
from hudictl.table.properties import read_properties, update_properties
from hudictl.table.table import Table, table_at

PARTITION_KEYS = ("hoodie.table.metadata.partitions", "hoodie.table.metadata.partitions.inflight")
# The backup goes first: readers take it where the properties are missing.
_PROPERTIES = (METADATA_PROPERTIES_BACKUP, METADATA_PROPERTIES)


@dataclass(frozen=True)
class Known:
    """What readers are told by the metadata table, by partition and name: None where they list folders, or it cannot be
    read, for the reason that ``unread`` has."""

    listing: Mapping[str, Mapping[str, Listed]] | None = None
    unread: str | None = None


NOT_ASKED = Known()
"""Nothing is asked of the metadata table, or there is none in use."""


def properties_lost(table: Table) -> str | None:
    """What is wrong where the rest of a metadata table in use is there, without its properties: writers do not make it
    anew, as where all is gone (0.15.0 to 1.2.0)."""
    storage = table.storage
    if table.metadata_partitions and storage.stat(METADATA_PROPERTIES) is None and storage.stat(METADATA_TABLE):
        return f"{METADATA_PROPERTIES} is gone, and the rest of the metadata table is there: each write fails"
    return None


def open_metadata_table(table: Table) -> Table | None:
    """The metadata table as a table of its own; None where its folder holds none. Raises Unreadable."""
    storage = table.storage.below(METADATA_TABLE)
    try:
        properties = read_properties(storage)
        version = int(properties.get("hoodie.table.version", table.version))
        layout = layout_of(properties)
    except NotFound:
        return None
    except (Unreadable, ValueError) as error:
        raise Unreadable(f"{METADATA_TABLE}: {error}", file=METADATA_PROPERTIES) from error
    return replace(table, storage=storage, properties=properties, layout=layout, version=version)


def data_table_of(metadata: Table) -> Table | None:
    """The table that a metadata table is of; None for any other table. Raises Unreadable."""
    meta = metadata.storage.above()
    if not metadata.uri.endswith(f"/{METADATA_TABLE}") or meta is None:
        return None
    base = meta.above()
    try:
        return replace(table_at(base), zone=metadata.zone, zone_known=metadata.zone_known) if base else None
    except NotFound:
        return None


def metadata_table_in_use(table: Table) -> bool:
    """Whether the properties on disk list a partition, or the folder is there (a writer would take it up again)."""
    listed = any(read_properties(table.storage).get(key) for key in PARTITION_KEYS)
    return listed or table.storage.stat(METADATA_TABLE) is not None


def retire_metadata_table(table: Table, time: str) -> bool:
    """Clears the properties, then moves the folder away in one step. Idempotent.

    A folder that is half deleted under its own name has no guard in Hudi's readers: they would miss files. The new
    name carries the operation's time, so that a rerun knows it for its own. An object store has no such step: there
    the folder loses its own properties, without which it is no table, and readers list folders instead; what was in it
    is written down first, so that this operation, and a rerun, deletes that and nothing else.

    Returns:
        False where there was nothing to do.
    """
    if not metadata_table_made(table, time):
        return False
    update_properties(table.storage, dict.fromkeys(PARTITION_KEYS, ""))
    _delete_folder(table, _retired(time))
    if table.storage.move(METADATA_TABLE, _retired(time)):
        return True
    if table.storage.stat(METADATA_TABLE) is None:
        return False
    seen = {path: status for path, status in _files(table).items() if path not in _PROPERTIES}
    table.storage.replace(_record(time), json.dumps(seen).encode())
    delete_all(table.storage, _PROPERTIES)
    return True


def metadata_table_made(table: Table, time: str) -> bool:
    """Whether there is a metadata table, or the beginning of one, other than what the operation of this time has taken
    out of use: a writer has made it since, or makes it now."""
    if any(read_properties(table.storage).get(key) for key in PARTITION_KEYS):
        return True
    if table.storage.stat(METADATA_TABLE) is None:
        return False
    retired = _read_record(table, time)
    return retired is None or any(retired.get(path) != seen for path, seen in _files(table).items())


def metadata_table_begun(table: Table, time: str) -> bool:
    """Whether somebody is making a metadata table: there is a folder of another's, without properties as yet."""
    is_table = table.storage.stat(METADATA_PROPERTIES) is not None
    return not is_table and table.storage.stat(METADATA_TABLE) is not None and metadata_table_made(table, time)


def delete_retired(table: Table, time: str) -> None:
    """Deletes what the operation of this time took out of use: a long work, for when readers are back. The folder under
    its own name only where the store cannot move one, and if nobody has written there since."""
    _delete_folder(table, _retired(time))
    retired = _read_record(table, time)
    if retired is None or metadata_table_made(table, time):
        return
    delete_all(table.storage, tuple(retired))
    if not _files(table):
        # What stands for folders.
        _delete_folder(table, METADATA_TABLE)
        delete_all(table.storage, (_record(time),))


def retire_indexes(table: Table, partitions: Collection[str], rollback_time: str) -> bool:
    """Takes some partitions of the metadata table out of use, the rest of which stays. Idempotent.

    The definitions and the properties first, then the folders, each in one step where the store has one: readers do
    not ask an index that is not listed, and a writer that builds it anew empties its folder (Hudi 1.0.2, 1.2.0).

    Returns:
        False where there was nothing to do.
    """
    properties = read_properties(table.storage)
    listed = {key: properties[key].split(",") for key in PARTITION_KEYS if properties.get(key)}
    folders = [name for name in partitions if table.storage.stat(f"{METADATA_TABLE}/{name}") is not None]
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
    """Deletes the folders of partitions that were taken out of use."""
    for entry in table.storage.list(META):
        if entry.is_dir and entry.name.startswith(".metadata_") and entry.name.endswith(f"_{rollback_time}"):
            _delete_folder(table, f"{META}/{entry.name}")


def _delete_folder(table: Table, folder: str) -> None:
    if table.storage.stat(folder) is not None:
        table.storage.delete_folder(folder)


def _retired(time: str) -> str:
    return f"{META}/.metadata_{time}"


def _record(time: str) -> str:
    return f"{OWN}/retired-{time}.json"


def _read_record(table: Table, time: str) -> dict[str, list[int]] | None:
    """What was in the folder when the operation took its properties away; None: it never did. Raises Unreadable."""
    try:
        return dict(json.loads(table.storage.read(_record(time))))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise Unreadable(f"{_record(time)} is damaged: {error}", hint="move it away", file=_record(time)) from error


def _files(table: Table) -> dict[str, list[int]]:
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
