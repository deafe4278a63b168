"""What readers would lose, and what they would gain, if they listed folders instead of asking the metadata table."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from hudictl import workers
from hudictl.engine.base import Engine
from hudictl.errors import Unreadable
from hudictl.formats.file_names import data_path
from hudictl.formats.instants import COMPACTION
from hudictl.formats.metadata_records import Listed
from hudictl.state.facts import Facts
from hudictl.state.needed import Outcome
from hudictl.table.file_view import Committed, StoredFile, committed_without, hidden_by, values
from hudictl.table.metadata_listing import listing_table, read_listing
from hudictl.table.metadata_table import NOT_ASKED, Known
from hudictl.table.table import Table

FilePath = tuple[str, str]
"""Partition and name of a file."""


@dataclass(frozen=True)
class Gap:
    """``hidden`` are partitions with needed files below another one, which is the value: no listing looks there.
    ``unlisted`` are files, by path, that the metadata table does not list, and that a listing takes for committed: rows
    of them would appear. ``unfinished`` are such files of pending writes, by instant."""

    hidden: Mapping[str, str]
    unlisted: tuple[StoredFile, ...]
    unfinished: Mapping[str, tuple[StoredFile, ...]]

    def without(self, paths: Collection[str]) -> "Gap":
        """The same without files that go before the metadata table does."""
        return replace(self, unlisted=tuple(file for file in self.unlisted if file.path not in paths))


def read_known(table: Table) -> Known:
    """What the metadata table lists. One that is damaged ends nothing: to give it up is the remedy.

    Raises:
        Conflict: a file of it has gone meanwhile.
        Unsupported, StorageFailed.
    """
    try:
        metadata = listing_table(table)
        return Known(read_listing(metadata, [])) if metadata is not None else NOT_ASKED
    except Unreadable as error:
        return Known(unread=error.message)


def metadata_gap(
    facts: Facts, engine: Engine, needed: Outcome, removed: Collection[str], savepointed: Mapping[str, tuple[str, ...]]
) -> Gap:
    """Compares what the metadata table lists (``facts.known``) with what a listing shows once some instants are gone.

    A partition without metafile is no gap: ``needed`` calls it bare, and its metafile can be made. But one that is made
    hides what is below it.

    Args:
        needed: what whoever lists folders reads then, as ``needed_files`` finds it.
        removed: the instants that go.
        savepointed: the files that the target's savepoint names: they belong to what is restored.

    Raises:
        StorageFailed, EngineFailed: logs could not be read.
    """
    listing = facts.known.listing
    partitions = {file.partition for file in needed.files.values()}
    # Where no metadata table is in use, readers do not see what lies below a partition that is there.
    hiding = frozenset(needed.bare) if listing is None else facts.sweep.partitions.union(needed.bare)
    hidden = {path: above for path in sorted(partitions) if (above := hidden_by(path, hiding)) is not None}
    unlisted = [] if listing is None else list(_unlisted(listing, needed.files.values()))
    if unlisted:
        vouched = _vouched(facts, unlisted, removed, savepointed)
        paths = {(file.partition, file.data.name) for file in unlisted if file.path not in vouched}
        found = readable(facts.table, engine, committed_without(facts.timeline, removed), facts.sweep.files, paths)
        unlisted = [file for file in unlisted if (file.partition, file.data.name) in found]
    unfinished = {} if listing is None else read_though_pending(facts)
    # Those that go are cleaned up one after the other.
    unfinished = {} if unfinished.keys() & set(removed) else unfinished
    return Gap(hidden, tuple(sorted(unlisted, key=lambda file: file.path)), unfinished)


def read_though_pending(facts: Facts) -> dict[str, tuple[StoredFile, ...]]:
    """The base files, by instant, of pending writes that are older than all completed ones: readers that list folders
    take them for archived, and so for committed. Blocks of a pending write in a log are passed over."""
    writes = facts.timeline.writes()
    start = min((entry.time for entry in writes if entry.completed or entry.action == COMPACTION), default="")
    early = {entry.time for entry in writes if entry.time < start}
    found: dict[str, list[StoredFile]] = defaultdict(list)
    for file in facts.sweep.files:
        if file.data.is_base and file.data.instant in early:
            found[file.data.instant].append(file)
    return {time: tuple(files) for time, files in sorted(found.items())}


def _unlisted(listing: Mapping[str, Mapping[str, Listed]], files: Iterable[StoredFile]) -> Iterator[StoredFile]:
    """Those that storage has, and the metadata table does not list. Readers of change data go by commits."""
    nothing: Mapping[str, Listed] = {}
    for file in files:
        if file.data.name not in listing.get(file.partition, nothing) and file.size is not None and not file.data.cdc:
            yield file


def _vouched(
    facts: Facts,
    files: Iterable[StoredFile],
    removed: Collection[str],
    savepointed: Mapping[str, tuple[str, ...]],
) -> set[str]:
    """The paths that a completed commit says it has written, or the savepoint names: a metadata table that does not
    list them is behind."""
    instants = {file.data.instant for file in files} - set(removed)
    commits = (facts.commits[entry.time] for entry in facts.timeline.completed_writes() if entry.time in instants)
    written = {stat.path for commit in commits for stats in commit.stats.values() for stat in stats if stat.path}
    return written.union(data_path(path, name) for path, names in savepointed.items() for name in names)


def readable(
    table: Table, engine: Engine, committed: Committed, files: Iterable[StoredFile], paths: Collection[FilePath]
) -> set[FilePath]:
    """Those of some files of which a reader takes something, or would do so but for a rollback block in them.

    Args:
        committed: the instants that count.
        files: all of the table.

    Raises:
        StorageFailed, EngineFailed.
    """
    if not paths:
        return set()
    found = set()
    slices: dict[tuple[str, str, str], list[tuple[str, int]]] = defaultdict(list)
    for file in files:
        path = (file.partition, file.data.name)
        if named_by_slice(table, file):
            slices[file.partition, file.data.file_id, file.data.instant].append((file.data.name, file.size or 0))
        # A writer that dies at once leaves an empty log.
        elif path in paths and file.data.instant in committed and (file.data.is_base or file.size):
            found.add(path)

    tasks = [
        workers.LogTask(table.storage, key[0], tuple(logs))
        for key, logs in sorted(slices.items())
        if any((key[0], name) in paths for name, _ in logs)
    ]
    results = values(engine.map("read logs", workers.log_subjects, tasks), "read logs")
    for task, subjects in zip(tasks, results, strict=True):
        found |= {(task.partition, name) for name, time in subjects if time in committed}.intersection(paths)
    return found


def named_by_slice(table: Table, file: StoredFile) -> bool:
    """Below table version 8 a log carries the name of its slice: its blocks tell whose it is."""
    return not (table.rules.logs_named_by_writer or file.data.is_base or file.data.cdc)
