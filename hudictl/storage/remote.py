"""Every other store, through fsspec, without cache. Writable only if a put is visible completely or not at all."""

import importlib
import inspect
import json
import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

import fsspec

from hudictl.errors import OutcomeUnknown, StorageFailed, Unsupported, UsageError
from hudictl.storage.base import DeleteOutcome, FileStatus, inside
from hudictl.storage.below import in_order_of_deletion, objects_of_azure, objects_of_gcs
from hudictl.storage.kept import kept_by_azure, kept_by_gcs, kept_by_s3

_log = logging.getLogger(__name__)

_S3 = frozenset({"s3", "s3a", "s3n"})
_GCS = frozenset({"gs", "gcs"})
_AZURE = frozenset({"abfs", "abfss", "az"})
_CONDITIONAL = _S3 | _GCS | _AZURE
"""Here ``mode="create"`` is a condition that the store itself checks (s3fs 2024.12, gcsfs 2026.10, adlfs 2026.8)."""
_WHOLE = _CONDITIONAL | {"memory", "oss", "oci", "tos"}
BATCH = 1000
"""Keys that one call of S3 deletes, or lists."""
_AT_ONCE = 16
"""Calls in flight at once: those of one deletion, and those of the engine's threads. By itself, S3's client has 10
connections, for which more threads would wait (seen with botocore 1.43)."""

_LATER = frozenset({"SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout", "OperationAborted"})
"""S3's codes of errors that another try may not meet."""
_PAUSES_S = (0.2, 0.5, 1, 2, 4, 8)
"""Between the tries, in seconds, about: many tasks delete at once."""
_STEADY = 3
"""The index of the longest pause while a store still deletes some of the files."""


