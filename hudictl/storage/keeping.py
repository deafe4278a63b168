"""A storage that keeps what it deletes or replaces, in a room of its own: so that all of it can be put back."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from typing import TypeVar

from hudictl.storage.base import (
    DeleteOutcome,
    FileStatus,
    FileVersion,
    Storage,
    Versions,
    delete_all,
    entries_of,
    files_below,
)
from hudictl.storage.guard import Guard

_Value = TypeVar("_Value")
_KEPT = "kept"
"""Below a room: the files as they were, each under its own path."""
_MADE = "made"
"""Below a room: an empty file for each file that was created, under its path."""
_VERSIONS = "versions"
"""Below a room: records of files that stay where they were, as old versions of a bucket."""


@dataclass(frozen=True)
class Keeping(Storage):
    """A storage of a table, or of a folder ``inner`` in it. What is below ``own`` is not kept: the room is there.

    A file that is deleted is moved into the room, if it was there at the beginning; before one is replaced, it is
    copied. A file that is created is noted before. So the state of the beginning can be found after any crash. Folders
    are not moved: their files would lose their paths. Nothing is appended: a file is kept whole, or not at all.

    ``versions`` is the base itself where its bucket keeps old versions: then the version of a file is recorded before
    it is deleted or replaced, and nothing is moved, unless it has none. Each file that is created or replaced is noted,
    and what is noted is not recorded any more: so a path has one record, of the file that was there at the beginning.
    """

    base: Storage
    room: str
    own: str
    inner: str = ""
    versions: Versions | None = None

    @property
    def uri(self) -> str:
        return self._now.uri

    @property
    def guard(self) -> Guard:
        return self.base.guard

    @property
    def _now(self) -> Storage:
        return self.base.below(self.inner) if self.inner else self.base

    def below(self, folder: str) -> Storage:
        return replace(self, inner=self._path(folder))

    def above(self) -> Storage | None:
        return replace(self, inner=self.inner.rpartition("/")[0]) if self.inner else self.base.above()

    def require_writable(self) -> None:
        self.base.require_writable()

    def behind_link(self, folder: str) -> bool:
        return self.base.behind_link(self._path(folder))

    def absolute(self, path: str) -> str:
        return self.base.absolute(self._path(path))

    def list(self, folder: str) -> list[FileStatus]:
        return self.base.list(self._path(folder))

    def stat(self, path: str) -> FileStatus | None:
        return self.base.stat(self._path(path))

    def has_folder(self, folder: str) -> bool:
        return self.base.has_folder(self._path(folder))

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        return self.base.read(self._path(path), start, length)

    def unfinished(self, paths: Sequence[str]) -> frozenset[str]:
        found = self.base.unfinished([*map(self._path, paths)])
        return frozenset(path for path in paths if self._path(path) in found)

    def keeps_deleted(self) -> str | None:
        return self.base.keeps_deleted()

    def touch(self, path: str) -> None:
        whole = self._path(path)
        if self._is_kept(whole) and self.base.stat(made_path(self.room, whole)) is None:
            # What is kept may be a link to the same file: it must not get the new time.
            self.replace(path, self.base.read(whole))
        else:
            self.base.touch(whole)

    def sync(self, folder: str) -> None:
        self.base.sync(self._path(folder))

    def create(self, path: str, body: bytes) -> None:
        path = self._path(path)
        noted = self._is_kept(path) and self.base.stat(path) is None and self._note(path)
        try:
            self.base.create(path, body)
        except FileExistsError:
            if noted:
                # Another process has made it meanwhile.
                self.base.delete([made_path(self.room, path)])
            raise

    def replace(self, path: str, body: bytes) -> None:
        path = self._path(path)
        if self._is_kept(path) and self.base.stat(made_path(self.room, path)) is None:
            copied = [path] if self.versions is None else self._record(self.versions, [path])[1]
            try:
                for each in copied:
                    self.base.copy_file(each, kept_path(self.room, each))
            except FileNotFoundError:
                # The sidecar of a file that is gone goes as soon as there is a new one.
                alone = _sidecar_of(path)
                with suppress(FileNotFoundError):
                    self.base.copy_file(alone, kept_path(self.room, alone))
                self._note(path)
            if self.versions is not None:
                self._note(path)
        self.base.replace(path, body)

    def delete(self, paths: Sequence[str]) -> Sequence[DeleteOutcome]:
        names = {self._path(path): path for path in paths}
        own = [path for path in names if not self._is_kept(path)]
        moved: Sequence[str] = [path for path in names if self._is_kept(path)]
        absent: Sequence[str] = ()
        if self.versions is not None:
            recorded, moved, absent = self._record(self.versions, moved)
            own += recorded
        moves = [(path, kept_path(self.room, path)) for path in moved]
        outcomes = (*(self.base.delete(own) if own else ()), *(self.base.move_files(moves) if moves else ()))
        return [DeleteOutcome(names[entry.path], entry.error) for entry in (*outcomes, *map(DeleteOutcome, absent))]

    def delete_folder(self, folder: str) -> None:
        path = self._path(folder)
        if self._is_kept(path) and not self.base.behind_link(path):
            delete_all(self, [f"{folder}/{name}" for name, _ in files_below(self.base, path)])
        self.base.delete_folder(path)

    def move_files(self, moves: Sequence[tuple[str, str]], *, over: bool = False) -> Sequence[DeleteOutcome]:
        raise NotImplementedError("what is kept is put back by the storage itself")

    def copy_file(self, source: str, target: str) -> None:
        raise NotImplementedError("only a storage itself copies")

    def _record(self, versions: Versions, paths: Sequence[str]) -> tuple[Sequence[str], ...]:
        """Records the versions of files before they are deleted or replaced.

        Returns the paths of files that may go now, of those that must be copied, and of those that are not there.
        """
        folders = {path.rpartition("/")[0] for path in paths}
        listed = ((folder, entries_of(self.base, made_path(self.room, folder).rstrip("/"))) for folder in folders)
        noted = {f"{folder}/{entry.name}".lstrip("/") for folder, entries in listed for entry in entries}
        found = versions.versions_now([path for path in paths if path not in noted])
        if found:
            # Also those that must be copied: when the copy is back, the note must not pass for one of a new file.
            body = json.dumps([astuple(entry) for entry in found.values()]).encode()
            name = hashlib.sha256(body).hexdigest()
            with suppress(FileExistsError):
                self.base.create(f"{versions_folder(self.room)}/{name}", body)
        stay = [path for path, entry in found.items() if entry.version]
        copied = [path for path, entry in found.items() if not entry.version]
        absent = [path for path in paths if path not in noted and path not in found]
        return [*noted.intersection(paths), *stay], copied, absent

    def _note(self, path: str) -> bool:
        """Notes a file before it is created; False if one that was there before is kept already."""
        if self.versions is None and self.base.stat(kept_path(self.room, path)) is not None:
            return False
        with suppress(FileExistsError):
            self.base.create(made_path(self.room, path), b"")
        return True

    def _is_kept(self, path: str) -> bool:
        return not f"{path}/".startswith(f"{self.own}/")

    def _path(self, path: str) -> str:
        return "/".join(filter(None, (self.inner, path)))


def versions_folder(room: str) -> str:
    """Where a room has the records of old versions, each file several: lists of their fields, in JSON."""
    return f"{room}/{_VERSIONS}"


def kept_path(room: str, path: str) -> str:
    """Where a room has the file of a path."""
    return f"{room}/{_KEPT}/{path}"


def made_path(room: str, path: str) -> str:
    """Where a room notes that the file of a path was created."""
    return f"{room}/{_MADE}/{path}"


def kept_files(storage: Storage, room: str, *, versions: bool = False) -> dict[str, FileStatus]:
    """The files that a room has, by the paths that they were at, without their sidecars, which go with them; nor copies
    that are not whole: their files are still there. Raises StorageFailed."""
    # Where versions are recorded, what was created is never kept.
    made = frozenset() if versions else made_files(storage, room)
    found = without_sidecars(dict(files_below(storage, f"{room}/{_KEPT}")))
    not_whole = storage.unfinished([kept_path(room, path) for path, status in found.items() if not status.size])
    return {
        path: status for path, status in found.items() if path not in made and kept_path(room, path) not in not_whole
    }


def made_files(storage: Storage, room: str) -> frozenset[str]:
    """The paths of the files that were created, and may be there or not. Raises StorageFailed."""
    return frozenset(path for path, _ in files_below(storage, f"{room}/{_MADE}"))


def versions_gone(storage: Storage, versions: Sequence[FileVersion]) -> Sequence[tuple[str, str]]:
    """The paths of old versions that cannot be brought back, with the reason. For executors."""
    if isinstance(storage, Versions):
        return storage.versions_gone(versions)
    return [(version.path, "the table is not in the bucket of its old version") for version in versions]


def put_back(storage: Storage, room: str, files: Sequence[str | FileVersion]) -> list[DeleteOutcome]:
    """Puts kept files, by their paths, and old versions back over what is there; returns the failures. Nothing is moved
    behind a link. For executors."""
    versions = [file for file in files if isinstance(file, FileVersion)]
    paths = [file for file in files if isinstance(file, str)]
    linked = {path for path in paths if storage.behind_link(path.rpartition("/")[0])}
    outcomes = [DeleteOutcome(path, "its folder is behind a symbolic link") for path in linked]
    moves = [(kept_path(room, path), path) for path in paths if path not in linked]
    outcomes += storage.move_files(moves, over=True) if moves else ()
    if versions and isinstance(storage, Versions):
        outcomes += storage.bring_back(versions)
    return [entry for entry in outcomes if entry.error is not None]


def drop_contents(storage: Storage, room: str, *, versions: bool = False) -> None:
    """Deletes all that a room has: first what is kept, so that the rest does not pass for all. Where versions are
    recorded, first the notes: with a note alone, a file that was replaced passes for one that was created. Raises
    StorageFailed."""
    for name in (_MADE, _VERSIONS, _KEPT) if versions else (_KEPT, _MADE):
        storage.delete_folder(f"{room}/{name}")


def without_sidecars(found: Mapping[str, _Value]) -> dict[str, _Value]:
    """Files by their paths, without the sidecars that Hadoop's local file system keeps beside them."""
    return {path: value for path, value in found.items() if file_of(path) not in found}


def file_of(path: str) -> str | None:
    """The path of the file whose sidecar a path is."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{name[1:-4]}" if name.startswith(".") and name.endswith(".crc") else None


def _sidecar_of(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.crc"
