"""The narrow interface between hudictl and a store. Paths are relative to the table's base path, ``""`` is the base."""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from hudictl.errors import Conflict, StorageFailed, Unreadable
from hudictl.storage.guard import Guard, guard_changes

_NO_NAMES = frozenset({"", ".", ".."})
_LONGEST = 1024
"""Bytes of a key in the object stores of Amazon and Google; Hudi writes no longer ones."""
_FEW = 64 * 1024 * 1024
"""Bytes of a file that is read without a look at its size."""
_HALF = re.compile(r"[\ud800-\udc7f\udd00-\udfff]")
"""What JSON may have, and no name: the other halves stand for a file's bytes that are no UTF-8."""

PIECE_BYTES = 8 * 1024 * 1024
"""How much of a file that is copied is in memory."""
ODD = -1
"""The size of an entry of the table's own folder that is no regular file: a link, a pipe, a device."""


class FileStatus(NamedTuple):
    """An entry of a folder; ``modified_ms`` is epoch milliseconds by the store's clock.

    A tuple, like ``DataFile`` and ``StoredFile``: there is one for each file, and a frozen dataclass costs three times
    as much.
    """

    name: str
    is_dir: bool
    size: int
    modified_ms: int


@dataclass(frozen=True, slots=True)
class DeleteOutcome:
    """The result for one path: it is deleted, or the error. Stores do not report files that were absent before."""

    path: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Credentials:
    """``source``: where they are, never what they are; empty: there are none, and ``advice`` says what to do.
    ``facts``: as the region."""

    source: str
    facts: tuple[str, ...] = ()
    advice: str = ""


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A file as it was: ``version`` is the store's name of this version, empty where it has none that stays; ``tag``
    changes with the content. Size in bytes, modification time in epoch milliseconds."""

    path: str
    version: str
    size: int
    modified_ms: int
    tag: str


@dataclass(frozen=True, slots=True)
class KeepsVersions:
    """What a bucket, ``where`` in a sentence, makes of the versions of deleted files: ``why_not``, they cannot be used;
    ``days``: the time after which one of its rules deletes them, None if none is known to."""

    where: str
    why_not: str | None = None
    days: int | None = None


class Storage(Protocol):
    """All methods raise StorageFailed, in addition to the errors that they name. Those with a result here are the same
    for most stores."""

    delete_batch: ClassVar[int] = 100
    """Paths that one call of ``delete`` is best given: what the store takes in one request; else few, so that several
    calls share the work."""

    def __init_subclass__(cls) -> None:
        """No store can forget the guard."""
        super().__init_subclass__()
        if not vars(cls).get("_is_protocol"):
            guard_changes(cls)

    @property
    def guard(self) -> Guard:
        """What each method that changes files calls first; shared by the storages of folders in this one."""

    @property
    def uri(self) -> str:
        """The base path with its scheme."""

    def below(self, folder: str) -> "Storage":
        """The storage of a folder in this one, as of a table inside a table."""

    def above(self) -> "Storage | None":
        """The storage of the folder that this one is in; None at the top of the store."""

    def require_writable(self) -> None:
        """Raises Unsupported: hudictl cannot change files of this store safely."""
        return None

    def behind_link(self, folder: str) -> bool:
        """Whether a folder's path has a symbolic link below the base path."""
        return False

    def absolute(self, path: str) -> str:
        """The path as Hudi's plans name it: on local files without scheme, elsewhere a URI."""

    def list(self, folder: str) -> list[FileStatus]:
        """The entries of a folder, sorted by name. Raises FileNotFoundError."""

    def stat(self, path: str) -> FileStatus | None:
        """One file; None where there is none, also where a folder has the name."""

    def has_folder(self, folder: str) -> bool:
        """Whether a folder exists; on an object store, whether there is anything in it."""

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """A file's bytes, or a range of them. Raises FileNotFoundError."""

    def create_base(self, like: "Storage") -> None:
        """Creates the base folder, where there are folders and it is absent; for others it is no wider open than that
        of another table, nor than the umask says."""
        return None

    def create(self, path: str, body: bytes) -> None:
        """Creates a file whole, durable and exclusively.

        If the reply was lost, an existing file with identical bytes counts as created. Callers that must tell their own
        file from another's put something unique in the body.

        Raises FileExistsError; OutcomeUnknown, a StorageFailed: the reply was lost, and the file cannot be read.
        """

    def create_from(self, path: str, pieces: Iterator[bytes], size: int) -> None:
        """As ``create``, from the pieces of a body of ``size`` bytes: few of them are in memory, where the store can
        take them one by one."""
        self.create(path, b"".join(pieces))

    def copy_from(self, source: "Storage", path: str, size: int, *, grows: bool) -> None:
        """Creates a file with the first bytes of the one at the same path of another storage, not whole in memory.
        ``size`` is that file's when it was listed.

        Raises FileExistsError; Conflict: the file is gone, or has another size, unless it only has grown and ``grows``.
        """
        self.create_from(path, pieces_of(source, path, size, grows=grows), size)

    def keeps_deleted(self) -> str | None:
        """What keeps the files that are deleted here, as a sentence; None where nothing is known to."""
        return None

    def replace(self, path: str, body: bytes) -> None:
        """Replaces a file: readers see the old or the new bytes, never a mix. Raises OutcomeUnknown."""

    def touch(self, path: str) -> None:
        """Sets a file's modification time to now. Raises FileNotFoundError."""

    def delete(self, paths: Sequence[str]) -> Sequence[DeleteOutcome]:
        """Deletes files; an absent one is no error. Durable after ``sync`` of their folders."""

    def sync(self, folder: str) -> None:
        """Makes the changes in a folder durable, unless they are. Raises FileNotFoundError on some stores."""
        return None

    def move(self, source: str, target: str) -> bool:
        """Renames a folder or file in one step; False if there is no source, or the store cannot (object stores)."""
        return False

    def delete_folder(self, folder: str) -> None:
        """Deletes a folder with its content; an absent one is no error."""

    def move_files(self, moves: Sequence[tuple[str, str]], *, over: bool = False) -> Sequence[DeleteOutcome]:
        """Moves files, each to its target, with their modification times where the store can; an absent one is no
        error. The outcomes have the paths that they were at: a file with an error is still there.

        Args:
            over: a file that is at the target is replaced; else it stays, and the source is deleted.
        """

    def copy_file(self, source: str, target: str) -> None:
        """Copies a small file; one that is at the target already stays. Raises FileNotFoundError."""

    def unfinished(self, paths: Sequence[str]) -> frozenset[str]:
        """Those of some files that are no whole copies: the store is at work on them, or has given up. Only Azure shows
        such files, without bytes."""
        return frozenset()


