"""One object's content with its version, and a write that only replaces this version: what a lock in a store needs.

Each store has its own condition: S3 and Azure compare ETags, Google Cloud Storage compares generations. Their drivers
for fsspec have no such call, so the requests go through the client of each (s3fs 2026.9, gcsfs 2026.10, adlfs 2026.8).
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from hudictl.errors import OutcomeUnknown, StorageFailed
from hudictl.storage.base import Storage
from hudictl.storage.remote import RemoteStorage

Answer = TypeVar("Answer")
_CHANGED = 412
_LATER = frozenset({408, 409, 429})
"""Answers after which the same request may succeed, beside those from 500 on."""
_CREATED_BEFORE = ("BlobAlreadyExists",)
"""Azure's code, with the answer 409, where a blob exists already."""


@dataclass(frozen=True, slots=True)
class Versioned:
    """An object's bytes, and what the store calls this version of it."""

    body: bytes
    version: str


@dataclass(frozen=True, slots=True)
class _Store:
    """How one store reads with the version, and puts under the condition; a ``version`` of None: no object exists."""

    read: Callable[[Any, str], Coroutine[Any, Any, Versioned]]
    put: Callable[[Any, str, bytes, str | None], Coroutine[Any, Any, str]]


def can_swap(storage: Storage) -> bool:
    """Whether the store has such a condition: S3, Google Cloud Storage and Azure have."""
    return isinstance(storage, RemoteStorage) and _scheme(storage) in _STORES


def read_version(storage: Storage, path: str) -> Versioned | None:
    """An object with its version; None where there is none. Raises StorageFailed."""
    try:
        return _ask(storage, path, lambda store, files, name: store.read(files, name))
    except FileNotFoundError:
        return None
    except Exception as error:  # each driver has exceptions of its own
        if _status(error) == 404:
            return None
        raise _failed("read", path, error) from error


def swap(storage: Storage, path: str, body: bytes, version: str | None) -> str | None:
    """Replaces one version of an object, or creates the object where ``version`` is None. The body must be unique: it
    tells this write from another's after a lost reply.

    Returns:
        The new version; None if the object has another version, and nothing was written.

    Raises:
        OutcomeUnknown: the store asks to try again later, or its reply was lost, and the object is not (yet) ours.
        StorageFailed: the store refuses.
    """
    try:
        return _ask(storage, path, lambda store, files, name: store.put(files, name, body, version))
    except Exception as error:  # each driver has exceptions of its own
        status = _status(error)
        if version is not None and isinstance(error, FileNotFoundError):
            # S3's answer where the version is gone.
            status = _CHANGED
        if status is not None and 400 <= status < 500 and status != _CHANGED and status not in _LATER:
            raise _failed("write", path, error) from error
        # A driver repeats a request whose reply was lost: the second one finds the first one's object.
        found = read_version(storage, path)
        if found is not None and found.body == body:
            return found.version
        if status == _CHANGED or isinstance(error, FileExistsError):
            return None
        raise OutcomeUnknown(
            f"it is not known whether {path} was written: {_words(error)}",
            hint="the store may answer a later try",
            path=path,
        ) from error


def _ask(storage: Storage, path: str, call: Callable[[_Store, Any, str], Coroutine[Any, Any, Answer]]) -> Answer:
    """One request, in the event loop of the driver."""
    assert isinstance(storage, RemoteStorage)
    files = storage.filesystem
    request = call(_STORES[_scheme(storage)], files, f"{storage.root}/{path}")
    return asyncio.run_coroutine_threadsafe(request, files.loop).result()


async def _read_s3(files: Any, name: str) -> Versioned:
    bucket, key, _ = files.split_path(name)
    answer = await files._call_s3("get_object", Bucket=bucket, Key=key)
    async with answer["Body"] as body:
        return Versioned(await body.read(), answer["ETag"])


async def _put_s3(files: Any, name: str, body: bytes, version: str | None) -> str:
    bucket, key, _ = files.split_path(name)
    condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}
    answer = await files._call_s3("put_object", Bucket=bucket, Key=key, Body=body, **condition)
    return str(answer["ETag"])


async def _read_gcs(files: Any, name: str) -> Versioned:
    bucket, key, _ = files.split_path(name)
    headers, body = await files._call("GET", f"b/{quote(bucket)}/o/{quote(key, safe='')}", alt="media")
    return Versioned(bytes(body), headers["X-Goog-Generation"])


async def _put_gcs(files: Any, name: str, body: bytes, version: str | None) -> str:
    bucket, key, _ = files.split_path(name)
    url = f"{files._location}/upload/storage/v1/b/{quote(bucket)}/o"
    condition = {"uploadType": "media", "name": key, "ifGenerationMatch": version or "0"}
    _, answer = await files._call("POST", url, data=body, headers={"Content-Type": "application/json"}, **condition)
    return str(json.loads(answer)["generation"])


async def _read_azure(files: Any, name: str) -> Versioned:
    container, blob, _ = files.split_path(name)
    async with files.service_client.get_blob_client(container=container, blob=blob) as client:
        answer = await client.download_blob()
        return Versioned(await answer.readall(), answer.properties.etag)


async def _put_azure(files: Any, name: str, body: bytes, version: str | None) -> str:
    from azure.core import MatchConditions

    container, blob, _ = files.split_path(name)
    condition: dict[str, Any] = {"overwrite": False}
    if version is not None:
        condition = {"overwrite": True, "etag": version, "match_condition": MatchConditions.IfNotModified}
    async with files.service_client.get_blob_client(container=container, blob=blob) as client:
        answer = await client.upload_blob(body, **condition)
        return str(answer["etag"])


_S3 = _Store(_read_s3, _put_s3)
_GCS = _Store(_read_gcs, _put_gcs)
_AZURE = _Store(_read_azure, _put_azure)
_STORES: Mapping[str, _Store] = {
    **dict.fromkeys(("s3", "s3a", "s3n"), _S3),
    **dict.fromkeys(("gs", "gcs"), _GCS),
    **dict.fromkeys(("abfs", "abfss", "az"), _AZURE),
}


def _scheme(storage: RemoteStorage) -> str:
    return storage.uri.partition("://")[0]


def _status(error: BaseException) -> int | None:
    """The status of the store's answer, from the exceptions of all three clients; None where none has come."""
    if getattr(error, "error_code", None) in _CREATED_BEFORE:
        return _CHANGED
    while not hasattr(error, "response") and error.__cause__ is not None:
        error = error.__cause__
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)) or None
    status = str(getattr(error, "status_code", None) or getattr(error, "code", None))
    return int(status) if status.isdigit() else None


def _failed(verb: str, path: str, error: Exception) -> StorageFailed:
    return StorageFailed(f"cannot {verb} {path}: {_words(error)}", hint="fix the cause, then try again", path=path)


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
