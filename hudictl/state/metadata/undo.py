"""What can be kept of the metadata table if instants of the data table are removed: its own instants go back with them.

The metadata table has a delta commit of the same time for each write of the data table. If that write is removed, its
delta commit must be undone, and each compaction that has merged it. Then the slices before it are the newest ones: a
partition can be kept if they are still whole. Names and commit metadata tell this, without a read of any index; below
version 8 also the headers of logs that no commit metadata names.

The rules are those by which readers of 0.15.0, 1.0.2 and 1.2.0 choose slices and blocks.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain
from typing import ClassVar

from hudictl.formats import instants as fmt
from hudictl.formats.file_names import DataFile
from hudictl.formats.instants import INITIAL, Instant, State
from hudictl.state.metadata.facts import Headers, MetadataFacts, read_headers
from hudictl.state.metadata.indexes import FIRST_LOG, archived_writes, begins_group, is_build, with_dependents
from hudictl.state.timeline.removed import instants_after, own_rule
from hudictl.table.files.slices import (
    Committed,
    Group,
    Slice,
    StoredFile,
    file_slices,
    group_files,
    hiding,
    misnamed_logs,
)
from hudictl.table.files.view import committed_without, with_archived
from hudictl.table.metadata.definitions import is_defined
from hudictl.table.metadata.listing import FILES
from hudictl.table.timeline.active import pending_rollbacks
from hudictl.table.timeline.archive import archived_completions

MOST_TARGETS = 50
"""How many commits back is looked. By Hudi's defaults the slices of an index reach back over 10 to 20."""
OF_FILES = ("column_stats", "bloom_filters")
"""Partitions whose entries belong to one file each: entries of files that are no longer listed do no harm."""
_OF_INDEXER, _FIRST_BUILD = "004", "010"
"""Below version 8, the suffixes of delta commits that build a partition later: the indexer's, and those of writers."""


class Mode(Enum):
    """What becomes of the metadata table."""

    NONE = "none"
    """There is none."""
    KEEP = "kept"
    """Nothing of it changes, except partitions that are deleted."""
    UNDO = "rolled back"
    """It is rolled back with the data table."""
    FORWARD = "brought forward"
    """Its listing cannot be rolled back, but one more delta commit makes it right."""
    DELETE = "deleted"
    """Nothing of it can be kept."""


KEPT = (Mode.UNDO.value, Mode.FORWARD.value)
"""What is said of a metadata table of which some is kept."""


@dataclass(frozen=True)
class PartitionFate:
    """A partition: kept, or deleted for a ``reason``; then ``files`` are all of its files, else those to undo.
    ``in_use``: readers use it; not a folder that a dead build has left."""

    shown: ClassVar = ("partition", "fate", "reason", "files_to_delete", "bytes_to_delete")

    partition: str
    reason: str | None
    files: tuple[StoredFile, ...] = ()
    in_use: bool = True

    @property
    def fate(self) -> str:
        return "kept" if self.reason is None else "deleted"

    @property
    def defined(self) -> bool:
        """Whether a user has created it (CREATE INDEX), so that no write builds it again by itself."""
        return is_defined(self.partition)

    @property
    def files_to_delete(self) -> int:
        return len(self.files)

    @property
    def bytes_to_delete(self) -> int:
        return sum(file.size or 0 for file in self.files)


