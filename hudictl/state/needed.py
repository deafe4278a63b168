"""Which files a table needs to be read as of an instant, and which of them are missing."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from hudictl.errors import Unreadable
from hudictl.formats import clean
from hudictl.formats.file_names import data_path, parse_data_file
from hudictl.formats.instants import CLEAN, COMMIT, COMPACTION, REPLACECOMMIT, Instant, State
from hudictl.state.facts import Facts
from hudictl.table.archive import archived_cleans
from hudictl.table.commits import replaced_groups
from hudictl.table.file_view import (
    Committed,
    Group,
    StoredFile,
    committed_without,
    group_files,
    pending_compactions,
    read_together,
    visible_slices,
)
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, read_instant


@dataclass(frozen=True)
class Needed:
    """Files by path; ``missing`` are not on storage, or empty; ``bare`` are partitions without their metafile."""

    files: Mapping[str, StoredFile]
    missing: tuple[str, ...]
    bare: tuple[str, ...]

    @property
    def size(self) -> int:
        return sum(file.size or 0 for file in self.files.values())


def needed_files(facts: Facts, removed: Collection[str], savepointed: Mapping[str, tuple[str, ...]]) -> Needed:
    """What readers need once the removed instants are gone.

    The newest slice of each file group that is not replaced; with the one before it where the newest belongs to a
    pending compaction. To the files on storage come the names that commits and cleans know, so that a slice of which
    something was taken is not passed over for an older one.

    Args:
        removed: requested times of the instants that a restore removes.
        savepointed: the savepoint's own map of partition path to file names; empty without savepoint.

    Raises:
        Unreadable: the metadata of a clean, or the plan of a compaction.
    """
    table, timeline = facts.table, facts.timeline
    committed = committed_without(timeline, removed)
    compactions = pending_compactions(table, timeline, removed)
    kept = {entry.time for entry in timeline.having(REPLACECOMMIT)} - set(removed)
    replaced = replaced_groups(timeline, facts.commits, kept)
    revived = replaced_groups(timeline, facts.commits, removed)

    saved = list(_savepoint_files(facts, committed, savepointed))
    known = _known_files(facts, removed, saved, revived)
    groups = group_files(known.values())
    needed: dict[str, StoredFile] = {}
    for _, slices in visible_slices(table, groups, committed, compactions, replaced):
        needed |= {file.path: file for entry in read_together(slices) for file in entry.files}
    # A writer that died at once leaves an empty log, which readers skip; an empty base file is no file.
    needed = {path: file for path, file in needed.items() if file.data.is_base or file.size != 0}
    needed |= {file.path: known[file.path] for file in saved}

    missing = sorted(
        path for path, file in needed.items() if not (file.size if file.data.is_base else file.size is not None)
    )
    # With a partition that is cleaned whole go files that nobody names: a savepoint's (Hudi 0.15.0, 1.0.2, 1.2.0).
    missing += sorted(data_path(*group) for group in revived - set(groups))

    partitions = {file.partition for file in needed.values()}
    return Needed(needed, tuple(missing), tuple(sorted(partitions - facts.sweep.partitions)))


def _known_files(
    facts: Facts, removed: Collection[str], saved: Iterable[StoredFile], revived: Collection[Group]
) -> dict[str, StoredFile]:
    """The files on storage, and those of which only commits, a savepoint or cleans know, by path."""
    known = {file.path: file for file in facts.sweep.files}
    for file in (*_written(facts, removed), *saved):
        known.setdefault(file.path, file)

    alive = {file.group for file in known.values()} | set(revived)
    for cleaned in _cleaned(facts, _newest(facts.table, facts.timeline, removed)):
        # Of a group that nothing else knows a clean took all: it was replaced, and that commit may be archived.
        if cleaned.group in alive:
            known.setdefault(cleaned.path, cleaned)
    return known


def savepoint_map(facts: Facts, target: Instant) -> dict[str, tuple[str, ...]]:
    """The files that Hudi itself puts into a savepoint: of each file group not replaced at the target, the newest
    visible slice whose base instant is not after it, whole. Every partition has an entry (Hudi 0.15.0 to 1.2.0)."""
    table, timeline = facts.table, facts.timeline
    compactions = pending_compactions(table, timeline, ())
    groups = facts.sweep.groups()
    committed = committed_without(timeline, ())
    replaced = replaced_groups(
        timeline, facts.commits, {entry.time for entry in timeline.having(REPLACECOMMIT) if entry.time <= target.time}
    )
    files: dict[str, list[str]] = {partition: [] for partition in sorted(facts.sweep.partitions)}
    for (partition, _), slices in visible_slices(table, groups, committed, compactions, replaced):
        newest = next((entry for entry in slices if entry.key <= target.time), None)
        if newest is not None and partition in files:
            files[partition] += [file.data.name for file in newest.files]
    return {partition: tuple(sorted(names)) for partition, names in files.items()}


def _newest(table: Table, timeline: Timeline, removed: Collection[str]) -> str:
    """A time after which all that takes files of the newest kept instant must complete: one that takes the slice
    before a removed compaction's does so later than that was requested."""
    newest = max((entry.time for entry in timeline.completed_writes() if entry.time not in removed), default="")
    compactions = () if table.is_cow else timeline.having(COMMIT, COMPACTION)
    return min([newest, *(entry.time for entry in compactions if entry.time in removed)])


