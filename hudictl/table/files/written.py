"""What completed writes name, partition by partition: commits can name very many files.

Executors import this module: it imports nothing that reads a table.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, cast

from hudictl.engine.base import Engine, Gathered, look_at, values
from hudictl.errors import Unreadable
from hudictl.formats.file_names import data_path, join_sizes, split_names, with_sizes
from hudictl.formats.instants import State
from hudictl.formats.limits import INSTANT_BYTES
from hudictl.storage import Storage, read_whole
from hudictl.table.files.decoded import gathered

if TYPE_CHECKING:
    from hudictl.formats.commit_metadata import CommitMetadata
    from hudictl.table.table import Table
    from hudictl.table.timeline.active import Timeline

# Up to so many bytes of commit metadata the driver decodes by itself: a job of Spark alone would take longer.
_ENOUGH_BYTES = 64 * 1024 * 1024


class Written(NamedTuple):
    """What one completed write names in one partition, in few objects.

    ``names`` are its files, joined by slashes; ``sizes`` theirs in bytes, 64 bits each. ``change_logs`` are its logs of
    changes (CDC): name, size in bytes, and the file with which each was written. ``previous`` are the instants on
    whose files it is based. ``replaced`` are the ids of file groups that it replaces. ``wrote``: it has statistics of
    the partition. ``readable`` is False if the metadata cannot be read: then there is nothing else.
    """

    time: str
    names: str = ""
    sizes: bytes = b""
    change_logs: tuple[tuple[str, int, str], ...] = ()
    previous: frozenset[str] = frozenset()
    replaced: tuple[str, ...] = ()
    wrote: bool = False
    readable: bool = True

    @property
    def files(self) -> Iterator[tuple[str, int]]:
        """Each name with its size."""
        return with_sizes(self.names, self.sizes)


def recorded_sizes(writes: Iterable[Written]) -> dict[str, int]:
    """The largest size, in bytes, that writes have recorded of each file: logs grow."""
    sizes: dict[str, int] = {}
    for entry in writes:
        for name, size in entry.files:
            sizes[name] = max(size, sizes.get(name, 0))
    return sizes


def written_files(storage: Storage, write: tuple[str, str]) -> Iterator[tuple[str, Written]]:
    """What a completed write (its time, the path of its metadata) names in each partition. Raises ModuleNotFoundError:
    fastavro is missing here."""
    from hudictl.formats import commit_metadata

    time, path = write
    try:
        metadata = commit_metadata.decode(read_whole(storage, path, INSTANT_BYTES), path)
    except (Unreadable, FileNotFoundError):
        yield "", Written(time, readable=False)
    else:
        yield from by_partition(time, metadata)


def by_partition(time: str, metadata: "CommitMetadata") -> Iterator[tuple[str, Written]]:
    """What a write's metadata names in each partition."""
    files: dict[str, dict[str, int]] = defaultdict(dict)
    changes: dict[str, list[tuple[str, int, str]]] = defaultdict(list)
    previous: dict[str, set[str]] = defaultdict(set)
    for key, stats in metadata.stats.items():
        previous[key].update(stat.previous for stat in stats if stat.previous not in (None, "null"))
        for stat in stats:
            path, _, name = (stat.path or "").rpartition("/")
            if name:
                files[path][name] = max(stat.file_bytes, files[path].get(name, 0))
                changes[path] += ((log.rpartition("/")[2], size, name) for log, size in stat.change_logs)
    for path in dict.fromkeys((*metadata.stats, *files, *metadata.replaced)):
        yield (
            path,
            Written(
                time,
                *join_sizes(files[path]),
                tuple(changes[path]),
                frozenset(previous[path]),
                metadata.replaced.get(path, ()),
                wrote=path in metadata.stats,
            ),
        )


@dataclass(frozen=True, eq=False)
class WrittenFiles:
    """What the completed writes with these ``times`` name: a ``Written`` of each, by partition path.

    ``partitions`` are those in their statistics; ``replaced_in`` those in which they replace file groups.
    ``unreadable`` are the times of those whose metadata cannot be read; ``decoded`` the names of the files that were
    read without an error.
    """

    files: Gathered[Written]
    times: frozenset[str]
    partitions: frozenset[str]
    replaced_in: frozenset[str]
    unreadable: frozenset[str]
    decoded: frozenset[str]


def gather_written(table: "Table", timeline: "Timeline", engine: Engine, times: Collection[str]) -> WrittenFiles:
    """Decodes the metadata of some completed writes; little of it without the engine. Raises StorageFailed,
    EngineFailed."""
    files = {entry.time: entry.file(State.COMPLETED) for entry in timeline.completed_writes() if entry.time in times}
    writes = [
        (time, f"{table.layout.timeline}/{file.name}")
        for time, file in files.items()
        if file is not None and timeline.sizes[file.name]
    ]
    size = sum(timeline.sizes[file.name] for file in files.values() if file is not None)
    much = size > _ENOUGH_BYTES
    function = partial(written_files, table.storage)
    kept, places = gathered(engine, "read commits", function, writes, _without_names, much=much)
    unreadable: frozenset[str] = frozenset().union(*(place.unreadable for place in places))
    return WrittenFiles(
        kept,
        frozenset(files),
        frozenset(place.path for place in places if place.wrote),
        frozenset(place.path for place in places if place.replaces),
        unreadable,
        frozenset(path.rpartition("/")[2] for time, path in writes if time not in unreadable),
    )


def writers_of(files: Gathered[Written], names: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Of some files, by partition path and name, the paths of those that writes name, each with the newest such write.

    Args:
        files: see ``WrittenFiles``.

    Raises:
        StorageFailed, EngineFailed.
    """
    wanted = {path: frozenset(entries) for path, entries in names.items() if entries}
    if not wanted:
        return {}
    results = files.engine.over("look at commits", [files, files.engine.keep(wanted.items())], _writers)
    found = values(results, "look at commits")
    return dict(chain.from_iterable(found))


def _writers(path: str, found: Sequence[Sequence[object]]) -> list[tuple[str, str]] | None:
    newest: dict[str, str] = {}
    for wanted in cast("Sequence[frozenset[str]]", found[1]):
        for entry in sorted(cast("Sequence[Written]", found[0]), key=lambda entry: entry.time):
            newest.update(dict.fromkeys(wanted.intersection(split_names(entry.names)), entry.time))
    return [(data_path(path, name), time) for name, time in newest.items()] or None


def built_on(files: Gathered[Written], times: Collection[str]) -> frozenset[str]:
    """Those of some instants on whose files writes are based. Raises StorageFailed, EngineFailed."""
    return frozenset().union(*look_at(files, "look at commits", partial(_built_on, frozenset(times))))


def _built_on(times: frozenset[str], _: str, entries: Sequence[Written]) -> frozenset[str] | None:
    return times.intersection(chain.from_iterable(entry.previous for entry in entries)) or None


class _WrittenPlace(NamedTuple):
    """A partition in which writes name something."""

    path: str
    wrote: bool
    replaces: bool
    unreadable: frozenset[str]


def _without_names(path: str, entries: Sequence[Written]) -> _WrittenPlace:
    return _WrittenPlace(
        path,
        any(entry.wrote for entry in entries),
        any(entry.replaced for entry in entries),
        frozenset(entry.time for entry in entries if not entry.readable),
    )
