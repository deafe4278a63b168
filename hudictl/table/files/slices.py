"""Data files, and the file slices that readers see among those of one file group.

Nothing here reads storage, so that it also runs where a partition is listed.
"""

from array import array
from bisect import bisect, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple, TypeVar

from hudictl.formats.file_names import DataFile, base_parts, data_path, joined_parts, parse_data_file, split_names
from hudictl.table.rules import Rules
from hudictl.workers import Packed

File = TypeVar("File")
Group = tuple[str, str]
"""A file group: partition path and file id."""


class StoredFile(NamedTuple):
    """A data file. ``size`` is in bytes; None for a file in metadata that does not exist on storage."""

    partition: str
    data: DataFile
    size: int | None
    modified_ms: int = 0

    @property
    def path(self) -> str:
        return data_path(self.partition, self.data.name)

    @property
    def group(self) -> Group:
        return self.partition, self.data.file_id


def names_by_partition(files: Iterable[StoredFile]) -> dict[str, list[str]]:
    """The names of some files by partition path, in their order."""
    names: dict[str, list[str]] = defaultdict(list)
    for file in files:
        names[file.partition].append(file.data.name)
    return names


@dataclass(frozen=True, slots=True)
class Slice:
    """A file slice: ``key`` is its base instant; ``pending`` marks the slice of a pending compaction."""

    key: str
    base: StoredFile | None
    logs: tuple[StoredFile, ...]
    pending: bool

    @property
    def files(self) -> tuple[StoredFile, ...]:
        return ((self.base,) if self.base else ()) + self.logs


@dataclass(frozen=True)
class Committed:
    """Which instants count for a view: completed ones with their completion time, and all before ``start``."""

    completion: Mapping[str, str]
    start: str

    def __contains__(self, time: str) -> bool:
        return time in self.completion or time < self.start


def stored_files(path: str, listing: Packed | None) -> list[StoredFile]:
    """The data files of a folder, sorted by name; none of a missing one."""
    return [
        StoredFile(path, data, size, modified)
        for name, size, modified in (listing.files if listing else ())
        if (data := parse_data_file(name)) is not None
    ]


def logs_of(path: str, listing: Packed | None) -> Iterator[StoredFile]:
    """The logs of a folder."""
    if listing is not None and ".log." in listing.names:
        for name, size, modified_ms in listing.files:
            if name.startswith(".") and (data := parse_data_file(name)) is not None:
                yield StoredFile(path, data, size, modified_ms)


BaseEntry = tuple[tuple[str, str, str, str], int, int]
"""A base file: its name, with the file id, the write token and the instant in it; its size in bytes, epoch
milliseconds."""


@dataclass(frozen=True, slots=True)
class BaseFiles:
    """Some files of a folder as columns, sorted by name, without an object for each: a folder can have very many. No
    file group is cut in two. What is no base file has "" in ``file_ids``, ``tokens`` and ``instants``."""

    names: Sequence[str]
    file_ids: Sequence[str]
    tokens: Sequence[str]
    instants: Sequence[str]
    sizes: Sequence[int]
    modified: Sequence[int]

    @property
    def times(self) -> set[str]:
        """The instants of the base files."""
        return set(self.instants) - {""}

    def entry(self, at: int) -> BaseEntry:
        name = (self.names[at], self.file_ids[at], self.tokens[at], self.instants[at])
        return name, self.sizes[at], self.modified[at]

    def groups(self, places: Iterable[int]) -> Iterator[tuple[str, list[BaseEntry]]]:
        """The base files at some places, in their order, by file id."""
        for file_id, found in groupby(places, self.file_ids.__getitem__):
            yield file_id, [self.entry(at) for at in found]


def base_files(listing: Packed | None) -> Iterator[BaseFiles]:
    """The files of a folder, in parts."""
    if listing is None:
        return
    numbers = array("q", listing.numbers)
    half, start = len(numbers) // 2, 0
    for joined in joined_parts(listing.names):
        names = split_names(joined)
        end = start + len(names)
        file_ids, tokens, instants = zip(*base_parts(joined), strict=True)
        sizes, modified = numbers[start:end], numbers[half + start : half + end]
        yield BaseFiles(names, file_ids, tokens, instants, sizes, modified)
        start = end


def base_groups(listing: Packed | None) -> Iterator[tuple[str, list[BaseEntry]]]:
    """The base files of a folder by file id."""
    for part in base_files(listing):
        yield from part.groups(at for at, file_id in enumerate(part.file_ids) if file_id)


def base_instant(entry: BaseEntry) -> str:
    """The instant in a base file's name."""
    return entry[0][3]


def stored(path: str, entry: BaseEntry) -> StoredFile:
    """A base file as an object."""
    (name, file_id, token, instant), size, modified_ms = entry
    return StoredFile(path, DataFile(name, file_id, instant, 0, token), size, modified_ms)


def newest(files: Iterable[File], instant: Callable[[File], str], counts: Callable[[str], bool]) -> File | None:
    """Of a file group's base files the one that readers use: the newest whose instant counts."""
    found, last = None, ""
    for file in files:
        time = instant(file)
        if time > last and counts(time):
            found, last = file, time
    return found


