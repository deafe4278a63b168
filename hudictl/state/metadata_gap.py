"""What readers would lose or gain, if they listed folders instead of using the metadata table."""

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
    """The differences.

    ``hidden`` maps a partition with needed files to the partition above it: listings do not look below a partition.
    ``unlisted`` are files that the metadata table does not list, but that a listing treats as committed: their rows
    would appear. ``unfinished`` are such files of pending writes, by instant.
    """

    hidden: Mapping[str, str]
    unlisted: tuple[StoredFile, ...]
    unfinished: Mapping[str, tuple[StoredFile, ...]]

    def without(self, paths: Collection[str]) -> "Gap":
        """The same without files that are deleted before the metadata table is dropped."""
        return replace(self, unlisted=tuple(file for file in self.unlisted if file.path not in paths))


def read_known(table: Table) -> Known:
    """What the metadata table lists. A damaged one is no error here: dropping it is the remedy.

    Raises:
        Conflict: one of its files disappeared meanwhile.
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
    """Compares the metadata table (``facts.known``) with a listing, as both will be without some instants.

    A partition without metafile is no gap: it is in ``needed.bare``, and its metafile can be created. But a created
    metafile hides the partitions below it.

    Args:
        needed: what readers that list folders will read, from ``needed_files``.
        removed: the instants to remove.
        savepointed: the files of the target's savepoint: they belong to the restored table.

    Raises:
        StorageFailed, EngineFailed: logs could not be read.
    """
    listing = facts.known.listing
    partitions = {file.partition for file in needed.files.values()}
    # Without a metadata table, readers already do not see the files below an existing partition.
    hiding = frozenset(needed.bare) if listing is None else facts.sweep.partitions.union(needed.bare)
    hidden = {path: above for path in sorted(partitions) if (above := hidden_by(path, hiding)) is not None}
    unlisted = [] if listing is None else list(_unlisted(listing, needed.files.values()))
    if unlisted:
        vouched = _vouched(facts, unlisted, removed, savepointed)
        paths = {(file.partition, file.data.name) for file in unlisted if file.path not in vouched}
        found = readable(facts.table, engine, committed_without(facts.timeline, removed), facts.sweep.files, paths)
        unlisted = [file for file in unlisted if (file.partition, file.data.name) in found]
    unfinished = {} if listing is None else read_though_pending(facts)
    # Removed ones are cleaned up one after the other.
    unfinished = {} if unfinished.keys() & set(removed) else unfinished
    return Gap(hidden, tuple(sorted(unlisted, key=lambda file: file.path)), unfinished)


def behind(
    facts: Facts, needed: Outcome, removed: Collection[str], savepointed: Mapping[str, tuple[str, ...]]
) -> list[str]:
    """The paths of required files that a commit or the savepoint names, and that the metadata table does not list."""
    unlisted = [file for file in _unlisted(facts.known.listing or {}, needed.files.values()) if file.size]
    return sorted(_vouched(facts, unlisted, removed, savepointed).intersection(file.path for file in unlisted))


def read_though_pending(facts: Facts) -> dict[str, tuple[StoredFile, ...]]:
    """The base files, by instant, of pending writes that are older than all completed ones. Readers that list folders
    treat them as archived, and so as committed. They skip the log blocks of a pending write."""
    writes = facts.timeline.writes()
    start = min((entry.time for entry in writes if entry.completed or entry.action == COMPACTION), default="")
    early = {entry.time for entry in writes if entry.time < start}
    found: dict[str, list[StoredFile]] = defaultdict(list)
    for file in facts.sweep.files:
        if file.data.is_base and file.data.instant in early:
            found[file.data.instant].append(file)
    return {time: tuple(files) for time, files in sorted(found.items())}


def _unlisted(listing: Mapping[str, Mapping[str, Listed]], files: Iterable[StoredFile]) -> Iterator[StoredFile]:
    """The files on storage that the metadata table does not list. Change logs are excluded: commits name them."""
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
    """The paths in completed commits or in the savepoint: if the metadata table does not list them, it is behind."""
    instants = {file.data.instant for file in files} - set(removed)
    commits = (facts.commits[entry.time] for entry in facts.timeline.completed_writes() if entry.time in instants)
    written = {stat.path for commit in commits for stats in commit.stats.values() for stat in stats if stat.path}
    return written.union(data_path(path, name) for path, names in savepointed.items() for name in names)


def readable(
    table: Table, engine: Engine, committed: Committed, files: Iterable[StoredFile], paths: Collection[FilePath]
) -> set[FilePath]:
    """The files from which a reader takes rows, or would take rows without a rollback block in them.

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
    """Below table version 8 a log is named by its slice: only its blocks show which instants wrote it."""
    return not (table.rules.logs_named_by_writer or file.data.is_base or file.data.cdc)
