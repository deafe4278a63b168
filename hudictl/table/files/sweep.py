"""One listing of all partitions, whose files stay where they were listed.

Executors import this module: it imports nothing that reads a table.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, cast

from hudictl import workers
from hudictl.engine.base import Engine, Gathered, Value, values
from hudictl.engine.local import LocalEngine
from hudictl.formats.file_names import data_path, split_names
from hudictl.formats.savepoint_names import JoinedNames
from hudictl.storage import Storage
from hudictl.table.files.key_ranges import RangeTask, begin_range, key_ranges, list_range
from hudictl.table.files.slices import Group, StoredFile, stored_files
from hudictl.workers import Packed

if TYPE_CHECKING:
    from hudictl.table.files.listed import ListedNames
    from hudictl.table.files.saved import SavedNames
    from hudictl.table.files.written import Written
    from hudictl.table.table import Table

Given = TypeVar("Given", covariant=True)

# Up to so many files the driver lists and judges by itself: the jobs of Spark alone would take longer (3 s on 2 cores).
_ENOUGH_FILES = 200_000
_FOLDERS_AT_ONCE = 64
_FIRST_FOLDERS = 4
"""How many folders are listed at once until a file is seen: each may hold very many."""


@dataclass(frozen=True, slots=True)
class Partition(Generic[Given]):
    """A partition as a function of ``Sweep.over`` sees it: its listing, if it has one, and what records name in it:
    completed writes, the savepoint, the metadata table, as far as ``over`` got these. ``given`` is the driver's own."""

    path: str
    listing: Packed | None
    written: "Sequence[Written]" = ()
    saved: "Sequence[SavedNames]" = ()
    listed: "Sequence[ListedNames]" = ()
    given: Given | None = None

    @property
    def files(self) -> list[StoredFile]:
        """The data files in the listing, sorted by name."""
        return stored_files(self.path, self.listing)

    @property
    def names(self) -> frozenset[str]:
        """The names of all files in the listing."""
        return frozenset(split_names(self.listing.names)) if self.listing is not None else frozenset()


@dataclass(frozen=True, eq=False)
class Sweep:
    """What one listing of all partitions found. The files stay where they were listed: ``over`` and ``select`` look at
    them there, partition by partition.

    ``partitions`` are the folders with a metafile, including named ones below another partition (see ``hidden_by``).
    ``linked`` are folders behind a symbolic link, where nothing may be deleted. ``tables`` are other tables below the
    base path, of which nothing is listed. ``named`` are the partition paths from the argument; ``odd`` are those of
    them whose folders count only because they are named. ``within`` are the only partitions that were looked for, and
    that ``over`` and ``select`` look at; None for all.
    """

    engine: Engine
    listings: Gathered[Packed]
    partitions: frozenset[str]
    linked: frozenset[str]
    tables: frozenset[str]
    named: frozenset[str]
    odd: frozenset[str]
    within: frozenset[str] | None = None

    def over(
        self,
        label: str,
        function: Callable[[Partition[Given]], Value | None],
        *,
        written: "Gathered[Written] | None" = None,
        saved: "Gathered[SavedNames] | None" = None,
        listed: "Gathered[ListedNames] | None" = None,
        given: Iterable[tuple[str, Given]] | None = None,
    ) -> list[Value]:
        """Applies a function to each partition that is listed, or of which the others have something. The results are
        in no order.

        Raises StorageFailed, EngineFailed.
        """
        sources = [self.listings, written, saved, listed, None if given is None else self.engine.keep(given)]
        look = partial(_look, function, self.odd, self.within, [source is not None for source in sources])
        return values(self.engine.over(label, [source for source in sources if source is not None], look), label)

    def select(
        self, label: str, chosen: Callable[[StoredFile], bool], naming: Collection[str] | None = None
    ) -> list[StoredFile]:
        """The chosen files, sorted by path. Raises StorageFailed, EngineFailed.

        Args:
            naming: texts, one of which is in the name of each chosen file: the rest is not even parsed.
        """
        if naming is not None and not naming:
            return []
        names = None if naming is None else tuple(naming)
        return _by_path(self.over(label, partial(_select, chosen, names)))

    def of_groups(self, groups: Iterable[Group]) -> list[StoredFile]:
        """The files of some file groups, sorted by path. Raises StorageFailed, EngineFailed."""
        wanted: dict[str, set[str]] = {}
        for path, file_id in groups:
            wanted.setdefault(path, set()).add(file_id)
        if not wanted:
            return []
        return _by_path(self.over("look for file groups", _of_groups, given=wanted.items()))

    def absent(self, names: Mapping[str, Collection[str]]) -> list[str]:
        """Of some file names by partition, the paths of those that are not listed, sorted. Raises StorageFailed,
        EngineFailed."""
        joined = names.joined.items() if isinstance(names, JoinedNames) else _joined(names)
        wanted = ((path, entries) for path, entries in joined if entries)
        found = self.over("look for files", _absent, given=wanted) if names else []
        return sorted(path for paths in found for path in paths)

    def bytes_of(self, names: Mapping[str, Collection[str]]) -> int:
        """The size of the listed ones of some files, in bytes. Raises StorageFailed, EngineFailed."""
        wanted = {path: frozenset(entries) for path, entries in names.items() if entries}
        return sum(self.over("add up sizes", _bytes_of, given=wanted.items())) if wanted else 0


