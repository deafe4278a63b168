"""Every function that may run on an executor: idempotent, importing nothing but the standard library and formats."""

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from hudictl.errors import StorageFailed, Unsupported
from hudictl.formats import partition_metafile
from hudictl.formats.base_files import END_BYTES, problem_at_end
from hudictl.formats.checksums import sidecar_of
from hudictl.formats.file_names import (
    METAFILE_EXTENSIONS,
    PARTITION_METAFILE,
    WRITE_TOKEN,
    data_path,
    next_log_name,
    parse_data_file,
    split_names,
)
from hudictl.formats.layouts import META
from hudictl.formats.limits import PROPERTIES_BYTES
from hudictl.formats.log_blocks import Block, encode_rollback_block, read_blocks, read_offsets
from hudictl.formats.log_mentions import Mention, mention, merged
from hudictl.formats.ranges import ReadAt
from hudictl.storage import FileStatus, Storage, entries_of, read_whole

if TYPE_CHECKING:
    from hudictl.formats.log_checks import Defect

PIECE_BYTES = 8 * 1024 * 1024
"""The part of a large log that one task decodes: half a second of work, so that Ctrl-C does not wait longer."""
_WHOLE_BYTES = 4 * 1024 * 1024
"""A smaller log is read in one request, instead of one for each block."""

