"""URIs of tables and of folders, without their stores: kinds of stores, and which two URIs are one place."""

import os
import re
from collections.abc import Iterable

from hudictl.errors import UsageError

HDFS, S3 = ("hdfs", "webhdfs", "swebhdfs"), ("s3", "s3a", "s3n")
GCS, AZURE = ("gs", "gcs"), ("abfs", "abfss", "az")
_KINDS = {scheme: schemes[0] for schemes in (("file",), HDFS, S3, GCS, AZURE) for scheme in schemes}
"""Of stores, by the schemes of each."""
_NAME_NODE = re.compile(rf"^(({'|'.join(HDFS)}):)?(//[^/]*)?")


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


def overlap(uri: str, other: str) -> bool:
    """Whether one of two folders may be the other one, or in it."""
    places = [f"{_place(one)}/" for one in (uri, other)]
    return kind_of(uri) == kind_of(other) and (places[0].startswith(places[1]) or places[1].startswith(places[0]))


def first_elsewhere(uris: Iterable[str], base: str) -> str:
    """The first of some URIs that is ``elsewhere``; "" if there is none."""
    return next((uri for uri in sorted(uris) if elsewhere(uri, base)), "")


def _place(uri: str) -> str:
    path = (without_name_node(uri) if is_hdfs(uri) else uri.partition(":")[2]).strip("/")
    return os.path.realpath(f"/{path}") if kind_of(uri) == "file" else path


def local_path(uri: str) -> str:
    """The complete path of a local folder, given by its path or a ``file:`` URI. Raises UsageError."""
    if uri.startswith("file:"):
        # As in Hadoop: the rest is the literal path; # ? and % are normal characters.
        path = uri.removeprefix("file:")
        path = path.removeprefix("//localhost").removeprefix("//") if path.startswith("//") else path
        if not path.startswith("/"):
            raise UsageError(f"{uri}: a file: URI has three slashes, file:///path", uri=uri)
        return os.path.abspath(path)
    try:
        return os.path.abspath(uri)
    except FileNotFoundError:
        raise UsageError(f"{uri}: the working folder is gone", hint="give the complete path", uri=uri) from None
