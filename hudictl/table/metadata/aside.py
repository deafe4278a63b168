"""The one way to take the metadata table, or some of its indexes, out of use: it is set aside, in one step. Then it is
put back when it is right again, or deleted when readers are back: that is slow.

The properties of the data table stop listing it first. Then its folder goes into hudictl's own: under its own name,
Hudi's readers cannot detect that files are missing. The new name contains the operation's time, so that a rerun
recognizes it. An object store cannot move a folder: there the metadata table's own properties are deleted, so that it
is no table, and readers list folders. Its files are recorded before, so that the files of another writer's metadata
table in the same place can be told from them.
"""

import json
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto

from hudictl.errors import Unreadable
from hudictl.formats import properties
from hudictl.formats.file_names import WRITE_TOKEN
from hudictl.formats.json_values import parse_json
from hudictl.formats.layouts import (
    META,
    METADATA_PROPERTIES,
    METADATA_PROPERTIES_BACKUP,
    METADATA_TABLE,
    OWN,
    PARTITION_KEYS,
)
from hudictl.formats.limits import PROPERTIES_BYTES, RECORD_BYTES
from hudictl.phrases import first_few
from hudictl.storage import delete_all, entries_of, inside, read_whole
from hudictl.table.metadata.definitions import drop_definitions
from hudictl.table.metadata.place import listed_partitions, metadata_table_at, metadata_table_files
from hudictl.table.properties import read_properties, update_properties
from hudictl.table.table import Table

DROPPED = "dropped-metadata-"
"""The beginning of the names of what is on its way to be deleted."""
_KEPT = "metadata-"
_FILES = "-files.json"
_OF_KEPT = re.compile(rf"{_KEPT}(\d+)(?:\.json|{re.escape(_FILES)})?")
_OF_DROPPED = re.compile(rf"{DROPPED}(\d+)(?:-.+)?", re.DOTALL)
# The backup first: readers use it if the properties are missing.
_TIMED = re.compile(r"(?<!\d)[1-9]\d{16}")
_PROPERTIES = (METADATA_PROPERTIES_BACKUP, METADATA_PROPERTIES)


@dataclass(frozen=True)
class Aside:
    """What an operation sets aside; ``time`` is the operation's. Of a metadata table that it keeps, ``sync`` is the
    time of hudictl's own delta commit in it, and ``properties`` its ``hoodie.properties``, decoded as Latin-1."""

    time: str
    sync: str
    properties: str

    @property
    def folder(self) -> str:
        return f"{OWN}/{_KEPT}{self.time}"

    @property
    def files(self) -> str:
        """The record of its files, if it could not be moved."""
        return f"{self.folder}{_FILES}"

    @property
    def dropped(self) -> str:
        """A metadata table on its way to be deleted: this one, or another one; with a suffix, an index of one."""
        return f"{OWN}/{DROPPED}{self.time}"

    @property
    def dropped_files(self) -> str:
        """The record of the files to delete, if they could not be moved."""
        return f"{self.dropped}{_FILES}"


def keeping_none(time: str) -> Aside:
    """Of an operation that keeps no metadata table, or whose record of it is gone."""
    return Aside(time, "", "")


class Own(Enum):
    """Where the metadata table is that an operation keeps."""

    IN_USE = auto()
    """In its place, complete; the properties of the data table may list it, or not."""
    MOVED = auto()
    STAYED = auto()
    """In its place without properties, on a store that cannot move it."""
    LOST = auto()
    """Another metadata table has taken its place, or it was deleted. Also if the operation keeps none."""


class Other(Enum):
    """Whether there is another metadata table, which the operation has not set aside."""

    NONE = auto()
    BEGUN = auto()
    """A writer is building it: its folder is there, without properties."""
    MADE = auto()
    """It is complete; or the properties of the data table list one."""


@dataclass(frozen=True)
class Place:
    """Where an operation's metadata table is, and what is in its place."""

    own: Own
    other: Other

    @property
    def is_aside(self) -> bool:
        """Whether it is set aside, and there is no other one."""
        return self.own in (Own.MOVED, Own.STAYED) and self.other is Other.NONE


def look(table: Table, aside: Aside) -> Place:
    """Where an operation's metadata table is now. Raises Unreadable: a record of files; StorageFailed."""
    # An operation that keeps none asks nothing of the store for it.
    own, other = _own(table, aside) if aside.properties else Own.LOST, Other.NONE
    there = own in (Own.MOVED, Own.LOST) and table.storage.has_folder(METADATA_TABLE)
    if there and _has_others(table, aside):
        other = Other.BEGUN if table.storage.stat(METADATA_PROPERTIES) is None else Other.MADE
    elif listed_partitions(table):
        other = Other.MADE
    return Place(own, other)