@dataclass(frozen=True)
class MetadataPlan:
    """What becomes of the metadata table; the names in ``shown`` are those in JSON.

    - ``reason``: why the mode is not UNDO.
    - ``undone``: instants of the metadata table, newest first.
    - ``hidden``: paths of data files that it does not list, and shall not list afterwards.
    - ``timeline``: the files of the metadata table's timeline at planning.
    - ``in_place``: it is never out of use, and other writers go on: its delta commit is rolled back as Hudi does it.
    """

    shown: ClassVar = ("fate", "reason", "instants_undone", "files_to_delete", "bytes_to_delete", "partitions")

    mode: Mode
    reason: str | None
    undone: tuple[Instant, ...]
    partitions: tuple[PartitionFate, ...]
    hidden: frozenset[str] = frozenset()
    timeline: frozenset[str] = frozenset()
    in_place: bool = False

    @property
    def keeps(self) -> bool:
        """Whether any of it is kept, although it must change."""
        return self.mode in (Mode.UNDO, Mode.FORWARD)

    @property
    def takes_it(self) -> bool:
        """Whether it is out of use for a while, or for good: then no writer may use it."""
        return self.mode is Mode.DELETE or (self.keeps and not self.in_place)

    @property
    def kept(self) -> frozenset[str]:
        return frozenset(entry.partition for entry in self.partitions if entry.reason is None)

    @property
    def indexes_kept(self) -> tuple[str, ...]:
        return tuple(entry.partition for entry in self.partitions if not entry.reason and entry.partition != FILES)

    @property
    def lost(self) -> tuple[str, ...]:
        """The partitions that are deleted, without the listing of files."""
        return tuple(
            entry.partition for entry in self.partitions if entry.reason is not None and entry.partition != FILES
        )

    @property
    def lost_in_use(self) -> tuple[str, ...]:
        """Those of ``lost`` that readers use."""
        in_use = {entry.partition for entry in self.partitions if entry.in_use}
        return tuple(name for name in self.lost if name in in_use)

    @property
    def fate(self) -> str:
        return self.mode.value

    @property
    def instants_undone(self) -> tuple[str, ...]:
        return tuple(entry.time for entry in self.undone)

    @property
    def files_to_delete(self) -> int:
        return sum(entry.files_to_delete for entry in self.partitions)

    @property
    def bytes_to_delete(self) -> int:
        return sum(entry.bytes_to_delete for entry in self.partitions)


def given_up(plan: MetadataPlan, reason: str) -> MetadataPlan:
    """The same, but for a reason nothing is kept of it."""
    fates = tuple(replace(entry, reason=reason, files=()) for entry in plan.partitions)
    return MetadataPlan(Mode.DELETE, reason, (), fates)


def plan_metadata(facts: MetadataFacts | None, removed: Collection[str]) -> MetadataPlan:
    """What becomes of the metadata table if instants of the data table are removed.

    Args:
        facts: see ``read_metadata_facts``.
        removed: requested times.

    Raises:
        Conflict: a log disappeared meanwhile.
        Unreadable: a log, or the metadata table's archive.
        StorageFailed.
    """
    if facts is None:
        return MetadataPlan(Mode.NONE, None, (), ())
    undone = tuple(sorted(_undone(facts, removed), key=lambda entry: entry.time, reverse=True))
    times = frozenset(entry.time for entry in undone)
    reason = _why_delete(facts, times, min(removed, default="~"))
    if reason is not None:
        return MetadataPlan(Mode.DELETE, reason, (), tuple(_deleted(facts, name, reason) for name in _names(facts)))

    view = _View(facts, times, frozenset(removed))
    reasons = {name: next(view.problems(name), None) for name in _names(facts)}
    if reasons.get(FILES) is not None:
        return _forward(facts, str(reasons[FILES]))
    lost = {name for name, why in reasons.items() if why is not None}
    for name, other in with_dependents(lost, reasons).items():
        reasons[name] = reasons[name] or f"it depends on {other}, which is deleted"
    fates = (
        PartitionFate(name, None, tuple(view.to_undo(name))) if why is None else _deleted(facts, name, why)
        for name, why in reasons.items()
    )
    return MetadataPlan(Mode.UNDO, None, undone, tuple(fates), timeline=frozenset(facts.timeline.sizes))


def is_damaged(facts: MetadataFacts, removed: Collection[str]) -> bool:
    """Whether readers would not find all files of the partitions in use whole, if instants are removed. Raises as
    ``plan_metadata``."""
    view = _View(facts, frozenset(entry.time for entry in _undone(facts, removed)), frozenset(removed))
    return any(next(view.damaged(name), None) for name in facts.table.metadata_partitions)


@dataclass(frozen=True)
class Reach:
    """How far back a partition can go: ``commits`` is how many commits can be removed, back to ``target``; ``limit`` is
    why not one more, None at the beginning of the timeline or after MOST_TARGETS."""

    commits: int = 0
    target: str | None = None
    limit: str | None = None


