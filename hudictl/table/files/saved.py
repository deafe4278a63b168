"""What a savepoint names, partition by partition: it can name very many files.

Executors import this module: it imports nothing that reads a table.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from hudictl.engine.base import Engine, Gathered
from hudictl.engine.local import LocalEngine
from hudictl.errors import Conflict, HudictlError, Unsupported
from hudictl.formats.file_names import parse_data_file, parse_joined, split_names
from hudictl.formats.limits import INSTANT_BYTES
from hudictl.formats.savepoint_names import read_names
from hudictl.storage import Storage, read_whole
from hudictl.table.files.decoded import gathered, names_in
from hudictl.table.files.slices import Committed
from hudictl.table.rules import Rules

if TYPE_CHECKING:
    from hudictl.formats.instants import InstantFile
    from hudictl.table.table import Table

# A savepoint of up to so many bytes the driver decodes by itself: a job of Spark alone would take longer.
_ENOUGH_BYTES = 64 * 1024 * 1024
_LOG = ".log."


class SavedNames(NamedTuple):
    """The files that a savepoint names in one partition, joined by slashes; or what ended its decoding."""

    names: str
    error: HudictlError | None = None


def saved_names(storage: Storage, size: int, file: str) -> Iterator[tuple[str, SavedNames]]:
    """What a savepoint, a file of so many bytes, names in each partition. Raises ModuleNotFoundError: one of an unknown
    schema needs fastavro."""
    name = file.rpartition("/")[2]
    try:
        try:
            for path, names in read_names(partial(storage.read, file), size, name):
                yield path, SavedNames(names)
        except Unsupported:
            from hudictl.formats import savepoint

            for path, files in savepoint.decode(read_whole(storage, file, INSTANT_BYTES), name).files.items():
                yield path, SavedNames("/".join(files))
    except HudictlError as error:
        yield "", SavedNames("", error)
    except FileNotFoundError:
        hint = "a writer or another operator is active; run the command again"
        yield "", SavedNames("", Conflict(f"{name} disappeared from the timeline while it was read", hint=hint))


@dataclass(frozen=True, eq=False)
class SavedFiles:
    """All that a savepoint names: ``SavedNames`` by partition path. ``instants`` are those in the names; ``odd`` is a
    name that is not that of a data file."""

    files: Gathered[SavedNames]
    partitions: frozenset[str] = frozenset()
    instants: frozenset[str] = frozenset()
    odd: str | None = None

    def names_in(self, partitions: Iterable[str]) -> dict[str, frozenset[str]]:
        """The names of the files in some partitions. Raises EngineFailed."""
        return names_in(self.files, self.partitions.intersection(partitions))


NOTHING_SAVED = SavedFiles(LocalEngine().keep(list[tuple[str, SavedNames]]()))
"""Without a savepoint."""


def binding(entries: Sequence[SavedNames], rules: Rules, committed: Committed, gone: Collection[str]) -> frozenset[str]:
    """The names that count: no file of an instant that is gone, and from table version 8 on no log of a commit that
    does not count. Hudi's own savepoint may name such logs."""
    found: set[str] = set()
    for entry in entries:
        if not gone and _LOG not in entry.names:
            # By far the most frequent case; a savepoint can name very many files.
            found.update(split_names(entry.names))
            continue
        for name, time, is_base in _parsed(entry.names):
            if time is None or time in gone:
                continue
            if is_base or not rules.logs_named_by_writer or time in committed:
                found.add(name)
    return frozenset(found)


def _parsed(names: str) -> Iterator[tuple[str, str | None, bool]]:
    """Each name, with the instant in it (None if it is not that of a data file), and whether it is a base file's."""
    for match in parse_joined(names):
        if match[1] is not None:
            yield match[0], match[3], True
        else:
            data = parse_data_file(match[0])
            yield match[0], data.instant if data is not None else None, False


def gather_saved(table: "Table", file: "InstantFile", size: int, engine: Engine) -> SavedFiles:
    """Decodes a completed savepoint; a small one without the engine.

    Args:
        size: of its file, in bytes.

    Raises:
        Unreadable; Conflict: it disappeared meanwhile; StorageFailed, EngineFailed.
    """
    function, path = partial(saved_names, table.storage, size), f"{table.layout.timeline}/{file.name}"
    much = size > _ENOUGH_BYTES
    return _found(*gathered(engine, "read the savepoint", function, [path], _without_names, much=much))


def kept_saved(names: Mapping[str, Collection[str]]) -> SavedFiles:
    """The same for names that the driver has."""
    pairs = [(path, SavedNames("/".join(files))) for path, files in names.items()]
    return _found(*gathered(LocalEngine(), "read the savepoint", _as_it_is, pairs, _without_names, much=False))


def _as_it_is(pair: tuple[str, SavedNames]) -> Iterator[tuple[str, SavedNames]]:
    yield pair


def _found(files: Gathered[SavedNames], places: Sequence["_SavedPlace"]) -> SavedFiles:
    for place in places:
        if place.error is not None:
            raise place.error
    return SavedFiles(
        files,
        frozenset(place.path for place in places),
        frozenset().union(*(place.instants for place in places)),
        next((place.odd for place in sorted(places) if place.odd is not None), None),
    )


class _SavedPlace(NamedTuple):
    path: str
    instants: frozenset[str]
    odd: str | None
    error: HudictlError | None


def _without_names(path: str, entries: Sequence[SavedNames]) -> _SavedPlace:
    instants: set[str] = set()
    odd = None
    for name, time, _ in chain.from_iterable(_parsed(entry.names) for entry in entries):
        if time is None:
            odd = name
        else:
            instants.add(time)
    return _SavedPlace(path, frozenset(instants), odd, next((entry.error for entry in entries if entry.error), None))
