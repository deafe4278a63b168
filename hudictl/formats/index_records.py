"""Records of the metadata table's indexes (``HoodieMetadataRecord``), and where the key of a record is stored.

Checked on 0.15.0, 1.0.2 and 1.2.0.
"""

import re
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from hudictl.errors import Unreadable
from hudictl.formats.metadata_records import partition_path

RECORD_INDEX = "record_index"
_BLOOM_FILTERS = 4
_RECORD_INDEX = 5
_UUID, _TEXT = 0, 1
"""Encodings of a file id: as a UUID with a number behind it, or as text."""
_NO_NUMBER = -1
_BITS_64 = (1 << 64) - 1
_BITS_32 = (1 << 32) - 1
_SIGN_32 = 1 << 31
_MOST_MS = 10**14  # the year 5138

_GROUP = re.compile(r"record-index-(?:(.*)-)?(\d{4,})-\d+")
_ESCAPED = re.compile("%([0-9A-Fa-f]{2})")


class Location(NamedTuple):
    """A file group of the data: partition path ("" without partitions) and file id."""

    partition: str
    file_id: str

    def __str__(self) -> str:
        return f"{self.partition}/{self.file_id}" if self.partition else self.file_id


def decode_location(record: Mapping[str, Any]) -> Location:
    """Where a record of the record index says that its key is. Raises Unreadable: it is no record of this index."""
    try:
        if record["type"] != _RECORD_INDEX:
            raise Unreadable(f"a record of type {record['type']} in the record index")
        found = record["recordIndexMetadata"]
        encoding = found.get("fileIdEncoding", _UUID)
        if encoding == _TEXT:
            file_id = str(found["fileId"])
        elif encoding == _UUID:
            high, low = (int(found[name]) & _BITS_64 for name in ("fileIdHighBits", "fileIdLowBits"))
            number = int(found["fileIndex"])
            file_id = str(UUID(int=high << 64 | low)) + (f"-{number}" if number != _NO_NUMBER else "")
        else:
            raise Unreadable(f"a file id with encoding {encoding} in the record index")
        return Location(partition_path(str(found["partitionName"])), file_id)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Unreadable(f"no record of the record index: {error!r}") from error


def decode_entry(record: Mapping[str, Any]) -> tuple[Location, int, int | None]:
    """The same with the instant that put the key there, in epoch milliseconds, and the record's position in its file;
    None: the index has none. Raises Unreadable: it is no record of this index."""
    location, found = decode_location(record), record["recordIndexMetadata"]
    instant = found.get("instantTime")
    if not isinstance(instant, int) or not 0 <= instant < _MOST_MS:
        raise Unreadable(f"{instant!r} is not a time of an instant in the record index")
    return location, instant, found.get("position")


def decode_bloom_filter(record: Mapping[str, Any]) -> tuple[str, bytes] | None:
    """The type and the bytes of a bloom filter; None if it was deleted. Raises Unreadable: it is no record of this
    index."""
    try:
        if record["type"] != _BLOOM_FILTERS:
            raise Unreadable(f"a record of type {record['type']} in the bloom filters")
        found = record["BloomFilterMetadata"]
        return None if found["isDeleted"] else (str(found["type"]), bytes(found["bloomFilter"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Unreadable(f"no record of the bloom filters: {error!r}") from error


def group_number(key: str, groups: int) -> int:
    """The number of the file group, of so many, that has a key's record (HoodieTableMetadataUtil,
    mapRecordKeyToFileGroupIndex): Java's hash of the text, which counts UTF-16 units."""
    code = 0
    for (unit,) in struct.iter_unpack("<H", key.encode("utf-16-le", "surrogatepass")):
        code = (31 * code + unit) & _BITS_32
    return (code if code < _SIGN_32 else (1 << 32) - code) % groups


def partition_of_group(file_id: str) -> str | None:
    """The partition whose keys a file group of the record index has; None for all partitions.

    From 1.1 on, an index may have file groups for each partition, with its escaped path in their names.

    Raises Unreadable: it is not the name of a file group of the record index.
    """
    match = _GROUP.fullmatch(file_id)
    if match is None:
        raise Unreadable(f"{file_id} is not a file group of the record index")
    escaped: str | None = match[1]
    return None if escaped is None else _ESCAPED.sub(lambda found: chr(int(found[1], 16)), escaped)
