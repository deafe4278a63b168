"""Every other store, through fsspec, without cache. Writable only if a put is visible completely or not at all."""

import asyncio
import inspect
import json
import logging
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

import fsspec

from hudictl.errors import OutcomeUnknown, StorageFailed, Unsupported, UsageError
from hudictl.secrets import masked_error
from hudictl.storage.base import PIECE_BYTES, Credentials, DeleteOutcome, FileStatus, Storage, inside
from hudictl.storage.guard import Guard, TooLateError
from hudictl.storage.patience import Kept, patiently

_log = logging.getLogger(__name__)

_WHOLE = frozenset({"memory", "oss", "oci", "tos"})
_MOST_PARTS = 9000
BATCH = 1000
"""Files of one call of ``_delete``: keys that one call of S3 deletes."""
AT_ONCE = 16
"""Calls in flight at once: those of one deletion, and those of the engine's threads."""
AS_VERSIONS = "{} keeps deleted objects as versions, and their space. They can be copied from there."
FOR_DAYS = "{} keeps deleted objects for {:g} days (soft delete), and their space. They can be restored until then."
_Answer = TypeVar("_Answer")
_Item = TypeVar("_Item")
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class RemoteStorage(Storage):
    """A folder of a store that fsspec knows; S3, Google Cloud Storage and Azure override what they do otherwise.

    ``base`` is the URI from the user: Hudi's own writers must be able to open the paths in stored plans.
    ``single_operator``: the user guarantees that no other hudictl runs, so ``create`` checks, then puts.
    """

    base: str
    filesystem: Any = field(repr=False)
    root: str
    single_operator: bool
    _refused: list[str] = field(default_factory=list, repr=False, compare=False)
    """Why the store gets no requests for several files any more, once it has refused one; also of storages below."""
    _guard: Guard = field(default_factory=Guard, repr=False, compare=False)

    _creates_exclusively = False
    """Whether ``mode="create"`` is a condition that the store itself checks, on files that are never seen in part."""
    _reads_ranges = False
    """Whether a file is always read by a range of its bytes."""

    @classmethod
    def open(cls, uri: str, _scratch: str, options: Mapping[str, str], single_operator: bool) -> "RemoteStorage":
        """Raises StorageFailed: no package for the scheme, or the store refuses the options; UsageError: see
        ``_typed``."""
        base = uri.rstrip("/")
        with errors("open", base):
            driver = cls._driver(base)
            parameters = inspect.signature(driver.__init__).parameters
        typed = {key: _typed(key, text, parameters) for key, text in options.items()}
        with errors("open", base):
            # Cached replies must not hide changed credentials, or a writer's new file.
            takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
            uncached = {"use_listings_cache": False} if takes_any or "use_listings_cache" in parameters else {}
            filesystem, root = cls._connected(base, driver, {"skip_instance_cache": True, **typed, **uncached})
        # Those of hudictl's own ask it each time before they send a request.
        filesystem.guard = Guard()
        return cls(base, filesystem, root.rstrip("/"), single_operator, _guard=filesystem.guard)

    @staticmethod
    def credentials(_options: Mapping[str, str]) -> Credentials | None:
        """Those that the driver would find; None: which it needs is not known. Raises ImportError, and whatever its
        libraries raise."""
        return None

    @staticmethod
    def _driver(base: str) -> Any:
        """fsspec's file system for a URI. Raises ImportError; Unsupported: there is none."""
        scheme = base.partition("://")[0]
        try:
            return fsspec.get_filesystem_class(scheme)
        except ValueError as error:
            raise Unsupported(
                f"cannot open {base}: there is no store for {scheme.rstrip(':')}",
                hint="a scheme has small letters: file, hdfs, s3, gs, abfs, or another one that fsspec knows",
            ) from error

    @staticmethod
    def _connected(base: str, _driver: Any, settings: dict[str, Any]) -> tuple[Any, str]:
        """The file system with these settings, and the path of a URI in it."""
        filesystem, root = fsspec.url_to_fs(base, **settings)
        return filesystem, root

    @property
    def guard(self) -> Guard:
        return self._guard

    @property
    def uri(self) -> str:
        return self.base

    def below(self, folder: str) -> "RemoteStorage":
        return replace(self, base=self.absolute(folder), root=self._path(folder))

    def above(self) -> "RemoteStorage | None":
        base, _, name = self.base.rpartition("/")
        if base.endswith(":/"):
            return None
        return replace(self, base=base, root=self.root.removesuffix(name).rstrip("/"))

    def require_writable(self) -> None:
        if self._creates_exclusively:
            return
        scheme = self.base.partition("://")[0]
        if scheme not in _WHOLE:
            raise Unsupported(
                f"{self.base}: hudictl changes no tables on {scheme}: files are visible before they are complete",
                hint="use Hudi's own restore, or mount the store and use the path",
            )
        if not self.single_operator:
            raise Unsupported(
                f"{self.base}: {scheme} is not known to support exclusive creation of files",
                hint="if no other hudictl uses this table: --single-operator",
            )

    def absolute(self, path: str) -> str:
        return f"{self.base}/{inside(path)}" if path else self.base

    def list(self, folder: str) -> list[FileStatus]:
        _log.debug("list %s", folder)
        own = self._path(folder)
        with errors("list", folder):
            entries = self.filesystem.ls(own, detail=True)
        if [entry["name"] for entry in entries if entry["type"] == "file"] == [own]:
            raise FileNotFoundError(f"{folder} is a file")
        # The folder itself is listed, too, if an object represents it.
        return sorted(
            (status(entry) for entry in entries if entry["name"].rstrip("/") != own), key=lambda entry: entry.name
        )

    def stat(self, path: str) -> FileStatus | None:
        try:
            with errors("get the status of", path):
                found = self.filesystem.info(self._path(path))
        except FileNotFoundError:
            return None
        return None if found["type"] == "directory" else status(found)

    def has_folder(self, folder: str) -> bool:
        try:
            with errors("get the status of", folder):
                return bool(self.filesystem.info(self._path(folder))["type"] == "directory")
        except FileNotFoundError:
            return False

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        _log.debug("read %s", path)
        if length == 0:
            # Drivers treat it differently; that of Azure fails.
            return b""
        end = None if length is None else start + length
        first = start if self._reads_ranges else start or None
        with errors("read", path):
            try:
                return bytes(self.filesystem.cat_file(self._path(path), start=first, end=end))
            except FileNotFoundError:
                raise
            except Exception:
                # Stores refuse a range behind the end, and any of an empty file.
                if (first, end) != (None, None) and self._ends_before(path, start):
                    return b""
                raise

    def _ends_before(self, path: str, start: int) -> bool:
        """Whether a file is there and has no bytes from here on; False where the store does not say that: its first
        answer has the reason, and that of a HEAD has no words. Raises FileNotFoundError."""
        try:
            return bool(start >= self.filesystem.info(self._path(path))["size"])
        except FileNotFoundError:
            raise
        except Exception as error:
            _log.debug("cannot ask for the size of %s: %s", path, words(error))
            return False

    def create(self, path: str, body: bytes) -> None:
        _log.debug("create %s", path)
        if self.single_operator:
            if self.stat(path) is not None:
                raise FileExistsError(path)
            self._put("create", path, body)
        else:
            self._put("create", path, body, mode="create")

    def create_from(self, path: str, pieces: Iterator[bytes], size: int) -> None:
        # Of other stores it is not known what they make of a file that is not closed.
        if size <= PIECE_BYTES or not self._creates_exclusively:
            self.create(path, b"".join(pieces))
            return
        _log.debug("create %s in parts", path)
        if self.stat(path) is not None:
            raise FileExistsError(path)
        # Stores take at most 10,000 parts (S3), or 50,000 (Azure).
        part = max(PIECE_BYTES, -(-size // _MOST_PARTS))
        with errors("create", path):
            file = self.filesystem.open(self._path(path), "wb", block_size=part)
        try:
            for piece in pieces:
                with errors("create", path):
                    file.write(piece)
            with errors("create", path):
                file.close()
        except BaseException:
            with suppress(Exception):
                file.discard()
            # Else it would be closed when nobody holds it any more: a part of the object would be there, as a whole.
            file.closed = True
            raise

    def keeps_deleted(self) -> str | None:
        try:
            return self._kept()
        except Exception as error:  # who may work on a table may often not ask for this, and not all servers know it
            _log.debug("cannot ask what the store keeps of deleted files: %s", words(error))
            return None

    def replace(self, path: str, body: bytes) -> None:
        _log.debug("replace %s", path)
        self._put("replace", path, body)

    def touch(self, path: str) -> None:
        self._put("touch", path, self.read(path))

    def delete(self, paths: Sequence[str]) -> Sequence[DeleteOutcome]:
        _log.debug("delete %d files", len(paths))
        errors: dict[str, str] = {}
        for start in range(0, len(paths), BATCH):
            errors |= self._delete([self._path(path) for path in paths[start : start + BATCH]])
        return [DeleteOutcome(path, errors.get(self._path(path))) for path in paths]

    def delete_folder(self, folder: str) -> None:
        _log.debug("delete folder %s", folder)
        with errors("delete", folder):
            names = self._objects_below(folder)
        for part in _in_order_of_deletion(names):
            for start in range(0, len(part), BATCH):
                for name, reason in self._delete(part[start : start + BATCH]).items():
                    raise StorageFailed(f"cannot delete {name}: {reason}", path=name)

    def move_files(self, moves: Sequence[tuple[str, str]], *, over: bool = False) -> Sequence[DeleteOutcome]:
        _log.debug("move %d files", len(moves))
        results = at_once(self._kept_by(lambda move: self._copy(*move, over=over)), moves)
        copied = [source for (source, _), kept in zip(moves, results, strict=True) if kept is None]
        left = [DeleteOutcome(source, kept.reason) for (source, _), kept in zip(moves, results, strict=True) if kept]
        return [*self.delete(copied), *left]

    def copy_file(self, source: str, target: str) -> None:
        _log.debug("copy %s to %s", source, target)
        with errors("copy", source):
            self._copy(source, target, over=False)

    def _copy(self, source: str, target: str, *, over: bool) -> None:
        """Copies an object in the store itself. Raises FileNotFoundError, StorageFailed; what the driver raises."""
        found = self.stat(source)
        if found is None:
            raise FileNotFoundError(source)
        # Its size says nothing: of a file that was replaced since, the one at the target stays.
        if not over and self.stat(target) is not None and not self.unfinished([target]):
            return
        self._copy_object(source, target)
        copied = self.stat(target)
        if copied is None or copied.size != found.size:
            size = "no file" if copied is None else f"{copied.size:,} bytes"
            raise StorageFailed(f"the copy of {source} has {size}, not {found.size:,}", path=source)

    def _copy_object(self, source: str, target: str) -> None:
        """Returns when the copy is whole. Raises StorageFailed; what the driver raises."""
        self.filesystem.cp_file(self._path(source), self._path(target))

    def _objects_below(self, folder: str) -> Sequence[str]:
        """All objects in a folder, and those that represent it: Hadoop's, and those of older and Amazon's connectors.
        Not through the drivers' recursive ``rm``, for which the folder's name is a pattern."""
        return list(self.filesystem.find(self._path(folder)))

    def _kept(self) -> str | None:
        """What the store keeps of deleted objects. Raises what the driver raises, also where the account may not
        ask."""
        return None

    def _path(self, path: str) -> str:
        """The path as fsspec's file system takes it."""
        return f"{self.root}/{inside(path)}" if path else self.root

    def _bucket_and_key(self, path: str) -> tuple[str, str]:
        bucket, key, *_ = self.filesystem.split_path(self._path(path))
        return bucket, key

    def _run(self, request: Coroutine[Any, Any, _Answer]) -> _Answer:
        """One request, in the event loop of the driver."""
        return asyncio.run_coroutine_threadsafe(request, self.filesystem.loop).result()

    def _put(self, verb: str, path: str, body: bytes, **mode: str) -> None:
        """Writes a complete object; once more, after a look, where the store did not answer for long."""
        try:
            self._put_once(verb, path, body, **mode)
        except StorageFailed as error:
            if not isinstance(error.__cause__, TooLateError):
                raise
            self.guard()
            self._put_once(verb, path, body, **mode)

    def _put_once(self, verb: str, path: str, body: bytes, **mode: str) -> None:
        """Writes a complete object. If the reply is lost, or belongs to a second try, the object is read: our own bytes
        mean success."""
        try:
            with errors(verb, path):
                self.filesystem.pipe_file(self._path(path), body, **mode)
        except FileNotFoundError as error:
            # Of a new object only the bucket can be absent.
            raise _failed(verb, path, error) from error
        except (FileExistsError, StorageFailed) as error:
            if isinstance(error.__cause__, (PermissionError, FileNotFoundError)) or _no_bucket(error) is not None:
                raise
            try:
                found = self.read(path, 0, len(body) + 1)
            except FileNotFoundError:
                raise error from error.__cause__
            except StorageFailed as unseen:
                raise OutcomeUnknown(
                    f"it is not known whether {path} was written: {error}",
                    hint="run the same command again when the store answers: it continues the operation",
                    path=path,
                ) from unseen
            if found == body:
                return
            if mode:
                raise FileExistsError(path) from error
            raise

    def _delete(self, names: Sequence[str]) -> dict[str, str]:
        """Deletes objects; returns the errors of those that still exist. An absent one is no error."""
        return patiently(self._delete_singly, names, self.guard)

    def _delete_singly(self, names: Sequence[str]) -> dict[str, Kept]:
        """The same, once, by a request each."""
        results = zip(names, at_once(self._kept_by(self._delete_one), names), strict=True)
        return {name: kept for name, kept in results if kept is not None}

    def _kept_by(self, function: Callable[[_Item], object]) -> Callable[[_Item], Kept | None]:
        """A function that moves or deletes, as one that tells why something is still there. An absent one is no
        error."""

        def call(item: _Item) -> Kept | None:
            try:
                function(item)
            except FileNotFoundError:
                return None
            except Exception as error:  # each driver has exceptions of its own; the outcome is the path's
                return Kept(words(error), self._passes(error) or False)
            return None

        return call

    def _delete_one(self, name: str) -> None:
        """Raises FileNotFoundError; what the driver raises."""
        self.filesystem.rm_file(name)

    def _passes(self, error: Exception) -> bool | None:
        """Whether an error need not come again: see ``in_batches``."""
        return True if isinstance(error, TooLateError) else None


def _typed(key: str, text: str, parameters: Mapping[str, inspect.Parameter]) -> Any:
    """An option of the command line in the type of the driver's own default; an object is written in JSON.

    Raises UsageError, without the value, which may be a secret.
    """
    default = parameters[key].default if key in parameters else None
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, int):
            return int(text)
        return json.loads(text) if text.startswith("{") else text
    except (KeyError, ValueError):
        wanted = type(default).__name__ if isinstance(default, int) else "JSON object"
        raise UsageError(f"--storage-option {key}: its value is not a valid {wanted}") from None


def status(info: Mapping[str, Any]) -> FileStatus:
    modified = next((info[key] for key in ("mtime", "LastModified", "last_modified", "created") if info.get(key)), 0)
    if isinstance(modified, datetime):
        modified = modified.timestamp()
    name = info["name"].rstrip("/").rpartition("/")[2]
    modified_ms = int(modified * 1000) if isinstance(modified, (int, float)) else 0
    return FileStatus(name, info["type"] == "directory", int(info.get("size") or 0), modified_ms)


def _in_order_of_deletion(names: Sequence[str]) -> list[list[str]]:
    """The names in parts: where folders are objects, each goes after all that is in it."""
    above = {folder for name in names for folder in _folders_above(name)}
    folders = sorted((name for name in names if name.rstrip("/") in above or name.endswith("/")), reverse=True)
    files = sorted(set(names) - set(folders))
    return [files, *([folder] for folder in folders)]


def _folders_above(name: str) -> Iterator[str]:
    name = name.rstrip("/")
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def at_once(function: Callable[[_Item], _Value], items: Sequence[_Item]) -> list[_Value]:
    """A function's values, several at once. Raises what it raises."""
    with ThreadPoolExecutor(min(AT_ONCE, len(items) or 1)) as pool:
        return list(pool.map(function, items))


def words(error: Exception) -> str:
    """What a driver says, without what gives its reader access: the URL of a request may be in it."""
    return masked_error(str(error)) or type(error).__name__


_NO_BUCKET = re.compile(r"\(NoSuchBucket\)|ErrorCode:ContainerNotFound|^(?:https?://.+/)?b/[^/]{3,}/o$", re.MULTILINE)
"""In the words of botocore and of Azure's client; and a request of gcsfs about a whole bucket: it says no more where it
finds nothing."""


@contextmanager
def errors(verb: str, path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        # Without its bucket, no file is gone, and no folder empty.
        if _no_bucket(error) is None:
            raise
        raise _failed(verb, path, error) from error
    except (FileExistsError, Unsupported):
        raise
    except ImportError as error:
        raise Unsupported(
            f"cannot {verb} {path}: {error}", hint="install this package for the Python of hudictl"
        ) from error
    except Exception as error:  # each driver has exceptions of its own, and all of them are the store's failure
        raise _failed(verb, path, error) from error


def _no_bucket(error: Exception) -> str | None:
    """What is not there, if it is the bucket itself."""
    found = _NO_BUCKET.search(f"{error}\n{error.__cause__}")
    return None if found is None else "container" if "Container" in found[0] else "bucket"


def _failed(verb: str, path: str, error: Exception) -> StorageFailed:
    why, advice, bucket = words(error), "fix the cause, then run the same command again", _no_bucket(error)
    if bucket is not None:
        why = f"the {bucket} does not exist"
    if bucket is not None or isinstance(error, FileNotFoundError):
        advice = f"check the {bucket or 'bucket'}'s name, then run the same command again"
    return StorageFailed(f"cannot {verb} {path or '.'}: {why}", hint=advice, path=path)
