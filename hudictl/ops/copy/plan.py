"""The plan of a copy, as data; and what is in its target."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from hudictl.copy_workers import FolderFiles
from hudictl.errors import Refused
from hudictl.formats.file_names import data_path
from hudictl.formats.layouts import META, OWN, PROPERTIES, SCRATCH
from hudictl.ops.undo.plan import MarkedSlice
from hudictl.storage import Folders, Storage, entries_of, kind_of
from hudictl.table.copied import RECORD, CopyRecord, read_record
from hudictl.table.locks.config import LockConfig

BEGIN_AGAIN = "delete the target folder, then run the command again"
_PART_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class CopyOptions:
    """``partitions``: only these; empty for all. ``name`` of the new table; "" for that of the old one. ``checksum``:
    contents are compared, too. ``savepoint``: the source may get a temporary savepoint."""

    partitions: tuple[str, ...] = ()
    name: str = ""
    checksum: bool = False
    savepoint: bool = True


@dataclass(frozen=True)
class CopyPlan:
    """A copy of the table as of the commit ``as_of`` to the URI ``to``; the names in ``shown`` are those in JSON.

    ``files`` and ``bytes`` are those of partitions, ``instants`` and ``timeline_files`` those of the timeline and of
    what else is in .hoodie. ``rollback_blocks`` are written to the copy's logs, for instants that are not on its
    timeline. ``requests`` of object stores and HDFS, at least; 0 between local folders. ``savepoint``: ``temporary``,
    ``exists`` or ``none``. ``resumes``: the copy has begun before. ``there``: it is a table, and has these
    files. ``done``: it is there, and its end is noted.
    """

    shown: ClassVar = (
        *("as_of", "to", "name", "only_partitions", "partitions", "files", "bytes", "instants", "timeline_files"),
        *("rollback_blocks", "requests", "savepoint", "checksum", "resumes", "done", "lock"),
    )

    record: CopyRecord
    to: str
    options: CopyOptions
    savepoint: str
    resumes: bool
    there: bool
    done: bool
    lock: LockConfig
    folders: tuple[FolderFiles, ...] = field(default=(), repr=False)
    meta: tuple[FolderFiles, ...] = field(default=(), repr=False)
    archive: str = ""
    bare: tuple[str, ...] = ()
    marked: tuple[MarkedSlice, ...] = field(default=(), repr=False)
    instants: int = 0
    cleans: frozenset[str] = frozenset()
    logs_grow: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def as_of(self) -> str:
        return self.record.as_of

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def checksum(self) -> bool:
        return self.options.checksum

    @property
    def only_partitions(self) -> tuple[str, ...]:
        return self.record.partitions

    @property
    def partitions(self) -> int:
        return len(self.folders)

    @property
    def files(self) -> int:
        return sum(folder.number for folder in self.folders)

    @property
    def bytes(self) -> int:
        return sum(folder.size for folder in self.folders)

    @property
    def timeline_files(self) -> int:
        return sum(folder.number for folder in self.meta)

    @property
    def rollback_blocks(self) -> int:
        return sum(len(marked.targets) for marked in self.marked)

    @property
    def requests(self) -> int:
        """To read each part, and to write it."""
        stores = len([uri for uri in (self.record.source, self.to) if kind_of(uri) != "file"])
        parts = self.files + self.timeline_files + self.bytes // _PART_BYTES
        return stores * (parts + 2 * self.partitions)


def read_target(target: Storage, record: CopyRecord) -> tuple[CopyRecord | None, bool]:
    """The record of the copy that has begun in a folder, if any, and whether it has become a table. Raises Refused:
    something else is there."""
    above: Storage | None = target
    while isinstance(above, Folders) and not above.has_folder(""):
        if above.stat("") is not None:
            hint = "give a folder that is empty, or does not exist"
            raise Refused(f"{above.uri} is no folder, but a file", hint=hint, target=target.uri)
        above = above.above()
    try:
        begun = read_record(target)
    except ValueError as error:
        raise _other(target, f"{RECORD} cannot be read: {error}") from error
    if begun is not None:
        if replace(begun, ended=False) != record:
            raise _other(target, f"there is a copy of {begun.source} as of {begun.as_of}, made with other arguments")
        return begun, target.stat(PROPERTIES) is not None
    # Before the record there can be folders for temporary files, if this process died.
    for folder, name in (("", META), (META, OWN), (OWN, SCRATCH)):
        for entry in entries_of(target, folder):
            path = data_path(folder, entry.name)
            if path != name or not entry.is_dir:
                raise _other(target, f"there is {path!r} in it, and no record of this copy")
    return None, False


def _other(target: Storage, why: str) -> Refused:
    return Refused(
        f"{target.uri} is not empty: {why}",
        hint="give another folder that is empty, or does not exist; hudictl deletes nothing there",
        target=target.uri,
    )
