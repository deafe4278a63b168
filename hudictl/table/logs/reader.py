"""A log: its table and slice, and its bytes."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from hudictl.errors import Conflict, HudictlError, UsageError
from hudictl.formats.archived_timeline import is_archive_log
from hudictl.formats.file_names import DataFile, data_path, parse_data_file
from hudictl.formats.ranges import ReadAt
from hudictl.storage import FileStatus, Storage, entries_of, whole_path
from hudictl.table.table import Table

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
        """Its bytes from an offset on. Raises Conflict: the file disappeared, or became shorter; StorageFailed."""
        hint = "a clean or another operator is active; run the command again"
        try:
            body = self.storage.read(self.path, offset, length)
        except FileNotFoundError as error:
            raise Conflict(f"{self.uri} disappeared while it was read", hint=hint, file=self.path) from error
        # Whoever reads blocks relies on the size.
        if len(body) < min(length, self.size - offset):
            raise Conflict(f"{self.uri} became shorter while it was read", hint=hint, file=self.path)
        return body


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
    return [LogFile(storage, table, folder, entry.name, entry.size) for entry in entries if is_log(entry)]


def _reading_order(log: LogFile) -> tuple[str, int, str, bool]:
    return log.data.log_order if log.data else ("", 0, log.name, False)


def is_log(entry: FileStatus) -> bool:
    data = parse_data_file(entry.name)
    return not entry.is_dir and (is_archive_log(entry.name) or (data is not None and not data.is_base))


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
