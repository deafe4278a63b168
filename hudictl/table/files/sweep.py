"""One listing of all partitions, whose files stay where they were listed.

Executors import this module: it imports nothing that reads a table.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from hudictl import workers
from hudictl.engine.base import Engine, Gathered, TaskResult, Value, picked
from hudictl.engine.local import LocalEngine
from hudictl.errors import EngineFailed, StorageFailed
from hudictl.formats.file_names import data_path, split_names
from hudictl.formats.savepoint_names import JoinedNames
from hudictl.phrases import first_few
from hudictl.storage import Storage
from hudictl.table.files.key_ranges import RangeTask, begin_range, key_ranges, list_range
from hudictl.table.files.slices import Group, StoredFile, stored_files
from hudictl.workers import Packed

if TYPE_CHECKING:
    from hudictl.table.table import Table

# Up to so many files the driver lists and judges by itself: the jobs of Spark alone would take longer (3 s on 2 cores).
_ENOUGH_FILES = 200_000
_FOLDERS_AT_ONCE = 64
_FIRST_FOLDERS = 4
"""How many folders are listed at once until a file is seen: each may hold very many."""


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
    listings: Gathered
    partitions: frozenset[str]
    linked: frozenset[str]
    tables: frozenset[str]
    named: frozenset[str]
    odd: frozenset[str]
    within: frozenset[str] | None = None

    def over(
        self,
        label: str,
        function: Callable[[str, Packed | None, Sequence[Any]], Value | None],
        *others: Iterable[tuple[str, Any]] | Gathered,
    ) -> list[Value]:
        """Applies a function to each partition that is listed, or that is a key of ``others``: its path, its listing,
        and its value in each of ``others``, or None. Of something gathered, all its values. The results are in no
        order.

        Raises StorageFailed, EngineFailed.
        """
        beside = [other if isinstance(other, Gathered) else self.engine.keep(other) for other in others]
        look = partial(_look, function, self.odd, self.within, [isinstance(other, Gathered) for other in others])
        return values(self.engine.over(label, [self.listings, *beside], look), label)

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
        return _by_path(self.over("look for file groups", _of_groups, wanted.items()))

    def absent(self, names: Mapping[str, Collection[str]]) -> list[str]:
        """Of some file names by partition, the paths of those that are not listed, sorted. Raises StorageFailed,
        EngineFailed."""
        joined = names.joined.items() if isinstance(names, JoinedNames) else _joined(names)
        wanted = ((path, entries) for path, entries in joined if entries)
        found = self.over("look for files", _absent, wanted) if names else []
        return sorted(path for paths in found for path in paths)

    def bytes_of(self, names: Mapping[str, Collection[str]]) -> int:
        """The size of the listed ones of some files, in bytes. Raises StorageFailed, EngineFailed."""
        wanted = {path: frozenset(entries) for path, entries in names.items() if entries}
        return sum(self.over("add up sizes", _bytes_of, wanted.items())) if wanted else 0


def _joined(names: Mapping[str, Collection[str]]) -> Iterator[tuple[str, str]]:
    return ((path, "/".join(entries)) for path, entries in names.items())


def _by_path(found: Iterable[list[StoredFile]]) -> list[StoredFile]:
    return sorted(chain.from_iterable(found), key=lambda file: (file.partition, file.data.name))


def _look(
    function: Callable[[str, Packed | None, Sequence[Any]], Value | None],
    odd: Collection[str],
    within: Collection[str] | None,
    many: Sequence[bool],
    path: str,
    found: Sequence[Sequence[Any]],
) -> Value | None:
    if within is not None and path not in within:
        return None
    listing = next(iter(found[0]), None)
    if listing is not None and not _counts(listing) and path not in odd:
        listing = None
    beside = zip(found[1:], many, strict=True)
    others = [(given or None) if several else next(iter(given), None) for given, several in beside]
    if listing is None and all(value is None for value in others):
        return None
    return function(path, listing, others)


def _counts(listing: Packed) -> bool:
    return listing.is_partition and not listing.hidden and not listing.is_table


def _select(
    chosen: Callable[[StoredFile], bool],
    naming: Sequence[str] | None,
    path: str,
    listing: Packed | None,
    _: Sequence[Any],
) -> list[StoredFile] | None:
    if listing is None or (naming is not None and not any(text in listing.names for text in naming)):
        return None
    return [file for file in stored_files(path, listing) if chosen(file)] or None


def _of_groups(path: str, listing: Packed | None, given: Sequence[Any]) -> list[StoredFile] | None:
    (wanted,) = given
    return [file for file in stored_files(path, listing) if file.data.file_id in wanted] if wanted else None


def _absent(path: str, listing: Packed | None, given: Sequence[Any]) -> list[str] | None:
    (wanted,) = given
    if not wanted:
        return None
    listed = {name for name, _, _ in listing.files} if listing is not None else set()
    return [data_path(path, name) for name in {*split_names(wanted)} - listed]


def _bytes_of(_: str, listing: Packed | None, given: Sequence[Any]) -> int | None:
    (wanted,) = given
    return sum(size for name, size, _ in listing.files if name in wanted) if listing and wanted else None


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
    where = engine if left else LocalEngine()
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


def gathered(
    engine: Engine,
    label: str,
    function: Callable[[Any], Iterable[tuple[str, Any]]],
    items: Sequence[Any],
    look: Callable[[str, Sequence[Sequence[Any]]], Value | None],
    *,
    much: bool,
) -> tuple[Gathered, list[Value]]:
    """Gathers values by partition, and what a first look at each partition says.

    Args:
        much: less than that this process decodes by itself: a job of Spark alone would take longer.

    Raises StorageFailed, EngineFailed.
    """
    where = engine if much else LocalEngine()
    try:
        kept = where.gather(label, function, items)
        return kept, values(where.over(label, [kept], look), label)
    except EngineFailed as error:
        # Executors need fsspec alone: where they have no fastavro, this process decodes.
        if not much or error.fields.get("module") != "fastavro":
            raise
        return gathered(engine, label, function, items, look, much=False)


class _Joined(Protocol):
    """A value with file names that are joined by slashes."""

    @property
    def names(self) -> str:
        """The names."""


def names_of(values: Sequence[_Joined] | None) -> frozenset[str]:
    """The names in the gathered values of a partition, if there are any."""
    return frozenset(name for value in values or () for name in split_names(value.names))


def names_in(files: Gathered, partitions: Collection[str]) -> dict[str, frozenset[str]]:
    """The names in the gathered values of some partitions. Raises EngineFailed."""
    return {path: names_of(found) for path, found in picked(files, partitions).items()}


def other_table(partition: str, found: Sweep) -> str | None:
    """The folder at or above a partition that is another table; None if there is none."""
    parts = partition.split("/")
    return next((path for depth in range(len(parts)) if (path := "/".join(parts[: depth + 1])) in found.tables), None)


def hidden_by(partition: str, partitions: Collection[str]) -> str | None:
    """The partition above a partition: readers that list folders do not look below it (Hudi 0.15.0 to 1.2.0)."""
    parts = partition.split("/") if partition else []
    above = ("/".join(parts[:depth]) for depth in range(len(parts)))
    return next((path for path in above if path in partitions), None)


def values(results: Sequence[TaskResult[Value]], verb: str) -> list[Value]:
    """The values of an engine's results. Raises StorageFailed: some tasks failed."""
    errors = [result.error for result in results if result.error is not None]
    if errors:
        raise StorageFailed(
            f"cannot {verb}: {first_few(errors, most=1, rest=' (and {} more)')}",
            hint="fix the cause, then run the same command again",
            failed=len(errors),
        )
    return [result.value for result in results if result.value is not None]
