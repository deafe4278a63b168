"""Every other store, through fsspec, never cached. Read only: see ``writable``."""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import fsspec

from hudictl.errors import StorageFailed, Unsupported
from hudictl.storage.base import DeleteOutcome, FileStatus


@dataclass(frozen=True)
class RemoteStorage:
    """A folder of a store that fsspec knows."""

    base: str
    filesystem: Any
    root: str

    @property
    def uri(self) -> str:
        return self.base

    @property
    def writable(self) -> bool:
        # No exclusive create is known to hold on these stores yet, and two operators must not both succeed.
        return False

    def absolute(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root

    def list(self, folder: str) -> list[FileStatus]:
        with _errors("list", folder):
            entries = self.filesystem.ls(self.absolute(folder), detail=True)
        own = self.absolute(folder).rstrip("/")
        return sorted(
            (_status(entry) for entry in entries if entry["name"].rstrip("/") != own), key=lambda entry: entry.name
        )

    def stat(self, path: str) -> FileStatus | None:
        try:
            with _errors("look at", path):
                return _status(self.filesystem.info(self.absolute(path)))
        except FileNotFoundError:
            return None

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        end = None if length is None else start + length
        with _errors("read", path):
            return bytes(self.filesystem.cat_file(self.absolute(path), start=start or None, end=end))

    def create(self, path: str, body: bytes) -> None:
        raise self._read_only(path)

    def replace(self, path: str, body: bytes) -> None:
        raise self._read_only(path)

    def touch(self, path: str) -> None:
        raise self._read_only(path)

    def delete(self, paths: Sequence[str]) -> Sequence[DeleteOutcome]:
        raise self._read_only(*paths[:1])

    def sync(self, folder: str) -> None:
        raise self._read_only(folder)

    def move_folder(self, source: str, target: str) -> bool:
        raise self._read_only(source)

    def delete_folder(self, folder: str) -> None:
        raise self._read_only(folder)

    def _read_only(self, path: str = "") -> Unsupported:
        return Unsupported(f"{self.base}/{path}: hudictl changes tables on local file systems only", path=path)


def open_remote(uri: str, options: dict[str, str]) -> RemoteStorage:
    """Raises StorageFailed: no package for the scheme, or the store refuses the options."""
    base = uri.rstrip("/")
    with _errors("open", base):
        protocol = base.partition("://")[0]
        known = inspect.signature(fsspec.get_filesystem_class(protocol).__init__).parameters
        # Credentials that changed, or a writer's new file, must not hide behind an earlier answer.
        uncached = {"use_listings_cache": False} if "use_listings_cache" in known else {}
        filesystem, root = fsspec.url_to_fs(base, skip_instance_cache=True, **uncached, **options)
    return RemoteStorage(base, filesystem, root.rstrip("/"))


def _status(info: dict[str, Any]) -> FileStatus:
    modified = next((info[key] for key in ("mtime", "LastModified", "last_modified", "created") if info.get(key)), 0)
    if isinstance(modified, datetime):
        modified = modified.timestamp()
    name = info["name"].rstrip("/").rpartition("/")[2]
    modified_ms = int(modified * 1000) if isinstance(modified, (int, float)) else 0
    return FileStatus(name, info["type"] == "directory", int(info.get("size") or 0), modified_ms)


@contextmanager
def _errors(verb: str, path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except ImportError as error:
        raise Unsupported(f"cannot {verb} {path}: {error}", hint="install that package beside hudictl") from error
    except (OSError, ValueError, TypeError) as error:
        raise StorageFailed(f"cannot {verb} {path or '.'}: {error}", path=path) from error
