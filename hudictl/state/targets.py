"""What an operation is asked to act on, found on the timeline."""

from collections.abc import Collection

from hudictl.errors import Refused, Unreadable
from hudictl.formats.instants import (
    COMMIT_ACTIONS,
    Instant,
)
from hudictl.formats.restore import target_text
from hudictl.state.facts import Signs
from hudictl.state.pending import PendingRestore, PendingRollback
from hudictl.table.timeline import Timeline


def find_target(timeline: Timeline, time: str, stored: Collection[Instant]) -> Instant | None:
    """The write to roll back; None where it is gone, and only its rollback is left to finish.

    Raises:
        Refused: there is none.
        Unreadable: there are several, whose files nobody can tell apart.
    """
    found = [entry for entry in timeline.writes() if entry.time == time]
    if len(found) > 1:
        raise Unreadable(
            f"{time} is the time of {len(found)} writes: {', '.join(str(entry) for entry in found)}",
            hint="their files carry one name: a restore takes all of them",
            instant=time,
        )
    if not found and not stored:
        other = next((entry for entry in timeline.instants if entry.time == time), None)
        what = f"a {other.action}, which is no write" if other else "on no active timeline"
        raise Refused(
            f"{time} is {what}: it cannot be rolled back",
            hint="`hudictl timeline show --archived` lists the instants; archived commits stay",
            instant=time,
        )
    return found[0] if found else None


def find_commit(timeline: Timeline, time: str) -> Instant:
    """A completed commit on the active timeline. Raises Refused."""
    instant = timeline.find(time, *COMMIT_ACTIONS)
    if instant is None or not instant.completed:
        state = "no commit on the active timeline" if instant is None else f"pending ({instant.state.name})"
        raise Refused(
            f"{time} is {state}",
            hint="`hudictl timeline show` lists the instants",
            instant=time,
        )
    return instant


def restores_to(signs: Signs, target: str) -> tuple[PendingRestore | None, tuple[PendingRestore, ...]]:
    """The pending restore to the target that goes on (the newest that has begun, else the newest), and all others.

    Raises:
        Refused: restores are pending, none of them to the target.
    """
    same = [entry for entry in signs.planned_restores if entry.plan.target == target]
    if signs.planned_restores and not same:
        found = ", ".join(f"{entry.instant} to {target_text(entry.plan.target)}" for entry in signs.planned_restores)
        raise Refused(
            f"another restore is pending: {found}",
            hint="finish it first: `hudictl resume`",
            restores=[entry.instant.time for entry in signs.planned_restores],
        )
    chosen = max(same, key=lambda entry: (entry.begun, entry.instant.time), default=None)
    return chosen, tuple(entry for entry in signs.planned_restores if entry is not chosen)


def foreign_rollbacks(signs: Signs, removed: Collection[str]) -> list[PendingRollback]:
    """The pending rollbacks of instants that stay: they have a say on what the target is."""
    return [entry for entry in signs.live_rollbacks if entry.target is None or entry.target not in removed]
