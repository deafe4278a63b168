"""What an operation is asked to act on, found on the timeline."""

from collections.abc import Collection

from hudictl.errors import Refused, Unreadable
from hudictl.formats.instants import COMMIT_ACTIONS, Instant
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
        what = f"{_article(other.action)} {other.action}, which is no write" if other else "on no active timeline"
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


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"