_LOOK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder to list. ``hidden``: it is below a partition, where Hudi's own listing does not look. ``linked``: its
    path has a symbolic link below the base path."""

    path: str
    hidden: bool = False
    linked: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """A folder below the base path: its files as (name, size in bytes, epoch milliseconds), and its folders.

    ``hidden`` and ``linked`` as in ``Folder``.
    """

    path: str
    files: tuple[tuple[str, int, int], ...]
    folders: tuple[str, ...]
    hidden: bool = False
    linked: bool = False

    @property
    def is_partition(self) -> bool:
        return any(name.startswith(PARTITION_METAFILE) for name, _, _ in self.files)

    @property
    def is_table(self) -> bool:
        """Whether it is another table: no file in it or below it belongs to this one."""
        return bool(self.path) and META in self.folders


class Packed(NamedTuple):
    """A ``Listing`` in few objects: a table can have very many files. ``numbers`` are all sizes, then all times."""

    names: str
    numbers: bytes
    is_partition: bool
    is_table: bool
    hidden: bool
    linked: bool

    @property
    def size(self) -> int:
        """How many files there are."""
        return len(self.numbers) // (2 * array("q").itemsize)

    @property
    def files(self) -> Iterator[tuple[str, int, int]]:
        """As in ``Listing``, sorted by name."""
        numbers = array("q", self.numbers)
        names = split_names(self.names)
        return zip(names, numbers, numbers[len(names) :], strict=False)


def pack(listing: Listing) -> Packed:
    """Packs a listing. No store has a name with a slash."""
    columns = list(zip(*sorted(listing.files), strict=True)) or [(), (), ()]
    numbers = array("q", (*columns[1], *columns[2])).tobytes()
    partition, table = listing.is_partition, listing.is_table
    return Packed("/".join(columns[0]), numbers, partition, table, listing.hidden, listing.linked)


@dataclass(frozen=True, slots=True)
class ListTask:
    """A folder to list with the folders below it: only those in ``within``, or all. ``sync`` makes earlier deletions
    durable before they are recorded."""

    storage: Storage
    folder: Folder
    sync: bool
    within: frozenset[str] | None = None


def beginnings(files: Sequence[tuple[Storage, str]]) -> list[bytes]:
    """The beginnings of files, as this host sees them. Raises StorageFailed, FileNotFoundError."""
    return [storage.read(path, 0, _LOOK_BYTES) for storage, path in files]


def list_tree(task: ListTask) -> list[Listing]:
    """Lists a folder and the folders below it, but not .hoodie, and nothing inside another table.

    Raises FileNotFoundError: the folder exists for the driver, but not for this executor.
    """
    top = list_folder(task.storage, task.folder, task.sync)
    if top is None:
        raise FileNotFoundError(f"{task.folder.path} does not exist")
    listings, waiting = [top], below(top, task.within)
    while waiting:
        listing = list_folder(task.storage, waiting.pop(), task.sync)
        if listing is not None:
            listings.append(listing)
            waiting += below(listing, task.within)
    return listings


def pack_one(task: ListTask) -> tuple[str, Packed, list[Folder], int] | None:
    """A folder's path, its listing, the folders below it, and how many more there are outside of ``within``; None if it
    no longer exists."""
    listing = list_folder(task.storage, task.folder, task.sync)
    if listing is None:
        return None
    found = below(listing, task.within)
    return listing.path, pack(listing), found, len(below(listing)) - len(found)


def list_folder(storage: Storage, place: Folder, sync: bool) -> Listing | None:
    """Lists one folder; None if it no longer exists."""
    linked = place.linked or storage.behind_link(place.path)
    try:
        # Behind a link nothing was deleted.
        if sync and not linked:
            storage.sync(place.path)
        entries = storage.list(place.path)
    except FileNotFoundError:
        return None
    return listing_of(place, entries, linked=linked)


def listing_of(place: Folder, entries: Sequence[FileStatus], *, linked: bool) -> Listing:
    """A folder out of its entries."""
    files = [
        (name, size, modified_ms)
        for name, is_dir, size, modified_ms in entries
        if not (is_dir or (name[0] == "." and sidecar_of(name) is not None))
    ]
    folders = tuple([entry.name for entry in entries if entry.is_dir]) if len(files) < len(entries) else ()
    return Listing(place.path, tuple(files), folders, place.hidden, linked)


def below(listing: Listing, within: Collection[str] | None = None) -> list[Folder]:
    """The folders that may hold data files below a listed one; only those in ``within``, if it is given."""
    if listing.is_table or (listing.hidden and listing.linked):
        # A link to a folder above would never end.
        return []
    hidden = listing.hidden or listing.is_partition
    paths = (data_path(listing.path, name) for name in listing.folders if name != META)
    return [Folder(path, hidden, listing.linked) for path in paths if within is None or path in within]


def lone_sidecars(task: ListTask) -> list[str]:
    """The checksum sidecars of a folder whose file no longer exists."""
    names = {entry.name for entry in task.storage.list(task.folder.path) if not entry.is_dir}
    return sorted(name for name in names if (of := sidecar_of(name)) is not None and of not in names)


def damaged_ends(storage: Storage, files: Sequence[tuple[str, int]]) -> list[tuple[str, str]]:
    """Those of some base files (path, size in bytes) whose end does not match their format, each with the problem."""
    found = []
    for path, size in files:
        length = min(size, END_BYTES)
        try:
            end = storage.read(path, size - length, length) if length else b""
        except FileNotFoundError:
            # A clean has just deleted it.
            continue
        problem = problem_at_end(path, size, end)
        if problem:
            found.append((path, problem))
    return found


def damaged_footers(storage: Storage, files: Sequence[tuple[str, int]]) -> list[tuple[str, str]]:
    """The same, with the footers of Parquet files decoded."""
    from hudictl.formats.parquet_footers import problem_in_footer

    found = dict(damaged_ends(storage, files))
    rest = [file for file in files if file[0].endswith(".parquet") and file[0] not in found]
    told = ((path, problem_in_footer(partial(storage.read, path), size)) for path, size in rest)
    return [*found.items(), *(entry for entry in told if entry[1])]


def damaged_metafiles(storage: Storage, partitions: Sequence[str]) -> list[tuple[str, str, str]]:
    """Those of some partitions whose metafile lacks values that readers use, each with the file's extension and the
    problem. Of one in the base file format only the end is looked at."""
    found = ((partition, *_problem_of_metafile(storage, partition)) for partition in partitions)
    return [entry for entry in found if entry[2]]


def _problem_of_metafile(storage: Storage, partition: str) -> tuple[str, str]:
    for extension in ("", *METAFILE_EXTENSIONS):
        path = data_path(partition, PARTITION_METAFILE) + extension
        try:
            body = read_whole(storage, path, PROPERTIES_BYTES)
        except FileNotFoundError:
            continue
        if extension:
            return extension, problem_at_end(path, len(body), body[-END_BYTES:])
        return extension, partition_metafile.problem(partition, body)
    return "", ""


def delete_files(storage: Storage, files: Sequence[tuple[str, Sequence[str]]]) -> list[tuple[str, str]]:
    """Deletes files, named by partition; returns the remaining ones, with the reason. Nothing is deleted behind a
    link."""
    paths: list[str] = []
    kept: list[tuple[str, str]] = []
    for partition, names in files:
        own = [data_path(partition, name) for name in names]
        if storage.behind_link(partition):
            kept += [(path, "its folder is behind a symbolic link") for path in own]
        else:
            paths += own
    outcomes = storage.delete(paths)
    return kept + [(outcome.path, outcome.error) for outcome in outcomes if outcome.error is not None]


@dataclass(frozen=True, slots=True)
class Compared:
    """Files of a partition, by path: those that are not there, and those that are other ones, or behind a link."""

    absent: tuple[str, ...]
    other: tuple[str, ...]


def compare_sizes(storage: Storage, task: tuple[str, Mapping[str, int]]) -> Compared:
    """Compares the files of a partition with names and sizes in bytes."""
    partition, sizes = task
    found = {entry.name: -1 if entry.is_dir else entry.size for entry in entries_of(storage, partition)}
    linked = storage.behind_link(partition)
    absent = (name for name in sizes if name not in found)
    other = (name for name, size in sizes.items() if linked or found.get(name, size) != size)
    return Compared(
        tuple(data_path(partition, name) for name in absent), tuple(data_path(partition, name) for name in other)
    )


@dataclass(frozen=True, slots=True)
class BlockTask:
    """Rollback blocks for one slice of a table below version 8: the slice's logs as (name, size), and the targets."""

    storage: Storage
    partition: str
    file_id: str
    base_instant: str
    logs: tuple[tuple[str, int], ...]
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BlockFile:
    """A log file that holds the rollback block of a target."""

    target: str
    name: str
    size: int