def reach_of(facts: MetadataFacts) -> dict[str, Reach]:
    """How far back each partition can go: a restore to each of the last commits is planned, until all are lost. Raises
    as ``plan_metadata``."""
    found = dict.fromkeys(_names(facts), Reach())
    commits = [entry for entry in facts.data.completed_writes() if entry.action in fmt.COMMIT_ACTIONS]
    rule = own_rule(facts.table)
    for number, target in enumerate(reversed(commits[-MOST_TARGETS - 1 : -1]), 1):
        removed = [entry.time for entry in instants_after(facts.table, facts.data, target, rule)]
        for entry in plan_metadata(facts, removed).partitions:
            before = found[entry.partition]
            if before.limit is None:
                kept = entry.reason is None
                found[entry.partition] = Reach(number, target.time) if kept else replace(before, limit=entry.reason)
        if all(reach.limit is not None for reach in found.values()):
            break
    return found


def _names(facts: MetadataFacts) -> list[str]:
    """The partitions that are listed, built or on storage; the listing of files first."""
    named = {*facts.table.metadata_partitions, *facts.table.metadata_partitions_inflight, *facts.files}
    return sorted(named, key=lambda name: (name != FILES, name))


def _deleted(facts: MetadataFacts, partition: str, reason: str) -> PartitionFate:
    in_use = partition in facts.table.metadata_partitions
    return PartitionFate(partition, reason, facts.files.get(partition, ()), in_use)


def _forward(facts: MetadataFacts, reason: str) -> MetadataPlan:
    """Keeps what is right for each file by itself, and deletes the rest."""
    why = f"the metadata partition `files` cannot be rolled back: {reason}"
    kept = {FILES, *OF_FILES}.intersection(facts.table.metadata_partitions).intersection(facts.files)
    fates = tuple(PartitionFate(name, None) if name in kept else _deleted(facts, name, why) for name in _names(facts))
    return MetadataPlan(Mode.FORWARD, why, (), fates, timeline=frozenset(facts.timeline.sizes))


def _undone(facts: MetadataFacts, removed: Collection[str]) -> list[Instant]:
    """The metadata table's writes that must be undone: those of the removed instants; all requested after the oldest of
    them that belong to no write that stays, such as compactions; and builds of partitions that are completed since.

    A clean stays with its writes: they say that files are gone, which they are. But not if they are in a slice that a
    compaction to undo has begun (below version 8).
    """
    first = min(removed, default="~")
    staying = {entry.time for entry in facts.data.completed_writes()} - set(removed)
    cleans = {entry.time for entry in facts.data.having(fmt.CLEAN) if entry.completed}

    def belongs(entry: Instant) -> bool:
        return (
            entry.time in removed
            or (entry.time > first and entry.time not in staying)
            or (entry.action == fmt.DELTACOMMIT and _built_since(facts, entry, first))
        )

    found = [entry for entry in facts.timeline.writes() if belongs(entry)]
    archived = archived_writes(
        facts.table, facts.data, (entry.time for entry in found if entry.action == fmt.DELTACOMMIT)
    )
    found = [entry for entry in found if entry.time not in archived]
    gone = {entry.time for entry in found} - cleans
    kept = {time for time in cleans if gone.isdisjoint(facts.slices_of(time))}
    return [entry for entry in found if entry.time not in kept]


def _built_since(facts: MetadataFacts, entry: Instant, first: str) -> bool:
    """Whether a delta commit has built a partition, and was completed after the time of the first removed instant: then
    the partition contains that instant's data."""
    if facts.metadata.rules.has_completion_times:
        return is_build(entry.time, facts.data) and (entry.completion_time or "~") > first
    # A build of a partition that is added later has the time of the last write before it, with a suffix.
    suffix = entry.time[fmt.TIME_FORMAT_DIGITS :]
    if suffix != _OF_INDEXER and suffix < _FIRST_BUILD:
        return False
    file = entry.file(State.COMPLETED)
    return file is None or facts.timeline.modified_ms[file.name] >= _begun_ms(facts, first)


def _begun_ms(facts: MetadataFacts, time: str) -> int:
    """When an instant was requested, at the earliest: by its file, or by its name. In a table that was copied without
    its modification times the name is earlier."""
    by_name = fmt.parse_time(time, facts.table.zone)
    found = facts.data.find(time, *fmt.WRITE_ACTIONS)
    files = found.files if found is not None else ()
    moments = [facts.data.modified_ms[file.name] for file in files if file.state is State.REQUESTED]
    return min([*moments, int(by_name.timestamp() * 1000) if by_name is not None else 0])


