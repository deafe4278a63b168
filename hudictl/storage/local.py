"""Local files, through ``os`` alone: every change is one system call that either happened or not.

Whoever can write into a table may put a link, a pipe or another folder into it at any moment. So all changes go by
descriptors, from the base's: through no link, also if one comes in between.
"""

import errno
import fcntl
import logging
import os
import stat
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import groupby

from hudictl.errors import StorageFailed
from hudictl.storage.base import ODD, DeleteOutcome, FileStatus, Storage, inside

_log = logging.getLogger(__name__)

_FOLDER = os.O_RDONLY | os.O_DIRECTORY
_LAST_MS = 253_402_128_000_000
"""Epoch milliseconds of the last days of 9999, in all zones."""
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_DEEPEST = 100
"""Folders in folders that are deleted: each takes a descriptor."""


@dataclass(frozen=True)
class LocalStorage(Storage):
    """A folder of the local file system: ``inner`` below the base ``root``, or the base itself.

    Hadoop's local file system keeps a checksum ``.<name>.crc`` beside a file, and fails if the two do not match. So the
    sidecar is always deleted before its file changes. ``scratch`` is a folder below the base for temporary files: after
    a crash they remain only there.

    The base, and folders above it, may be links. Below it, a folder behind a link is listed and read, never changed;
    where the scratch is, in the table's own folder, it is not even read.
    """

    root: str
    scratch: str
    inner: str = ""

    @property
    def uri(self) -> str:
        return f"file://{self.absolute('')}"

    def below(self, folder: str) -> "LocalStorage":
        return replace(self, inner=self._from_base(folder))

    def above(self) -> "LocalStorage | None":
        if self.inner:
            return replace(self, inner=os.path.dirname(self.inner))
        folder = os.path.dirname(self.root)
        return None if folder == self.root else LocalStorage(folder, self.scratch)

    def behind_link(self, folder: str) -> bool:
        path = self.root
        for name in filter(None, self._from_base(folder).split("/")):
            path = os.path.join(path, name)
            if os.path.islink(path):
                return True
        return False

    def absolute(self, path: str) -> str:
        path = self._from_base(path)
        return f"{self.root}/{path}" if path else self.root

    def list(self, folder: str) -> list[FileStatus]:
        _log.debug("list %s", folder)
        follow = not self._is_own(folder)
        with _errors("list", folder), self._readable(folder) as place, os.scandir(place) as entries:
            # No calls of functions here: there is a turn for each file of a table.
            found = []
            for entry in entries:
                try:
                    status = entry.stat(follow_symlinks=follow)
                except OSError as error:
                    if error.errno not in (errno.ENOENT, errno.ELOOP):
                        raise
                    # Deleted after the listing, or a link to nothing, or to itself.
                    continue
                mode, modified_ms = status.st_mode, status.st_mtime_ns // 1_000_000
                size = status.st_size if stat.S_ISREG(mode) or follow else ODD
                if not 0 <= modified_ms <= _LAST_MS:
                    modified_ms = _known_time(modified_ms)
                found.append(FileStatus(entry.name, stat.S_ISDIR(mode), size, modified_ms))
        return sorted(found)

    def stat(self, path: str) -> FileStatus | None:
        found = self._status(path)
        return None if found is None or stat.S_ISDIR(found.st_mode) else _from_stat(os.path.basename(path), found)

    def has_folder(self, folder: str) -> bool:
        found = self._status(folder)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        _log.debug("read %s", path)
        with _errors("read", path), os.fdopen(self._open_to_read(path), "rb") as file:
            if start:
                file.seek(start)
            # Python takes as much memory as it is told to read.
            left = max(0, os.fstat(file.fileno()).st_size - start)
            return file.read(left if length is None else min(length, left))

    def create(self, path: str, body: bytes) -> None:
        _log.debug("create %s", path)
        with _errors("create", path), self._place(path, make=True) as (folder, name):
            if _lstat(name, folder) is not None:
                raise FileExistsError(path)
            with self._temporary(body, os.fstat(folder)) as (temporary, scratch):
                try:
                    _unlink(_sidecar(name), folder)
                    # Unlike a rename, a link never replaces a file that another process created meanwhile.
                    os.link(temporary, name, src_dir_fd=scratch, dst_dir_fd=folder, follow_symlinks=False)
                finally:
                    _unlink(temporary, scratch)
            _sync(folder)

    def replace(self, path: str, body: bytes) -> None:
        _log.debug("replace %s", path)
        with _errors("replace", path), self._place(path, make=True) as (folder, name):
            found = _lstat(name, folder)
            like = found if found is not None and stat.S_ISREG(found.st_mode) else os.fstat(folder)
            with self._temporary(body, like) as (temporary, scratch):
                try:
                    _unlink(_sidecar(name), folder)
                    os.replace(temporary, name, src_dir_fd=scratch, dst_dir_fd=folder)
                except OSError:
                    _unlink(temporary, scratch)
                    raise
            _sync(folder)

    def touch(self, path: str) -> None:
        with _errors("touch", path), self._place(path) as (folder, name):
            os.utime(name, dir_fd=folder, follow_symlinks=False)

    def delete(self, paths: Sequence[str]) -> Sequence[DeleteOutcome]:
        _log.debug(
            "delete %s%s", paths[0] if paths else "nothing", f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        )
        outcomes: list[DeleteOutcome] = []
        for folder, group in groupby(map(inside, paths), lambda path: path.rpartition("/")[0]):
            outcomes += self._delete_in(folder, [*group])
        return outcomes

    def _delete_in(self, folder: str, paths: Sequence[str]) -> Sequence[DeleteOutcome]:
        try:
            with self._folder(folder) as descriptor:
                return [self._delete(path, descriptor) for path in paths]
        except FileNotFoundError:
            return [DeleteOutcome(path) for path in paths]
        except OSError as error:
            return [DeleteOutcome(path, error.strerror or str(error)) for path in paths]

    def _delete(self, path: str, folder: int) -> DeleteOutcome:
        name = path.rpartition("/")[2]
        try:
            _unlink(_sidecar(name), folder)
            _unlink(name, folder)
        except OSError as error:
            return DeleteOutcome(path, error.strerror or str(error))
        return DeleteOutcome(path)

    def move(self, source: str, target: str) -> bool:
        _log.debug("move %s to %s", source, target)
        with _errors("move", source):
            try:
                with self._place(source) as (folder, name), self._place(target) as (other, new):
                    os.rename(name, new, src_dir_fd=folder, dst_dir_fd=other)
                    _sync(folder)
            except FileNotFoundError:
                return False
            return True

    def move_files(self, moves: Sequence[tuple[str, str]], *, over: bool = False) -> Sequence[DeleteOutcome]:
        _log.debug("move %d files", len(moves))
        outcomes: list[DeleteOutcome] = []
        for (folder, to), group in groupby(moves, lambda move: (_folder_of(move[0]), _folder_of(move[1]))):
            outcomes += self._move_in(folder, to, [*group], over=over)
        return outcomes

    def _move_in(
        self, folder: str, to: str, moves: Sequence[tuple[str, str]], *, over: bool
    ) -> Sequence[DeleteOutcome]:
        errors: dict[str, str] = {}
        try:
            with self._folder(folder) as source, _closed(_enter(self.root, self._from_base(to), make=True)) as target:
                for path, new in moves:
                    try:
                        (_move_over if over else _link)(_name_of(path), source, _name_of(new), target)
                    except OSError as error:
                        errors[path] = error.strerror or str(error)
                _sync(target)
                if over:
                    _sync(source)
                # Not before the new names are on the disk: the file system may keep the end of one change alone.
                outcomes = [] if over else [self._delete(path, source) for path, _ in moves if path not in errors]
        except FileNotFoundError:
            return []
        except OSError as error:
            return [DeleteOutcome(path, error.strerror or str(error)) for path, _ in moves]
        return [*outcomes, *(DeleteOutcome(path, reason) for path, reason in errors.items())]

    def copy_file(self, source: str, target: str) -> None:
        _log.debug("copy %s to %s", source, target)
        with _errors("copy", source), self._place(source) as (folder, name):
            if _lstat(name, folder) is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)
            with self._place(target, make=True) as (other, new):
                # Files are never changed in place, only replaced: the old one stays what it is.
                _link(name, folder, new, other)
                _sync(other)

    @contextmanager
    def alone(self, folder: str, *, wait: bool) -> Iterator[bool]:
        descriptor, free = -1, True
        try:
            descriptor = _enter(self.root, self._from_base(folder))
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            free = False
        except OSError as error:
            # Not every file system locks folders (NFS does not): then the caller's other checks must be enough.
            _log.debug("no lock on %s: %s", folder or ".", error.strerror)
        try:
            yield free
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def delete_folder(self, folder: str) -> None:
        _log.debug("delete folder %s", folder)
        with suppress(FileNotFoundError), _errors("delete", folder), self._place(folder) as (above, name):
            _remove(name, above)

    def remove_empty(self, folder: str) -> None:
        with suppress(FileNotFoundError), _errors("delete", folder), self._place(folder) as (above, name):
            try:
                os.rmdir(name, dir_fd=above)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise

    def sync(self, folder: str) -> None:
        with _errors("sync", folder), self._folder(folder) as descriptor:
            _sync(descriptor)

    def _from_base(self, path: str) -> str:
        return "/".join(filter(None, (self.inner, inside(path) if path else "")))

    def _is_own(self, path: str) -> bool:
        """Whether a path is in the table's own folder."""
        own = self.scratch.partition("/")[0]
        return bool(own) and f"{self._from_base(path)}/".startswith(f"{own}/")

    @contextmanager
    def _folder(self, folder: str) -> Iterator[int]:
        """A descriptor of a folder. Raises FileNotFoundError; OSError: there is a link on the way."""
        with _closed(_enter(self.root, self._from_base(folder))) as descriptor:
            yield descriptor

    @contextmanager
    def _place(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """A descriptor of the folder that a file or folder is in, and the name in it."""
        folder, name = os.path.split(self._from_base(path) or inside(path))
        with _closed(_enter(self.root, folder, make=make)) as descriptor:
            yield descriptor, name

    @contextmanager
    def _readable(self, folder: str) -> Iterator[int | str]:
        """What a folder is listed by: outside the table's own folder links are followed."""
        if not self._is_own(folder):
            yield self.absolute(folder)
        else:
            with self._folder(folder) as descriptor:
                yield descriptor

    def _status(self, path: str) -> os.stat_result | None:
        with _errors("get the status of", path), suppress(FileNotFoundError, NotADirectoryError):
            if not self._is_own(path):
                return os.stat(self.absolute(path))
            with self._place(path) as (folder, name):
                return os.stat(name, dir_fd=folder, follow_symlinks=False)
        return None

    def _open_to_read(self, path: str) -> int:
        """A descriptor of a regular file: a pipe would never end, a device like /dev/zero neither."""
        # Without this flag, the opening of a pipe waits for its writer. It means nothing for regular files.
        flags = os.O_RDONLY | os.O_NONBLOCK
        if self._is_own(path):
            with self._place(path) as (folder, name):
                descriptor = _open(name, flags, folder)
        else:
            descriptor = os.open(self.absolute(path), flags)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file")

    @contextmanager
    def _temporary(self, body: bytes, like: os.stat_result) -> Iterator[tuple[str, int]]:
        """A temporary file with the body, and the folder it is in; its access rights are those of another file, or of
        files in a folder."""
        with _closed(_enter(self.root, self.scratch, make=True)) as scratch:
            name = str(uuid.uuid4())
            with _closed(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=scratch)) as descriptor:
                try:
                    view = memoryview(body)
                    while view:
                        view = view[os.write(descriptor, view) :]
                    _share(descriptor, like, 0o666)
                    os.fsync(descriptor)
                except OSError:
                    _unlink(name, scratch)
                    raise
            yield name, scratch


