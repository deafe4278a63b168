"""Amazon S3, and other stores that speak its language, by s3fs (2024.12 and 2026.9)."""

import importlib
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hudictl.errors import StorageFailed
from hudictl.storage.base import (
    Credentials,
    DeleteOutcome,
    FileStatus,
    FileVersion,
    KeepsVersions,
    Storage,
    other_size,
    refuse_larger,
)
from hudictl.storage.guard import TooLateError
from hudictl.storage.patience import Kept, patiently
from hudictl.storage.remote import AS_VERSIONS, AT_ONCE, BATCH, RemoteStorage, at_once, errors, status, words
from hudictl.storage.swap import LOCK_BYTES, Versioned

_log = logging.getLogger(__name__)

_LATER = frozenset({"SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout", "OperationAborted"})
"""Codes of errors that another try may not meet."""
_ONE_COPY_BYTES = 5 * 1024**3
"""What one request copies at most."""
_NO_VERSION = (None, "", "null")
"""The version of an object that was written while its bucket kept none: the next write may replace it."""
_ARCHIVED = ("GLACIER", "DEEP_ARCHIVE")
"""Storage classes of which nothing can be read before it is restored."""
_TRIES = 10
"""Delete markers above one object, at most: each deletion that is tried again may add one."""


@dataclass(frozen=True)
class S3Storage(RemoteStorage):
    """A folder of a bucket."""

    delete_batch = BATCH
    _creates_exclusively = True
    # Without a range s3fs asks for the size first.
    _reads_ranges = True

    @staticmethod
    def _driver(base: str) -> Any:
        # fsspec does not know the oldest of Hadoop's three names of S3.
        RemoteStorage._driver("s3://")  # says how to install s3fs
        return importlib.import_module("hudictl.storage.s3_names").ExactNames

    @staticmethod
    def _connected(base: str, driver: Any, settings: dict[str, Any]) -> tuple[Any, str]:
        # By itself, a client has 10 connections, for which more threads would wait (seen with botocore 1.43).
        settings["config_kwargs"] = {"max_pool_connections": AT_ONCE, **settings.get("config_kwargs", {})}
        return driver(**settings), driver._strip_protocol(f"s3:{base.partition(':')[2]}")

    @staticmethod
    def credentials(options: Mapping[str, str]) -> Credentials:
        """As botocore finds them. Raises ImportError, and what botocore raises."""
        import botocore.session

        session = botocore.session.Session(profile=options.get("profile"))
        client = _client_options(options)
        given = (options.get("endpoint_url"), client.get("endpoint_url"))
        variables = map(os.environ.get, ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"))
        endpoint = next(filter(None, (*given, *variables)), None)
        region = client.get("region_name") or session.get_config_variable("region")
        facts = (f"region {region or 'not set'}", *([f"endpoint {endpoint}"] if endpoint else []))
        if options.get("anon", "").lower() == "true":
            return Credentials("none: anonymous (storage option anon)", facts)
        if "key" in options and "secret" in options:
            return Credentials("storage options key and secret", facts)
        found = session.get_credentials()
        if found is None:
            return Credentials(
                "", facts, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or an instance role"
            )
        return Credentials(_METHODS.get(found.method, found.method), facts)

    def list(self, folder: str) -> list[FileStatus]:
        _log.debug("list %s", folder)
        return sorted(self._entries(folder))

    @property
    def files_in_one_listing(self) -> int:
        # Buckets of S3 Express, whose names end so, do not list keys in their order.
        return 0 if self._bucket_and_key("")[0].endswith("--x-s3") else 1000

    def files_between(self, first: str, last: str) -> Iterator[tuple[str, FileStatus]]:
        _log.debug("list from %s to %s", first, last)
        top = self._prefix("")
        # A dot is just before a slash: no key of the first folder is before this one, and hardly another one behind it.
        before = f"{top}{first}.{chr(0x10FFFF)}"
        with errors("list from", first):
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
            with errors("get the status of", path):
                # s3fs would look for a folder of this name, too.
                answer = self._head(path)
        except FileNotFoundError:
            return None
        return _of_key({**answer, "Key": path, "Size": answer["ContentLength"]})

    def has_folder(self, folder: str) -> bool:
        try:
            with errors("get the status of", folder):
                # s3fs would look for a file of this name first.
                return bool(next(self._pages(folder, MaxKeys=1)).get("Contents"))
        except FileNotFoundError:
            return False

    def read_version(self, path: str) -> Versioned:
        bucket, key = self._bucket_and_key(path)
        answer = self.filesystem.call_s3("get_object", Bucket=bucket, Key=key)

        async def read() -> Versioned:
            async with answer["Body"] as body:
                refuse_larger(path, answer["ContentLength"], LOCK_BYTES)
                return Versioned(await body.read(), answer["ETag"])

        return self._run(read())

    def put_version(self, path: str, body: bytes, version: str | None) -> str:
        bucket, key = self._bucket_and_key(path)
        condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}
        return str(self.filesystem.call_s3("put_object", Bucket=bucket, Key=key, Body=body, **condition)["ETag"])

    def copy_from(self, source: Storage, path: str, size: int, *, grows: bool) -> None:
        # In the store itself, where both are the same account's and one request can do it.
        same = isinstance(source, S3Storage) and source.filesystem.storage_options == self.filesystem.storage_options
        if not (isinstance(source, S3Storage) and same and size <= _ONE_COPY_BYTES):
            super().copy_from(source, path, size, grows=grows)
            return
        _log.debug("copy %s in the store", path)
        found = source.stat(path)
        if found is None or found.size != size:
            raise other_size(path, size, found.size if found else None)
        if self.stat(path) is not None:
            raise FileExistsError(path)
        (bucket, key), (from_bucket, from_key) = self._bucket_and_key(path), source._bucket_and_key(path)
        whence = {"Bucket": from_bucket, "Key": from_key}
        with errors("copy", path):
            self.filesystem.call_s3("copy_object", Bucket=bucket, Key=key, CopySource=whence)

    def keeps_versions(self, path: str) -> KeepsVersions | None:
        bucket, _ = self._bucket_and_key("")
        where = f"the bucket {bucket}"
        try:
            if self._kept() is None:
                return None
            latest = next(entry for entry in self._stack(path) if entry["IsLatest"])
            self._head(path, VersionId=latest["VersionId"])
        except Exception as error:  # each refusal has an exception of its own; to copy is always possible
            return KeepsVersions(where, words(error))
        return KeepsVersions(where, None, self._days(bucket))

    def versions_now(self, paths: Sequence[str]) -> dict[str, FileVersion]:
        def now(path: str) -> FileVersion | None:
            try:
                with errors("get the status of", path):
                    answer = self._head(path)
            except FileNotFoundError:
                return None
            version = answer.get("VersionId")
            found = _of_key({**answer, "Key": path, "Size": answer["ContentLength"]})
            stays = "" if version in _NO_VERSION else str(version)
            return FileVersion(path, stays, found.size, found.modified_ms, answer["ETag"])

        return {found.path: found for found in at_once(now, paths) if found is not None}

    def versions_gone(self, versions: Sequence[FileVersion]) -> Sequence[tuple[str, str]]:
        def gone(version: FileVersion) -> str | None:
            with errors("look for the old version of", version.path):
                stack = self._stack(version.path)
            found = [entry for entry in stack if _is(entry, version)]
            if not found:
                return "the bucket does not have its old version any more"
            kind = found[0].get("StorageClass")
            return f"its old version is in the storage class {kind}: restore it first" if kind in _ARCHIVED else None

        told = zip(versions, at_once(gone, versions), strict=True)
        return [(version.path, reason) for version, reason in told if reason is not None]

    def bring_back(self, versions: Sequence[FileVersion]) -> Sequence[DeleteOutcome]:
        _log.debug("bring %d files back", len(versions))

        def brought(version: FileVersion) -> DeleteOutcome:
            try:
                self._bring_back(version)
            except Exception as error:  # each driver has exceptions of its own; the outcome is the path's
                return DeleteOutcome(version.path, words(error))
            return DeleteOutcome(version.path)

        return at_once(brought, versions)

    def read_version_of(self, version: FileVersion, most_bytes: int) -> bytes:
        bucket, key = self._bucket_and_key(version.path)

        async def read(answer: Any) -> bytes:
            async with answer["Body"] as body:
                return bytes(await body.read())

        with errors("read the old version of", version.path):
            refuse_larger(version.path, version.size, most_bytes)
            answer = self.filesystem.call_s3("get_object", Bucket=bucket, Key=key, VersionId=version.version)
            return self._run(read(answer))

    def _bring_back(self, version: FileVersion) -> None:
        """Raises StorageFailed; what the driver raises."""
        bucket, key = self._bucket_and_key(version.path)
        for _ in range(_TRIES):
            stack = self._stack(version.path)
            latest = next((entry for entry in stack if entry["IsLatest"]), None)
            if latest is not None and _is(latest, version):
                return
            objects = [entry for entry in stack if "Size" in entry]
            if latest is None or all(entry["VersionId"] != version.version for entry in objects):
                raise StorageFailed("the bucket does not have its old version any more", path=version.path)
            # Only a marker is removed, never an object; and only where nothing else would be seen below it.
            if "Size" in latest or objects[0]["VersionId"] != version.version:
                break
            try:
                self.filesystem.call_s3("delete_object", Bucket=bucket, Key=key, VersionId=latest["VersionId"])
            except PermissionError as error:
                _log.info("%s is copied: its delete marker cannot be removed: %s", version.path, words(error))
                break
        whence = {"Bucket": bucket, "Key": key, "VersionId": version.version}
        self.filesystem.call_s3("copy_object", Bucket=bucket, Key=key, CopySource=whence)
        copied = self.stat(version.path)
        if copied is None or copied.size != version.size:
            raise StorageFailed("the copy of its old version has another size", path=version.path)

    def _stack(self, path: str) -> Sequence[dict[str, Any]]:
        """The versions of an object, the newest first, then the delete markers of its key, which have no size."""
        bucket, key = self._bucket_and_key(path)
        asked, pages = {"Bucket": bucket, "Prefix": key}, []
        while True:
            pages.append(self.filesystem.call_s3("list_object_versions", **asked))
            # Of all keys that begin so, it is the first.
            if not pages[-1].get("IsTruncated") or pages[-1].get("NextKeyMarker") != key:
                break
            asked |= {"KeyMarker": key, "VersionIdMarker": pages[-1]["NextVersionIdMarker"]}
        found = (entry for kind in ("Versions", "DeleteMarkers") for page in pages for entry in page.get(kind, ()))
        return [entry for entry in found if entry["Key"] == key]

    def _days(self, bucket: str) -> int | None:
        """The least time after which a rule may delete old versions of the table; None if none is known."""
        prefix = self._prefix("")
        try:
            rules = self.filesystem.call_s3("get_bucket_lifecycle_configuration", Bucket=bucket)["Rules"]
        except Exception as error:  # the account may not ask, or there are none
            _log.debug("cannot read the rules of %s: %s", bucket, words(error))
            return None
        found = []
        for rule in rules:
            days = rule.get("NoncurrentVersionExpiration", {}).get("NoncurrentDays")
            only = rule.get("Filter", {})
            begins = rule.get("Prefix") or only.get("Prefix") or only.get("And", {}).get("Prefix") or ""
            # A rule may be for a part of the table, or for objects of some tag or size: it counts.
            if rule.get("Status") == "Enabled" and days and (prefix.startswith(begins) or begins.startswith(prefix)):
                found.append(int(days))
        return min(found, default=None)

    def _head(self, path: str, **more: str) -> Any:
        bucket, key = self._bucket_and_key(path)
        return self.filesystem.call_s3("head_object", self.filesystem.kwargs, Bucket=bucket, Key=key, **more)

    def _kept(self) -> str | None:
        # While versions are suspended, a deleted object is gone.
        bucket, _ = self._bucket_and_key("")
        found = self.filesystem.call_s3("get_bucket_versioning", Bucket=bucket)
        return AS_VERSIONS.format(f"The bucket {bucket}") if found.get("Status") == "Enabled" else None

    def _objects_below(self, folder: str) -> Sequence[str]:
        # Only those that are there: where a bucket keeps versions, each other one would get a delete marker.
        bucket, _ = self._bucket_and_key("")
        found = [f"{bucket}/{entry['Key']}" for page in self._pages(folder) for entry in page.get("Contents", ())]
        older = f"{folder}_$folder$"
        return [*found, self._path(older)] if self.stat(older) is not None else found

    def _prefix(self, folder: str) -> str:
        """How the keys of all files in a folder, and below it, begin."""
        _, key = self._bucket_and_key(folder)
        return f"{key}/" if key else ""

    def _pages(self, folder: str, **more: Any) -> Iterator[dict[str, Any]]:
        """The answers to a listing by the beginning of keys, one a request."""
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
        """The entries of a folder. Raises FileNotFoundError."""
        prefix, found = self._prefix(folder), False
        with errors("list", folder):
            for page in self._pages(folder, Delimiter="/"):
                files, folders = page.get("Contents", ()), page.get("CommonPrefixes", ())
                found = found or bool(files or folders)
                # Hadoop's connectors do not see a folder without a name either.
                names = (entry["Prefix"].removeprefix(prefix).rstrip("/") for entry in folders)
                yield from (FileStatus(name, True, 0, 0) for name in names if name)
                yield from (_of_key(entry) for entry in files if entry["Key"] != prefix)
        if prefix and not found:
            raise FileNotFoundError(folder)

    def _delete(self, names: Sequence[str]) -> dict[str, str]:
        return patiently(self._delete_once, names, self.guard)

    def _delete_once(self, names: Sequence[str]) -> dict[str, Kept]:
        """Deletes objects in one call."""
        # Not through s3fs' own ``rm``: it does not report keys that were not deleted (seen on 2026.9.0).
        bucket, _ = self._bucket_and_key("")
        keys = {self.filesystem.split_path(name)[1]: name for name in names}
        wanted = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
        try:
            answer = self.filesystem.call_s3("delete_objects", Bucket=bucket, Delete=wanted) if keys else {}
            found = [entry for entry in answer.get("Errors", ()) if entry.get("Code") != "NoSuchKey"]
            told = [(entry["Key"], str(entry.get("Code")), entry.get("Message")) for entry in found]
            return {keys[key]: Kept(f"{code}: {message}", code in _LATER) for key, code, message in told}
        except Exception as error:  # all of them failed, or the reply was lost: a rerun shows which
            return dict.fromkeys(names, Kept(words(error), isinstance(error, TooLateError)))