def has_other_size(name: str, found: int, told: int) -> bool:
    """Whether a data file has not the size, in bytes, that a commit has recorded; 0: none. A longer log is whole: a
    pending write or a rollback may have appended to it."""
    if not told or found == told:
        return False
    data = parse_data_file(name)
    return data is not None and (found < told or data.is_base or data.cdc)


def group_files(files: Iterable[StoredFile]) -> dict[Group, list[StoredFile]]:
    """Files by their file group."""
    groups: dict[Group, list[StoredFile]] = defaultdict(list)
    for file in files:
        groups[file.group].append(file)
    return dict(groups)


def file_slices(
    rules: Rules, files: Sequence[StoredFile], committed: Committed, pending_compaction: str | None
) -> list[Slice]:
    """The visible slices of one file group, newest first, by the rules of the table's version.

    Args:
        committed: the instants that count.
        pending_compaction: the instant of the group's pending compaction, which opens a slice of its own.
    """
    bases = {file.data.instant: file for file in files if file.data.is_base and file.data.instant in committed}
    logs = sorted((file for file in files if not file.data.is_base), key=lambda file: file.data.log_order)
    keys = set(bases) | ({pending_compaction} if pending_compaction else set())
    key_of = _key_by_completion if rules.has_completion_times else _key_by_name
    slice_key = key_of(keys, committed)
    members: dict[str, list[StoredFile]] = defaultdict(list)
    for file in logs:
        key = slice_key(file.data)
        if key is not None:
            members[key].append(file)
    slices = [Slice(key, bases.get(key), tuple(members[key]), key == pending_compaction) for key in keys | set(members)]
    return sorted((entry for entry in slices if entry.files), key=lambda entry: entry.key, reverse=True)


def read_together(slices: list[Slice]) -> list[Slice]:
    """The visible slices that a reader uses: the newest, and the one before if the newest is a pending compaction's."""
    return slices[:2] if slices and slices[0].pending else slices[:1]


def hiding(
    rules: Rules, files: Sequence[StoredFile], committed: Committed, pending_compaction: str | None
) -> list[StoredFile]:
    """The files of one file group that hide logs of committed writes, though their own writes are not committed.

    From table version 8 on, a log belongs to the newest slice that had begun when its writer completed: also to that of
    an uncommitted base file, or of an uncommitted log that comes first, in a group without base file. Readers leave
    such a slice out with all its logs (1.0.2, 1.2.0).
    """
    logs = [file for file in files if not file.data.is_base] if rules.has_completion_times else []
    kept = [file.data for file in logs if file.data.instant in committed]
    last = max((committed.completion.get(log.instant, log.instant) for log in kept if not log.cdc), default="")
    bases = [file for file in files if file.data.is_base]
    counting = (file.data.instant for file in bases if file.data.instant in committed)
    read = max((*counting, pending_compaction or ""))
    found = [file for file in bases if read < file.data.instant <= last]
    if last and not read and len(found) == len(bases):
        first = min(log.log_order for log in kept)
        found += [file for file in logs if file.data.log_order < first]
    return found


def undated(
    rules: Rules, files: Sequence[StoredFile], committed: Committed, pending_compaction: str | None
) -> Sequence[str]:
    """The archived instants whose completion times decide to which slices of one file group their logs belong: a slice
    that opened after a write's request may have opened before its completion."""
    if not rules.has_completion_times or all(file.data.is_base for file in files):
        return ()
    bases = (file.data.instant for file in files if file.data.is_base)
    last = max([*bases, pending_compaction or ""])
    logs = (file.data.instant for file in files if not file.data.is_base)
    return [time for time in logs if time < last and time < committed.start and time not in committed.completion]


def misnamed_logs(rules: Rules, slices: Sequence[Slice]) -> Sequence[StoredFile]:
    """The logs of the newest slice that a downgrade has left with names of table version 8, if readers use them.

    Below that version the instant in a log's name opens a slice, so that such a slice has no base file although an
    older one has. Hudi 1.2.0 still reads it with that base file; but it sorts logs by name, and its writers give new
    logs older names: rows that they delete come back. A downgrade compacts, so that readers use such logs only if its
    compaction is taken back.
    """
    if rules.logs_named_by_writer:
        return ()
    newest = next((entry for entry in slices if not entry.pending), None)
    misnamed = newest is not None and newest.base is None and any(entry.base for entry in slices)
    return newest.logs if newest is not None and misnamed else ()


def _key_by_name(keys: set[str], committed: Committed) -> Callable[[DataFile], str | None]:
    """Below table version 8 a log's name holds the base instant of its slice."""
    return lambda data: data.instant if data.instant in keys or data.instant in committed else None


def _key_by_completion(keys: set[str], committed: Committed) -> Callable[[DataFile], str | None]:
    """From table version 8 on a log belongs to the newest slice that existed when its writer completed."""
    # A file group of which many savepoints keep slices has very many of both.
    ordered = sorted(keys)

    def key(data: DataFile) -> str | None:
        if data.instant not in committed:
            return None
        older = bisect(ordered, committed.completion.get(data.instant, data.instant))
        if older:
            return ordered[older - 1]
        keys.add(data.instant)
        insort(ordered, data.instant)
        return data.instant

    return key