def _joined(names: Mapping[str, Collection[str]]) -> Iterator[tuple[str, str]]:
    return ((path, "/".join(entries)) for path, entries in names.items())


def _by_path(found: Iterable[list[StoredFile]]) -> list[StoredFile]:
    return sorted(chain.from_iterable(found), key=lambda file: (file.partition, file.data.name))


def _look(
    function: Callable[[Partition[Given]], Value | None],
    odd: Collection[str],
    within: Collection[str] | None,
    asked: Sequence[bool],
    path: str,
    found: Sequence[Sequence[object]],
) -> Value | None:
    """Looks at a partition. ``asked``: which of the sources of ``Sweep.over`` there are; ``found`` are their values."""
    if within is not None and path not in within:
        return None
    values = iter(found)
    listings, written, saved, listed, given = [next(values) if is_asked else () for is_asked in asked]
    listing = cast("Packed | None", next(iter(listings), None))
    if listing is not None and not _counts(listing) and path not in odd:
        listing = None
    if listing is None and not (written or saved or listed or given):
        return None
    return function(
        Partition(
            path,
            listing,
            cast("Sequence[Written]", written),
            cast("Sequence[SavedNames]", saved),
            cast("Sequence[ListedNames]", listed),
            cast("Given | None", next(iter(given), None)),
        )
    )


def _counts(listing: Packed) -> bool:
    return listing.is_partition and not listing.hidden and not listing.is_table


def _select(
    chosen: Callable[[StoredFile], bool], naming: Sequence[str] | None, place: Partition[object]
) -> list[StoredFile] | None:
    if place.listing is None or (naming is not None and not any(text in place.listing.names for text in naming)):
        return None
    return [file for file in place.files if chosen(file)] or None


def _of_groups(place: Partition[set[str]]) -> list[StoredFile] | None:
    wanted = place.given or ()
    return [file for file in place.files if file.data.file_id in wanted] if wanted else None


def _absent(place: Partition[str]) -> list[str] | None:
    if not place.given:
        return None
    return [data_path(place.path, name) for name in {*split_names(place.given)} - place.names]


def _bytes_of(place: Partition[frozenset[str]]) -> int | None:
    wanted = place.given
    return sum(size for name, size, _ in place.listing.files if name in wanted) if place.listing and wanted else None


class _Folder(NamedTuple):
    """A folder without its files."""

    path: str
    is_partition: bool
    is_table: bool
    linked: bool
    counts: bool


def _without_files(path: str, found: Sequence[Sequence[Packed]]) -> _Folder:
    (listing,) = found[0]
    return _Folder(path, listing.is_partition, listing.is_table, listing.linked, _counts(listing))


def sweep(
    table: "Table",
    engine: Engine,
    named: Collection[str],
    *,
    within: Collection[str] | None = None,
    sync: bool = False,
) -> Sweep:
    """Lists every folder once, level by level: on threads of the driver at first, the rest on the engine. A small table
    needs no engine.

    Args:
        named: partition paths that count even without a metafile, or below another partition, because commits, a
            savepoint or the metadata table name them. Other folders do not count, for example an operator's copies.
        within: the only partitions to list, with the folders above them; None for all.
        sync: makes earlier deletions durable before they are recorded.

    Raises:
        StorageFailed: a folder could not be listed.
    """
    wanted = None if within is None else _with_folders_above(within)
    listed, left = _begin(table.storage, wanted, sync=sync)
    # A table that is small for Spark is not for this host.
    where = engine if left or isinstance(engine, LocalEngine) else LocalEngine()
    listings = where.gather("list partitions", _packed, [*listed, *left])
    places = values(where.over("list partitions", [listings], _without_files), "list")

    seen = [place for place in places if place.counts or (place.path in named and not place.is_table)]
    return Sweep(
        where,
        listings,
        frozenset(place.path for place in seen if place.is_partition),
        frozenset(place.path for place in seen if place.linked),
        frozenset(place.path for place in places if place.is_table),
        frozenset(named),
        frozenset(place.path for place in seen if not place.counts),
        None if within is None else frozenset(within),
    )


