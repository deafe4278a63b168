"""Functions for ``Sweep.select`` and ``Sweep.over``. Executors import this module: it imports nothing that reads a
table."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from hudictl import workers
from hudictl.formats.file_names import PARTITION_METAFILE, DataFile, data_path, parse_data_file
from hudictl.storage import Storage
from hudictl.table.files.decoded import names_of
from hudictl.table.files.slices import Committed, StoredFile
from hudictl.table.files.sweep import Partition


def is_any(_: StoredFile) -> bool:
    """Any file: for a report that shows them all."""
    return True


def is_base(file: StoredFile) -> bool:
    """Whether it is a base file."""
    return file.data.is_base


def is_of_group(file_id: str, file: StoredFile) -> bool:
    """Whether it is of a file group."""
    return file.data.file_id == file_id


def is_log(file_id: str | None, file: StoredFile) -> bool:
    """Whether it is a log; of one file group, if this is given."""
    return not file.data.is_base and file_id in (None, file.data.file_id)


def is_empty(file: StoredFile) -> bool:
    """Whether a file has no content."""
    return not file.size


def is_base_of(times: Collection[str], file: StoredFile) -> bool:
    """Whether it is a base file of one of the instants."""
    return file.data.is_base and file.data.instant in times


def is_log_of(time: str, file: StoredFile) -> bool:
    """Whether it is a log with the instant in its name."""
    return file.data.instant == time and not file.data.is_base


def is_trace(times: Collection[str], logs: Collection[tuple[str, str]], file: StoredFile) -> bool:
    """Whether its name contains one of the instants, or it is one of the logs (partition path and name)."""
    return file.data.instant in times or (file.partition, file.data.name) in logs


def is_of_other_groups(groups: Collection[tuple[str, str]], file: StoredFile) -> bool:
    """Whether it is of none of some file groups (partition path and file id)."""
    return (file.partition, file.data.file_id) not in groups


def foreign(extension: str, place: Partition[object]) -> list[StoredFile] | None:
    """The files in a partition that look like base files, and do not have the name of one: of no group, no instant."""
    files = place.listing.files if place.listing is not None else ()
    ours = (file for file in files if file[0].endswith(extension) and not file[0].startswith(PARTITION_METAFILE))
    odd = (file for file in ours if parse_data_file(file[0]) is None)
    return [StoredFile(place.path, DataFile(file[0], "", ""), *file[1:]) for file in odd] or None


def states(place: Partition[Collection[str]]) -> list[tuple[str, tuple[int, int]]] | None:
    """Size and time of the files in a partition that have one of the given names; each with its path."""
    wanted = place.given
    if place.listing is None or not wanted:
        return None
    found = (file for file in place.listing.files if file[0] in wanted)
    return [(data_path(place.path, name), (size, time)) for name, size, time in found] or None


def unlisted(place: Partition[object]) -> list[StoredFile] | None:
    """The files of a partition that the metadata table does not list."""
    listed = names_of(place.listed)
    return [file for file in place.files if file.data.name not in listed] or None


def not_stored(place: Partition[object]) -> list[tuple[str, str]] | None:
    """The files that the metadata table lists in a partition, and storage does not have, each with the partition
    path."""
    there = place.names
    return [(place.path, name) for value in place.listed for name, _ in value.files if name not in there] or None


def different(place: Partition[Mapping[str, int]]) -> tuple[list[tuple[str, str]], list[StoredFile]] | None:
    """The files that the metadata table lists in a partition, and storage does not have, each with the partition path;
    and those that it does not list with their size. ``given`` are the listed sizes by name."""
    listed, files = place.given or {}, place.files
    there = {file.data.name for file in files}
    absent = [(place.path, name) for name in listed if name not in there]
    others = [file for file in files if listed.get(file.data.name) != file.size]
    return (absent, others) if absent or others else None


def listed_ones(place: Partition[Sequence[str]]) -> list[str] | None:
    """Of the given names in a partition, the paths of those that the metadata table lists."""
    listed = names_of(place.listed) if place.given else ()
    return [data_path(place.path, name) for name in place.given or () if name in listed] or None


class Counted(NamedTuple):
    """The data files of a partition in numbers. ``last`` is the newest completed write that names something in it, or
    that is in a file's name; "" if there is none."""

    path: str
    file_groups: int
    replaced: int
    base_files: int
    base_bytes: int
    logs: int
    log_bytes: int
    last: str
    stored: bool


def counted(committed: Committed, place: Partition[object]) -> Counted:
    """Counts the files of a partition."""
    files, groups = place.files, {file.data.file_id for file in place.files}
    replaced = groups.intersection(file_id for entry in place.written for file_id in entry.replaced)
    bases, logs = ([file.size or 0 for file in files if file.data.is_base is base] for base in (True, False))
    times = [file.data.instant for file in files if file.data.instant in committed]
    last = max([*times, *(entry.time for entry in place.written if entry.readable)], default="")
    numbers = (len(groups), len(replaced), len(bases), sum(bases), len(logs), sum(logs))
    return Counted(place.path, *numbers, last, stored=place.listing is not None)


Difference = tuple[str, dict[str, int | None]]
"""A partition, and by name what must be said of its files: the size in bytes; None for a missing file."""


def difference(
    committed: Committed, hidden: Collection[str], place: Partition[Sequence[StoredFile]]
) -> Difference | None:
    """What must be said of a partition in addition, so that the metadata table lists what storage has of completed
    instants. ``given`` are files of it that are not in the listing.

    Args:
        committed: the completed instants.
        hidden: paths of files that stay unlisted, for example those of a dead writer.
    """
    listed = {name: size for value in place.listed for name, size in value.files}
    stored = {file.data.name: file for file in (*place.files, *(place.given or ()))}
    # A name that is not in Hudi's format stands for a file of another program, stored elsewhere.
    changes: dict[str, int | None] = {
        name: None for name in listed if name not in stored and parse_data_file(name) is not None
    }
    for name, file in stored.items():
        size = listed.get(name)
        if size is not None and size == file.size:
            continue
        if size is not None or (file.size and file.data.instant in committed and file.path not in hidden):
            changes[name] = file.size
    return (place.path, changes) if changes else None


def scan_partition(
    storage: Storage, removed: Collection[str], instants: frozenset[str], place: Partition[object]
) -> tuple[str, list[tuple[str, str]]] | None:
    """The blocks of some instants in the logs of a partition that do not carry the name of a removed instant: see
    ``workers.scan_logs``."""
    logs = [f for f in place.files if not (f.data.is_base or f.data.cdc or f.data.instant in removed)]
    sizes = tuple((file.data.name, file.size or 0) for file in logs)
    found = workers.scan_logs(instants, workers.LogTask(storage, place.path, sizes)) if logs else []
    return (place.path, found) if found else None


def bytes_by_holders(place: Partition[Mapping[str, int]]) -> Counter[int] | None:
    """The bytes of the named files that are listed, by the number that stands for the holders of each."""
    if place.listing is None or not place.given:
        return None
    found: Counter[int] = Counter()
    for name, size, _ in place.listing.files:
        if name in place.given:
            found[place.given[name]] += size
    return found