def _why_delete(facts: MetadataFacts, undone: Collection[str], first: str) -> str | None:
    """Why nothing can be kept, if so."""
    metadata = facts.metadata
    if not metadata.rules.known:
        return f"its table version {metadata.version} is unknown"
    if metadata.rules.logs_named_by_writer != facts.table.rules.logs_named_by_writer:
        return f"its table version is {metadata.version}, the data table's {facts.table.version}"
    archived = next((time for time in facts.archived if time >= first), None)
    if archived is not None:
        return f"its instant {archived} must be undone, and is archived"
    rollbacks = pending_rollbacks(metadata, facts.timeline)
    ending = {entry.time for entry, plan in rollbacks if plan is not None and plan.target.time in undone}
    services = (fmt.COMPACTION, fmt.LOGCOMPACTION, fmt.CLUSTERING, fmt.ROLLBACK, fmt.RESTORE)
    for entry in facts.timeline.having(*services):
        if entry.pending and entry.time not in undone and entry.time not in ending:
            return f"its {entry.action} {entry.time} is pending"
    return None


class _View:
    """The metadata table as it would be without some of its instants."""

    def __init__(self, facts: MetadataFacts, undone: frozenset[str], removed: frozenset[str]) -> None:
        self._facts = facts
        self._undone = undone
        self._removed = removed
        self._first = min(removed, default="~")
        self._committed = committed_without(facts.timeline, undone)
        self._staying = {entry.time for entry in facts.timeline.completed_writes()} - undone
        self._data = {entry.time for entry in facts.data.instants if entry.completed} - removed
        self._named = facts.metadata.rules.logs_named_by_writer

    def problems(self, partition: str) -> Iterator[str]:
        """Why a partition cannot be kept."""
        facts = self._facts
        if partition in facts.table.metadata_partitions_inflight:
            yield "it is not built to its end"
        elif partition not in facts.table.metadata_partitions:
            yield "it is not listed in hoodie.properties"
        groups = group_files(self._rest(partition))
        if not groups:
            yield "none of its files would be left"
        yield from self._mixed(partition)
        lost = self._groups(partition) - {file_id for _, file_id in groups}
        yield from (f"no file of the group {file_id} would be left" for file_id in sorted(lost))
        committed = with_archived(facts.metadata, self._committed_with_builds(groups), groups, {})
        for (_, file_id), rest in sorted(groups.items()):
            yield from self._in_group(partition, file_id, rest, committed)

    def _committed_with_builds(self, groups: Mapping[Group, Iterable[StoredFile]]) -> Committed:
        """Adds archived builds of partitions (from version 8 on). Their zeros are archived first, even if they are the
        newest instants."""
        builds = {
            file.data.instant for files in groups.values() for file in files if file.data.instant.startswith(INITIAL)
        }.difference(self._committed.completion)
        if not self._named or not builds:
            return self._committed
        found = archived_completions(self._facts.metadata, builds)
        return replace(self._committed, completion={**found, **self._committed.completion})

    def _groups(self, partition: str) -> set[str]:
        """The file groups, but not those that began with a removed write: in a partitioned record index, a write into
        a new partition of the table adds groups (1.2.0)."""
        files = [file.data for file in self._facts.files.get(partition, ())]
        begun = {data.file_id for data in files if begins_group(data) and data.instant in self._removed}
        return {data.file_id for data in files} - begun

    def to_undo(self, partition: str) -> Iterator[StoredFile]:
        """The files of a kept partition that only undone instants have written."""
        rest = set(self._rest(partition))
        yield from (file for file in self._facts.files[partition] if file not in rest)

    def _rest(self, partition: str) -> list[StoredFile]:
        return [file for file in self._facts.files.get(partition, ()) if not self._is_undone(partition, file)]

    def _is_undone(self, partition: str, file: StoredFile) -> bool:
        if file.data.instant in self._undone:
            return True
        if self._named or file.data.is_base:
            return False
        writers = self._writers(partition, file)
        return bool(writers) and writers <= self._undone

    def _writers(self, partition: str, log: StoredFile) -> set[str]:
        """The instants of a log's blocks."""
        if self._named:
            return {log.data.instant}
        return self._facts.writers.get(log.path) or set(self._headers(partition, log).instants)

    def _headers(self, partition: str, log: StoredFile) -> Headers:
        headers = self._facts.headers
        if log.path not in headers:
            headers[log.path] = read_headers(self._facts.metadata, partition, log)
        return headers[log.path]

    def _taken_back(self, partition: str, logs: Iterable[StoredFile]) -> set[str]:
        """The instants that rollback blocks in logs roll back (below version 8). No commit names these logs."""
        unnamed = () if self._named else (log for log in logs if log.path not in self._facts.writers)
        return set().union(*(self._headers(partition, log).targets for log in unnamed))

    def _mixed(self, partition: str) -> Iterator[str]:
        """Files that hold records of an instant to undo, and of one to keep."""
        for time, data, _ in chain.from_iterable(self._facts.written.get(partition, {}).values()):
            if self._named and time in self._undone and data.instant != time:
                yield f"the instant to undo {time} has written into {data.name}"
            if not self._named and time not in self._undone and data.instant in self._undone:
                yield f"the instant {time} has written into {data.name}, whose slice must be undone"
        for log in self._rest(partition):
            undone = self._writers(partition, log) & self._undone if not log.data.is_base else ()
            if undone:
                yield f"{log.data.name} also has a block of {max(undone)}, which must be undone"

    def _in_group(self, partition: str, file_id: str, rest: list[StoredFile], committed: Committed) -> Iterator[str]:
        slices = file_slices(self._facts.metadata.rules, rest, committed, None)
        if not slices:
            yield f"no slice of the group {file_id} would be left"
            return
        if hiding(self._facts.metadata.rules, rest, committed, None):
            yield f"the files of a failed write would hide later logs of the group {file_id}"
        if misnamed_logs(self._facts.metadata.rules, slices):
            yield f"the group {file_id} has logs with names of table version 8, from before a downgrade"
        newest = slices[0]
        if newest.base is None and not any(self._begins(log.data) for log in newest.logs):
            yield f"the group {file_id} has no base file of {newest.key} any more: it was cleaned"
        yield from self._damaged(partition, file_id, rest, newest, committed)
        for log in newest.logs:
            for time in sorted(self._writers(partition, log) - self._undone):
                # An archived build: its log only begins the file group, and has no records.
                begins = begins_group(log.data) and time == log.data.instant
                built = begins and committed.completion.get(time, "~") < self._first
                if not built and not self._counts(time) and time not in self._taken_back(partition, newest.logs):
                    yield f"{log.data.name} has a block of {time}, which is archived"

    def _begins(self, log: DataFile) -> bool:
        return log.version == 1 and (log.write_token == FIRST_LOG or not self._named)

    def damaged(self, partition: str) -> Iterator[str]:
        """Files that readers of a partition would not find whole."""
        groups = group_files(self._rest(partition))
        committed = with_archived(self._facts.metadata, self._committed_with_builds(groups), groups, {})
        for (_, file_id), rest in sorted(groups.items()):
            for newest in file_slices(self._facts.metadata.rules, rest, committed, None)[:1]:
                yield from self._damaged(partition, file_id, rest, newest, committed)

    def _damaged(
        self, partition: str, file_id: str, rest: Iterable[StoredFile], newest: Slice, committed: Committed
    ) -> Iterator[str]:
        """Files of the newest slice, or of a later one, that a staying write names, and that do not exist, or with
        another size. A log may have grown."""
        sizes = {file.data.name: file.size or 0 for file in rest}
        # An index that was built again begins when that was completed: files of the one before are gone.
        built = self._named and newest.key.startswith(INITIAL)
        first = committed.completion.get(newest.key, newest.key) if built else newest.key
        for time, data, size in self._facts.written.get(partition, {}).get(file_id, ()):
            since = committed.completion.get(time, time) if self._named else data.instant
            if time not in self._staying or since < first:
                continue
            stored = sizes.get(data.name)
            if stored is None:
                yield f"{data.name} of {time} is missing"
            elif stored < size or (stored > size and data.is_base):
                yield f"{data.name} of {time} has {stored:,} bytes, not {size:,}"

    def _counts(self, time: str) -> bool:
        """Whether readers take a block of an instant, once the others are removed."""
        own = time in self._staying
        if self._named:
            return own or time in self._data
        # Below version 8 an instant of the metadata table counts by itself only if it has no counterpart.
        alone = len(time) > fmt.TIME_FORMAT_DIGITS or time.startswith(INITIAL)
        return time in self._data or (own and alone)