@dataclass(frozen=True)
class RemoteStorage:
    """A folder of a store that fsspec knows.

    ``base`` is the URI from the user: Hudi's own writers must be able to open the paths in stored plans.
    ``single_operator``: the user guarantees that no other hudictl runs, so ``create`` checks, then puts.
    """

    base: str
    filesystem: Any = field(repr=False)
    root: str
    single_operator: bool

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
        if self._scheme not in _WHOLE:
            raise Unsupported(
                f"{self.base}: hudictl changes no tables on {self._scheme}: files are visible before they are complete",
                hint="use Hudi's own restore, or mount the store and use the path",
            )
        if self._scheme not in _CONDITIONAL and not self.single_operator:
            raise Unsupported(
                f"{self.base}: {self._scheme} is not known to support exclusive creation of files",
                hint="if no other hudictl uses this table: --single-operator",
            )

    def behind_link(self, folder: str) -> bool:
        # Stores have no links.
        return False

    def absolute(self, path: str) -> str:
        return f"{self.base}/{inside(path)}" if path else self.base

    def list(self, folder: str) -> list[FileStatus]:
        _log.debug("list %s", folder)
        if self._scheme in _S3:
            return sorted(self._entries(folder))
        own = self._path(folder)
        with _errors("list", folder):
            entries = self.filesystem.ls(own, detail=True)
        if [entry["name"] for entry in entries if entry["type"] == "file"] == [own]:
            raise FileNotFoundError(f"{folder} is a file")
        # The folder itself is listed, too, if an object represents it.
        return sorted(
            (_status(entry) for entry in entries if entry["name"].rstrip("/") != own), key=lambda entry: entry.name
        )

    @property
    def files_in_one_listing(self) -> int:
        # Buckets of S3 Express, whose names end so, do not list keys in their order.
        ordered = self._scheme in _S3 and not self._bucket_and_key("")[0].endswith("--x-s3")
        return BATCH if ordered else 0

    def files_between(self, first: str, last: str) -> Iterator[tuple[str, FileStatus]]:
        _log.debug("list from %s to %s", first, last)
        top = self._prefix("")
        # A dot is just before a slash: no key of the first folder is before this one, and hardly another one behind it.
        before = f"{top}{first}.{chr(0x10FFFF)}"
        with _errors("list from", first):
            for page in self._pages("", StartAfter=before):
                files = page.get("Contents", ())
                keys = [before, *(entry["Key"] for entry in files)]
                if any(key >= following for key, following in pairwise(keys)):
                    # Where keys come in no order, as from S3 Express, files that come late would count as gone.
                    raise ValueError("the store does not list keys in their order; please report which one it is")
                before = keys[-1]
                for entry in files:
                    path = entry["Key"].removeprefix(top)
                    if path > f"{last}/" and not path.startswith(f"{last}/"):
                        return
                    yield path, _of_key(entry)

    def stat(self, path: str) -> FileStatus | None:
        try:
            with _errors("get the status of", path):
                if self._scheme in _S3:
                    # s3fs would look for a folder of this name, too.
                    bucket, key = self._bucket_and_key(path)
                    answer = self.filesystem.call_s3("head_object", self.filesystem.kwargs, Bucket=bucket, Key=key)
                    found = {**answer, "name": path, "type": "file", "size": answer["ContentLength"]}
                else:
                    found = self.filesystem.info(self._path(path))
        except FileNotFoundError:
            return None
        return None if found["type"] == "directory" else _status(found)

    def has_folder(self, folder: str) -> bool:
        try:
            with _errors("get the status of", folder):
                if self._scheme in _S3:
                    # s3fs would look for a file of this name first.
                    return bool(next(self._pages(folder, MaxKeys=1)).get("Contents"))
                return bool(self.filesystem.info(self._path(folder))["type"] == "directory")
        except FileNotFoundError:
            return False

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        _log.debug("read %s", path)
        if length == 0:
            # Drivers treat it differently; that of Azure fails.
            return b""
        end = None if length is None else start + length
        # Without a range s3fs asks for the size first.
        first = start if self._scheme in _S3 else start or None
        with _errors("read", path):
            try:
                return bytes(self.filesystem.cat_file(self._path(path), start=first, end=end))
            except FileNotFoundError:
                raise
            except Exception:
                # Stores refuse a range behind the end, and any of an empty file.
                if (first, end) != (None, None) and start >= self.filesystem.info(self._path(path))["size"]:
                    return b""
                raise

    def create(self, path: str, body: bytes) -> None:
        _log.debug("create %s", path)
        if self.single_operator:
            if self.stat(path) is not None:
                raise FileExistsError(path)
            self._put("create", path, body)
        else:
            self._put("create", path, body, mode="create")

    def append(self, path: str, start: int, body: bytes) -> bool:
        return False

    @property
    def has_leases(self) -> bool:
        return False

    def end_writing(self, path: str) -> None:
        """Nothing is open."""

    def keeps_deleted(self) -> str | None:
        bucket, _, key = self.root.partition("/")
        try:
            if self._scheme in _S3:
                return kept_by_s3(self.filesystem, self._bucket_and_key("")[0])
            if self._scheme in _GCS:
                return kept_by_gcs(self.filesystem, bucket)
            if self._scheme in _AZURE:
                return kept_by_azure(self.filesystem, bucket, f"{key}/.hoodie/hoodie.properties")
        except Exception as error:  # who may work on a table may often not ask for this, and not all servers know it
            _log.debug("cannot ask what the store keeps of deleted files: %s", _words(error))
        return None

    def replace(self, path: str, body: bytes) -> None:
        _log.debug("replace %s", path)
        self._put("replace", path, body)

    def touch(self, path: str) -> None:
        self._put("touch", path, self.read(path))

    def sync(self, folder: str) -> None:
        """A confirmed put or deletion is durable."""

    def delete(self, paths: Sequence[str]) -> Sequence[DeleteOutcome]:
        _log.debug("delete %d files", len(paths))
        errors: dict[str, str] = {}
        for start in range(0, len(paths), BATCH):
            errors |= self._delete([self._path(path) for path in paths[start : start + BATCH]])
        return [DeleteOutcome(path, errors.get(self._path(path))) for path in paths]

    @property
    def delete_batch(self) -> int:
        return BATCH if self._scheme in _S3 else 100

    def move(self, source: str, target: str) -> bool:
        return False

    @contextmanager
    def alone(self, folder: str, *, wait: bool) -> Iterator[bool]:
        yield True

    def delete_folder(self, folder: str) -> None:
        _log.debug("delete folder %s", folder)
        with _errors("delete", folder):
            names = self._objects_below(folder)
        for part in in_order_of_deletion(names):
            for start in range(0, len(part), BATCH):
                for name, reason in self._delete(part[start : start + BATCH]).items():
                    raise StorageFailed(f"cannot delete {name}: {reason}", path=name)

    def _objects_below(self, folder: str) -> Sequence[str]:
        """All objects in a folder, and those that represent it: Hadoop's, and those of older and Amazon's connectors.
        Not through the drivers' recursive ``rm``, for which the folder's name is a pattern."""
        path = self._path(folder)
        if self._scheme in _S3:
            return [*self.filesystem.find(path), f"{path}/", f"{path}_$folder$"]
        if self._scheme in _GCS | _AZURE:
            # adlfs would lose a question mark at the end.
            bucket, _, key = path.partition("/")
            found = objects_of_gcs if self._scheme in _GCS else objects_of_azure
            names = [f"{bucket}/{name}" for name in found(self.filesystem, bucket, f"{key}/")]
            return names if self._scheme in _GCS else [path, *names]
        return list(self.filesystem.find(path))

    @property
    def _scheme(self) -> str:
        return self.base.partition("://")[0]

    def _path(self, path: str) -> str:
        """The path as fsspec's file system takes it."""
        return f"{self.root}/{inside(path)}" if path else self.root

    def _bucket_and_key(self, path: str) -> tuple[str, str]:
        bucket, key, *_ = self.filesystem.split_path(self._path(path))
        return bucket, key

    def _prefix(self, folder: str) -> str:
        """How the keys of all files in a folder, and below it, begin."""
        _, key = self._bucket_and_key(folder)
        return f"{key}/" if key else ""

    def _pages(self, folder: str, **more: Any) -> Iterator[dict[str, Any]]:
        """The answers of S3 to a listing by the beginning of keys, one a request."""
        # Not through s3fs' own ``ls``: where there is nothing, it lists the folder above, too (seen on 2026.9.0).
        bucket, _ = self._bucket_and_key(folder)
        asked = {"Bucket": bucket, "Prefix": self._prefix(folder), **more}
        while True:
            answer = self.filesystem.call_s3("list_objects_v2", self.filesystem.kwargs, **asked)
            yield answer
            if not answer.get("IsTruncated"):
                return
            asked["ContinuationToken"] = answer["NextContinuationToken"]

    def _entries(self, folder: str) -> Iterator[FileStatus]:
        """A folder of S3. Raises FileNotFoundError."""
        prefix, found = self._prefix(folder), False
        with _errors("list", folder):
            for page in self._pages(folder, Delimiter="/"):
                files, folders = page.get("Contents", ()), page.get("CommonPrefixes", ())
                found = found or bool(files or folders)
                # Hadoop's connectors do not see a folder without a name either.
                names = (entry["Prefix"].removeprefix(prefix).rstrip("/") for entry in folders)
                yield from (FileStatus(name, True, 0, 0) for name in names if name)
                yield from (_of_key(entry) for entry in files if entry["Key"] != prefix)
        if prefix and not found:
            raise FileNotFoundError(folder)

    def _put(self, verb: str, path: str, body: bytes, **mode: str) -> None:
        """Writes a complete object. If the reply is lost, or belongs to a second try, the object is read: our own bytes
        mean success."""
        try:
            with _errors(verb, path):
                self.filesystem.pipe_file(self._path(path), body, **mode)
        except (FileExistsError, StorageFailed) as error:
            if isinstance(error.__cause__, PermissionError):
                raise
            try:
                found = self.read(path, 0, len(body) + 1)
            except FileNotFoundError:
                raise error from None
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
        if self._scheme in _S3:
            return self._delete_in_one_call(names)
        with ThreadPoolExecutor(min(_AT_ONCE, len(names) or 1)) as pool:
            reasons = pool.map(_reason_of(self.filesystem.rm_file), names)
            return {name: reason for name, reason in zip(names, reasons, strict=True) if reason is not None}

    def _delete_in_one_call(self, names: Sequence[str]) -> dict[str, str]:
        keys = {self.filesystem.split_path(name)[1]: name for name in names}
        errors = self._errors_of(list(keys))
        tries = 0
        while tries < len(_PAUSES_S):
            again = [key for key, (code, _) in errors.items() if code in _LATER]
            if not again:
                break
            pause = _PAUSES_S[tries]
            # A store that limits its requests answers so for single keys; s3fs tries only whole calls again.
            if pause >= 1:
                _log.warning("the store limits requests: %d of %d files are deleted later", len(again), len(names))
            time.sleep(pause * random.uniform(0.5, 1.5))
            left = self._errors_of(again)
            errors = {key: error for key, error in errors.items() if error[0] not in _LATER} | left
            # With 16 calls at once a store may take long for all of them: it is given up only if it deletes nothing.
            tries = tries + 1 if len(left) == len(again) else min(tries + 1, _STEADY)
        return {keys[key]: f"{code}: {message}" if code else message for key, (code, message) in errors.items()}

    def _errors_of(self, keys: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Deletes keys in one call; code and message of the error of each that still exists."""
        # Not through s3fs' own ``rm``: it does not report keys that were not deleted (seen on 2026.9.0).
        bucket, _ = self._bucket_and_key("")
        wanted = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
        try:
            answer = self.filesystem.call_s3("delete_objects", Bucket=bucket, Delete=wanted) if keys else {}
            errors = [entry for entry in answer.get("Errors", ()) if entry.get("Code") != "NoSuchKey"]
            return {entry["Key"]: (str(entry.get("Code")), str(entry.get("Message"))) for entry in errors}
        except Exception as error:  # all of them failed, or the reply was lost: a rerun shows which
            return dict.fromkeys(keys, ("", _words(error)))


def open_remote(uri: str, options: Mapping[str, str], single_operator: bool) -> RemoteStorage:
    """Raises StorageFailed: no package for the scheme, or the store refuses the options; UsageError: see ``_typed``."""
    base = uri.rstrip("/")
    # fsspec does not know the oldest of Hadoop's three names of S3.
    known_base = f"s3{base.removeprefix('s3n')}" if base.startswith("s3n:") else base
    with _errors("open", base):
        driver = _driver(known_base.partition("://")[0])
        parameters = inspect.signature(driver.__init__).parameters
    typed = {key: _typed(key, text, parameters) for key, text in options.items()}
    with _errors("open", base):
        # Cached replies must not hide changed credentials, or a writer's new file.
        takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
        uncached = {"use_listings_cache": False} if takes_any or "use_listings_cache" in parameters else {}
        if base.partition("://")[0] in _S3:
            typed["config_kwargs"] = {"max_pool_connections": _AT_ONCE, **typed.get("config_kwargs", {})}
        settings = {"skip_instance_cache": True, **typed, **uncached}
        if base.partition("://")[0] in _GCS:
            filesystem, root = driver(**settings), driver._strip_protocol(base)
        else:
            filesystem, root = fsspec.url_to_fs(known_base, **settings)
    return RemoteStorage(base, filesystem, root.rstrip("/"), single_operator)


def _driver(scheme: str) -> Any:
    """fsspec's file system for a scheme. Raises ImportError, ValueError."""
    if scheme in _GCS:
        # The one that fsspec knows asks for the bucket's kind over gRPC, before each request: where that fails, as
        # behind many a firewall, for a minute or more each time (seen with gcsfs 2026.10.1).
        # It also logs each refused request with a traceback, which Python prints unless there is a handler.
        logging.getLogger("gcsfs").addHandler(logging.NullHandler())
        return importlib.import_module("gcsfs.core").GCSFileSystem
    return fsspec.get_filesystem_class(scheme)


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


def _status(info: Mapping[str, Any]) -> FileStatus:
    modified = next((info[key] for key in ("mtime", "LastModified", "last_modified", "created") if info.get(key)), 0)
    if isinstance(modified, datetime):
        modified = modified.timestamp()
    name = info["name"].rstrip("/").rpartition("/")[2]
    modified_ms = int(modified * 1000) if isinstance(modified, (int, float)) else 0
    return FileStatus(name, info["type"] == "directory", int(info.get("size") or 0), modified_ms)


def _of_key(entry: Mapping[str, Any]) -> FileStatus:
    """A file as S3 lists it."""
    return _status({"name": entry["Key"], "type": "file", "size": entry["Size"], "LastModified": entry["LastModified"]})


def _reason_of(function: Callable[[str], object]) -> Callable[[str], str | None]:
    def call(name: str) -> str | None:
        try:
            function(name)
        except FileNotFoundError:
            return None
        except Exception as error:  # each driver has exceptions of its own; the outcome is the path's
            return _words(error)
        return None

    return call


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


@contextmanager
def _errors(verb: str, path: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except ImportError as error:
        raise Unsupported(
            f"cannot {verb} {path}: {error}", hint="install this package for the Python of hudictl"
        ) from error
    except Exception as error:  # each driver has exceptions of its own, and all of them are the store's failure
        raise StorageFailed(
            f"cannot {verb} {path or '.'}: {_words(error)}",
            hint="fix the cause, then run the same command again",
            path=path,
        ) from error