@contextmanager
def _closed(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open(name: str, flags: int, folder: int) -> int:
    """Opens a file or folder, but no link."""
    try:
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        # For a link in the place of a folder, systems say either.
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            found = _lstat(name, folder)
            if found is not None and stat.S_ISLNK(found.st_mode):
                raise OSError(errno.ELOOP, "behind a symbolic link") from None
        raise


def _enter(root: str, folder: str, *, make: bool = False) -> int:
    """A descriptor of a folder below a root, through no link."""
    try:
        descriptor = os.open(root, _FOLDER)
    except FileNotFoundError:
        above, name = os.path.split(root)
        if not make or not name:
            raise
        return _enter(above, f"{name}/{folder}".rstrip("/"), make=make)
    for name in filter(None, folder.split("/")):
        around = descriptor
        try:
            descriptor = _open(name, _FOLDER, around)
        except FileNotFoundError:
            if not make:
                raise
            descriptor = _make_folder(name, around)
        finally:
            os.close(around)
    return descriptor


def _make_folder(name: str, above: int) -> int:
    """Creates a folder with the access rights of the folder above; returns its descriptor."""
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=above)
    descriptor = _open(name, _FOLDER, above)
    # Somebody may have put another folder in its place, to get the rights in it: the new one is empty.
    if not os.listdir(descriptor):
        _share(descriptor, os.fstat(above), 0o7777)
    return descriptor


