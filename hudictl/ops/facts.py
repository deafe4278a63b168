"""Everything that guards and plans look at, read once."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from hudictl.engine.base import Engine
from hudictl.errors import Unreadable
from hudictl.formats import savepoint
from hudictl.formats.instants import CLEAN, COMPACTION, RESTORE, WRITE_ACTIONS, Instant, State
from hudictl.formats.restore import RestorePlan, decode_plan
from hudictl.formats.rollback import RollbackPlan
from hudictl.table.clock import StorageClock, storage_now_ms
from hudictl.table.commits import Commits, load_commits
from hudictl.table.file_view import Sweep, sweep
from hudictl.table.heartbeats import DEFAULT_RULE, Heartbeat, HeartbeatRule, list_heartbeats
from hudictl.table.locks import LockSign, find_locks
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, hollow_file, load_timeline, pending_rollbacks, read_instant


@dataclass(frozen=True)
class PendingRestore:
    """A restore that is not completed, with its stored plan."""

    instant: Instant
    plan: RestorePlan

    @property
    def begun(self) -> bool:
        """False while it is only requested: nothing was changed yet."""
        return self.instant.state is not State.REQUESTED


@dataclass(frozen=True)
class Signs:
    """The part of the facts that is read again under the claim.

    ``rollbacks`` are the pending ones, without ``remnants``: those of a restore that is completed. ``unplanned`` are
    restores whose request is empty, for a process died in that moment: nothing of them was done.
    """

    timeline: Timeline
    rollbacks: tuple[tuple[Instant, RollbackPlan | None], ...]
    remnants: frozenset[str]
    restores: tuple[PendingRestore, ...]
    unplanned: tuple[Instant, ...]
    heartbeats: tuple[Heartbeat, ...]
    locks: tuple[LockSign, ...]
    now_ms: int


@dataclass(frozen=True)
class Facts:
    """A table as it was when planning began."""

    table: Table
    signs: Signs
    commits: Commits
    sweep: Sweep

    @property
    def timeline(self) -> Timeline:
        return self.signs.timeline


def read_signs(table: Table, rule: HeartbeatRule = DEFAULT_RULE, clock: StorageClock | None = None) -> Signs:
    """Reads the timeline, pending operations, heartbeats and locks. Raises Unreadable.

    The timeline comes before the heartbeats: a writer deletes its own after it has completed.

    Args:
        clock: the storage's, where it was measured.
    """
    timeline = load_timeline(table)
    now_ms = storage_now_ms(clock)
    rollbacks = pending_rollbacks(table, timeline)
    remnants = _remnants(table, timeline, rollbacks)
    return Signs(
        timeline,
        tuple(entry for entry in rollbacks if entry[0].time not in remnants),
        remnants,
        tuple(pending_restores(table, timeline)),
        tuple(entry for entry in timeline.having(RESTORE) if _is_unplanned(timeline, entry)),
        tuple(list_heartbeats(table, now_ms, rule)),
        tuple(find_locks(table, now_ms)),
        now_ms,
    )


def pending_restores(table: Table, timeline: Timeline) -> list[PendingRestore]:
    """Restores that are not completed, and have a plan. Raises Unreadable: the plan of one."""
    found = []
    for instant in timeline.having(RESTORE):
        file = instant.file(State.REQUESTED)
        hollow = file is not None and hollow_file(timeline, instant) is not None
        if (instant.pending or hollow) and not _is_unplanned(timeline, instant):
            if file is None:
                raise Unreadable(
                    f"{instant} has no request, and so no plan", hint="where no restore runs, remove its file"
                )
            found.append(PendingRestore(instant, decode_plan(read_instant(table, file), file.name)))
    return found


def _is_unplanned(timeline: Timeline, instant: Instant) -> bool:
    file = instant.file(State.REQUESTED)
    return instant.state is State.REQUESTED and file is not None and not timeline.sizes[file.name]


def _remnants(
    table: Table, timeline: Timeline, rollbacks: Collection[tuple[Instant, RollbackPlan | None]]
) -> frozenset[str]:
    """Pending rollbacks of a completed restore: Hudi (0.15.0 to 1.2.0) removes them last, and may die before.

    Their instants are gone; the next eager writer would execute them all the same.
    """
    found = set()
    for restore in timeline.having(RESTORE):
        late = [entry for entry in rollbacks if entry[0].time < (restore.completion_time or "")]
        file = restore.file(State.REQUESTED)
        if not late or file is None or hollow_file(timeline, restore):
            continue
        # The request names all instants; the result of a resumed restore only those of its last attempt.
        planned = {info.time for info in decode_plan(read_instant(table, file), file.name).instants}
        for instant, plan in late:
            if plan is None:
                ended = instant.time > restore.time
            else:
                target = plan.target.time
                ended = target in planned and timeline.find(target, *WRITE_ACTIONS) is None
            if ended:
                found.add(instant.time)
    return frozenset(found)


def pending_cleans(timeline: Timeline) -> list[Instant]:
    """Cleans that the next clean would finish from their stored plans."""
    return [instant for instant in timeline.having(CLEAN) if instant.pending]


def read_facts(
    table: Table,
    engine: Engine,
    signs: Signs,
    note: Callable[[str], None] = lambda _: None,
    without: Collection[str] = (),
    savepointed: Collection[str] = (),
) -> Facts:
    """Reads commit metadata while the engine starts, then lists all partitions.

    Args:
        without: instants whose metadata is not needed.
        savepointed: partition paths that a savepoint names.

    Raises:
        Unreadable, StorageFailed, EngineFailed.
    """
    engine.start()
    commits = load_commits(table, signs.timeline, without)
    engine.ready()
    note("listing partitions")
    named = {partition for commit in commits.values() for partition in commit.stats} | set(savepointed)
    return Facts(table, signs, commits, sweep(table, engine, named))


def newest_files(facts: Facts) -> dict[str, int]:
    """When each instant last wrote a data file, as far as names tell: below table version 8 a log carries the name of
    the slice that it lies on, which may be a pending compaction's, and that writes base files only."""
    compactions = {entry.time for entry in facts.timeline.having(COMPACTION)}
    newest: dict[str, int] = {}
    for file in facts.sweep.files:
        if not file.data.is_base and file.data.instant in compactions:
            continue
        newest[file.data.instant] = max(newest.get(file.data.instant, 0), file.modified_ms)
    return newest


def savepointed_files(table: Table, timeline: Timeline) -> dict[str, str]:
    """The paths of all files that savepoints name, with one such savepoint. Raises Unreadable."""
    found = {}
    for instant in timeline.savepoints():
        file = instant.file(State.COMPLETED)
        if file is not None:
            for partition, names in savepoint.decode(read_instant(table, file), file.name).files.items():
                for name in names:
                    found[f"{partition}/{name}" if partition else name] = instant.time
    return found
