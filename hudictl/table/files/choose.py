"""Functions for ``Sweep.select`` and ``Sweep.over``. Executors import this module: it imports nothing that reads a
table."""

from collections.abc import Collection, Sequence
from typing import Any

from hudictl import workers
from hudictl.formats.file_names import PARTITION_METAFILE, DataFile, data_path, parse_data_file
from hudictl.storage import Storage
from hudictl.table.files.slices import StoredFile, stored_files
from hudictl.table.files.sweep import names_of
from hudictl.workers import Packed


def is_any(_: StoredFile) -> bool:
    """Any file: for a report that shows them all."""
    return True


def is_base(file: StoredFile) -> bool:
    """Whether it is a base file."""
    return file.data.is_base


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


def foreign(extension: str, path: str, listing: Packed | None, _: Sequence[Any]) -> list[StoredFile] | None:
    """The files in a partition that look like base files, and do not have the name of one: of no group, no instant."""
    files = listing.files if listing is not None else ()
    ours = (file for file in files if file[0].endswith(extension) and not file[0].startswith(PARTITION_METAFILE))
    odd = [StoredFile(path, DataFile(file[0], "", ""), *file[1:]) for file in ours if parse_data_file(file[0]) is None]
    return odd or None


def states(path: str, listing: Packed | None, given: Sequence[Any]) -> list[tuple[str, tuple[int, int]]] | None:
    """Size and time of the files in a partition that have one of the given names; each with its path."""
    if listing is None or not given[0]:
        return None
    return [(data_path(path, name), (size, time)) for name, size, time in listing.files if name in given[0]] or None


def bucket_twins(path: str, listing: Packed | None, _: Sequence[Any]) -> list[tuple[str, str]] | None:
    """The file groups of a partition (partition path and file id) with the number of the same bucket, as the bucket
    index writes it: eight digits before the rest of a UUID, which is another one in each group."""
    groups = {file.data.file_id for file in stored_files(path, listing) if file.data.file_id[:8].isdigit()}
    rests: dict[str, set[str]] = {}
    for file_id in groups:
        rests.setdefault(file_id[:8], set()).add(file_id[8:36])
    return [(path, file_id) for file_id in sorted(groups) if len(rests[file_id[:8]]) > 1] or None


def unlisted(path: str, listing: Packed | None, given: Sequence[Any]) -> list[StoredFile] | None:
    """The files of a partition that the metadata table does not list; ``given`` is what it lists, or None."""
    listed = names_of(given[0])
    return [file for file in stored_files(path, listing) if file.data.name not in listed] or None


def not_stored(path: str, listing: Packed | None, given: Sequence[Any]) -> list[tuple[str, str]] | None:
    """The files that the metadata table lists in a partition, and storage does not have, each with the partition path;
    ``given`` is what it lists, or None."""
    there = frozenset(listing.names.split("/")) if listing is not None else frozenset()
    return [(path, name) for value in given[0] or () for name, _ in value.files if name not in there] or None


def different(
    path: str, listing: Packed | None, given: Sequence[Any]
) -> tuple[list[tuple[str, str]], list[StoredFile]] | None:
    """The files that the metadata table lists in a partition, and storage does not have, each with the partition path;
    and those that it does not list with their size. ``given`` are the listed sizes by name, or None."""
    listed, files = given[0] or {}, stored_files(path, listing)
    there = {file.data.name for file in files}
    absent = [(path, name) for name in listed if name not in there]
    others = [file for file in files if listed.get(file.data.name) != file.size]
    return (absent, others) if absent or others else None


def listed_ones(path: str, _: Packed | None, given: Sequence[Any]) -> list[str] | None:
    """Of some names in a partition, the paths of those that the metadata table lists; ``given`` is what it lists, and
    the names; each may be None."""
    listed = names_of(given[0]) if given[1] else ()
    return [data_path(path, name) for name in given[1] or () if name in listed] or None


def scan_partition(
    storage: Storage,
    removed: Collection[str],
    instants: frozenset[str],
    path: str,
    listing: Packed | None,
    _: Sequence[Any],
) -> tuple[str, list[tuple[str, str]]] | None:
    """The blocks of some instants in the logs of a partition that do not carry the name of a removed instant: see
    ``workers.scan_logs``."""
    files = stored_files(path, listing)
    logs = [file for file in files if not (file.data.is_base or file.data.cdc or file.data.instant in removed)]
    sizes = tuple((file.data.name, file.size or 0) for file in logs)
    found = workers.scan_logs(workers.ScanTask(storage, path, sizes, instants)) if logs else []
    return (path, found) if found else None