def _written(facts: Facts, removed: Collection[str]) -> Iterator[StoredFile]:
    """Files that commits say they have written, as far as the active timeline tells."""
    for instant in facts.timeline.completed_writes():
        if instant.time not in removed:
            for stats in facts.commits[instant.time].stats.values():
                for stat in stats:
                    partition, _, name = (stat.path or "").rpartition("/")
                    yield from _named(partition, name)


def _cleaned(facts: Facts, after: str) -> Iterator[StoredFile]:
    """Files that cleans have taken since a time, or may have: one that is pending may have died half way.

    A clean that completed before took nothing that was the newest then. Its names must not count: commits that a
    restore removed, and that the timeline has passed since, would look committed.
    """
    taken = archived_cleans(facts.table, after)
    for instant in facts.timeline.having(CLEAN):
        if instant.pending or max(instant.time, instant.completion_time or "") > after:
            taken.append(taken_by_clean(facts.table, facts.timeline, instant))
    for partitions in taken:
        for partition, names in partitions.items():
            for name in names:
                yield from _named(partition, name)


def taken_by_clean(table: Table, timeline: Timeline, instant: Instant) -> Mapping[str, frozenset[str]]:
    """The files by partition that a clean of the active timeline has taken; where it does not say, what it had planned
    to take. Raises Unreadable."""
    for state in (State.COMPLETED, State.REQUESTED, State.INFLIGHT):
        file = instant.file(state)
        if file is not None and timeline.sizes[file.name]:
            body = read_instant(table, file)
            if state is State.COMPLETED:
                return clean.decode_metadata(body, file.name).deleted
            return clean.decode_plan(body, file.name).files
    return {}


def _savepoint_files(
    facts: Facts, committed: Committed, savepointed: Mapping[str, tuple[str, ...]]
) -> Iterator[StoredFile]:
    for partition, names in savepointed.items():
        for name in names:
            data = parse_data_file(name)
            if data is None:
                raise Unreadable(f"the savepoint names {name!r}, which is no data file's name", file=name)
            # From table version 8 on the map also holds logs of later commits, which a restore deletes.
            if data.is_base or not facts.table.rules.logs_named_by_writer or data.instant in committed:
                yield StoredFile(partition, data, None)


def _named(partition: str, name: str) -> Iterator[StoredFile]:
    data = parse_data_file(name)
    if data is not None:
        yield StoredFile(partition, data, None)
