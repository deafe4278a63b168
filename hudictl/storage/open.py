"""From a URI to its storage."""

import os
import re
from collections.abc import Iterable, Mapping

from hudictl.errors import UsageError
from hudictl.secrets import has_password
from hudictl.storage.base import Storage
from hudictl.storage.local import LocalStorage

HDFS = ("hdfs", "webhdfs", "swebhdfs")
"""The schemes of one kind of store: its paths are the same by each name of its name node."""
_NAME_NODE = re.compile(rf"^(({'|'.join(HDFS)}):)?(//[^/]*)?")
_KINDS = {
    **{"file": "file", **dict.fromkeys(HDFS, "hdfs"), **dict.fromkeys(("s3", "s3a", "s3n"), "s3")},
    **dict.fromkeys(("gs", "gcs"), "gs"),
}
_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:")


def is_hdfs(uri: str) -> bool:
    """Whether a URI is one of HDFS."""
    return uri.partition(":")[0] in HDFS


def without_name_node(uri: str) -> str:
    """The path of a URI of HDFS, also of one without scheme (``//node:8020/path``), or of a path alone."""
    return _NAME_NODE.sub("", uri)


def elsewhere(uri: str, base: str) -> bool:
    """Whether a URI, or a path of a default file system, is surely another folder than a table's base path: one store
    can have several schemes and names, and any store can be mounted as local files."""
    scheme = base.partition(":")[0]
    if uri.startswith("/") and _KINDS.get(scheme) in ("file", "hdfs"):
        uri = f"{scheme}:{uri}"
    kinds = [_KINDS.get(one.partition(":")[0]) for one in (uri, base)]
    if None in kinds or (kinds[0] != kinds[1] and "file" in kinds):
        return False
    return kinds[0] != kinds[1] or _place(uri) != _place(base)


def first_elsewhere(uris: Iterable[str], base: str) -> str:
    """The first of some URIs that is ``elsewhere``; "" if there is none."""
    return next((uri for uri in sorted(uris) if elsewhere(uri, base)), "")


def _place(uri: str) -> str:
    path = uri.partition(":")[2]
    if uri.startswith("file:"):
        return os.path.realpath("/" + path.lstrip("/"))
    return (without_name_node(uri) if is_hdfs(uri) else path).strip("/")


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
    # Imported here: their libraries cost more than a whole timeline on local files.
    if is_hdfs(uri):
        from hudictl.storage.hdfs import open_hdfs

        return open_hdfs(uri, scratch, options or {})
    from hudictl.storage.remote import open_remote

    return open_remote(uri, options or {}, single_operator)