def _share(descriptor: int, like: os.stat_result, mask: int) -> None:
    """Copies the access rights of ``like``: the operator's umask must not lock out the table's writers."""
    os.chmod(descriptor, stat.S_IMODE(like.st_mode) & mask)
    if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):
            os.chown(descriptor, like.st_uid, like.st_gid)


def _remove(name: str, above: int, depth: int = 0) -> None:
    """Deletes a folder with its content, or a file or link in its place; an absent one is no error."""
    if depth > _DEEPEST:
        raise OSError(errno.ENAMETOOLONG, f"there are more than {_DEEPEST} folders in each other")
    found = _lstat(name, above)
    if found is None or not stat.S_ISDIR(found.st_mode):
        _unlink(name, above)
        return
    with _closed(_open(name, _FOLDER, above)) as folder:
        with os.scandir(folder) as entries:
            names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for entry_name, is_dir in names:
            if is_dir:
                _remove(entry_name, folder, depth + 1)
            else:
                _unlink(entry_name, folder)
    with suppress(FileNotFoundError):
        os.rmdir(name, dir_fd=above)


def _lstat(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _from_stat(name: str, found: os.stat_result) -> FileStatus:
    modified_ms = _known_time(found.st_mtime_ns // 1_000_000)
    return FileStatus(name, stat.S_ISDIR(found.st_mode), found.st_size, modified_ms)


def _known_time(epoch_ms: int) -> int:
    """A modification time that is a date: anybody may set any other one."""
    return min(max(epoch_ms, 0), _LAST_MS)


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def _name_of(path: str) -> str:
    return path.rpartition("/")[2]


def _sidecar(name: str) -> str:
    return f".{name}.crc"


def _unlink(name: str, folder: int) -> None:
    # Not suppress(): this is called twice for each file that is deleted.
    try:  # noqa: SIM105
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass


def _link(name: str, folder: int, new: str, to: int) -> None:
    """Gives a file a second name, with its sidecar, unless there is a file of this name. An absent one is no error.

    Where the system links only one's own files, or none, it is renamed.
    """
    for old, target in ((_sidecar(name), _sidecar(new)), (name, new)):
        try:
            os.link(old, target, src_dir_fd=folder, dst_dir_fd=to, follow_symlinks=False)
        except (FileNotFoundError, FileExistsError):
            continue
        except OSError as error:
            found = _lstat(old, folder)
            if error.errno not in _NO_LINKS or found is None or stat.S_ISDIR(found.st_mode):
                raise
            if _lstat(target, to) is None:
                os.rename(old, target, src_dir_fd=folder, dst_dir_fd=to)


def _move_over(name: str, folder: int, new: str, to: int) -> None:
    """Moves a file over another one, with its sidecar; an absent one is no error."""
    if _lstat(name, folder) is not None:
        _unlink(_sidecar(new), to)
        os.replace(name, new, src_dir_fd=folder, dst_dir_fd=to)
    with suppress(FileNotFoundError):
        os.replace(_sidecar(name), _sidecar(new), src_dir_fd=folder, dst_dir_fd=to)


def _sync(folder: int) -> None:
    try:
        os.fsync(folder)
    except OSError as error:
        # Some network file systems sync a folder's entries automatically, and refuse the call.
        if error.errno != errno.EINVAL:
            raise


@contextmanager
def _errors(verb: str, path: str) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        # A file in the place of a folder: the path does not exist, and cannot be made.
        if error.errno in (errno.ENOENT, errno.ENOTDIR) and verb not in ("create", "replace"):
            # Opened by a descriptor, a file is named by its last part alone.
            named = error.filename if "/" in str(error.filename) else path or "."
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), named) from error
        reason = error.strerror or str(error)
        linked = "; the link can be removed, or replaced by what it points to" if error.errno == errno.ELOOP else ""
        raise StorageFailed(
            f"cannot {verb} {path or '.'}: {reason}",
            hint=f"fix the cause, then run the same command again{linked}",
            path=path,
            errno=error.errno,
        ) from error
