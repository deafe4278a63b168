"""Files that decide for the operator: they count only where nobody else can have written them."""

import errno
import os
import stat
from collections.abc import Iterator

_WRITERS = stat.S_IWGRP | stat.S_IWOTH
_MOST_LINKS = 40


def stranger_at(path: str) -> str | None:
    """Who else can change what a path leads to, as "PLACE belongs to ..." or "PLACE can be written by ..."; None: only
    root and the effective user can.

    The file, all folders on the way to it, and links are looked at. Others may make files in a folder above if it is
    sticky, as /tmp: they cannot take away the folders of this user.

    Raises OSError: there is no such file, or it cannot be looked at.
    """
    way = list(_way(path))
    for number, place in enumerate(way):
        status = os.lstat(place)
        if status.st_uid not in (0, os.geteuid()):
            return f"{place} belongs to another user (uid {status.st_uid})"
        above = number < len(way) - 2
        safe = stat.S_ISLNK(status.st_mode) or (above and status.st_mode & stat.S_ISVTX)
        if status.st_mode & _WRITERS and not safe:
            others = "every user" if status.st_mode & stat.S_IWOTH else "a group"
            return f"{place} can be written by {others}"
    return None


def _way(path: str) -> Iterator[str]:
    """All folders and links through which a path leads, then what it names. Raises OSError."""
    place, names, links = "/", os.path.join(os.getcwd(), path).split("/"), 0
    while names:
        name = names.pop(0)
        if name in ("", ".", ".."):
            place = os.path.dirname(place) if name == ".." else place
            continue
        yield place
        below = os.path.join(place, name)
        if not stat.S_ISLNK(os.lstat(below).st_mode):
            place = below
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        yield below
        target = os.readlink(below)
        place, names = "/" if target.startswith("/") else place, target.split("/") + names
    yield place
