"""Records of the metadata table's ``files`` partition (``HoodieMetadataRecord`` of types 1 and 2)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hudictl.errors import Unreadable

ALL_PARTITIONS = "__all_partitions__"
"""The key of the record that lists all partitions; other keys are partitions."""

_UNPARTITIONED = "."
_LISTS = (1, 2)


class Listed(NamedTuple):
    """What a record says of one file (or partition): its size in bytes, or that it was deleted.

    ``by`` is the metadata table's instant that said so last.
    """

    size: int
    deleted: bool
    by: str


Entries = Mapping[str, Listed]
"""What one record says, by name."""


def decode_listing(record: Mapping[str, Any], by: str) -> dict[str, Listed]:
    """What a record lists. Raises Unreadable: it is no record of this partition."""
    try:
        if record["type"] not in _LISTS:
            raise Unreadable(f"a record of type {record['type']} in the metadata table's files partition")
        entries = record["filesystemMetadata"] or {}
        return {name: Listed(int(entry["size"]), bool(entry["isDeleted"]), by) for name, entry in entries.items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Unreadable(f"no record of the metadata table's files partition: {error!r}") from error


def encode_listing(key: str, files: Mapping[str, int | None]) -> dict[str, Any]:
    """The record of a key: the size in bytes of each file; None for a file that was deleted."""
    kind = _LISTS[0] if key == ALL_PARTITIONS else _LISTS[1]
    listed = {name: {"size": size or 0, "isDeleted": size is None} for name, size in files.items()}
    return {"key": "", "type": kind, "filesystemMetadata": listed}


def combine(older: Entries, newer: Entries) -> dict[str, Listed]:
    """Merges two records of one key, as ``HoodieMetadataPayload`` of 0.15.0, 1.0.2 and 1.2.0.

    A deletion removes the entry and is removed itself. Without an entry, the deletion is kept, because an older record
    may list the file. So the order of merging matters. Sizes only grow.
    """
    merged = dict(older)
    for name, entry in newer.items():
        old = merged.get(name)
        if old is None or (entry.deleted and old.deleted):
            merged[name] = entry
        elif entry.deleted:
            del merged[name]
        else:
            merged[name] = entry._replace(size=max(entry.size, old.size))
    return merged


def partition_key(path: str) -> str:
    """The key of a partition path, which is also its name in the list of all partitions."""
    return path or _UNPARTITIONED


def partition_path(key: str) -> str:
    """The partition path of a key or of a name in the list of all partitions."""
    return "" if key == _UNPARTITIONED else key
