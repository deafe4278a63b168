"""``wait``: looks at a table again and again until all that was asked for holds. Changes nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timezone

from hudictl.errors import Conflict, HudictlError, Refused, StorageFailed, Unreadable, UsageError, vanished
from hudictl.formats.instants import RESTORE, SAVEPOINT, State, group_instants, parse_time, time_plus_ms
from hudictl.formats.restore import decode_plan
from hudictl.ops.guards import liveness
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.planning import done_already
from hudictl.ops.savepoint.verify import verify_savepoint
from hudictl.ops.session import Session
from hudictl.phrases import count_of, first_few, span
from hudictl.state.facts import Signs, read_signs
from hudictl.state.timeline.targets import what_it_may_be
from hudictl.table.locks.claim import living_owner
from hudictl.table.locks.config import Locking
from hudictl.table.table import Table
from hudictl.table.timeline.active import instant_now, read_instant
from hudictl.table.timeline.archive import archived_in_order, at_one_time

NO_WRITERS, NOTHING_PENDING, RESTORABLE, INSTANT = "no-writers", "nothing-pending", "savepoint-restorable", "instant"
LEAST_MS = 5_000
"""A store is not looked at more often."""
_COMES_WITHIN_MS = 60_000
"""A writer requests its instant at once: one that is not there so long after its time does not come any more."""


@dataclass(frozen=True)
class Condition:
    """What is waited for: the kind, and of which instant or savepoint."""

    kind: str
    of: str = ""

    def __str__(self) -> str:
        return f"{self.kind}={self.of}" if self.of else self.kind


@dataclass(frozen=True)
class ConditionRow:
    """A condition as it was at the end. ``waited_for``: the last reason for which it did not hold; empty if it held at
    each look."""

    condition: str
    holds: bool
    waited_for: str


@dataclass(frozen=True)
class Waited:
    """All conditions held at the last look."""

    conditions: tuple[ConditionRow, ...]
    waited_ms: int
    looks: int


def parse_condition(text: str) -> Condition:
    """Raises UsageError."""
    kind, given, of = text.partition("=")
    takes = {NO_WRITERS: False, NOTHING_PENDING: False, RESTORABLE: None, INSTANT: True}
    fits = kind in takes and takes[kind] in (None, bool(given))
    if not fits or (given and parse_time(of, timezone.utc) is None):
        ways = f"{NO_WRITERS}, {NOTHING_PENDING}, {RESTORABLE}, {RESTORABLE}=S or {INSTANT}=T"
        raise UsageError(f"--for {text}: not a condition", hint=f"write {ways}, with instant times for S and T")
    return Condition(kind, of)


def wait_for(
    session: Session,
    conditions: Sequence[Condition],
    *,
    timeout_ms: int,
    every_ms: int,
    idle_ms: int,
    tell: Callable[[Mapping[str, str]], None],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> Waited:
    """Looks until all conditions hold at once. A look that fails is made once more; a pause is never shorter than the
    look before it.

    Args:
        tell: is told what does not hold, after each look.

    Raises:
        Conflict: the time is over.
        Refused: a condition can never hold.
        Unreadable, StorageFailed: two looks have failed, or the last one; UsageError, Unsupported, EngineFailed.
    """
    begun, looks, failed = clock(), 0, False
    waited_for = dict.fromkeys(map(str, conditions), "")
    while True:
        started, looks = clock(), looks + 1
        error: HudictlError | None = None
        try:
            missing = _look(session, conditions, idle_ms)
        except (Conflict, FileNotFoundError, Unreadable, StorageFailed) as found:
            error = vanished(found) if isinstance(found, FileNotFoundError) else found
            missing = dict.fromkeys(waited_for, error.message)
        waited_ms = round((clock() - begun) * 1000)
        over = waited_ms >= timeout_ms
        # What another process changes while it is read is no failure.
        fails = error is not None and not isinstance(error, Conflict)
        if error is not None and fails and (failed or over):
            raise error
        failed = fails
        waited_for |= missing
        rows = tuple(ConditionRow(name, name not in missing, why) for name, why in waited_for.items())
        if not missing:
            return Waited(rows, waited_ms, looks)
        if over:
            raise Conflict(
                f"not so after {span(waited_ms)}: {'; '.join(f'{name}: {why}' for name, why in missing.items())}",
                hint="run the same command again to wait longer (--timeout)",
                conditions=rows,
                waited_ms=waited_ms,
                looks=looks,
            )
        tell(missing)
        least_ms = min(LEAST_MS, timeout_ms)
        sleep(max(least_ms, min(every_ms, timeout_ms - waited_ms), (clock() - started) * 1000) / 1000)


def _look(session: Session, conditions: Sequence[Condition], idle_ms: int) -> dict[str, str]:
    """Why conditions do not hold, by their names. Savepoints are verified only when all else holds: that lists files.

    Raises as ``wait_for``; Conflict: the table changed meanwhile.
    """
    signs = read_signs(session.table)
    missing = {}
    for condition in conditions:
        if condition.kind != RESTORABLE and (why := _unmet(session, signs, condition, idle_ms)):
            missing[str(condition)] = why
    for condition in conditions:
        if condition.kind == RESTORABLE:
            late = "verified when the others hold" if missing else ""
            if why := late or _not_restorable(session, signs, condition.of, idle_ms):
                missing[str(condition)] = why
    return missing


def _unmet(session: Session, signs: Signs, condition: Condition, idle_ms: int) -> str:
    if condition.kind == NO_WRITERS:
        return _at_work(session, signs, idle_ms)
    if condition.kind == INSTANT:
        return _not_completed(session.table, signs, condition.of)
    # A result without content ends nothing.
    ended = [entry.instant for entry in signs.restores] + [entry.instant for entry in signs.rollbacks]
    pending = [entry for entry in (*signs.timeline.instants, *group_instants(signs.timeline.unknown)) if entry.pending]
    names = list(dict.fromkeys(map(str, [*pending, *ended])))
    return f"{count_of(len(names), 'instant')} pending: {first_few(names, rest=' and {:,} more')}" if names else ""


def _at_work(session: Session, signs: Signs, idle_ms: int) -> str:
    """What a restore's guards take for a living writer, table service or hudictl."""
    table = session.table
    owner = living_owner(table.storage, signs.now_ms)
    if owner is not None:
        return f"another hudictl is at work: `{owner.command}` on {owner.host}, process {owner.pid}"
    try:
        # Whichever lock a change would take: one that is held has an owner.
        liveness.nothing_at_work(table, session.engine, signs, Locking(off=True), idle_ms)
    except Conflict as error:
        return error.message
    return ""


