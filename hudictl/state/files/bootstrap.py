"""Tables that are bootstrapped with metadata only: rows of their first base files are in files outside of the table.

The bootstrap index says which: an HFile with a record for each partition. Without it readers see nulls, and no error
(Hudi 0.15.0 to 1.2.0). Of a source only this is looked at: whether it is there, and its size.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from hudictl import workers
from hudictl.engine.base import Engine
from hudictl.errors import Unreadable
from hudictl.formats import hfile
from hudictl.formats.bootstrap_index import SourceFile, decode_sources
from hudictl.formats.file_names import data_path, parse_data_file
from hudictl.formats.instants import COMMIT_ACTIONS, SKELETONS
from hudictl.formats.plans import CompactedSlice
from hudictl.state.facts import Facts
from hudictl.state.files.needed import Case
from hudictl.state.files.savepoint_files import needed_names
from hudictl.storage import Storage, inside, kind_of

INDEX_LOST = "bootstrap-index-lost"
SOURCE_LOST = "bootstrap-source-lost"
SOURCE_ELSEWHERE = "bootstrap-source-elsewhere"
_NAME = f"00000000-0000-0000-0000-000000000000-0_1-0-1_{SKELETONS}.hfile"
INDEX = f".hoodie/.aux/.bootstrap/.partitions/{_NAME}"
_BY_FILE = f".hoodie/.aux/.bootstrap/.fileids/{_NAME}"


@dataclass(frozen=True)
class Rowless:
    """A base file whose rows are lost, or on another store. ``finding`` is the name of the finding."""

    path: str
    finding: str
    problem: str


def is_bootstrapped(facts: Facts) -> bool:
    """Whether rows may be outside of the table."""
    told = facts.table.properties.get("hoodie.bootstrap.base.path")
    return bool(told or facts.timeline.find(SKELETONS, *COMMIT_ACTIONS))


def rowless_files(facts: Facts, engine: Engine, case: Case) -> list[Rowless]:
    """The required base files of a bootstrap without rows, or with rows on another store.

    Raises Unreadable: the index; StorageFailed, EngineFailed.
    """
    if not is_bootstrapped(facts):
        return []
    table = facts.table
    needed = needed_names(facts, case).items()
    skeletons = {path: names for path, all_names in needed if (names := _skeletons(all_names))}
    index = _read_index(table.storage, skeletons) if skeletons else {}
    named: dict[str, SourceFile] = {}
    found = []
    for partition, names in skeletons.items():
        for file_id, name in names.items():
            path, source = data_path(partition, name), index.get(partition, {}).get(file_id)
            if source is None:
                found.append(Rowless(path, INDEX_LOST, "the bootstrap index has no source for it: readers see nulls"))
            else:
                named[path] = source
    return [*found, *_without_source(table.storage, engine, named)]


def with_sources(facts: Facts, slices: Sequence[CompactedSlice]) -> tuple[CompactedSlice, ...]:
    """The slices of a plan, each with the file outside of the table that has its base file's rows: without it, a
    compaction would write nulls.

    Raises Unreadable: the index, or it has no source for one; StorageFailed.
    """
    skeletons = {entry: _skeletons([entry.base or ""]) for entry in slices}
    partitions = {entry.partition for entry, names in skeletons.items() if names}
    index = _read_index(facts.table.storage, partitions) if partitions else {}
    found = []
    for entry, names in skeletons.items():
        source = index.get(entry.partition, {}).get(entry.file_id)
        if names and source is None:
            path = data_path(entry.partition, entry.base or "")
            raise Unreadable(f"the bootstrap index has no source for {path}: readers see nulls", file=path)
        found.append(replace(entry, source=source[0]) if names and source else entry)
    return tuple(found)


def _skeletons(names: Collection[str]) -> dict[str, str]:
    """The names of the base files of a bootstrap with metadata only, by file id."""
    parsed = (parse_data_file(name) for name in names if SKELETONS in name)
    return {data.file_id: data.name for data in parsed if data and data.is_base and data.instant == SKELETONS}


def _read_index(storage: Storage, partitions: Collection[str]) -> dict[str, dict[str, SourceFile]]:
    """The sources by partition and file id; none if one of the index's two files is not there: readers use neither
    then. Raises Unreadable, StorageFailed."""
    found = storage.stat(INDEX)
    if found is None or storage.stat(_BY_FILE) is None:
        return {}
    keys = {f"part={path}".encode(errors="surrogatepass"): path for path in partitions}
    try:
        read = hfile.lookup(partial(storage.read, INDEX), found.size, keys).items()
    except Unreadable as error:
        raise Unreadable(f"{INDEX}: {error.message}", file=INDEX) from error
    return {keys[key]: decode_sources(body, INDEX) for key, body in read}


def _without_source(storage: Storage, engine: Engine, named: Mapping[str, SourceFile]) -> Iterator[Rowless]:
    """Those of some base files, each with its source, whose source is not as it was. Each folder is listed once."""
    folders: dict[str, list[str]] = defaultdict(list)
    for path, (uri, _) in named.items():
        folders[uri.rpartition("/")[0]].append(path)
    places = {folder: place for folder in folders if (place := _place_of(storage, folder)) is not None}
    tasks = [workers.ListTask(above, workers.Folder(below), False, frozenset()) for above, below in places.values()]
    listed = dict(zip(places, engine.map("list the bootstrap's source", workers.pack_one, tasks), strict=True))
    for folder, paths in folders.items():
        result = listed.get(folder)
        sizes = {name: size for name, size, _ in result.value[1].files} if result and result.value else {}
        for path in paths:
            uri, length = named[path]
            size = sizes.get(uri.rpartition("/")[2])
            if result is None:
                yield Rowless(path, SOURCE_ELSEWHERE, f"its source {uri} is on another store, and not looked at")
            elif size != length:
                problem = "is not there" if size is None else f"has {size:,} bytes, of {length:,} recorded"
                problem = f"cannot be looked at: {result.error}" if result.error else problem
                yield Rowless(path, SOURCE_LOST, f"its source {uri} {problem}: queries fail")


def _place_of(storage: Storage, uri: str) -> tuple[Storage, str] | None:
    """The nearest storage above the table in which a folder is, and its path there; None: there is none. Raises
    Unreadable: it is no such path."""
    place: Storage | None = storage
    kind, path = _parts(uri)
    while place is not None:
        its_kind, base = _parts(place.uri)
        if kind == its_kind and path.startswith(base):
            below = path.removeprefix(base).rstrip("/")
            return place, inside(below) if below else ""
        place = place.above()
    return None


def _parts(uri: str) -> tuple[str, str]:
    """The kind of store, and the path with the bucket or name node, with a slash at its end."""
    return kind_of(uri), f"{uri}/".partition(":")[2].lstrip("/")