def set_aside(table: Table, aside: Aside) -> bool:
    """Takes the metadata table out of use, and deletes another one in its place. Idempotent.

    Returns:
        False if it is lost: then nothing but the properties of the data table was changed.
    """
    own = _own(table, aside)
    _unlist(table)
    if own is Own.IN_USE:
        _take_away(table, aside.folder, aside.files)
    if own is Own.MOVED and _move(table, METADATA_TABLE, aside.dropped):
        table.storage.delete_folder(aside.dropped)
    return own is not Own.LOST


def put_back(table: Table, aside: Aside) -> bool:
    """Puts it in its place again; readers do not use it yet. Idempotent.

    Returns:
        False if another metadata table is in its place, or it is lost.
    """
    own = _own(table, aside)
    if own is Own.STAYED:
        try:
            table.storage.create(METADATA_PROPERTIES, aside.properties.encode("latin-1"))
        except FileExistsError:
            return False
        delete_all(table.storage, (aside.files,))
        return True
    if own is Own.MOVED and not table.storage.has_folder(METADATA_TABLE):
        return table.storage.move(aside.folder, METADATA_TABLE)
    return own is Own.IN_USE


def drop_metadata_table(table: Table, time: str) -> bool:
    """Takes the metadata table out of use, whichever it is, to be deleted by ``delete_dropped``. Idempotent.

    Returns:
        False if there was nothing to do.
    """
    aside = keeping_none(time)
    if look(table, aside).other is Other.NONE:
        return False
    _unlist(table)
    seen = _take_away(table, aside.dropped, aside.dropped_files)
    if seen is None:
        return False
    # If Hudi's own restore goes on, it builds a metadata table here: old instants would pass for the new one's, and it
    # would fail (seen on 1.2.0).
    delete_all(table.storage, [path for path in seen if path.startswith(f"{METADATA_TABLE}/{META}/")])
    return True


def drop_indexes(table: Table, partitions: Collection[str], time: str) -> bool:
    """Takes some partitions of the metadata table out of use, to be deleted by ``delete_dropped``; the others stay.
    Idempotent.

    The definitions and the properties first, then the folders, each in one step if the store supports this: readers do
    not use an index that is not listed, and a writer that rebuilds it empties its folder (Hudi 1.0.2, 1.2.0).

    Returns:
        False if there was nothing to do.
    """
    before = read_properties(table.storage)
    listed = {key: before[key].split(",") for key in PARTITION_KEYS if before.get(key)}
    folders = [name for name in partitions if table.storage.has_folder(f"{METADATA_TABLE}/{name}")]
    if not folders and not any(set(names) & set(partitions) for names in listed.values()):
        return False
    drop_definitions(table, partitions)
    kept = {key: ",".join(name for name in names if name not in partitions) for key, names in listed.items()}
    update_properties(table.storage, kept)
    for name in folders:
        if not _move(table, f"{METADATA_TABLE}/{name}", f"{keeping_none(time).dropped}-{name}"):
            table.storage.delete_folder(f"{METADATA_TABLE}/{name}")
    return True


def delete_dropped(table: Table, time: str) -> bool:
    """Deletes what the operation of this time has dropped. What could not be moved is deleted only if no writer has
    written there since.

    Returns:
        False if a writer has: its files, and the dropped ones, are still there.
    """
    aside = keeping_none(time)
    for entry in entries_of(table.storage, OWN):
        match = _OF_DROPPED.fullmatch(entry.name)
        if match and match[1] == time:
            _delete_folder(table, f"{OWN}/{entry.name}")
    dropped = _read_record(table, aside.dropped_files)
    if dropped is None:
        return True
    # One that was to be kept is lost: it was dropped there, or another writer's was.
    delete_all(table.storage, (aside.files,))
    if look(table, aside).other is not Other.NONE:
        return False
    delete_all(table.storage, tuple(dropped))
    if metadata_table_files(table):
        return False
    # Objects that represent folders.
    _delete_folder(table, METADATA_TABLE)
    delete_all(table.storage, (aside.dropped_files,))
    return True


def delete_aside(table: Table, aside: Aside) -> None:
    """Deletes all that the operation has set aside, if anything; another metadata table in its place is not touched,
    and what remains belongs to it. If it dies in the middle, the rest counts as lost."""
    own = _own(table, aside)
    if own is Own.MOVED:
        _move(table, aside.folder, aside.dropped)
    if own is Own.STAYED:
        drop_metadata_table(table, aside.time)
    delete_all(table.storage, (aside.files,))
    delete_dropped(table, aside.time)
    delete_all(table.storage, (aside.dropped_files,))


def table_aside(table: Table, aside: Aside) -> Table:
    """The metadata table that is set aside, to work on it. Raises Unreadable."""
    folder = aside.folder if table.storage.has_folder(aside.folder) else METADATA_TABLE
    return metadata_table_at(table, folder, properties.decode(aside.properties.encode("latin-1")))


