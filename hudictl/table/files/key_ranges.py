"""Many small folders of an object store, listed by the order of their keys: one request lists 1,000 files of whatever
folders, where one for each folder would list a few.

Executors import this module, as ``table/files/sweep.py``.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil

from hudictl.engine.work import AT_ONCE
from hudictl.formats.layouts import META
from hudictl.storage import FileStatus, KeyOrder, Storage
from hudictl.workers import Folder, Listing, Packed, below, listing_of, pack

_GAIN = 2
"""So many times fewer the requests must be, for folders to be listed by the order of keys."""


@dataclass(frozen=True, slots=True)
class RangeTask:
    """Folders in the order of their keys, to list with the folders below them: only those in ``within``, or all."""

    storage: KeyOrder
    folders: tuple[Folder, ...]
    within: frozenset[str] | None = None


def key_ranges(
    storage: Storage, folders: Collection[Folder], between: int, files_each: float, within: frozenset[str] | None
) -> list[RangeTask]:
    """Some folders, cut into ranges; [] where each is better listed by itself.

    Args:
        folders: all folders that are to be listed, but for those below them.
        between: how many folders beside them are not.
        files_each: how many files a folder has, about.
    """
    if not isinstance(storage, KeyOrder) or not storage.files_in_one_listing:
        return []
    requests = max(1, ceil((len(folders) + between) * max(files_each, 1) / storage.files_in_one_listing))
    if requests * _GAIN > len(folders):
        return []
    in_order = sorted(folders, key=_first_key)
    # No range goes through the table's own .hoodie, which may have very many files.
    parts = [[folder for folder in in_order if (_first_key(folder) < f"{META}/") is early] for early in (True, False)]
    length = ceil(len(in_order) / min(requests, AT_ONCE))
    return [
        RangeTask(storage, tuple(part[start : start + length]), within)
        for part in parts
        for start in range(0, len(part), length)
    ]


def list_range(task: RangeTask) -> Iterator[Listing]:
    """Lists the folders of a range and the folders below them, as ``list_tree`` does, but for those that are gone."""
    for _, listings in _trees(task):
        yield from listings


def begin_range(task: RangeTask, most: int) -> tuple[list[tuple[str, Packed]], tuple[Folder, ...]]:
    """The first folders of a range by their paths, with those below them, until they have so many files; and the
    folders of the range that are left."""
    found: list[tuple[str, Packed]] = []
    files = 0
    for number, listings in _trees(task):
        packed = [(listing.path, pack(listing)) for listing in listings]
        found += packed
        files += sum(one.size for _, one in packed)
        if files >= most:
            return found, task.folders[number + 1 :]
    return found, ()


def _trees(task: RangeTask) -> Iterator[tuple[int, list[Listing]]]:
    """The positions of the folders of a range that are there, each with its listing and those of the folders below."""
    keys = task.storage.files_between(task.folders[0].path, task.folders[-1].path)
    for number, files in _by_folder(task.folders, keys):
        top = task.folders[number]
        entries, waiting, found = _entries(top.path, files), [top], list[Listing]()
        while waiting:
            place = waiting.pop()
            listing = listing_of(place, sorted(entries[place.path].values()), linked=False)
            found.append(listing)
            waiting += below(listing, task.within)
        yield number, found


def _first_key(folder: Folder) -> str:
    return f"{folder.path}/"


def _by_folder(
    folders: Sequence[Folder], files: Iterable[tuple[str, FileStatus]]
) -> Iterator[tuple[int, list[tuple[str, FileStatus]]]]:
    """The positions of the folders that have files, with these. Both are in the order of keys; other files lie
    between."""
    firsts = [_first_key(folder) for folder in folders]

    def position(file: tuple[str, FileStatus]) -> int | None:
        number = bisect_right(firsts, file[0]) - 1
        return number if number >= 0 and file[0].startswith(firsts[number]) else None

    for number, found in groupby(files, key=position):
        if number is not None:
            yield number, list(found)


def _entries(top: str, files: Iterable[tuple[str, FileStatus]]) -> dict[str, dict[str, FileStatus]]:
    """The entries of a folder and of all below it, by folder and name. A key with a slash at its end is the folder's
    own; a folder without a name is passed over, as where single folders are listed."""
    entries: dict[str, dict[str, FileStatus]] = defaultdict(dict)
    for path, status in files:
        whole, nameless, _ = path.partition("//")
        folder, _, name = f"{whole}/".rpartition("/") if nameless else path.rpartition("/")
        if name:
            entries[folder][name] = status
        while folder != top:
            folder, _, name = folder.rpartition("/")
            entries[folder].setdefault(name, FileStatus(name, True, 0, 0))
    return entries
