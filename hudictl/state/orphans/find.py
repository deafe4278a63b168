"""Orphans: data files that belong to no instant.

Readers ignore them while their instants are younger than the timeline's start. Readers treat every older file as
committed (Hudi 0.15.0 to 1.2.0): then the leftovers of a failed write appear as rows.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from itertools import chain

from hudictl import workers
from hudictl.engine.base import Engine, values
from hudictl.errors import Conflict, Unreadable, Unsupported
from hudictl.formats import clean, restore, rollback
from hudictl.formats import instants as fmt
from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.formats.avro import Body
from hudictl.formats.file_names import data_path
from hudictl.formats.instants import State
from hudictl.formats.rollback import Undone
from hudictl.state.facts import Facts
from hudictl.state.files.named import read_named
from hudictl.state.orphans.ownership import Evidence, Index, TakenBack, index_of, judge, strange_times, strangers
from hudictl.state.pending import find_restores
from hudictl.table.archive_lost import lost_until
from hudictl.table.files.choose import listed_ones
from hudictl.table.files.slices import StoredFile, names_by_partition
from hudictl.table.files.sweep import hidden_by
from hudictl.table.metadata.listing import listing_table, read_listing
from hudictl.table.table import Table, data_table_of
from hudictl.table.timeline.active import Timeline, load_timeline, pending_rollbacks, read_instant
from hudictl.table.timeline.archive import archived_after, archived_among, at_one_time, read_bodies
from hudictl.table.writers.markers import look_at_markers, marker_folders


@dataclass(frozen=True)
class OrphanRow:
    """An orphan. ``certainty`` is sure or unknown; ``visible``: readers show its rows."""

    path: str
    bytes: int
    modified_utc: str | None
    instant: str
    visible: bool
    certainty: str
    why: str


@dataclass(frozen=True, slots=True)
class Orphan:
    """A file without instant. ``sure`` is False if this cannot be proved: such a file is kept.

    ``visible``: its instant is older than the timeline, so readers treat it as committed. ``beyond``: its instant is
    newer than the timeline's end, and no record explains this. ``unnamed``: its commit is complete, and does not
    name it; ``instead`` is the file that it names in the same slice.
    """

    file: StoredFile
    why: str
    sure: bool
    beyond: bool
    visible: bool
    unnamed: bool = False
    instead: StoredFile | None = None

    @property
    def row(self) -> OrphanRow:
        """The row to show."""
        return OrphanRow(
            path=self.file.path,
            bytes=self.file.size or 0,
            modified_utc=fmt.utc_text(datetime.fromtimestamp(self.file.modified_ms / 1000, timezone.utc)),
            instant=self.file.data.instant,
            visible=self.visible,
            certainty="sure" if self.sure else "unknown",
            why=self.why,
        )

    def left(self, reason: str) -> "Orphan":
        """The same file, kept for a reason."""
        return replace(self, sure=False, why=f"{self.why}; {reason}")

    def because(self, reason: str) -> "Orphan":
        """The same file, with one more reason."""
        return replace(self, why=f"{self.why}, {reason}")


def find_orphans(facts: Facts, engine: Engine, asked: Collection[str] = ()) -> list[Orphan]:
    """The orphans among the files of a sweep, by path. ``asked`` are paths of which a person is sure: this is a proof.

    The timeline is read after the sweep, and the archive after the timeline. A writer requests its instant before it
    creates a file, and an instant is archived before it leaves the timeline. So the instant of each listed file is
    found, even if writers or archiving run meanwhile.

    Raises Unreadable: a savepoint, a pending plan, or a file of the archive; StorageFailed, EngineFailed.
    """
    table = facts.table
    timeline = load_timeline(table, facts.timeline)
    active = _on_timeline(table, timeline)
    strange: frozenset[str] = frozenset().union(*facts.sweep.over("look for orphans", partial(strange_times, active)))
    if not strange:
        return []

    # An archive has very many instants: only those of listed files are kept.
    archived = archived_among(table, strange)
    owned = active | {e.time for e in archived if e.action in fmt.WRITE_ACTIONS and e.state is State.COMPLETED}
    files = [*chain.from_iterable(facts.sweep.over("look for orphans", partial(strangers, owned)))]
    if not files:
        return []

    later = archived_after(table, min(file.data.instant for file in files))
    records = replace(_records(facts, timeline, owned, later, files), asked=frozenset(asked))
    holding = _holding(table, engine, [file for file in files if not file.data.is_base])
    listings: dict[str, list[StoredFile]] = defaultdict(list)
    for file in facts.sweep.of_groups(file.group for file in files):
        listings[file.partition].append(file)
    verdicts = {path: entry for some in listings.values() for path, entry in judge(some, holding, records).items()}

    # If the timeline has no writes at all, readers see nothing.
    start = min((entry.time for entry in timeline.writes()), default="")
    orphans = (Orphan(file, *verdicts[file.path], visible=file.data.instant < start) for file in files)
    alone = _listed_alone(facts, files)
    found = [
        orphan.left("only the metadata table lists its partition, and readers find the file through it")
        if orphan.file.path in alone
        else orphan
        for orphan in orphans
    ]
    return sorted(found, key=lambda orphan: orphan.file.path)


def without_record(facts: Facts, times: Collection[str]) -> frozenset[str]:
    """Those of some instants that no record explains: they are on no timeline, active or archived, not rolled back, and
    have no markers. The timeline is read again: a write may have begun since ``facts``, and been rolled back.

    Raises Unreadable: a pending plan, or a file of the archive; StorageFailed.
    """
    table, timeline = facts.table, load_timeline(facts.table, facts.timeline)
    found = {time for time in times if fmt.parse_time(time, timezone.utc) is not None}
    if not found:
        return frozenset()
    archived = archived_after(table, fmt.time_plus_ms(min(found), -1))
    ended = {entry.time for entry in archived if entry.state is State.COMPLETED}
    taken_back, _ = _told(table, timeline, archived, ())
    return frozenset(found - _on_timeline(table, timeline) - ended - taken_back.keys() - set(marker_folders(table)))


def _listed_alone(facts: Facts, files: Iterable[StoredFile]) -> frozenset[str]:
    """The paths of those of some files that the metadata table lists in partitions that listings do not find."""
    listed, partitions = facts.known.listing, facts.sweep.partitions
    names = names_by_partition(
        file for file in files if file.partition not in partitions or hidden_by(file.partition, partitions) is not None
    )
    if listed is None or not names:
        return frozenset()
    found = facts.sweep.over("look for listed files", listed_ones, listed=listed.files, given=names.items())
    return frozenset().union(*found)


def _on_timeline(table: Table, timeline: Timeline) -> frozenset[str]:
    """The instants on the timeline, of any action, and those that a pending rollback or restore still processes."""
    # A savepoint owns no files by its time: its files are kept by their names.
    times = {entry.time for entry in timeline.instants if entry.action != fmt.SAVEPOINT}
    times |= {file.time for file in timeline.unknown}
    times |= {plan.target.time for _, plan in pending_rollbacks(table, timeline) if plan is not None}
    return frozenset(times).union(*(restore.instants for restore in find_restores(table, timeline)))


def _records(
    facts: Facts,
    timeline: Timeline,
    owned: frozenset[str],
    later: Collection[ArchivedInstant],
    files: Collection[StoredFile],
) -> Evidence:
    """Arguments: ``later`` are the archived instants after the oldest of the files."""
    table = facts.table
    times, paths = {file.data.instant for file in files}, {file.path for file in files}
    named = read_named(table, timeline, facts.written, files)
    taken_back, cleaned = _told(table, timeline, later, paths)
    marked = _marked(table, times - taken_back.keys())
    return Evidence(
        owned,
        newest=timeline.last_write,
        logs_named_by_writer=table.rules.logs_named_by_writer,
        built_on=named.built_on,
        partitions=named.partitions,
        named=named.files,
        taken_back=taken_back,
        cleaned=cleaned,
        marked=marked,
        lost_until=lost_until(table),
        index=None if marked.isdisjoint(paths) else _index(table, timeline),
    )


def _told(
    table: Table, timeline: Timeline, archived: Iterable[ArchivedInstant], paths: Collection[str]
) -> tuple[dict[str, TakenBack], dict[str, str]]:
    """The results of completed rollbacks, restores and cleans, active and archived: the rolled-back instants, and those
    of some paths that were deleted. An unreadable result proves nothing; the other records decide."""
    taken_back: dict[str, TakenBack] = {}
    cleaned: dict[str, str] = {}
    for action, time, body, result in (*_active(table, timeline), *_archived(table, archived)):
        what = f"the {action} {time}"
        with suppress(Unreadable):
            if action == fmt.CLEAN:
                for partition, names in clean.decode_metadata(body, what).deleted.items():
                    deleted = (data_path(partition, name) for name in names)
                    cleaned |= {path: what for path in deleted if path in paths}
                continue
            for target, again, partitions in _undone(table, action, body, result, what):
                known = taken_back.get(target, TakenBack(what, frozenset(), again))
                taken_back[target] = TakenBack(what, known.partitions | partitions, again or known.again)
    return taken_back, cleaned


def _active(table: Table, timeline: Timeline) -> Iterator[tuple[str, str, Body, Body]]:
    for instant in timeline.having(fmt.RESTORE, fmt.ROLLBACK, fmt.CLEAN):
        result = instant.file(State.COMPLETED)
        # A restore's request names all instants; the result of a resumed one only those of its last attempt.
        request = instant.file(State.REQUESTED) if instant.action == fmt.RESTORE else result
        if result is not None and request is not None:
            yield instant.action, instant.time, read_instant(table, request), read_instant(table, result)


def _archived(table: Table, archived: Iterable[ArchivedInstant]) -> Iterator[tuple[str, str, Body, Body]]:
    wanted = [e for e in archived if e.action in (fmt.ROLLBACK, fmt.CLEAN) and e.state is State.COMPLETED]
    for entry, body, _ in at_one_time(lambda: list(read_bodies(table, wanted, plans=False))):
        yield entry.action, entry.time, body, body


def _undone(
    table: Table, action: str, body: Body, result: Body, what: str
) -> Iterator[tuple[str, bool, frozenset[str]]]:
    """The instants that a rollback or restore names, whether each may have run again since, and the partitions."""
    if action == fmt.RESTORE:
        actions = {info.time: info.action for info in restore.decode_plan(body, what).instants}
        undone = Undone(actions, restore.decode_partitions(result, what))
    else:
        undone = rollback.decode_undone(body, what)
    # A rolled-back table service keeps its plan, and runs again under its instant; on merge on read a commit is a
    # compaction. A write of the metadata table is rolled back when the data table's write runs again.
    once = {fmt.DELTACOMMIT, fmt.COMMIT} if table.is_cow else {fmt.DELTACOMMIT}
    if data_table_of(table) is not None:
        once = set()
    yield from ((time, done not in once, undone.partitions) for time, done in undone.actions.items())


def _marked(table: Table, times: Collection[str]) -> frozenset[str]:
    """The files for which markers of some instants still exist."""
    folders = (look_at_markers(table, time) for time in marker_folders(table) if time in times)
    return frozenset(marker.path for folder in folders if folder for marker in folder.markers)


def _index(table: Table, timeline: Timeline) -> Index | None:
    """The proof from the metadata table; None if it is not in use, cannot be read, or has missed a write."""
    damage: list[str] = []
    try:
        metadata = listing_table(table)
        if metadata is None:
            return None
        known = {entry.time for entry in load_timeline(metadata).completed_writes()}
        archived = {entry.time for entry in archived_after(metadata, "") if entry.state is State.COMPLETED}
        listing = read_listing(metadata, damage)
    except (Unreadable, Unsupported, Conflict):
        # An unreadable metadata table proves nothing.
        return None
    writes = {entry.time for entry in timeline.completed_writes()}
    files = {partition: frozenset(names) for partition, names in listing.items()}
    return None if damage else index_of(files, known, archived, writes)


def _holding(table: Table, engine: Engine, logs: Iterable[StoredFile]) -> dict[str, frozenset[str]]:
    """The instants that have written into each log: below table version 8 its name has another one."""
    by_partition: dict[str, list[tuple[str, int]]] = {}
    for file in logs:
        by_partition.setdefault(file.partition, []).append((file.data.name, file.size or 0))
    tasks = [
        workers.LogTask(table.storage, partition, tuple(names)) for partition, names in sorted(by_partition.items())
    ]
    return dict(
        pair for pairs in values(engine.map("read logs", workers.log_writers, tasks), "read logs") for pair in pairs
    )
