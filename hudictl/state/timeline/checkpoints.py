"""How far Hudi Streamer has read its source: now, and when commits are removed."""

from collections.abc import Collection
from dataclasses import dataclass

from hudictl.state.facts import Facts


@dataclass(frozen=True)
class StreamerCheckpoint:
    """``now`` is the checkpoint of its last commit; ``then`` is the one from which its next run goes on when commits
    are removed: null if no commit that is kept has one.
    """

    now: str
    then: str | None


def checkpoint_after(facts: Facts, removed: Collection[str]) -> StreamerCheckpoint | None:
    """Hudi Streamer goes on from the last commit that has a checkpoint (0.15.0 to 1.2.0). None if no removed commit has
    one: then nothing changes. Raises Unreadable.

    Args:
        removed: requested times.
    """
    newest_first = [entry.time for entry in facts.timeline.completed_writes()][::-1]
    gone = (facts.commits[time].checkpoint for time in newest_first if time in removed)
    now = next(filter(None, gone), None)
    if now is None:
        return None
    kept = (facts.commits[time].checkpoint for time in newest_first if time not in removed)
    return StreamerCheckpoint(now, next(filter(None, kept), None))