def _not_completed(table: Table, signs: Signs, time: str) -> str:
    """Raises Refused: the instant was removed, or does not come any more."""
    timeline = signs.timeline
    entry = timeline.at(time)
    if entry is not None:
        return "" if entry.completed else str(entry)
    archived = at_one_time(lambda: list(archived_in_order(table, time, time)))
    if any(entry.state is State.COMPLETED and entry.action != SAVEPOINT for entry in archived):
        return ""
    ended = done_already(table, time)
    for restore in timeline.having(RESTORE):
        file = restore.file(State.REQUESTED)
        if file is not None and timeline.sizes[file.name]:
            plan = decode_plan(read_instant(table, file), file.name)
            ended = restore.time if time in {info.time for info in plan.instants} else ended
    if ended is not None:
        raise Refused(f"{time} was removed by {ended}: it does not come any more", instant=time)
    if time_plus_ms(time, _COMES_WITHIN_MS) > instant_now(table):
        return f"{time} is not on the timeline yet"
    hint = what_it_may_be(table, timeline, time)
    raise Refused(f"{time} is not on the timeline, and does not come any more", hint=hint, instant=time)


def _not_restorable(session: Session, signs: Signs, savepoint: str, idle_ms: int) -> str:
    """Why the savepoint, or else the newest one, cannot be restored for sure. Raises Refused: there is no such one."""
    savepoint = savepoint or max((entry.time for entry in signs.timeline.savepoints()), default="")
    if not savepoint:
        return "there is no savepoint"
    found = verify_savepoint(session, savepoint, RestoreOptions(idle_ms=idle_ms))
    bare = f"{savepoint} does not name {count_of(len(found.unprotected), 'required file')}" if found.unprotected else ""
    return found.reason or found.threat or bare
