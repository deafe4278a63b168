"""Local files, through ``os`` alone: every change is one system call that either happened or not."""

import errno
import fcntl
import logging
import os
import shutil
import stat
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from hudictl.errors import StorageFailed
from hudictl.storage.base import DeleteOutcome, FileStatus, inside

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LocalStorage:
    """A folder of the local file system.

    Hadoop's local file system keeps a checksum ``.<name>.crc`` beside a file, and fails if the two do not match. So the
    sidecar is always deleted before its file changes. ``scratch`` is a (relative) folder for temporary files: after a
    crash they remain only there.
    """

    root: str
    scratch: str

    @property
    def uri(self) -> str:
        return f"file://{self.root}"

    def below(self, folder: str) -> "LocalStorage":
        root = self.absolute(folder)
        return LocalStorage(root, os.path.relpath(f"{self.root}/{self.scratch}", root))

    def above(self) -> "LocalStorage | None":
        folder = os.path.dirname(self.root)
        return None if folder == self.root else LocalStorage(folder, self.scratch)

    def require_writable(self) -> None:
        return None

    def behind_link(self, folder: str) -> bool:
        path = self.root
        for name in filter(None, folder.split("/")):
            path = os.path.join(path, name)
            if os.path.islink(path):
                return True
        return False

    def absolute(self, path: str) -> str:
        return f"{self.root}/{inside(path)}" if path else self.root

    def list(self, folder: str) -> list[FileStatus]:
        _log.debug("list %s", folder)
        with _errors("list", folder), os.scandir(self.absolute(folder)) as entries:
            # No calls of functions here: there is a turn for each file of a table.
            found = []
            for entry in entries:
                try:
                    status = entry.stat()
                except OSError as error:
                    if error.errno not in (errno.ENOENT, errno.ELOOP):
                        raise
                    # Deleted after the listing, or a link to nothing, or to itself.
                    continue
                is_dir = stat.S_ISDIR(status.st_mode)
                found.append(FileStatus(entry.name, is_dir, status.st_size, status.st_mtime_ns // 1_000_000))
        return sorted(found)

    @property
    def files_in_one_listing(self) -> int:
        return 0

    def files_between(self, first: str, last: str) -> Iterator[tuple[str, FileStatus]]:
        raise NotImplementedError

    def stat(self, path: str) -> FileStatus | None:
        try:
            with _errors("get the status of", path):
                found = os.stat(self.absolute(path))
        except FileNotFoundError:
            return None
        return None if stat.S_ISDIR(found.st_mode) else _from_stat(os.path.basename(path), found)

    def has_folder(self, folder: str) -> bool:
        try:
            with _errors("get the status of", folder):
                return stat.S_ISDIR(os.stat(self.absolute(folder)).st_mode)
        except FileNotFoundError:
            return False

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        _log.debug("read %s", path)
        with _errors("read", path), open(self.absolute(path), "rb", opener=_open_regular) as file:
            if start:
                file.seek(start)
            return file.read(-1 if length is None else length)

    def create(self, path: str, body: bytes) -> None:
        _log.debug("create %s", path)
        with _errors("create", path):
            target = self.absolute(path)
            self._require_no_link(os.path.dirname(path))
            if os.path.lexists(target):
                raise FileExistsError(target)
            _make_folders(os.path.dirname(target))
            temporary = self._temporary(body, os.path.dirname(target))
            try:
                _unlink(_sidecar(target))
                # Unlike a rename, a link never replaces a file that another process created meanwhile.
                os.link(temporary, target)
            finally:
                _unlink(temporary)
            _sync_folder(os.path.dirname(target))

    def append(self, path: str, start: int, body: bytes) -> bool:
        return False

    @property
    def has_leases(self) -> bool:
        return False

    def end_writing(self, path: str) -> None:
        """Nothing is open."""

    def keeps_deleted(self) -> str | None:
        return None

    def replace(self, path: str, body: bytes) -> None:
        _log.debug("replace %s", path)
        with _errors("replace", path):
            target = self.absolute(path)
            self._require_no_link(os.path.dirname(path))
            temporary = self._temporary(body, target if os.path.exists(target) else os.path.dirname(target))
            try:
                _unlink(_sidecar(target))
                os.replace(temporary, target)
            except OSError:
                _unlink(temporary)
                raise
            _sync_folder(os.path.dirname(target))

    def touch(self, path: str) -> None:
        with _errors("touch", path):
            os.utime(self.absolute(path))

    def delete(self, paths: Sequence[str]) -> Sequence[DeleteOutcome]:
        _log.debug(
            "delete %s%s", paths[0] if paths else "nothing", f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        )
        linked = {folder for folder in {os.path.dirname(path) for path in paths} if self.behind_link(folder)}
        reason = "it is behind a symbolic link"
        return [
            DeleteOutcome(path, reason) if os.path.dirname(path) in linked else self._delete(path) for path in paths
        ]

    @property
    def delete_batch(self) -> int:
        return 100

    def _delete(self, path: str) -> DeleteOutcome:
        target = self.absolute(path)
        try:
            _unlink(_sidecar(target))
            _unlink(target)
        except OSError as error:
            return DeleteOutcome(path, error.strerror or str(error))
        return DeleteOutcome(path)

    def move(self, source: str, target: str) -> bool:
        _log.debug("move %s to %s", source, target)
        with _errors("move", source):
            try:
                os.rename(self.absolute(source), self.absolute(target))
            except FileNotFoundError:
                return False
            _sync_folder(os.path.dirname(self.absolute(source)))
            return True

    @contextmanager
    def alone(self, folder: str, *, wait: bool) -> Iterator[bool]:
        descriptor, free = -1, True
        try:
            descriptor = os.open(self.absolute(folder), os.O_RDONLY)
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
        with _errors("delete", folder):
            path = self.absolute(folder)
            self._require_no_link(os.path.dirname(folder))
            try:
                # Never what is behind a link: whoever can write into a table would choose what is deleted. rmtree
                # itself goes by descriptors, and refuses a folder that becomes a link meanwhile.
                if os.path.islink(path):
                    os.unlink(path)
                else:
                    shutil.rmtree(path)
            except FileNotFoundError:
                return

    def remove_empty(self, folder: str) -> None:
        with _errors("delete", folder):
            try:
                os.rmdir(self.absolute(folder))
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
                    raise

    def sync(self, folder: str) -> None:
        with _errors("sync", folder):
            _sync_folder(self.absolute(folder))

    def _require_no_link(self, folder: str) -> None:
        """Raises StorageFailed: the folder is behind a link, so a change in it would be a change outside the table."""
        if self.behind_link(folder):
            raise StorageFailed(
                f"{folder} is behind a symbolic link: hudictl changes nothing there",
                hint="replace the link by a folder",
                path=folder,
            )

    def _temporary(self, body: bytes, like: str) -> str:
        """A temporary file with the body; its access rights are those of another file, or of files in a folder."""
        # Not by ``absolute``: that of a table in this one is above its base.
        folder = os.path.normpath(f"{self.root}/{self.scratch}")
        _make_folders(folder)
        path = os.path.join(folder, str(uuid.uuid4()))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            view = memoryview(body)
            while view:
                view = view[os.write(descriptor, view) :]
            _share(descriptor, os.stat(like))
            os.fsync(descriptor)
        except OSError:
            _unlink(path)
            raise
        finally:
            os.close(descriptor)
        return path


def _make_folders(path: str) -> None:
    """Creates a folder and its parents, each with the access rights of the folder above."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    _make_folders(above)
    try:
        os.mkdir(path)
    except FileExistsError:
        return
    _share(path, os.stat(above))


def _share(target: "int | str", like: os.stat_result) -> None:
    """Copies the access rights of ``like``: the operator's umask must not lock out the table's writers."""
    mode = stat.S_IMODE(like.st_mode)
    os.chmod(target, mode & 0o666 if isinstance(target, int) else mode)
    if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):
            os.chown(target, like.st_uid, like.st_gid)


def _from_stat(name: str, found: os.stat_result) -> FileStatus:
    return FileStatus(name, stat.S_ISDIR(found.st_mode), found.st_size, found.st_mtime_ns // 1_000_000)


def _sidecar(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.crc"


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def _open_regular(path: str, flags: int) -> int:
    """Opens a regular file: a pipe would never end, a device like /dev/zero neither."""
    # Without this flag, the opening of a pipe waits for its writer. It means nothing for regular files.
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "not a regular file")


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems sync a folder's entries automatically, and refuse the call.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


@contextmanager
def _errors(verb: str, path: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except NotADirectoryError as error:
        # A file in the place of a folder: the path does not exist.
        raise FileNotFoundError(path) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageFailed(
            f"cannot {verb} {path or '.'}: {reason}",
            hint="fix the cause, then run the same command again",
            path=path,
            errno=error.errno,
        ) from error
