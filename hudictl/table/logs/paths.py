"""The logs that the operator names by paths, and the table of each."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from hudictl.errors import NotFound, StorageFailed, Unreadable, UsageError
from hudictl.formats.checksums import sidecar_of
from hudictl.formats.layouts import SCRATCH
from hudictl.storage import FileStatus, Storage, entries_of
from hudictl.storage.open import open_storage
from hudictl.table.logs.reader import LogFile, is_log
from hudictl.table.table import Table, table_at

_PATTERN = re.compile(r"[*?\[]")


def find_logs(
    paths: Iterable[str], options: Mapping[str, str] | None = None, zone: str | None = None
) -> tuple[list[LogFile], list[str]]:
    """The logs for some paths, each once, with notes on what could not be determined.

    A path is a file or URI, a folder (its logs), or a pattern of ``* ? [...]``, which also matches dot files, and finds
    only logs. A file that is named directly counts with any name, except the checksum file of a log: a shell's own
    pattern finds these as well.

    Args:
        options: fsspec's options for the store.
        zone: see ``table_at``.

    Raises:
        NotFound: a path does not exist, or a folder or pattern has no logs.
        UsageError, StorageFailed, Unsupported.
    """
    tables: dict[str, Table | None] = {}
    notes: list[str] = []
    found: dict[str, LogFile] = {}
    for path in paths:
        for folder, file in _named(path, options, notes):
            table = _table_above(folder, zone, tables, notes)
            storage = table.storage if table else folder
            below = folder.uri.removeprefix(storage.uri).strip("/")
            log = LogFile(storage, table, below, file.name, file.size)
            found[log.uri] = log
    return list(found.values()), notes


def folders_among(
    paths: Iterable[str], options: Mapping[str, str] | None, zone: str | None
) -> tuple[list[LogFile], list[str]]:
    """The folders among some paths, each as a file without name, and the other paths. Raises as ``find_logs``."""
    tables: dict[str, Table | None] = {}
    folders, others = [], []
    for path in paths:
        place = open_storage(path, SCRATCH, options) if path else None
        if place is None or not place.has_folder(""):
            others.append(path)
            continue
        table = _table_above(place, zone, tables, [])
        storage = table.storage if table else place
        folders.append(LogFile(storage, table, place.uri.removeprefix(storage.uri).strip("/"), "", 0))
    return folders, others


def _named(path: str, options: Mapping[str, str] | None, notes: list[str]) -> Iterator[tuple[Storage, FileStatus]]:
    """The files that a path names, each with its folder."""
    if not path:
        raise UsageError("an empty path is not the path of a log")
    place = open_storage(path, SCRATCH, options)
    folder = place.above()
    entry = folder.stat(place.uri.rpartition("/")[2]) if folder else None
    if entry is None or folder is None:
        is_folder = place.has_folder("")
        found = _logs_of(place) if is_folder else _expanded(path, options)
        if not found:
            what = f"there are no logs in the folder {path}" if is_folder else f"there is no file {path}"
            raise NotFound(what, hint="a path is a file, a folder with logs in it, or a quoted pattern", path=path)
        yield from found
        return
    sidecar = sidecar_of(entry.name)
    if sidecar is not None and is_log(entry._replace(name=sidecar)):
        notes.append(f"{path} is skipped: it is the checksum file of a log")
        return
    if not is_log(entry):
        notes.append(f"{path} does not have the name of a log: Hudi's readers ignore it")
    yield folder, entry


def _logs_of(folder: Storage) -> list[tuple[Storage, FileStatus]]:
    return [(folder, entry) for entry in folder.list("") if is_log(entry)]


def _expanded(path: str, options: Mapping[str, str] | None) -> list[tuple[Storage, FileStatus]]:
    """The logs that match a pattern, and those of folders that do."""
    magic = _PATTERN.search(path)
    if magic is None:
        return []
    head, slash, tail = path[: magic.start()].rpartition("/")
    parts = [part for part in (tail + path[magic.start() :]).split("/") if part]
    return list(_matching(open_storage(head + slash or ".", SCRATCH, options), parts))


def _matching(folder: Storage, parts: Sequence[str]) -> Iterator[tuple[Storage, FileStatus]]:
    for entry in entries_of(folder, ""):
        if not fnmatchcase(entry.name, parts[0]):
            continue
        if entry.is_dir and parts[1:]:
            yield from _matching(folder.below(entry.name), parts[1:])
        elif entry.is_dir:
            yield from _logs_of(folder.below(entry.name))
        elif is_log(entry) and not parts[1:]:
            yield folder, entry


def _table_above(folder: Storage, zone: str | None, tables: dict[str, Table | None], notes: list[str]) -> Table | None:
    """The table of the nearest folder above that is one; None, with a note, if none can be read."""
    place: Storage | None = folder
    walked = []
    while place is not None and place.uri not in tables:
        walked.append(place.uri)
        try:
            tables[place.uri] = table_at(place, zone)
            break
        except NotFound:
            place = place.above()
        except (Unreadable, StorageFailed) as error:
            notes.append(f"the table at {place.uri} cannot be read: {error.message}; the fates of blocks are not known")
            tables[place.uri] = None
    if place is None:
        notes.append(f"there is no table above {folder.uri}: the fates of blocks are not known")
    table = tables[place.uri] if place is not None else None
    tables |= dict.fromkeys(walked, table)
    return table