def times_aside(table: Table) -> set[str]:
    """The times of operations that keep a metadata table in hudictl's folder, or have a record of it there. Raises
    StorageFailed."""
    found = (_OF_KEPT.fullmatch(entry.name) for entry in entries_of(table.storage, OWN))
    return {match[1] for match in found if match}


def times_dropped(table: Table) -> set[str]:
    """The times of operations that have dropped the metadata table, or some indexes, and have not deleted all of it.
    Raises StorageFailed."""
    found = (_OF_DROPPED.fullmatch(entry.name) for entry in entries_of(table.storage, OWN))
    return {match[1] for match in found if match}


def partitions_aside(table: Table, time: str) -> tuple[str, ...]:
    """The partitions of the metadata table that an operation has moved away. Raises StorageFailed."""
    entries = entries_of(table.storage, keeping_none(time).folder)
    return tuple(entry.name for entry in entries if entry.is_dir and entry.name != META)


def _own(table: Table, aside: Aside) -> Own:
    if table.storage.has_folder(aside.folder):
        return Own.MOVED
    if not aside.properties:
        return Own.LOST
    try:
        body = read_whole(table.storage, METADATA_PROPERTIES, PROPERTIES_BYTES)
    except FileNotFoundError:
        # Beside what is dropped there, none is kept.
        stayed = table.storage.stat(aside.files) is not None and table.storage.stat(aside.dropped_files) is None
        return Own.STAYED if stayed and not _has_strangers(table, aside) else Own.LOST
    # The properties have the time at which they were written: another metadata table has others.
    return Own.IN_USE if body.decode("latin-1") == aside.properties else Own.LOST


def _has_strangers(table: Table, aside: Aside) -> bool:
    """Whether another writer has written into the folder since the metadata table was set aside there."""
    now = {path: seen for path, seen in metadata_table_files(table).items() if not _is_own(path, aside)}
    return _has_changed(_read_record(table, aside.files) or {}, now)


def _has_others(table: Table, aside: Aside) -> bool:
    """Whether there is more in its place than what the operation has dropped there."""
    dropped = _read_record(table, aside.dropped_files)
    return dropped is None or _has_changed(dropped, metadata_table_files(table))


def _has_changed(before: Mapping[str, list[int]], now: Mapping[str, list[int]]) -> bool:
    """Whether another writer has written into the folder since its files were recorded. A copy of the table may have
    the same files, each with another time: a writer adds files, and leaves others as they were."""
    changed = [path for path, seen in now.items() if before.get(path) != seen]
    same = len(changed) == len(now) and all(before.get(path, [])[:1] == now[path][:1] for path in changed)
    # A metadata table that is just being built has the names and sizes that the one before had at its beginning.
    copied = same and any(map(_TIMED.search, now))
    return bool(changed) and not copied


def _is_own(path: str, aside: Aside) -> bool:
    """Whether a file may be of the delta commit that hudictl adds: logs below table version 8 do not name their
    writer's instant."""
    return aside.sync in path or path.endswith(f"_{WRITE_TOKEN}")


def _unlist(table: Table) -> None:
    update_properties(table.storage, dict.fromkeys(PARTITION_KEYS, ""))


def _move(table: Table, folder: str, to: str) -> bool:
    """Moves a folder in one step, over what an earlier attempt has left there."""
    _delete_folder(table, to)
    return table.storage.move(folder, to)


def _take_away(table: Table, to: str, record: str) -> Collection[str] | None:
    """Moves the metadata table away; where the store cannot, it is no table any more, and its files are recorded.

    Returns:
        The recorded files; None if there was no metadata table.
    """
    if _move(table, METADATA_TABLE, to):
        return ()
    if not table.storage.has_folder(METADATA_TABLE):
        return None
    seen = {path: status for path, status in metadata_table_files(table).items() if path not in _PROPERTIES}
    table.storage.replace(record, json.dumps(seen).encode())
    delete_all(table.storage, _PROPERTIES)
    return seen


def _delete_folder(table: Table, folder: str) -> None:
    # A link in its place is no folder, and is removed.
    if table.storage.has_folder(folder) or table.storage.behind_link(folder):
        table.storage.delete_folder(folder)


def _read_record(table: Table, record: str) -> dict[str, list[int]] | None:
    """The files of the metadata table in a record, as ``metadata_table_files`` found them; None if there is no record.
    They may be deleted, so it names no other ones. Raises Unreadable."""
    with suppress(FileNotFoundError):
        try:
            files = parse_json(read_whole(table.storage, record, RECORD_BYTES))
            other = [path for path in files if not inside(path).startswith(f"{METADATA_TABLE}/")]
            if other or not all(isinstance(seen, list) for seen in files.values()):
                raise ValueError(f"{first_few(other) or 'an entry'} is no file of the metadata table")
        except (ValueError, TypeError, AttributeError, Unreadable) as error:
            hint = "move this file out of the table"
            raise Unreadable(f"{record} is damaged: {error}", hint=hint, file=record) from error
        return dict(files)
    return None