def _is(entry: Mapping[str, Any], version: FileVersion) -> bool:
    """Whether an entry of a listing of versions is one of them, or has the same content."""
    if entry.get("Size") != version.size:
        return False
    return bool(entry["VersionId"] == version.version or (entry["IsLatest"] and entry["ETag"] == version.tag))


def _of_key(entry: Mapping[str, Any]) -> FileStatus:
    """A file as S3 lists it."""
    return status({"name": entry["Key"], "type": "file", "size": entry["Size"], "LastModified": entry["LastModified"]})


def _client_options(options: Mapping[str, str]) -> dict[str, str]:
    """s3fs' options for the client of botocore. What is no JSON, the store itself refuses."""
    try:
        return dict(json.loads(options.get("client_kwargs", "{}")))
    except (ValueError, TypeError):
        return {}


_METHODS = {
    "env": "the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "shared-credentials-file": "the file ~/.aws/credentials, or AWS_SHARED_CREDENTIALS_FILE",
    "config-file": "the file ~/.aws/config, or AWS_CONFIG_FILE",
    "iam-role": "the role of this instance",
    "container-role": "the role of this container",
    "assume-role": "a role (assume-role)",
    "assume-role-with-web-identity": "a role by a web identity (AWS_WEB_IDENTITY_TOKEN_FILE)",
}
"""By botocore's methods."""
