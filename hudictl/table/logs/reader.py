"""Logs by their paths: the table and slice of each, and its bytes."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase

from hudictl.errors import Conflict, HudictlError, NotFound, StorageFailed, Unreadable, UsageError
from hudictl.formats.archived_timeline import is_archive_log
from hudictl.formats.checksums import sidecar_of
from hudictl.formats.file_names import DataFile, data_path, parse_data_file
from hudictl.formats.layouts import SCRATCH
from hudictl.formats.ranges import ReadAt
from hudictl.storage import FileStatus, Storage, entries_of, open_storage, whole_path
from hudictl.table.table import Table, table_at

_PATTERN = re.compile(r"[*?\[]")
_WHOLE_BYTES = 256 * 1024
"""A smaller file is read in one request, instead of one for each header."""
_KEPT_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class LogFile:
    """A log, or a file that was named as one. ``size`` is in bytes.

    ``storage`` is the table's, and ``folder`` is below it. If there is no table above the file, ``table`` is None, and
    ``storage`` is that of the folder itself.
    """

    storage: Storage
    table: Table | None
    folder: str
    name: str
    size: int

    @property
    def path(self) -> str:
        return data_path(self.folder, self.name)

    @property
    def uri(self) -> str:
        return whole_path(self.storage, self.path)

    @property
    def shown(self) -> str:
        """Its path below the table; the complete path without a table."""
        return self.path if self.table else self.uri

    @property
    def data(self) -> DataFile | None:
        """The parsed name; None if it is not the name of a data file."""
        return parse_data_file(self.name)

    @property
    def archive(self) -> bool:
        """Whether it is a log of the archived timeline."""
        return is_archive_log(self.name)

    @property
    def slice_key(self) -> tuple[str, str, str]:
        """The same key for all logs that are read together, and only for these.

        From table version 8 on these are all logs of the file group, although readers use one slice: names do not show
        the slice there, and blocks never affect blocks of another slice.
        """
        data = self.data
        if data is None or data.cdc:
            return self.folder, "", self.name
        whole_group = self.table is not None and self.table.rules.logs_named_by_writer
        return self.folder, data.file_id, "" if whole_group else data.instant

    def read_at(self, offset: int, length: int) -> bytes:
        """Its bytes from an offset on. Raises Conflict: the file disappeared; StorageFailed."""
        try:
            return self.storage.read(self.path, offset, length)
        except FileNotFoundError as error:
            raise Conflict(
                f"{self.uri} disappeared while it was read",
                hint="a clean or another operator is active; run the command again",
                file=self.path,
            ) from error


def find_logs(
    paths: Iterable[str], options: Mapping[str, str] | None = None, zone: str | None = None
) -> tuple[list[LogFile], list[str]]:
    """The logs for some paths, each once, with notes on what could not be determined.

    A path is a file or URI, a folder (its logs), or a pattern of ``* ? [...]``, which also matches dot files, and finds
    only logs. A file that is named directly counts with any name, except the checksum file of a log: a shell's own
    pattern finds these as well.

    Args:
        options: fsspec's options for the store.
        zone: see ``open_table``.

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


def logs_alone(logs: Iterable[LogFile]) -> None:
    """Raises UsageError: there is a base file among them."""
    base = next((log for log in logs if log.data is not None and log.data.is_base), None)
    if base is not None:
        hint = "`log records --merged` shows the records of its file slice"
        raise UsageError(f"{base.uri} is a base file, not a log", hint=hint)


def in_slices(logs: Iterable[LogFile]) -> Iterator[tuple[list[LogFile], frozenset[str]]]:
    """The slices of some logs: all logs of each in reading order, and the names of the given ones.

    Raises StorageFailed.
    """
    slices: dict[tuple[str, tuple[str, str, str]], list[LogFile]] = {}
    for log in logs:
        slices.setdefault((log.storage.uri, log.slice_key), []).append(log)
    listings: dict[tuple[str, str], list[LogFile]] = {}
    for (store, key), asked in slices.items():
        members = {log.name: log for log in asked}
        if key[1]:
            one = asked[0]
            if (store, one.folder) not in listings:
                listings = {(store, one.folder): logs_in(one.storage, one.table, one.folder)}
            # The given logs are kept even if a file disappeared meanwhile: reading it reports this.
            members = {log.name: log for log in listings[store, one.folder] if log.slice_key == key} | members
        yield sorted(members.values(), key=_reading_order), frozenset(log.name for log in asked)


def logs_in(storage: Storage, table: Table | None, folder: str) -> list[LogFile]:
    """The logs of a folder, by name; none if it does not exist. Raises StorageFailed."""
    entries = entries_of(storage, folder)
    return [LogFile(storage, table, folder, entry.name, entry.size) for entry in entries if _is_log(entry)]


def _reading_order(log: LogFile) -> tuple[str, int, str, bool]:
    return log.data.log_order if log.data else ("", 0, log.name, False)


def _is_log(entry: FileStatus) -> bool:
    data = parse_data_file(entry.name)
    return not entry.is_dir and (is_archive_log(entry.name) or (data is not None and not data.is_base))


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
    if sidecar is not None and _is_log(entry._replace(name=sidecar)):
        notes.append(f"{path} is skipped: it is the checksum file of a log")
        return
    if not _is_log(entry):
        notes.append(f"{path} does not have the name of a log: Hudi's readers ignore it")
    yield folder, entry


def _logs_of(folder: Storage) -> list[tuple[Storage, FileStatus]]:
    return [(folder, entry) for entry in folder.list("") if _is_log(entry)]


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
        elif _is_log(entry) and not parts[1:]:
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


@contextmanager
def naming_log(log: LogFile, *kinds: type[HudictlError]) -> Iterator[None]:
    """Adds the log's name to errors of some kinds: code that reads only bytes does not know it."""
    try:
        yield
    except kinds as error:
        raise type(error)(f"{log.uri}: {error.message}", hint=error.hint, file=log.path) from error


def keeping(logs: Sequence[LogFile]) -> dict[str, ReadAt]:
    """Readers of some logs, by name, that cache what they have read: 32 MiB in total."""
    room = [_KEPT_BYTES]
    return {log.name: _keeping(log, room) for log in logs}


def _keeping(log: LogFile, room: list[int]) -> ReadAt:
    kept: dict[tuple[int, int], bytes] = {}

    def keep(offset: int, length: int) -> bytes:
        body = log.read_at(offset, length)
        if len(body) <= room[0]:
            room[0] -= len(body)
            kept[offset, length] = body
        return body

    def read(offset: int, length: int) -> bytes:
        if log.size <= min(_WHOLE_BYTES, room[0]) and not kept:
            keep(0, log.size)
        whole = kept.get((0, log.size))
        if whole is not None:
            return whole[offset : offset + length]
        return kept[offset, length] if (offset, length) in kept else keep(offset, length)

    return read
