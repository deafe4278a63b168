"""Orphans: data files that belong to no instant.

Readers pass them over while their instants are younger than the timeline's start. Whatever is older than that counts as
committed for them (Hudi 0.15.0 to 1.2.0): then what a failed write has left comes back as rows.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from hudictl import workers
from hudictl.engine.base import Engine
from hudictl.formats import instants as fmt
from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.formats.instants import State
from hudictl.state.facts import Facts
from hudictl.state.pending import find_restores
from hudictl.state.savepoints import savepointed_files
from hudictl.table.archive import archived_after, at_one_time, read_bodies
from hudictl.table.file_view import StoredFile, hidden_by, values
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, load_timeline, named_by, pending_rollbacks, taken_back

ON_NO_TIMELINE = "its instant is on no timeline"


@dataclass(frozen=True)
class OrphanRow:
    """A file that belongs to no instant. ``certainty`` is sure or unknown; ``visible``: readers show its rows."""

    path: str
    bytes: int
    modified_utc: str | None
    instant: str
    visible: bool
    certainty: str
    why: str


@dataclass(frozen=True, slots=True)
class Orphan:
    """A file without instant. ``sure`` is False where nobody can tell whether it is one: such a file stays.

    ``visible``: its instant is older than the timeline, so that readers take it for committed.
    """

    file: StoredFile
    why: str
    sure: bool
    visible: bool

    @property
    def row(self) -> OrphanRow:
        """As it is shown."""
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
        """The same file, which stays for a reason."""
        return replace(self, sure=False, why=f"{self.why}; {reason}")


@dataclass(frozen=True)
class _Ownership:
    """What tells whose a file is, by the instant in its name.

    ``owned`` are the instants that are active, archived as completed, or named by a pending rollback or restore;
    ``taken_back`` maps others to the completed rollback or restore that names them, ``built_on`` are those on which
    commits of the active timeline have built: they were completed once. The active timeline is whole from ``start``
    on, the archive from ``first`` to ``last``, where it is ``whole``; of what lies between them, or before, nobody
    knows anything.
    """

    owned: frozenset[str]
    taken_back: Mapping[str, str]
    built_on: frozenset[str]
    start: str
    first: str
    last: str
    whole: bool

    def verdict(self, time: str) -> tuple[str, bool]:
        """Why an instant that owns nothing does not, and whether that is sure."""
        if time in self.built_on:
            return "later commits have built on its instant, which is on no timeline", False
        if time in self.taken_back:
            return f"taken back by {self.taken_back[time]}", True
        if fmt.parse_time(time, timezone.utc) is None:
            return "its name carries no instant time", False
        if max(self.start, self.last) <= time or (self.whole and self.first <= time <= self.last):
            return ON_NO_TIMELINE, True
        return "its instant is on no timeline, and the archive does not reach there", False


def find_orphans(facts: Facts, engine: Engine) -> list[Orphan]:
    """The orphans among the files of a sweep, by path.

    The timeline is read after the sweep, and the archive after the timeline: a writer requests its instant before it
    creates a file, and an instant is archived before it leaves the timeline. So the instant of a file that was listed
    is found, whoever is at work meanwhile.

    Raises:
        Unreadable: a savepoint, a pending restore, or a file of the archive.
        StorageFailed, EngineFailed.
    """
    table = facts.table
    timeline = load_timeline(table)
    active = _on_timeline(table, timeline)
    strangers = [file for file in facts.sweep.files if file.data.instant not in active]
    if not strangers:
        return []

    known = _ownership(facts, timeline, active, {file.data.instant for file in strangers})
    strangers = [file for file in strangers if file.data.instant not in known.owned]

    saved = savepointed_files(table, timeline)
    holding = _holding(table, engine, [file for file in strangers if not file.data.is_base])

    found = []
    for file in strangers:
        # Where the timeline has no writes at all, readers see nothing.
        orphan = Orphan(file, *known.verdict(file.data.instant), visible=file.data.instant < known.start < "~")
        rows_of = sorted(
            time for time in holding.get(file.path, ()) if time in known.owned or not known.verdict(time)[1]
        )
        if rows_of:
            orphan = orphan.left(f"it holds rows of {rows_of[0]}")
        if file.path in saved:
            orphan = orphan.left(f"the savepoint {saved[file.path]} names it")
        if _listed_alone(facts, file):
            orphan = orphan.left("readers find it through the metadata table, which alone knows its partition")
        found.append(orphan)

    return sorted(found, key=lambda orphan: orphan.file.path)


def _listed_alone(facts: Facts, file: StoredFile) -> bool:
    """Whether the metadata table lists it in a partition that no listing comes to."""
    if facts.known.listing is None or file.data.name not in facts.known.listing.get(file.partition, ()):
        return False
    partitions = facts.sweep.partitions
    return file.partition not in partitions or hidden_by(file.partition, partitions) is not None


def _on_timeline(table: Table, timeline: Timeline) -> frozenset[str]:
    """The instants that are there, whatever they do, and those that a pending rollback or restore still works on."""
    # A savepoint alone owns nothing: its files are spared by their names.
    times = {entry.time for entry in timeline.instants if entry.action != fmt.SAVEPOINT}
    times |= {file.time for file in timeline.unknown}
    times |= {plan.target.time for _, plan in pending_rollbacks(table, timeline) if plan is not None}
    return frozenset(times).union(*(restore.instants for restore in find_restores(table, timeline)))


def _ownership(facts: Facts, timeline: Timeline, active: Collection[str], strangers: Collection[str]) -> _Ownership:
    table = facts.table
    archived = archived_after(table, "")
    completed = {e.time for e in archived if e.action in fmt.WRITE_ACTIONS and e.state is State.COMPLETED}

    since = min(set(strangers) - completed, default="~")
    commits = (facts.commits[entry.time] for entry in facts.timeline.completed_writes())
    previous = {stat.previous for commit in commits for stats in commit.stats.values() for stat in stats}
    built_on = frozenset(time for time in previous if time not in (None, "null"))

    owned = frozenset(completed.union(active))
    taken_back = _taken_back(table, timeline, [entry for entry in archived if entry.time > since])
    start = min((entry.time for entry in timeline.writes()), default="~")
    return _Ownership(
        owned,
        taken_back,
        built_on,
        start,
        first=min(completed, default="~"),
        last=max(completed, default=""),
        # What active commits have built on was completed once: an archive that does not know it has lost something.
        whole=not any(time < start for time in built_on - owned - taken_back.keys()),
    )


def _taken_back(table: Table, timeline: Timeline, archived: Iterable[ArchivedInstant]) -> dict[str, str]:
    """The instants that completed rollbacks and restores name, with what took each back."""
    found = taken_back(table, timeline)
    rollbacks = [e for e in archived if e.action == fmt.ROLLBACK and e.state is State.COMPLETED]
    for entry, body, _ in at_one_time(lambda: list(read_bodies(table, rollbacks, plans=False))):
        found |= named_by(body, entry.action, entry.time)
    return found


def _holding(table: Table, engine: Engine, logs: Iterable[StoredFile]) -> dict[str, frozenset[str]]:
    """The instants that have written into each log: below table version 8 its name tells another one."""
    by_partition: dict[str, list[tuple[str, int]]] = {}
    for file in logs:
        by_partition.setdefault(file.partition, []).append((file.data.name, file.size or 0))
    tasks = [
        workers.LogTask(table.storage, partition, tuple(names)) for partition, names in sorted(by_partition.items())
    ]
    return dict(
        pair for pairs in values(engine.map("read logs", workers.log_writers, tasks), "read logs") for pair in pairs
    )
