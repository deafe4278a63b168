"""From a URI to its storage."""

import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from hudictl.errors import UsageError
from hudictl.secrets import has_password
from hudictl.storage.base import Credentials, Storage
from hudictl.storage.local import LocalStorage

if TYPE_CHECKING:
    from hudictl.storage.hdfs import HdfsStorage
    from hudictl.storage.remote import RemoteStorage

HDFS, S3 = ("hdfs", "webhdfs", "swebhdfs"), ("s3", "s3a", "s3n")
GCS, AZURE = ("gs", "gcs"), ("abfs", "abfss", "az")
_KINDS = {scheme: schemes[0] for schemes in (("file",), HDFS, S3, GCS, AZURE) for scheme in schemes}
"""Of stores, by the schemes of each."""
_NAME_NODE = re.compile(rf"^(({'|'.join(HDFS)}):)?(//[^/]*)?")
_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:")


def kind_of(uri: str) -> str:
    """The kind of store of a URI: the first of its schemes, ``file``, ``hdfs``, ``s3``, ``gs``, ``abfs``, or another
    scheme itself; "" for a path alone."""
    scheme, separator, _ = uri.partition(":")
    return _KINDS.get(scheme, scheme) if separator else ""


def is_hdfs(uri: str) -> bool:
    """Whether a URI is one of HDFS: its paths are the same by each name of its name node."""
    return kind_of(uri) == "hdfs"


def without_name_node(uri: str) -> str:
    """The path of a URI of HDFS, also of one without scheme (``//node:8020/path``), or of a path alone."""
    return _NAME_NODE.sub("", uri)


def elsewhere(uri: str, base: str) -> bool:
    """Whether a URI, or a path of a default file system, is surely another folder than a table's base path: one store
    can have several schemes and names, and any store can be mounted as local files."""
    if uri.startswith("/") and kind_of(base) in ("file", "hdfs"):
        uri = f"{kind_of(base)}:{uri}"
    kinds = {kind_of(uri), kind_of(base)}
    # Of Azure a container has two names, with its account and without.
    if not kinds <= {"file", "hdfs", "s3", "gs"} or (len(kinds) > 1 and "file" in kinds):
        return False
    return len(kinds) > 1 or _place(uri) != _place(base)


def first_elsewhere(uris: Iterable[str], base: str) -> str:
    """The first of some URIs that is ``elsewhere``; "" if there is none."""
    return next((uri for uri in sorted(uris) if elsewhere(uri, base)), "")


def _place(uri: str) -> str:
    path = (without_name_node(uri) if is_hdfs(uri) else uri.partition(":")[2]).strip("/")
    return os.path.realpath(f"/{path}") if kind_of(uri) == "file" else path


def open_storage(
    uri: str, scratch: str, options: Mapping[str, str] | None = None, *, single_operator: bool = False
) -> Storage:
    """The storage of a table's base path.

    Args:
        uri: a path, ``file:`` URI, or any URI that fsspec knows.
        scratch: a folder, relative to the base, for temporary files.
        options: fsspec's options for the store.
        single_operator: no other hudictl runs; needed where a store cannot create exclusively.

    Raises:
        UsageError: an empty or malformed URI, or one with a password.
        StorageFailed: the store cannot be opened.
    """
    if not uri:
        raise UsageError("the table's URI is empty", hint="specify it with --table or HUDICTL_TABLE")
    if not _SCHEME.match(uri):
        return LocalStorage(os.path.abspath(uri), scratch)
    if uri.startswith("file:"):
        # As in Hadoop: the rest is the literal path; # ? and % are normal characters.
        path = uri.removeprefix("file:")
        path = path.removeprefix("//localhost").removeprefix("//") if path.startswith("//") else path
        if not path.startswith("/"):
            raise UsageError(f"{uri}: a file: URI has three slashes, file:///path", uri=uri)
        return LocalStorage(os.path.abspath(path), scratch)
    if has_password(uri):
        # The absolute paths in Hudi's rollback plans would have it, too, and errors of drivers in many forms.
        raise UsageError(
            "the table's URI has a user and a password",
            hint="give them as the store's options, for S3 --storage-option key=... and secret=..., or in a profile",
        )
    return _store_of(uri).open(uri, scratch, options or {}, single_operator)


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