@runtime_checkable
class Folders(Protocol):
    """A storage whose folders exist by themselves, also without files: no object store."""

    def remove_empty(self, folder: str) -> None:
        """Removes a folder, unless there is something in it. Raises StorageFailed."""

    def set_time(self, path: str, modified_ms: int) -> None:
        """Sets a file's modification time. Raises FileNotFoundError."""


@runtime_checkable
class KeyOrder(Protocol):
    """A storage that can list its files in the order of keys, folders or not: S3."""

    @property
    def files_in_one_listing(self) -> int:
        """How many files one request of ``files_between`` lists; 0 where a bucket cannot."""

    def files_between(self, first: str, last: str) -> Iterator[tuple[str, FileStatus]]:
        """The files of a range of folders, and of all folders below them, by their paths, in the order of keys: from
        one folder to another, both included, and what lies between. A path with a slash at its end is a folder's own.
        Not where ``files_in_one_listing`` is 0.
        """


@runtime_checkable
class Versions(Storage, Protocol):
    """A storage that may keep what is deleted or replaced as old versions: S3."""

    def keeps_versions(self, path: str) -> KeepsVersions | None:
        """Whether the bucket keeps versions now, and this account may find and read them; tried with a file that is
        there. None: it keeps none."""

    def versions_now(self, paths: Sequence[str]) -> dict[str, FileVersion]:
        """The files of some paths, those that are there, as they are now."""

    def versions_gone(self, versions: Sequence[FileVersion]) -> Sequence[tuple[str, str]]:
        """The paths of those that cannot be brought back, with the reason."""

    def bring_back(self, versions: Sequence[FileVersion]) -> Sequence[DeleteOutcome]:
        """Makes each the present version of its path again: without a copy, and with its time, where only delete
        markers have come since, and the account may remove them."""

    def read_version_of(self, version: FileVersion, most_bytes: int) -> bytes:
        """The bytes of a version. Raises FileNotFoundError."""


@runtime_checkable
class Leases(Storage, Protocol):
    """A storage that knows which files a program has open for writing, and appends to the others: HDFS."""

    def append(self, path: str, start: int, body: bytes) -> bool:
        """Appends to a file of a known size; readers may see a part of it meanwhile. False, and nothing was done:
        another program has the file open.

        Raises FileNotFoundError; Conflict: the file has another size; OutcomeUnknown: a part may have been appended.
        """

    def end_writing(self, path: str) -> None:
        """Closes a file that a program has left open and that shows no activity for a minute, as the store itself does
        later. Nothing to do for a closed file.

        Raises FileNotFoundError; Conflict: a living program has it open, or it cannot be closed yet.
        """


@runtime_checkable
class Exclusive(Protocol):
    """A storage with locks between processes: local files."""

    def alone(self, folder: str, *, wait: bool) -> AbstractContextManager[bool]:
        """An exclusive section for a folder: waits for other processes in it, or is False while there is one.

        It ends with the process and leaves no file. It has no effect on file systems without such locks.
        """


