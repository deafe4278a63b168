"""One object's content with its version, and a write that only replaces this version: what a lock in a store needs.

Each store has its own condition: S3 and Azure compare ETags, Google Cloud Storage compares generations. Their drivers
for fsspec have no such call, so the requests go through the client of each (s3fs 2026.9, gcsfs 2026.10, adlfs 2026.8).
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from hudictl.errors import OutcomeUnknown, StorageFailed
from hudictl.storage.remote import words

LOCK_BYTES = 64 * 1024
"""A lock that has more is none, and is not read."""
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


@runtime_checkable
class Swapping(Protocol):
    """A storage with such a condition: S3, Google Cloud Storage and Azure. Both raise whatever its driver raises."""

    def read_version(self, path: str) -> Versioned:
        """An object with its version. Raises StorageFailed: it has more bytes than a lock."""

    def put_version(self, path: str, body: bytes, version: str | None) -> str:
        """Replaces a version; None: no object exists. Returns the new version."""


def read_version(storage: Swapping, path: str) -> Versioned | None:
    """An object with its version; None where there is none. Raises StorageFailed."""
    try:
        return storage.read_version(path)
    except FileNotFoundError:
        return None
    except StorageFailed:
        raise
    except Exception as error:  # each driver has exceptions of its own
        if _status(error) == 404:
            return None
        raise _failed("read", path, error) from error


def swap(storage: Swapping, path: str, body: bytes, version: str | None) -> str | None:
    """Replaces one version of an object, or creates the object where ``version`` is None. The body must be unique: it
    tells this write from another's after a lost reply.

    Returns:
        The new version; None if the object has another version, and nothing was written.

    Raises:
        OutcomeUnknown: the store asks to try again later, or its reply was lost, and the object is not (yet) ours.
        StorageFailed: the store refuses.
    """
    try:
        return storage.put_version(path, body, version)
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
            f"it is not known whether {path} was written: {words(error)}",
            hint="the store may answer a later try",
            path=path,
        ) from error


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
    return StorageFailed(f"cannot {verb} {path}: {words(error)}", hint="fix the cause, then try again", path=path)
