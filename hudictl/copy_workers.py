"""What executors do to copy a table: idempotent, importing nothing but the standard library, formats and storage."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hudictl.errors import Conflict
from hudictl.formats.file_names import data_path, split_names
from hudictl.formats.layouts import META, PROPERTIES
from hudictl.storage import FileStatus, Folders, Storage, delete_all, pieces_of

_FILES, _BYTES = 64, 256 * 1024 * 1024
"""What one task copies at most, or one file."""


class FolderFiles(NamedTuple):
    """Files of a folder in few objects: names joined by slashes, and sizes in bytes."""

    folder: str
    names: str
    sizes: bytes

    @property
    def entries(self) -> Iterator[tuple[str, int]]:
        """Names with sizes."""
        return zip(split_names(self.names), array("q", self.sizes), strict=True)

    @property
    def number(self) -> int:
        return len(self.sizes) // array("q").itemsize

    @property
    def size(self) -> int:
        return sum(array("q", self.sizes))


def folder_files(folder: str, files: Iterable[tuple[str, int]]) -> FolderFiles:
    """Packs files, as names with sizes."""
    names, sizes = zip(*files, strict=True)
    return FolderFiles(folder, "/".join(names), array("q", sizes).tobytes())


def in_parts(files: FolderFiles) -> Iterator[FolderFiles]:
    """A folder in parts for one task each."""
    part: list[tuple[str, int]] = []
    size = 0
    for entry in files.entries:
        if part and (len(part) == _FILES or size + entry[1] > _BYTES):
            yield folder_files(files.folder, part)
            part, size = [], 0
        part.append(entry)
        size += entry[1]
    yield folder_files(files.folder, part)


@dataclass(frozen=True, slots=True)
class CopyTask:
    """Files to copy from one storage to another. ``again``: some may be there already. ``logs_grow``: logs may have
    got later blocks behind those that were listed."""

    source: Storage
    target: Storage
    files: FolderFiles
    again: bool
    logs_grow: bool


@dataclass(frozen=True, slots=True)
class Copied:
    """What a task has copied. ``changed`` says which source file is no longer as it was listed, ``foreign`` is a file
    in the target that is not of this copy; "" if there is none."""

    files: int
    bytes: int
    changed: str = ""
    foreign: str = ""


def copy_files(task: CopyTask) -> Copied:
    """Copies what is missing in the target. Raises StorageFailed."""
    files = size = 0
    for name, length in task.files.entries:
        path = data_path(task.files.folder, name)
        try:
            done = _copy_one(task, path, length)
            _keep_time(task, path)
        except Conflict as error:
            return Copied(files, size, changed=error.message)
        except FileExistsError:
            return Copied(files, size, foreign=path)
        files, size = files + done, size + done * length
    return Copied(files, size)


def _copy_one(task: CopyTask, path: str, size: int) -> bool:
    """Whether the file was missing. Raises FileExistsError: there is another one."""
    grows = _may_change(path) or (task.logs_grow and ".log." in path)
    if task.again and _is_there(task, path, size, grows):
        return False
    try:
        task.target.copy_from(task.source, path, size, grows=grows)
    except FileExistsError:
        # Spark ran this task twice.
        if not _is_there(task, path, size, grows=False):
            raise
    return True


def _keep_time(task: CopyTask, path: str) -> None:
    """Those of a timeline of version 6 tell when its commits were completed. Object stores do not take any."""
    if isinstance(task.target, Folders) and _may_change(path):
        found, copied = task.source.stat(path), task.target.stat(path)
        if found is not None and copied is not None and found.modified_ms != copied.modified_ms:
            task.target.set_time(path, found.modified_ms)


def _is_there(task: CopyTask, path: str, size: int, grows: bool) -> bool:
    """Whether the target has the file. One that another attempt has copied when the source's was shorter is deleted:
    the target is no table yet, and its record proves that this copy has begun there. Raises FileExistsError."""
    found = task.target.stat(path)
    if found is None:
        return False
    if found.size == size and not (_may_change(path) and _differs(task, path, size)):
        return True
    if not grows:
        raise FileExistsError(path)
    delete_all(task.target, [path])
    return False


def _may_change(path: str) -> bool:
    """Whether it is a file of the table's own folder: of the archive, some are replaced."""
    return path.startswith(f"{META}/")


def differing(task: CopyTask) -> list[str]:
    """The paths of files whose contents differ."""
    paths = ((data_path(task.files.folder, name), size) for name, size in task.files.entries)
    return [path for path, size in paths if _differs(task, path, size)]


def _differs(task: CopyTask, path: str, size: int) -> bool:
    pairs = zip(*(pieces_of(storage, path, size, grows=True) for storage in (task.source, task.target)), strict=True)
    return any(left != right for left, right in pairs)


@dataclass(frozen=True, slots=True)
class FolderTask:
    """A folder of the target, and the files that it should have; ``alone``: and no other ones."""

    target: Storage
    files: FolderFiles
    alone: bool


def wrong_files(task: FolderTask) -> list[str]:
    """The paths of files that a folder lacks or has in another size, and of those that it should not have."""
    try:
        entries: Sequence[FileStatus] = task.target.list(task.files.folder)
    except FileNotFoundError:
        entries = ()
    found = {entry.name: entry.size for entry in entries if not entry.is_dir}
    wanted = dict(task.files.entries)
    looked_at = {**wanted, **found} if task.alone else wanted
    wrong = [name for name in looked_at if wanted.get(name) != found.get(name)]
    return sorted(path for name in wrong if (path := data_path(task.files.folder, name)) != PROPERTIES)
