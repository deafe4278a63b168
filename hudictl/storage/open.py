"""From a URI to its storage: what knows every store. Tables and their changes get a ``Storage``."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from hudictl.errors import UsageError
from hudictl.secrets import has_password, hide_in_errors
from hudictl.storage.base import Credentials, Storage
from hudictl.storage.local import LocalStorage
from hudictl.storage.uri import kind_of, local_path

if TYPE_CHECKING:
    from hudictl.storage.hdfs import HdfsStorage
    from hudictl.storage.remote import RemoteStorage

_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:")
_WITH_BUCKET = re.compile(r"^[^:]+://[^/]")
_IN_BUCKETS = frozenset({"s3", "gs", "abfs", "oss", "oci", "tos"})


def open_storage(
    uri: str, scratch: str, options: Mapping[str, str] | None = None, *, single_operator: bool = False
) -> Storage:
    """The storage of a table's base path.

    Args:
        uri: a path, ``file:`` URI, or any URI that fsspec knows.
        scratch: a folder, relative to the base, for temporary files.
        options: fsspec's options for the store; no error will show what is secret in them.
        single_operator: no other hudictl runs; needed where a store cannot create exclusively.

    Raises:
        UsageError: an empty or malformed URI, one of an object store without a bucket, or one with a password.
        StorageFailed: the store cannot be opened.
    """
    hide_in_errors(options or {})
    if not uri:
        raise UsageError("the table's URI is empty", hint="specify it with --table or HUDICTL_TABLE")
    if not _SCHEME.match(uri) or uri.startswith("file:"):
        return LocalStorage(local_path(uri), scratch)
    if has_password(uri):
        # The absolute paths in Hudi's rollback plans would have it, too, and errors of drivers in many forms.
        raise UsageError(
            "the table's URI has a user and a password",
            hint="give them as the store's options, for S3 --storage-option key=... and secret=..., or in a profile",
        )
    if kind_of(uri) in _IN_BUCKETS and not _WITH_BUCKET.match(uri):
        # fsspec takes a:///b/t for a://b/t. To Hadoop it has no bucket: no writer could execute the plan of a rollback.
        scheme = uri.partition(":")[0]
        raise UsageError(f"{uri} has no bucket after {scheme}://", hint=f"write it as {scheme}://BUCKET/PATH", uri=uri)
    return _store_of(uri).open(uri, scratch, options or {}, single_operator)


def folders_above(storage: Storage) -> Iterator[Storage]:
    """The folders above a base, nearest first; of a local one behind links also those above the place where it is."""
    places = [storage]
    if kind_of(storage.uri) == "file":
        places.append(LocalStorage(os.path.realpath(local_path(storage.uri)), ""))
    for place in places:
        above = place.above()
        while above is not None:
            yield above
            above = above.above()


def find_credentials(uri: str, options: Mapping[str, str]) -> Credentials | None:
    """The credentials that the driver for a URI's store would find, and where, never what they are; None where it needs
    none, or which it needs is not known.

    Args:
        options: fsspec's, which win over the environment.

    Raises:
        ImportError: the driver's libraries are not installed. StorageFailed: Hadoop's settings cannot be read.
        Whatever these libraries raise.
    """
    return None if kind_of(uri) in ("file", "") else _store_of(uri).credentials(options)


def _store_of(uri: str) -> "type[HdfsStorage | RemoteStorage]":
    """Any but local files. Imported here: the libraries cost more than a whole timeline on local files."""
    match kind_of(uri):
        case "hdfs":
            from hudictl.storage.hdfs import HdfsStorage

            return HdfsStorage
        case "s3":
            from hudictl.storage.s3 import S3Storage

            return S3Storage
        case "gs":
            from hudictl.storage.gcs import GcsStorage

            return GcsStorage
        case "abfs":
            from hudictl.storage.azure import AzureStorage

            return AzureStorage
    from hudictl.storage.remote import RemoteStorage

    return RemoteStorage
