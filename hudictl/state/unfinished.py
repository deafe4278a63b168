"""Restores and rollbacks that have not ended: what each means to writers, and the commands that end it.

The one verdict of ``table show``, ``check``, ``failed-writes``, ``resume`` and of the guards.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from hudictl.errors import Unreadable
from hudictl.formats.instants import ROLLBACK, State
from hudictl.phrases import seconds
from hudictl.state.facts import Signs
from hudictl.state.pending import Condition, PendingRestore, PendingRollback, is_asked_for, is_own
from hudictl.table.locks.claim import living_owner
from hudictl.table.operations import is_recorded, read_operation
from hudictl.table.table import Table

RESUME = "hudictl resume"
DISCARD = f"{RESUME} --discard-rollbacks"
WITHDRAW = f"{RESUME} --withdraw"
PENDING_RESTORE = "pending-restore"
RESTORE_WITHOUT_PLAN = "restore-without-plan"
ARMED_ROLLBACK = "armed-rollback"
PENDING_ROLLBACK = "pending-rollback"
ROLLBACK_REMNANT = "rollback-remnant"


@dataclass(frozen=True)
class Way:
    """A command that ends a state, and what it leaves."""

    command: str
    leaves: str


@dataclass(frozen=True)
class Unfinished:
    """A restore or rollback that has not ended.

    ``name`` is that of its finding, ``at_work`` says why it may be at work just now ("" where it is not).
    ``writers_can_start``: a writer of Hudi's gets through, whatever it takes back before its own write. ``remedy`` has
    more than one way where the wanted outcome cannot be known.
    """

    name: str
    instant: str
    time: str
    completed: bool
    meaning: str
    at_work: str
    writers_can_start: bool
    remedy: tuple[Way, ...]

    @property
    def told(self) -> str:
        """What it means, and what that does to writers."""
        return self.meaning if self.writers_can_start else f"{self.meaning}: no writer can start"


def find_unfinished(table: Table, signs: Signs, idle_ms: int) -> list[Unfinished]:
    """All that has not ended, the gravest first; rollbacks of a pending restore are its own to end.

    Args:
        idle_ms: what is not hudictl's, and did something less than this ago, may be at work.
    """
    owner = living_owner(table.storage, signs.now_ms)
    working = f"`{owner.command}` works on it (process {owner.pid} on {owner.host})" if owner else ""
    restores = [*_restores(table, signs, idle_ms, working)]
    rollbacks = [*_rollbacks(table, signs, idle_ms, working)]
    return [*restores, *sorted(rollbacks, key=lambda entry: entry.writers_can_start), *_remnants(signs)]


def in_words(remedy: Sequence[Way]) -> str:
    """The ways out, as a hint; what each leaves where there is more than one."""
    if len(remedy) == 1:
        return f"`{remedy[0].command}`"
    return "; or ".join(f"`{way.command}`: {way.leaves}" for way in remedy)


def way_out_of_restore(table: Table, restore: PendingRestore) -> str:
    """The hint of a command that a pending restore refuses."""
    return in_words(remedy_of_restore(table, restore)) or "it names no target: finish it with Hudi"


def way_out_of_rollback(table: Table, signs: Signs, rollback: PendingRollback) -> str:
    """The hint of a command that a pending rollback refuses."""
    return in_words(rollback_of(table, signs, rollback)) or "where no rollback runs, remove its files by hand"


def remedy_of_restore(table: Table, restore: PendingRestore) -> tuple[Way, ...]:
    """The ways to end a pending restore; none where it names no target: Hudi alone can finish that."""
    if restore.condition is Condition.NO_PLAN:
        return (Way(RESUME, "the request is removed; nothing was done of it"),)
    if restore.plan.target is None:
        return ()
    finish = Way(_finishing(table, restore), f"the table is restored to {restore.plan.target}")
    if not is_own(table, restore):
        return (finish,)
    return (finish, Way(WITHDRAW, "the table is as before the restore, while nothing was deleted"))


def _finishing(table: Table, restore: PendingRestore) -> str:
    """The command that finishes a restore: what else goes is asked for anew while it has not begun."""
    with suppress(Unreadable):
        operation = None if restore.begun else read_operation(table.storage, restore.instant.time)
        said = operation.plan.get("options", {}) if operation else {}
        asked = [name for name in ("delete_later_savepoints", "discard_rollbacks") if said.get(name)]
        return " ".join([RESUME, *(f"--{name.replace('_', '-')}" for name in asked)])
    return RESUME


def remedy_of_rollback(signs: Signs, rollback: PendingRollback, *, asked_for: bool) -> tuple[Way, ...]:
    """The ways to end a pending rollback.

    Args:
        asked_for: hudictl was asked for it while its target was as it is now.
    """
    target = rollback.target
    if rollback.condition is Condition.LEFT_OVER:
        return (Way(RESUME, "its files are removed; what it was to roll back is gone"),)
    if target is None:
        # Hudi executes nothing without a plan; of one that has begun nobody can tell what was done.
        requested = rollback.instant.state is State.REQUESTED
        return (Way(DISCARD, "its files are removed; nothing was done of it"),) if requested else ()

    if rollback.condition is not Condition.TARGET_COMPLETED:
        return (Way(RESUME, f"{target} is rolled back"),)
    keep = Way(DISCARD, f"{target} is kept, with its rows")
    go = f"{target} is rolled back, its rows are gone"
    if asked_for:
        return (Way(RESUME, go), keep)
    return (keep,) if _is_stuck(signs, target) else (keep, Way(f"hudictl rollback {target}", go))


def rollback_of(table: Table, signs: Signs, rollback: PendingRollback) -> tuple[Way, ...]:
    """The same, where it has to be looked up whether hudictl was asked for it."""
    return remedy_of_rollback(signs, rollback, asked_for=is_asked_for(table, rollback.instant))


def restore_quiet_ms(signs: Signs, restore: PendingRestore) -> int:
    """For how long a pending restore has done nothing on the timeline, its rollbacks with it."""
    steps = [entry for entry in signs.timeline.having(ROLLBACK) if entry.time > restore.instant.time]
    return min(signs.timeline.idle_ms(entry, signs.now_ms) for entry in (*steps, restore.instant))


def _restores(table: Table, signs: Signs, idle_ms: int, working: str) -> Iterator[Unfinished]:
    for restore in (*signs.planned_restores, *signs.unplanned_restores):
        planned = restore.condition is not Condition.NO_PLAN
        at_work = working
        if not working and not is_own(table, restore):
            at_work = _active(restore_quiet_ms(signs, restore), idle_ms)
        if not planned:
            meaning = "a restore was requested without a plan, and did nothing"
        elif restore.plan.target is None:
            meaning = "a restore to an unnamed instant has not ended; Hudi alone can finish it"
        elif restore.condition is Condition.EMPTY_RESULT:
            meaning = f"a restore to {restore.plan.target} has not ended: its result has no content"
        else:
            meaning = f"a restore to {restore.plan.target} has not ended"
        yield Unfinished(
            name=PENDING_RESTORE if planned else RESTORE_WITHOUT_PLAN,
            instant=str(restore.instant),
            time=restore.instant.time,
            completed=restore.instant.completed,
            meaning=meaning,
            at_work=at_work,
            writers_can_start=False,
            remedy=remedy_of_restore(table, restore),
        )


def _rollbacks(table: Table, signs: Signs, idle_ms: int, working: str) -> Iterator[Unfinished]:
    begun = min((restore.instant.time for restore in signs.planned_restores), default="~")
    for rollback in signs.live_rollbacks:
        if rollback.instant.time < begun:
            yield rollback_unfinished(table, signs, rollback, idle_ms, working)


def rollback_unfinished(
    table: Table, signs: Signs, rollback: PendingRollback, idle_ms: int, working: str = ""
) -> Unfinished:
    """What a pending rollback means; ``working`` is the hudictl that works on the table."""
    instant, target = rollback.instant, rollback.target
    at_work = working
    if not working and not is_recorded(table.storage, instant.time):
        at_work = _active(signs.timeline.idle_ms(instant, signs.now_ms), idle_ms)
    stuck = target is not None and _is_stuck(signs, target)
    visible = rollback.condition is Condition.TARGET_COMPLETED
    if visible:
        meaning = f"it was requested, and refused or not begun: its target {target} is completed, "
        meaning += "with a savepoint or commits after it" if stuck else "and the next writer rolls it back"
    elif target is not None:
        meaning = f"a rollback of {target} has not ended: writers execute it"
    elif instant.state is State.REQUESTED:
        # Hudi's writers delete such a request, and pass over one that is inflight (0.15.0 to 1.2.0).
        meaning = "a rollback was requested without a plan that can be read, and did nothing"
    else:
        meaning = "a rollback has not ended whose plan cannot be read: where no rollback runs, remove its files by hand"
    return Unfinished(
        name=ARMED_ROLLBACK if visible else PENDING_ROLLBACK,
        instant=str(instant),
        time=instant.time,
        completed=instant.completed,
        meaning=meaning,
        at_work=at_work,
        writers_can_start=not (visible and stuck),
        remedy=rollback_of(table, signs, rollback),
    )


def _remnants(signs: Signs) -> Iterator[Unfinished]:
    for rollback in signs.left_rollbacks:
        yield Unfinished(
            name=ROLLBACK_REMNANT,
            instant=f"{rollback.instant.time} {ROLLBACK}",
            time=rollback.instant.time,
            completed=rollback.instant.completed,
            meaning="it is left of a restore that has ended: the next eager writer would execute it",
            at_work="",
            writers_can_start=True,
            remedy=remedy_of_rollback(signs, rollback, asked_for=False),
        )


def _active(quiet_ms: int, idle_ms: int) -> str:
    return f"it was active {seconds(quiet_ms)} ago, and may be running" if quiet_ms < idle_ms else ""


def _is_stuck(signs: Signs, target: str) -> bool:
    """Whether Hudi's writers fail at the rollback of a completed instant each time (0.15.0 to 1.2.0): it has a
    savepoint, or commits have completed since."""
    saved = {entry.time for entry in signs.timeline.savepoints()}
    return target in saved or any(entry.time > target for entry in signs.timeline.completed_writes())