def write_rollback_blocks(task: BlockTask) -> list[BlockFile]:
    """Appends a rollback block for each target that has none after its last data block, in one new log file.

    A second run finds the blocks of the first and writes nothing.
    """
    storage = task.storage
    found = find_rollback_blocks(task)
    missing = [target for target in task.targets if target not in found]
    body = b"".join(encode_rollback_block(target, target) for target in missing)
    if missing:
        name = next_log_name((log for log, _ in task.logs), task.file_id, task.base_instant, WRITE_TOKEN)
        try:
            storage.create(data_path(task.partition, name), body)
        except FileExistsError:
            # Spark ran this task twice at once, or another log appeared after the listing: look at it.
            status = storage.stat(data_path(task.partition, name))
            logs = (*task.logs, (name, status.size if status else 0))
            return write_rollback_blocks(replace(task, logs=logs))
        found |= {target: BlockFile(target, name, len(body)) for target in missing}
    return [found[target] for target in task.targets]


def find_rollback_blocks(task: BlockTask) -> dict[str, BlockFile]:
    """The targets that have a rollback block after their last data block, with the log file that contains it."""
    storage = task.storage
    found: dict[str, BlockFile] = {}
    for (name, size), block in blocks_of(storage, task.partition, task.logs):
        target = block.rollback_target
        if target in task.targets and target is not None:
            found[target] = BlockFile(target, name, size)
        elif target is None and block.instant in found:
            # Data of the target after the block would be visible again.
            del found[str(block.instant)]
    return found


def lacking_blocks(task: BlockTask) -> list[str]:
    """The log of ``write_rollback_blocks``, where a target has no block after it has run: nothing is written."""
    name = next_log_name((log for log, _ in task.logs), task.file_id, task.base_instant, WRITE_TOKEN)
    path = data_path(task.partition, name)
    status = task.storage.stat(path)
    logs = (*task.logs, (name, status.size)) if status else task.logs
    return [] if find_rollback_blocks(replace(task, logs=logs)).keys() >= set(task.targets) else [path]


@dataclass(frozen=True, slots=True)
class LogTask:
    """Logs of one partition, as (name, size)."""

    storage: Storage
    partition: str
    logs: tuple[tuple[str, int], ...]


def scan_logs(instants: Collection[str], task: LogTask) -> list[tuple[str, str]]:
    """The (instant, log name) pairs with data or delete blocks of one of the instants in the log."""
    pairs = {
        (block.instant, name)
        for (name, _), block in blocks_of(task.storage, task.partition, task.logs, may_vanish=True)
        if block.instant in instants and block.rollback_target is None
    }
    return sorted((str(instant), name) for instant, name in pairs)


def logs_naming(instants: frozenset[str], task: LogTask) -> list[str]:
    """The paths of the logs with a block of the instants, or a rollback block for them."""
    return sorted(
        {
            data_path(task.partition, name)
            for (name, _), block in blocks_of(task.storage, task.partition, task.logs, may_vanish=True)
            if not instants.isdisjoint((block.instant, block.rollback_target))
        }
    )


def log_writers(task: LogTask) -> list[tuple[str, frozenset[str]]]:
    """Each log's path, with the instants that have data or delete blocks in it."""
    found: dict[str, set[str]] = {data_path(task.partition, name): set() for name, _ in task.logs}
    for (name, _), block in blocks_of(task.storage, task.partition, task.logs, may_vanish=True):
        if block.instant is not None and block.rollback_target is None:
            found[data_path(task.partition, name)].add(block.instant)
    return [(path, frozenset(instants)) for path, instants in found.items()]