def _begin(
    storage: Storage, wanted: frozenset[str] | None, *, sync: bool
) -> tuple[list[tuple[str, Packed]], Sequence[workers.ListTask | RangeTask]]:
    """Lists the first folders, all of a small table; and tells what is left to list."""
    threads = LocalEngine()
    listed: list[tuple[str, Packed]] = []
    waiting, files, between = deque([workers.Folder("")]), 0, 0
    at_once = _FIRST_FOLDERS
    ranges: list[RangeTask] = []
    while waiting and files < _ENOUGH_FILES and not ranges:
        some = [waiting.popleft() for _ in range(min(at_once, len(waiting)))]
        level = [workers.ListTask(storage, folder, sync, wanted) for folder in some]
        for found in values(threads.map("list partitions", workers.pack_one, level), "list"):
            if found is not None:
                path, packed, below, left_out = found
                listed.append((path, packed))
                files += packed.size
                waiting.extend(below)
                between += left_out
        if files:
            # No more than have enough files together.
            at_once = max(1, min(_FOLDERS_AT_ONCE, _ENOUGH_FILES * len(listed) // files))
            ranges = key_ranges(storage, waiting, between, _files_each(listed), wanted)
    if ranges:
        # What comes later may be larger than the first folders.
        begin = partial(begin_range, most=_ENOUGH_FILES // len(ranges))
        begun = values(threads.map("list partitions", begin, ranges), "list")
        listed += chain.from_iterable(found for found, _ in begun)
        waiting = deque(folder for _, left in begun for folder in left)
        ranges = key_ranges(storage, waiting, between, _files_each(listed), wanted)
    return listed, ranges or [*_tasks(storage, waiting, wanted, sync=sync)]


def _files_each(listed: Sequence[tuple[str, Packed]]) -> float:
    """How many files a folder with files has, about."""
    sizes = [packed.size for _, packed in listed if packed.size]
    return sum(sizes) / len(sizes)


def _packed(task: workers.ListTask | RangeTask | tuple[str, Packed]) -> Iterator[tuple[str, Packed]]:
    """Folders with those below them by their paths; or one that is listed already."""
    if isinstance(task, RangeTask):
        yield from ((listing.path, workers.pack(listing)) for listing in list_range(task))
    elif isinstance(task, workers.ListTask):
        yield from ((listing.path, workers.pack(listing)) for listing in workers.list_tree(task))
    else:
        yield task


def _with_folders_above(partitions: Iterable[str]) -> frozenset[str]:
    """Some partitions, with the folders that lead to them."""
    split = (path.split("/") for path in partitions)
    return frozenset("/".join(parts[:depth]) for parts in split for depth in range(len(parts) + 1))


def _tasks(
    storage: Storage, folders: Iterable[workers.Folder], wanted: frozenset[str] | None, *, sync: bool
) -> Iterator[workers.ListTask]:
    """Each task carries what it needs: most folders are partitions, with nothing wanted below them."""
    above = None if wanted is None else {path.rpartition("/")[0] for path in wanted if path}
    for folder in folders:
        more = wanted if above is None or folder.path in above else frozenset()
        yield workers.ListTask(storage, folder, sync, more)


def other_table(partition: str, found: Sweep) -> str | None:
    """The folder at or above a partition that is another table; None if there is none."""
    parts = partition.split("/")
    return next((path for depth in range(len(parts)) if (path := "/".join(parts[: depth + 1])) in found.tables), None)


def hidden_by(partition: str, partitions: Collection[str]) -> str | None:
    """The partition above a partition: readers that list folders do not look below it (Hudi 0.15.0 to 1.2.0)."""
    parts = partition.split("/") if partition else []
    above = ("/".join(parts[:depth]) for depth in range(len(parts)))
    return next((path for path in above if path in partitions), None)
