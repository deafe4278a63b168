"""Local files and folders by descriptors: through no link, whoever puts one in their way."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from hudictl.storage.base import PIECE_BYTES

FOLDER = os.O_RDONLY | os.O_DIRECTORY
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_AT_ONCE = 1024 * 1024 * 1024
"""Some systems refuse to read more than 2 GiB in one call."""
_DEEPEST = 100
"""Folders in folders that are deleted: each takes a descriptor."""


def write_pieces(pieces: Iterable[bytes], descriptor: int) -> None:
    for piece in pieces:
        view = memoryview(piece)
        while view:
            view = view[os.write(descriptor, view) :]


def read_pieces(descriptor: int, start: int, count: int) -> bytes:
    """So many bytes from a position on, or fewer, where the file ends before."""
    found = os.pread(descriptor, min(count, _AT_ONCE), start)
    pieces, left = [found], count - len(found)
    while found and left:
        found = os.pread(descriptor, min(left, _AT_ONCE), start + count - left)
        pieces.append(found)
        left -= len(found)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def copy_bytes(source: int, size: int, found: os.stat_result, target: int) -> None:
    """Copies the first bytes of a file, in the kernel where that can do it; the copy gets the file's time."""
    left = size
    with suppress(OSError, TypeError):
        # Not every system and pair of file systems can: what is left is read and written.
        while left and (count := os.sendfile(target, source, None, left)):
            left -= count
    while left:
        piece = os.read(source, min(left, PIECE_BYTES))
        if not piece:
            raise OSError(errno.EIO, "the file became shorter while it was copied")
        write_pieces((piece,), target)
        left -= len(piece)
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


@contextmanager
def closed(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_entry(name: str, flags: int, folder: int) -> int:
    """Opens a file or folder, but no link."""
    try:
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        # For a link in the place of a folder, systems say either.
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            found = lstat_in(name, folder)
            if found is not None and stat.S_ISLNK(found.st_mode):
                raise OSError(errno.ELOOP, "behind a symbolic link") from None
        raise


def enter(root: str, folder: str, *, make: bool = False) -> int:
    """A descriptor of a folder below a root, through no link."""
    try:
        descriptor = os.open(root, FOLDER)
    except FileNotFoundError:
        above, name = os.path.split(root)
        if not make or not name:
            raise
        return enter(above, f"{name}/{folder}".rstrip("/"), make=make)
    for name in filter(None, folder.split("/")):
        around = descriptor
        try:
            descriptor = open_entry(name, FOLDER, around)
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
    descriptor = open_entry(name, FOLDER, above)
    # Somebody may have put another folder in its place, to get the rights in it: the new one is empty.
    if not os.listdir(descriptor):
        share_rights(descriptor, os.fstat(above), 0o7777)
    return descriptor


def share_rights(descriptor: int, like: os.stat_result, mask: int) -> None:
    """Copies the access rights of ``like``: the operator's umask must not lock out the table's writers."""
    os.chmod(descriptor, stat.S_IMODE(like.st_mode) & mask)
    if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):
            os.chown(descriptor, like.st_uid, like.st_gid)


def remove_tree(name: str, above: int, depth: int = 0) -> None:
    """Deletes a folder with its content, or a file or link in its place; an absent one is no error."""
    if depth > _DEEPEST:
        raise OSError(errno.ENAMETOOLONG, f"there are more than {_DEEPEST} folders in each other")
    found = lstat_in(name, above)
    if found is None or not stat.S_ISDIR(found.st_mode):
        unlink_in(name, above)
        return
    with closed(open_entry(name, FOLDER, above)) as folder:
        with os.scandir(folder) as entries:
            names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for entry_name, is_dir in names:
            if is_dir:
                remove_tree(entry_name, folder, depth + 1)
            else:
                unlink_in(entry_name, folder)
    with suppress(FileNotFoundError):
        os.rmdir(name, dir_fd=above)


def lstat_in(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def sidecar_name(name: str) -> str:
    return f".{name}.crc"


def unlink_in(name: str, folder: int) -> None:
    # Not suppress(): this is called twice for each file that is deleted.
    try:  # noqa: SIM105
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass


def link_file(name: str, folder: int, new: str, to: int) -> None:
    """Gives a file a second name, with its sidecar, unless there is a file of this name. An absent one is no error.

    Where the system links only one's own files, or none, it is renamed.
    """
    for old, target in ((sidecar_name(name), sidecar_name(new)), (name, new)):
        try:
            os.link(old, target, src_dir_fd=folder, dst_dir_fd=to, follow_symlinks=False)
        except (FileNotFoundError, FileExistsError):
            continue
        except OSError as error:
            found = lstat_in(old, folder)
            if error.errno not in _NO_LINKS or found is None or stat.S_ISDIR(found.st_mode):
                raise
            if lstat_in(target, to) is None:
                os.rename(old, target, src_dir_fd=folder, dst_dir_fd=to)


def move_over(name: str, folder: int, new: str, to: int) -> None:
    """Moves a file over another one, with its sidecar; an absent one is no error."""
    if lstat_in(name, folder) is not None:
        unlink_in(sidecar_name(new), to)
        os.replace(name, new, src_dir_fd=folder, dst_dir_fd=to)
        # Two names of one file both stay, and the next call would remove the sidecar that this one moves.
        unlink_in(name, folder)
    with suppress(FileNotFoundError):
        os.replace(sidecar_name(name), sidecar_name(new), src_dir_fd=folder, dst_dir_fd=to)


def sync_folder(folder: int) -> None:
    try:
        os.fsync(folder)
    except OSError as error:
        # Some network file systems sync a folder's entries automatically, and refuse the call.
        if error.errno != errno.EINVAL:
            raise
