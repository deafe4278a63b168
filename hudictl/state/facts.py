"""Everything on which guards and plans decide, read once."""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from hudictl.engine.base import Engine
from hudictl.errors import Unreadable
from hudictl.formats.instants import State
from hudictl.formats.rollback import StoredRollbackPlan
from hudictl.state.pending import Condition, PendingRestore, PendingRollback, find_restores, find_rollbacks
from hudictl.table.clock import StorageClock, storage_now_ms
from hudictl.table.files.sweep import Sweep, sweep
from hudictl.table.files.written import WrittenFiles, gather_written
from hudictl.table.locks.config import LockSign
from hudictl.table.locks.look import find_locks
from hudictl.table.metadata.place import NOT_ASKED, Known
from hudictl.table.table import Table
from hudictl.table.timeline.active import SeenFile, Timeline, load_timeline
from hudictl.table.timeline.commits import Commits, LazyCommits, raise_unreadable
from hudictl.table.writers.heartbeats import Heartbeat, list_heartbeats


@dataclass(frozen=True)
class Signs:
    """The facts that are read again under the claim. ``restores`` and ``rollbacks`` include every condition."""

    timeline: Timeline
    restores: tuple[PendingRestore, ...]
    rollbacks: tuple[PendingRollback, ...]
    heartbeats: tuple[Heartbeat, ...]
    locks: tuple[LockSign, ...]
    now_ms: int

    @cached_property
    def beats(self) -> dict[str, Heartbeat]:
        """The heartbeats by instant time."""
        return {beat.time: beat for beat in self.heartbeats}

    @property
    def planned_restores(self) -> tuple[PendingRestore, ...]:
        """The restores to finish."""
        return tuple(entry for entry in self.restores if entry.condition is not Condition.NO_PLAN)

    @property
    def unplanned_restores(self) -> tuple[PendingRestore, ...]:
        """The restores to remove."""
        return tuple(entry for entry in self.restores if entry.condition is Condition.NO_PLAN)

    @property
    def rollback_plans(self) -> dict[SeenFile, StoredRollbackPlan]:
        """The plans of the rollbacks, by the file that each was read from."""
        files = ((entry.instant.file(State.REQUESTED), entry.plan) for entry in self.rollbacks)
        return {self.timeline.seen(file): plan for file, plan in files if file is not None and plan is not None}

    @property
    def live_rollbacks(self) -> tuple[PendingRollback, ...]:
        """The rollbacks to finish or discard."""
        return tuple(entry for entry in self.rollbacks if entry.condition is not Condition.LEFT_OVER)

    @property
    def left_rollbacks(self) -> tuple[PendingRollback, ...]:
        """The rollbacks whose files are to be removed, with no other change."""
        return tuple(entry for entry in self.rollbacks if entry.condition is Condition.LEFT_OVER)


@dataclass(frozen=True)
class Facts:
    """A table as it was when planning began.

    ``commits`` is for those of which the metadata is used as a whole; ``written`` is what the other completed writes
    name. ``partitions`` are those in the statistics of writes, ``replaced_in`` those in which they replace file groups.
    ``known`` is what its metadata table lists, if this was read.
    """

    table: Table
    signs: Signs
    commits: Commits
    written: WrittenFiles
    partitions: frozenset[str]
    replaced_in: frozenset[str]
    sweep: Sweep
    known: Known = NOT_ASKED

    @property
    def timeline(self) -> Timeline:
        return self.signs.timeline


def read_signs(
    table: Table, clock: StorageClock | None = None, before: Signs | None = None, *, loaded: Timeline | None = None
) -> Signs:
    """Reads the timeline, pending operations, heartbeats and locks. Raises Unreadable.

    The timeline is read before the heartbeats: a writer deletes its heartbeat only after it has completed.

    Args:
        clock: the storage's clock, if it was measured.
        before: signs that were read before: the plan of a rollback is not read again while its file is as it was.
        loaded: the timeline, where a report has just loaded it: it is not listed again.
    """
    timeline = load_timeline(table) if loaded is None else loaded
    now_ms = storage_now_ms(clock)
    return Signs(
        timeline,
        find_restores(table, timeline),
        find_rollbacks(table, timeline, before.rollback_plans if before else {}),
        tuple(list_heartbeats(table, now_ms)),
        tuple(find_locks(table, now_ms)),
        now_ms,
    )


def signs_of_damaged(table: Table) -> Signs:
    """The same of a table in which the plan of a restore may be damaged: no restore and no rollback is known then.
    Raises Unreadable."""
    with suppress(Unreadable):
        return read_signs(table)
    now_ms = storage_now_ms(None)
    beats, locks = tuple(list_heartbeats(table, now_ms)), tuple(find_locks(table, now_ms))
    return Signs(load_timeline(table), (), (), beats, locks, now_ms)


def read_facts(
    table: Table,
    engine: Engine,
    signs: Signs,
    note: Callable[[str], None] = lambda _: None,
    *,
    removed: Collection[str] = (),
    without: Collection[str] = (),
    savepointed: Collection[str] = (),
    known: Known = NOT_ASKED,
    damaged_ok: bool = False,
    profiles_ok: bool = False,
    choose: Callable[[Commits], Collection[str] | None] = lambda _: None,
) -> Facts:
    """Reads commit metadata, then lists the partitions. A caller that needs the engine anyway starts it before.

    Args:
        removed: instants whose metadata is used as a whole.
        without: instants whose files do not matter.
        savepointed: partition paths that a savepoint names.
        known: what the metadata table lists. Partitions that only it knows are listed, too.
        damaged_ok: unreadable commit metadata is no error, and names nothing.
        profiles_ok: the same for the profiles of pending writes: a writer may have died while it wrote its own.
        choose: the only partitions to list, from the commits' metadata; None for all.

    Raises:
        Unreadable, Conflict, StorageFailed, EngineFailed.
    """
    timeline = signs.timeline
    profiles = [entry.time for entry in timeline.writes() if entry.pending] if profiles_ok else ()
    commits = LazyCommits(table, timeline, damaged_ok, profiles)
    kept = {entry.time for entry in timeline.completed_writes()}.difference(without, removed)
    written = gather_written(table, timeline, engine, kept)
    if written.unreadable and not damaged_ok:
        raise_unreadable(commits, written.unreadable)
    other = {entry.time for entry in timeline.writes()}.difference(written.times, without)
    whole = [commits[time] for time in sorted(other)]
    partitions = written.partitions.union(*(commit.stats for commit in whole))
    replaced_in = written.replaced_in.union(*(commit.replaced for commit in whole))

    note("listing partitions")
    named = _named(signs, partitions, savepointed, known)
    found = sweep(table, engine, named, within=choose(commits))
    return Facts(table, signs, commits, written, partitions, replaced_in, found, known)


def _named(signs: Signs, partitions: Collection[str], savepointed: Collection[str], known: Known) -> set[str]:
    """The partition paths that records name: they are listed even without a metafile, or below another partition."""
    # Only the rollback's plan names the files of an un-published instant.
    plans = (entry.plan for entry in signs.rollbacks if entry.plan is not None)
    requested = (request.partition for plan in plans for request in plan.requests)
    return {*partitions, *requested, *savepointed, *known.partitions}
