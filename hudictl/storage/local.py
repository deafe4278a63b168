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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby

from hudictl.errors import StorageFailed
from hudictl.storage.base import ODD, DeleteOutcome, FileStatus, Storage, inside, other_size
from hudictl.storage.descriptors import (
    closed,
    copy_bytes,
    enter,
    link_file,
    lstat_in,
    move_over,
    open_entry,
    read_pieces,
    remove_tree,
    share_rights,
    sidecar_name,
    sync_folder,
    unlink_in,
    write_pieces,
)
from hudictl.storage.guard import Guard

_log = logging.getLogger(__name__)

_LAST_MS = 253_402_128_000_000
"""Epoch milliseconds of the last days of 9999, in all zones."""


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
    _guard: Guard = field(default_factory=Guard, repr=False, compare=False)

    @property
    def guard(self) -> Guard:
        return self._guard

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
        with _errors("read", path):
            descriptor, found = self._open_to_read(path)
            try:
                # Python takes as much memory as it is told to read.
                left = max(0, found.st_size - start)
                return read_pieces(descriptor, start, left if length is None else min(length, left))
            finally:
                os.close(descriptor)

    def create_base(self, like: Storage) -> None:
        mode = 0o777
        if isinstance(like, LocalStorage) and (found := like._status("")) is not None:
            mode &= found.st_mode | stat.S_IRWXU
        # What is in the place of the folder is named by the change that fails on it.
        with suppress(FileExistsError), _errors("create", ""):
            os.makedirs(self.absolute(""), mode, exist_ok=True)

    def create(self, path: str, body: bytes) -> None:
        self.create_from(path, iter((body,)), len(body))

    def create_from(self, path: str, pieces: Iterator[bytes], size: int) -> None:
        self._create(path, partial(write_pieces, pieces))

    def copy_from(self, source: Storage, path: str, size: int, *, grows: bool) -> None:
        if not isinstance(source, LocalStorage):
            super().copy_from(source, path, size, grows=grows)
            return
        try:
            with _errors("read", path):
                descriptor, found = source._open_to_read(path)
        except FileNotFoundError:
            raise other_size(path, size, None) from None
        with closed(descriptor):
            if found.st_size < size or (found.st_size > size and not grows):
                raise other_size(path, size, found.st_size)
            self._create(path, partial(copy_bytes, descriptor, size, found))

    def _create(self, path: str, fill: Callable[[int], None]) -> None:
        """Creates a file whose body is written into a descriptor."""
        _log.debug("create %s", path)
        with _errors("create", path), self._place(path, make=True) as (folder, name):
            if lstat_in(name, folder) is not None:
                raise FileExistsError(path)
            with self._temporary(fill, os.fstat(folder)) as (temporary, scratch):
                try:
                    unlink_in(sidecar_name(name), folder)
                    # Unlike a rename, a link never replaces a file that another process created meanwhile.
                    os.link(temporary, name, src_dir_fd=scratch, dst_dir_fd=folder, follow_symlinks=False)
                finally:
                    unlink_in(temporary, scratch)
            sync_folder(folder)

    def replace(self, path: str, body: bytes) -> None:
        _log.debug("replace %s", path)
        with _errors("replace", path), self._place(path, make=True) as (folder, name):
            found = lstat_in(name, folder)
            like = found if found is not None and stat.S_ISREG(found.st_mode) else os.fstat(folder)
            with self._temporary(partial(write_pieces, (body,)), like) as (temporary, scratch):
                try:
                    unlink_in(sidecar_name(name), folder)
                    os.replace(temporary, name, src_dir_fd=scratch, dst_dir_fd=folder)
                except OSError:
                    unlink_in(temporary, scratch)
                    raise
            sync_folder(folder)

    def touch(self, path: str) -> None:
        with _errors("touch", path), self._place(path) as (folder, name):
            os.utime(name, dir_fd=folder, follow_symlinks=False)

    def set_time(self, path: str, modified_ms: int) -> None:
        at = modified_ms * 1_000_000
        with _errors("touch", path), self._place(path) as (folder, name):
            os.utime(name, ns=(at, at), dir_fd=folder, follow_symlinks=False)

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
        # A mounted store may take long for each.
        self._guard()
        try:
            unlink_in(sidecar_name(name), folder)
            unlink_in(name, folder)
        except OSError as error:
            return DeleteOutcome(path, error.strerror or str(error))
        return DeleteOutcome(path)

    def move(self, source: str, target: str) -> bool:
        _log.debug("move %s to %s", source, target)
        with _errors("move", source):
            try:
                with self._place(source) as (folder, name), self._place(target) as (other, new):
                    os.rename(name, new, src_dir_fd=folder, dst_dir_fd=other)
                    sync_folder(folder)
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
            with self._folder(folder) as source, closed(enter(self.root, self._from_base(to), make=True)) as target:
                for path, new in moves:
                    try:
                        (move_over if over else link_file)(_name_of(path), source, _name_of(new), target)
                    except OSError as error:
                        errors[path] = error.strerror or str(error)
                sync_folder(target)
                if over:
                    sync_folder(source)
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
            if lstat_in(name, folder) is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)
            with self._place(target, make=True) as (other, new):
                # Files are never changed in place, only replaced: the old one stays what it is.
                link_file(name, folder, new, other)
                sync_folder(other)

    @contextmanager
    def alone(self, folder: str, *, wait: bool) -> Iterator[bool]:
        descriptor, free = -1, True
        try:
            descriptor = enter(self.root, self._from_base(folder))
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
            remove_tree(name, above)

    def remove_empty(self, folder: str) -> None:
        with suppress(FileNotFoundError), _errors("delete", folder), self._place(folder) as (above, name):
            try:
                os.rmdir(name, dir_fd=above)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise

    def sync(self, folder: str) -> None:
        with _errors("sync", folder), self._folder(folder) as descriptor:
            sync_folder(descriptor)

    def _from_base(self, path: str) -> str:
        return "/".join(filter(None, (self.inner, inside(path) if path else "")))

    def _is_own(self, path: str) -> bool:
        """Whether a path is in the table's own folder."""
        own = self.scratch.partition("/")[0]
        return bool(own) and f"{self._from_base(path)}/".startswith(f"{own}/")

    @contextmanager
    def _folder(self, folder: str) -> Iterator[int]:
        """A descriptor of a folder. Raises FileNotFoundError; OSError: there is a link on the way."""
        with closed(enter(self.root, self._from_base(folder))) as descriptor:
            yield descriptor

    @contextmanager
    def _place(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """A descriptor of the folder that a file or folder is in, and the name in it."""
        folder, name = os.path.split(self._from_base(path) or inside(path))
        with closed(enter(self.root, folder, make=make)) as descriptor:
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

    def _open_to_read(self, path: str) -> tuple[int, os.stat_result]:
        """A descriptor of a regular file, and its status: a pipe would never end, a device like /dev/zero neither."""
        # Without this flag, the opening of a pipe waits for its writer. It means nothing for regular files.
        flags = os.O_RDONLY | os.O_NONBLOCK
        if self._is_own(path):
            # No context managers here, nor in what reads: a long timeline has very many files.
            above, _, name = self._from_base(path).rpartition("/")
            folder = enter(self.root, above)
            try:
                descriptor = open_entry(name, flags, folder)
            finally:
                os.close(folder)
        else:
            descriptor = os.open(self.absolute(path), flags)
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode):
            return descriptor, found
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file")

    @contextmanager
    def _temporary(self, fill: Callable[[int], None], like: os.stat_result) -> Iterator[tuple[str, int]]:
        """A temporary file whose body ``fill`` writes, and the folder it is in; its access rights are those of another
        file, or of files in a folder."""
        with closed(enter(self.root, self.scratch, make=True)) as scratch:
            name = str(uuid.uuid4())
            with closed(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=scratch)) as descriptor:
                try:
                    fill(descriptor)
                    share_rights(descriptor, like, 0o666)
                    os.fsync(descriptor)
                except Exception:
                    unlink_in(name, scratch)
                    raise
            yield name, scratch


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