def inside(path: str) -> str:
    """The path itself, if it stays in the folder that it is relative to: names in a table become paths.

    Raises Unreadable: an empty part, ``.``, ``..``, NUL, or half a pair of UTF-16 in it; or it is longer than stores
    allow.
    """
    too_long = len(path) > _LONGEST // 4 and len(path.encode(errors="surrogatepass")) > _LONGEST
    half = not path.isascii() and _HALF.search(path)
    if not _NO_NAMES.isdisjoint(path.split("/")) or "\0" in path or half or too_long:
        raise Unreadable(
            f"{path!r} is no path inside the table",
            hint="correct the name in the table's properties, or move the record with it out of the table",
            path=path,
        )
    return path


def one_name(name: str) -> str:
    """The name itself, if it is one of a file or folder. Raises Unreadable."""
    if "/" in inside(name):
        raise Unreadable(f"{name!r} is not the name of one file or folder", path=name)
    return name


def entries_of(storage: Storage, folder: str) -> list[FileStatus]:
    """The entries of a folder, sorted by name; none if it does not exist."""
    try:
        return storage.list(folder)
    except FileNotFoundError:
        return []


def files_below(storage: Storage, folder: str) -> Iterator[tuple[str, FileStatus]]:
    """All files below a folder, by their paths from there; none if it does not exist. Raises StorageFailed."""
    waiting = [""]
    while waiting:
        path = waiting.pop()
        for entry in entries_of(storage, f"{folder}/{path}".rstrip("/")):
            below = f"{path}/{entry.name}".lstrip("/")
            if entry.is_dir:
                waiting.append(below)
            else:
                yield below, entry


def whole_path(storage: Storage, path: str) -> str:
    """A path as the operator may give it: of local files without the scheme, elsewhere a URI."""
    return f"{storage.uri}/{path}".removeprefix("file://")


def read_whole(storage: Storage, path: str, most_bytes: int) -> bytes:
    """A file's bytes. One request; two more for a large file, whose size must be known before it is read.

    Raises FileNotFoundError; StorageFailed: it has more bytes than it may have.
    """
    few = min(most_bytes, _FEW)
    body = storage.read(path, 0, few + 1)
    if len(body) <= few:
        return body
    found = storage.stat(path)
    if found is None:
        raise FileNotFoundError(path)
    refuse_larger(path, found.size, most_bytes)
    return storage.read(path, 0, found.size)


def refuse_larger(path: str, size: int, most_bytes: int) -> None:
    """Raises StorageFailed: a file has more bytes than hudictl reads of one of its kind."""
    if size > most_bytes:
        raise StorageFailed(
            f"{path} has {size:,} bytes: of such a file hudictl reads at most {most_bytes:,}",
            hint="look at what it is, and move it away",
            path=path,
        )


def pieces_of(storage: Storage, path: str, size: int, *, grows: bool) -> Iterator[bytes]:
    """The first bytes of a file, in pieces; arguments as in ``Storage.copy_from``. Raises Conflict."""
    start, last = 0, False
    while not last:
        length = min(PIECE_BYTES, size - start)
        last = start + length == size
        try:
            body = storage.read(path, start, length + (last and not grows))
        except FileNotFoundError:
            raise other_size(path, size, None) from None
        if len(body) != length:
            raise other_size(path, size, start + len(body))
        yield body
        start += length


def other_size(path: str, size: int, found: int | None) -> Conflict:
    """The error for a file that is no longer as it was listed."""
    now = "is gone" if found is None else f"does not have {size:,} bytes any more"
    return Conflict(
        f"{path} {now}: it was changed or deleted while it was copied",
        hint="run the same command again: it makes a new plan, and copies what is missing",
        path=path,
    )


def delete_all(storage: Storage, paths: Sequence[str]) -> None:
    """Deletes files; an absent one is no error. Raises StorageFailed: one could not be deleted."""
    for outcome in storage.delete(paths):
        if outcome.error is not None:
            raise StorageFailed(f"cannot delete {outcome.path}: {outcome.error}", path=outcome.path)


@dataclass(frozen=True, slots=True)
class Ended:
    """A file after ``end_writing``: its size in bytes, and why it is still open, if it is."""

    size: int
    error: str | None = None


def end_writing(files: tuple[Leases, Sequence[str]]) -> list[Ended]:
    """Closes files that a dead program has left open. For executors."""
    storage, paths = files
    ended = []
    for path in paths:
        try:
            storage.end_writing(path)
            found = storage.stat(path)
        except Conflict as error:
            ended.append(Ended(0, error.message))
        else:
            ended.append(Ended(found.size if found else 0))
    return ended
