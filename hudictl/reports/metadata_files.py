"""``metadata files``: the partitions and files in the metadata table."""

from dataclasses import dataclass

from hudictl.errors import NotFound
from hudictl.formats.file_names import parse_data_file
from hudictl.table.files.view import partition_named
from hudictl.table.metadata.listing import Listing


@dataclass(frozen=True)
class ListedPartition:
    """A partition that the metadata table lists; "" is the path of a table without partitions."""

    partition: str
    files: int
    bytes: int


@dataclass(frozen=True)
class ListedFile:
    """A listed file. ``instant`` is the one in the file's name. ``listed_by`` is the metadata table's own instant that
    listed it last, or the one of its compaction."""

    partition: str
    name: str
    size_bytes: int
    instant: str | None
    listed_by: str


def listed_partitions(listing: Listing) -> list[ListedPartition]:
    """The partitions, by path."""
    return [
        ListedPartition(path, len(files), sum(entry.size for entry in files.values()))
        for path, files in sorted(listing.items())
    ]


def listed_files(listing: Listing, partition: str) -> list[ListedFile]:
    """The files of one partition, by name. Raises NotFound: it is not listed."""
    path = partition_named(partition)
    if path not in listing:
        raise NotFound(
            f"the metadata table lists no partition {partition!r}",
            hint="`hudictl metadata files` lists all; write . for a table without partitions",
            partition=partition,
        )
    return [
        ListedFile(path, name, entry.size, data.instant if (data := parse_data_file(name)) else None, entry.by)
        for name, entry in sorted(listing[path].items())
    ]
