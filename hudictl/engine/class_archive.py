"""An archive of Spark's classes as a JVM has loaded them (class data sharing): with it a JVM starts in half the time.

The second JVM on a host writes it when it ends, after hudictl has ended. Without it, or with a broken one, a JVM starts
as ever.
"""

import hashlib
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hudictl.engine.java import java_version
from hudictl.trust import stranger_at

# Java 13 was the first that could write one without a list of classes.
_FIRST_JAVA = 13
# Of an archive that is complete (JDK 13 to 25): a JVM writes the beginning last.
_MAGICS = (b"\xf0\x0b\xab\xa8", b"\xa8\xab\x0b\xf0")
_USE, _MAKE = "-XX:SharedArchiveFile=", "-XX:ArchiveClassesAtExit="
_VERIFY = "-XX:+VerifySharedSpaces"
"""Checksums: bytes that a disk has changed would be executed."""
_UNUSED_SECONDS = 30 * 24 * 3600


def archive_options(java: str, jars: Path) -> list[str]:
    """The options with which a JVM uses the archive of a Java and a Spark, or makes it; none if there can be none."""
    if (java_version(java) or 0) < _FIRST_JAVA:
        return []
    try:
        folder = _folder()
        if not folder.is_dir():
            # It takes a second more: a host that is used once, as a container, never makes one.
            folder.mkdir(mode=0o700, parents=True)
            return []
        _refuse_writable_by_others(folder)
        archive = folder / f"spark-{_key(java, jars)}.jsa"
        _drop_unused(folder)
        if not _is_complete(archive):
            return [_MAKE + str(archive), _VERIFY]
        os.utime(archive)
    except (OSError, RuntimeError):
        # Without a home, or on a full or read-only disk.
        return []
    # A JVM that dies of it leaves no report in the operator's folder.
    return [_USE + str(archive), "-Xshare:auto", _VERIFY, f"-XX:ErrorFile={os.devnull}"]


def forget(options: Sequence[str]) -> None:
    """Deletes the archive that a JVM with these options has refused, or died of: a later one makes another."""
    if options and options[0].startswith(_USE):
        with suppress(OSError):
            os.unlink(options[0].removeprefix(_USE))


def _folder() -> Path:
    """Raises RuntimeError: this user has no home."""
    cache = os.environ.get("XDG_CACHE_HOME") or ""
    return (Path(cache) if os.path.isabs(cache) else Path.home() / ".cache") / "hudictl"


def _refuse_writable_by_others(folder: Path) -> None:
    """Raises PermissionError: a JVM executes what is in it."""
    stranger = stranger_at(str(folder))
    if stranger is not None:
        raise PermissionError(stranger)


def _is_complete(archive: Path) -> bool:
    try:
        with archive.open("rb") as file:
            return file.read(4) in _MAGICS
    except FileNotFoundError:
        return False


def _key(java: str, jars: Path) -> str:
    """The JVM compares much more by itself."""
    path = os.path.realpath(java)
    text = f"{path} {os.stat(path).st_mtime_ns} {jars} {jars.stat().st_mtime_ns}"
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


def _drop_unused(folder: Path) -> None:
    """Deletes archives of a Java or a Spark that no one has used for long."""
    for archive in folder.glob("spark-*.jsa"):
        with suppress(OSError):
            if archive.stat().st_mtime < time.time() - _UNUSED_SECONDS:
                archive.unlink()
