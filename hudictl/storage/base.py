"""The narrow interface between hudictl and a store. Paths are relative to the table's base path, ``""`` is the base."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from hudictl.errors import StorageFailed


class FileStatus(NamedTuple):
    """An entry of a folder; ``modified_ms`` is epoch milliseconds by the store's clock.

    A tuple, as ``DataFile`` and ``StoredFile`` are: there are as many as files, and a frozen dataclass costs thrice.
    """

    name: str
    is_dir: bool
    size: int
    modified_ms: int


@dataclass(frozen=True, slots=True)
class DeleteOutcome:
    """What became of one path: it is gone, or the error that kept it. Stores do not tell who was absent before."""

    path: str
    error: str | None = None


class Storage(Protocol):
    """All methods raise StorageFailed, apart from what they name."""

    @property
    def uri(self) -> str:
        """The base path with its scheme."""

    def below(self, folder: str) -> "Storage":
        """The storage of a folder in this one, as of a table inside a table."""

    def above(self) -> "Storage | None":
        """The storage of the folder that this one is in; None at the top of the store."""

    def require_writable(self) -> None:
        """Raises Unsupported: hudictl cannot change files of this store safely."""

    def behind_link(self, folder: str) -> bool:
        """Whether a folder's path has a symbolic link below the base path."""

    def absolute(self, path: str) -> str:
        """The path as Hudi's plans name it: on local files without scheme, elsewhere a URI."""

    def list(self, folder: str) -> list[FileStatus]:
        """The entries of a folder, sorted by name. Raises FileNotFoundError."""

    def stat(self, path: str) -> FileStatus | None:
        """One entry; None where there is none."""

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """A file's bytes, or a range of them. Raises FileNotFoundError."""

    def create(self, path: str, body: bytes) -> None:
        """Creates a file whole, durable and exclusively.

        On a store that has lost an answer, a file with the very same bytes counts as created: whom another's file
        with these bytes would harm puts something of its own into them.

        Raises FileExistsError; OutcomeUnknown, a StorageFailed: an answer was lost, and the store does not say what
        is there.
        """

    def replace(self, path: str, body: bytes) -> None:
        """Replaces a file: readers see the old bytes or the new, never half. Raises OutcomeUnknown."""

    def touch(self, path: str) -> None:
        """Sets a file's modification time to now. Raises FileNotFoundError."""

    def delete(self, paths: Sequence[str]) -> Sequence[DeleteOutcome]:
        """Deletes files; an absent one is no error. Durable after ``sync`` of their folders."""

    def sync(self, folder: str) -> None:
        """Makes what happened in a folder durable. Raises FileNotFoundError, where a store must look."""

    def move(self, source: str, target: str) -> bool:
        """Renames a folder or file in one step; False where there is no source, or no such step (on object stores)."""

    def alone(self, folder: str, *, wait: bool) -> AbstractContextManager[bool]:
        """Keeps others out that ask for the same folder: waits for them, or is False while one is inside.

        It ends with the process and leaves nothing. Object stores and file systems without such locks keep nobody out.
        """

    def delete_folder(self, folder: str) -> None:
        """Deletes a folder with all that is in it; an absent one is no error."""


def entries_of(storage: Storage, folder: str) -> list[FileStatus]:
    """The entries of a folder, sorted by name; none where it is not there."""
    try:
        return storage.list(folder)
    except FileNotFoundError:
        return []


def delete_all(storage: Storage, paths: Sequence[str]) -> None:
    """Deletes files; an absent one is no error. Raises StorageFailed: one could not be deleted."""
    for outcome in storage.delete(paths):
        if outcome.error is not None:
            raise StorageFailed(f"cannot delete {outcome.path}: {outcome.error}", path=outcome.path)
