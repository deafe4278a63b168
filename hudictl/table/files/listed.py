"""What a metadata table lists, partition by partition: it can list very many files.

Executors import this module: it imports nothing that reads a table.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from hudictl.engine.base import Gathered
from hudictl.errors import Conflict, HudictlError
from hudictl.formats.file_names import join_sizes, with_sizes
from hudictl.formats.metadata_records import ALL_PARTITIONS, Entries, Listed, combine, decode_listing, partition_path
from hudictl.storage import Storage, whole_path
from hudictl.table.files.decoded import names_in

if TYPE_CHECKING:
    from hudictl.formats.hfile import Part


class ListedNames(NamedTuple):
    """The files of one partition, in few objects: names joined by slashes, and their sizes in bytes, 64 bits each.

    ``empty`` is one that is listed with no bytes. ``records`` of a base file were read for it, and ``error`` is what
    ended that. What is not a listed partition has no names: it is here to be counted.
    """

    names: str = ""
    sizes: bytes = b""
    empty: str = ""
    records: int = 0
    error: HudictlError | None = None

    @property
    def files(self) -> Iterator[tuple[str, int]]:
        """Each name with its size."""
        return with_sizes(self.names, self.sizes)


@dataclass(frozen=True, slots=True)
class ListingTask:
    """A part of a base file of the listing. ``later`` and ``gone`` are the records and deletions in logs whose keys are
    in the part, or beside it. ``keys`` are those of listed partitions; ``time`` is the instant in the file's name."""

    storage: Storage
    path: str
    size: int
    schema: str
    time: str
    part: "Part"
    later: Mapping[str, Entries]
    gone: frozenset[str]
    keys: frozenset[str]


@dataclass(frozen=True, eq=False)
class ListedFiles:
    """All that a metadata table lists: ``ListedNames`` by partition path; ``filled`` are the partitions with files;
    ``empty`` are paths of files that it lists with no bytes."""

    files: Gathered[ListedNames]
    partitions: frozenset[str] = frozenset()
    filled: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()

    def names_in(self, partitions: Iterable[str]) -> dict[str, frozenset[str]]:
        """The names of the files that it lists in some partitions. Raises EngineFailed."""
        return names_in(self.files, self.partitions.intersection(partitions))


def listed_names(task: ListingTask | tuple[str, ListedNames]) -> Iterator[tuple[str, ListedNames]]:
    """What a part lists in each partition; or something that is decoded already. Raises ModuleNotFoundError: fastavro
    is missing here."""
    if not isinstance(task, ListingTask):
        yield task
        return
    try:
        base = _base(task)
    except HudictlError as error:
        yield ALL_PARTITIONS, ListedNames(error=error)
    else:
        yield from by_partition(base, task.later, task.gone, task.keys)


def by_partition(
    base: Mapping[str, Entries], later: Mapping[str, Entries], gone: Collection[str], keys: Collection[str]
) -> Iterator[tuple[str, ListedNames]]:
    """What records say of each listed partition; the others are counted only. Arguments as in ``merged``.

    Args:
        keys: those of listed partitions.
    """
    listed = dict(merged(base, later, gone))
    for key in dict.fromkeys((*base, *listed)):
        found = packed(listed.get(key, {})) if key in keys else ListedNames()
        yield partition_path(key), found._replace(records=int(key in base))


def _base(task: ListingTask) -> dict[str, dict[str, Listed]]:
    """The records of the part. Raises Unreadable, Unsupported, StorageFailed; Conflict: the file disappeared."""
    from hudictl.formats.log_blocks import HFILE_DATA, SCHEMA, Block
    from hudictl.formats.log_contents import HFILE_KEY, read_records

    block = Block(HFILE_DATA, 0, task.size, 0, task.size, {SCHEMA: task.schema})
    try:
        rows = [*read_records(block, partial(task.storage.read, task.path), only=task.part)]
    except FileNotFoundError as error:
        raise Conflict(
            f"{whole_path(task.storage, task.path)} disappeared while it was read",
            hint="a clean or another operator is active; run the command again",
            file=task.path,
        ) from error
    return {str(row.get(HFILE_KEY)): decode_listing(row, task.time) for row in rows}


def merged(
    base: Mapping[str, Entries], later: Mapping[str, Entries], gone: Collection[str]
) -> Iterator[tuple[str, Entries]]:
    """Each key's record, with those of logs: logs are merged first, and then with the base file, as Hudi's readers do.

    Args:
        later: the records in logs.
        gone: keys that logs have deleted: their records in the base file do not count.
    """
    for key in dict.fromkeys((*base, *later)):
        older = {} if key in gone else base.get(key, {})
        if key in later or key not in gone:
            yield key, combine(older, later.get(key, {}))


def packed(entries: Entries) -> ListedNames:
    """The files of a record, without the deleted ones."""
    sizes = {name: entry.size for name, entry in entries.items() if not entry.deleted}
    return ListedNames(*join_sizes(sizes), next((name for name, size in sizes.items() if not size), ""))


class BarePartition(NamedTuple):
    """A partition without the names of its files; see ``ListedNames``."""

    path: str
    filled: bool
    empty: str
    records: int
    error: HudictlError | None


def without_names(path: str, values: Sequence[ListedNames]) -> BarePartition:
    """What the driver needs to know of a partition."""
    error = next((value.error for value in values if value.error is not None), None)
    empty = next((value.empty for value in values if value.empty), "")
    filled, records = any(value.names for value in values), sum(value.records for value in values)
    return BarePartition(path, filled, empty, records, error)
