"""What readers would lose or gain, if they listed folders instead of using the metadata table."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from hudictl import workers
from hudictl.engine.base import Engine, values
from hudictl.formats.file_names import DataFile, data_path, parse_data_file
from hudictl.formats.instants import COMPACTION
from hudictl.state.facts import Facts
from hudictl.state.files.needed import Outcome, taken_by_clean
from hudictl.state.timeline.clean_plans import pending_cleans
from hudictl.table.files.choose import is_base_of, not_stored
from hudictl.table.files.saved import SavedFiles
from hudictl.table.files.slices import Committed, Group, StoredFile
from hudictl.table.files.sweep import hidden_by
from hudictl.table.files.view import committed_without
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline

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


def metadata_gap(
    facts: Facts, engine: Engine, needed: Outcome, removed: Collection[str], savepointed: SavedFiles
) -> Gap:
    """Compares the metadata table (``facts.known``) with a listing, as both will be without some instants.

    A partition without metafile is no gap: it is in ``needed.bare``, and its metafile can be created. But a created
    metafile hides the partitions below it.

    Args:
        needed: what readers that list folders will read, from ``needed_files``; compared with ``facts.known``.
        removed: the instants to remove.
        savepointed: the files of the target's savepoint: they belong to the restored table.

    Raises:
        StorageFailed, EngineFailed: logs could not be read.
    """
    listing = facts.known.listing
    # Without a metadata table, readers already do not see the files below an existing partition.
    hiding = frozenset(needed.bare) if listing is None else facts.sweep.partitions.union(needed.bare)
    hidden = {path: above for path in sorted(needed.needed) if (above := hidden_by(path, hiding)) is not None}
    unlisted = [*needed.unlisted]
    if unlisted:
        vouched = _vouched(facts, unlisted, removed, savepointed)
        paths = {(file.partition, file.data.name) for file in unlisted if file.path not in vouched}
        files = facts.sweep.of_groups(file.group for file in unlisted)
        found = readable(facts.table, engine, committed_without(facts.timeline, removed), files, paths)
        unlisted = [file for file in unlisted if (file.partition, file.data.name) in found]
    # Of a metadata table that cannot be read nobody knows what it hides.
    hides = listing is not None or facts.known.unread is not None
    unfinished = read_though_pending(facts) if hides else {}
    # Removed ones are cleaned up one after the other.
    unfinished = {} if unfinished.keys() & set(removed) else unfinished
    return Gap(hidden, tuple(sorted(unlisted, key=lambda file: file.path)), unfinished)


def behind(
    facts: Facts, needed: Outcome, removed: Collection[str], savepointed: SavedFiles, marked: Collection[str]
) -> list[str]:
    """The paths of required files that a commit or the savepoint names, and that the metadata table does not list.

    Args:
        marked: logs of a failed write, which are listed only from now on: a savepoint alone may name one.
    """
    unlisted = [file for file in needed.unlisted if file.size]
    found = _vouched(facts, unlisted, removed, savepointed, marked)
    return sorted(found.intersection(file.path for file in unlisted))


def lost_to_readers(facts: Facts, needed: Outcome) -> list[str]:
    """The paths of files that are missing on storage, and that commits require, or that the metadata table lists as the
    newest base file of their group. Queries that use it fail at them; those that list folders miss the rows.

    Raises Unreadable: the plan of a pending clean; StorageFailed, EngineFailed.
    """
    listing = facts.known.listing
    found = chain.from_iterable(
        facts.sweep.over("look for listed files", not_stored, listed=listing.files) if listing else ()
    )
    newest: dict[Group, DataFile] = {}
    for partition, name in missing_files(facts.table, facts.timeline, found):
        data = parse_data_file(name)
        if data is not None and data.is_base:
            newest[partition, data.file_id] = max(data, newest.get((partition, data.file_id), data), key=_instant)
    for file in facts.sweep.of_groups([*newest]):
        if file.data.is_base and file.group in newest and file.data.instant > newest[file.group].instant:
            del newest[file.group]
    return sorted({*needed.missing, *(data_path(group[0], data.name) for group, data in newest.items())})


def _instant(data: DataFile) -> str:
    return data.instant


def missing_files(table: Table, timeline: Timeline, absent: Iterable[FilePath]) -> Iterator[FilePath]:
    """Of listed files that do not exist, those that should, as they are not in the plan of a pending clean."""
    gone = _being_cleaned(table, timeline)
    # A name that is not in Hudi's format stands for a file of another program, stored elsewhere.
    return (path for path in absent if path not in gone and parse_data_file(path[1]) is not None)


def _being_cleaned(table: Table, timeline: Timeline) -> set[FilePath]:
    return {
        (partition, name)
        for clean in pending_cleans(timeline)
        for partition, names in taken_by_clean(table, timeline, clean).items()
        for name in names
    }


def read_though_pending(facts: Facts) -> dict[str, tuple[StoredFile, ...]]:
    """The base files, by instant, of pending writes that are older than all completed ones. Readers that list folders
    treat them as archived, and so as committed. They skip the log blocks of a pending write."""
    writes = facts.timeline.writes()
    start = min((entry.time for entry in writes if entry.completed or entry.action == COMPACTION), default="")
    early = {entry.time for entry in writes if entry.time < start}
    found: dict[str, list[StoredFile]] = defaultdict(list)
    for file in facts.sweep.select("look for files of pending writes", partial(is_base_of, early), early):
        found[file.data.instant].append(file)
    return {time: tuple(files) for time, files in sorted(found.items())}


def _vouched(
    facts: Facts,
    files: Collection[StoredFile],
    removed: Collection[str],
    savepointed: SavedFiles,
    marked: Collection[str] = (),
) -> set[str]:
    """The paths in completed commits, and in the savepoint but for the marked ones: if the metadata table does not list
    them, it is behind."""
    instants = {file.data.instant for file in files}
    # The writer of a log that is named by its slice is this slice's commit, or a later one.
    since = min((file.data.instant for file in files if named_by_slice(facts.table, file)), default="~")
    writes = (entry.time for entry in facts.timeline.without(removed).completed_writes())
    commits = (facts.commits[time] for time in writes if time in instants or time >= since)
    written = {stat.path for commit in commits for stats in commit.stats.values() for stat in stats if stat.path}
    saved = savepointed.names_in({file.partition for file in files})
    paths = {data_path(path, name) for path, names in saved.items() for name in names}
    return written | paths.difference(marked)


def readable(
    table: Table, engine: Engine, committed: Committed, files: Iterable[StoredFile], paths: Collection[FilePath]
) -> set[FilePath]:
    """The files from which a reader takes rows, or would take rows without a rollback block in them.

    Args:
        committed: the instants that count.
        files: all of the file groups of ``paths``.

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