def log_subjects(task: LogTask) -> list[tuple[str, str]]:
    """The (log name, instant) pairs of a slice: the log has blocks of the instant that no later rollback block rolls
    back, or it has a rollback block for the instant. The task has all logs of the slice."""
    found: set[tuple[str, str]] = set()
    for (name, _), block in blocks_of(task.storage, task.partition, task.logs, may_vanish=True):
        if block.rollback_target is not None:
            found = {pair for pair in found if pair[1] != block.rollback_target}
        subject = block.rollback_target or block.instant
        if subject is not None:
            found.add((name, subject))
    return sorted(found)


@dataclass(frozen=True, slots=True)
class PieceTask:
    """A log to check, or a part of a large one. ``size`` is the file's size in bytes. The part are the blocks that
    begin in [start, end); ``first`` is the index of the first one. ``archive``: a log of the archived timeline."""

    storage: Storage
    path: str
    size: int
    archive: bool
    start: int
    end: int
    first: int = 0


def cut_log(task: PieceTask) -> list[PieceTask]:
    """Cuts a log into pieces of complete blocks, each of at most 8 MiB, or of one block."""
    cuts = [(0, 0)]
    try:
        for index, (offset, end) in enumerate(read_offsets(_reader(task), task.size)):
            start = cuts[-1][0]
            if end - start > PIECE_BYTES and offset > start:
                cuts.append((offset, index))
    except (FileNotFoundError, Unsupported):
        # The task that checks it as one piece reports this.
        return [task]
    ends = [*(offset for offset, _ in cuts[1:]), task.size]
    return [replace(task, start=start, end=end, first=first) for (start, first), end in zip(cuts, ends, strict=True)]


@dataclass(frozen=True, slots=True)
class CheckedPiece:
    """The result for a piece of a log."""

    blocks: int
    records: int
    defects: "tuple[Defect, ...]"
    mentions: tuple[Mention, ...]


def check_log(task: PieceTask) -> CheckedPiece | None:
    """Checks and decodes every block of a piece; None if the log no longer exists.

    Raises ImportError: fastavro is missing here, or pyarrow for a Parquet block.
    """
    from hudictl.formats.log_checks import check_blocks

    blocks = records = 0
    defects: list[Defect] = []
    mentions: list[Mention] = []
    try:
        for found in check_blocks(
            _reader(task), task.size, archive=task.archive, start=task.start, end=task.end, first=task.first
        ):
            block = found.block
            blocks += block is not None
            records += found.records
            defects += found.defects
            mentions += [mention(found.index, block)] if block is not None else []
    except FileNotFoundError:
        return None
    return CheckedPiece(blocks, records, tuple(defects), merged(mentions))


def find_mentions(task: PieceTask) -> tuple[Mention, ...]:
    """The instants of a log's blocks, by their headers alone; none if the log no longer exists."""
    try:
        blocks = read_blocks(_reader(task), task.size, any_format=True)
        return merged(mention(index, block) for index, block in enumerate(blocks))
    except FileNotFoundError:
        return ()


def _reader(task: PieceTask) -> ReadAt:
    """Reads a log; a small one completely, in one request."""
    read = _entire(task.storage, task.path, task.size)
    if task.size > _WHOLE_BYTES:
        return read
    body = read(0, task.size)
    return lambda offset, length: body[offset : offset + length]


def _entire(storage: Storage, path: str, size: int) -> ReadAt:
    """Reads a file that has its listed size. Raises StorageFailed: it has become shorter."""

    def read(offset: int, length: int) -> bytes:
        body = storage.read(path, offset, length)
        if len(body) < min(length, size - offset):
            raise StorageFailed(f"{path} became shorter than the {size} bytes in its listing")
        return body

    return read


def blocks_of(
    storage: Storage, partition: str, logs: Sequence[tuple[str, int]], *, may_vanish: bool = False
) -> Iterator[tuple[tuple[str, int], Block]]:
    """All blocks of some logs, in the order in which readers read them."""

    def order(log: tuple[str, int]) -> tuple[str, int, str, bool]:
        parsed = parse_data_file(log[0])
        return parsed.log_order if parsed else ("", 0, log[0], False)

    for name, size in sorted(logs, key=order):
        read_at = _entire(storage, data_path(partition, name), size)
        try:
            # Blocks in a format that no current release writes are damage: they must not stop a restore in the middle.
            for block in read_blocks(read_at, size, any_format=True):
                yield (name, size), block
        except FileNotFoundError:
            # A clean has deleted it after the listing. Tasks that only read lose nothing.
            if not may_vanish:
                raise
